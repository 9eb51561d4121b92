"""The fleet as a table of at most 80 cells: two rows per job, as measured and as recommended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.headless import choice_words, recommend

if TYPE_CHECKING:
    from engine import Catalog
    from tui.headless.fleet import JobPlan

WIDTH = 80

DEADLINE_SOURCES = {"given": "", "evidence": "its own", "measured": "as measured"}
"""Source of a deadline, printed behind it; a measured one is the time beside it."""

Row = tuple[str, str, str, str, str]

HEAD: tuple[Row, ...] = (
    ("job", "measured", "deadline", "runs", ""),
    ("  cluster", "time", "interval", "cost", "in time"),
)
RIGHT = (1, 3, 4)
GAP = "  "
LATER = "    "
"""Indentation of a line that goes on with the one before."""


def as_text(jobs: Sequence[JobPlan], total_usd: float | None, catalog: Catalog) -> str:
    """Two rows per job, the total cost of one run of each, the catalog of the prices, and whether
    the master is owned."""
    rows: list[Row | str] = [*HEAD]
    shown = [job.chosen or job.nearest for job in jobs]
    decimals = engine.usd_decimals(choice.cost_usd for choice in shown if choice)
    for job in jobs:
        rows += [_evidence(job), _answer(job, decimals), *_why_none(job)]
    prices = f"costs are {text.priced_by(catalog)}"
    costs = [choice.cost for choice in shown if choice and choice.cost]
    is_owned = any(cost.master_owned for cost in costs)
    master = [engine.OWNED_MASTER_LINE] * is_owned
    return "\n".join([*_format_rows(rows), "", *_total_lines(jobs, total_usd), prices, *master])


def _evidence(job: JobPlan) -> Row:
    """The measured job, and its deadline."""
    stream = " (one micro-batch)" if job.time_of != "run" else ""
    source = DEADLINE_SOURCES.get(job.deadline_from or "", "")
    deadline = "" if job.deadline_from == "measured" else text.seconds(job.deadline_seconds)
    return (
        f"{text.escaped(job.evidence.name)}{stream}",
        text.seconds(job.measured_seconds),
        f"{deadline} {source}".strip(),
        f"{job.evidence.runs:,}",
        "",
    )


def _answer(job: JobPlan, decimals: int) -> Row | str:
    """The recommended cluster; else the nearest miss, marked, or the error."""
    choice = job.chosen or job.nearest
    if job.problem is not None:
        where = f"{job.problem.where}: " if job.problem.where else ""
        return f"  not planned: {text.escaped(where + job.problem.what)}"
    if choice is None:
        return "  none"
    cluster = choice_words.composition(choice)
    confidence = job.recommendation.goal.confidence if job.recommendation else None
    return (
        f"  {cluster}" if job.chosen else f"  none (nearest {cluster})",
        text.seconds(choice.seconds),
        text.span(choice.low, choice.high, to="–"),
        text.usd(choice.cost_usd, decimals=decimals),
        text.in_time(choice.p_deadline, confidence),
    )


def _why_none(job: JobPlan) -> list[str]:
    """What the nearest miss violates, and the limit that would admit it: its predicted time may be
    within the deadline, but not at the confidence asked for. Two alternatives have a line each, and
    so has the likeliest to keep the deadline, where it is another cluster."""
    if (miss := job.miss) is None or (found := job.recommendation) is None:
        return []
    alternatives = recommend.sufficient_goal(found).splitlines()
    likeliest = [f"    {line}" for line in [recommend.likeliest_line(found)] if line]
    it = "it is" if miss.code == "budget" else "it"
    violation = f"    {it} {text.escaped(miss.reason)}"
    if len(alternatives) == 1:
        return [f"{violation}: {alternatives[0]}", *likeliest]
    return [violation, *(f"    {alternative}" for alternative in alternatives), *likeliest]


def _format_rows(rows: Sequence[Row | str]) -> list[str]:
    """The rows as lines; a first cell that leaves no room for the others has its own lines."""
    whole = [row for row in rows if not isinstance(row, str)]
    widths = [max(text.cells_of(row[index]) for row in whole) for index in range(1, len(HEAD[0]))]
    width_left = WIDTH - sum(widths) - len(GAP) * len(widths)
    first = max((n for n in (text.cells_of(row[0]) for row in whole) if n <= width_left), default=0)
    lines = []
    for row in rows:
        name = row if isinstance(row, str) else row[0]
        if isinstance(row, str) or text.cells_of(name) > first:
            lines += _wrapped(name)
            name = ""
        if not isinstance(row, str):
            cells = [
                cell.rjust(width) if index in RIGHT else cell.ljust(width)
                for index, (cell, width) in enumerate(zip(row[1:], widths, strict=True), start=1)
            ]
            lines.append(GAP.join([name + " " * (first - text.cells_of(name)), *cells]).rstrip())
    return lines


def _wrapped(line: str) -> list[str]:
    """Lines of at most `WIDTH` cells, the later ones indented. A word that is longer is cut: names
    in scripts without blanks are one word. Of blanks alone nothing is left but one empty line."""
    if text.cells_of(line) <= WIDTH:
        return [line]
    from rich.cells import chop_cells

    indent = " " * (len(line) - len(line.lstrip()))
    units = [unit for word in line.split() for unit in chop_cells(word, WIDTH - len(LATER))]
    if not units:
        return [""]
    lines = [f"{indent}{units[0]}"]
    for unit in units[1:]:
        if text.cells_of(f"{lines[-1]} {unit}") <= WIDTH:
            lines[-1] += f" {unit}"
        else:
            lines.append(f"{LATER}{unit}")
    return lines


def _total_lines(jobs: Sequence[JobPlan], total_usd: float | None) -> list[str]:
    """The total cost, and why there is no interval or no total."""
    counted = text.counted(len(jobs), "job")
    missing = sum(job.chosen is None for job in jobs)
    if missing:
        return [f"{counted}, {missing} without a cluster that satisfies its goal: no sum"]
    streams = any(job.time_of != "run" for job in jobs)
    each = "one run of each (of a stream one micro-batch)" if streams else "one run of each"
    return [
        f"{counted}, {text.usd(total_usd)} for {each}, expected",
        "(no interval: how far the errors of different jobs go together is not known)",
    ]
