"""Into how many splits the input of a stage is cut, on any cluster and for any amount of data.

Spark cuts a scan by the size of its files (`FilePartition.maxSplitBytes`), whatever its tasks then
read of them. Of columns that nobody asks for no byte is counted, so that what was read is often a
fraction of what was cut.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from engine.models.stages.cutting.packed_files import ALIKE, FileSizes, PackedFiles
from engine.models.stages.cutting.partitions import (
    LEAST_CORES,
    PartitionCount,
    Partitioning,
    PerCore,
)
from engine.stage_run import StageRun
from engine.units import MIB


@dataclass(frozen=True)
class InputSplits:
    """The splits of one observed stage.

    Args:
        tasks: as many as it had.
        read_bytes: by all of its tasks, and `largest_read_bytes` by one; None where not known.
        cut_bytes: what Spark cut: the size of the files, which it takes for larger where they are
            many (`openCostInBytes`); or what is known of it.
        is_scan: whether it reads files whose splits Spark SQL chooses.
        is_hadoop: whether it reads files that Hadoop's `FileInputFormat` cuts, each for itself:
            RDDs of files, and Hive's tables.
        for_cores: whether its rows, which the program made itself, are in as many partitions as
            Spark gives them where it asks for no number: one for each core (`defaultParallelism`).
        scans: how many; each of a union is cut for itself, and they are taken to be alike. Of rows
            that the program made, how many ranges or collections.
        at_most: whether the program may have asked for no more, by a `coalesce` that left them, and
            nothing says how many that allows.
        packed: how its files were packed, where their number is known and says as many splits.
        most: as many as the program leaves at most, where the plan says so.
    """

    tasks: int
    read_bytes: float | None
    largest_read_bytes: float
    cut_bytes: float
    is_scan: bool
    is_hadoop: bool
    for_cores: bool
    scans: int
    at_most: bool
    rule: Partitioning
    packed: PackedFiles | None
    most: float

    @classmethod
    def of(cls, stage: StageRun, rule: Partitioning, *, in_splits: bool) -> InputSplits:
        """Of a stage whose partitions are those of its input, or are not."""
        read = stage.input_bytes
        hadoop = in_splits and _by_hadoop(stage)
        scans_files = any(name.startswith("Scan ") for name in stage.operations)
        scan = in_splits and scans_files and not hadoop
        scans = _beside(stage) if scan else 1
        total = read.total if read is not None else None
        cut = max(total or 0.0, (stage.files_bytes or 0.0) if scan else 0.0)
        full = stage.tasks * rule.split_bytes
        by_size = stage.tasks >= BY_SIZE * scans * rule.cores_for_scans
        if scan and by_size and cut < LEAST_FULL * full:
            cut = full
        largest = (read.maximum or 0.0) if read is not None else 0.0
        told = stage.coalesced_most or 0
        most = float(told) if scan and told >= stage.tasks else math.inf
        packed = _packed(stage, scans, rule) if scan else None
        packed = replace(packed, most=most) if packed is not None else None
        for_cores = rule.scans_count_slots and _one_for_each_core(stage, rule)
        scans = max(1, len(stage.united)) if for_cores else scans
        return cls(
            stage.tasks, total, largest, cut, scan, hadoop, for_cores, scans,
            in_splits and most == math.inf and not COALESCES.isdisjoint(stage.operations), rule,
            packed, most,
        )  # fmt: skip

    @property
    def count_slots(self) -> bool:
        """Whether their number depends on the cluster."""
        return self.for_cores or (self.is_scan and self.rule.scans_count_slots)

    @property
    def may_stay(self) -> bool:
        """Whether more data may come in as many. The program may have asked for that number: of
        Hadoop, which then cuts files to about it, or of a `coalesce` that found no more than it
        allows. And files that are not cut may get larger."""
        if self.is_hadoop:
            return self._whole_files and not self._whole_blocks
        return self.at_most or (self.packed is not None and self.packed.may_stay)

    @property
    def may_be_files(self) -> bool:
        """Whether splits that are taken for those of one small file may be files, of which more
        data has more."""
        return self.is_hadoop and self.tasks > 1 and not self._each_multiplies

    def one_each(self) -> PartitionCount:
        """One for each core and range, whatever the input."""
        each = PerCore(self.rule.own_cores, float(self.scans), 0.0, math.inf, 0.0, math.inf)
        return PartitionCount(float(self.tasks), self.rule.own_cores, each)

    @property
    def in_a_loop(self) -> bool:
        """Whether more data is taken to be more scans, as of a program that unites the files of a
        folder one by one, and not more of each."""
        return self.scans > WRITTEN_OUT

    def alone(self, ratio: float) -> PartitionCount:
        """Splits of `ratio` times the input on any number of slots."""
        if self.packed is None:
            return self.count(ratio)
        own = float(self.packed.on_own(ratio))
        if not self.count_slots:
            return PartitionCount(own)
        return PartitionCount(own, self.rule.own_cores, self.packed, ratio)

    def count(self, ratio: float) -> PartitionCount:
        """Splits of `ratio` times the input on any number of slots, where nothing tells how files
        were packed."""
        return self.for_slots(self.partitions(ratio), ratio)

    def partitions(self, ratio: float) -> float:
        """Splits of `ratio` times the input on the run's own slots.

        They are filled to the split size before there are more of them: a small input is cut in as
        many as the cluster has cores, or in two, and less of a large one too. Of a scan with two
        for each core that is not what cut it: by files or by size there are so many. Of a union in
        a loop there are more scans, each cut as before.
        """
        n, cores = self.tasks, self.scans * self.rule.cores_for_scans
        if self.read_bytes is None or self.in_a_loop or self._each_multiplies:
            return n * ratio
        if self.is_hadoop and ratio < 1.0:
            return float(n)
        if self.is_scan and ratio < 1.0:
            return max(n * ratio, min(n, cores, self.rule.most_splits(self.cut_bytes * ratio)))
        if ratio <= 1.0 or (self.is_scan and n >= BY_SIZE * cores):
            return n * ratio
        of_file = self.cut_bytes / self.read_bytes if self.read_bytes > 0.0 else 1.0
        split = BLOCK_BYTES if self.is_hadoop else self.rule.split_bytes
        largest = max(split, self.largest_read_bytes * of_file)
        if self.cut_bytes / n > largest / 2.0 or n > FEW_SPLITS * self.scans:
            return n * ratio
        return max(float(n), self.cut_bytes * ratio / largest)

    @property
    def early_cores(self) -> int | None:
        """How many cores its scans were cut for, where these are far fewer than those of the log:
        executors may have come after the query was planned. None where they are not, or the program
        says how many count."""
        if not self.is_scan or not self.rule.scans_count_slots:
            return None
        cores = self.rule.cores_for_scans
        if self.packed is not None:
            counted = float(self.packed.counted)
            return round(counted * cores) if 0.0 < counted < 1.0 else None
        each, most = self.tasks / self.scans, self.rule.most_splits(self.cut_bytes) / self.scans
        early = each > LEAST_CORES and ALIKE * each < min(cores, most)
        return math.ceil(each) if early else None

    @property
    def _each_multiplies(self) -> bool:
        """Whether the splits that Hadoop cut are whole files or whole blocks. It puts no two files
        together, and cuts a file in two for want of splits, or where a block ends."""
        return self.is_hadoop and (self._whole_blocks or self._whole_files)

    @property
    def _whole_files(self) -> bool:
        """Whether none of the splits that Hadoop cut is a part of a file for want of splits: where
        two are wanted (`defaultMinPartitions`) a file that is cut is cut at half of all bytes. So
        the largest has half of them, but for what its reader reads on, or is a whole file."""
        if self.tasks > OF_ONE_FILE or not self.read_bytes:
            return self.tasks > OF_ONE_FILE
        share = self.largest_read_bytes / self.read_bytes
        beyond = max(READ_ON_BYTES / self.read_bytes, 1.0 - 1.0 / READ_BEYOND)
        return share < NEARLY_HALF or beyond < abs(share - 0.5) < ALL_IN_ONE

    @property
    def _whole_blocks(self) -> bool:
        """Whether the largest is as large as a block."""
        blocks = [BLOCK_BYTES * 2.0**power for power in BLOCK_POWERS]
        return any(1.0 <= self.largest_read_bytes / block <= READ_BEYOND for block in blocks)

    def for_slots(self, partitions: float, ratio: float) -> PartitionCount:
        """Splits of a scan on any number of slots, from those on the run's own."""
        rule, size, partitions = self.rule, self.cut_bytes * ratio, min(partitions, self.most)
        if not self.is_scan or not rule.scans_count_slots or self.read_bytes is None:
            return PartitionCount(partitions)
        most = min(rule.most_splits(size), self.most)
        scans = self.scans * (ratio if self.in_a_loop else 1.0)
        least = min(partitions, self.tasks * ratio) if ratio < 1.0 else partitions
        fewer = more = least / scans, max(partitions, most) / scans
        counted = self._counted(partitions / scans, more[1])
        if self.tasks <= ONE_EACH * self.scans * rule.cores_for_scans:
            fewer = min(partitions, size / rule.split_bytes) / scans, partitions / scans
        by_cores = PerCore(rule.own_cores, scans, *fewer, *more, counted)
        return PartitionCount(partitions, rule.own_cores, by_cores, ratio)

    def _counted(self, each: float, most: float) -> float:
        """The share of a larger cluster's cores that a scan is cut for: all of them, unless it had
        fewer splits than the log's own make, up to as many as its size allows. None but the least
        where it had no more than these."""
        cores = float(self.rule.cores_for_scans)
        if each >= min(cores, most):
            return 1.0
        return each / cores if self.tasks > LEAST_CORES * self.scans else 0.0


