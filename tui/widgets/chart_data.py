"""What a chart shows, as one frozen value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from tui.widgets.numbers import Kind

SERIES_SLOTS = 6

Window = tuple[float, float]
"""The part of an axis that is looked at: its least and largest value."""

Pattern = Literal["solid", "dashed", "dotted", "broken", "sparse", "gapped"]
"""How a line is drawn, so that two are told apart without colour."""

PATTERNS: tuple[Pattern, ...] = get_args(Pattern)
"""In the order of the slots."""


@dataclass(frozen=True, kw_only=True)
class Axis:
    """One axis: what its numbers are and how they are spread.

    `low` and `high` fix an end; None lets the data decide. An axis that stays put while a slider
    moves also costs the fewest bytes. `window` is the part that is zoomed to, None for the whole;
    one that holds nothing of the whole is taken for the whole.
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
    """Everything a chart shows.

    Attributes:
        feasible: intervals of x, (low, high), that satisfy the goal; ruled under the curves.
        feasible_label: written on that ruler.
        crosshair: the value of x whose values are looked at, one of those of the series.
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
