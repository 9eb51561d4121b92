"""What models keep of the inputs that they were asked about, by several threads at once."""

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import engine
from engine.models.simcost.learning import RunCosts

THREADS, INPUTS, ROUNDS = 8, 40, 1000


@pytest.fixture
def impatient() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(usual)


def by_threads(ask: Callable[[float], object]) -> None:
    """Every thread goes through more inputs than are kept; raises what any of them raised."""

    def ask_all(start: int) -> None:
        for step in range(ROUNDS):
            ask(1.0 + (start + step) % INPUTS / INPUTS)

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(ask_all, range(0, INPUTS, INPUTS // THREADS)))


@pytest.mark.usefixtures("impatient")
def test_costs_of_a_run_may_be_asked_for_by_threads() -> None:
    """The planner builds a plan, searches mixes and explains an answer in a thread each."""
    costs = RunCosts.of(engine.read("sort-small").runs[0])
    by_threads(lambda ratio: costs.at(ratio=ratio, shuffle_partitions=None, iterations=None))
