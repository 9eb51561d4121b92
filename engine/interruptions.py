"""What interruptions of spot nodes cost a run, to first order.

A price list tells the share of nodes that are interrupted in a month as a range ("5-10%"). Taken as
a Poisson process, a share P means lambda = -ln(1 - P) / 730 interruptions per node and hour, and n
nodes that run for T hours see N = sum_t lambda_t n_t T. One interruption holds the cluster up by

    d = (t / 2 + phi T / 2 + T / 2) / n

- its running tasks start again: half of their mean time t, on the lost 1/n of the slots;
- the shuffle output that it wrote is made again: on average half of the work has been done, phi of
  it in stages that write a shuffle, and 1/n of that was there;
- it is taken not to be replaced: for the half of the run that is left on average, 1/n is missing.

The two parts with T are even over 0 ... twice their mean (an interruption comes at any time), so
E[d^2] is 4/3 d^2 at most, and the hold-up has the mean N d and the deviation sqrt(N 4/3) d. Good
for N well below one; it does not shift the predicted time, it is said beside it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from engine.catalog import Offer
from engine.profile import Notice, Run
from engine.units import SECONDS_PER_HOUR, format_seconds, format_usd

HOURS_PER_MONTH = 730.0


@dataclass(frozen=True, slots=True)
class Held:
    """How interruptions hold a run up.

    Args:
        low, high: expected number of interruptions at the ends of the ranges; `high` is None where
            a range is open.
        each_seconds: by how much one holds the run up.
    """

    low: float
    high: float | None
    each_seconds: float

    @property
    def expected(self) -> float:
        """Interruptions expected: the middle of the range, its lower end where it is open."""
        return self.low if self.high is None else (self.low + self.high) / 2.0

    @property
    def mean_seconds(self) -> float:
        """Expected hold-up."""
        return self.expected * self.each_seconds

    @property
    def deviation_seconds(self) -> float:
        """Its standard deviation."""
        return math.sqrt(self.expected * 4.0 / 3.0) * self.each_seconds


def monthly_share(text: str | None) -> tuple[float, float | None] | None:
    """ "<5%", "5-10%", ">20%" as shares; the upper end of an open range is None, and so is what is
    not known or not a range."""
    if text is None:
        return None
    said = text.strip().removesuffix("%")
    try:
        if said.startswith("<"):
            low, high = 0.0, float(said[1:]) / 100.0
        elif said.startswith(">"):
            low, high = float(said[1:]) / 100.0, None
        else:
            first, _, last = said.partition("-")
            low, high = float(first) / 100.0, float(last) / 100.0
    except ValueError:
        return None
    return (low, high) if 0.0 <= low < (1.0 if high is None else high) <= 1.0 else None


def hourly_rate(share: float) -> float:
    """Interruptions per node and hour where `share` of the nodes are interrupted in a month."""
    return -math.log1p(-share) / HOURS_PER_MONTH


def held_up(
    members: Sequence[tuple[Offer, int]],
    *,
    seconds: float,
    task_seconds: float,
    shuffle_share: float,
) -> Held | None:
    """How interruptions hold up a run on spot nodes; None where a range is not known.

    Args:
        members: types and their spot nodes.
        seconds: predicted time T; task_seconds: mean time of a task t.
        shuffle_share: phi, share of the work in stages that write a shuffle.
    """
    low, high, nodes = 0.0, 0.0, sum(count for _, count in members)
    hours, open_ended = seconds / SECONDS_PER_HOUR, False
    for offer, count in members:
        share = monthly_share(offer.interruption)
        if share is None:
            return None
        low += hourly_rate(share[0]) * count * hours
        open_ended |= share[1] is None or share[1] >= 1.0
        if not open_ended and share[1] is not None:
            high += hourly_rate(share[1]) * count * hours
    each = (task_seconds + (1.0 + shuffle_share) * seconds) / 2.0 / nodes
    return Held(low, None if open_ended else high, each)


def work_of(run: Run | None) -> tuple[float, float]:
    """(t, phi): mean task time in seconds and share of the work whose output is a shuffle; without
    stages (0, 1): no tasks to lose, and all of the work taken to be lost with a node."""
    stages = [stage for stage in run.stages if stage.task_seconds.count] if run else []
    total = sum(stage.task_seconds.total for stage in stages)
    if total <= 0.0:
        return 0.0, 1.0
    written = [
        stage.task_seconds.total
        for stage in stages
        if stage.shuffle_write_bytes is not None and stage.shuffle_write_bytes.total > 0.0
    ]
    tasks = sum(stage.task_seconds.count for stage in stages)
    return total / tasks, sum(written) / total


def interruption_notice(
    members: Sequence[tuple[Offer, int]], *, seconds: float, usd_per_second: float, run: Run | None
) -> Notice | None:
    """What is to be said of a run with spot nodes; None where it has none."""
    members = [(offer, nodes) for offer, nodes in members if nodes > 0]
    if not members:
        return None
    task_seconds, share = work_of(run)
    held = held_up(members, seconds=seconds, task_seconds=task_seconds, shuffle_share=share)
    remedy = "rent on demand where the deadline is hard"
    if held is None:
        unknown = [o.instance.name for o, _ in members if monthly_share(o.interruption) is None]
        text = (
            f"how often {', '.join(unknown)} is interrupted is not known: no lost work is counted"
        )
        return Notice("spot-interruptions", text, remedy)
    ranges = ", ".join(f"{o.instance.name} {o.interruption}" for o, _ in members)
    expected = f"{held.low:.2g} to {held.high:.2g}" if held.high else f"at least {held.low:.2g}"
    delay, spread = held.mean_seconds, held.deviation_seconds
    lone = sum(nodes for _, nodes in members) == 1
    after = "and ends it if the node is not replaced" if lone else "if the node is not replaced"
    text = (
        f"{expected} interruptions expected in a run ({ranges} a month); one holds it up by "
        f"{format_seconds(held.each_seconds)} {after}: on average "
        f"{format_seconds(delay)} ± {format_seconds(spread)} and "
        f"{format_usd(delay * usd_per_second)} ± {format_usd(spread * usd_per_second)} more, "
        f"not in the time and cost shown"
    )
    return Notice("spot-interruptions", text, remedy)
