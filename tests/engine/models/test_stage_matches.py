"""Which stage of one run is which of another, whatever the order in which operations are named."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from depth import cases
from made_runs import Stage, observed

from engine.models.stages.stage_matching import code_of, stage_counterparts
from engine.profile import Run
from engine.stage_run import Measure

ASK = """
import engine
from engine.cluster import Cluster, Workload
fitted = engine.fit(engine.read("movie-als-small", "movie-als-large"))
cluster = Cluster.of_executors(executors=4, executor_cores=1, executor_memory_gib=1.0)
print(repr(fitted.predict(cluster=cluster, workload=Workload(90e6)).seconds))
"""


def joined(*, turned: bool) -> Run:
    """Two stages of equal names read two tables, told apart by what they do; two of equal code read
    one of them each, told apart by their parents alone."""
    ones = np.ones(2)
    run = observed([Stage(ones), Stage(ones), Stage(ones, (0,)), Stage(ones, (1,))], slots=2)
    plan = tuple(f"Project{place}" for place in range(40))
    kinds = [("Filter", *plan), ("Sort", *plan)] + [("Sort", "Aggregate")] * 2
    order = -1 if turned else 1
    stages = [
        replace(stage, name="collect at job.py:7", operations=operations[::order])
        for stage, operations in zip(run.stages, kinds, strict=True)
    ]
    return replace(run, stages=tuple(stages))


def test_the_order_in_which_operations_are_named_does_not_matter() -> None:
    run, turned = joined(turned=False), joined(turned=True)
    swapped = tuple(turned.stages[place] for place in (1, 0, 3, 2))
    assert [code_of(stage) for stage in run.stages] == [code_of(stage) for stage in turned.stages]
    assert stage_counterparts(run, turned) == [0, 1, 2, 3]
    assert stage_counterparts(run, replace(turned, stages=swapped)) == [1, 0, 3, 2]


def test_a_prediction_is_the_same_in_every_process() -> None:
    """Python gives text another hash in each process: what was ordered by it gave two logs of a job
    answers that differed by some per cent."""
    found = {
        subprocess.run(
            [sys.executable, "-c", ASK],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "0123"[: cases(3, deep=4)]
    }
    assert len(found) == 1


def scanning(*numbers: int) -> Run:
    """Scans that a query submits side by side, in some order, with the numbers of their code."""
    run = observed([Stage(np.ones(4), input_bytes=8.0)] * len(numbers), slots=2)
    stages = (
        replace(stage, name="$anonfun at Future", operations=("Scan", f"WholeStageCodegen ({n})"))
        for stage, n in zip(run.stages, numbers, strict=True)
    )
    return replace(run, stages=tuple(stages))


@pytest.mark.parametrize(
    ("other", "found"),
    [
        ((2, 1), [1, 0, 1, 0]),  # threads turned them: the last repetition stands for more
        ((2, 1, 1, 2), [1, 0, 2, 3]),
        ((3, 1), [0, 1, 1, 1]),  # another plan: their order
    ],
)
def test_scans_side_by_side_are_told_by_the_numbers_of_their_code(
    other: tuple[int, ...], found: list[int]
) -> None:
    assert stage_counterparts(scanning(1, 2, 1, 2), scanning(*other)) == found


SMALL = (4.30e6, 5.92e6, 18.20e6, 2.41e6)
LARGE = (7.23e6, 12.90e6, 17.75e6, 54.60e6)
"""Four queries that threads submit side by side, in one order from four files and in another from
twelve: what their scans read in 3.5.9."""


def side_by_side(*read_bytes: float) -> Run:
    """Scans of so many bytes, in the order in which they were submitted, and what sums each up."""
    ones = np.ones(2)
    scans = [Stage(ones, input_bytes=amount) for amount in read_bytes]
    sums = [Stage(ones, (place,), shuffle_bytes=1e5) for place in range(len(scans))]
    run = observed([*scans, *sums], slots=2)
    plan = ("Scan parquet", "Exchange", "WholeStageCodegen (1)")
    kinds = [plan] * len(scans) + [("AQEShuffleRead",)] * len(sums)
    stages = [
        replace(stage, name="parquet at job.py:7", operations=operations)
        for stage, operations in zip(run.stages, kinds, strict=True)
    ]
    return replace(run, stages=tuple(stages))


def test_scans_of_one_code_are_told_by_how_much_of_the_input_they_read() -> None:
    """And what reads these by what it comes from: by their order each was another query's."""
    order = [1, 2, 3, 0]
    assert stage_counterparts(side_by_side(*SMALL), side_by_side(*LARGE)) == order + [
        4 + n for n in order
    ]


def test_scans_that_read_another_share_go_by_their_order() -> None:
    """A table that stays, beside one that grows by itself: nobody else has as much."""
    small, large = side_by_side(10e6, 40e6), side_by_side(10e6, 120e6)
    assert stage_counterparts(small, large) == [0, 1, 2, 3]


