"""Line charts with an uncertainty band as SVG: small, self-contained, all text escaped."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 16, 34, 46
_MOST_TICKS = 5
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
TIMES = (
    *(1.0, 2.0, 5.0, 10.0, 15.0, 30.0),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 4, 6, 12)),
    _DAY,
)
"""Round tick steps for seconds; other axes use 1, 2 or 5 times a power of ten."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line; low and high are None where there is no interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Axis:
    """An axis: title, number format, and round tick steps of its unit."""

    label: str
    write: Callable[[float], str]
    steps: Sequence[float] = ()


def ticks(end: float, steps: Sequence[float] = ()) -> list[float]:
    """Round tick values from 0 to at most `end`, in at most `_MOST_TICKS` steps."""
    least = end / _MOST_TICKS
    if steps and steps[0] < least <= steps[-1]:
        step = next(step for step in steps if step >= least)
    else:
        unit = steps[-1] if steps and least > steps[-1] else 1.0
        power = unit * 10.0 ** math.floor(math.log10(least / unit))
        step = next(times * power for times in (1.0, 2.0, 5.0, 10.0) if times * power >= least)
    # Three times 0.1 is 0.30000000000000004, and reads "$0.300" between "$0.20" and "$0.40".
    return [round(step * multiple, 12) for multiple in range(math.floor(end / step + 1e-9) + 1)]


def chart(
    title: str, points: Sequence[Point], *, x: Axis, y: Axis, marked: Point | None = None
) -> str:
    """An SVG element; `marked` is drawn as a dot. Points ascend in x."""
    shown = [*points, *([marked] if marked else [])]
    right = max(point.x for point in shown)
    top = max(point.y if point.high is None else point.high for point in shown)

    def to_pixels(px: float, py: float) -> str:
        across = _LEFT + (WIDTH - _LEFT - _RIGHT) * px / right
        down = HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * py / top
        return f"{across:.1f},{down:.1f}"

    band = [point for point in points if point.low is not None and point.high is not None]
    upper = [to_pixels(point.x, point.high or 0.0) for point in band]
    lower = [to_pixels(point.x, point.low or 0.0) for point in reversed(band)]
    line = " ".join(to_pixels(point.x, point.y) for point in points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'width="{WIDTH}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        _text(WIDTH / 2, 18, title, "middle"),
        *_grid(ticks(right, x.steps), ticks(top, y.steps), x=x, y=y, to_pixels=to_pixels),
    ]
    if len(band) > 1:
        parts.append(f'<polygon points="{" ".join([*upper, *lower])}" fill="#cfe0f3"/>')
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    parts.append(_text(WIDTH / 2, HEIGHT - 8, x.label, "middle"))
    parts.append(_text(4, 18, y.label, "start"))
    if marked is not None:
        across, down = to_pixels(marked.x, marked.y).split(",")
        parts.append(f'<circle cx="{across}" cy="{down}" r="5" fill="#c0392b"/>')
    return "\n".join([*parts, "</svg>"])


def _grid(
    across: Sequence[float],
    up: Sequence[float],
    *,
    x: Axis,
    y: Axis,
    to_pixels: Callable[[float, float], str],
) -> list[str]:
    """Tick labels of both axes, and grid lines at those of y, drawn below the line and its band."""
    parts = []
    for value in across:
        at, down = map(float, to_pixels(value, 0.0).split(","))
        anchor = "end" if at > WIDTH - 2 * _RIGHT else "middle"
        parts.append(_text(at, down + 16, x.write(value) if value else "0", anchor))
    for value in up:
        _, down_text = to_pixels(0.0, value).split(",")
        label = y.write(value) if value else "0"
        parts.append(_text(_LEFT - 6, float(down_text) + 4, label, "end"))
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{down_text}" y2="{down_text}" '
            'stroke="#ddd"/>'
        )
    return parts


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
