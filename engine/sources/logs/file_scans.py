"""Size and number of the files that the scans of SQL queries read, from plans and driver metrics.

Spark splits a scan by the size and number of its files, while a query may read few of their
columns. The number of tasks on another cluster therefore follows from the files and not from the
bytes that the tasks counted, which may even be missing.

`Bytes Read` of a task is what the file system counted on the task's own thread. Since Parquet 1.16
(Spark 4.1) column data is read in vectored reads. On S3, Google Cloud Storage and local disks these
run on other threads: of hundreds of megabytes only the footers are counted. The query plan knows
the size of the files; the driver logs it as a metric (accumulator).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import msgspec

from engine.notices import Notice, present
from engine.runs.stage_labels import numbered_label, stage_label
from engine.sources.logs.entities import Stage
from engine.sources.logs.lineage import SCANNED_FILES
from engine.sources.logs.plan_events import Accumulable, SqlPlan, TaskEndAccumulables
from engine.sources.logs.plan_trackers import NodeTracker
from engine.sources.logs.planned_scans import FileScan, scans_of
from engine.stage_run import WHOLE_FILES, Measure, StageInput, StageRun
from engine.units import format_bytes

VECTORED_SINCE = (4, 1)
"""The first Spark version in which Parquet reads are vectored by default."""

VECTORED_READS = "spark.hadoop.parquet.hadoop.vectored.io.enabled"

COUNTED_SCHEMES = frozenset({"hdfs", "viewfs", "webhdfs", "abfs", "abfss"})
"""File systems whose vectored reads are plain reads on the task's thread, which are counted."""

COUNTED_SHARE = 0.25
"""Share of the files' size: a scan whose tasks counted more was counted, and skipped columns."""

_PARQUET = "Scan parquet"
"""Start of the operation name of a Parquet scan whose plan knows the size of its files."""

_UNSIZED_SCAN = re.compile(r"BatchScan parquet (?:([a-zA-Z][a-zA-Z0-9+.-]*):)?")
"""Start of the name of a DataSource V2 Parquet scan, whose plan does not, up to the path."""

_decode_task = msgspec.json.Decoder(TaskEndAccumulables[Accumulable]).decode


def reads_vectored(version: str | None, properties: Mapping[str, str]) -> bool:
    """Whether Spark of that version with these settings uses vectored Parquet reads."""
    setting = properties.get(VECTORED_READS)
    if setting is not None:
        return setting.strip().lower() == "true"
    match = re.match(r"(\d{1,9})\.(\d{1,9})", version or "")
    return match is not None and (int(match[1]), int(match[2])) >= VECTORED_SINCE


@dataclass(frozen=True, slots=True)
class InferredInput:
    """Stages with counted or inferred input sizes.

    Args:
        stages: where tasks did not count their input it is the size of the files, or None where
            the log does not state that.
        known: whether the input of every stage is known.
        notices: notices about inferred and unknown inputs.
    """

    stages: tuple[StageRun, ...]
    known: bool
    notices: tuple[Notice, ...]


