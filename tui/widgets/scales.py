"""Scales between values and positions, round values on them, and the stops of a slider.

A position is a fraction of the axis: 0 at `low`, 1 at `high`; values outside have positions
outside.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, Protocol

from tui.widgets.numbers import Kind

_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)
_LONG_TIME_STEPS = (7200, 10800, 21600, 43200, 86400)
_TIME_LADDER = tuple(float(step) for step in (*_TIME_STEPS, *_LONG_TIME_STEPS))
_DAY = 86400.0
_TOLERANCE = 1e-9
_GRAIN = 0.125
"""Largest step of a logarithmic track, as a fraction of the value."""


def _times(
    seconds: Sequence[float], minutes: Sequence[float], hours: Sequence[float]
) -> tuple[float, ...]:
    """Times in seconds, from round numbers of seconds, minutes and hours."""
    return (*seconds, *(60 * count for count in minutes), *(3600 * count for count in hours))


# Mantissas per decade, dense to sparse; sparser than the last set, whole decades are left out.
_DECADE_SETS = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 2, 3, 5, 7), (1, 2, 5), (1, 3), (1,))
_COUNT_SETS = ((1, 1.25, 1.5, 1.75), (1, 1.5), (1,))
_LOG_TIMES = (
    _times(
        (1, 2, 3, 5, 7, 10, 15, 20, 30, 45),
        (1, 1.5, 2, 3, 4, 5, 7, 10, 15, 20, 30, 45),
        (1, 1.5, 2, 3, 4, 6, 8, 12, 18, 24),
    ),
    _times((1, 2, 5, 10, 20, 30), (1, 2, 5, 10, 20, 30), (1, 2, 3, 6, 12, 24)),
    _times((1, 5, 15), (1, 5, 15), (1, 3, 12, 24)),
    _times((1, 10), (1, 10), (1, 6, 24)),
    _times((1,), (1,), (1, 24)),
)


class Scale(Protocol):
    """Maps values to positions and back."""

    @property
    def low(self) -> float: ...

    @property
    def high(self) -> float: ...

    def position(self, value: float) -> float: ...

    def positions(self, values: Sequence[float]) -> list[float]: ...

    def value(self, position: float) -> float: ...


@dataclass(frozen=True)
class LinearScale:
    """Equal differences are equally far apart."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise ValueError(f"a scale needs low < high, not {self.low} and {self.high}")

    def position(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)

    def positions(self, values: Sequence[float]) -> list[float]:
        low, factor = self.low, 1.0 / (self.high - self.low)
        return [(value - low) * factor for value in values]

    def value(self, position: float) -> float:
        return self.low + position * (self.high - self.low)


@dataclass(frozen=True)
class LogScale:
    """Equal ratios are equally far apart; a value of zero or less has the position NaN."""

    low: float
    high: float

    def __post_init__(self) -> None:
        if not 0 < self.low < self.high:
            raise ValueError(f"a log scale needs 0 < low < high, not {self.low} and {self.high}")

    def position(self, value: float) -> float:
        return self.positions((value,))[0]

    def positions(self, values: Sequence[float]) -> list[float]:
        log, bottom = math.log, math.log(self.low)
        factor = 1.0 / (math.log(self.high) - bottom)
        if min(values, default=0.0) > 0:
            return [(exponent - bottom) * factor for exponent in map(log, values)]
        return [(log(value) - bottom) * factor if value > 0 else math.nan for value in values]

    def value(self, position: float) -> float:
        return math.exp(math.log(self.low) + position * math.log(self.high / self.low))


@dataclass(frozen=True)
class DiscreteScale:
    """A few given values in ascending order, equally far apart."""

    values: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.values) < 2 or any(a >= b for a, b in pairwise(self.values)):
            raise ValueError(f"a discrete scale needs ascending values, not {self.values}")

    @property
    def low(self) -> float:
        return self.values[0]

    @property
    def high(self) -> float:
        return self.values[-1]

    def position(self, value: float) -> float:
        """Interpolated between the two neighbours of `value`."""
        right = min(max(1, bisect_left(self.values, value)), len(self.values) - 1)
        below, above = self.values[right - 1], self.values[right]
        return (right - 1 + (value - below) / (above - below)) / (len(self.values) - 1)

    def positions(self, values: Sequence[float]) -> list[float]:
        return [self.position(value) for value in values]

    def value(self, position: float) -> float:
        """The nearest of the given values."""
        index = round(min(1.0, max(0.0, position)) * (len(self.values) - 1))
        return self.values[index]