def test_a_scan_of_another_plan_is_no_counterpart_of_one_that_is_another_table() -> None:
    """One of three scans is planned otherwise with more data: it goes with the one that reads as
    much of the input, by its call site."""
    small, large = side_by_side(10e6, 40e6, 2e6), side_by_side(6e6, 30e6, 120e6)
    other = replace(large.stages[2], operations=("Scan parquet", "Exchange", "Project"))
    large = replace(large, stages=(*large.stages[:2], other, *large.stages[3:]))
    assert stage_counterparts(small, large)[:3] == [1, 2, 0]


def steps(number: int) -> Run:
    """A scan, and steps of one code of which each reads what the one before it wrote."""
    ones = np.ones(2)
    after = [Stage(ones, (place,), shuffle_bytes=1e5) for place in range(number)]
    run = observed([Stage(ones, input_bytes=8.0), *after], slots=2)
    return replace(
        run, stages=tuple(replace(stage, name="step at job.py:7") for stage in run.stages)
    )


def test_steps_of_a_chain_beyond_the_last_go_with_the_last() -> None:
    """The first steps of the other log go with their own already."""
    assert stage_counterparts(steps(6), steps(3)) == [0, 1, 2, 3, 3, 3, 3]
    assert stage_counterparts(steps(3), steps(6)) == [0, 1, 2, 3]


def test_steps_beyond_the_last_are_no_counterparts_of_a_stage_of_another_plan() -> None:
    """All stages of SQL have one call site: beside the steps one sums up otherwise there."""

    def beside(number: int, operation: str) -> Run:
        run = steps(number)
        other = replace(run.stages[1], stage_id=number + 1, parents=(0,), operations=(operation,))
        return replace(run, stages=(*run.stages, other))

    found = stage_counterparts(beside(5, "HashAggregate"), beside(3, "SortAggregate"))
    assert found == [0, 1, 2, 3, 3, 3, 4]


def in_a_tree(partitions: int) -> Run:
    """A step of gradient descent: from six partitions on, `treeAggregate` shuffles in between."""
    two = partitions > 5
    stages = [Stage(np.ones(partitions), input_bytes=8.0, more={"operations": ("treeAggregate",)})]
    if two:
        more = {"operations": ("treeAggregate",)}
        stages.append(Stage(np.ones(2), (0,), shuffle_bytes=6.0, more=more))
    run = observed(stages, slots=2)
    name = "treeAggregate at RDDLossFunction.scala:61"
    wrote = Measure(partitions, 6.0, (1.0,))
    first = replace(run.stages[0], shuffle_write_bytes=wrote if two else None)
    named = tuple(replace(one, name=name) for one in (first, *run.stages[1:]))
    return replace(run, stages=named)


def test_what_aggregates_in_a_tree_is_the_same_code_with_a_shuffle_and_without() -> None:
    assert stage_counterparts(in_a_tree(2), in_a_tree(6)) == [0]
    assert stage_counterparts(in_a_tree(6), in_a_tree(2)) == [0, None]
    assert stage_counterparts(in_a_tree(6), in_a_tree(12)) == [0, 1]


def test_a_query_is_the_same_in_spark_3_and_in_spark_4() -> None:
    """Which asks for shuffles in threads of a pool. In one version names tell stages apart."""
    three = replace(scanning(1, 2), spark_version="3.5.9")
    named = tuple(
        replace(stage, name=f"{action} at NativeMethodAccessorImpl.java:0", sql_execution_id=0)
        for stage, action in zip(three.stages, ("count", "save"), strict=True)
    )
    three = replace(three, stages=named)
    pool = "$anonfun$withThreadLocalCaptured$2 at CompletableFuture.java:1768"
    in_pool = tuple(replace(stage, name=pool) for stage in named)
    assert stage_counterparts(three, replace(three, stages=in_pool, spark_version="4.0.5")) == [
        0,
        1,
    ]
    assert stage_counterparts(three, replace(three, stages=in_pool)) == [None, None]


@pytest.mark.parametrize("version", [None, "2.4.8", "3.5.9"])
def test_names_tell_queries_apart_unless_one_version_alone_asks_in_a_pool(
    version: str | None,
) -> None:
    """Two queries of one plan, in another order: by their operations alone each went with the other
    where a log did not tell its version."""
    run = scanning(1, 1)
    ones = [
        replace(stage, name=f"{action} at Job.scala:{line}", sql_execution_id=line)
        for line, (stage, action) in enumerate(zip(run.stages, ("count", "save"), strict=True))
    ]
    three = replace(run, stages=tuple(ones), spark_version="3.5.9")
    names = [one.name for one in reversed(ones)]
    turned = [replace(one, name=name) for one, name in zip(ones, names, strict=True)]
    other = replace(three, stages=tuple(turned), spark_version=version)
    assert stage_counterparts(three, other) == [1, 0]
