"""The values at the crosshair: every curve's time, interval, cost and probability of being in
time."""

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
"""The drawn curves, each with its colour slot."""

_ROWS = 3
"""Rows of the headline on a small terminal."""


class CurveReading(NamedTuple):
    """The values of one curve at one number of nodes; NaN where unknown.

    Args:
        name: the cluster: "12 × r5.2xlarge".
        low, high: interval of the time, in seconds, at the confidence of the goal.
        meets: whether the goal is met.
        started: whether Spark starts every stage of the job.
        unpriced: why there is no cost, where there is none.
    """

    sign: str
    name: str
    seconds: float
    low: float
    high: float
    cost_usd: float
    cost_low_usd: float
    cost_high_usd: float
    p: float
    meets: bool
    started: bool
    unpriced: str = ""

    @property
    def interval(self) -> str:
        """ "38–44 min", or "no interval"."""
        return text.span(self.low, self.high, to="–")


def readings(curves: DrawnCurves, nodes: int, glyphs: Glyphs) -> list[CurveReading]:
    """Every curve at a number of nodes; curves that do not reach it are left out."""
    values = []
    for slot, curve in curves:
        index = nodes - int(curve.nodes[0])
        if 0 <= index < len(curve.nodes):
            values.append(
                CurveReading(
                    sign=glyphs.signs[slot - 1],
                    name=f"{nodes} × {curve.instance}",
                    seconds=float(curve.seconds[index]),
                    low=float(curve.low[index]),
                    high=float(curve.high[index]),
                    cost_usd=float(curve.cost_usd[index]),
                    cost_low_usd=float(curve.cost_low_usd[index]),
                    cost_high_usd=float(curve.cost_high_usd[index]),
                    p=float(curve.p_deadline[index]),
                    meets=bool(curve.feasible[index]),
                    started=bool(curve.started[index]),
                    unpriced=curve.unpriced,
                )
            )
    return values


def side_lines(state: PlanState, curve_readings: Sequence[CurveReading]) -> list[Line]:
    """Lines for the side panel: a few for each curve."""
    lines: list[Line] = []
    for reading in curve_readings:
        lines.append([(f"{reading.sign} ", "accent"), (reading.name, "strong")])
        if math.isnan(reading.seconds):
            lines.append([(f"  {_no_time(reading)}", "muted")])
            continue
        lines.append(
            [
                (f"  {text.seconds(reading.seconds)}", "strong"),
                (_interval_text(state, reading), "base"),
            ]
        )
        lines.append([(f"  {_cost_text(reading)}{_cost_interval_text(reading)}", "base")])
        goal: Span = ("  meets the goal", "good") if reading.meets else ("  misses the goal", "bad")
        lines.append([goal, (_in_time(state, reading), "base")])
    return lines


def _no_time(reading: CurveReading) -> str:
    return "no answer at this size" if reading.started else "does not start here"


def _interval_text(state: PlanState, reading: CurveReading) -> str:
    if math.isnan(reading.low):
        return ", no interval"
    return f", {text.odds(state.confidence)}: {reading.interval}"


def _cost_text(reading: CurveReading) -> str:
    if math.isnan(reading.cost_usd):
        return reading.unpriced or "no price"
    return text.usd(reading.cost_usd)


def _cost_interval_text(reading: CurveReading) -> str:
    """The costs of the interval, where it has any and they differ."""
    return text.usd_interval(reading.cost_low_usd, reading.cost_high_usd)


def _in_time(state: PlanState, reading: CurveReading) -> str:
    if state.deadline_seconds is None or math.isnan(reading.p):
        return ""
    return f", in time {text.in_time(reading.p, state.confidence)}"


def compact_rows(
    state: PlanState, curve_readings: Sequence[CurveReading], width: int
) -> list[Line]:
    """Rows for a small terminal: one per curve, or two curves in a row."""
    if len(curve_readings) <= _ROWS:
        return [_compact_row(state, reading, width) for reading in curve_readings]
    half = max(10, width // 2 - 1)
    lines: list[list[Span]] = [[] for _ in range(min(_ROWS, len(curve_readings)))]
    for index, reading in enumerate(curve_readings[: 2 * _ROWS]):
        name, rest = f"{reading.sign} {reading.name} ", _compact_text(state, reading)
        width_left = half - cell_len(name)
        if index >= _ROWS:
            before = sum(cell_len(part) for part, _ in lines[index - _ROWS])
            lines[index - _ROWS].append((" " * max(1, half + 1 - before), "base"))
        lines[index % _ROWS] += [(name, "strong"), (rest[: max(0, width_left)], "base")]
    return [*lines]


def _compact_row(state: PlanState, reading: CurveReading, width: int) -> Line:
    """ "● 4 × r5.2xlarge 41 min, 9 in 10: 38–44 min, $2.60 ($2.40 to $2.80), in time 93 %"; without
    the costs of the interval where the row is too short for them."""
    if math.isnan(reading.seconds):
        return [
            (f"{reading.sign} ", "accent"),
            (reading.name, "strong"),
            (f" {_no_time(reading)}", "muted"),
        ]
    named = f"{reading.name} {text.seconds(reading.seconds)}"
    costs = [f"{_cost_text(reading)}{_cost_interval_text(reading)}", _cost_text(reading)]
    values = [
        f"{_interval_text(state, reading)}, {cost}{_in_time(state, reading)}" for cost in costs
    ]
    fits = cell_len(f"{reading.sign} {named}{values[0]}") <= width
    return [
        (f"{reading.sign} ", "accent"),
        (named, "strong"),
        (values[0] if fits else values[1], "base"),
    ]


def _compact_text(state: PlanState, reading: CurveReading) -> str:
    if math.isnan(reading.seconds):
        return _no_time(reading)
    p = text.in_time(reading.p, state.confidence)
    odds = "" if state.deadline_seconds is None else f" {p}"
    return f"{text.seconds(reading.seconds)} {_cost_text(reading)}{odds}"
