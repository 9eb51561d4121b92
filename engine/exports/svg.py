"""A line with its band as SVG: small, self-contained, all text escaped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 320
_LEFT, _RIGHT, _TOP, _BOTTOM = 78, 16, 34, 46
_TICKS = 4


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a line; low and high are None where there is no interval."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Axis:
    """What an axis shows and how its numbers are written."""

    label: str
    write: Callable[[float], str]


def chart(
    title: str, points: Sequence[Point], *, x: Axis, y: Axis, marked: Point | None = None
) -> str:
    """An SVG element; `marked` is drawn as a dot. Points ascend in x."""
    shown = [*points, *([marked] if marked else [])]
    right = max(point.x for point in shown)
    top = max(point.y if point.high is None else point.high for point in shown)

    def place(px: float, py: float) -> str:
        across = _LEFT + (WIDTH - _LEFT - _RIGHT) * px / right
        down = HEIGHT - _BOTTOM - (HEIGHT - _TOP - _BOTTOM) * py / top
        return f"{across:.1f},{down:.1f}"

    band = [point for point in points if point.low is not None and point.high is not None]
    upper = [place(point.x, point.high or 0.0) for point in band]
    lower = [place(point.x, point.low or 0.0) for point in reversed(band)]
    line = " ".join(place(point.x, point.y) for point in points)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        f'width="{WIDTH}" font-family="sans-serif" font-size="12">',
        f"<title>{escape(title)}</title>",
        _text(WIDTH / 2, 18, title, "middle"),
    ]
    if len(band) > 1:
        parts.append(f'<polygon points="{" ".join([*upper, *lower])}" fill="#cfe0f3"/>')
    parts.append(f'<polyline points="{line}" fill="none" stroke="#1f5fa8" stroke-width="2"/>')
    for step in range(_TICKS + 1):
        across, at = place(right * step / _TICKS, 0.0).split(",")
        anchor = "end" if step == _TICKS else "middle"
        parts.append(_text(float(across), float(at) + 16, x.write(right * step / _TICKS), anchor))
        _, down = place(0.0, top * step / _TICKS).split(",")
        parts.append(_text(_LEFT - 6, float(down) + 4, y.write(top * step / _TICKS), "end"))
        parts.append(
            f'<line x1="{_LEFT}" x2="{WIDTH - _RIGHT}" y1="{down}" y2="{down}" stroke="#ddd"/>'
        )
    parts.append(_text(WIDTH / 2, HEIGHT - 8, x.label, "middle"))
    parts.append(_text(4, 18, y.label, "start"))
    if marked is not None:
        across, down = place(marked.x, marked.y).split(",")
        parts.append(f'<circle cx="{across}" cy="{down}" r="5" fill="#c0392b"/>')
    return "\n".join([*parts, "</svg>"])


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
