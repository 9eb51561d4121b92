"""The number of input splits of a stage, on any cluster and for any amount of data.

Spark splits a scan by the size of its files (`FilePartition.maxSplitBytes`), whatever its tasks
then read of them. Bytes of columns that are not selected are not counted as read, so the bytes read
are often a fraction of the bytes that were split.

In: a stage and its partitioning settings. Out: its number of splits by input and cores. Explained
in docs/models/sparkplan_rules_replay.md#scans-of-files and #rdds-of-files-and-hive-tables.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from engine.models.stages.partitioning.indexed_rows import rdd_partitions
from engine.models.stages.partitioning.packed_files import PACKING_TOLERANCE, FileSizes, PackedFiles
from engine.models.stages.partitioning.partitions import (
    LEAST_CORES,
    PartitionCount,
    PartitioningSettings,
    PartitionsPerCore,
)
from engine.models.stages.partitioning.small_tables import SmallTableSplits
from engine.stage_run import StageRun
from engine.units import MIB


@dataclass(frozen=True)
class InputSplits:
    """The input splits of one observed stage.

    Args:
        tasks: splits in the log, including one that `zipWithIndex` leaves out.
        read_bytes: bytes read by all of its tasks; None if unknown.
        largest_read_bytes: most bytes read by one task.
        scanned_bytes: bytes that Spark split, as far as known: the size of the files, to which it
            adds a cost for each file (`openCostInBytes`).
        is_scan: whether it reads files whose splits Spark SQL chooses.
        is_hadoop: whether it reads files that Hadoop's `FileInputFormat` splits, each by itself:
            RDDs of files, and Hive's tables.
        two_texts: whether these are two files of text, and not the halves of one.
        one_per_core: whether its rows are made by the program in the default number of partitions:
            one per core (`defaultParallelism`).
        scans: number of scans; those of a union are split separately and taken to be alike. For
            rows that the program makes, the number of ranges or collections.
        in_a_loop: whether more data is taken to mean more scans, not larger ones: a program that
            unites the files of a folder in a loop.
        maybe_coalesced: whether a `coalesce` of unknown limit may have capped the number of splits.
        packed: how its files were packed into splits, if their number is known and explains the
            splits of the log.
        most: the limit of a `coalesce`, if the plan says it, and of the settings; else infinite.
    """

    tasks: int
    read_bytes: float | None
    largest_read_bytes: float
    scanned_bytes: float
    is_scan: bool
    is_hadoop: bool
    two_texts: bool
    one_per_core: bool
    scans: int
    in_a_loop: bool
    maybe_coalesced: bool
    settings: PartitioningSettings
    packed: PackedFiles | None
    most: float

    @classmethod
    def of(
        cls, stage: StageRun, settings: PartitioningSettings, *, reads_splits: bool
    ) -> InputSplits:
        """From an observed stage.

        Args:
            reads_splits: whether the stage's partitions are input splits.
        """
        read = stage.input_bytes
        hadoop = reads_splits and _split_by_hadoop(stage)
        scans_files = any(name.startswith("Scan ") for name in stage.operations)
        scan = reads_splits and scans_files and not hadoop
        scans = _scan_count(stage) if scan else 1
        total = read.total if read is not None else None
        cut = max(total or 0.0, (stage.files_bytes or 0.0) if scan else 0.0)
        full = stage.tasks * settings.split_bytes
        by_size = stage.tasks >= SIZE_SPLITS_PER_CORE * scans * settings.scan_parallelism
        if scan and by_size and cut < LEAST_FILL * full:
            cut = full
        largest = (read.maximum or 0.0) if read is not None else 0.0
        limit = stage.coalesced_most or 0
        coalesced = float(limit) if scan and limit >= stage.tasks else math.inf
        most = min(coalesced, _most_splits(stage, scans, settings) if scan else math.inf)
        packed = _packed_files(stage, scans, settings) if scan else None
        packed = replace(packed, most=most) if packed is not None else None
        one_per_core = settings.depends_on_cluster and _in_default_partitions(stage, settings)
        scans = max(1, len(stage.united)) if one_per_core else scans
        return cls(
            rdd_partitions(stage), total, largest, cut, scan, hadoop,
            hadoop and _reads_two_texts(stage), one_per_core, scans,
            scan and _unites_in_a_loop(stage, scans),
            reads_splits and coalesced == math.inf and not COALESCES.isdisjoint(stage.operations),
            settings, packed, most,
        )  # fmt: skip

    @property
    def depends_on_cluster(self) -> bool:
        """Whether the number of splits depends on the cluster."""
        return self.one_per_core or (self.is_scan and self.settings.scans_depend_on_cluster)

    @property
    def may_keep_split_count(self) -> bool:
        """Whether the number of splits may stay with more data. The program may have asked for that
        number, from Hadoop, which then splits files to about it, or by a `coalesce` whose limit was
        not reached. And files that cannot be split may get larger."""
        if self.is_hadoop:
            return self._whole_files and not self._whole_blocks
        return self.maybe_coalesced or (
            self.packed is not None and self.packed.may_keep_split_count
        )

    @property
    def may_be_whole_files(self) -> bool:
        """Whether splits that are taken for parts of one small file may be whole files, of which
        more data has more."""
        return self.is_hadoop and self.tasks > 1 and not self._scales_with_input

    def per_core_count(self) -> PartitionCount:
        """One partition for each core and range, whatever the input."""
        each = PartitionsPerCore(
            self.settings.log_cores, float(self.scans), 0.0, math.inf, 0.0, math.inf
        )
        return PartitionCount(float(self.tasks), self.settings.log_cores, each)

    def splits_at(self, ratio: float, *, small_table: bool = False) -> PartitionCount:
        """Splits at `ratio` times the input on any number of cores; of a dimension table those of
        its one file."""
        if self.packed is None:
            return self.count_by_size(ratio)
        rule = SmallTableSplits(self.packed) if small_table else self.packed
        own = float(rule.on_log_cores(ratio))
        if not self.depends_on_cluster:
            return PartitionCount(own)
        return PartitionCount(own, self.settings.log_cores, rule, ratio)

    def count_by_size(self, ratio: float) -> PartitionCount:
        """As `splits_at`, if it is not known how files were packed."""
        return self.for_slots(self.partitions(ratio), ratio)

    def partitions(self, ratio: float) -> float:
        """Splits at `ratio` times the input on the log's own cores.

        Splits grow to the split size before their number grows: a small input, or a small part of a
        large one, is divided into as many as the cluster has cores, or into two. A scan with two
        splits or more per core was not divided for the cores but by files or by size. For a union
        in a loop there are more scans, each split as before.
        """
        n, cores = self.tasks, self.scans * self.settings.scan_parallelism
        if self.read_bytes is None or self.in_a_loop or self._scales_with_input:
            return n * ratio
        if self.is_hadoop and ratio < 1.0:
            return float(n)
        if self.is_scan and ratio < 1.0:
            return max(
                n * ratio, min(n, cores, self.settings.max_splits(self.scanned_bytes * ratio))
            )
        if ratio <= 1.0 or (self.is_scan and n >= SIZE_SPLITS_PER_CORE * cores):
            return n * ratio
        of_file = self.scanned_bytes / self.read_bytes if self.read_bytes > 0.0 else 1.0
        split = BLOCK_BYTES if self.is_hadoop else self.settings.split_bytes
        largest = max(split, self.largest_read_bytes * of_file)
        if self.scanned_bytes / n > largest / 2.0 or n > MAX_SMALL_SPLITS * self.scans:
            return n * ratio
        return max(float(n), self.scanned_bytes * ratio / largest)

    @property
    def planning_cores(self) -> int | None:
        """The cores for which its scans were split, if far fewer than those of the log: executors
        may have come after the query was planned. None if not, or if the program sets the number.
        """
        if not self.is_scan or not self.settings.scans_depend_on_cluster:
            return None
        cores = self.settings.scan_parallelism
        if self.packed is not None:
            counted_share = float(self.packed.counted_share)
            return round(counted_share * cores) if 0.0 < counted_share < 1.0 else None
        each = self.tasks / self.scans
        most = self.settings.max_splits(self.scanned_bytes) / self.scans
        early = each > LEAST_CORES and PACKING_TOLERANCE * each < min(cores, most)
        return math.ceil(each) if early else None

    @property
    def _scales_with_input(self) -> bool:
        """Whether Hadoop's splits are whole files or whole blocks, whose number grows with the
        data. It joins no files, and splits one at block ends, or in two for lack of splits."""
        return self.is_hadoop and (self._whole_blocks or self._whole_files)

    @property
    def _whole_files(self) -> bool:
        """Whether Hadoop split no file just for lack of splits. If two are wanted
        (`defaultMinPartitions`), a file is split at half of all bytes. So the largest split then
        holds half of them, up to what its reader reads beyond its end; else it is a whole file."""
        if self.two_texts or self.tasks > MAX_SPLITS_OF_FILE or not self.read_bytes:
            return self.two_texts or self.tasks > MAX_SPLITS_OF_FILE
        share = self.largest_read_bytes / self.read_bytes
        beyond = max(OVERREAD_BYTES / self.read_bytes, 1.0 - 1.0 / OVERREAD_FACTOR)
        return share < LEAST_HALF or beyond < abs(share - 0.5) < EMPTY_SPLIT_EXCESS

    @property
    def _whole_blocks(self) -> bool:
        """Whether the largest split is as large as a block."""
        blocks = [BLOCK_BYTES * 2.0**power for power in BLOCK_POWERS]
        return any(1.0 <= self.largest_read_bytes / block <= OVERREAD_FACTOR for block in blocks)

    def for_slots(self, partitions: float, ratio: float) -> PartitionCount:
        """Splits of a scan on any number of cores, given those on the log's own cores."""
        settings = self.settings
        size = self.scanned_bytes * ratio
        partitions = min(partitions, self.most)
        if not self.is_scan or not settings.scans_depend_on_cluster or self.read_bytes is None:
            return PartitionCount(partitions)
        most = min(settings.max_splits(size), self.most)
        scans = self.scans * (ratio if self.in_a_loop else 1.0)
        least = min(partitions, self.tasks * ratio) if ratio < 1.0 else partitions
        fewer = more = least / scans, max(partitions, most) / scans
        counted_share = self._counted_share(partitions / scans, more[1])
        if self.tasks <= MAX_PER_CORE * self.scans * settings.scan_parallelism:
            fewer = min(partitions, size / settings.split_bytes) / scans, partitions / scans
        rule = PartitionsPerCore(settings.log_cores, scans, *fewer, *more, counted_share)
        return PartitionCount(partitions, settings.log_cores, rule, ratio)

    def _counted_share(self, each: float, most: float) -> float:
        """The share of a larger cluster's cores for which a scan is split. It is 1 unless the scan
        had fewer splits than the log's cores (or its size) give; 0 if it had only the least.

        Args:
            each: splits of each scan on the log's cores.
            most: the most that the size of each scan allows.
        """
        cores = float(self.settings.scan_parallelism)
        if each >= min(cores, most):
            return 1.0
        return each / cores if self.tasks > LEAST_CORES * self.scans else 0.0


