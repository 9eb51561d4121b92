"""Classifies an observed stage by the origin of its partitions: what of it grows with the input.

In: a stage and its run. Out: its `Growth`, and what of it is configured. Explained in
docs/models/sparkplan_rules_replay.md#partitions.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.cluster import Workload
from engine.models.stages.partitioning.partitions import (
    Growth,
    PartitioningSettings,
    configured_flag,
    configured_number,
    query_config,
    spark_version,
)
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import StageRun, total_of

SHUFFLE_PARTITIONS = 200
"""Default of `spark.sql.shuffle.partitions`."""

COALESCING = "spark.sql.adaptive.coalescePartitions."
"""Prefix of the settings of coalescing."""

COALESCED_READS = frozenset(("AQEShuffleRead", "CustomShuffleReader"))
"""Plan node that reads coalesced shuffle partitions, since Spark 3.2 and before."""

ADAPTIVE_SINCE = (3, 2)
"""First Spark version in which adaptive execution is on by default."""


def growth_of(
    run: Run, stage: StageRun, settings: PartitioningSettings, *, knows_input: bool
) -> Growth:
    """The `Growth` of a stage.

    - The number of partitions grows if they are splits of input from outside.
    - The number of coalesced shuffle partitions grows up to the configured number.
    - The number stays for other data, also for bucketed tables, for sources whose bytes are not
      counted, and if the program coalesced to a number of its own.
    - A stage that takes only the first rows of an input reads no more of a larger one.

    Args:
        knows_input: whether the log says how much input the run read, and which stages read it.
    """
    shuffled = total_of(stage.shuffle_read_bytes) > 0.0
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
        return Growth.COALESCED if is_aqe_coalesced(run, stage, settings) else Growth.WORK
    reads_cache = total_of(stage.input_bytes) > 0.0
    return Growth.NONE if knows_input and not reads_cache else Growth.WORK


def cut_by_input(stage: StageRun) -> bool:
    """Whether the partitions of a stage that reads from outside are the splits of its input."""
    fixed_number = stage.coalesced or stage.in_part or stage.bucketed
    return not (fixed_number or _joins_scans(stage) or _reads_whole_files(stage))


def _reads_whole_files(stage: StageRun) -> bool:
    """Whether all files of a stage are read whole, each as one record."""
    others = (name.startswith(CUT_FILES) for name in stage.operations)
    return WHOLE_FILES in stage.operations and not any(others)


def _joins_scans(stage: StageRun) -> bool:
    """Whether a stage joins several scanned tables without a shuffle: these are bucketed alike, and
    more rows make the buckets larger, not more."""
    if UNIONS_AND_PRODUCTS.intersection(stage.operations):
        return False
    counts = stage.operation_counts or (1,) * len(stage.operations)
    named = zip(stage.operations, counts, strict=True)
    return sum(count for name, count in named if name.startswith("Scan ")) > 1


WHOLE_FILES = "wholeTextFiles"
"""Operation that reads each file as one record, in the number of partitions that the program asks
for (two by default), whatever the size (`WholeTextFileInputFormat.setMinPartitions`)."""

CUT_FILES = ("textFile", "sequenceFile", "objectFile", "hadoop", "newAPIHadoop", "binary", "Scan ")
"""Prefixes of operations that read files in splits by their size."""

UNIONS_AND_PRODUCTS = frozenset(("Union", "CartesianProduct", "union", "cartesian"))
"""Operations that concatenate the partitions of several inputs, or multiply them."""

SCANS = ("Scan ", "BatchScan ", "MicroBatchScan ", "JDBCRDD")
"""Prefixes of operations that read a source, by Spark's old and new interface and by JDBC."""


def _scans_uncounted(stage: StageRun) -> bool:
    """Whether a stage reads a source whose bytes are not counted: a database, a table format with
    its own file access, a source written in Python, a message stream."""
    if not stage.input_records or stage.input_bytes is not None:
        return False
    return any(name.startswith(SCANS) for name in stage.operations)


