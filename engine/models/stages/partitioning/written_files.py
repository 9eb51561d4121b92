"""The number of splits of files that an earlier stage of the same run wrote.

A writer makes one file per task, or per folder of a table (`partitionBy`) of which a task has rows.
So the number of files follows the writer's number of tasks, whatever determines that, and each file
holds its share of the data. Files of an input table grow in another way (`PackedFiles`).

In: the reader and the stage that wrote its files. Out: the number of splits by input and cores.
Explained in docs/models/sparkplan_rules_replay.md#files-that-the-run-wrote.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.stages.partitioning.input_splits import BLOCK_BYTES, InputSplits
from engine.models.stages.partitioning.packed_files import PackedFiles
from engine.models.stages.partitioning.partitions import (
    WHOLE,
    PartitionCount,
    PartitionRule,
    PartitionsPerCore,
)
from engine.stage_run import StageRun

SPLIT_SLOP = 1.1
"""A file, or what is left of it, is cut where it has more than so many blocks
(`FileInputFormat.SPLIT_SLOP`)."""


@dataclass(frozen=True)
class WrittenSplits:
    """The splits of a scan of files that the run wrote, of one stage or (as arrays) of m.

    Args:
        packed: the splits of the files in the log.
        writer: partition rule of the stage that wrote them; `tasks` is its observed number.
        by_tasks, by_data: whether the number of files grows with the writer's tasks, or with the
            data; else it stays.
        least: least number of files relative to the log's: one in each folder.
        scans_cores: whether the number of splits depends on the cluster's cores.
        growth: growth of the data, at the one input for which this holds.
    """

    packed: PackedFiles
    writer: PartitionRule
    tasks: float | FloatArray
    by_tasks: bool | BoolArray
    by_data: bool | BoolArray
    least: float | FloatArray
    scans_cores: bool | BoolArray
    growth: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) splits at `ratio` times the input on (n,) cores."""
        return self.of_tasks(self.writer.count(cores, ratio), cores)

    def of_tasks(self, wanted: FloatArray, cores: FloatArray) -> FloatArray:
        """(n,) splits on (n,) cores if the writer has (n,) partitions, rounded up to tasks."""
        tasks = np.maximum(1.0, np.ceil(wanted - WHOLE))
        times = np.where(
            self.by_tasks, tasks / self.tasks, np.where(self.by_data, self.growth, 1.0)
        )
        for_cores = np.where(self.scans_cores, cores, self.packed.cores)
        return self.packed.in_files(for_cores, self.growth, np.maximum(times, self.least))


@dataclass(frozen=True)
class CutFiles:
    """The splits of an RDD's files, one for each of the writer's tasks and all of one size, each of
    which Hadoop cuts where a block ends.

    Args:
        rule: partition rule of the stage that wrote them.
        blocks: how many blocks all files fill, at the one input for which this holds.
    """

    rule: PartitionRule
    blocks: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) splits at `ratio` times the input on (n,) cores."""
        return cut_by_blocks(self.rule.count(cores, ratio), self.blocks)


def cut_by_blocks(files: FloatArray, blocks: float | FloatArray) -> FloatArray:
    """(n,) splits of (n,) numbers of files of one size that fill so many `blocks` together."""
    each = np.ceil(np.asarray(blocks) / files - (SPLIT_SLOP - 1.0))
    return files * np.maximum(1.0, each)


def _saved_count(
    splits: InputSplits, writer_count: PartitionCount, growth: float
) -> PartitionCount:
    """Partitions of a stage that reads an RDD saved by `writer_count` tasks, if the data grows by
    `growth`. No block is smaller than a file that the log has in one split."""
    uncut = splits.largest_read_bytes / (SPLIT_SLOP * BLOCK_BYTES)
    block_bytes = BLOCK_BYTES * 2.0 ** max(0, math.ceil(math.log2(max(1.0, uncut))))
    blocks = splits.scanned_bytes * growth / block_bytes
    own = float(cut_by_blocks(np.asarray(writer_count.own), blocks))
    rule = None if writer_count.rule is None else CutFiles(writer_count.rule, blocks)
    return replace(writer_count, own=own, rule=rule)


def written_count(
    splits: InputSplits,
    ratio: float,
    writer: StageRun,
    writer_count: PartitionCount,
    growth: float,
) -> PartitionCount:
    """Partitions of a stage that reads what `writer` wrote, at `ratio` times the input.

    Args:
        splits: those of the log: of packed files, or by Hadoop.
        writer_count: the writer's partitions at that ratio.
        growth: growth of the data, which may be out of proportion to the input.
    """
    packed, settings = splits.packed, splits.settings
    if packed is None:
        return _saved_count(splits, writer_count, growth)
    files, folders = writer.written_files or 1.0, writer.written_folders or 0.0
    most = writer.tasks * max(1.0, folders)
    rule = WrittenSplits(
        packed=packed,
        writer=writer_count.rule or PartitionsPerCore.constant(writer_count.own),
        tasks=float(writer.tasks),
        by_tasks=files <= most and (files > folders or writer.tasks == 1),
        by_data=files > most,
        least=folders / files if files > folders else 0.0,
        scans_cores=settings.scans_depend_on_cluster,
        growth=growth,
    )
    own = float(rule.of_tasks(np.asarray(writer_count.own), np.asarray(packed.cores)))
    if writer_count.rule is None and not settings.scans_depend_on_cluster:
        return PartitionCount(own)
    return PartitionCount(own, settings.log_cores, rule, ratio)
