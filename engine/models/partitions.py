"""Into how many partitions Spark cuts data: rules that look at the size and at the cluster's cores.

Adaptive execution merges shuffle partitions to a target size (Spark's `ShufflePartitionsUtil`), and
a small input of files is cut for every core to have some (`FilePartition.maxSplitBytes`). Both
count `spark.default.parallelism`, the number of cores unless it is set. So the same data has more
partitions on a larger cluster, and more data does not always have more of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class Partitioning:
    """The settings of a run that decide.

    Args:
        slots: that it ran on.
        parallelism: `spark.default.parallelism` where it is set.
        advisory_bytes, smallest_bytes: of merged shuffle partitions.
        merged_for: cores for which merging leaves partitions; None for the parallelism.
        split_bytes, open_cost_bytes: largest input partition, and what opening a file counts for.
    """

    slots: int
    parallelism: int | None = None
    advisory_bytes: float = ADVISORY_BYTES
    smallest_bytes: float = SMALLEST_MERGED_BYTES
    merged_for: int | None = None
    split_bytes: float = SPLIT_BYTES
    open_cost_bytes: float = OPEN_COST_BYTES

    @classmethod
    def of(cls, run: Run, slots: int) -> Partitioning:
        """As a run's configuration says."""
        config = run.config
        merging = "spark.sql.adaptive.coalescePartitions."
        smallest = SMALLEST_MERGED_BYTES if spark_version(run) >= SMALLEST_SINCE else 0.0
        size_first = config.get(merging + "parallelismFirst", "true").lower() == "false"
        return cls(
            slots,
            whole(config, "spark.default.parallelism"),
            whole(config, "spark.sql.adaptive.advisoryPartitionSizeInBytes")
            or whole(config, "spark.sql.adaptive.shuffle.targetPostShuffleInputSize")
            or ADVISORY_BYTES,
            whole(config, merging + "minPartitionSize") or smallest,
            whole(config, merging + "minPartitionNum") or (1 if size_first else None),
            whole(config, "spark.sql.files.maxPartitionBytes") or SPLIT_BYTES,
            whole(config, "spark.sql.files.openCostInBytes") or OPEN_COST_BYTES,
        )

    def cores(self, slots: int | None) -> int:
        """What Spark takes for the parallelism on so many slots; None for the run's own."""
        return self.parallelism or max(2, slots or self.slots)

    def merged(self, total_bytes: float, slots: int | None) -> float:
        """Partitions to which adaptive execution merges a shuffle of so many bytes, as a fraction:
        each is no smaller than the smallest size and no larger than the advisory one, and within
        those there is one for every core."""
        for_each = total_bytes / (self.merged_for or self.cores(slots))
        target = max(self.smallest_bytes, min(self.advisory_bytes, for_each), 1.0)
        return max(1.0, total_bytes / target)

    def splits(self, total_bytes: float, slots: int | None) -> float:
        """Least number of splits of files of so many bytes: one for every core, as far as their
        size allows."""
        return min(float(self.cores(slots)), total_bytes / self.open_cost_bytes)


def spark_version(run: Run) -> tuple[int, ...]:
    """Major and minor version; (0,) where a log does not tell."""
    parts = (run.spark_version or "").split(".")[:2]
    return tuple(int(part) for part in parts) if all(p.isdigit() for p in parts) else (0,)


def whole(config: Mapping[str, str], key: str) -> int | None:
    """A configured number (of bytes, with or without a unit; of partitions)."""
    text = config.get(key, "").strip().lower().removesuffix("b")
    factor = {"k": 1024, "m": 1024**2, "g": 1024**3}.get(text[-1:], 1)
    digits = text.rstrip("kmg")
    return int(digits) * factor if digits.isascii() and digits.isdigit() and digits != "0" else None
