"""How large and how many the files are that the scans of SQL queries read.

Spark cuts a scan by the size and number of its files, of which a query may read few columns: how
many tasks it has on another cluster follows from these and not from the bytes that its tasks
counted. And these may count nothing.

`Bytes Read` of a task is what the file system counted on the task's own thread. Since Parquet 1.16
(Spark 4.1) column data is read in vectored reads, which on S3, Google Cloud Storage and local disks
happen on other threads: of hundreds of megabytes only the footers are counted. The plan of a query
knows the size of the files, which stands in the log as a metric of the driver.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

import msgspec

from engine.notices import Notice
from engine.runs.stage_labels import numbered_label, stage_label
from engine.sources.logs.entities import Stage
from engine.sources.logs.plan_events import OUTPUT_ROWS, PlanNode, SqlPlan, TaskMetered
from engine.stage_run import Measure, StageInput, StageRun
from engine.units import format_bytes

VECTORED_SINCE = (4, 1)
"""The first Spark whose Parquet reads vectored unless told otherwise."""

VECTORED_READS = "spark.hadoop.parquet.hadoop.vectored.io.enabled"

COUNTED_SCHEMES = frozenset({"hdfs", "viewfs", "webhdfs", "abfs", "abfss"})
"""File systems whose vectored reads are plain reads on the task's thread, which are counted."""

COUNTED_SHARE = 0.25
"""Of the size of the files: a scan that counted more was counted, and left out columns."""

SIZE_METRIC = b'"size of files read"'
"""What a line holds that tells a plan with a scan of files."""

_SIZE, _FILES = "size of files read", "number of files read"
_COALESCE = re.compile(rb'"Coalesce (\d{1,9})"')
_APART = re.compile("Exchange|InMemoryTableScan")
"""Nodes whose partitions are not those of what lies below them."""

_NOTHING_READ = "struct<>"
_SCHEME = re.compile(r"\[([a-zA-Z][a-zA-Z0-9+.-]*):")
_PARQUET = "Scan parquet"
"""How an operation is named that scans Parquet and whose plan knows the size of its files."""

_UNSIZED = re.compile(r"BatchScan parquet (?:([a-zA-Z][a-zA-Z0-9+.-]*):)?")
"""One by Spark's new interface of sources, whose plan does not, before the path."""

_decode_task = msgspec.json.Decoder(TaskMetered).decode


def reads_vectored(version: str | None, properties: Mapping[str, str]) -> bool:
    """Whether a Spark of that version with these settings reads Parquet vectored."""
    told = properties.get(VECTORED_READS)
    if told is not None:
        return told.strip().lower() == "true"
    numbers = re.match(r"(\d{1,9})\.(\d{1,9})", version or "")
    return numbers is not None and (int(numbers[1]), int(numbers[2])) >= VECTORED_SINCE


@dataclass(frozen=True, slots=True)
class FileScan:
    """A scan of a query's plan.

    Args:
        execution: the SQL execution that it is part of.
        size: accumulator of the bytes of its files.
        files: accumulator of their number; None where the plan names none.
        parquet: whether these are Parquet.
        scheme: of its file system; None where the plan does not say.
        columns: whether it reads any, which a mere count of rows does not.
        bucketed: whether each task reads one bucket of a table, or several.
        place: among all scans, in the order of plans and from left to right in each.
        most: as many partitions as a `coalesce` of its rows leaves at most; None without any.
    """

    execution: int
    size: int
    files: int | None
    parquet: bool
    scheme: str | None
    columns: bool
    bucketed: bool
    place: int
    most: int | None


@dataclass(frozen=True, slots=True)
class InferredInput:
    """Stages with the input that is taken for theirs.

    Args:
        stages: those whose tasks did not count it have the size of their files; None where the log
            does not tell that.
        known: whether the input of every stage is.
        notices: what to say of it.
    """

    stages: tuple[StageRun, ...]
    known: bool
    notices: tuple[Notice, ...]