def _most_splits(stage: StageRun, scans: int, settings: PartitioningSettings) -> float:
    """The most splits that the settings allow, for each scan of a stage. Files that do not fill
    them evenly make somewhat more."""
    if settings.max_scan_partitions is None:
        return math.inf
    return float(max(stage.tasks, scans * settings.max_scan_partitions))


def _split_by_hadoop(stage: StageRun) -> bool:
    """Whether Hadoop's `FileInputFormat` splits what a stage reads. An RDD under a `coalesce` does
    not count: its number of partitions is what the program asked for, as in GraphX."""
    if any(name.startswith("Scan hive") for name in stage.operations):
        return True
    return not HADOOP.isdisjoint(stage.operations) and "coalesce" not in stage.operations


def _reads_two_texts(stage: StageRun) -> bool:
    """Whether two splits of text are too much alike to be the halves of one file: behind the first
    half its reader reads on."""
    read = stage.input_bytes.quantiles if stage.input_bytes is not None else ()
    if TEXT not in stage.operations or len(read) != 2:
        return False
    least, most = read
    return most - least < ALIKE_SHARE * min(least, TEXT_BUFFER_BYTES)


def _in_default_partitions(stage: StageRun, settings: PartitioningSettings) -> bool:
    """Whether the program makes its rows in one partition per core; in a union, each range.

    A query makes rows in `leafNodeDefaultParallelism` partitions if that is set, so as many as that
    may be meant. RDDs know no such setting, and neither knows `files.minPartitionNum`.
    """
    cores, made = settings.default_parallelism(None), stage.united or (rdd_partitions(stage),)
    set_for_queries = stage.sql_execution_id is not None and settings.min_scan_partitions == cores
    return stage.generated and not stage.in_part and set(made) == {cores} and not set_for_queries


