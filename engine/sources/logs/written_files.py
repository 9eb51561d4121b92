"""Which stages read files that an earlier query of the same run wrote, by the plans of both.

A table that a job writes and reads back has as many files as its writer had tasks, or folders: with
another input or cluster it has others. The plan of a write names where it goes and that of a scan
where it is from; both are forgotten once the stages are known.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from engine.sources.logs.plan_events import OUTPUT_ROWS, PlanNode, SqlPlan
from engine.stage_run import StageRun, total_of

WRITTEN_METRIC = b'"number of written files"'
"""What a line holds that tells a plan which writes files."""

_FILES, _FOLDERS = "number of written files", "number of dynamic part"
_WRITE = re.compile(r"Execute (?:InsertIntoHadoopFsRelationCommand )+(.+?), (?:true|false), ")
_OVERWRITE = ", Overwrite, ["
_LOCATION = re.compile(r"\w+(?:\(1 paths\))?\[(.+)\]")

_decode_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, slots=True)
class Write:
    """What a query wrote: where, in place of all that was there or beside it, how many files, and
    into how many folders of a table; None where the log does not say."""

    path: str
    replaces: bool = False
    files: int | None = None
    folders: int | None = None


NOTHING = Write("")


@dataclass(frozen=True, slots=True)
class Writers:
    """The executions that wrote to one place, ascending, and what each left there: `first` is the
    place here of the last up to it that replaced what was there, `files` are those written since
    then, and `most` is the execution of these that wrote the most, the last of several."""

    executions: Sequence[int]
    first: Sequence[int]
    files: Sequence[int]
    most: Sequence[int]

    @classmethod
    def of(cls, executions: Sequence[int], writes: Mapping[int, Write]) -> Writers:
        """In one pass: a loop that appends and reads has as many of both."""
        first, files, most = list[int](), list[int](), list[int]()
        for place, one in enumerate(executions):
            write = writes[one]
            wrote = write.files or 0
            alone = write.replaces or not place
            first.append(place if alone else first[-1])
            files.append(wrote if alone else files[-1] + wrote)
            more = alone or wrote >= (writes[most[-1]].files or 0)
            most.append(one if more else most[-1])
        return cls(executions, first, files, most)

    def before(self, reading: int) -> int | None:
        """The place of the last before an execution that reads; None where there is none."""
        return bisect_left(self.executions, reading) - 1 if self.executions[0] < reading else None


Reading = tuple[str, int]
"""Where a scan is from, and the execution that it is of."""


class WrittenFiles:
    """Follows the plans, the metrics of the driver and which stages ran which scans."""

    def __init__(self) -> None:
        self._writes: dict[int, Write] = {}
        self._metrics: dict[int, tuple[int, str]] = {}
        self._writers: dict[str, list[int]] = {}
        self._scans: dict[int, Reading] = {}
        self._read_by: dict[int, set[Reading]] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan told of a write."""
        return bool(self._writes)

    def planned(self, told: SqlPlan) -> None:
        """Notes what a plan writes, and its scans of what earlier ones wrote, by the accumulator of
        their rows."""
        waiting = [told.plan] if told.plan is not None else []
        while waiting:
            node = waiting.pop()
            waiting.extend(node.children)
            metrics = {metric.name: metric.accumulator for metric in node.metrics}
            if _FILES in metrics:
                self._writing(told.execution, node)
            elif OUTPUT_ROWS in metrics and node.metadata.location and self._writes:
                found = _LOCATION.fullmatch(node.metadata.location)
                path = found[1].rstrip("/") if found else ""
                if path in self._writers and self._writers[path][0] < told.execution:
                    self._scans.setdefault(metrics[OUTPUT_ROWS], (path, told.execution))

    def updated(self, updates: Iterable[tuple[int, int]]) -> None:
        """Notes metrics of the driver: how many files and folders a query wrote."""
        for accumulator, value in updates:
            execution, name = self._metrics.get(accumulator, (None, ""))
            if execution is not None and value >= 0:
                write = self._writes[execution]
                changed = (
                    replace(write, files=value) if name == _FILES else replace(write, folders=value)
                )
                self._writes[execution] = changed

    def completed(self, stage_id: int, accumulators: Iterable[int]) -> None:
        """Notes which of those scans a stage ran."""
        for rows in self._scans.keys() & set(accumulators):
            self._read_by.setdefault(stage_id, set()).add(self._scans[rows])

    def linked(self, stages: Sequence[StageRun]) -> tuple[StageRun, ...]:
        """The stages with what they wrote of tables that others read, and who wrote what these
        read."""
        if not self._read_by:
            return tuple(stages)
        writers = {path: Writers.of(all_of, self._writes) for path, all_of in self._writers.items()}
        makers = self._makers(stages, self._wanted(writers))
        told = {stage_id: self._writes[one] for one, stage_id in makers.items()}
        reading = _given_rows(stages)

        def with_both(stage: StageRun) -> StageRun:
            write = told.get(stage.stage_id, NOTHING)
            return replace(
                stage,
                written_files=_number(write.files),
                written_folders=_number(write.folders),
                files_by=self._maker_of(stage, writers, makers, reading),
            )

        return tuple(map(with_both, stages))

    def _writing(self, execution: int, node: PlanNode) -> None:
        text = _decode_text(node.text) if bytes(node.text) else ""
        found = _WRITE.match(text)
        if found is None:
            return
        if execution not in self._writes:
            write = Write(found[1].rstrip("/"), _OVERWRITE in text)
            self._writes[execution] = write
            insort(self._writers.setdefault(write.path, []), execution)
        for metric in node.metrics:
            if metric.name in (_FILES, _FOLDERS):
                self._metrics[metric.accumulator] = execution, metric.name

    def _wanted(self, writers: Mapping[str, Writers]) -> set[int]:
        """The executions of which a scan may read files. Of those since one that replaced what was
        there later scans read as well what earlier ones did."""
        last = dict[tuple[str, int], int]()
        for path, reading in {one for read in self._read_by.values() for one in read}:
            place = writers[path].before(reading)
            if place is not None:
                key = path, writers[path].first[place]
                last[key] = max(place, last.get(key, place))
        return {
            one
            for (path, first), place in last.items()
            for one in writers[path].executions[first : place + 1]
        }

    def _makers(self, stages: Sequence[StageRun], wanted: set[int]) -> dict[int, int]:
        """The stage of each wanted execution that wrote, the most where several did."""
        found: dict[int, StageRun] = {}
        for stage in stages:
            one, size = stage.sql_execution_id, total_of(stage.output_bytes)
            if one in wanted and size > (total_of(found[one].output_bytes) if one in found else 0):
                found[one] = stage
        return {one: stage.stage_id for one, stage in found.items()}

    def _maker_of(
        self,
        stage: StageRun,
        writers: Mapping[str, Writers],
        makers: Mapping[int, int],
        reading: Container[int],
    ) -> int | None:
        """Who wrote the files that a stage scans, or the most of them where several did, which
        stands for the others: each writes again what is replayed. None where the run did not write
        all, or in many parts of rows that it made itself (`reading` are the stages of others): of
        its input more data may be more parts."""
        read = self._read_by.get(stage.stage_id, set())
        if len(read) != 1 or not stage.files_read:
            return None
        path, execution = next(iter(read))
        place = writers[path].before(execution)
        if place is None:
            return None
        most, written = writers[path].most[place], writers[path].files[place]
        maker, half = makers.get(most), 2 * (self._writes[most].files or 0) >= written
        return maker if (half or maker in reading) and written >= stage.files_read else None


def _given_rows(stages: Sequence[StageRun]) -> set[int]:
    """The stages of rows that the program did not make itself, however often these were shuffled
    since then; shuffles of which nobody knows who wrote them count too."""
    given, made = set[int](), set[int]()
    for stage in sorted(stages, key=lambda one: one.stage_id):  # parents have lower numbers
        own = bool(stage.parents) and made.issuperset(stage.parents)
        shuffled = total_of(stage.shuffle_read_bytes) > 0.0 and not own
        (given if shuffled or total_of(stage.input_bytes) > 0.0 else made).add(stage.stage_id)
    return given


def _number(told: int | None) -> float | None:
    return None if told is None else float(told)
