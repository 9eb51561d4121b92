"""Infers the size of the files of a scan that no query plan describes, as when a program takes the
RDD of a query (`df.rdd`, much of MLlib).

Spark splits the files, whatever columns its tasks then read. Of Parquet and ORC tasks read less
than the whole files, so the bytes read say little of how a scan is split elsewhere. Another query
of the run may have scanned the same files, and surely did if it read as many records. Otherwise the
files are no smaller than what was read, and no larger than what the splits may hold. Of text, CSV
and JSON all is read: there only the number of files is missing, which such a query tells, also of
files that Spark reads as text first to infer their schema.

In: a stage, and the scans that plans describe. Out: bounds of the size of its files. Explained in
docs/models/sparkplan_rules_replay.md#scans-of-files.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Mapping, Set
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import NamedTuple

from engine.models.stages.partitioning.input_splits import OVERREAD_BYTES
from engine.models.stages.partitioning.partitions import PartitioningSettings
from engine.profile import Run
from engine.stage_run import StageRun

COLUMNAR_SCANS = ("Scan parquet", "Scan orc")
"""Scans of columnar formats, of which only the selected columns are read. The name of a table may
follow."""

SCHEMA_SCANS = ("Scan csv", "Scan json")
"""Scans of formats whose schema Spark infers from the same files, in the same splits, read as text
(`TextInputCSVDataSource.infer`, `TextInputJsonDataSource.infer`)."""

ROW_SCANS = (*SCHEMA_SCANS, "Scan text")
"""Scans of formats that are read whole."""

MOST_OVERREAD_SHARE = 0.5
"""Largest share of what was read that tasks may have read beyond their splits. Of the scans of the
bundled logs in several splits it is 0.27 at most (text in splits of 24 KiB)."""


@dataclass(frozen=True, slots=True)
class InferredFiles:
    """The files of a scan without a plan: their size as far as it is known.

    Args:
        total_bytes: best estimate of their total size.
        least_bytes, most_bytes: bounds of that size; equal if it is known.
        number: number of files, if another query tells it.
    """

    total_bytes: float
    least_bytes: float
    most_bytes: float
    number: float | None = None

    def read_by(self, stage: StageRun) -> StageRun:
        """The stage as if its plan, which may tell their number, said that it scans these files."""
        files_read = stage.files_read or self.number
        return replace(stage, files_bytes=self.total_bytes, files_read=files_read)

    @property
    def is_known(self) -> bool:
        """Whether their size is known, and not inferred."""
        return self.least_bytes == self.most_bytes

    @property
    def others(self) -> tuple[InferredFiles, InferredFiles]:
        """The same at the lower and at the upper bound of their size."""
        least, most = (
            replace(self, total_bytes=total, number=None)
            for total in (self.least_bytes, self.most_bytes)
        )
        return least, most


class ScanFiles(NamedTuple):
    """Total size of the files of a scan, and their number if known."""

    total_bytes: float
    number: float | None


class ScansReadWhole(NamedTuple):
    """Scans of CSV or JSON that read as many bytes in as many tasks.

    Args:
        files: the files that they scan.
        stages: their stages, by id.
    """

    files: set[ScanFiles]
    stages: list[StageRun]


class PlannedScans(NamedTuple):
    """Scans that plans describe.

    Args:
        by_kind: by format and table and by number of tasks: the files that they scan, and the
            numbers of records that these scans read.
        read_whole: of CSV and JSON, by number of tasks and bytes read.
    """

    by_kind: Mapping[tuple[frozenset[str], int], Mapping[ScanFiles, Set[float | None]]]
    read_whole: Mapping[tuple[int, float], ScansReadWhole]

    def settings_of(self, stage: StageRun) -> tuple[tuple[str, str], ...]:
        """The `query_settings` under which the scan of a stage was split. Of one that infers a
        schema, which is of no query and may list none, they are those of the scan of the same files
        that follows."""
        told = stage.query_settings or stage.sql_execution_id is not None
        if told or not _scans_one_table(stage, ("Scan text",)):
            return stage.query_settings
        same = self.read_whole.get((stage.tasks, stage.outside_bytes))
        stages = same.stages if same else []
        place = bisect_right(stages, stage.stage_id, key=attrgetter("stage_id"))
        return stages[place].query_settings if place < len(stages) else ()


def planned_files(run: Run) -> PlannedScans:
    """The files of the scans that the run's query plans describe."""
    by_kind: dict[tuple[frozenset[str], int], dict[ScanFiles, set[float | None]]] = {}
    read_whole: dict[tuple[int, float], ScansReadWhole] = {}
    for stage in sorted(run.stages, key=attrgetter("stage_id")):
        if stage.files_bytes and _scans_one_table(stage):
            files = ScanFiles(stage.files_bytes, stage.files_read)
            same_kind = by_kind.setdefault((_scan_operations(stage), stage.tasks), {})
            same_kind.setdefault(files, set()).add(stage.input_records)
            if _scans_one_table(stage, SCHEMA_SCANS):
                key = stage.tasks, stage.outside_bytes
                same = read_whole.setdefault(key, ScansReadWhole(set(), []))
                same.files.add(files)
                same.stages.append(stage)
    return PlannedScans(by_kind, read_whole)


