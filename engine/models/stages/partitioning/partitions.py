"""Spark's settings and rules for the number of partitions of a stage, by data size and cores.

Adaptive execution coalesces shuffle partitions to a target size (Spark's `ShufflePartitionsUtil`).
A small input of files is split so that every core gets a part (`FilePartition.maxSplitBytes`). Both
depend on `spark.default.parallelism`, which is the number of cores unless it is set. So the same
data has more partitions on a larger cluster, and more data does not always have more partitions.

In: a run. Out: its settings, and the types of rules. Explained in
docs/models/sparkplan_rules_replay.md#partitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from engine.cluster import Cluster, cores_held
from engine.forecast import FloatArray
from engine.profile import Run
from engine.stage_run import StageRun
from engine.units import MIB

SPLIT_BYTES = 128.0 * MIB
"""Default size of an input partition (`spark.sql.files.maxPartitionBytes`, HDFS blocks)."""

OPEN_COST_BYTES = 4.0 * MIB
"""Default of `spark.sql.files.openCostInBytes`: splits get no smaller to give more cores one."""

ADVISORY_BYTES = 64.0 * MIB
"""Default of `spark.sql.adaptive.advisoryPartitionSizeInBytes`."""

SMALLEST_COALESCED_BYTES = 1.0 * MIB
"""Default of `spark.sql.adaptive.coalescePartitions.minPartitionSize`."""

SMALLEST_SINCE = (3, 2)
"""Spark version that introduced `minPartitionSize`."""

LEAST_CORES = 2.0
"""Least default parallelism of a cluster: Spark takes at least two cores
(`CoarseGrainedSchedulerBackend`)."""

_IN_DRIVER = re.compile(r"local(\[|\Z)")
"""Masters whose tasks run in the driver, which takes the cores as they are
(`LocalSchedulerBackend`)."""

SKEWED_BYTES = 256.0 * MIB
"""Default of `spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes`."""

SKEWED_FACTOR = 5.0
"""Default of `spark.sql.adaptive.skewJoin.skewedPartitionFactor`."""


class Growth(Enum):
    """What of a stage grows with the input: its number of partitions or their size."""

    TASKS = "tasks"
    """Input splits: more partitions of the same size."""
    COALESCED = "coalesced"
    """Coalesced shuffle partitions: more of them, up to the configured number."""
    WORK = "work"
    """A fixed number of partitions: each gets larger."""
    NONE = "none"
    """Reads nothing, or only the first rows: does not change."""


@dataclass(frozen=True, slots=True)
class PartitioningSettings:
    """The settings of a run that decide how many partitions its stages have.

    Args:
        log_cores: cores of the run's cluster, including those that no task can hold.
        parallelism: `spark.default.parallelism`; None if it is not set.
        advisory_bytes, smallest_bytes: advisory and least size of coalesced shuffle partitions.
        min_coalesced_partitions: `coalescePartitions.minPartitionNum`: coalescing leaves at least
            so many partitions; None for the default parallelism.
        split_bytes, open_cost_bytes: largest input split, and the size that opening a file counts
            for.
        skewed_bytes: size from which a join splits a partition that is much larger than others;
            infinite if skew joins are off.
        skewed_factor: how many times the median partition it has to be as well.
        min_scan_partitions: `files.minPartitionNum`: the number of splits that a small scan is
            divided into; None for the default parallelism.
        max_scan_partitions: `files.maxPartitionNum`: Spark makes splits larger rather than more.
        by_service: whether a service's Spark ran it, which may fill targets that no setting names.
        cores_per_slot: more than one if executors have cores that no task can hold
            (`engine.cluster.cores_held`).
        least_cores: least default parallelism of the run: one if its tasks run in the driver.
    """

    log_cores: int
    parallelism: int | None = None
    advisory_bytes: float = ADVISORY_BYTES
    smallest_bytes: float = SMALLEST_COALESCED_BYTES
    min_coalesced_partitions: int | None = None
    split_bytes: float = SPLIT_BYTES
    open_cost_bytes: float = OPEN_COST_BYTES
    skewed_bytes: float = SKEWED_BYTES
    skewed_factor: float = SKEWED_FACTOR
    min_scan_partitions: int | None = None
    cores_per_slot: float = 1.0
    least_cores: int = int(LEAST_CORES)
    max_scan_partitions: int | None = None
    by_service: bool = False

    @classmethod
    def of(cls, run: Run, slots: int, stage: StageRun | None = None) -> PartitioningSettings:
        """From the configuration of a run on `slots` task slots; for the query of a stage of it, if
        one is given."""
        config = run.config if stage is None else query_config(run, stage)
        cores_per_slot = _cores_per_slot(run.cluster)
        coalescing = "spark.sql.adaptive.coalescePartitions."
        smallest = SMALLEST_COALESCED_BYTES if spark_version(run) >= SMALLEST_SINCE else 0.0
        skew = "spark.sql.adaptive.skewJoin."
        splits = configured_flag(config, skew + "enabled") is not False
        skewed = _skewed_bytes(config, skew + "skewedPartitionThresholdInBytes")
        size_first = configured_flag(config, coalescing + "parallelismFirst") is False
        return cls(
            round(slots * cores_per_slot),
            configured_number(config, "spark.default.parallelism"),
            configured_number(config, "spark.sql.adaptive.advisoryPartitionSizeInBytes")
            or configured_number(config, "spark.sql.adaptive.shuffle.targetPostShuffleInputSize")
            or ADVISORY_BYTES,
            configured_number(config, coalescing + "minPartitionSize") or smallest,
            configured_number(config, coalescing + "minPartitionNum")
            or (1 if size_first else None),
            configured_number(config, "spark.sql.files.maxPartitionBytes") or SPLIT_BYTES,
            _open_cost_bytes(config),
            skewed if splits else math.inf,
            configured_factor(config, skew + "skewedPartitionFactor", SKEWED_FACTOR),
            configured_number(config, "spark.sql.files.minPartitionNum")
            or configured_number(config, "spark.sql.leafNodeDefaultParallelism"),
            cores_per_slot,
            1 if _IN_DRIVER.match(config.get("spark.master", "")) else int(LEAST_CORES),
            configured_number(config, "spark.sql.files.maxPartitionNum"),
            not _RELEASE.fullmatch(run.spark_version or ""),
        )

    def planned_on(self, cores: int | None) -> PartitioningSettings:
        """The settings of a stage that was planned when the cluster had `cores`; None for the
        run's own cores."""
        return self if cores is None else replace(self, log_cores=cores)

    def default_parallelism(self, cores: int | None) -> int:
        """Spark's default parallelism on a cluster of `cores`; None for the run's own."""
        return self.parallelism or max(self.least_cores, cores or self.log_cores)

    @property
    def scan_parallelism(self) -> int:
        """The number of splits that a small scan is divided into on the run's own cores."""
        return self.min_scan_partitions or self.default_parallelism(None)

    def coalesced_count(self, total_bytes: float, cores: int | None) -> float:
        """Number of partitions, as a fraction, to which adaptive execution coalesces a shuffle of
        `total_bytes`."""
        return max(1.0, total_bytes / self.target_bytes(total_bytes, cores))

    def target_bytes(self, total_bytes: float, cores: int | None) -> float:
        """Target size of a coalesced partition: an equal share of the bytes for every core, limited
        to between the least and the advisory size."""
        per_core = total_bytes / (self.min_coalesced_partitions or self.default_parallelism(cores))
        return max(self.smallest_bytes, min(self.advisory_bytes, per_core), 1.0)

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the default parallelism depends on the cluster."""
        return self.parallelism is None

    @property
    def scans_depend_on_cluster(self) -> bool:
        """Whether the number of splits of a small scan depends on the cluster."""
        return self.min_scan_partitions is None and self.depends_on_cluster

    def max_splits(self, total_bytes: float) -> float:
        """The most splits into which Spark divides `total_bytes` to give every core one."""
        return total_bytes / self.open_cost_bytes


class PartitionRule(Protocol):
    """The number of partitions as a function of the cores, for one stage or (as arrays) for m."""

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """Partitions at `ratio` times the input: (n,) on (n,) numbers of cores for one stage, (m,)
        on one number of cores for m stages."""
        ...


class ScalingPartitionRule(PartitionRule, Protocol):
    """A `PartitionRule` that holds at any `ratio`; others are made for one input."""

    def on_log_cores(self, ratio: float) -> FloatArray:
        """() or (m,) partitions on the cluster of the log."""
        ...


@dataclass(frozen=True)
class PartitionsPerCore:
    """A fixed number of partitions per core, between limits that follow from one input.

    Args:
        log_cores: cores of the log's cluster.
        per_core: partitions for each core.
        min_cores, max_cores: limits of the cores that count on clusters smaller than the log's;
            `min_cores_beyond`, `max_cores_beyond` on larger ones.
        counted_share_beyond: share of the cores that counts on larger clusters: that of the log, so
            that one slot more makes no jump.
    """

    log_cores: float
    per_core: float
    min_cores: float
    max_cores: float
    min_cores_beyond: float
    max_cores_beyond: float
    counted_share_beyond: float = 1.0

    @classmethod
    def constant(cls, partitions: float) -> PartitionsPerCore:
        """The same number on any cluster."""
        return cls(0.0, partitions, 1.0, 1.0, 1.0, 1.0)

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        fewer = cores < self.log_cores
        least = np.where(fewer, self.min_cores, self.min_cores_beyond)
        most = np.where(fewer, self.max_cores, self.max_cores_beyond)
        counted = np.where(fewer, cores, cores * self.counted_share_beyond)
        return np.asarray(self.per_core * np.minimum(np.maximum(counted, least), most))


@dataclass(frozen=True)
class RuleByReadGrowth:
    """A partition rule applied to the bytes that a stage reads, if these are not in proportion to
    the input.

    Args:
        rule: partitions by cores and by the growth of what the stage reads.
        growing: that growth as a function of (n,) cores, at the one input for which this holds; an
            (m,) array of such functions for m stages.
    """

    rule: PartitionRule
    growing: Callable[[FloatArray], FloatArray] | NDArray[np.object_]

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions on (n,) cores."""
        growing = self.growing
        growth = growing(cores) if callable(growing) else _GROWTH(growing, cores)
        return self.rule.count(cores, growth)  # type: ignore[arg-type]


