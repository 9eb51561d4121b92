"""Charts as one SVG picture: light, self-contained, made without a terminal.

Curves differ by colour, by pattern and by their names at the right end, with a sample of each. All
text is untrusted: unprintable characters are made visible, the rest is escaped.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from textwrap import wrap
from typing import NamedTuple

from tui.format import escaped
from tui.widgets.chart_data import Axis, ChartData, Pattern, Series, Threshold
from tui.widgets.chart_scales import Scales, chart_scales, visible_marks
from tui.widgets.numbers import tick_texts
from tui.widgets.scales import Scale, tick_candidates

WIDTH, PANEL_HEIGHT = 860, 340
_LEFT, _TOP, _BOTTOM, _HEAD = 76, 34, 46, 30
_SAMPLE = 40
"""Pixels of the sample of a curve before its name: two dashes of every pattern fit."""
_FONT, _LETTER, _LINE = 13, 7.2, 16
_LINE_LETTERS = 112
_INKS = ("#0b5394", "#b45309", "#137333", "#8e3a80", "#4a4a4a", "#0e7490")
"""Colours of the slots: each at least 4.5 to 1 on white."""
_LIMIT = "#b3261e"
_DASHES: dict[Pattern, str] = {
    "solid": "",
    "dashed": "8 5",
    "dotted": "2 4",
    "broken": "16 6",
    "sparse": "2 9",
    "gapped": "24 4",
}


class Panel(NamedTuple):
    """One chart with its heading."""

    title: str
    data: ChartData


class _Plot(NamedTuple):
    """Position of a chart in the picture, in pixels."""

    data: ChartData
    scales: Scales
    top: float
    right: float

    @property
    def bottom(self) -> float:
        return self.top + PANEL_HEIGHT - _TOP - _BOTTOM

    def across(self, value: float) -> float:
        return _LEFT + (self.right - _LEFT) * self.scales.x.position(value)

    def down(self, value: float) -> float:
        return self.bottom - (self.bottom - self.top) * self.scales.y.position(value)


def format_svg(panels: Sequence[Panel], *, title: str, subtitle: str = "") -> str:
    """The charts one below the other under a heading, as the text of a file."""
    subtitle_lines = wrap(
        escaped(subtitle), _LINE_LETTERS, break_long_words=False, break_on_hyphens=False
    )
    head = _HEAD + _LINE * len(subtitle_lines) + 6
    height = head + PANEL_HEIGHT * len(panels)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" '
        f'height="{height}" role="img" font-family="sans-serif" font-size="{_FONT}">',
        f"<title>{_safe(title)}</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        _text(16, 22, title, weight="bold", size=16),
    ]
    parts += [
        _text(16, 40 + _LINE * row, line, ink="#444444") for row, line in enumerate(subtitle_lines)
    ]
    for index, panel in enumerate(panels):
        parts += _panel(panel, head + PANEL_HEIGHT * index, index)
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel, top: float, number: int) -> Iterator[str]:
    """One chart: its heading, grid, band, curves, lines and names."""
    yield _text(16, top + 18, panel.title, weight="bold")
    scales = chart_scales(panel.data, whole_bands=True)
    if scales is None or panel.data.message is not None:
        yield _text(_LEFT, top + PANEL_HEIGHT / 2, panel.data.message or "no data", ink="#444444")
        return
    longest = max((len(escaped(series.label)) for series in panel.data.series), default=0)
    right = WIDTH - 24 - min(longest, 30) * _LETTER - _sample(panel.data)
    plot = _Plot(panel.data, scales, top + _TOP, right)
    clip = f"plot-{number}"
    yield (
        f'<clipPath id="{clip}"><rect x="{_LEFT}" y="{plot.top:.1f}" '
        f'width="{right - _LEFT:.1f}" height="{plot.bottom - plot.top:.1f}"/></clipPath>'
    )
    yield from _grid(plot)
    yield from _feasible(plot)
    yield f'<g clip-path="url(#{clip})" fill="none" stroke-linejoin="round">'
    for series in sorted(panel.data.series, key=lambda curve: -curve.slot):
        yield from _curve(plot, series)
    yield "</g>"
    for line in panel.data.thresholds:
        yield from _limit(plot, line)
    yield from _points(plot)
    yield from _names(plot)


def _grid(plot: _Plot) -> Iterator[str]:
    """Ticks of both axes with their values, and the frame."""
    bottom, right = plot.bottom, plot.right
    for value, label in _ticks(plot.scales.x, plot.data.x, most=10):
        x = plot.across(value)
        yield _rule(x, plot.top, x, bottom, "#e6e6e6")
        yield _text(x, bottom + 17, label, anchor="middle", ink="#444444")
    for value, label in _ticks(plot.scales.y, plot.data.y, most=8):
        y = plot.down(value)
        yield _rule(_LEFT, y, right, y, "#e6e6e6")
        yield _text(_LEFT - 8, y + 4, label, anchor="end", ink="#444444")
    yield _rule(_LEFT, bottom, right, bottom, "#666666")
    yield _rule(_LEFT, plot.top, _LEFT, bottom, "#666666")
    kind = " (logarithmic)" if plot.data.x.log else ""
    yield _text(right, bottom + 36, f"{plot.data.x.title}{kind}", anchor="end", ink="#444444")


def _ticks(scale: Scale, axis: Axis, *, most: int) -> list[tuple[float, str]]:
    """The densest round values that are at most `most` and do not collide."""
    for values in tick_candidates(scale, axis.kind):
        positions = [scale.position(value) for value in values]
        apart = all(second - first > 0.6 / most for first, second in pairwise(positions))
        if len(values) <= most and apart:
            return list(zip(values, tick_texts(values, axis.kind), strict=True))
    return []


def _feasible(plot: _Plot) -> Iterator[str]:
    """A bar on the axis over the range that meets the goal."""
    x = plot.scales.x
    for low, high in plot.data.feasible:
        if high < x.low or low > x.high:
            continue
        start, end = plot.across(max(low, x.low)), plot.across(min(high, x.high))
        yield (
            f'<rect x="{start - 2:.1f}" y="{plot.bottom - 2:.1f}" width="{end - start + 4:.1f}" '
            f'height="5" fill="#137333"><title>{_safe(plot.data.feasible_label)}</title></rect>'
        )
    if plot.data.feasible and plot.data.feasible_label:
        label = f"▬ {plot.data.feasible_label}"
        yield _text(_LEFT, plot.bottom + 36, label, ink="#137333")


def _curve(plot: _Plot, series: Series) -> Iterator[str]:
    """The band and the line of one series, in pieces where it is interrupted."""
    ink = _INKS[series.slot - 1]
    if series.lows is not None and series.highs is not None:
        for piece in _pieces(series.xs, series.lows, series.highs, plot=plot):
            upper = [_at(plot, x, high) for x, _, high in piece]
            lower = [_at(plot, x, low) for x, low, _ in reversed(piece)]
            shape = " ".join([*upper, *lower])
            yield f'<polygon points="{shape}" fill="{ink}" fill-opacity="0.15"/>'
    dashes = _DASHES[series.pattern]
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    for piece in _pieces(series.xs, series.ys, plot=plot):
        line = " ".join(_at(plot, x, y) for x, y in piece)
        yield f'<polyline points="{line}" stroke="{ink}" stroke-width="2"{dashed}/>'


def _pieces(*columns: Sequence[float], plot: _Plot) -> Iterator[list[tuple[float, ...]]]:
    """The runs of rows in which every value can be drawn."""
    least = 0.0 if plot.data.y.log else -math.inf
    piece: list[tuple[float, ...]] = []
    for row in zip(*columns, strict=True):
        if all(math.isfinite(value) for value in row) and min(row[1:]) > least:
            piece.append(row)
        elif piece:
            yield piece
            piece = []
    if piece:
        yield piece


def _at(plot: _Plot, x: float, y: float) -> str:
    return f"{plot.across(x):.1f},{plot.down(y):.1f}"


def _limit(plot: _Plot, line: Threshold) -> Iterator[str]:
    """A line of the goal with its label; one outside the axis is named at that end."""
    scale = plot.scales.x if line.vertical else plot.scales.y
    position = scale.position(line.value)
    if not 0.0 <= position <= 1.0:
        sign = "→" if line.vertical and position > 1 else "↑" if position > 1 else "↓"
        y = plot.top + 14 if position > 1 else plot.bottom - 8
        yield _text(plot.right - 4, y, f"{sign} {line.label}", anchor="end", ink=_LIMIT)
    elif line.vertical:
        x = plot.across(line.value)
        yield _rule(x, plot.top, x, plot.bottom, _LIMIT, dashes="6 4")
        anchor = "end" if position > 0.7 else "start"
        shift = -6 if position > 0.7 else 6
        yield _text(x + shift, plot.top + 14, line.label, anchor=anchor, ink=_LIMIT)
    else:
        y = plot.down(line.value)
        yield _rule(_LEFT, y, plot.right, y, _LIMIT, dashes="6 4")
        above = y - 6 if y - plot.top > 20 else y + 16
        yield _text(plot.right - 4, above, line.label, anchor="end", ink=_LIMIT)


def _points(plot: _Plot) -> Iterator[str]:
    """A diamond at every visible marked point; of one below the axis the label points down."""
    for mark in visible_marks(plot.data, plot.scales):
        x = _LEFT + mark.across * (plot.right - _LEFT)
        y = plot.bottom - mark.up * (plot.bottom - plot.top)
        corners = f"{x:.1f},{y - 7:.1f} {x + 7:.1f},{y:.1f} {x:.1f},{y + 7:.1f} {x - 7:.1f},{y:.1f}"
        yield f'<polygon points="{corners}" fill="#111111" stroke="#ffffff" stroke-width="1.5"/>'
        if mark.label:
            label = f"↓ {mark.label}" if mark.below else mark.label
            yield _text(x + 11, y - 8, label, weight="bold")


def _names(plot: _Plot) -> Iterator[str]:
    """The names of the curves at their right ends, without overlap; where there are several, each
    behind a sample of its curve, since curves that end together would differ by hue alone."""
    ends, sample = [], _sample(plot.data)
    for series in plot.data.series:
        inside = [
            y
            for x, y in zip(series.xs, series.ys, strict=True)
            if math.isfinite(y) and x <= plot.scales.x.high * (1 + 1e-9)
        ]
        if series.label and inside:
            y = plot.down(inside[-1])
            ends.append((plot.bottom if math.isnan(y) else y, series))
    ends.sort(key=lambda end: end[0])
    heights = _apart([min(max(y, plot.top), plot.bottom) for y, _ in ends], plot.bottom)
    for y, (_, series) in zip(heights, ends, strict=True):
        label = escaped(series.label)
        label = label if len(label) <= 30 else f"{label[:29]}…"
        ink, x = _INKS[series.slot - 1], plot.right + 8
        if sample:
            dashes = _DASHES[series.pattern]
            yield _rule(x, y, x + sample - 6, y, ink, dashes=dashes, width=2)
        yield _text(x + sample, y + 4, label, ink=ink)


def _sample(data: ChartData) -> int:
    """Width of the sample before each name."""
    return _SAMPLE if sum(bool(series.label) for series in data.series) > 1 else 0


def _apart(wanted: Iterable[float], bottom: float) -> list[float]:
    """Ascending heights at least a line apart, none below `bottom`."""
    heights: list[float] = []
    for y in wanted:
        heights.append(max(y, heights[-1] + _LINE) if heights else y)
    limit = bottom
    for index in reversed(range(len(heights))):
        heights[index] = min(heights[index], limit)
        limit = heights[index] - _LINE
    return heights


def _rule(
    x1: float, y1: float, x2: float, y2: float, ink: str, *, dashes: str = "", width: int = 1
) -> str:
    drawn = f' stroke-dasharray="{dashes}"' if dashes else ""
    drawn += f' stroke-width="{width}"' if width > 1 else ""
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{ink}"{drawn}/>'


def _text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    ink: str = "#111111",
    weight: str = "normal",
    size: int = _FONT,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}" '
        f'font-weight="{weight}" font-size="{size}">{_safe(text)}</text>'
    )


def _safe(text: str) -> str:
    return escape(escaped(text))
