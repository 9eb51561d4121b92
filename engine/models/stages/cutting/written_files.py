"""Into how many splits the files are cut that an earlier stage of the same run wrote.

A writer leaves a file for each of its tasks, or for each folder of a table (`partitionBy`) that a
task has rows of. So their number follows the writer's tasks, whatever decides these, and each file
holds its share of the data; files of a table that come from all over the input do not become more
in the same way (`PackedFiles`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import BoolArray, FloatArray
from engine.models.stages.cutting.packed_files import PackedFiles
from engine.models.stages.cutting.partitions import (
    WHOLE,
    ByCores,
    PartitionCount,
    Partitioning,
    PerCore,
)
from engine.stage_run import StageRun


@dataclass(frozen=True)
class WrittenSplits:
    """The splits of a scan of such files, of one stage or (as arrays) of each of m.

    Args:
        packed: how they were packed in the log.
        writer: what says how many tasks their writer has, and `tasks` as many as it had.
        by_tasks, by_data: whether there are more files with more of its tasks, or with more data;
            else they stay as many.
        least: so many times the files of the log there are at least, one in each folder.
        scans_cores: whether the cluster's cores count for the scan.
        growth: how many times as much data there is, at the one input for which this holds.
    """

    packed: PackedFiles
    writer: ByCores
    tasks: float | FloatArray
    by_tasks: bool | BoolArray
    by_data: bool | BoolArray
    least: float | FloatArray
    scans_cores: bool | BoolArray
    growth: float | FloatArray

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) of `ratio` times the input on so many cores."""
        return self.of_tasks(self.writer.count(cores, ratio), cores)

    def of_tasks(self, wanted: FloatArray, cores: FloatArray) -> FloatArray:
        """(n,) the same where the writer has (n,) wanted partitions."""
        tasks = np.maximum(1.0, np.ceil(wanted - WHOLE))
        times = np.where(
            self.by_tasks, tasks / self.tasks, np.where(self.by_data, self.growth, 1.0)
        )
        for_cores = np.where(self.scans_cores, cores, self.packed.cores)
        return self.packed.in_files(for_cores, self.growth, np.maximum(times, self.least))


def written_count(
    packed: PackedFiles,
    rule: Partitioning,
    ratio: float,
    writer: StageRun,
    told: PartitionCount,
    growth: float,
) -> PartitionCount:
    """Partitions of a stage that scans what `writer` wrote, at `ratio` times the input.

    Args:
        told: the writer's partitions at that ratio.
        growth: of the data, which may be otherwise than in proportion.
    """
    files, folders = writer.written_files or 1.0, writer.written_folders or 0.0
    most = writer.tasks * max(1.0, folders)
    splits = WrittenSplits(
        packed=packed,
        writer=told.by_cores or PerCore(0.0, told.own, 1.0, 1.0, 1.0, 1.0),
        tasks=float(writer.tasks),
        by_tasks=files <= most and (files > folders or writer.tasks == 1),
        by_data=files > most,
        least=folders / files if files > folders else 0.0,
        scans_cores=rule.scans_count_slots,
        growth=growth,
    )
    own = float(splits.of_tasks(np.asarray(told.own), np.asarray(packed.cores)))
    if told.by_cores is None and not rule.scans_count_slots:
        return PartitionCount(own)
    return PartitionCount(own, rule.own_cores, splits, ratio)
