"""The expected delay of a run by interruptions of its spot nodes, to first order.

A price list gives the share of nodes interrupted in a month as a range ("5-10%"). As a Poisson
process, a share P means lambda = -ln(1 - P) / 730 interruptions per node and hour, and n nodes that
run for T hours see N = sum_t lambda_t n_t T. One interruption delays the run by

    d = (t / 2 + phi T / 2 + T / 2) / n

- The running tasks of the node start again: half of their mean time t, on the lost 1/n of slots.
- Its shuffle output is computed again: on average half of the work has been done, phi of it in
  stages that write a shuffle, and 1/n of that was on the node.
- The node is assumed not to be replaced: 1/n of the slots is missing for the remaining half, on
  average, of the run.

The two parts with T are uniform over 0 ... twice their mean (an interruption comes at any time), so
E[d^2] is at most 4/3 d^2, and the delay has the mean N d and the standard deviation sqrt(N 4/3) d.
In a mix an interruption takes a node's share g / C of the capacity, instead of 1/n:

    mean = T (t + (1 + phi) T) / 2 * sum_t lambda_t s_t g_t / C
    variance = 4/3 T ((t + (1 + phi) T) / 2)^2 * sum_t lambda_t s_t (g_t / C)^2

with s_t spot nodes of type t. Every forecast of spot nodes includes both
(`with_interruption_delays`): the mean is added to the predicted time, the variance to that of log
T. Valid for N well below one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

import numpy as np

from engine.catalog import Offer
from engine.forecast import FloatArray, Forecast
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import total_of
from engine.units import SECONDS_PER_HOUR, format_seconds, format_usd

HOURS_PER_MONTH = 730.0

Seconds = TypeVar("Seconds", float, FloatArray)

RARE = 0.01
"""Fewer expected interruptions per run are shown as one in so many runs."""

SMALL_SHARE = 0.001
"""Where interruptions add less of a run's time than this, `interruption_notice` says so."""


class SpotNodes(NamedTuple):
    """Spot nodes of one type, each with the `share` g / C of the cluster's capacity."""

    offer: Offer
    nodes: int
    share: float


@dataclass(frozen=True, slots=True)
class InterruptionDelay:
    """The delay of a run by interruptions of its spot nodes.

    Args:
        fewest, most: expected number of interruptions at the ends of the ranges; `most` is None if
            a range is open.
        seconds_each: mean delay by one interruption.
        mean_seconds, deviation_seconds: expected delay and its standard deviation, at the middle of
            each range, or the lower end of an open one.
    """

    fewest: float
    most: float | None
    seconds_each: float
    mean_seconds: float
    deviation_seconds: float


def monthly_share(text: str | None) -> tuple[float, float | None] | None:
    """ "<5%", "5-10%", ">20%" as shares, with None for the upper end of an open range; None for
    text that is missing, no range, or a range from 0 to 100 %."""
    if text is None:
        return None
    range_text = text.strip().removesuffix("%")
    try:
        if range_text.startswith("<"):
            low, high = 0.0, float(range_text[1:]) / 100.0
        elif range_text.startswith(">"):
            low, high = float(range_text[1:]) / 100.0, None
        else:
            first, _, last = range_text.partition("-")
            low, high = float(first) / 100.0, float(last) / 100.0
    except ValueError:
        return None
    highest = 1.0 if high is None else high
    return (low, high) if 0.0 <= low < highest <= 1.0 and highest - low < 1.0 else None


def interruptions_per_hour(share: float) -> float:
    """Interruptions per node and hour where `share` of the nodes are interrupted in a month."""
    return -math.log1p(-share) / HOURS_PER_MONTH


def _rates(offer: Offer) -> tuple[float, float | None] | None:
    """Interruptions per node and hour at the ends of a type's range: None for the upper end of an
    open one (all nodes in a month is no rate), and where the range is not known."""
    shares = monthly_share(offer.interruption)
    if shares is None:
        return None
    low, high = shares
    per_hour = None if high is None or high >= 1.0 else interruptions_per_hour(high)
    return interruptions_per_hour(low), per_hour


@dataclass(frozen=True, slots=True)
class LostWork:
    """The work that an interruption loses: the mean time t of a task, and the share phi of the work
    in stages that write a shuffle, which is computed again."""

    task_seconds: float
    shuffle_share: float

    @classmethod
    def of(cls, run: Run | None) -> LostWork:
        """Of a measured run; without stages (0, 1), as if all work on a node were lost with it."""
        stages = run.stages if run else ()
        total = sum(stage.task_seconds.total for stage in stages)
        if total <= 0.0:
            return cls(0.0, 1.0)
        written = sum(
            stage.task_seconds.total for stage in stages if total_of(stage.shuffle_write_bytes) > 0
        )
        tasks = sum(stage.task_seconds.count for stage in stages)
        return cls(total / tasks, written / total)

    def delay_seconds(self, seconds: Seconds) -> Seconds:
        """n d, the delay by an interruption of a run of `seconds` on one node; any shape."""
        return (self.task_seconds + (1.0 + self.shuffle_share) * seconds) / 2.0


NOTHING_LOST = LostWork(0.0, 0.0)


