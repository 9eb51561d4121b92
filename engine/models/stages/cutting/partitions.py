"""Into how many partitions Spark cuts data: rules that look at the size and at the cluster's cores.

Adaptive execution merges shuffle partitions to a target size (Spark's `ShufflePartitionsUtil`), and
a small input of files is cut for every core to have some (`FilePartition.maxSplitBytes`). Both
count `spark.default.parallelism`, the number of cores unless it is set. So the same data has more
partitions on a larger cluster, and more data does not always have more of them.
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
from engine.units import MIB

SPLIT_BYTES = 128.0 * MIB
"""Default size of an input partition (`spark.sql.files.maxPartitionBytes`, HDFS blocks)."""

OPEN_COST_BYTES = 4.0 * MIB
"""Default of `spark.sql.files.openCostInBytes`: no smaller splits for the sake of more of them."""

ADVISORY_BYTES = 64.0 * MIB
"""Default of `spark.sql.adaptive.advisoryPartitionSizeInBytes`."""

SMALLEST_MERGED_BYTES = 1.0 * MIB
"""Default of `spark.sql.adaptive.coalescePartitions.minPartitionSize`, known since 3.2."""

SMALLEST_SINCE = (3, 2)

LEAST_CORES = 2.0
"""Spark takes no smaller number of cores for the parallelism of a cluster."""

SKEWED_BYTES = 256.0 * MIB
"""Default of `spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes`."""


class Growth(Enum):
    """How a stage grows with the input."""

    TASKS = "tasks"
    """Partitions come from the input: more of the same size."""
    MERGED = "merged"
    """Shuffle partitions merged to a size: more of them, up to the configured number."""
    WORK = "work"
    """A fixed number of partitions: each grows."""
    NONE = "none"
    """Reads nothing, or the first rows alone: stays as it is."""


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The settings of a run that decide.

    Args:
        own_cores: that it ran on, those that no task can hold among them.
        parallelism: `spark.default.parallelism` where it is set.
        advisory_bytes, smallest_bytes: of merged shuffle partitions.
        merged_for: cores for which merging leaves partitions; None for the parallelism.
        split_bytes, open_cost_bytes: largest input partition, and what opening a file counts for.
        skewed_bytes: from this size on a join splits a partition that is much larger than others;
            infinite where it does not.
        scanned_for: cores for which files are cut; None for the parallelism.
        cores_per_slot: more than one where executors have cores that no task can hold
            (`engine.cluster.cores_held`).
    """

    own_cores: int
    parallelism: int | None = None
    advisory_bytes: float = ADVISORY_BYTES
    smallest_bytes: float = SMALLEST_MERGED_BYTES
    merged_for: int | None = None
    split_bytes: float = SPLIT_BYTES
    open_cost_bytes: float = OPEN_COST_BYTES
    skewed_bytes: float = SKEWED_BYTES
    scanned_for: int | None = None
    cores_per_slot: float = 1.0

    @classmethod
    def of(cls, run: Run, slots: int) -> Partitioning:
        """As the configuration of a run on so many slots says."""
        config, cores_per_slot = run.config, _cores_per_slot(run.cluster)
        merging = "spark.sql.adaptive.coalescePartitions."
        smallest = SMALLEST_MERGED_BYTES if spark_version(run) >= SMALLEST_SINCE else 0.0
        skew = "spark.sql.adaptive.skewJoin."
        splits = config.get(skew + "enabled", "true").lower() == "true"
        skewed = configured_number(config, skew + "skewedPartitionThresholdInBytes") or SKEWED_BYTES
        size_first = config.get(merging + "parallelismFirst", "true").lower() == "false"
        return cls(
            round(slots * cores_per_slot),
            configured_number(config, "spark.default.parallelism"),
            configured_number(config, "spark.sql.adaptive.advisoryPartitionSizeInBytes")
            or configured_number(config, "spark.sql.adaptive.shuffle.targetPostShuffleInputSize")
            or ADVISORY_BYTES,
            configured_number(config, merging + "minPartitionSize") or smallest,
            configured_number(config, merging + "minPartitionNum") or (1 if size_first else None),
            configured_number(config, "spark.sql.files.maxPartitionBytes") or SPLIT_BYTES,
            _open_cost_bytes(config),
            skewed if splits else math.inf,
            configured_number(config, "spark.sql.files.minPartitionNum")
            or configured_number(config, "spark.sql.leafNodeDefaultParallelism"),
            cores_per_slot,
        )

    def on(self, cores: int | None) -> Partitioning:
        """The same of a stage that was planned when there were so many; None for the run's."""
        return self if cores is None else replace(self, own_cores=cores)

    def cores(self, cores: int | None) -> int:
        """What Spark takes for the parallelism on so many cores; None for the run's own."""
        return self.parallelism or max(int(LEAST_CORES), cores or self.own_cores)

    @property
    def cores_for_scans(self) -> int:
        """The same for the files of a scan, as the run itself took it."""
        return self.scanned_for or self.cores(None)

    def merged(self, total_bytes: float, cores: int | None) -> float:
        """To how many partitions adaptive execution merges a shuffle, as a fraction."""
        return max(1.0, total_bytes / self.target_bytes(total_bytes, cores))

    def target_bytes(self, total_bytes: float, cores: int | None) -> float:
        """To what size it merges them: each is no smaller than the smallest size and no larger than
        the advisory one, and within those there is one for every core."""
        for_each = total_bytes / (self.merged_for or self.cores(cores))
        return max(self.smallest_bytes, min(self.advisory_bytes, for_each), 1.0)

    @property
    def counts_slots(self) -> bool:
        """Whether what Spark takes for the parallelism follows the cluster."""
        return self.parallelism is None

    @property
    def scans_count_slots(self) -> bool:
        """The same for the files of a scan."""
        return self.scanned_for is None and self.counts_slots

    def most_splits(self, total_bytes: float) -> float:
        """Files of so many bytes are cut in a split for every core, but in no more than this for
        the cores' sake."""
        return total_bytes / self.open_cost_bytes


