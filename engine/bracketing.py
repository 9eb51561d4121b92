"""The largest factor with which a bound is kept, by few evaluations of what may exceed it.

A bisection asks only whether the bound is kept, and gains one binary digit each time. Here each
evaluation tells by how much it is kept or missed, and the next is made where the last two put the
crossing: ITP, interpolate, truncate and project (I. F. D. Oliveira and R. H. C. Takahashi, ACM
TOMS 47, 2020), which needs hardly more than bisection of the same bracket does at worst. With the
search for that bracket and whole steps, three more than doublings and halvings are the most that
was found of curves that only rise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

_MOST_GROWTH = 2.0
"""The largest factor between two evaluations while nothing exceeds the bound: longer leaps would
pass over a first crossing of a curve that falls again, and of a curve that is flat at first (a
minimum bill, whole waves) they end far out, where each evaluation takes longest."""

_LEAST_GROWTH = 0.01
"""Logarithm of the least factor between the first two evaluations; it doubles with each that keeps
the bound, so that a curve which flattens is not followed step by step."""

_SPARE_EVALUATIONS = 1
"""How many evaluations ITP may take beyond those of a bisection of the same bracket."""

_ROUNDING = 1e-12
"""Relative: a whole step is not told from itself by the rounding of a product."""


@dataclass(frozen=True, slots=True)
class _Bracket:
    """Two factors with the crossing between them: the bound is kept at `low` and not at `high`.

    Args:
        low_excess, high_excess: log of what is bounded over its bound; infinite where without end.
            That of an end which stays is made less (Anderson and Bjorck, BIT 13, 1973), so that
            the crossing is not approached from one side alone.
        left: evaluations that a bisection would still be granted.
        moved: the end that moved last: -1 for the low one, 1 for the high one, 0 for neither.
    """

    low: float
    high: float
    low_excess: float
    high_excess: float
    left: int = 0
    moved: int = 0

    @property
    def log_width(self) -> float:
        return math.log(self.high / self.low)

    def with_excess(self, factor: float, excess: float) -> _Bracket:
        """The part of the bracket in which the crossing lies, by the excess at a factor in it."""
        if excess > 0.0:
            kept = self.low_excess * (_weight(excess, self.high_excess) if self.moved > 0 else 1.0)
            return _Bracket(self.low, factor, kept, excess, self.left - 1, 1)
        missed = self.high_excess * (_weight(excess, self.low_excess) if self.moved < 0 else 1.0)
        return _Bracket(factor, self.high, excess, missed, self.left - 1, -1)

    def next_factor(self, tolerance: float) -> float:
        """Where ITP evaluates next: half a tolerance from the interpolated crossing, towards the
        middle, so that two evaluations enclose it; nearer to the middle where a bisection would
        otherwise be done before."""
        width = self.log_width
        middle, crossing = 0.5 * width, 0.5 * width
        if math.isfinite(self.low_excess) and math.isfinite(self.high_excess):
            crossing = width * -self.low_excess / (self.high_excess - self.low_excess)
        shift = min(0.5 * tolerance, abs(middle - crossing))
        crossing += math.copysign(shift, middle - crossing)
        radius = max(0.0, 0.5 * tolerance * 2.0**self.left - 0.5 * width)
        return self.low * math.exp(min(max(crossing, middle - radius), middle + radius))


def _weight(excess: float, before: float) -> float:
    """By how much the excess of the other end counts less, where one end moved twice in a row."""
    weight = 1.0 - excess / before if before else 0.0
    return weight if weight > 0.0 else 0.5


def largest_kept(
    excess: Callable[[float], float],
    *,
    at_one: float,
    most: float,
    steps_per_unit: Callable[[float], int],
    tolerance: float,
) -> float | None:
    """The largest factor from 1 on with which a bound is kept, to a relative `tolerance`; None
    where it is kept at `most`.

    Whatever the curve, the bound is kept at the answer and at the answer rounded down to a whole
    step, and not one step beyond that. Of a curve that only rises this is the one crossing. One
    that falls again may miss the bound in between, for less than twofold: every crossing is not
    looked for. Whether the bound is kept again further on is not looked for either.

    Args:
        excess: factor -> log of what is bounded over its bound, at most 0 where the bound is kept.
        at_one: the excess with a factor of 1, where the bound is kept.
        steps_per_unit: factor -> how many steps of 1 factors of its size are told in, such as 10
            for tenths. Larger ones have coarser steps, of which each is a whole number of finer.
    """
    bracket = _bracketed(excess, min(at_one, 0.0), most, steps_per_unit)
    if bracket is None:
        return None
    halvings = math.ceil(math.log2(max(1.0, bracket.log_width / tolerance)))
    bracket = replace(bracket, left=halvings + _SPARE_EVALUATIONS)
    while True:
        factor = bracket.next_factor(tolerance)
        told = _told_between(bracket, factor, steps_per_unit)
        if told is None and bracket.high <= bracket.low * (1.0 + tolerance):
            return bracket.low
        factor = factor if told is None else told
        bracket = bracket.with_excess(factor, excess(factor))


def _bracketed(
    excess: Callable[[float], float],
    low_excess: float,
    most: float,
    steps_per_unit: Callable[[float], int],
) -> _Bracket | None:
    """A first bracket: upwards from 1, as if in proportion to the factor, then along the line
    through the last two evaluations, and twofold where that does not rise; None where the bound is
    kept at `most`."""
    low, slope, least = 1.0, 1.0, _LEAST_GROWTH
    while low < most:
        growth = max(-low_excess / slope, least) if slope > 0.0 else math.inf
        high = low * math.exp(min(growth, math.log(_MOST_GROWTH)))
        high = min(_whole_step_above(high, steps_per_unit), _MOST_GROWTH * low, most)
        high_excess = excess(high)
        if high_excess > 0.0:
            return _Bracket(low, high, low_excess, high_excess)
        slope = (high_excess - low_excess) / math.log(high / low)
        low, low_excess, least = high, high_excess, 2.0 * least
    return None


def _told_between(
    bracket: _Bracket, factor: float, steps_per_unit: Callable[[float], int]
) -> float | None:
    """The whole step nearest to a factor, of those inside the bracket; None where there is none."""
    above = _whole_step_above(bracket.low, steps_per_unit)
    below = _whole_step_below(bracket.high, steps_per_unit)
    if above > below:
        return None
    per_unit = steps_per_unit(factor)
    return min(max(round(factor * per_unit) / per_unit, above), below)


def _whole_step_above(factor: float, steps_per_unit: Callable[[float], int]) -> float:
    """The least whole step that is larger than a factor."""
    per_unit = steps_per_unit(factor)
    return (math.floor(factor * per_unit * (1.0 + _ROUNDING)) + 1) / per_unit


def _whole_step_below(factor: float, steps_per_unit: Callable[[float], int]) -> float:
    """The largest whole step that is smaller than a factor."""
    just_less = factor * (1.0 - _ROUNDING)
    per_unit = steps_per_unit(just_less)
    return math.floor(just_less * per_unit) / per_unit
