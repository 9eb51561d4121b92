"""The crosshair of a chart: a vertical line, and a sign on every curve there."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tui.widgets.chart_data import ChartData, Series
from tui.widgets.chart_layout import Layout, label_start
from tui.widgets.numbers import text_of

if TYPE_CHECKING:
    from tui.widgets.chart_paint import Plot

_EVERY = 3
"""Every so many rows have a dot of the line: each costs bytes whenever it moves."""

BIG_STEP = 8
"""Cells of the plot per big step."""


def paint_crosshair(plot: Plot, data: ChartData, x: float) -> None:
    """Paint the line, its value on the axis, the signs on the curves and the value of the first
    curve."""
    layout, frame, glyphs = plot.layout, plot.frame, plot.glyphs
    if not 0 <= layout.x.position(x) <= 1:
        return
    column = layout.column(x)
    for y in range(0, layout.height, _EVERY):
        if frame.chars[y][layout.left + column] == " ":
            frame.put(layout.left + column, y, glyphs.vertical, "tick")
    label = text_of(x, data.x.kind)
    start = max(0, layout.left + label_start(column, label) - 1)
    under = frame.chars[layout.height][layout.left + column]
    if under != " " and not under.isalnum():  # keep the label on the ruler readable
        frame.put(layout.left + column, layout.height, glyphs.tick_x, "marker")
    frame.put(start, layout.height + 1, f" {label} ", "marker-label")
    for series in sorted(data.series, key=lambda drawn: -drawn.slot):
        sign = glyphs.signs[series.slot - 1]
        plot.sign(x, value_at(series, x), sign, f"series-{series.slot}-label")
    first = min(data.series, key=lambda drawn: drawn.slot)
    y_value = value_at(first, x)
    if 0 <= layout.y.position(y_value) <= 1:
        _paint_value(plot, x, y_value, text_of(_rounded(y_value), data.y.kind))


def _rounded(value: float) -> float:
    """Three digits: more are not readable off a chart."""
    return float(f"{value:.3g}")


def _paint_value(plot: Plot, x: float, y: float, text: str) -> None:
    """Write the value beside its sign, where it hides the least."""
    column, row = plot.canvas.cell_of(plot.layout.x.position(x), plot.layout.y.position(y))
    starts = (column + 2, column - cell_len(text) - 1)
    candidates = ((start, row + shift) for shift in (-1, 0, 1) for start in starts)
    plot.place(text, candidates, "marker-label")


def value_at(series: Series, x: float) -> float:
    """The value of a series at one of its xs; NaN where it has none there."""
    index = bisect_left(series.xs, x * (1 - 1e-9))
    if index < len(series.xs) and math.isclose(series.xs[index], x, rel_tol=1e-9):
        return series.ys[index]
    return math.nan


def nearest(xs: Sequence[float], layout: Layout, column: float) -> float:
    """The x drawn nearest to a column of the plot; visible ones are preferred."""
    wanted = column / max(1, layout.width - 1)
    inside = [x for x in xs if layout.x.low * (1 - 1e-9) <= x <= layout.x.high * (1 + 1e-9)]
    return min(inside or xs, key=lambda x: abs(layout.x.position(x) - wanted))


def stepped(xs: Sequence[float], layout: Layout, x: float, direction: int, *, big: bool) -> float:
    """The next x in a direction, or with `big` the one about BIG_STEP cells away."""
    current = min(range(len(xs)), key=lambda index: abs(xs[index] - x))
    next_index = min(max(0, current + direction), len(xs) - 1)
    if not big:
        return xs[next_index]
    column = layout.x.position(x) * (layout.width - 1) + direction * BIG_STEP
    wanted = column / max(1, layout.width - 1)
    far_x = min(xs, key=lambda value: abs(layout.x.position(value) - wanted))
    is_farther = far_x > xs[next_index] if direction > 0 else far_x < xs[next_index]
    return far_x if is_farther else xs[next_index]