class ByCores(Protocol):
    """A rule of Spark's that counts cores, for one stage or (as arrays) for each of m."""

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions of `ratio` times the input on so many cores; of m stages (m,), on one
        number of cores."""
        ...


class ByInput(ByCores, Protocol):
    """One that holds for any input."""

    def on_own(self, ratio: float) -> FloatArray:
        """() or (m,) the same on the cluster of the log."""
        ...


@dataclass(frozen=True)
class PerCore:
    """So many partitions for each core, between limits that follow from one input.

    Args:
        own_cores: of the cluster of the log.
        per_core: partitions for each core.
        fewest, most: cores that count at least and at most on fewer than the log's, and
            `fewest_beyond`, `most_beyond` on more.
        counted_beyond: the share of the cores that counts on more: as in the log, so that one slot
            more is no jump.
    """

    own_cores: float
    per_core: float
    fewest: float
    most: float
    fewest_beyond: float
    most_beyond: float
    counted_beyond: float = 1.0

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        fewer = cores < self.own_cores
        least = np.where(fewer, self.fewest, self.fewest_beyond)
        most = np.where(fewer, self.most, self.most_beyond)
        counted = np.where(fewer, cores, cores * self.counted_beyond)
        return np.asarray(self.per_core * np.minimum(np.maximum(counted, least), most))


@dataclass(frozen=True)
class AtGrowth:
    """A rule of Spark's for what a stage reads, which grows otherwise than the input.

    Args:
        rule: what says how many partitions so many times as much has.
        growing: how much more it reads on (n,) cores, at the one input for which this holds; of m
            stages (m,).
    """

    rule: ByCores
    growing: Callable[[FloatArray], FloatArray] | NDArray[np.object_]

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) partitions on so many cores."""
        growing = self.growing
        growth = growing(cores) if callable(growing) else _GROWTH(growing, cores)
        return self.rule.count(cores, growth)  # type: ignore[arg-type]