def _packed_files(
    stage: StageRun, scans: int, settings: PartitioningSettings
) -> PackedFiles | None:
    if not stage.files_read or not stage.files_bytes:
        return _one_unsplittable_file(stage, settings)
    if _unites_in_a_loop(stage, scans):
        return None
    files = stage.files_read / scans
    sizes = FileSizes(
        files, stage.files_bytes / scans / files, settings.split_bytes, settings.open_cost_bytes
    )
    return PackedFiles.of(
        sizes,
        scans=scans,
        cores=settings.scan_parallelism,
        splits=stage.tasks,
        unsplittable=_unsplittable(stage),
        may_be_early=settings.scans_depend_on_cluster,
    )


def _unites_in_a_loop(stage: StageRun, scans: int) -> bool:
    """Whether a stage unites more tables than a program writes out. Any number of scans may read
    one table."""
    return min(scans, stage.tables_read or scans) > MAX_UNION_TABLES


def _unsplittable(stage: StageRun) -> bool | None:
    """Whether files of the formats that a stage scans are never split; None if that depends on
    their compression or on an option."""
    formats = {name.split()[1] for name in stage.operations if name.startswith("Scan ")}
    if formats and formats <= ALWAYS_SPLIT:
        return False
    return True if formats and formats <= NEVER_SPLIT else None


