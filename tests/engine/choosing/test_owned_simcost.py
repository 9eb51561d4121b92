"""SimCost's recommendation on clusters one owns: Example 2, Table 2, 5.3, and the objectives."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest
from synthetic import TableModel, profile_on

import engine
from engine.choosing.owned import recommend_owned
from engine.choosing.recommendation import Recommendation
from engine.cluster import Workload
from engine.errors import BadInput
from engine.models.assured_memory import AssuredMemory
from engine.models.simcost.costs import resource_time
from engine.models.simcost.memory import CACHE_FRACTION, GRID, SAFE_GIB


def kmeans_seconds(vcores: np.ndarray) -> np.ndarray:
    """A law through Table 3's 106 s at 30 vcores, whose resource time with 36 GiB is least at 14.5
    and which takes 89 s at 60."""
    return 1184.7 / vcores + 0.1 * vcores + 63.5


@dataclass(frozen=True, eq=False)
class Assuring(TableModel):
    """A model that also says how much memory the job needs."""

    memory: AssuredMemory = field(default_factory=AssuredMemory, kw_only=True)

    def assured_memory(self, workload: Workload) -> AssuredMemory:
        return self.memory


def owned(
    law: Callable[[np.ndarray], np.ndarray], *, cores: int, memory_gib: float, **options: object
) -> Recommendation:
    fitted = Assuring(
        "table",
        profile_on(),
        law=lambda name, executors: law(executors * cores),
        memory=AssuredMemory(total_gib=memory_gib, how="made up"),
    )
    return recommend_owned(fitted, executor_cores=cores, **options)


@pytest.mark.parametrize(("deadline", "vcores"), [(100.0, 60), (None, 30)])
def test_example_2(deadline: float | None, vcores: int) -> None:
    """30 ... 150 vcores and Kmeans' 36 GiB: 60 vcores meet 100 s, without a deadline 30."""
    best = owned(
        kmeans_seconds, cores=30, memory_gib=36.0, max_executors=5, deadline_seconds=deadline
    ).recommended
    assert best.executors * 30 == vcores
    assert best.resource_time == pytest.approx(
        resource_time(
            seconds=float(kmeans_seconds(np.asarray(vcores))), vcores=vcores, memory_gib=36.0
        )
    )


def test_a_range_search_says_its_walk() -> None:
    """Executors of one vcore and one GiB: the fewer the better, so its end is not 5.3's 15 (which
    `test_simcost_search` has, with 36 GiB that do not depend on the number of executors)."""
    found = owned(kmeans_seconds, cores=1, memory_gib=0.0, max_executors=150, epsilon=5)
    best = found.recommended
    assert best.why[-1].startswith("range search: [0, 150] 30, [0, 60] 12, [0, 24] 5;")
    assert best.why[-1].endswith("at most 4 rounds")
    assert not found.optimal
    assert found.evaluated <= 15


def test_a_range_search_with_a_deadline_keeps_it() -> None:
    found = owned(
        kmeans_seconds, cores=2, memory_gib=24.0, max_executors=150, epsilon=1,
        deadline_seconds=100.0,
    )  # fmt: skip
    every = owned(
        kmeans_seconds, cores=2, memory_gib=24.0, max_executors=150, deadline_seconds=100.0
    )
    assert found.recommended.seconds < 100.0
    assert found.recommended.executors == pytest.approx(every.recommended.executors, abs=1)


@pytest.mark.parametrize(
    ("work", "deadline", "cores", "memory_gib", "executors"),
    [(2400.0, 200.0, 10, 24.0, 2), (350.0, 100.0, 10, 5.0, 1), (150.0, 100.0, 5, 5.0, 1)],
    ids=["kmeans", "Sort", "Join"],
)
def test_the_outputs_of_table_2(
    work: float, deadline: float, cores: int, memory_gib: float, executors: int
) -> None:
    """Number and size of executors, as the table has them, for work that needs as many."""
    best = owned(
        lambda vcores: 60.0 + work / vcores, cores=cores, memory_gib=memory_gib, max_executors=10,
        deadline_seconds=deadline,
    ).recommended  # fmt: skip
    assert best.executors == executors
    assert best.layout.executor_cores == cores
    assert best.layout.executor_memory_gib == memory_gib / executors