class FileScans(NodeTracker[FileScan]):
    """Collects the file scans of all plans, the driver's file metrics, and each stage's scans."""

    def __init__(self) -> None:
        super().__init__()
        self._watched: set[int] = set()
        self._values: dict[int, int] = {}

    def add_plan(self, event: SqlPlan) -> None:
        """Records the file scans of a plan."""
        for rows, scan in scans_of(event):
            later = replace(scan, order=len(self._nodes))
            self._nodes.setdefault(rows, later)  # later ones read it from the cache
            self._watched |= {metric for metric in (scan.size, scan.files) if metric is not None}

    def driver_metrics_updated(self, updates: Iterable[tuple[int, int]]) -> None:
        """Records driver metrics that are the size or number of files; -1 means not yet known."""
        watched = (metric for metric in updates if metric[0] in self._watched)
        self._values.update((key, value) for key, value in watched if value >= 0)

    def add_incomplete_stages(self, entries: Mapping[int, Stage]) -> None:
        """Records the scans of stages without a completion event, by their last finished task."""
        for stage_id, entry in entries.items():
            if entry.tasks.last_end:
                self.stage_completed(stage_id, _accumulables_of(entry.tasks.last_end))

    def inferred(
        self, stages: Sequence[StageRun], entries: Mapping[int, Stage], *, vectored: bool
    ) -> InferredInput:
        """The stages with the size of their files, which also replaces an uncounted input.

        Args:
            entries: stage id -> the stage as logged.
            vectored: whether vectored reads may have gone uncounted.
        """
        stages = [self._with_file_sizes(stage, entries[stage.stage_id]) for stage in stages]
        if not vectored:
            return InferredInput(tuple(stages), True, ())
        sizes, unknown = dict[int, float](), set[int]()
        for stage in stages:
            ran = self._scans_run_by(stage, entries[stage.stage_id])
            if not self._sizes_known(ran):
                unknown.add(stage.stage_id)
                continue
            size = self._uncounted(stage, entries[stage.stage_id], ran)
            if size is not None:
                sizes[stage.stage_id] = size
        with_input = tuple(
            _with_input(stage, sizes[stage.stage_id])
            if stage.stage_id in sizes
            else replace(stage, input_bytes=None)
            if stage.stage_id in unknown
            else stage
            for stage in stages
        )
        notices = (
            _inferred_notice([stage for stage in stages if stage.stage_id in sizes], sizes),
            _unknown_notice([stage for stage in stages if stage.stage_id in unknown]),
        )
        return InferredInput(with_input, not unknown, present(notices))

    def _with_file_sizes(self, stage: StageRun, entry: Stage) -> StageRun:
        """The stage with the size and number of its files and tables, where logged for each of its
        scans, and whether any of these is bucketed."""
        ran = self.ran_by(stage.stage_id)
        bucketed, operations = any(scan.bucketed for scan in ran), _with_format(stage, ran)
        stage = replace(stage, bucketed=bucketed, operations=operations)
        files = [name for name in entry.file_scans if name.startswith("Scan ")]
        found = (self._value(scan.size) for scan in ran)
        sizes = [size for size in found if size is not None] or _read_whole(stage, ran)
        number = len(sizes) if sizes else sum(scan.size is None for scan in ran)
        if not number or number != len(entry.file_scans) or len(files) != number:
            return stage
        file_counts = [self._values[one.files] for one in ran if one.files in self._values]
        files_read = float(sum(file_counts)) if len(file_counts) == number else None
        if not sizes:
            return replace(stage, files_read=files_read)
        coalesced_to = ran[0].coalesced_to if len(ran) == 1 else None
        stage = replace(
            stage, files_bytes=float(sum(sizes)), files_read=files_read, tables_read=_tables(ran),
            coalesced_most=coalesced_to or None,
        )  # fmt: skip
        return self._with_input_files(stage, sorted(ran, key=lambda scan: scan.order))

    def _with_input_files(self, stage: StageRun, ran: Sequence[FileScan]) -> StageRun:
        """The stage with the files of each input of its union or product. File inputs are matched
        with the scans in plan order."""
        scans = iter(ran)
        if sum(one.origin == "files" for one in stage.inputs) != len(ran):
            return stage

        def with_files(one: StageInput) -> StageInput:
            if one.origin != "files":
                return one
            scan = next(scans)
            size, files = self._value(scan.size), self._value(scan.files)
            return replace(
                one,
                files_bytes=None if size is None else float(size),
                files_read=None if files is None else float(files),
            )

        return replace(stage, inputs=tuple(map(with_files, stage.inputs)))

    def _scans_run_by(self, stage: StageRun, entry: Stage) -> list[FileScan] | None:
        """The scans that a stage ran; None where it scans Parquet and the scans are not known.

        A completed stage lists the metrics of all its scans, a task only those of its own, so for
        an incomplete stage some may be missing (a union). If the query has exactly as many scans
        that no other stage ran, these are taken.
        """
        if any(map(_unsized, entry.file_scans)):
            return None
        scans = self.ran_by(stage.stage_id)
        files = [name for name in entry.file_scans if name.startswith("Scan ")]
        missing = len(files) - len(scans)
        if missing < 1 or not any(name.startswith(_PARQUET) for name in files):
            return scans
        query = stage.sql_execution_id
        succeeded = any(attempt.succeeded for attempt in entry.attempts.values())
        if any(one.execution == query for one in self._nodes.values()) and succeeded:
            return scans  # the other scans returned no row: only their footers were read
        of_other_stages = self._ran.of_all()
        remaining = {
            one.size: one
            for rows, one in self._nodes.items()
            if one.execution == query and rows not in of_other_stages and one.size in self._values
        }
        return [*scans, *remaining.values()] if len(remaining) == missing else None

    def _value(self, metric: int | None) -> int | None:
        """What the driver logged of a metric; None if nothing."""
        return None if metric is None else self._values.get(metric)

    def _sizes_known(self, scans: Sequence[FileScan] | None) -> TypeGuard[Sequence[FileScan]]:
        """Whether the scans are known, and their sizes where all may be uncounted."""
        return scans is not None and (
            not all(map(_may_be_uncounted, scans))
            or all(self._value(scan.size) is not None for scan in scans)
        )

    def _uncounted(self, stage: StageRun, entry: Stage, scans: Sequence[FileScan]) -> float | None:
        """Bytes of the files that a stage read, where its tasks did not count them; else None.

        The share of finished tasks scales the size: a `take` of the first rows reads only some
        partitions, as does a stage in which the log breaks off.
        """
        if not scans or not all(map(_may_be_uncounted, scans)):
            return None
        share = min(1.0, stage.task_seconds.count / entry.partitions) if entry.partitions else 1.0
        if entry.source_read is not None:
            share *= entry.source_read.first_share
        size = share * sum(self._value(scan.size) or 0 for scan in scans)
        return size if stage.outside_bytes < COUNTED_SHARE * size else None


