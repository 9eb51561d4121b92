"""Which stages read files that an earlier query of the same run wrote, by the plans of both.

A table that a job writes and reads back has as many files as its writer had tasks, or folders: with
another input or cluster it has others. The plan of a write names where it goes and that of a scan
where it is from; both are forgotten once the stages are known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from engine.sources.plan_events import PlanNode, SqlPlan
from engine.stage_run import StageRun, total_of

WRITTEN_METRIC = b'"number of written files"'
"""What a line holds that tells a plan which writes files."""

_FILES, _FOLDERS, _ROWS = (
    "number of written files", "number of dynamic part", "number of output rows",
)  # fmt: skip
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


class WrittenFiles:
    """Follows the plans, the metrics of the driver and which stages ran which scans."""

    def __init__(self) -> None:
        self._writes: dict[int, Write] = {}
        self._metrics: dict[int, tuple[int, str]] = {}
        self._scans: dict[int, tuple[int, ...]] = {}
        self._read_by: dict[int, set[tuple[int, ...]]] = {}

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
            elif _ROWS in metrics and node.metadata.location and self._writes:
                writers = self._writers_of(node.metadata.location, told.execution)
                if writers:
                    self._scans.setdefault(metrics[_ROWS], writers)

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
        wanted = {one for read in self._read_by.values() for writers in read for one in writers}
        if not wanted:
            return tuple(stages)
        makers = self._makers(stages, wanted)
        told = {stage_id: self._writes[one] for one, stage_id in makers.items()}

        def with_both(stage: StageRun) -> StageRun:
            write = told.get(stage.stage_id, NOTHING)
            return replace(
                stage,
                written_files=_number(write.files),
                written_folders=_number(write.folders),
                files_by=self._maker_of(stage, makers),
            )

        return tuple(map(with_both, stages))

    def _writing(self, execution: int, node: PlanNode) -> None:
        text = _decode_text(node.text) if bytes(node.text) else ""
        found = _WRITE.match(text)
        if found is None:
            return
        if execution not in self._writes:
            self._writes[execution] = Write(found[1].rstrip("/"), _OVERWRITE in text)
        for metric in node.metrics:
            if metric.name in (_FILES, _FOLDERS):
                self._metrics[metric.accumulator] = execution, metric.name

    def _writers_of(self, location: str, reading: int) -> tuple[int, ...]:
        """The earlier executions that wrote where a scan reads, from the last on that replaced what
        was there."""
        found = _LOCATION.fullmatch(location)
        path = found[1].rstrip("/") if found else None
        told = [o for o, write in self._writes.items() if write.path == path and o < reading]
        first = max((one for one in told if self._writes[one].replaces), default=0)
        return tuple(one for one in told if one >= first)

    def _makers(self, stages: Sequence[StageRun], wanted: set[int]) -> dict[int, int]:
        """The stage of each wanted execution that wrote, the most where several did."""
        found: dict[int, StageRun] = {}
        for stage in stages:
            one, size = stage.sql_execution_id, total_of(stage.output_bytes)
            if one in wanted and size > (total_of(found[one].output_bytes) if one in found else 0):
                found[one] = stage
        return {one: stage.stage_id for one, stage in found.items()}

    def _maker_of(self, stage: StageRun, makers: dict[int, int]) -> int | None:
        """Who wrote the files that a stage scans, or at least half of them where several did; None
        where the run did not write all, or in many parts, of which more data may make more."""
        read = self._read_by.get(stage.stage_id, set())
        if len(read) != 1 or not stage.files_read:
            return None
        writers = next(iter(read))
        files = {one: self._writes[one].files or 0 for one in writers}
        most = max(writers, key=lambda one: (files[one], one))
        written = sum(files.values())
        return makers.get(most) if 2 * files[most] >= written >= stage.files_read else None


def _number(told: int | None) -> float | None:
    return None if told is None else float(told)