_GROWTH = np.vectorize(lambda growing, cores: growing(np.asarray(cores)), otypes=[float])
"""(m,) values of (m,) functions at (m,) numbers of cores, or at one."""


@dataclass(frozen=True)
class PartitionCount:
    """The partitions of a stage at one input, as a function of the cluster's cores.

    Args:
        own: partitions on the log's cores, and on any number of cores without a `rule`.
        log_cores: cores of the log's cluster.
        rule: partitions on other numbers of cores, at `ratio` times the input.
    """

    own: float
    log_cores: int = 0
    rule: PartitionRule | None = None
    ratio: float = 1.0

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the number may be another on another cluster."""
        return self.rule is not None

    def at(self, cores: float | None) -> float:
        """Partitions on a number of cores; None for the log's own."""
        if cores is None or cores == self.log_cores or self.rule is None:
            return self.own
        return float(self.rule.count(np.asarray(max(cores, LEAST_CORES)), self.ratio))

    def on(self, cores: FloatArray) -> FloatArray:
        """(n,) partitions on (n,) numbers of cores, as `at`."""
        if self.rule is None:
            return np.full(len(cores), self.own)
        counted = self.rule.count(np.maximum(cores, LEAST_CORES), self.ratio)
        return np.where(cores == self.log_cores, self.own, counted)


