"""The largest factor with which a bound is kept, against the curve itself."""

import math
from collections.abc import Callable

import pytest
from depth import cases

from engine.bracketing import largest_kept
from engine.text.reachable import factor_steps_per_unit, format_factor

MOST = 1024.0
TOLERANCE = 1e-3

Curve = Callable[[float], float]


class Counted:
    """A curve that counts how often it is asked."""

    def __init__(self, curve: Curve) -> None:
        self.curve, self.asked = curve, list[float]()

    def __call__(self, factor: float) -> float:
        self.asked.append(factor)
        return self.curve(factor)


def found(curve: Curve) -> tuple[float | None, list[float]]:
    counted = Counted(curve)
    factor = largest_kept(
        counted, at_one=curve(1.0), most=MOST, steps_per_unit=factor_steps_per_unit,
        tolerance=TOLERANCE,
    )  # fmt: skip
    return factor, counted.asked


def one_step_on(told: float) -> float:
    """The next factor that is told: 1.99 goes to 2.00, that to 2.1, 99.9 to 100, that to 101."""
    per_unit = factor_steps_per_unit(told)
    return round(told * per_unit + 1.0) / per_unit


def proportional(room: float) -> Curve:
    return lambda x: math.log(x / room)


def affine(room: float, *, fixed: float) -> Curve:
    return lambda x: math.log((fixed + x) / (fixed + room))


def power(room: float, *, exponent: float) -> Curve:
    return lambda x: exponent * math.log(x / room)


def widening(room: float) -> Curve:
    """An interval that grows with the distance from what was measured."""
    return lambda x: math.log(x / room) + 0.5 * (math.log(x) ** 2 - math.log(room) ** 2)


def waves(room: float, *, of: float) -> Curve:
    """Whole waves: flat, with a step at every multiple of `of`; one step is at the crossing."""
    return lambda x: math.log(math.ceil(x / room * of) / (of + 0.5))


def cliff(room: float) -> Curve:
    """A cache that no longer fits: many times as long at once."""
    return lambda x: math.log(x / 5000.0) + (0.0 if x <= room else math.log(1e4))


def flat_start(room: float, *, until: float) -> Curve:
    """A minimum bill, or data that one wave takes: nothing grows until then."""
    return lambda x: math.log(max(x, min(until, room)) / room)


def endless(room: float) -> Curve:
    """Nothing, and then a job that never ends."""
    return lambda x: -math.inf if x <= room else math.inf


MONOTONE = {
    "proportional": proportional,
    "a fixed part": lambda room: affine(room, fixed=3.0 * room),
    "hardly growing": lambda room: power(room, exponent=0.02),
    "steep": lambda room: power(room, exponent=6.0),
    "a widening interval": widening,
    "one wave more": lambda room: waves(room, of=1.0),
    "many waves": lambda room: waves(room, of=40.0),
    "a minimum bill just below the bound": lambda room: flat_start(room, until=0.99 * room),
    "a minimum bill below the bound": lambda room: flat_start(room, until=0.93 * room),
    "flat up to half as much again": lambda room: flat_start(room, until=1.5),
    "flat up to four times": lambda room: flat_start(room, until=4.0),
    "a cliff": cliff,
    "without end": endless,
}
ROOMS = (
    1.0, 1.0004, 1.13, 1.2, 1.9951, 2.0, 3.19, 4.3, 7.77, 41.52, 99.96, 100.0, 400.0, 512.3, 1023.4
)  # fmt: skip


def doublings(room: float) -> int:
    """Doublings up to the first that misses the bound."""
    return max(1, math.ceil(math.log2(room)))


def bisection(room: float) -> int:
    """Evaluations of doublings, and of halvings of what is left."""
    return doublings(room) + math.ceil(math.log2(math.log(2.0) / TOLERANCE))


@pytest.mark.parametrize("kind", MONOTONE)
def test_the_crossing_is_found_to_the_tolerance_and_told_truly(kind: str) -> None:
    for room in ROOMS:
        curve = MONOTONE[kind](room)
        factor, asked = found(curve)
        assert factor is not None, room
        assert factor <= room * (1.0 + 1e-9), room
        assert room <= factor * (1.0 + 1.01 * TOLERANCE), room
        told = float(format_factor(factor))
        assert curve(told) <= 0.0 < curve(one_step_on(told)), room
        assert told <= factor, room
        assert max(asked) <= MOST, room