def _decimal_at_least(size: float) -> float:
    """The smallest of 1, 2, 5 times a power of ten that is `size` or more."""
    decade = 10.0 ** math.floor(math.log10(size))
    for mantissa in (1, 2, 5, 10):
        if mantissa * decade >= size * (1 - _TOLERANCE):
            return mantissa * decade
    return 10 * decade


def _decimal_at_most(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is `size` or less."""
    decade = 10.0 ** math.floor(math.log10(size) + _TOLERANCE)
    for mantissa in (5, 2, 1):
        if mantissa * decade <= size * (1 + _TOLERANCE):
            return mantissa * decade
    return decade / 2


def step_at_least(size: float, kind: Kind) -> float:
    """The smallest nice step of `kind` that is `size` (> 0) or more."""
    if kind == "count":
        return max(1.0, _decimal_at_least(size))
    if kind != "time" or size <= 0.5:
        return _decimal_at_least(size)
    if size > _DAY:
        return _DAY * _decimal_at_least(size / _DAY)
    return _TIME_LADDER[bisect_left(_TIME_LADDER, size * (1 - _TOLERANCE))]


def step_at_most(size: float, kind: Kind) -> float:
    """The largest nice step of `kind` that is `size` (> 0) or less."""
    if kind == "count":
        return max(1.0, _decimal_at_most(max(1.0, size)))
    if kind != "time" or size < 1:
        return _decimal_at_most(size)
    if size >= _DAY:
        return _DAY * _decimal_at_most(size / _DAY)
    return _TIME_LADDER[bisect_right(_TIME_LADDER, size * (1 + _TOLERANCE)) - 1]


def multiples(low: float, high: float, step: float) -> tuple[float, ...]:
    """The multiples of `step` from `low` to `high`, both included."""
    first = math.ceil(low / step - 1e-6)
    last = math.floor(high / step + 1e-6)
    # A step of 0.1 is not exact: rounding keeps 0.30000000000000004 off the axis.
    digits = max(0, 2 - math.floor(math.log10(step)))
    return tuple(round(index * step, digits) for index in range(first, last + 1))


def _log_values(low: float, high: float, kind: Kind, level: int) -> tuple[float, ...]:
    """The values of one density level (0 is the densest) on a logarithmic axis."""
    if kind == "time":
        bases: Sequence[float] = _LOG_TIMES[level]
        mantissas = (1, 2, 5) if level < 3 else (1,)
        days = [day for day in _powers(10.0, mantissas, 1.0, max(1.0, high / _DAY)) if day > 1]
        below = [second for second in _powers(10.0, mantissas, min(low, 1.0), 1.0) if second < 1]
        chosen = [*below, *bases, *(_DAY * day for day in days)]
    elif kind == "count":
        chosen = list(_powers(2.0, _COUNT_SETS[level], max(1.0, low), high))
        chosen = [value for value in chosen if value.is_integer()]
    else:
        chosen = list(_powers(10.0, _DECADE_SETS[level], low, high))
    margin = 1 + _TOLERANCE
    return tuple(sorted({value for value in chosen if low / margin <= value <= high * margin}))


def _powers(base: float, mantissas: Sequence[float], low: float, high: float) -> Iterator[float]:
    """Mantissa times power of `base` for every power that `low` to `high` touches."""
    first, last = math.floor(math.log(low, base) - 1e-9), math.ceil(math.log(high, base) + 1e-9)
    for exponent in range(first, last + 1):
        for mantissa in mantissas:
            # Dividing by a positive power is exact where multiplying by 0.1 is not.
            power = base ** abs(exponent)
            yield mantissa * power if exponent >= 0 else mantissa / power


def tick_candidates(scale: Scale, kind: Kind) -> Iterator[tuple[float, ...]]:
    """Round ticks for `scale`, dense to sparse; the caller takes the first that fit.

    A logarithmic axis over a narrow range continues with linear ticks, so that three or more labels
    are offered wherever possible.
    """
    if isinstance(scale, DiscreteScale):
        for stride in range(1, len(scale.values)):
            yield scale.values[::stride]
        return
    low, high = scale.low, scale.high
    if isinstance(scale, LogScale):
        levels = {"time": len(_LOG_TIMES), "count": len(_COUNT_SETS)}.get(kind, len(_DECADE_SETS))
        sets = [_log_values(low, high, kind, level) for level in range(levels)]
        if len(sets[0]) >= 5:
            yield from _thinned(sets)
            return
    step = step_at_least((high - low) / 40, kind)
    while step <= high - low:
        yield multiples(low, high, step)
        step = step_at_least(step * 1.01, kind)


def _thinned(sets: Sequence[tuple[float, ...]]) -> Iterator[tuple[float, ...]]:
    """Logarithmic ticks, dense to sparse, and then every second, third ... of the sparsest."""
    several = [values for values in sets if len(values) > 1]
    yield from several
    if len(sets[-1]) < 2:
        # Less than a decade apart: one tick alone would not say how the axis goes on.
        for stride in range(2, len(several[-1])):
            yield several[-1][::stride]
    yield from (values for values in sets if len(values) == 1)
    for stride in range(2, len(sets[-1])):
        yield sets[-1][::stride]


def nice_bounds(low: float, high: float, kind: Kind, *, log: bool) -> tuple[float, float]:
    """`low` and `high` moved outwards to round values, so that small changes leave an axis
    alone."""
    degenerate = high - low <= abs(high) * 1e-6
    if log:
        low, high = (low / 2, high * 2) if degenerate else (low, high)
        kind = "number" if low < 1 and kind == "count" else kind
        return step_at_most(low, kind), step_at_least(high, kind)
    if degenerate:
        low, high = low - abs(low) / 2 - 0.5, high + abs(high) / 2 + 0.5
    step = step_at_least((high - low) / 8, kind)
    return math.floor(low / step + 1e-6) * step, math.ceil(high / step - 1e-6) * step


class Stops(NamedTuple):
    """Values that a slider can take: `fine` with a step, `coarse` with a big step (ascending)."""

    fine: tuple[float, ...]
    coarse: tuple[float, ...]

    def after(self, value: float, *, coarse: bool = False) -> float:
        """The next stop above `value`, the last one at most."""
        stops = self.coarse if coarse else self.fine
        index = bisect_right(stops, value * (1 + _TOLERANCE) if value > 0 else value)
        return stops[min(index, len(stops) - 1)]

    def before(self, value: float, *, coarse: bool = False) -> float:
        """The next stop below `value`, the first one at least."""
        stops = self.coarse if coarse else self.fine
        return stops[max(0, bisect_left(stops, value * (1 - _TOLERANCE)) - 1)]

    def nearest(self, value: float, scale: Scale) -> float:
        """The fine stop that is nearest to `value` on the track of `scale`."""
        index = bisect_left(self.fine, value)
        neighbours = self.fine[max(0, index - 1) : index + 1]
        position = scale.position(value)
        return min(neighbours, key=lambda stop: abs(scale.position(stop) - position))


def _with_ends(values: Sequence[float], low: float, high: float) -> tuple[float, ...]:
    """`values` strictly inside `low` to `high`, and both ends."""
    inside = (value for value in values if low * (1 + 1e-6) < value < high * (1 - 1e-6))
    return (low, *inside, high)


def log_stops(low: float, high: float, kind: Kind = "number", *, least: float = 0.0) -> Stops:
    """Stops on a logarithmic track: each about an eighth of its value from the next, and round.

    Args:
        low: the smallest value, more than zero.
        high: the largest value.
        kind: what the numbers are (times step by 1, 5, 15 minutes, not by 20 or 50).
        least: no step is smaller than this (in the unit of `low`), except below `least` itself.
    """
    fine = [low]
    while fine[-1] < high:
        value = fine[-1]
        step = max(step_at_most(value * _GRAIN * (1 + _TOLERANCE), kind), least)
        digits = max(0, 2 - math.floor(math.log10(step)))
        fine.append(round((math.floor(value / step + 1e-6) + 1) * step, digits))
    coarse = [_decimal_at_most(low) if kind != "time" else low]
    while coarse[-1] < high:
        coarse.append(step_at_least(coarse[-1] * 1.01, kind))
    return Stops(_with_ends(fine, low, high), _with_ends(coarse, low, high))


def discrete_stops(values: Sequence[float]) -> Stops:
    """Every value; big steps skip about an eighth of them."""
    stride = max(2, len(values) // 8)
    ends = (values[-1],) if (len(values) - 1) % stride else ()
    return Stops(tuple(values), (*values[::stride], *ends))