def _cores_per_slot(cluster: Cluster) -> float:
    cores = cluster.executor_cores
    return cores / cores_held(cores, cluster.task_cpus) if cores else 1.0


_RELEASE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9}){1,2}(-SNAPSHOT)?")
"""A version of Spark itself: services add their name or that of their build."""

_VERSION_PART = re.compile(r"[0-9]{1,9}")
_SIZE_UNITS = {unit: 1024**power for power, unit in enumerate("kmgtp", 1)}
_DECIMAL = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")
_WHOLE = re.compile(r"([0-9]{1,19})([kmgtp]?)b?")


def spark_version(run: Run) -> tuple[int, ...]:
    """Major and minor version; (0,) if the log does not say."""
    parts = (run.spark_version or "").split(".")[:2]
    return tuple(map(int, parts)) if all(map(_VERSION_PART.fullmatch, parts)) else (0,)


def query_config(run: Run, stage: StageRun) -> Mapping[str, str]:
    """The settings of a stage's query: those of its run, but for what the program had changed."""
    return {**run.config, **dict(stage.query_settings)} if stage.query_settings else run.config


def configured_number(config: Mapping[str, str], key: str) -> int | None:
    """A setting that is a number of partitions or of bytes, with or without a unit; None if it is
    missing, 0 or no number."""
    match = _WHOLE.fullmatch(config.get(key, "").strip().lower())
    return int(match[1]) * _SIZE_UNITS.get(match[2], 1) or None if match else None


