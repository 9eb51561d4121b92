"""What there is to read at the crosshair: every curve's time, interval, cost and probability."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from tui import format as text
from tui.state import PlanState
from tui.views.prose import Line, Span
from tui.widgets.glyphs import Glyphs

if TYPE_CHECKING:
    from engine import Curve

DrawnCurves = Sequence[tuple[int, "Curve"]]
"""The curves that are drawn, each with its slot."""

_ROWS = 3
"""Of a small terminal."""


class CurveReading(NamedTuple):
    """One curve at one number of nodes; NaN where nothing is known, `p` None without a deadline.

    Args:
        name: what runs: "12 × r5.2xlarge".
        low, high: of the time, in seconds, at the confidence of the goal.
        meets: whether the goal is met there.
        unpriced: why there is no cost, where there is none.
    """

    sign: str
    name: str
    seconds: float
    low: float
    high: float
    cost_usd: float
    p: float
    meets: bool
    unpriced: str = ""

    @property
    def interval(self) -> str:
        """ "38–44 min"; how sure is not always known."""
        return text.span(self.low, self.high, to="–")


def readings(curves: DrawnCurves, nodes: int, glyphs: Glyphs) -> list[CurveReading]:
    """Every curve at a number of nodes; those that do not reach it are left out."""
    found = []
    for slot, curve in curves:
        place = nodes - int(curve.nodes[0])
        if 0 <= place < len(curve.nodes):
            found.append(
                CurveReading(
                    sign=glyphs.signs[slot - 1],
                    name=f"{nodes} × {curve.instance}",
                    seconds=float(curve.seconds[place]),
                    low=float(curve.low[place]),
                    high=float(curve.high[place]),
                    cost_usd=float(curve.cost_usd[place]),
                    p=float(curve.p_deadline[place]),
                    meets=bool(curve.feasible[place]),
                    unpriced=curve.unpriced,
                )
            )
    return found


def column(state: PlanState, found: Sequence[CurveReading]) -> list[Line]:
    """For the panel at the side: a few rows for each curve."""
    lines: list[Line] = []
    for one in found:
        lines.append([(f"{one.sign} ", "accent"), (one.name, "strong")])
        if math.isnan(one.seconds):
            lines.append([("  no answer at this size", "muted")])
            continue
        lines.append([(f"  {text.seconds(one.seconds)}", "strong"), (_runs(state, one), "base")])
        lines.append([(f"  {_paid(one)}", "base"), (_odds(state, one), "base")])
        lines.append([("  meets the goal", "good") if one.meets else ("  misses the goal", "bad")])
    return lines


def _runs(state: PlanState, one: CurveReading) -> str:
    if math.isnan(one.low):
        return ", no interval"
    return f", {text.odds(state.confidence)}: {one.interval}"


def _paid(one: CurveReading) -> str:
    if math.isnan(one.cost_usd):
        return one.unpriced or "no price"
    return text.usd(one.cost_usd)


def _odds(state: PlanState, one: CurveReading) -> str:
    if state.deadline_seconds is None or math.isnan(one.p):
        return ""
    return f", in time {text.in_time(one.p, state.confidence)}"


def rows(state: PlanState, found: Sequence[CurveReading], width: int) -> list[Line]:
    """For the three rows of a small terminal: a row for each curve, or two curves in a row."""
    if len(found) <= _ROWS:
        return [
            [
                (f"{one.sign} ", "accent"),
                (one.name, "strong"),
                (f" {text.seconds(one.seconds)}", "strong"),
                (f"{_runs(state, one)}, {_paid(one)}{_odds(state, one)}", "base"),
            ]
            for one in found
        ]
    half = max(10, width // 2 - 1)
    lines: list[list[Span]] = [[] for _ in range(min(_ROWS, len(found)))]
    for place, one in enumerate(found[: 2 * _ROWS]):
        name, rest = f"{one.sign} {one.name} ", _short(state, one)
        room = half - cell_len(name)
        if place >= _ROWS:
            before = sum(cell_len(part) for part, _ in lines[place - _ROWS])
            lines[place - _ROWS].append((" " * max(1, half + 1 - before), "base"))
        lines[place % _ROWS] += [(name, "strong"), (rest[: max(0, room)], "base")]
    return [*lines]


def _short(state: PlanState, one: CurveReading) -> str:
    p = text.in_time(one.p, state.confidence)
    odds = "" if state.deadline_seconds is None else f" {p}"
    return f"{text.seconds(one.seconds)} {_paid(one)}{odds}"
