"""The layout of a chart: scales, ticks that fit, gutters, labels that do not collide."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.cells import cell_len

from tui.widgets.chart_data import Axis, ChartData
from tui.widgets.chart_scales import Scales, chart_scales
from tui.widgets.numbers import tick_texts
from tui.widgets.scales import Scale, tick_candidates

MIN_WIDTH = 20
MIN_HEIGHT = 5
_AXIS_ROWS = 2


class Tick(NamedTuple):
    """A labelled position on an axis: a column or a row of the plot."""

    cell: int
    label: str


class Label(NamedTuple):
    """Position of a threshold's label: a row of the plot, columns from `start` to `end`."""

    name: str
    row: int
    start: int
    end: int


class Layout(NamedTuple):
    """Positions in cells: the plot starts at column `left`, row 0, and is `width` x `height`.

    `labels` are those of the named thresholds, and `band_seen` is whether a band shows beside
    the curves, once they are painted.
    """

    scales: Scales
    left: int
    width: int
    height: int
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    labels: tuple[Label, ...] = ()
    band_seen: bool = False

    @property
    def x(self) -> Scale:
        """The scale of the visible part of x."""
        return self.scales.x

    @property
    def y(self) -> Scale:
        """The scale of the visible part of y."""
        return self.scales.y

    def column(self, value: float) -> int:
        """Column of the plot for a value of x, clamped to the plot."""
        position = self.x.position(value)
        return round(min(1.0, max(0.0, position)) * (self.width - 1)) if position == position else 0

    def row(self, value: float) -> int:
        """Row for a value of y, counted from the top and clamped to the plot."""
        return row_of(self.y.position(value), self.height)


def row_of(position: float, height: int) -> int:
    """The row of `height` rows (from the top) for a position, clamped."""
    if position != position:
        return height - 1
    return round((1.0 - min(1.0, max(0.0, position))) * (height - 1))


def lay_out(data: ChartData, width: int, height: int) -> Layout | None:
    """The layout of `data` in `width` x `height` cells; None where it does not fit."""
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return None
    scales = chart_scales(data)
    if scales is None:
        return None
    x_scale, y_scale = scales.x, scales.y
    plot_height = height - _AXIS_ROWS
    y_ticks = _y_ticks(y_scale, data.y, plot_height)
    left = max((cell_len(tick.label) for tick in y_ticks), default=0) + 1
    plot_width = width - left - end_label_width(data, width)
    if plot_width < MIN_WIDTH // 2:
        return None
    title = cell_len(data.x.title)
    x_ticks = _x_ticks(x_scale, data.x, plot_width, width - left - (title + 2 if title else 0))
    return Layout(scales, left, plot_width, plot_height, x_ticks, y_ticks)


def end_label_width(data: ChartData, width: int) -> int:
    """Width of the names of the series at the right: at most a quarter of `width`."""
    longest = max((cell_len(series.label) for series in data.series), default=0)
    sign = 2 if are_signed(data) else 0
    return min(longest + sign + 1, width // 4) if longest else 0


def are_signed(data: ChartData) -> bool:
    """Whether each curve has a sign at its end and before its name: there are more than two."""
    return sum(bool(series.label) for series in data.series) > 2


def _y_ticks(scale: Scale, axis: Axis, height: int) -> tuple[Tick, ...]:
    """The densest ticks that leave a free row between labels."""
    most = min(8, max(2, height // 2))
    for values in tick_candidates(scale, axis.kind):
        if len(values) > most:
            continue
        rows = [row_of(scale.position(value), height) for value in values]
        apart = all(upper - lower >= 2 for upper, lower in pairwise(rows))
        if apart or height < 4:
            labels = tick_texts(values, axis.kind)
            return tuple(Tick(row, label) for row, label in zip(rows, labels, strict=True))
    return ()


def _x_ticks(scale: Scale, axis: Axis, width: int, label_end: int) -> tuple[Tick, ...]:
    """The densest ticks whose labels stay two cells apart and within `label_end` cells."""
    most = max(2, width // 7)
    for values in tick_candidates(scale, axis.kind):
        if len(values) > most:
            continue
        labels = tick_texts(values, axis.kind)
        columns = [round(scale.position(value) * (width - 1)) for value in values]
        starts = [label_start(column, label) for column, label in zip(columns, labels, strict=True)]
        ends = [start + cell_len(label) for start, label in zip(starts, labels, strict=True)]
        apart = all(start - end >= 2 for start, end in zip(starts[1:], ends, strict=False))
        if apart:
            return tuple(
                Tick(column, label)
                for column, label, end in zip(columns, labels, ends, strict=True)
                if end <= label_end
            )
    return ()


def label_start(column: int, label: str) -> int:
    """First cell of a tick label centred under `column` (it may reach left of the plot)."""
    return column - (cell_len(label) - 1) // 2


def spread(wanted: Sequence[int], height: int) -> list[int | None]:
    """Distinct rows near the `wanted` ones, in the same order; None where rows run out.

    Earlier entries matter more: with more labels than rows, the last ones are dropped.
    """
    kept = sorted(range(min(len(wanted), height)), key=lambda index: (wanted[index], index))
    rows: list[int] = []
    for index in kept:
        rows.append(max(wanted[index], rows[-1] + 1 if rows else 0))
    limit = height - 1
    for i in reversed(range(len(rows))):
        rows[i] = min(rows[i], limit)
        limit = rows[i] - 1
    result: list[int | None] = [None] * len(wanted)
    for index, row in zip(kept, rows, strict=True):
        result[index] = row
    return result