_GROWTH = np.vectorize(lambda growing, cores: growing(np.asarray(cores)), otypes=[float])
"""(m,) what (m,) functions say of (m,) numbers of cores, or of one."""


@dataclass(frozen=True)
class PartitionCount:
    """Partitions of a stage at one input, as a function of the cluster's cores.

    Args:
        own: on the run's own cores, and on any where there is no `by_cores`.
        own_cores: the run's.
        by_cores: what says how many there are on others, at `ratio` times the input.
    """

    own: float
    own_cores: int = 0
    by_cores: ByCores | None = None
    ratio: float = 1.0

    @property
    def counts_slots(self) -> bool:
        """Whether there may be others on another cluster."""
        return self.by_cores is not None

    def at(self, cores: float | None) -> float:
        """On so many cores; None for the run's own."""
        if cores is None or cores == self.own_cores or self.by_cores is None:
            return self.own
        return float(self.by_cores.count(np.asarray(max(cores, LEAST_CORES)), self.ratio))

    def on(self, cores: FloatArray) -> FloatArray:
        """(n,) `at`."""
        if self.by_cores is None:
            return np.full(len(cores), self.own)
        counted = self.by_cores.count(np.maximum(cores, LEAST_CORES), self.ratio)
        return np.where(cores == self.own_cores, self.own, counted)


def _cores_per_slot(cluster: Cluster) -> float:
    cores = cluster.executor_cores
    return cores / cores_held(cores, cluster.task_cpus) if cores else 1.0


_VERSION_PART = re.compile(r"[0-9]{1,9}")
_SIZE_UNITS = {unit: 1024**power for power, unit in enumerate("kmgtp", 1)}
_WHOLE = re.compile(r"([0-9]{1,19})([kmgtp]?)b?")


def spark_version(run: Run) -> tuple[int, ...]:
    """Major and minor version; (0,) where a log does not tell."""
    parts = (run.spark_version or "").split(".")[:2]
    return tuple(map(int, parts)) if all(map(_VERSION_PART.fullmatch, parts)) else (0,)


def configured_number(config: Mapping[str, str], key: str) -> int | None:
    """A configured number (of bytes, with or without a unit; of partitions)."""
    match = _WHOLE.fullmatch(config.get(key, "").strip().lower())
    return int(match[1]) * _SIZE_UNITS.get(match[2], 1) or None if match else None


def _open_cost_bytes(config: Mapping[str, str]) -> float:
    """What opening a file counts for: a byte where it is nothing, the least that a split holds."""
    key = "spark.sql.files.openCostInBytes"
    told = _WHOLE.fullmatch(config.get(key, "").strip().lower())
    if told is not None and int(told[1]) == 0:
        return 1.0
    return configured_number(config, key) or OPEN_COST_BYTES


@dataclass(frozen=True, slots=True)
class Scaled:
    """A stage for another input.

    Args:
        tasks: how many it has.
        work: of a task of a whole partition, relative to the observed (overhead apart).
        last: share of a whole partition that the last one holds.
    """

    tasks: int
    work: float
    last: float = 1.0

    @property
    def partitions(self) -> float:
        """Whole partitions and the part of the last one."""
        return self.tasks - 1.0 + self.last


def whole_tasks(wanted: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n,) tasks of as many stages in (n,) wanted partitions, the partitions that they get, and the
    share of a whole one that the last task holds."""
    partitions = np.clip(wanted, SMALLEST_STAGE, LARGEST_TASKS)
    tasks = np.maximum(1.0, np.ceil(partitions - WHOLE))
    last = partitions - tasks + 1.0
    return tasks, partitions, np.where(last < 1.0 - WHOLE, last, 1.0)


LARGEST_TASKS = 2_000_000
"""No stage is given more tasks than this: Spark's own scheduler does not bear more."""

SMALLEST_STAGE = 1e-6
"""A stage has no fewer partitions: part of one."""

WHOLE = 1e-9
"""A last partition smaller than this is none."""
