"""Compositions in words: in a line, with the parts of the cost, as a table of runners-up; and why
the others lost."""

from __future__ import annotations

from collections.abc import Sequence

import engine
from tui import format as text


def describe(choice: engine.Choice, goal: engine.Goal | None = None) -> str:
    """One composition in a line, with the figures that the goal is about."""
    parts = [
        composition(choice),
        f"{text.seconds(choice.seconds)} ({text.span(choice.low, choice.high)})",
    ]
    if choice.cost_usd is not None:
        between = text.usd_interval(choice.cost_low_usd, choice.cost_high_usd)
        parts.append(f"{text.usd(choice.cost_usd)}{between}")
    if (resource := resource_time(choice, goal)) != text.UNKNOWN:
        named = "" if choice.resource_time is None else "resource time "
        parts.append(f"{named}{resource}")
    if choice.p_deadline is not None:
        p = text.in_time(choice.p_deadline, goal.confidence if goal else None)
        parts.append(f"deadline met in {p} of runs")
    return "  ".join(parts)


def cost_lines(choice: engine.Choice) -> list[str]:
    """The parts of the cost, and its assumptions. Where nothing is paid for, nothing is billed."""
    if choice.cost is None:
        return []
    parts = [f"{PART[name]} {money(usd)}" for name, usd in choice.cost.parts.items() if usd]
    billed = f"; {text.seconds(choice.cost.billed_seconds)} billed"
    lines = [f"  cost: {', '.join(parts)}{billed}" if parts else "  cost: nothing"]
    return lines + [f"  {text.escaped(line)}" for line in choice.cost.assumptions]


PART = {
    "workers": "workers",
    "master": "master",
    "startup": "start-up",
    "rounding": "rounding",
    "discount": "discount",
    "surcharge": "surcharge",
    "dbu": "DBUs",
}


def money(usd: float) -> str:
    """A part of a cost: it may be negative, and a tiny one is not spelled out."""
    if abs(usd) < 0.001:
        return text.usd_difference(usd)
    return f"-{text.usd(-usd)}" if usd < 0 else text.usd(usd)


def composition(choice: engine.Choice) -> str:
    """The rented composition, or the number of executors of an owned cluster."""
    if choice.composition or choice.executors is None:
        return text.rented_nodes(choice)
    return text.counted(choice.executors, "executor") + text.executor_size(choice.layout)


def resource_time(choice: engine.Choice, goal: engine.Goal | None) -> str:
    """Resource time on an owned cluster, or on a rented one where that is the objective; of
    executors of unknown memory it is their vcore-seconds alone."""
    if choice.resource_time is not None:
        return f"{choice.resource_time:,.0f} vcore-s"
    owned = not choice.composition
    if choice.vcore_seconds is None or not (owned or (goal is not None and goal.by_resource)):
        return text.UNKNOWN
    return f"{choice.vcore_seconds:,.0f} vcore-s"


def runners_up(choices: Sequence[engine.Choice], goal: engine.Goal, *, shared: bool) -> str:
    """The table of the runners-up, without columns that are empty for all of them; what is noted of
    each is said once below it."""
    on_demand = shared and not any(choice.spot for choice in choices)
    title = "runners-up on demand" if on_demand else "runners-up"
    header = (title, "time", "interval", "resource time", "cost", "between", "in time", "")
    cells = rows(choices, goal)
    *_, notes = zip(*cells, strict=True)
    noted_of_all = notes[0] if len(set(notes)) == 1 < len(notes) else ""
    if noted_of_all:
        cells = [(*row[:-1], "") for row in cells]
    used_columns = [
        index
        for index, column in enumerate(zip(*cells, strict=True))
        if not {"", text.UNKNOWN}.issuperset(column)
    ]
    right = [at for at, index in enumerate(used_columns) if header[index] in _NUMBERS]
    used_cells = [[row[at] for at in used_columns] for row in (header, *cells)]
    table = text.table(used_cells, right=right)
    return f"{table}\nall of these: {noted_of_all}" if noted_of_all else table


_NUMBERS = ("time", "resource time", "cost", "in time")
"""Right-aligned columns."""


def rows(choices: Sequence[engine.Choice], goal: engine.Goal) -> list[tuple[str, ...]]:
    decimals = engine.usd_decimals(choice.cost_usd for choice in choices)
    return [
        (
            composition(choice),
            text.seconds(choice.seconds),
            text.span(choice.low, choice.high),
            resource_time(choice, goal),
            text.usd(choice.cost_usd, decimals=decimals),
            text.usd_range(choice.cost_low_usd, choice.cost_high_usd),
            text.percent(choice.p_deadline),
            choice.note or "",
        )
        for choice in choices
    ]


ALIKE = 3
"""Rejections of one reason that are printed one by one, and types that a line names of more."""


def rejected_lines(rejected: Sequence[engine.Rejected]) -> list[str]:
    """Why the others lost: the nearest miss of each reason, and how many lost for the same one.
    Few of one reason have a line each: there the differences tell."""
    by_reason: dict[tuple[str, str], list[engine.Rejected]] = {}
    for miss in rejected:
        reason = "" if miss.composition else miss.reason  # how far a composition misses differs
        by_reason.setdefault((miss.code, reason), []).append(miss)
    lines = [f"rejected ({len(rejected)})"]
    for alike in by_reason.values():
        shown = alike if len(alike) <= ALIKE else alike[:1]
        lines += [
            f"  {miss.instance}: {miss.reason}" if miss.instance else f"  {miss.reason}"
            for miss in shown
        ]
        if others := [miss.instance for miss in alike[len(shown) :]]:
            named = ", ".join(others[:ALIKE])
            more = len(others) - ALIKE
            all_others = f"{named} and {more:,} more (--json lists them)" if more > 0 else named
            nearer = ", none nearer" if alike[0].code in ("deadline", "budget") else ""
            lines.append(f"  likewise {len(others):,} other types{nearer}: {all_others}")
    return lines