def test_objectives() -> None:
    def of(objective: str) -> Recommendation:
        return owned(
            kmeans_seconds, cores=1, memory_gib=36.0, max_executors=150, objective=objective
        )

    thrifty, fast, throughput = (
        of(name).recommended for name in ("resource-time", "runtime", "throughput")
    )
    assert fast.executors == throughput.executors == 109, "Lemma 1: sqrt(1184.7 / 0.1) = 108.8"
    assert thrifty.resource_time < fast.resource_time
    assert throughput.throughput_bytes_per_second == pytest.approx(1e9 / fast.seconds)


def test_theta_weighs_memory() -> None:
    """Memory in total: the more it weighs, the more vcores pay, since they end the job sooner."""
    counts = [
        best.executors
        for theta in (0.0, 1.0, 10.0)
        if (
            best := owned(
                kmeans_seconds, cores=1, memory_gib=3600.0, max_executors=150, theta=theta
            ).recommended
        )
    ]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] > 50


def test_a_given_memory_goes_before_the_assured_one() -> None:
    found = owned(
        kmeans_seconds, cores=4, memory_gib=36.0, max_executors=8, executor_memory_gib=3.0
    )
    assert found.recommended.layout.executor_memory_gib == 3.0
    assert "assured-memory" not in {notice.code for notice in found.warnings}
    without = owned(kmeans_seconds, cores=4, memory_gib=36.0, max_executors=8)
    assert "assured-memory" in {notice.code for notice in without.warnings}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "cost"}, "unknown objective"),
        ({"theta": -1.0}, "theta must be at least 0"),
        ({"epsilon": 0}, "no range search"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        owned(kmeans_seconds, cores=1, memory_gib=1.0, max_executors=9, **options)


def test_real_logs_end_in_number_and_size_of_executors() -> None:
    fitted = engine.fit(engine.read("pagerank-small", "pagerank-large"), model="simcost")
    workload = replace(fitted.profile.reference_workload, input_bytes=40e9)
    found = recommend_owned(fitted, executor_cores=4, max_executors=40, workload=workload)
    best = found.recommended
    assured = fitted.assured_memory(workload)
    given = best.layout.executor_memory_gib * best.executors
    assert assured.total_gib <= given < assured.total_gib + best.executors


def test_run_times_alone_tell_the_memory_of_table_5(tmp_path: Path) -> None:
    """Kmeans' samples with five memory sizes each, whose resource time bends at 0.6, 1.2 and 1.8 GB
    of cache: 36 GB for the whole input, without a log."""
    rows = ["nodes,input_size,seconds,executors,executor_cores,executor_memory_gib"]
    for probability, best in ((1 / 30, 0.6), (1 / 15, 1.2), (1 / 10, 1.8)):
        for multiple in GRID:
            cache = best * multiple
            slower = 200.0 * max(0.0, 1.0 - cache / best)
            heap = cache / CACHE_FRACTION + SAFE_GIB
            rows.append(f"1,{11.2 * probability:.6f}GB,{60.0 + slower},1,5,{heap:.9f}")
    rows.append("3,11.2GB,106,3,10,12")
    table = tmp_path / "samples.csv"
    table.write_text("\n".join(rows) + "\n")
    fitted = engine.fit(engine.read(table), model="simcost")
    found = recommend_owned(fitted, executor_cores=10, max_executors=15)
    layout = found.recommended.layout
    assert found.recommended.executors * layout.executor_memory_gib == pytest.approx(36.0, abs=0.5)
    (said,) = [notice for notice in found.warnings if notice.code == "assured-memory"]
    assert "elbows of resource time over memory at 3 input sizes" in said.text
