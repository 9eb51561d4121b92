"""From what the partitions of an observed stage come, by which they grow with the input."""

from __future__ import annotations

from engine.models.stages.cutting.partitions import (
    Growth,
    Partitioning,
    configured_number,
    spark_version,
)
from engine.profile import Run
from engine.stage_run import StageRun

SHUFFLE_PARTITIONS = 200
"""Default of `spark.sql.shuffle.partitions`."""

MERGED_READS = frozenset(("AQEShuffleRead", "CustomShuffleReader"))
"""What plans call the reader of merged partitions, since 3.2 and before."""

ADAPTIVE_SINCE = (3, 2)
"""First Spark version that re-plans (and merges shuffle partitions) unless told otherwise."""


def growth_of(run: Run, stage: StageRun, rules: Partitioning, *, knows_input: bool) -> Growth:
    """Partitions follow the input where it is read from outside; merged partitions follow it up to
    their configured number; other data, tables in buckets and sources whose bytes nobody counts
    too, keeps its number of partitions, and so does what the program put together to a number of
    its own. Who takes the first rows of an input reads no more of a larger one."""
    shuffled = stage.shuffle_read_bytes is not None and stage.shuffle_read_bytes.total > 0.0
    counted = stage.outside_bytes > 0.0
    if any(one.origin != "made" for one in stage.inputs) and cut_by_input(stage):
        return Growth.TASKS
    if counted or _scans_uncounted(stage):
        if stage.in_part and not shuffled:
            return Growth.NONE
        return Growth.TASKS if counted and cut_by_input(stage) else Growth.WORK
    if stage.stored_by is not None:
        return Growth.WORK
    if stage.read_bytes > 0.0 and (stage.coalesced or (stage.in_part and not shuffled)):
        return Growth.WORK
    if shuffled:
        return Growth.MERGED if is_merged(run, stage, rules) else Growth.WORK
    reads_cache = stage.input_bytes is not None and stage.input_bytes.total > 0.0
    return Growth.NONE if knows_input and not reads_cache else Growth.WORK


def cut_by_input(stage: StageRun) -> bool:
    """Whether a stage that reads from outside has partitions as its input has them."""
    asked = stage.coalesced or stage.in_part or stage.bucketed
    return not (asked or _joins_scans(stage) or _reads_whole_files(stage))


def _reads_whole_files(stage: StageRun) -> bool:
    """Whether its files are all read whole: those beside them are cut as their input is."""
    others = (name.startswith(CUT_FILES) for name in stage.operations)
    return WHOLE_FILES in stage.operations and not any(others)


def _joins_scans(stage: StageRun) -> bool:
    """Whether its tasks read several tables side by side without a shuffle: these lie in equal
    numbers of buckets, which more rows make larger, not more."""
    if BESIDE.intersection(stage.operations):
        return False
    counts = stage.operation_counts or (1,) * len(stage.operations)
    named = zip(stage.operations, counts, strict=True)
    return sum(count for name, count in named if name.startswith("Scan ")) > 1


WHOLE_FILES = "wholeTextFiles"
"""What reads files as they are, each one record, in as many partitions as the program asks for, two
unless told otherwise, however large they are (`WholeTextFileInputFormat.setMinPartitions`)."""

CUT_FILES = ("textFile", "sequenceFile", "objectFile", "hadoop", "newAPIHadoop", "binary", "Scan ")
"""How operations begin that read files in partitions by their size."""

BESIDE = frozenset(("Union", "CartesianProduct", "union", "cartesian"))
"""Operations that put the partitions of several inputs beside each other, or multiply them."""


SCANS = ("Scan ", "BatchScan ", "MicroBatchScan ", "JDBCRDD")
"""How plans call what reads a source, by its old and its new interface, and Spark the tables of
databases."""


def _scans_uncounted(stage: StageRun) -> bool:
    """Whether it reads records of a source whose bytes its tasks do not count: a database, a table
    format with a file access of its own, a source written in Python, a stream of messages."""
    if not stage.input_records or stage.input_bytes is not None:
        return False
    return any(name.startswith(SCANS) for name in stage.operations)


def is_merged(run: Run, stage: StageRun, rules: Partitioning) -> bool:
    """Whether adaptive execution gives the stage as many partitions as its data asks for: it has
    fewer than configured, as its plan says where that is known (a number of partitions that the
    query asks for is never merged). Of as many as configured none was merged where no two of them
    are as small as the target together; elsewhere they may be."""
    partitions = shuffle_partitions_of(run)
    said = run.config.get("spark.sql.adaptive.enabled")
    adaptive = said.lower() == "true" if said else spark_version(run) >= ADAPTIVE_SINCE
    if stage.sql_execution_id is None or not adaptive or stage.shuffle_read_bytes is None:
        return False
    if stage.tasks == partitions > 1:
        return 2.0 * rules.merged(stage.shuffle_read_bytes.total, None) >= partitions
    if stage.operations and not MERGED_READS.intersection(stage.operations):
        return False
    return stage.tasks < partitions and (stage.tasks > 1 or bool(stage.operations))


def shuffle_partitions_of(run: Run) -> int:
    """As many as a shuffle of Spark SQL has before any are merged."""
    first = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
    named = configured_number(run.config, first) or configured_number(
        run.config, "spark.sql.shuffle.partitions"
    )
    return named or SHUFFLE_PARTITIONS
