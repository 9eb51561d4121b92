"""The content of a report, independent of its format: sections of lines and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.exports.base import Export, Handover
from engine.text.lists import printable
from engine.units import (
    format_count,
    format_interval,
    format_probability,
    format_seconds,
    format_usd,
    format_usd_to,
    usd_decimals,
)

if TYPE_CHECKING:
    from engine.choosing.recommendation import Choice, Goal, Recommendation

LISTED = 10
"""Maximum number of runners-up and rejections in a report; `recommend --json` has all."""

PART = {"startup": "start-up", "dbu": "DBUs"}
"""Display names of cost parts, where different from the key."""


@dataclass(frozen=True)
class Section:
    """A heading, lines of text, and an optional table whose first row is its header."""

    title: str
    lines: tuple[str, ...] = ()
    table: tuple[tuple[str, ...], ...] = ()


class Report(Export):
    """A report is for the platform that was planned."""

    def platform(self, handover: Handover) -> str | None:
        return handover.platform


def title_of(handover: Handover) -> str:
    return f"Capacity plan for {printable(handover.application)}"


def sections(handover: Handover) -> Iterator[Section]:
    """All sections; without `handover.report` only the prediction and its assumptions."""
    yield Section("Recommendation", tuple(printable(line) for line in handover.statement))
    report = handover.report
    if report is None:
        return
    yield Section("Goal", tuple(goal_lines(report.goal)))
    choice = handover.choice or report.recommended
    if choice is not None:
        yield from _choice_lines(choice)
    if others := report.alternatives[:LISTED]:
        decimals = usd_decimals(other.cost_usd for other in others)
        takes = "cost" if others[0].composition else "resource time"
        head = ("composition", "time", "interval", takes, "deadline met")
        rows = [_row(other, decimals) for other in others]
        yield Section("Runners-up", _more(report.alternatives), (head, *rows))
    if report.rejected:
        lost = [(printable(r.instance), printable(r.reason)) for r in report.rejected[:LISTED]]
        yield Section("Rejected", _more(report.rejected), (("type", "reason"), *lost))
    hidden = [f"{reason}: {count}" for reason, count in report.hidden.items()]
    proof = ", every composition was compared" if report.optimal else ": a better one may exist"
    evidence = [f"model {report.model}; {report.evaluated:,} compositions evaluated{proof}"]
    if hidden:
        evidence.append(f"types left out: {', '.join(hidden)}")
    yield Section("Evidence", tuple(printable(line) for line in evidence))
    notice_lines = [
        f"{notice.text} [{notice.code}]; {notice.remedy}" for notice in handover.notices
    ]
    if notice_lines:
        yield Section("Warnings", tuple(printable(line) for line in notice_lines))


def goal_lines(goal: Goal) -> Iterator[str]:
    if goal.deadline_seconds is not None:
        deadline = format_seconds(goal.deadline_seconds)
        yield f"deadline {deadline}, met in {100.0 * goal.confidence:.8g} % of runs"
    if goal.budget_usd is not None:
        yield f"budget {format_usd(goal.budget_usd)}"
    most = format_count(goal.max_nodes, "node")
    if goal.max_executors is not None:
        most = format_count(goal.max_executors, "executor")
    yield f"least {goal.minimises.replace('-', ' ')}, at most {most}"


def _choice_lines(choice: Choice) -> Iterator[Section]:
    """Why the choice won, and the parts of its cost."""
    if choice.why:
        yield Section("Why", tuple(printable(line) for line in choice.why))
    if choice.cost is not None:
        costs = choice.cost.parts.items()
        parts = [(PART.get(name, name), format_part(usd)) for name, usd in costs if usd]
        total = ("total", format_part(choice.cost.total_usd))
        billed = f"{format_seconds(choice.cost.billed_seconds)} billed for each node"
        yield Section("Cost", (billed,) if parts else (), (("part", "USD"), *parts, total))


def format_part(usd: float) -> str:
    """A part of a cost, which may be negative."""
    return f"-{format_usd(-usd)}" if usd < 0 else format_usd(usd)


def _more(items: Sequence[object]) -> tuple[str, ...]:
    return (f"the first {LISTED} of {len(items):,}",) if len(items) > LISTED else ()


def _row(choice: Choice, decimals: int) -> tuple[str, ...]:
    interval = "none"
    if choice.low is not None and choice.high is not None:
        interval = format_interval(choice.low, choice.high)
    return (
        named(choice),
        format_seconds(choice.seconds),
        interval,
        _taken(choice, decimals),
        format_probability(choice.p_deadline),
    )


def _taken(choice: Choice, decimals: int) -> str:
    """The cost of a choice, or what it takes of a cluster one owns."""
    if choice.cost_usd is not None:
        return format_usd_to(choice.cost_usd, decimals)
    taken = choice.vcore_seconds if choice.resource_time is None else choice.resource_time
    return "not known" if choice.composition or taken is None else f"{taken:,.0f} vcore-s"


def named(choice: Choice) -> str:
    """ "3 × m5.xlarge + 1 × r5.large", or "4 executors of 2 cores" without types."""
    if not choice.composition and choice.executors is not None:
        cores = choice.layout.executor_cores if choice.layout is not None else None
        size = "" if cores is None else f" of {format_count(cores, 'core')}"
        return format_count(choice.executors, "executor") + size
    text = " + ".join(f"{n} × {name}" for name, n in choice.composition.items())
    if choice.spot:
        text += f" (spot: {' + '.join(f'{n} × {name}' for name, n in choice.spot.items())})"
    return printable(text)


def frontier_of(report: Recommendation | None) -> list[Choice]:
    """Choices of the frontier that have a cost, cheapest first."""
    if report is None:
        return []
    priced = [choice for choice in report.frontier if choice.cost_usd is not None]
    return sorted(priced, key=lambda choice: choice.cost_usd or 0.0)