@pytest.mark.parametrize("kind", MONOTONE)
def test_what_is_kept_at_the_most_is_bounded_by_nothing_that_is_tried(kind: str) -> None:
    factor, asked = found(MONOTONE[kind](3000.0))
    assert factor is None
    assert asked[-1] == MOST
    assert len(asked) <= doublings(MOST) + 1, "where the first step is no doubling"


SMOOTH = ["proportional", "a fixed part", "steep", "a widening interval"]


@pytest.mark.parametrize("kind", SMOOTH)
def test_smooth_curves_take_half_of_what_bisection_takes(kind: str) -> None:
    rooms = [room for room in ROOMS if room <= 8.0]
    taken = sum(len(found(MONOTONE[kind](room))[1]) for room in rooms)
    assert taken <= 0.55 * sum(map(bisection, rooms))


@pytest.mark.parametrize("kind", SMOOTH)
def test_far_out_smooth_curves_take_the_doublings_and_half_of_the_halvings(kind: str) -> None:
    rooms = [room for room in ROOMS if room > 8.0]
    taken = sum(len(found(MONOTONE[kind](room))[1]) - doublings(room) for room in rooms)
    assert taken <= 0.55 * sum(bisection(room) - doublings(room) for room in rooms)


@pytest.mark.parametrize("kind", MONOTONE)
def test_no_curve_takes_many_more_than_bisection(kind: str) -> None:
    for room in ROOMS:
        _, asked = found(MONOTONE[kind](room))
        assert len(asked) <= bisection(room) + 3, room


@pytest.mark.parametrize("kind", MONOTONE)
def test_nothing_is_tried_far_beyond_the_bound(kind: str) -> None:
    """A bill that stayed the same once had it leap 16-fold, where a prediction takes longest."""
    for room in ROOMS:
        _, asked = found(MONOTONE[kind](room))
        assert max(asked) <= 2.0 * room * (1.0 + 1e-9), room


@pytest.mark.parametrize("seed", range(cases(20, deep=500)))
def test_a_miss_from_a_factor_to_twice_as_much_is_never_leapt_over(seed: int) -> None:
    """From it on the curve falls again, and keeps the bound for long."""
    start = math.exp(0.05 + 5.0 * ((seed * 0.618) % 1.0))
    room = 4.0 * start * (1.0 + seed % 5)

    def curve(x: float) -> float:
        return 0.1 if start < x <= 2.01 * start else 0.3 * math.log(x / room)

    factor, _ = found(curve)
    assert factor is not None
    assert factor <= start <= factor * (1.0 + 1.01 * TOLERANCE)


@pytest.mark.parametrize("seed", range(cases(20, deep=500)))
def test_where_a_curve_falls_again_what_is_told_is_true_all_the_same(seed: int) -> None:
    """Coalesced partitions and means of logs may take less time for more input: a sum of waves over
    a growing curve crosses its bound many times."""
    room = math.exp(0.3 + 6.0 * ((seed * 0.618) % 1.0))
    size, pitch = 0.05 + 0.1 * (seed % 7), 3.0 + seed % 11

    def curve(x: float) -> float:
        bump = size * (math.sin(pitch * math.log(x)) - math.sin(pitch * math.log(room)))
        return 0.7 * math.log(x / room) + bump

    if curve(1.0) > 0.0:
        return
    factor, _ = found(curve)
    if factor is None:
        assert curve(MOST) <= 0.0
        return
    told = float(format_factor(factor))
    assert curve(factor) <= 0.0
    assert curve(told) <= 0.0 < curve(one_step_on(told))


@pytest.mark.parametrize(
    ("factor", "told"),
    [(1.0, "1.00"), (1.016, "1.01"), (1.13, "1.13"), (1.9999, "1.99"), (2.0, "2.0"),
     (3.19, "3.1"), (99.99, "99.9"), (100.0, "100"), (701.9, "701")],
)  # fmt: skip
def test_factors_are_told_rounded_down(factor: float, told: str) -> None:
    assert format_factor(factor) == told
