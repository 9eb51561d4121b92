"""How large the files are of a scan that no plan tells of, as where a program takes the RDD of a
query (`df.rdd`, much of MLlib).

Spark cuts the files, whatever columns its tasks then read of them. Of Parquet and ORC that is less
than all, so that bytes read say little of how a scan is cut elsewhere. Another query of the run may
have scanned the same files; else they are no smaller than what was read, and no larger than what
the splits may hold.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from engine.models.stages.partitions import Partitioning
from engine.profile import Run
from engine.stage_run import StageRun

IN_COLUMNS = frozenset(("Scan parquet", "Scan orc"))
"""Scans of formats that keep columns apart: what nobody asks for is not read."""


@dataclass(frozen=True, slots=True)
class UnplannedFiles:
    """The files of such a scan, as far as anything tells of them.

    Args:
        total_bytes: size of all, inferred; `least_bytes` and `most_bytes` what it may be.
        number: how many there are, where another query tells.
    """

    total_bytes: float
    least_bytes: float
    most_bytes: float
    number: float | None = None

    def read_by(self, stage: StageRun) -> StageRun:
        """The stage as if its plan said that it scans these."""
        return replace(stage, files_bytes=self.total_bytes, files_read=self.number)

    @property
    def others(self) -> tuple[UnplannedFiles, UnplannedFiles]:
        """The smallest and the largest that they may be."""
        least, most = (
            replace(self, total_bytes=total, number=None)
            for total in (self.least_bytes, self.most_bytes)
        )
        return least, most


def unplanned_files(run: Run, stage: StageRun, rule: Partitioning) -> UnplannedFiles | None:
    """The files that a stage scans, where it was cut for the cores and no plan tells how large
    these are; None for other stages.

    Other queries tell, where all that scan files of this format in as many tasks scan the same.
    Else every size between the bounds is taken to be as likely as its double: their geometric mean.
    """
    cores, read = rule.cores_for_scans, stage.outside_bytes
    if not _alone(stage) or stage.files_bytes or not read or not 1 <= stage.tasks / cores < 2:
        return None
    most = max(read, stage.tasks * rule.split_bytes)
    told = {
        (other.files_bytes, other.files_read)
        for other in run.stages
        if _scanned(other) == _scanned(stage) and other.tasks == stage.tasks and other.files_bytes
    }
    inferred = math.sqrt(read * most), None
    total, number = told.pop() if len(told) == 1 else inferred
    if not read <= total <= most:
        total, number = inferred
    return UnplannedFiles(total, read, most, number)


def _alone(stage: StageRun) -> bool:
    """Whether it scans one table in columns, put beside nothing else."""
    together = stage.inputs or stage.united or stage.paired
    return not together and len(_scanned(stage)) == 1 and _scanned(stage) <= IN_COLUMNS


def _scanned(stage: StageRun) -> frozenset[str]:
    """What its operations call the scans of files or of a cache."""
    return frozenset(name.strip() for name in stage.operations if name.startswith("Scan "))
