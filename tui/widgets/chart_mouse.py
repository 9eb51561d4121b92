"""Mouse positions on a chart: the threshold under the mouse, and drags of thresholds and plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from textual.geometry import Offset

from tui.widgets.chart_crosshair import nearest
from tui.widgets.chart_data import ChartData, Threshold, Window
from tui.widgets.chart_layout import Layout
from tui.widgets.chart_scales import panned


class DragGesture(NamedTuple):
    """A drag that began at cell `start`: of a threshold, or of the plot where `line` is None.

    Until the button is released the axes stay fixed: nothing moves away under the mouse.
    """

    layout: Layout
    start: tuple[int, int]
    line: Threshold | None
    data: ChartData

    def with_fixed_axes(self, data: ChartData) -> ChartData:
        """`data` on the axes of the moment in which the drag began."""
        if self.line is None:
            return data
        x, y = self.layout.scales.x, self.layout.scales.y
        return replace(
            data,
            x=replace(data.x, low=x.low, high=x.high, window=None),
            y=replace(data.y, low=y.low, high=y.high, window=None),
        )

    def value(self, line: Threshold, x: int, y: int) -> float:
        """The value of a dragged threshold with the mouse at a cell: it moves as far as the mouse,
        from the edge where it was outside. The scale is extended beyond the plot."""
        layout = self.layout
        scale, moved = layout.y, (self.start[1] - y) / max(1, layout.height - 1)
        if line.vertical:
            scale, moved = layout.x, (x - self.start[0]) / max(1, layout.width - 1)
        return scale.value(min(1.0, max(0.0, scale.position(line.value))) + moved)

    def windows(self, x: int, y: int) -> tuple[Window | None, Window | None]:
        """The windows of x and y after dragging the plot to a cell; y only where it is zoomed."""
        layout, scales = self.layout, self.layout.scales
        across = (self.start[0] - x) / max(1, layout.width - 1)
        up = (y - self.start[1]) / max(1, layout.height - 1)
        seen_y = self.data.y.window
        return (
            panned(scales.x, scales.whole_x, share=across),
            None if seen_y is None else panned(scales.y, scales.whole_y, share=up),
        )


def drag_at(data: ChartData, layout: Layout, offset: Offset) -> DragGesture | None:
    """The drag that a press of the button at a cell begins; None outside the plot."""
    line = line_at(data, layout, offset.x, offset.y)
    inside = layout.left <= offset.x < layout.left + layout.width and offset.y < layout.height
    if line is None and not inside:
        return None
    return DragGesture(layout, (offset.x, offset.y), line, data)


def line_at(data: ChartData, layout: Layout, x: int, y: int) -> Threshold | None:
    """The draggable threshold whose line or label is under a cell."""
    column = x - layout.left
    if not (0 <= column < layout.width and 0 <= y < layout.height):
        return None
    named = {line.name: line for line in data.thresholds if line.name}
    for label in layout.labels:
        if label.row == y and label.start <= column < label.end and label.name in named:
            return named[label.name]
    for line in named.values():
        scale = layout.x if line.vertical else layout.y
        cell = layout.column(line.value) if line.vertical else layout.row(line.value)
        if 0 <= scale.position(line.value) <= 1 and cell == (column if line.vertical else y):
            return line
    return None


def nearest_x(xs: Sequence[float], layout: Layout, x: int, y: int) -> float | None:
    """The x of the curves nearest to a cell of the plot; None outside the plot."""
    column = x - layout.left
    if not xs or not (0 <= column < layout.width and 0 <= y <= layout.height):
        return None
    return nearest(xs, layout, column)


def with_line(data: ChartData, name: str, value: float) -> ChartData:
    """`data` with a threshold at another value; its label follows once the value is accepted."""
    return replace(
        data,
        thresholds=tuple(
            replace(line, value=value) if line.name == name else line for line in data.thresholds
        ),
    )