def _with_format(stage: StageRun, ran: Sequence[FileScan]) -> tuple[str, ...]:
    """The operations of a stage with the format of its files where these are scanned in generated
    code, if its scans have one name."""
    names = {scan.name for scan in ran}
    if len(names) != 1:
        return stage.operations
    (name,) = names
    return tuple(name if one == SCANNED_FILES else one for one in stage.operations)


def _read_whole(stage: StageRun, ran: Sequence[FileScan]) -> list[float]:
    """The bytes of the files of a stage whose only scan read all of them; else nothing."""
    whole = len(ran) == 1 and ran[0].name.startswith(WHOLE_FILES) and not stage.in_part
    return [stage.outside_bytes] if whole and stage.outside_bytes else []


def _tables(scans: Sequence[FileScan]) -> int | None:
    """How many unlike tables several scans read; None for one scan, and where any is not known."""
    tables = {scan.table for scan in scans}
    return len(tables) if len(scans) > 1 and None not in tables else None


def _accumulables_of(task_end: bytes) -> Sequence[Accumulable]:
    """The accumulators that a task updated; none where its event is missing or damaged."""
    try:
        return _decode_task(task_end).info.accumulables
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ()


def _unsized(operation: str) -> bool:
    """Whether an operation may go uncounted and has no file size in the plan either."""
    match = _UNSIZED_SCAN.match(operation)
    return match is not None and (match[1] or "").lower() not in COUNTED_SCHEMES


def _may_be_uncounted(scan: FileScan) -> bool:
    return scan.parquet and scan.columns and scan.scheme not in COUNTED_SCHEMES


def _with_input(stage: StageRun, size: float) -> StageRun:
    """The stage with `size` bytes of input plus its cached reads, distributed over its tasks like
    the counted bytes, or evenly where nothing was counted."""
    counted = stage.input_bytes
    size += stage.cached_input_bytes or 0.0
    if counted is None or not counted.total:
        tasks = stage.task_seconds.count
        return replace(stage, input_bytes=Measure(tasks, size, (size / tasks,)))
    factor = size / counted.total
    quantiles = tuple(value * factor for value in counted.quantiles)
    return replace(stage, input_bytes=Measure(counted.count, size, quantiles))


def _inferred_notice(changed: Sequence[StageRun], sizes: Mapping[int, float]) -> Notice | None:
    """The notice that the input of these stages was inferred from the size of their files; the
    stages have the input that their tasks counted."""
    if not changed:
        return None
    counted, size = sum(stage.outside_bytes for stage in changed), sum(sizes.values())
    first = max(changed, key=lambda stage: sizes[stage.stage_id])
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return Notice(
        "input-size-inferred",
        f"{numbered_label(first)}{more} read Parquet in vectored reads, "
        f"which Spark does not count ({format_bytes(counted)} of {format_bytes(size)}): the "
        "size of the files is taken for the input, columns that were not read included"
        f"{_partial_text(changed)}",
        f"log a run with {VECTORED_READS}=false to have it counted",
    )


def _partial_text(changed: Sequence[StageRun]) -> str:
    """The clause that stages cut off by the log's end count only a part of their files."""
    parts = [stage for stage in changed if stage.task_seconds.count < stage.tasks]
    if not parts:
        return ""
    ended, tasks = sum(stage.task_seconds.count for stage in parts), sum(s.tasks for s in parts)
    return (
        f"; of stages whose end was not seen as large a part as of their tasks ({ended} of {tasks})"
    )


def _unknown_notice(stages: Sequence[StageRun]) -> Notice | None:
    """The notice that the input of these stages, and so that of the run, is unknown."""
    if not stages:
        return None
    more = f" and {len(stages) - 1} more" if len(stages) > 1 else ""
    return Notice(
        "input-size-unknown",
        f"stage {stages[0].stage_id} ({stage_label(stages[0])}){more} read Parquet in vectored "
        "reads, which Spark may not count, and the log does not tell the size of the files: "
        "how much input the run had is not known",
        f"log a run with {VECTORED_READS}=false to have it counted",
    )
