"""The data of a chart, as one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tui.widgets.numbers import Kind

SERIES_SLOTS = 6

Window = tuple[float, float]
"""The visible part of an axis: its lowest and highest value."""

Pattern = Literal["solid", "dashed", "dotted", "broken", "sparse", "gapped"]
"""Line pattern, so that two curves are distinguished without colour."""

PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
"""Patterns in the order of the slots."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis: the kind of its numbers and its scale.

    `low` and `high` fix an end; None lets the data decide. An axis that does not change while a
    slider moves also costs the fewest bytes. `window` is the zoomed part, None for the whole; a
    window outside the whole is ignored.
    """

    kind: Kind = "number"
    log: bool = False
    low: float | None = None
    high: float | None = None
    title: str = ""
    window: Window | None = None


@dataclass(frozen=True, kw_only=True)
class Series:
    """One curve: `ys` over ascending `xs`; NaN interrupts it.

    Attributes:
        label: shown at its right end (untrusted text).
        lows: lower edge of its band, or None; NaN where unknown.
        highs: upper edge of its band, or None.
        slot: which colour, 1 to SERIES_SLOTS; 1 is drawn last, on top, and strongest.
        pattern: of the line; dots and dashes set it apart without colour.
    """

    xs: Sequence[float]
    ys: Sequence[float]
    label: str = ""
    lows: Sequence[float] | None = None
    highs: Sequence[float] | None = None
    slot: int = 1
    pattern: Pattern = "solid"

    def __post_init__(self) -> None:
        parts = (self.xs, self.ys, self.lows, self.highs)
        lengths = {len(part) for part in parts if part is not None}
        if len(lengths) != 1:
            raise ValueError(f"the parts of a series differ in length: {sorted(lengths)}")
        if not 1 <= self.slot <= SERIES_SLOTS:
            raise ValueError(f"a slot is 1 to {SERIES_SLOTS}, not {self.slot}")


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """A labelled line at a value of y (a deadline) or, with `vertical`, of x (a minimum size).

    One with a `name` can be dragged with the mouse.
    """

    value: float
    label: str = ""
    vertical: bool = False
    name: str = ""


@dataclass(frozen=True, kw_only=True)
class Point:
    """A marked point with a label: the recommendation."""

    x: float
    y: float
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class ChartData:
    """Everything that a chart shows.

    Attributes:
        feasible: intervals of x, (low, high), that satisfy the goal; ruled under the curves.
        feasible_label: label on that ruler.
        crosshair: x of the crosshair, one of the xs of the series.
        message: shown instead of the chart ("loading", "no finished task").
    """

    series: tuple[Series, ...] = ()
    x: Axis = Axis()
    y: Axis = Axis()
    thresholds: tuple[Threshold, ...] = ()
    feasible: tuple[tuple[float, float], ...] = ()
    feasible_label: str = ""
    points: tuple[Point, ...] = ()
    crosshair: float | None = None
    message: str | None = None


EMPTY = ChartData(message="no data")
