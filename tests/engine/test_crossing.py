import math
from collections.abc import Callable

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from engine.crossing import HALVINGS, Tried, halved, last_satisfied

Excess = Callable[[float], float]


def found_by(excess: Excess, points: list[float]) -> tuple[float, int]:
    """The last satisfied point, and the number of tries."""
    tries: list[float] = []

    def tried(point: float) -> Tried:
        tries.append(point)
        return Tried(excess(point) <= 0.0, excess(point))

    below, above = (Tried(excess(end) <= 0.0, excess(end)) for end in (points[0], points[-1]))
    return last_satisfied(tried, points, below, above), len(tries)


def by_halving(excess: Excess, low: float, high: float) -> float:
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if excess(middle) <= 0.0 else (low, middle)
    return low


@given(st.floats(1.001, 1.999), st.floats(0.1, 30.0), st.floats(1.0, 1024.0))
def test_it_is_what_halving_finds(crossing: float, power: float, low: float) -> None:
    def excess(number: float) -> float:
        return math.copysign(
            abs(math.log(number / (low * crossing))) ** power, number - crossing * low
        )

    found, tries = found_by(excess, halved(low, 2.0 * low))
    assert found == by_halving(excess, low, 2.0 * low)
    assert tries <= 3 * HALVINGS


def test_times_that_grow_smoothly_take_half_the_tries() -> None:
    """Part of the time is fixed, the rest grows with the input."""
    tries = []
    for crossing in np.linspace(1.01, 1.99, 11):
        for fixed in (0.0, 0.3, 0.5, 0.7, 0.9):

            def excess(number: float, fixed: float = fixed, crossing: float = crossing) -> float:
                return math.log(
                    (fixed + (1.0 - fixed) * number) / (fixed + (1.0 - fixed) * crossing)
                )

            found, count = found_by(excess, halved(1.0, 2.0))
            assert found <= crossing < found * 1.001
            tries.append(count)
    assert max(tries) < HALVINGS
    assert sum(tries) <= HALVINGS // 2 * len(tries)


def test_a_step_that_no_line_foretells_is_found() -> None:
    """Times that are level for long, and then not known at all."""
    found, tries = found_by(lambda n: -0.001 if n <= 1.5 else math.inf, halved(1.0, 2.0))
    assert found <= 1.5 < found * 1.001
    assert tries <= HALVINGS + 1
    found, tries = found_by(lambda n: -5.0 if n <= 1.9 else 0.001, halved(1.0, 2.0))
    assert found <= 1.9 < found * 1.001
    assert tries <= 3 * HALVINGS