def _by_hadoop(stage: StageRun) -> bool:
    """Whether Hadoop's rules cut what a stage reads. An RDD that `coalesce` left as it was has the
    number that the program asked for, as those of GraphX do, and is none."""
    if any(name.startswith("Scan hive") for name in stage.operations):
        return True
    return not HADOOP.isdisjoint(stage.operations) and "coalesce" not in stage.operations


def _one_for_each_core(stage: StageRun, rule: Partitioning) -> bool:
    """Whether its rows, which the program made itself, are in a partition for each core, or so are
    those of each range that a union puts beside others."""
    made = stage.united or (stage.tasks,)
    return stage.generated and not stage.in_part and set(made) == {rule.cores(None)}


def _packed(stage: StageRun, scans: int, rule: Partitioning) -> PackedFiles | None:
    if not stage.files_read or not stage.files_bytes:
        return _one_uncut(stage, rule)
    if scans > WRITTEN_OUT:
        return None
    files = stage.files_read / scans
    sizes = FileSizes(
        files, stage.files_bytes / scans / files, rule.split_bytes, rule.open_cost_bytes
    )
    return PackedFiles.of(
        sizes,
        scans=scans,
        cores=rule.cores_for_scans,
        splits=stage.tasks,
        whole=_are_whole(stage),
        may_be_early=rule.scans_count_slots,
    )


