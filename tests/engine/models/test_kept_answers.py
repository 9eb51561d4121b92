"""What models keep of inputs and grids that they were asked about."""

import copy
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from depth import DEEP

import engine
from engine import batch as batches
from engine.batch import CACHED_GRIDS, FEWEST_CLUSTERS, ClusterBatch
from engine.catalog import Catalog
from engine.choosing.candidate_selection import select_candidates
from engine.models.replay.monotone_times import CACHED_WORKLOADS, MeanTimes, MeanTimesCache
from engine.models.simcost.learning import RunCosts

TYPES = None if DEEP else ["m5.*"]
NODES = range(1, 33, 6) if DEEP else range(1, 14, 6)
FEWEST = FEWEST_CLUSTERS if DEEP else 20
STEPS_OF_ONE = (1.0, 1.3, 1.7, 2.0, 2.6, 1.3, 0.7, 30.0) if DEEP else (1.0, 1.3, 2.6, 1.3, 0.7)
STEPS_OF_TWO = (1.0, 1.3, 2.0, 1.3, 0.7) if DEEP else (1.3, 0.7, 1.3)


@pytest.fixture(scope="module")
def catalog() -> Catalog:
    return engine.load_catalog("aws")


@pytest.mark.parametrize(
    ("sources", "scales"),
    [
        (["movie-als-small"], STEPS_OF_ONE),
        (["sales-report-small", "sales-report-large"], STEPS_OF_TWO),
    ],
    ids=["one log", "two logs"],
)
def test_steps_of_the_data_size_say_what_a_new_model_says(
    sources: list[str],
    scales: tuple[float, ...],
    catalog: Catalog,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Back and forth, on a grid and on a part of it by turns: a small one, which is cached too."""
    monkeypatch.setattr(batches, "FEWEST_CLUSTERS", FEWEST)
    profile = engine.read(*sources, ran_on="m5.xlarge")
    stepped = engine.fit(profile)
    batch = select_candidates(catalog, profile=profile, instances=TYPES).grid(NODES)
    assert len(batch) > FEWEST
    fresh = {
        scale: engine.fit(profile).forecast(batch, profile.workload_at(scale))
        for scale in set(scales)
    }
    for scale in scales:
        for count in (len(batch), FEWEST):
            first = np.arange(count)
            found = stepped.forecast(batch.take(first), profile.workload_at(scale))
            expected = fresh[scale].take(first)
            np.testing.assert_array_equal(found.seconds, expected.seconds)
            np.testing.assert_array_equal(found.log_scale, expected.log_scale)


def grid(*, cores: int = 4, nodes: int = FEWEST_CLUSTERS) -> ClusterBatch:
    kind = engine.InstanceType("t", 4.0, 16.0)
    return ClusterBatch.grid([kind], [engine.Layout(1, cores, 4.0)], range(1, nodes + 1), None)


class Asked:
    """Counts how often the logs are asked."""

    def __init__(self) -> None:
        self.kept, self.times = MeanTimesCache(), 0

    def __call__(self, batch: ClusterBatch, question: object = 1) -> None:
        def make() -> MeanTimes:
            self.times += 1
            return MeanTimes(np.full(len(batch), self.times), np.zeros(len(batch)))

        self.kept.get(batch, repr(question), make)


def test_the_same_clusters_are_asked_about_once() -> None:
    asked = Asked()
    for _ in range(3):
        asked(grid())
        asked(grid(), 2)
    assert asked.times == 2


@pytest.mark.parametrize(
    "changed",
    [
        grid(cores=2),
        replace(grid(), executor_memory_gib=np.full(FEWEST_CLUSTERS, np.nan)),
        replace(grid(), types=(engine.InstanceType("u", 4.0, 16.0),)),
        grid(nodes=FEWEST_CLUSTERS + 1),
    ],
    ids=["layout", "memory", "type", "nodes"],
)
def test_other_clusters_are_asked_about_anew_and_push_none_out(changed: ClusterBatch) -> None:
    asked = Asked()
    for _ in range(2):
        asked(grid())
        asked(changed)
    assert asked.times == 2


def test_unknown_memory_is_like_unknown_memory() -> None:
    asked = Asked()
    for _ in range(2):
        asked(replace(grid(), executor_memory_gib=np.full(FEWEST_CLUSTERS, np.nan)))
    assert asked.times == 1


def test_of_few_clusters_the_last_are_kept_and_push_no_grid_out() -> None:
    asked = Asked()
    asked(grid())
    for nodes in (1, 2, 3, FEWEST_CLUSTERS - 1):
        asked(grid(nodes=nodes))
        asked(grid(nodes=nodes))
    asked(grid())
    assert asked.times == 5
    for nodes in (1, 2, 1):  # each is the last no longer when it is asked again
        asked(grid(nodes=nodes))
    assert asked.times == 8


def test_of_many_questions_and_grids_the_last_are_kept() -> None:
    asked = Asked()
    for question in range(CACHED_WORKLOADS + 1):
        asked(grid(), question)
    made = asked.times
    asked(grid(), CACHED_WORKLOADS)
    assert asked.times == made
    asked(grid(), 0)
    assert asked.times == made + 1
    for cores in range(5, 5 + CACHED_GRIDS):
        asked(grid(cores=cores))
    asked(grid(), 0)
    assert asked.times == made + 2 + CACHED_GRIDS


def test_a_copy_begins_with_none() -> None:
    asked = Asked()
    asked(grid())
    asked.kept = copy.deepcopy(asked.kept)
    asked(grid())
    assert asked.times == 2


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