class FileScans:
    """Follows the plans, the metrics of the driver and which stages ran which scans."""

    def __init__(self) -> None:
        self._scans: dict[int, FileScan] = {}
        self._kept: set[int] = set()
        self._told: dict[int, int] = {}
        self._of_stage: dict[int, set[int]] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan told of a scan whose size may follow."""
        return bool(self._scans)

    def planned(self, told: SqlPlan) -> None:
        """Notes the scans of a plan by the accumulator of their rows."""
        waiting = [(told.plan, _at_most(told.plan, None))] if told.plan is not None else []
        while waiting:
            node, most = waiting.pop()
            waiting.extend(
                (child, _at_most(child, most, node)) for child in reversed(node.children)
            )
            metrics = {metric.name: metric.accumulator for metric in node.metrics}
            if _SIZE in metrics and OUTPUT_ROWS in metrics:
                place = len(self._scans)
                files = metrics.get(_FILES)
                scan = _scan(node, told.execution, metrics[_SIZE], files, place=place, most=most)
                self._scans.setdefault(
                    metrics[OUTPUT_ROWS], scan
                )  # later ones read it from the cache
                self._kept |= {metrics[_SIZE], metrics[_SIZE] if files is None else files}

    def updated(self, updates: Iterable[tuple[int, int]]) -> None:
        """Notes metrics of the driver: those of accumulators that hold the size or the number of
        files, which are -1 until Spark knows them."""
        told = (one for one in updates if one[0] in self._kept)
        self._told.update((key, value) for key, value in told if value >= 0)

    def completed(self, stage_id: int, accumulators: Iterable[int]) -> None:
        """Notes which scans a stage ran."""
        ran = self._scans.keys() & set(accumulators)
        if ran:
            self._of_stage.setdefault(stage_id, set()).update(ran)

    def under_way(self, entries: Mapping[int, Stage]) -> None:
        """Notes which scans the stages ran that the log does not see complete, by the last of their
        tasks that ended."""
        for stage_id, entry in entries.items():
            if entry.tasks.last_end:
                self.completed(stage_id, _counted_by(entry.tasks.last_end))

    def inferred(
        self, stages: Sequence[StageRun], entries: Mapping[int, Stage], *, vectored: bool
    ) -> InferredInput:
        """Stages with the size of their files, and with that for an input that was not counted.

        Args:
            entries: what the log tells of each stage, by its id.
            vectored: whether tasks may not count what they read.
        """
        stages = [self._sized(stage, entries[stage.stage_id]) for stage in stages]
        if not vectored:
            return InferredInput(tuple(stages), True, ())
        sizes, unknown = dict[int, float](), set[int]()
        for stage in stages:
            ran = self._run_by(stage, entries[stage.stage_id])
            if not self._is_told(ran):
                unknown.add(stage.stage_id)
                continue
            size = self._uncounted(stage, entries[stage.stage_id], ran)
            if size is not None:
                sizes[stage.stage_id] = size
        told = tuple(
            _with_input(stage, sizes[stage.stage_id])
            if stage.stage_id in sizes
            else replace(stage, input_bytes=None)
            if stage.stage_id in unknown
            else stage
            for stage in stages
        )
        taken = _notices([stage for stage in stages if stage.stage_id in sizes], sizes)
        left = _not_known([stage for stage in stages if stage.stage_id in unknown])
        return InferredInput(told, not unknown, (*taken, *left))

    def _sized(self, stage: StageRun, entry: Stage) -> StageRun:
        """With the size and number of its files where the log tells them of each of its scans, and
        whether any of these reads buckets."""
        ran = [self._scans[rows] for rows in self._of_stage.get(stage.stage_id, ())]
        stage = replace(stage, bucketed=any(scan.bucketed for scan in ran))
        files = [name for name in entry.file_scans if name.startswith("Scan ")]
        known = [self._told[scan.size] for scan in ran if scan.size in self._told]
        if not known or len(known) != len(entry.file_scans) or len(files) != len(known):
            return stage
        counted = [self._told[one.files] for one in ran if one.files in self._told]
        number = float(sum(counted)) if len(counted) == len(known) else None
        most = ran[0].most if len(ran) == 1 else None
        stage = replace(
            stage, files_bytes=float(sum(known)), files_read=number, coalesced_most=most or None
        )
        return self._with_inputs(stage, sorted(ran, key=lambda scan: scan.place))

    def _with_inputs(self, stage: StageRun, ran: Sequence[FileScan]) -> StageRun:
        """With the size and number of the files of each input that a stage combines, of which each
        is one of the scans, in the order of the plan."""
        scans = iter(ran)
        if sum(one.origin == "files" for one in stage.inputs) != len(ran):
            return stage

        def sized(one: StageInput) -> StageInput:
            if one.origin != "files":
                return one
            scan = next(scans)
            files = None if scan.files is None else self._told.get(scan.files)
            number = None if files is None else float(files)
            return replace(one, files_bytes=float(self._told[scan.size]), files_read=number)

        return replace(stage, inputs=tuple(map(sized, stage.inputs)))

    def _run_by(self, stage: StageRun, entry: Stage) -> list[FileScan] | None:
        """The scans that a stage ran; None where it scans Parquet and nothing tells which.

        A completed stage lists the metrics of all its scans, a task those of its own: of one that
        is not complete some may be missing (a union). They are those that its query has left,
        where there are just as many.
        """
        if any(map(_unsized, entry.file_scans)):
            return None
        found = [self._scans[rows] for rows in self._of_stage.get(stage.stage_id, ())]
        files = [name for name in entry.file_scans if name.startswith("Scan ")]
        missing = len(files) - len(found)
        if missing < 1 or not any(name.startswith(_PARQUET) for name in files):
            return found
        query = stage.sql_execution_id
        succeeded = any(attempt.succeeded for attempt in entry.attempts.values())
        if any(one.execution == query for one in self._scans.values()) and succeeded:
            return found  # the others gave no row: of them the footers were read
        elsewhere = {rows for ran in self._of_stage.values() for rows in ran}
        left = {
            one.size: one
            for rows, one in self._scans.items()
            if one.execution == query and rows not in elsewhere and one.size in self._told
        }
        return [*found, *left.values()] if len(left) == missing else None

    def _is_told(self, scans: Sequence[FileScan] | None) -> TypeGuard[Sequence[FileScan]]:
        """Whether it is known which scans these are, and their size where that matters."""
        return scans is not None and (
            not all(map(_may_lose, scans)) or all(scan.size in self._told for scan in scans)
        )

    def _uncounted(self, stage: StageRun, entry: Stage, scans: Sequence[FileScan]) -> float | None:
        """Bytes of the files that a stage read, where its tasks did not count them: of all where
        all of its partitions were read, which those of a search for the first rows are not, nor
        those of a stage in which the log breaks off."""
        if not scans or not all(map(_may_lose, scans)):
            return None
        ran = min(1.0, stage.task_seconds.count / entry.partitions) if entry.partitions else 1.0
        if entry.source_read is not None:
            ran *= entry.source_read.first_share
        size = ran * sum(self._told[scan.size] for scan in scans)
        return size if stage.outside_bytes < COUNTED_SHARE * size else None


def _counted_by(task_end: bytes) -> list[int]:
    """The metrics that a task counted; none where its event is not there, or damaged."""
    try:
        return [one.accumulator for one in _decode_task(task_end).info.accumulables]
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return []


def _at_most(node: PlanNode, most: int | None, above: PlanNode | None = None) -> int | None:
    """To how many partitions those of a node are put together at most, where those of the node
    above are to `most`: the least that a `coalesce` between them and their shuffle asks for."""
    if above is not None and (len(above.children) > 1 or _APART.search(above.name)):
        most = None
    found = _COALESCE.fullmatch(bytes(node.text)) if node.name == "Coalesce" else None
    if found is None:
        return most
    return int(found[1]) if most is None else min(int(found[1]), most)


def _scan(
    node: PlanNode, execution: int, size: int, files: int | None, *, place: int, most: int | None
) -> FileScan:
    told = node.metadata
    scheme = _SCHEME.search(told.location or "")
    return FileScan(
        execution,
        size,
        files,
        "parquet" in f"{node.name} {told.format or ''}".lower(),
        scheme[1].lower() if scheme else None,
        told.schema != _NOTHING_READ,
        told.buckets is not None,
        place,
        most,
    )


def _unsized(operation: str) -> bool:
    """Whether it may lose what nothing else tells."""
    found = _UNSIZED.match(operation)
    return found is not None and (found[1] or "").lower() not in COUNTED_SCHEMES


def _may_lose(scan: FileScan) -> bool:
    return scan.parquet and scan.columns and scan.scheme not in COUNTED_SCHEMES


def _with_input(stage: StageRun, size: float) -> StageRun:
    """The stage with `size` bytes of input beside what it read of cached blocks, over its tasks as
    what they counted is, or evenly."""
    counted = stage.input_bytes
    size += stage.cached_input_bytes or 0.0
    if counted is None or not counted.total:
        tasks = stage.task_seconds.count
        return replace(stage, input_bytes=Measure(tasks, size, (size / tasks,)))
    factor = size / counted.total
    quantiles = tuple(value * factor for value in counted.quantiles)
    return replace(stage, input_bytes=Measure(counted.count, size, quantiles))


def _notices(changed: Sequence[StageRun], sizes: Mapping[int, float]) -> list[Notice]:
    """That the input of these stages, here as their tasks counted it, is that of their files."""
    if not changed:
        return []
    counted, size = sum(stage.outside_bytes for stage in changed), sum(sizes.values())
    first = max(changed, key=lambda stage: sizes[stage.stage_id])
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return [
        Notice(
            "input-size-inferred",
            f"{numbered_label(first)}{more} read Parquet in vectored reads, "
            f"which Spark does not count ({format_bytes(counted)} of {format_bytes(size)}): the "
            "size of the files is taken for the input, columns that were not read included"
            f"{_in_part(changed)}",
            f"log a run with {VECTORED_READS}=false to have it counted",
        )
    ]


def _in_part(changed: Sequence[StageRun]) -> str:
    """That of stages in which the log breaks off only a part of the files counts."""
    parts = [stage for stage in changed if stage.task_seconds.count < stage.tasks]
    if not parts:
        return ""
    ended, tasks = sum(stage.task_seconds.count for stage in parts), sum(s.tasks for s in parts)
    return (
        f"; of stages whose end was not seen as large a part as of their tasks ({ended} of {tasks})"
    )


def _not_known(stages: Sequence[StageRun]) -> list[Notice]:
    """That the input of these stages is not known, nor therefore that of the run."""
    if not stages:
        return []
    more = f" and {len(stages) - 1} more" if len(stages) > 1 else ""
    return [
        Notice(
            "input-size-unknown",
            f"stage {stages[0].stage_id} ({stage_label(stages[0])}){more} read Parquet in vectored "
            "reads, which Spark may not count, and the log does not tell the size of the files: "
            "how much input the run had is not known",
            f"log a run with {VECTORED_READS}=false to have it counted",
        )
    ]
