"""Paints a chart into a frame: axes, curves, thresholds, the feasible range, points and labels."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import accumulate

from rich.cells import cell_len

from tui.widgets.canvas import Canvas, Dash
from tui.widgets.chart_data import ChartData, Pattern, Series, Threshold
from tui.widgets.chart_layout import (
    Label,
    Layout,
    are_signed,
    end_label_width,
    label_start,
    lay_out,
    row_of,
    spread,
)
from tui.widgets.chart_message import paint_message
from tui.widgets.chart_scales import Mark, chart_scales, visible_marks
from tui.widgets.frame import Frame
from tui.widgets.glyphs import Glyphs
from tui.widgets.text import fit, plain

_BAND = "band"
"""Style of the dots of bands."""

_BAND_SPARSE = 8
"""With fewer dots beside the curves than one in so many columns a band that is lower than a row is
left out: it would look like bumps of a curve."""

_DASHES: dict[Pattern, Dash | None] = {
    "solid": None,
    "dashed": (4, 3),
    "dotted": (1, 2),
    "broken": (8, 4),
    "sparse": (1, 5),
    "gapped": (14, 3),
}


@dataclass
class Plot:
    """Shared by the painters: the frame, the canvas, and the spans that labels occupy."""

    frame: Frame
    canvas: Canvas
    layout: Layout
    glyphs: Glyphs
    taken: list[tuple[int, int, int]] = field(default_factory=list)
    labels: list[Label] = field(default_factory=list)
    _sums: dict[int, list[float]] = field(default_factory=dict)

    def label(self, x: int, y: int, text: str, style: str) -> None:
        """Write `text` at cell (`x`, `y`) of the plot and reserve the cells."""
        self.frame.put(self.layout.left + x, y, text, style)
        self.taken.append((y, x, x + cell_len(text)))

    def sign(self, x: float, y: float, sign: str, style: str) -> None:
        """A sign on the cell of a point (values of x and y), where that is inside the plot."""
        across, up = self.layout.x.position(x), self.layout.y.position(y)
        if 0 <= across <= 1 and 0 <= up <= 1:
            column, row = self.canvas.cell_of(across, up)
            self.frame.put(self.layout.left + column, row, sign, style)

    def place(
        self, text: str, positions: Iterable[tuple[int, int]], style: str, *, name: str = ""
    ) -> None:
        """Write `text` at the candidate position (x, y) that hides the least, the first of equals;
        not at all outside the plot. With the `name` of a threshold the position is remembered."""
        length = cell_len(text)
        best, least = None, math.inf
        for position in positions:
            hidden = self._hidden(position[0], position[1], length)
            if hidden < least:
                best, least = position, hidden
            if not hidden:
                break
        if best is not None:
            self.label(best[0], best[1], text, style)
            if name:
                self.labels.append(Label(name, best[1], best[0], best[0] + length))

    def _hidden(self, x: int, y: int, length: int) -> float:
        """How much the `length` cells from (`x`, `y`) on would hide; infinite outside the plot."""
        if not (0 <= y < self.layout.height and x >= 0 and x + length <= self.layout.width):
            return math.inf
        if y not in self._sums:
            self._sums[y] = list(accumulate(self.canvas.weights(y), initial=0.0))
        dots = self._sums[y][x + length] - self._sums[y][x]
        others = (
            min(x + length, end) - max(x, start) for row, start, end in self.taken if row == y
        )
        return dots + 3 * sum(max(0, common) for common in others)


def _why_not(data: ChartData) -> str:
    """Why data without a layout are not drawn."""
    if not data.series:
        return "no data"
    return "no value is known" if chart_scales(data) is None else "too small to draw"


def paint(frame: Frame, data: ChartData, glyphs: Glyphs) -> Layout | None:
    """Paint `data` and return the layout used; None when only a message could be shown."""
    data = _printable(data, glyphs)
    layout = None if data.message is not None else lay_out(data, frame.width, frame.height)
    if layout is None:
        paint_message(frame, data.message or _why_not(data), glyphs)
        return None
    plot = Plot(frame, _rasterised(data, layout, glyphs), layout, glyphs)
    cells = list(plot.canvas.cells())
    dots = sum(style == _BAND for *_, style in cells)
    band_seen = dots * _BAND_SPARSE >= layout.width or _band_rows(data, layout) > 1.0
    for x, y, character, style in cells:
        if band_seen or style != _BAND:
            frame.chars[y][layout.left + x] = character
            frame.styles[y][layout.left + x] = style
    _paint_axes(plot, data)
    _paint_feasible(plot, data)
    marks = visible_marks(data, layout.scales)
    for mark in marks:
        plot.label(*plot.canvas.cell_of(mark.across, mark.up), glyphs.marker, "marker")
    for threshold in data.thresholds:
        _paint_threshold_label(plot, threshold)
    for mark in marks:
        _paint_mark_label(plot, mark)
    _paint_end_labels(plot, data)
    if data.crosshair is not None:
        from tui.widgets.chart_crosshair import paint_crosshair

        paint_crosshair(plot, data, data.crosshair)
    return layout._replace(labels=tuple(plot.labels), band_seen=band_seen)


def _band_rows(data: ChartData, layout: Layout) -> float:
    """Mean height [rows] of the bands; other curves may leave few cells in which they show."""
    heights = [
        high - low
        for series in data.series
        if series.lows is not None and series.highs is not None
        for low, high in zip(
            layout.y.positions(series.lows), layout.y.positions(series.highs), strict=True
        )
        if math.isfinite(high - low)
    ]
    return layout.height * sum(heights) / len(heights) if heights else 0.0


def _printable(data: ChartData, glyphs: Glyphs) -> ChartData:
    """`data` with every text made safe to print."""

    def safe(text: str) -> str:
        return plain(text, ascii_only=glyphs.ascii_only)

    return replace(
        data,
        series=tuple(replace(series, label=safe(series.label)) for series in data.series),
        thresholds=tuple(replace(line, label=safe(line.label)) for line in data.thresholds),
        points=tuple(replace(point, label=safe(point.label)) for point in data.points),
        x=replace(data.x, title=safe(data.x.title)),
        feasible_label=safe(data.feasible_label),
    )


def _rasterised(data: ChartData, layout: Layout, glyphs: Glyphs) -> Canvas:
    """All dots: bands, then thresholds, then curves with slot 1 last, so that it colours its
    cells."""
    canvas = Canvas(layout.width, layout.height, glyphs.dots)
    ordered = sorted(data.series, key=lambda series: -series.slot)
    for threshold in data.thresholds:
        if threshold.vertical:
            canvas.vertical(layout.x.position(threshold.value), "limit")
        else:
            canvas.horizontal(layout.y.position(threshold.value), "limit")
    # Curves usually share their xs: map them once.
    mapped: dict[int, list[float]] = {}
    for series in ordered:
        if id(series.xs) not in mapped:
            mapped[id(series.xs)] = layout.x.positions(series.xs)
        _rasterise_series(canvas, series, mapped[id(series.xs)], layout)
    return canvas


def _rasterise_series(canvas: Canvas, series: Series, xs: list[float], layout: Layout) -> None:
    """The band and the curve of one series; `xs` are positions."""
    if series.lows is not None and series.highs is not None:
        lows, highs = layout.y.positions(series.lows), layout.y.positions(series.highs)
        canvas.band(xs, lows, highs, _BAND)
    dash = _DASHES[series.pattern]
    canvas.curve(xs, layout.y.positions(series.ys), f"series-{series.slot}", dash)


def _paint_axes(plot: Plot, data: ChartData) -> None:
    """Both axes with ticks and labels, and the title of x at the right."""
    frame, layout, glyphs = plot.frame, plot.layout, plot.glyphs
    line = layout.left - 1
    for y in range(layout.height):
        frame.put(line, y, glyphs.axis_y, "axis")
    for tick in layout.y_ticks:
        frame.put(line, tick.cell, glyphs.tick_y, "axis")
        frame.put(0, tick.cell, fit(tick.label, line, align="right"), "tick")
    bottom = layout.height
    frame.put(line, bottom, glyphs.corner + glyphs.axis_x * layout.width, "axis")
    for tick in layout.x_ticks:
        frame.put(layout.left + tick.cell, bottom, glyphs.tick_x, "axis")
        start = max(0, layout.left + label_start(tick.cell, tick.label))
        frame.put(start, bottom + 1, tick.label, "tick")
    title = data.x.title
    frame.put(frame.width - cell_len(title), bottom + 1, title, "title")


def _paint_feasible(plot: Plot, data: ChartData) -> None:
    """A heavy ruler on the x axis over the feasible values, with its label on the longest range."""
    frame, layout, glyphs = plot.frame, plot.layout, plot.glyphs
    ticks = {tick.cell for tick in layout.x_ticks}
    longest = range(0)
    for low, high in data.feasible:
        if high < layout.x.low or low > layout.x.high:
            continue
        columns = range(layout.column(low), layout.column(high) + 1)
        longest = max(longest, columns, key=len)
        for column in columns:
            glyph = glyphs.ruler_tick if column in ticks else glyphs.ruler
            frame.put(layout.left + column, layout.height, glyph, "feasible")
    text = f" {data.feasible_label} "
    if data.feasible_label and len(longest) >= cell_len(text) + 4:
        start = longest.start + (len(longest) - cell_len(text)) // 2
        frame.put(layout.left + start, layout.height, text, "feasible")


def _paint_threshold_label(plot: Plot, threshold: Threshold) -> None:
    """The label of a threshold on its own line, where it hides no curve if possible."""
    layout, glyphs, style = plot.layout, plot.glyphs, "limit-label"
    if not threshold.label:
        return
    if threshold.vertical:
        _paint_vertical_label(plot, threshold, style)
        return
    position = layout.y.position(threshold.value)
    arrow = glyphs.above if position > 1 else glyphs.below if not position >= 0 else ""
    text = f" {arrow} {threshold.label} " if arrow else f" {threshold.label} "
    row = row_of(position, layout.height)
    rows = [row] if arrow else [row, row - 1, row + 1]
    # From the right: that is where a reader looks for it, next to the names of the curves.
    columns = range(layout.width - cell_len(text) - 1, 0, -3)
    plot.place(text, ((x, y) for y in rows for x in columns), style, name=threshold.name)


def _paint_vertical_label(plot: Plot, threshold: Threshold, style: str) -> None:
    """The label of a vertical line beside it, or at the edge beyond which it is, in the first row
    where it hides nothing."""
    layout, glyphs, text = plot.layout, plot.glyphs, threshold.label
    position, column = layout.x.position(threshold.value), layout.column(threshold.value)
    sides: tuple[int, ...] = (column + 2, column - cell_len(text) - 1)
    if position > 1:
        text = f" {text} {glyphs.after} "
        sides = (layout.width - cell_len(text),)
    elif not position >= 0:
        text, sides = f" {glyphs.before} {text} ", (0,)
    candidates = ((x, y) for y in range(layout.height) for x in sides)
    plot.place(text, candidates, style, name=threshold.name)


def _paint_mark_label(plot: Plot, mark: Mark) -> None:
    """The label of a marked point beside, above or below its marker: the place that hides the
    least."""
    if not mark.label:
        return
    x, y = plot.canvas.cell_of(mark.across, mark.up)
    text = f" {plot.glyphs.below} {mark.label} " if mark.below else f" {mark.label} "
    length = cell_len(text)
    starts = (x + 1, x - length, x - length // 2)
    # Below the axis the arrow points down from the marker's own row.
    shifts = (0, -1, -2) if mark.below else (-1, 1, -2, 2, -3, 3, 0)
    candidates = ((start, y + shift) for shift in shifts for start in starts)
    plot.place(text, candidates, "marker-label")


def _paint_end_labels(plot: Plot, data: ChartData) -> None:
    """The names of the series at the right, each in the row nearest to the end of its curve; where
    there are several, each with the sign at that end."""
    layout, frame = plot.layout, plot.frame
    labelled = sorted((s for s in data.series if s.label), key=lambda series: series.slot)
    ends = [_end(series, layout.x.high) for series in labelled]
    wanted = [layout.row(y) for _, y in ends]
    width, signed = end_label_width(data, frame.width) - 1, are_signed(data)
    for series, row, end in zip(labelled, spread(wanted, layout.height), ends, strict=True):
        if row is None:
            continue
        sign, style = plot.glyphs.signs[series.slot - 1], f"series-{series.slot}-label"
        name = f"{sign} {series.label}" if signed else series.label
        text = fit(name, width, ellipsis=plot.glyphs.ellipsis)
        frame.put(layout.left + layout.width + 1, row, text, style)
        if signed:
            plot.sign(*end, sign, style)


def _end(series: Series, high: float) -> tuple[float, float]:
    """The last finite point of a series up to `high`; NaN when there is none."""
    points = zip(reversed(series.xs), reversed(series.ys), strict=True)
    seen = ((x, y) for x, y in points if math.isfinite(y) and x <= high * (1 + 1e-9))
    return next(seen, (math.nan, math.nan))