def is_aqe_coalesced(run: Run, stage: StageRun, settings: PartitioningSettings) -> bool:
    """Whether adaptive execution coalesces the stage's shuffle partitions.

    Then it has fewer than configured, and its plan says so if known: a number of partitions that
    the query asks for is never coalesced. A stage with as many as configured counts too if no two
    mean partitions fit the target together: coalescing left them as they were, and may join them at
    another input or on another cluster.
    """
    partitions = shuffle_partitions_of(run, stage)
    reads_coalesced = bool(COALESCED_READS.intersection(stage.operations))
    if stage.sql_execution_id is None or stage.shuffle_read_bytes is None:
        return False
    if not _coalesces(run, stage, reads_coalesced=reads_coalesced):
        return False
    if stage.tasks == partitions > 1:
        return 2.0 * settings.coalesced_count(stage.shuffle_read_bytes.total, None) >= partitions
    if stage.operations and not reads_coalesced:
        return False
    return stage.tasks < partitions and (stage.tasks > 1 or bool(stage.operations))


def _coalesces(run: Run, stage: StageRun, *, reads_coalesced: bool = False) -> bool:
    """Whether adaptive execution coalesces the shuffle partitions of a stage's query."""
    adaptive = is_adaptive(run, stage, reads_coalesced=reads_coalesced)
    return (
        adaptive and configured_flag(query_config(run, stage), COALESCING + "enabled") is not False
    )


def is_adaptive(run: Run, stage: StageRun, *, reads_coalesced: bool = False) -> bool:
    """Whether adaptive execution is on in a stage's query.

    Args:
        reads_coalesced: whether its plan reads coalesced partitions. It tells that adaptive
            execution was on where neither the settings nor the version do: services had it on by
            default before Spark, and some logs name no version of Spark.
    """
    setting = configured_flag(query_config(run, stage), "spark.sql.adaptive.enabled")
    by_default = reads_coalesced or spark_version(run) >= ADAPTIVE_SINCE
    return by_default if setting is None else setting


def shuffle_partitions_of(run: Run, stage: StageRun) -> int:
    """Number of partitions of a shuffle of a stage's query before coalescing, for which Spark has a
    setting of its own (`SQLConf.numShufflePartitions`)."""
    config = query_config(run, stage)
    initial = configured_number(config, COALESCING + "initialPartitionNum")
    configured = configured_number(config, "spark.sql.shuffle.partitions")
    return (initial if _coalesces(run, stage) else None) or configured or SHUFFLE_PARTITIONS


def follows_configured(stage: StageRun, shuffle_partitions: int) -> bool:
    """Whether a stage has another number of tasks with another configured number of shuffle
    partitions. That is a setting of queries: an RDD's shuffle has what its program or its input
    says, but may have taken over the number of a query.

    Args:
        shuffle_partitions: the number configured in its run.
    """
    shuffles = total_of(stage.shuffle_read_bytes) > 0.0 and stage.tasks > 1
    of_query = not _computes_rdds(stage) or stage.tasks == shuffle_partitions
    return shuffles and of_query and not stage.coalesced


def _computes_rdds(stage: StageRun) -> bool:
    """Whether a log shows that a stage computes RDDs and nothing of a query: RDD operations have
    the names of methods, but for that of Python, and nodes of a plan those of classes."""
    names = stage.operations
    of_rdds = all(name[:1].islower() or name == PYTHON_RDD for name in names)
    return stage.sql_execution_id is None and bool(names) and of_rdds


PYTHON_RDD = "PythonRDD"
"""The RDD of functions in Python, which has no operation's name."""


def partitions_notice(runs: Sequence[Run], wanted: Workload) -> Notice | None:
    """That no stage has another number of tasks with as many shuffle partitions as are asked for: a
    setting of queries, of whose shuffles the logs have none."""
    followed = any(
        follows_configured(stage, shuffle_partitions_of(run, stage))
        for run in runs
        for stage in run.stages
    )
    if wanted.shuffle_partitions is None or followed:
        return None
    return Notice(
        "not-modelled",
        "no shuffle in the log is one of a query: --shuffle-partitions changes nothing here",
        "name the number in the program (reduceByKey(..., N)), or leave the option out",
    )
