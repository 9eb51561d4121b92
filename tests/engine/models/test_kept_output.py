"""Stages that read a cache or a checkpoint have the partitions of the stage that made it."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed, without_growth
from test_partitions import COALESCED_READ, SCAN

from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitioning.partitions import Growth
from engine.profile import Run
from engine.units import MIB

READS = {"sql_execution_id": 0, "stored_by": 1, "operations": ("Exchange", "checkpoint", "map")}


def kept_frame(**reader: object) -> Run:
    """A scan, its coalesced shuffle, which is kept, and a stage that reads that and counts no
    bytes."""
    stages = [
        Stage(np.full(2, 4.0), input_bytes=256.0 * MIB, more=SCAN),
        Stage(np.full(2, 4.0), (0,), shuffle_bytes=64.0 * MIB, more=COALESCED_READ),
        Stage(np.full(2, 4.0), more=READS | reader),
    ]
    return replace(observed(stages, slots=2), spark_version="3.5.9")


def test_a_checkpoint_has_the_partitions_of_the_stage_that_wrote_it() -> None:
    replay = Replay.of(kept_frame())
    assert replay.models[2].growth is Growth.WORK
    for slots, ratio in ((2, 1.0), (6, 1.0), (1, 1.0), (2, 8.0), (40, 20.0)):
        tasks = replay.replayed(slots, ratio=ratio).tasks
        assert tasks[2] == tasks[1]
    assert replay.replayed(6).tasks[2] == 6


def test_reading_it_takes_as_much_longer_as_there_is_more_of_it() -> None:
    """It had stayed what it was, whatever the input: of a checkpoint Spark counts no bytes."""
    small, large = (without_growth(kept_frame()).replayed(2, ratio=ratio) for ratio in (1.0, 10.0))
    spans = [one.end[2] - one.start[2] for one in (small, large)]
    assert spans[1] == pytest.approx(10.0 * spans[0], rel=0.1)


def test_a_cache_of_a_coalesced_shuffle_has_its_partitions_too() -> None:
    """As many as the scan of files has in the log by chance, they had been cut as files are."""
    run = kept_frame(cached_input_bytes=256.0 * MIB, cached_rdds=(7,), needed_rdds=(7,))
    scan, coalesced, reader = run.stages
    cached = replace(reader, input_bytes=scan.input_bytes)
    replay = Replay.of(replace(run, stages=(scan, coalesced, cached)))
    assert replay.replayed(6).tasks[1:] == (6, 6)


def test_other_shuffle_partitions_are_those_of_its_readers() -> None:
    plain = {"sql_execution_id": 0, "operations": ("Exchange", "WholeStageCodegen (2)")}
    stages = [
        Stage(np.full(2, 4.0), input_bytes=256.0 * MIB, more=SCAN),
        Stage(np.full(200, 0.5), (0,), shuffle_bytes=64.0 * MIB, more=plain),
        Stage(np.full(200, 0.5), more=READS),
    ]
    replay = Replay.of(replace(observed(stages, slots=2), spark_version="3.5.9"))
    assert replay.replayed(8).tasks[1:] == (200, 200)
    assert replay.replayed(8, shuffle_partitions=80).tasks[1:] == (80, 80)


@pytest.mark.parametrize(
    ("operations", "config", "asked"),
    [
        (("saveAsTextFile", "reduceByKey"), {}, 16),
        (("PythonRDD", "partitionBy", "mapPartitions"), {}, 16),
        (("PythonRDD", "WholeStageCodegen (2)", "AQEShuffleRead"), {}, 80),
        (("reduceByKey", "map"), {"spark.sql.shuffle.partitions": "16"}, 80),  # a query's, perhaps
        (("AQEShuffleRead", "map", "treeAggregate"), {}, 80),  # the RDD of a query
        ((), {}, 80),  # the log does not say
    ],
)
def test_shuffles_of_rdds_have_no_configured_number(
    operations: tuple[str, ...], config: dict[str, str], asked: int
) -> None:
    """`spark.sql.shuffle.partitions` is a setting of queries."""
    stages = [
        Stage(np.full(4, 4.0), input_bytes=512.0 * MIB, more={"operations": ("textFile", "map")}),
        Stage(np.full(16, 1.0), (0,), shuffle_bytes=64.0 * MIB, more={"operations": operations}),
    ]
    replay = Replay.of(observed(stages, slots=4, config=config))
    assert replay.replayed(4, shuffle_partitions=80).tasks[1] == asked