def _one_unsplittable_file(stage: StageRun, settings: PartitioningSettings) -> PackedFiles | None:
    """The unsplittable file that a single task read, if no plan describes files (as when Spark
    infers a schema) and it is larger than a split may be."""
    if stage.tasks != 1 or not COALESCES.isdisjoint(stage.operations):
        return None
    sizes = FileSizes(1.0, stage.outside_bytes, settings.split_bytes, settings.open_cost_bytes)
    packed = PackedFiles.of(sizes, scans=1, cores=settings.scan_parallelism, splits=1)
    return packed if packed is not None and packed.may_keep_split_count else None


def _scan_count(stage: StageRun) -> int:
    """Number of scans in a union of Spark SQL; else 1."""
    if "Union" not in stage.operations:
        return 1
    counts = stage.operation_counts or (1,) * len(stage.operations)
    named = zip(stage.operations, counts, strict=True)
    return max(1, sum(count for name, count in named if name.startswith("Scan ")))


HADOOP = frozenset(
    ("textFile", "hadoopFile", "sequenceFile", "objectFile", "newAPIHadoopFile", "hadoopRDD",
     "newAPIHadoopRDD")
)  # fmt: skip
"""RDD operations that read files by Hadoop's input formats."""

ALWAYS_SPLIT = frozenset(("parquet", "orc", "avro"))
NEVER_SPLIT = frozenset(("binaryFile", "image"))
"""Formats whose files Spark can split whatever their compression, and those that it never splits.
"""

COALESCES = frozenset(("Coalesce", "coalesce"))
"""Operations that join partitions to at most a given number, in SQL and of RDDs."""

MAX_SPLITS_OF_FILE = 3
"""More splits than this are taken to be files, whatever their sizes."""

LEAST_HALF = 0.45
"""A largest split with a smaller share of all bytes is not half of a file, however small it is."""

TEXT = "textFile"
TEXT_BUFFER_BYTES = 64.0 * 1024
ALIKE_SHARE = 0.125
"""Behind its split a reader of text fills a buffer of 64 KiB once more, for the end of its last
line (`UncompressedSplitLineReader`), or reads the rest of the file. So the first half of a file has
so much more than the second. An eighth of that is asked for: a remote file system gives what it has
at hand."""

OVERREAD_BYTES = 256.0 * 1024
"""Bytes read beyond the end of a split: to the end of a line, and to the end of buffers of 64 KiB,
which the next task reads as well. In small files that is a considerable share."""

EMPTY_SPLIT_EXCESS = 0.45
"""A split whose share of all bytes exceeds a half by this may be the whole of one file, of which
another split finds nothing to read (a single row group)."""

BLOCK_BYTES = 128.0 * MIB
BLOCK_POWERS = (-2, -1, 0, 1, 2)
OVERREAD_FACTOR = 1.02
"""Blocks have 128 MiB, or 32 (local files, S3A) to 512. A task reads on beyond its block to the end
of the last line and of its buffers: 33.62 MB for 33.55 in 3.5.9."""

MAX_PER_CORE = 1.5
"""Up to so many splits per core a scan was divided for the cores, not by size."""

MAX_UNION_TABLES = 3
"""A union of more tables than this was made in a loop, not written out in the program."""

LEAST_FILL = 0.5
"""Splits made by size are at least this full. If fewer bytes are known, the rest is columns that
were not read, or the cost of opening many files, which counts for the splits just the same."""

SIZE_SPLITS_PER_CORE = 2
"""A scan of so many splits per core or more was not divided for the cores: packing files into one
share per core makes fewer."""

MAX_SMALL_SPLITS = 64
"""A scan of more splits than this consists of files or blocks, whatever their size: no small input
is divided into so many."""