def interruption_delay(
    members: Sequence[SpotNodes], work: LostWork, *, seconds: float
) -> InterruptionDelay | None:
    """The delay of a run of predicted time T (`seconds`) on spot nodes; None if no range is known.
    Types without a range count as never interrupted."""
    fewest = most = expected = shares = squares = 0.0
    hours = seconds / SECONDS_PER_HOUR
    for offer, nodes, share in members:
        low, high = _rates(offer) or (0.0, 0.0)
        fewest += low * nodes * hours
        most += (math.inf if high is None else high) * nodes * hours
        count = interruption_rate(offer) * nodes * hours
        expected += count
        shares, squares = shares + count * share, squares + count * share**2
    if expected <= 0.0:
        return None
    delay_on_one_node = work.delay_seconds(seconds)
    return InterruptionDelay(
        fewest=fewest,
        most=most if math.isfinite(most) else None,
        seconds_each=shares / expected * delay_on_one_node,
        mean_seconds=shares * delay_on_one_node,
        deviation_seconds=math.sqrt(squares * 4.0 / 3.0) * delay_on_one_node,
    )


def interruption_rate(offer: Offer) -> float:
    """Expected interruptions per node and hour of a type: the middle of its range, or the lower end
    of an open one; 0 if unknown, which `interruption_notice` says."""
    low, high = _rates(offer) or (0.0, 0.0)
    return low if high is None else (low + high) / 2.0


def with_interruption_delays(
    forecast: Forecast, work: LostWork, *, rate: FloatArray, square: FloatArray
) -> Forecast:
    """Forecasts with the expected interruptions.

    Args:
        rate: (n,) sum of lambda_t s_t g_t / C per hour; 0 leaves the time as it is.
        square: (n,) sum of lambda_t s_t (g_t / C)^2 per hour; 0 leaves the spread as it is.
    """
    seconds = forecast.seconds
    hours = seconds / SECONDS_PER_HOUR
    delay_seconds = work.delay_seconds(seconds)
    with np.errstate(invalid="ignore"):  # inf: no prediction
        delayed_seconds = seconds + np.where(rate > 0.0, hours * rate * delay_seconds, 0.0)
        spread = np.sqrt(4.0 / 3.0 * hours * square) * delay_seconds / delayed_seconds
    spread = np.where(square > 0.0, spread, 0.0)
    return replace(
        forecast.rescaled(lambda scale: np.hypot(scale, spread)), seconds=delayed_seconds
    )


def with_interruptions(phases: Mapping[str, float], added_seconds: float) -> dict[str, float]:
    """The phases of a run (name -> seconds), with the time that interruptions add, however little:
    phases sum to the predicted time."""
    added = {"interruptions": added_seconds} if added_seconds > 0.0 else {}
    return {**phases, **added}


def interruption_notice(
    members: Sequence[SpotNodes],
    *,
    nodes: int,
    seconds: float,
    usd_per_second: float,
    run: Run | None,
) -> Notice | None:
    """The notice about a run with spot nodes; None without any.

    Args:
        members: its spot nodes, of `nodes` in all.
    """
    if not members:
        return None
    delay = interruption_delay(members, LostWork.of(run), seconds=seconds)
    unknown = [member.offer.instance.name for member in members if _rates(member.offer) is None]
    texts = []
    if delay is not None:
        texts.append(_expectation_text(delay, members, nodes, seconds, usd_per_second))
    if unknown:
        consequence = f"no {'lost work is' if delay is None else 'work that it loses is'} counted"
        texts.append(f"how often {', '.join(unknown)} is interrupted is not known: {consequence}")
    remedy = "rent on demand where the deadline is hard"
    return Notice("spot-interruptions", "; ".join(texts), remedy)


def _expectation_text(
    delay: InterruptionDelay,
    members: Sequence[SpotNodes],
    nodes: int,
    seconds: float,
    usd_per_second: float,
) -> str:
    """The expected interruptions and their cost, in words. For fewer than one in a hundred runs
    only the frequency: milliseconds and fractions of cents are of no use."""
    ranges = ", ".join(
        f"{member.offer.instance.name} {member.offer.interruption}"
        for member in members
        if _rates(member.offer) is not None
    )
    mean, spread = delay.mean_seconds, delay.deviation_seconds
    after = " and ends it" if nodes == 1 else ""
    each = format_seconds(delay.seconds_each)
    delays = f"one holds it up by {each}{after} if the node is not replaced"
    if max(delay.fewest, delay.most or 0.0) < RARE:
        return (
            f"interruptions are expected in {_frequency_text(delay)} runs ({ranges} a month); "
            f"{delays}: on average less than {'0.1' if mean < SMALL_SHARE * seconds else '1'} % "
            "more, in the time, interval and cost shown"
        )
    expected = (
        f"{delay.fewest:.2g} to {delay.most:.2g}" if delay.most else f"at least {delay.fewest:.2g}"
    )
    return (
        f"{expected} interruptions expected in a run ({ranges} a month); {delays}: on average "
        f"{format_seconds(mean)} ± {format_seconds(spread)} and "
        f"{format_usd(mean * usd_per_second)} ± {format_usd(spread * usd_per_second)} more, "
        f"in the time, interval and cost shown"
    )


def _frequency_text(delay: InterruptionDelay) -> str:
    """ "1 of 4,000 to 1 of 2,000": the range of expected interruptions, as runs for each."""
    low, high = (
        f"1 of {float(f'{1.0 / rate:.2g}'):,.0f}" if rate else ""
        for rate in (delay.fewest, delay.most)
    )
    if not high:
        return f"at least {low}"
    return f"{low} to {high}" if low else f"at most {high}"
