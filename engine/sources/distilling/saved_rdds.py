"""Links RDDs of files to the stage of the same run that saved them (`saveAsTextFile` and the like).

No log has the path that an RDD is saved to. But a stage that reads as many records, in as many
partitions, of as many bytes as an earlier one saved reads what that one saved: one partition of
each file.

In: the stages of a run. Out: the same, linked. Explained in
docs/models/sparkplan_rules_replay.md#files-that-the-run-wrote.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from engine.stage_run import StageRun, total_of

SAVES = "saveAs"
"""Prefix of the operations that save an RDD as files, one for each partition."""

READS = frozenset(("textFile", "objectFile", "sequenceFile", "hadoopFile", "newAPIHadoopFile"))
"""Operations that read files as an RDD."""

SIZE_TOLERANCE = 0.01
"""Share by which the bytes read may differ from those saved: records beyond the end of a split."""

_Output: TypeAlias = tuple[int, float | None, int]
"""What a stage saves: its tasks, records and the step of its size."""


def with_saved_rdds(stages: Sequence[StageRun]) -> tuple[StageRun, ...]:
    """The stages with the one that saved the files which they read, and that one with the number of
    its files."""
    writers = _by_output(filter(_saves, stages))
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


def _by_output(writers: Iterable[StageRun]) -> Mapping[_Output, Sequence[StageRun]]:
    """Stages that save, by what they save, each list in the order in which they ended. A program
    may save and read thousands of files, so that not every reader is compared with every writer."""
    found: defaultdict[_Output, list[StageRun]] = defaultdict(list)
    for writer in sorted(writers, key=_ended):
        step = _size_step(total_of(writer.output_bytes))
        found[writer.tasks, writer.output_records, step].append(writer)
    return found


def _writer_of(stage: StageRun, writers: Mapping[_Output, Sequence[StageRun]]) -> StageRun | None:
    """The last stage that saved what a stage reads, file by file; None if none did."""
    size = stage.outside_bytes
    if READS.isdisjoint(stage.operations) or stage.files_by is not None or size <= 0.0:
        return None
    bounds = (size / (1.0 + SIZE_TOLERANCE), size / (1.0 - SIZE_TOLERANCE))
    saved = (
        _last_of_size(size, writers.get((stage.tasks, stage.input_records, step), ()), stage)
        for step in {_size_step(bound) for bound in bounds}
    )
    return max((one for one in saved if one is not None), key=_ended, default=None)


def _last_of_size(size: float, writers: Sequence[StageRun], reader: StageRun) -> StageRun | None:
    """The last of some writers, in the order in which they ended, that ended before a reader began
    and whose output has its `size` in bytes."""
    earlier = bisect_right(writers, reader.submitted_seconds, key=_ended)
    for place in range(earlier - 1, -1, -1):
        wrote = total_of(writers[place].output_bytes)
        if abs(size - wrote) <= SIZE_TOLERANCE * wrote:
            return writers[place]
    return None


def _size_step(size: float) -> int:
    """The step of a geometric scale on which a size in bytes lies; what is within the tolerance of
    a size lies on two of them at most."""
    return math.floor(math.log(size) / math.log1p(3.0 * SIZE_TOLERANCE))


def _ended(stage: StageRun) -> float:
    return stage.completed_seconds
