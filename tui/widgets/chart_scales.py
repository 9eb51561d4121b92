"""The scales of a chart: of all its data, and of the visible part."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from tui.widgets.chart_data import Axis, ChartData, Series, Window
from tui.widgets.numbers import text_of
from tui.widgets.scales import LinearScale, LogScale, Scale, nice_bounds

_REACH = 2.5
_BAND_REACH = 1.5

_PAST_LIMIT = 1.25
"""An axis goes on to this multiple of a threshold that a band passes: one that ended at the line
would look as if nothing were beyond it."""

MAX_ZOOM = 64
"""The smallest visible part of an axis is the whole divided by this."""


class Scales(NamedTuple):
    """Scales of the visible part and of the whole of both axes."""

    x: Scale
    y: Scale
    whole_x: Scale
    whole_y: Scale


class Mark(NamedTuple):
    """A marked point inside the plot: positions on both axes, label, and whether it is one of zero,
    which lies below every logarithmic axis and is marked at the foot."""

    across: float
    up: float
    label: str
    below: bool = False


def visible_marks(data: ChartData, scales: Scales) -> list[Mark]:
    """The marked points inside the plot. One of zero, as the cost of owned nodes, has no logarithm:
    it is marked at the foot of the axis, and its label says its value. A zoom of that axis leaves
    it out, as one of a linear axis does."""
    zoomed_y = visible_part(scales.whole_y, data.y.window) != scales.whole_y
    marks = []
    for point in data.points:
        across, up, below = scales.x.position(point.x), scales.y.position(point.y), False
        label = point.label
        if point.y == 0.0 and math.isnan(up) and not zoomed_y:
            up, below = 0.0, True
            label = f"{label} {text_of(point.y, data.y.kind)}".lstrip()
        if 0 <= across <= 1 and 0 <= up <= 1:
            marks.append(Mark(across, up, label, below))
    return marks


def chart_scales(data: ChartData, *, whole_bands: bool = False) -> Scales | None:
    """The scales of `data`; None where there is nothing to draw.

    Where x is zoomed and y is not, y fits the visible part of the curves.

    Args:
        whole_bands: show the whole of every band, however flat that makes its curve.
    """
    reach = math.inf if whole_bands else _BAND_REACH
    whole_x, whole_y = _x_scale(data), _y_scale(data, data.series, reach)
    if whole_x is None or whole_y is None:
        return None
    x = visible_part(whole_x, data.x.window)
    y = visible_part(whole_y, data.y.window)
    if x != whole_x and y == whole_y:
        y = _y_scale(data, [_seen(series, x) for series in data.series], reach) or whole_y
    return Scales(x, y, whole_x, whole_y)


def visible_part(whole: Scale, window: Window | None) -> Scale:
    """The part of a scale in a window; the whole where the window is outside of it."""
    if window is None:
        return whole
    low, high = max(whole.low, window[0]), min(whole.high, window[1])
    if not low < high:
        return whole
    return LogScale(low, high) if isinstance(whole, LogScale) else LinearScale(low, high)


def zoomed(seen: Scale, whole: Scale, *, factor: float, at: float) -> Window | None:
    """The window `factor` times as wide as the visible part, with the value `at` fixed on the
    screen; None for the whole."""
    low, high = whole.position(seen.low), whole.position(seen.high)
    anchor = seen.position(at)
    middle = 0.5 if math.isnan(anchor) else min(1.0, max(0.0, anchor))
    width = max((high - low) * factor, 1.0 / MAX_ZOOM)
    low += (high - low - width) * middle
    return _window(whole, low, low + width)


def panned(seen: Scale, whole: Scale, *, share: float) -> Window | None:
    """The window moved by a share of its width, clamped to the whole."""
    low, high = whole.position(seen.low), whole.position(seen.high)
    shift = (high - low) * share
    return _window(whole, low + shift, high + shift)


def _window(whole: Scale, low: float, high: float) -> Window | None:
    """The values at two positions of a scale, shifted inside it; None for the whole."""
    width = high - low
    if width > 1.0 - 1e-6:
        return None
    low = min(max(0.0, low), 1.0 - width)
    return whole.value(low), whole.value(low + width)


def _seen(series: Series, x: Scale) -> Series:
    """The part of a series inside a scale of x; all of it where no point is inside."""
    first, end = bisect_left(series.xs, x.low), bisect_right(series.xs, x.high)
    if first == end:
        return series
    lows, highs = series.lows, series.highs
    return replace(
        series,
        xs=series.xs[first:end],
        ys=series.ys[first:end],
        lows=None if lows is None else lows[first:end],
        highs=None if highs is None else highs[first:end],
    )


def _extent(parts: Iterable[Sequence[float]], *, log: bool) -> tuple[float, float] | None:
    """The smallest and largest value that an axis can show; None where there is none."""
    lows, highs = [], []
    for values in {id(values): values for values in parts}.values():
        # The sum is finite only if all values are: much faster than testing each.
        if not (math.isfinite(sum(values)) and (not log or min(values, default=0.0) > 0)):
            values = [v for v in values if math.isfinite(v) and (v > 0 or not log)]
        if values:
            lows.append(min(values))
            highs.append(max(values))
    return (min(lows), max(highs)) if lows else None


def _x_scale(data: ChartData) -> Scale | None:
    """The scale of x: from the first to the last value, so that curves fill the plot."""
    axis = data.x
    extent = _extent((series.xs for series in data.series), log=axis.log)
    if extent is None:
        return None
    low = extent[0] if axis.low is None else axis.low
    high = extent[1] if axis.high is None else axis.high
    if not low < high:
        low, high = (low / 2, low * 2) if axis.log else (low - 0.5, low + 0.5)
    return LogScale(low, high) if axis.log else LinearScale(low, high)


def _y_scale(data: ChartData, series: Sequence[Series], band_reach: float) -> Scale | None:
    """The scale of y: the curves, and bands and thresholds within reach of them.

    Curves that are zero throughout have no logarithm and get a linear axis.
    """
    axis = data.y
    extent = _extent((curve.ys for curve in series), log=axis.log)
    if extent is None and axis.log:
        axis = replace(axis, log=False)
        extent = _extent((curve.ys for curve in series), log=axis.log)
    if extent is None:
        return None
    low, high = extent
    bands = [band for curve in series for band in (curve.lows, curve.highs) if band]
    edges = _extent(bands, log=axis.log) or extent
    least, most = _reach(low, high, band_reach, axis)
    low, high = min(low, max(edges[0], least)), max(high, min(edges[1], most))
    least, most = _reach(low, high, _REACH, axis)
    limits = [line.value for line in data.thresholds if not line.vertical]
    near = [value for value in limits if least <= value <= most]
    low, high = min([low, *near]), max([high, *near])
    if not axis.log and low >= 0:
        low = 0.0
    low, high = nice_bounds(low, high, axis.kind, log=axis.log)
    passed = [_PAST_LIMIT * value for value in near if value < edges[1]] if bands else []
    high = max([high, *passed])
    low = low if axis.low is None else axis.low
    high = high if axis.high is None else axis.high
    return LogScale(low, high) if axis.log else LinearScale(low, high)


def _reach(low: float, high: float, factor: float, axis: Axis) -> tuple[float, float]:
    """How far an axis is stretched for bands and thresholds before the curves look too flat."""
    if axis.log:
        return low / factor, high * factor
    span = (high - low) or abs(high)
    return low - span * (factor - 1), high + span * (factor - 1)