def inferred_files(
    stage: StageRun, settings: PartitioningSettings, planned: PlannedScans
) -> InferredFiles | None:
    """Infers the files of a stage's scan if it was split for the cores and no plan says their size;
    None for other stages.

    Other scans of the run (`planned`) of this format, or of this table if it is named, in as many
    tasks tell the size. If all of those with as many records scan the same files, these are it. Of
    text it is the files of CSV or JSON of which as many bytes are read: Spark infers their schema.
    Else, of columnar formats: if all of those scans read the same files, these are taken; if not,
    the size is log-uniform between its bounds, and their geometric mean is taken.
    """
    cores, read = settings.scan_parallelism, stage.outside_bytes
    if (
        not _scans_one_table(stage)
        or stage.files_bytes
        or not read
        or not 1 <= stage.tasks / cores < 2
    ):
        return None
    most = max(read, stage.tasks * settings.split_bytes)
    least = read - min(stage.tasks * OVERREAD_BYTES, MOST_OVERREAD_SHARE * read)
    possible = {
        files: records
        for files, records in planned.by_kind.get(
            (_scan_operations(stage), stage.tasks), {}
        ).items()
        if least <= files.total_bytes <= most
    }
    same = [files for files, records in possible.items() if stage.input_records in records]
    if stage.input_records and len(same) == 1:
        total = same[0].total_bytes
        return InferredFiles(total, total, total, same[0].number)
    if _scans_one_table(stage, ("Scan text",)):
        return _files_of_schema(planned.read_whole.get((stage.tasks, read)))
    if not _scans_one_table(stage, COLUMNAR_SCANS):
        return None
    only = len(possible) == 1
    total, number = next(iter(possible)) if only else (math.sqrt(read * most), None)
    return InferredFiles(total, min(read, total), most, number)


def _files_of_schema(scans: ScansReadWhole | None) -> InferredFiles | None:
    """The files of a scan of text from the queries that read as many bytes of CSV or JSON in as
    many tasks. None unless these scan the same files."""
    if scans is None or len(scans.files) != 1:
        return None
    (files,) = scans.files
    return InferredFiles(files.total_bytes, files.total_bytes, files.total_bytes, files.number)


def _scans_one_table(
    stage: StageRun, formats: tuple[str, ...] = (*COLUMNAR_SCANS, *ROW_SCANS)
) -> bool:
    """Whether a stage scans one table of one of these formats and nothing else."""
    together = stage.inputs or stage.united or stage.paired or "Union" in stage.operations
    scanned = _scan_operations(stage)
    return not together and len(scanned) == 1 and all(n.startswith(formats) for n in scanned)


def _scan_operations(stage: StageRun) -> frozenset[str]:
    """Names of a stage's scan operations, of files or of a cache."""
    return frozenset(name.strip() for name in stage.operations if name.startswith("Scan "))