def _are_whole(stage: StageRun) -> bool | None:
    """Whether Spark cuts no file of the formats that a stage scans; None where that hangs on how
    each is compressed, or on an option."""
    formats = {name.split()[1] for name in stage.operations if name.startswith("Scan ")}
    if formats and formats <= ALWAYS_CUT:
        return False
    return True if formats and formats <= NEVER_CUT else None


def _one_uncut(stage: StageRun, rule: Partitioning) -> PackedFiles | None:
    """The one file that a single task read, where no plan tells of files (as where Spark looks for
    a schema) and it is more than a split may hold: nothing cuts it."""
    if stage.tasks != 1 or not COALESCES.isdisjoint(stage.operations):
        return None
    sizes = FileSizes(1.0, stage.outside_bytes, rule.split_bytes, rule.open_cost_bytes)
    found = PackedFiles.of(sizes, scans=1, cores=rule.cores_for_scans, splits=1)
    return found if found is not None and found.may_stay else None


def _beside(stage: StageRun) -> int:
    """How many scans a union of Spark SQL puts beside each other; else 1."""
    if "Union" not in stage.operations:
        return 1
    counts = stage.operation_counts or (1,) * len(stage.operations)
    named = zip(stage.operations, counts, strict=True)
    return max(1, sum(count for name, count in named if name.startswith("Scan ")))


HADOOP = frozenset(
    ("textFile", "hadoopFile", "sequenceFile", "objectFile", "newAPIHadoopFile", "hadoopRDD",
     "newAPIHadoopRDD")
)  # fmt: skip
"""How Spark calls what reads files into an RDD by Hadoop's input formats."""

ALWAYS_CUT = frozenset(("parquet", "orc", "avro"))
NEVER_CUT = frozenset(("binaryFile", "image"))
"""Formats whose files Spark cuts however they are compressed, and those that it never cuts."""

COALESCES = frozenset(("Coalesce", "coalesce"))
"""How Spark calls what puts partitions together to no more than a number, in SQL and of RDDs."""

OF_ONE_FILE = 3
"""More splits than this are files, whatever each holds."""

NEARLY_HALF = 0.45
"""A split of fewer of all bytes is no half of them, however small they are."""

READ_ON_BYTES = 256.0 * 1024
"""Who reads half of a file reads on to the end of a line, and as far as buffers of 64 KiB reach,
which others read as well; of small files that is a part of all."""

ALL_IN_ONE = 0.45
"""A split that has half of all bytes and this share more may be the whole of one file, of which
another split finds nothing to read (a single group of rows)."""

BLOCK_BYTES = 128.0 * MIB
BLOCK_POWERS = (-2, -1, 0, 1, 2)
READ_BEYOND = 1.02
"""Blocks have 128 MiB, or 32 (local files, S3A) to 512. Who reads one reads on to the end of its
last line, and as far as buffers reach: 33.62 MB of 33.55 in 3.5.9."""

ONE_EACH = 1.5
"""No more input partitions per core than this: they were cut for the cores, not by their size."""

WRITTEN_OUT = 3
"""Of no more tables than this somebody writes out the union; of more a loop does."""

LEAST_FULL = 0.5
"""Splits that were cut by size are as full as that; of fewer bytes the rest is columns that were
not read, or the cost of opening many files, by which they are cut just the same."""

BY_SIZE = 2
"""So many input partitions per core are never cut for the cores: files packed into one share for
each core make fewer."""

FEW_SPLITS = 64
"""More input partitions of a scan than this are taken to be files or blocks, whatever their size:
no small input is cut into so many."""
