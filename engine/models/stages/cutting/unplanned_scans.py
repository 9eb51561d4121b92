"""How large the files are of a scan that no plan tells of, as where a program takes the RDD of a
query (`df.rdd`, much of MLlib).

Spark cuts the files, whatever columns its tasks then read of them. Of Parquet and ORC that is less
than all, so that bytes read say little of how a scan is cut elsewhere. Another query of the run may
have scanned the same files, and surely did where it read as many records; else they are no smaller
than what was read, and no larger than what the splits may hold.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from typing import NamedTuple

from engine.models.stages.cutting.partitions import Partitioning
from engine.profile import Run
from engine.stage_run import StageRun

IN_COLUMNS = ("Scan parquet", "Scan orc")
"""Scans of formats that keep columns apart: what nobody asks for is not read. The name of a table
follows, where it has one."""


@dataclass(frozen=True, slots=True)
class UnplannedFiles:
    """The files of such a scan, as far as anything tells of them.

    Args:
        total_bytes: size of all, inferred unless `least_bytes` and `most_bytes`, what it may be,
            are the same.
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
    def is_known(self) -> bool:
        """Whether nothing of them is inferred."""
        return self.least_bytes == self.most_bytes

    @property
    def others(self) -> tuple[UnplannedFiles, UnplannedFiles]:
        """The smallest and the largest that they may be."""
        least, most = (
            replace(self, total_bytes=total, number=None)
            for total in (self.least_bytes, self.most_bytes)
        )
        return least, most


class Files(NamedTuple):
    """Size of all files of a scan, and how many these are where that is known."""

    total_bytes: float
    number: float | None


Scans = Mapping[tuple[frozenset[str], int], Mapping[Files, Set[float | None]]]
"""What is known of scans, by format and table and by number of tasks: which files they read, and
how many records of them each did."""


def planned_files(run: Run) -> Scans:
    """The files of the scans that plans tell of."""
    found: dict[tuple[frozenset[str], int], dict[Files, set[float | None]]] = {}
    for stage in run.stages:
        if stage.files_bytes and _alone(stage):
            files = Files(stage.files_bytes, stage.files_read)
            alike = found.setdefault((_scanned(stage), stage.tasks), {})
            alike.setdefault(files, set()).add(stage.input_records)
    return found


def unplanned_files(stage: StageRun, rule: Partitioning, planned: Scans) -> UnplannedFiles | None:
    """The files that a stage scans, where it was cut for the cores and no plan tells how large
    these are; None for other stages.

    Other queries of the run (`planned`) that scan files of this format (or this table, where it has
    a name) in as many tasks tell. Those that read as many records are of the same files, where they
    are all of the same; else files are taken to be theirs where all these queries scan the same.
    Else every size between the bounds is taken to be as likely as its double: their geometric mean.
    """
    cores, read = rule.cores_for_scans, stage.outside_bytes
    if not _alone(stage) or stage.files_bytes or not read or not 1 <= stage.tasks / cores < 2:
        return None
    most = max(read, stage.tasks * rule.split_bytes)
    told = {
        files: records
        for files, records in planned.get((_scanned(stage), stage.tasks), {}).items()
        if read <= files.total_bytes <= most
    }
    same = [files for files, records in told.items() if stage.input_records in records]
    if stage.input_records and len(same) == 1:
        total = same[0].total_bytes
        return UnplannedFiles(total, total, total, same[0].number)
    total, number = next(iter(told)) if len(told) == 1 else (math.sqrt(read * most), None)
    return UnplannedFiles(total, read, most, number)


def _alone(stage: StageRun) -> bool:
    """Whether it scans one table in columns, put beside nothing else."""
    together = stage.inputs or stage.united or stage.paired or "Union" in stage.operations
    scanned = _scanned(stage)
    return not together and len(scanned) == 1 and all(n.startswith(IN_COLUMNS) for n in scanned)


def _scanned(stage: StageRun) -> frozenset[str]:
    """What its operations call the scans of files or of a cache."""
    return frozenset(name.strip() for name in stage.operations if name.startswith("Scan "))
