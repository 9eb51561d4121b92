"""Memory assurance: the elbow, the regression to the whole input, executor memory."""

import numpy as np
import pytest
from made_runs import BLOCK, Stage, measure, observed

import engine
from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.models.assured_memory import AssuredMemory
from engine.models.simcost.costs import resource_time
from engine.models.simcost.learning import RunCosts
from engine.models.simcost.memory import (
    SAFE_GIB,
    assured_by_cache,
    assured_by_peak,
    assured_by_runs,
    cache_at,
    cache_of_executor,
    elbow,
    executor_memory,
    is_flat,
    memory_grid,
    refined_grid,
)
from engine.profile import Run
from engine.units import MIB

TABLE_5 = {
    "Kmeans": ({1 / 10: 1.8, 1 / 15: 1.2, 1 / 30: 0.6}, 18.0, 36.0),
    "Bayesian": ({1 / 10: 2.7, 1 / 15: 1.8, 1 / 30: 0.9}, 27.0, 54.0),
    "SVM": ({1 / 10: 1.8, 1 / 15: 1.2, 1 / 30: 0.6}, 18.0, 36.0),
}


@pytest.mark.parametrize("job", TABLE_5)
def test_table_5(job: str) -> None:
    samples, cache, recommended = TABLE_5[job]
    assert cache_at(samples) == pytest.approx(cache, rel=1e-9)
    assert executor_memory(cache_at(samples)) == pytest.approx(recommended, rel=1e-9)


def test_the_grid() -> None:
    assert memory_grid(sample_gib=1.2) == pytest.approx((0.6, 1.2, 1.8, 2.4, 3.0))
    assert refined_grid(memory_grid(sample_gib=1.0)) == pytest.approx((0.1, 0.2, 0.3, 0.4, 0.5))


@pytest.mark.parametrize("fits_at", [0.6, 0.9, 1.2])
def test_the_elbow_is_where_the_data_fits(fits_at: float) -> None:
    """As in Fig. 3: short of it runs are slow, beyond it more memory only costs more."""
    memory = [0.3, 0.6, 0.9, 1.2, 1.5]
    seconds = [100.0 + 900.0 * max(0.0, fits_at - gib) for gib in memory]
    cost = [resource_time(seconds=s, vcores=5, memory_gib=m)
            for s, m in zip(seconds, memory, strict=True)]  # fmt: skip
    assert elbow(memory, cost) == fits_at


def test_a_flat_curve_means_its_start() -> None:
    cost = np.asarray([100.0, 101.0, 100.5, 102.0])
    assert is_flat(cost)
    assert elbow([0.5, 1.0, 1.5, 2.0], cost.tolist()) == 0.5


@pytest.mark.parametrize("memory", [[1.0, 2.0], [1.0, 1.0, 2.0], [3.0, 2.0, 1.0]])
def test_what_has_no_elbow(memory: list[float]) -> None:
    with pytest.raises(BadInput, match="three memory sizes"):
        elbow(memory, [1.0] * len(memory))


def test_the_cache_formula() -> None:
    assert cache_of_executor(10.0, safe_gib=1.0) == pytest.approx(5.4)
    assert cache_of_executor(0.1) == 0.0
    for executor in (2.0, 8.0, 36.0):
        cache = cache_of_executor(executor)
        assert (executor - SAFE_GIB) * 0.6 == pytest.approx(cache)
        assert executor_memory(cache_of_executor(executor_memory(cache))) >= cache, "rounds up"


def test_executor_sizes() -> None:
    total = AssuredMemory(total_gib=24.0)
    assert total.executor_gib(executors=2, executor_cores=10) == 12.0
    assert total.executor_gib(executors=5, executor_cores=4) == 5.0, "rounded up"
    peak = assured_by_peak(0.6 * 1024**3, sample_bytes=None)
    assert peak.executor_gib(executors=9, executor_cores=4) == 5.0, "4 x 1 GiB and the reserve"
    cached = assured_by_cache(9 * 1024**3, sample_bytes=2 * 1024**3)
    assert cached.total_gib == pytest.approx(18.0)
    assert cached.try_gib == pytest.approx((2.0, 4.0, 6.0, 8.0, 10.0)), "0.5 to 2.5 times, doubled"


def run(share: float, heap_gib: float, *, needs_cache_gib: float = 18.0) -> Run:
    """A run of a sample on 2 executors that spills what its cache does not hold."""
    cache = 2 * cache_of_executor(heap_gib)
    short = max(0.0, needs_cache_gib * share - cache)
    cluster = Cluster.of_executors(executors=2, executor_cores=2, executor_memory_gib=heap_gib)
    return Run(60.0 + 200.0 * short, cluster, Workload(100e9 * share))


def test_from_runs_to_the_whole_input() -> None:
    runs = []
    for share in (0.1, 1 / 15, 1 / 30):
        heaps = [(18.0 * share * times) / 2 / 0.6 + SAFE_GIB for times in (0.5, 1.0, 1.5, 2.0)]
        runs += [run(share, heap) for heap in heaps]
    found = assured_by_runs(runs, input_bytes=100e9)
    assert found.total_gib == pytest.approx(36.0, rel=1e-9)
    assert "3 input sizes" in found.how


def test_a_flat_curve_is_tried_again_at_its_beginning() -> None:
    runs = [run(0.1, heap, needs_cache_gib=0.0) for heap in (2.0, 2.1, 2.2)]
    found = assured_by_runs(runs, input_bytes=10e9)
    start = executor_memory(2 * cache_of_executor(2.0))
    assert found.total_gib == pytest.approx(start)
    assert found.try_gib == pytest.approx([start * step / 5 for step in range(1, 6)])


def test_two_memory_sizes_tell_no_elbow() -> None:
    assert assured_by_runs([run(0.1, 2.0), run(0.1, 4.0)], input_bytes=1e9) is None


def test_memory_of_real_logs() -> None:
    cached = engine.fit(engine.read("pagerank-small"), model="simcost")
    run = cached.profile.largest_run
    once, twice = (cached.assured_memory(cached.profile.workload_at(x)) for x in (1.0, 2.0))
    assert once.total_gib == pytest.approx(2 * run.cached_bytes / 1024**3)
    assert twice.total_gib == pytest.approx(2 * once.total_gib)
    plain = engine.fit(engine.read("sales-report-small"), model="simcost")
    found = plain.assured_memory(plain.profile.reference_workload)
    assert found.total_gib is None
    assert "nothing was cached" in found.how


def test_the_largest_peak_of_all_stages_counts() -> None:
    peaks = [{"peak_execution_memory_bytes": measure(np.full(8, mib * MIB))} for mib in (64, 256)]
    stages = [Stage(np.full(8, 2.0), input_bytes=8 * BLOCK, more=more) for more in peaks]
    told = RunCosts.of(observed(stages, slots=4))
    assert told.peak_bytes(1.0, None) == 256 * MIB
    untold = RunCosts.of(observed([Stage(np.full(8, 2.0), input_bytes=8 * BLOCK)], slots=4))
    assert untold.peak_bytes(1.0, None) is None
