"""Links RDDs of files to the stage of the same run that saved them (`saveAsTextFile` and the like).

No log has the path that an RDD is saved to. But a stage that reads as many records, in as many
partitions, of as many bytes as an earlier one saved reads what that one saved: one partition of
each file.

In: the stages of a run. Out: the same, linked. Explained in
docs/models/sparkplan_rules_replay.md#files-that-the-run-wrote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.stage_run import StageRun, total_of

SAVES = "saveAs"
"""Prefix of the operations that save an RDD as files, one for each partition."""

READS = frozenset(("textFile", "objectFile", "sequenceFile", "hadoopFile", "newAPIHadoopFile"))
"""Operations that read files as an RDD."""

SIZE_TOLERANCE = 0.01
"""Share by which the bytes read may differ from those saved: records beyond the end of a split."""


def with_saved_rdds(stages: Sequence[StageRun]) -> tuple[StageRun, ...]:
    """The stages with the one that saved the files which they read, and that one with the number of
    its files."""
    writers = [one for one in stages if _saves(one)]
    found = {stage.stage_id: _writer_of(stage, writers) for stage in stages} if writers else {}
    by_reader = {reader: writer for reader, writer in found.items() if writer is not None}
    files = {writer.stage_id: float(writer.tasks) for writer in by_reader.values()}

    def linked(stage: StageRun) -> StageRun:
        writer = by_reader.get(stage.stage_id)
        files_by = stage.files_by if writer is None else writer.stage_id
        written = files.get(stage.stage_id, stage.written_files)
        return replace(stage, files_by=files_by, written_files=written)

    return tuple(map(linked, stages)) if by_reader else tuple(stages)


def _saves(stage: StageRun) -> bool:
    saves = any(name.startswith(SAVES) for name in stage.operations)
    return saves and bool(stage.output_records) and total_of(stage.output_bytes) > 0.0


def _writer_of(stage: StageRun, writers: Sequence[StageRun]) -> StageRun | None:
    """The last stage that saved what a stage reads, file by file; None if none did."""
    if READS.isdisjoint(stage.operations) or stage.files_by is not None:
        return None
    saved = (one for one in writers if _reads_output(stage, one))
    return max(saved, key=lambda writer: writer.completed_seconds, default=None)


def _reads_output(stage: StageRun, writer: StageRun) -> bool:
    size, wrote = stage.outside_bytes, total_of(writer.output_bytes)
    same = stage.tasks == writer.tasks and stage.input_records == writer.output_records
    later = writer.completed_seconds <= stage.submitted_seconds
    return same and later and abs(size - wrote) <= SIZE_TOLERANCE * wrote