def configured_flag(config: Mapping[str, str], key: str) -> bool | None:
    """A setting that is on or off, as Spark reads it, which ignores spaces around it; None if it is
    missing or neither."""
    return {"true": True, "false": False}.get(config.get(key, "").strip().lower())


def is_configured_zero(config: Mapping[str, str], key: str) -> bool:
    """Whether a setting is the number 0, with or without a unit."""
    match = _WHOLE.fullmatch(config.get(key, "").strip().lower())
    return match is not None and int(match[1]) == 0


def _skewed_bytes(config: Mapping[str, str], key: str) -> float:
    """The size from which a partition may be split; if set to 0 the factor alone decides."""
    if is_configured_zero(config, key):
        return 0.0
    return configured_number(config, key) or SKEWED_BYTES


def configured_factor(config: Mapping[str, str], key: str, default: float) -> float:
    """A setting that is a factor; the default if no number is set."""
    return float(text) if _DECIMAL.fullmatch(text := config.get(key, "").strip()) else default


def _open_cost_bytes(config: Mapping[str, str]) -> float:
    """The size that opening a file counts for; one byte, the least that a split holds, if it is set
    to 0."""
    key = "spark.sql.files.openCostInBytes"
    if is_configured_zero(config, key):
        return 1.0
    return configured_number(config, key) or OPEN_COST_BYTES


@dataclass(frozen=True, slots=True)
class ScaledStage:
    """The tasks of a stage at another input or on another cluster: their number and size.

    Args:
        work: work of a task with a whole partition relative to an observed task, without overhead.
        last: size of the last partition as a share of a whole one.
    """

    tasks: int
    work: float
    last: float = 1.0

    @property
    def partitions(self) -> float:
        """Number of partitions, the last one counted by its size."""
        return self.tasks - 1.0 + self.last


def whole_tasks(wanted: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rounds (n,) fractional numbers of partitions up to whole tasks.

    Returns:
        (n,) tasks, (n,) partitions within the limits below, and (n,) the size of the last partition
        as a share of a whole one.
    """
    partitions = np.clip(wanted, SMALLEST_STAGE, LARGEST_TASKS)
    tasks = np.maximum(1.0, np.ceil(partitions - WHOLE))
    last = partitions - tasks + 1.0
    return tasks, partitions, np.where(last < 1.0 - WHOLE, last, 1.0)


LARGEST_TASKS = 2_000_000
"""Most tasks of a stage: Spark's own scheduler cannot handle more."""

SMALLEST_STAGE = 1e-6
"""Fewest partitions of a stage, as a fraction of one."""

WHOLE = 1e-9
"""A last partition of a smaller share than this is rounding error, and is dropped."""
