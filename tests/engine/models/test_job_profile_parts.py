"""Phases and unit operations of a run."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from logged_runs import (
    A_PER_SIZE,
    B_PER_ITERATION,
    C_PER_NODE,
    INIT,
    OPERATIONS,
    PREP,
    SLOTS,
    logged,
    measure,
    stage,
)

from engine.cluster import Workload
from engine.errors import BadInput
from engine.models.optex.job_profiles import input_partitions
from engine.models.stages.job_phases import (
    is_iterative,
    operations_of,
    phases_of,
    repetitions,
    unit_operations,
)

# Phases of one run


def test_phases_of_a_known_run() -> None:
    found = phases_of(logged(nodes=2, iterations=10))
    assert (found.init, found.prep) == pytest.approx((INIT, PREP))
    assert found.sharing == pytest.approx(C_PER_NODE * 20)
    assert found.communication == pytest.approx(A_PER_SIZE / 2)
    assert found.execution == pytest.approx(B_PER_ITERATION * 10 / 2)
    assert found.busy_slots == pytest.approx(2 * SLOTS)


@given(
    driver=st.none() | st.floats(0.0, 1e3),
    first=st.floats(0.0, 1e3),
    overhead=st.floats(0.0, 500.0),
    waiting=st.floats(0.0, 500.0),
)
@settings(deadline=None, max_examples=50)
def test_phases_are_not_negative_and_add_up(
    driver: float | None, first: float, overhead: float, waiting: float
) -> None:
    run = logged(nodes=2)
    stages = tuple(
        replace(
            stage,
            overhead_seconds=measure(overhead, stage.tasks),
            fetch_wait_seconds=measure(waiting, stage.tasks),
        )
        for stage in run.stages
    )
    found = phases_of(replace(run, stages=stages, driver_seconds=driver, cores=((first, 4),)))
    parts = [found.init, found.prep, found.sharing, found.communication, found.execution]
    assert min(parts) >= -1e-9
    assert sum(parts) == pytest.approx(run.seconds)


def test_operations_are_scopes_and_the_action() -> None:
    assert operations_of(stage("count at a.py:1", "map", "textFile")) == {
        "map": 1, "textFile": 1, "count": 1
    }  # fmt: skip
    assert operations_of(stage("map at a.py:1", "map")) == {"map": 1}
    assert operations_of(stage("collect at a.py:1")) == {"collect": 1}


def test_operations_of_a_query_are_its_plan() -> None:
    found = operations_of(
        stage(
            "parquet at NativeMethodAccessorImpl.java:0",
            "WholeStageCodegen (3)",
            "WholeStageCodegen (4)",
            "AQEShuffleRead",
            "Exchange",
            sql_execution_id=2,
        )
    )
    assert found == {"WholeStageCodegen": 2, "Exchange": 1}


def test_operations_that_the_cache_stands_for_are_not_done() -> None:
    found = operations_of(
        stage("map at a.py:1", "map", "textFile", "join", operation_counts=(2, 0, 1))
    )
    assert found == {"map": 2, "join": 1}


def test_counts_of_another_length_are_refused() -> None:
    with pytest.raises(BadInput, match="one number for each of operations"):
        stage("map at a.py:1", "map", operation_counts=(1, 2))


def test_times_of_operations_are_found_again() -> None:
    """Operations in four different mixes, 3 unknowns: within 10 % (what is left of even shares)."""
    mixes = [("map",), ("map", "distinct"), ("distinct", "count"), ("map", "distinct", "count")]
    stages = tuple(
        stage(
            "x", *mix, seconds=sum(OPERATIONS[name] for name in mix), stage_id=number,
            sql_execution_id=1,
        )
        for number, mix in enumerate(mixes)
    )  # fmt: skip
    found = unit_operations([replace(logged(), stages=stages)])
    times = dict(zip(found.names, found.mean_seconds, strict=True))
    assert times == pytest.approx(OPERATIONS, rel=0.1)
    assert dict(zip(found.names, found.counts[0], strict=True)) == {
        "map": 30,
        "distinct": 30,
        "count": 20,
    }


@given(
    st.lists(
        st.tuples(
            st.sets(st.sampled_from("abcd"), min_size=1), st.floats(0.1, 50.0), st.integers(1, 40)
        ),
        min_size=1,
        max_size=6,
    )
)
@settings(deadline=None, max_examples=40)
def test_times_of_operations_add_up_to_the_tasks(made: list[tuple[set[str], float, int]]) -> None:
    stages = tuple(
        stage("x", *sorted(mix), seconds=seconds, tasks=tasks, sql_execution_id=1)
        for mix, seconds, tasks in made
    )
    found = unit_operations([replace(logged(), stages=stages)])
    total = sum(seconds * tasks for _, seconds, tasks in made)
    assert float((found.mean_seconds * found.counts).sum()) == pytest.approx(total)
    assert (found.mean_seconds > 0.0).all()


def test_a_repeated_stage_iterates() -> None:
    once = replace(logged(said=False), stages=(stage("map at a.py:1", "map"),))
    often = replace(once, stages=once.stages * 5)
    assert not is_iterative(once)
    assert is_iterative(often)
    assert repetitions(often) == 5
    told = replace(often, workload=Workload(1.0, 1.0))
    assert not is_iterative(told)


def test_partitions_of_the_input_are_those_of_the_stage_that_reads() -> None:
    wide = stage("map at a.py:2", "map", tasks=99)
    reads = stage("map at a.py:1", "map", tasks=7, input_bytes=measure(5.0, 7))
    assert input_partitions(replace(logged(), stages=(wide, reads))) == 7
