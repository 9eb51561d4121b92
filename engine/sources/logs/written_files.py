"""Links stages that read files to the stage of the same run that wrote them, by query plans.

A table that a job writes and reads back has as many files as its writer had tasks, or partition
folders; both change with the input or the cluster. The plan of a write names its target path and
the plan of a scan its source path; paths are dropped once the stages are linked.
"""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from engine.sources.logs.plan_events import OUTPUT_ROWS, PlanNode, SqlPlan
from engine.sources.logs.plan_trackers import NodeTracker, nodes_of
from engine.stage_run import StageRun, total_of

WRITTEN_METRIC = b'"number of written files"'
"""Text in the log line of a plan that writes files."""

_FILES, _FOLDERS = "number of written files", "number of dynamic part"
_WRITE = re.compile(r"Execute (?:InsertIntoHadoopFsRelationCommand )+(.+?), (?:true|false), ")
_OVERWRITE = ", Overwrite, ["
_LOCATION = re.compile(r"\w+(?:\(1 paths\))?\[(.+)\]")

_decode_text = msgspec.json.Decoder(str).decode


@dataclass(frozen=True, slots=True)
class Write:
    """A write of a query: its target path, whether it overwrites, and how many files it wrote into
    how many dynamic partitions (folders); None where not logged."""

    path: str
    replaces: bool = False
    files: int | None = None
    folders: int | None = None


NOTHING = Write("")


@dataclass(frozen=True, slots=True)
class WriteHistory:
    """The SQL executions that wrote to one path, and the state of the path after each.

    Args:
        executions: their ids, ascending.
        since_overwrite: per execution, the index of the last overwrite up to it.
        total_files: number of files written since that overwrite.
        largest_write: the execution since then that wrote the most files; the last of equals.
    """

    executions: Sequence[int]
    since_overwrite: Sequence[int]
    total_files: Sequence[int]
    largest_write: Sequence[int]

    @classmethod
    def of(
        cls, executions: Sequence[int], writes: Mapping[int, Write], *, whole: bool = True
    ) -> WriteHistory:
        """Builds the history in one pass: a program's loop may append and read many times.

        Args:
            whole: whether an overwrite of folders replaced all of the table, not just those folders
                that it has rows of (`spark.sql.sources.partitionOverwriteMode=dynamic`).
        """
        since_overwrite, total_files, largest_write = list[int](), list[int](), list[int]()
        for index, execution in enumerate(executions):
            write = writes[execution]
            written = write.files or 0
            alone = not index or (write.replaces and (whole or not write.folders))
            since_overwrite.append(index if alone else since_overwrite[-1])
            total_files.append(written if alone else total_files[-1] + written)
            more = alone or written >= (writes[largest_write[-1]].files or 0)
            largest_write.append(execution if more else largest_write[-1])
        return cls(executions, since_overwrite, total_files, largest_write)

    def before(self, reading: int) -> int | None:
        """The index of the last write before a reading execution; None where there is none."""
        return bisect_left(self.executions, reading) - 1 if self.executions[0] < reading else None


ScanOrigin = tuple[str, int]
"""Source path of a scan, and its SQL execution."""


class WrittenFiles(NodeTracker[ScanOrigin]):
    """Collects writes and scans of all plans, the driver's metrics, and each stage's scans."""

    def __init__(self) -> None:
        super().__init__()
        self._writes: dict[int, Write] = {}
        self._watched: dict[int, tuple[int, str]] = {}
        self._executions_of_path: dict[str, list[int]] = {}

    @property
    def any_planned(self) -> bool:
        """Whether a plan has a write."""
        return bool(self._writes)

    def add_plan(self, event: SqlPlan) -> None:
        """Records a plan's writes, and its scans of paths that earlier executions wrote; scans are
        keyed by the accumulator of their output rows."""
        for node in nodes_of(event.plan):
            metrics = {metric.name: metric.accumulator for metric in node.metrics}
            if _FILES in metrics:
                self._add_write(event.execution, node)
            elif OUTPUT_ROWS in metrics and node.metadata.location and self._writes:
                match = _LOCATION.fullmatch(node.metadata.location)
                path = match[1].rstrip("/") if match else ""
                if (
                    path in self._executions_of_path
                    and self._executions_of_path[path][0] < event.execution
                ):
                    self._nodes.setdefault(metrics[OUTPUT_ROWS], (path, event.execution))

    def driver_metrics_updated(self, updates: Iterable[tuple[int, int]]) -> None:
        """Records driver metrics: how many files and partition folders a query wrote."""
        for accumulator, value in updates:
            execution, name = self._watched.get(accumulator, (None, ""))
            if execution is not None and value >= 0:
                write = self._writes[execution]
                changed = (
                    replace(write, files=value) if name == _FILES else replace(write, folders=value)
                )
                self._writes[execution] = changed

    def with_links(self, stages: Sequence[StageRun]) -> tuple[StageRun, ...]:
        """The stages with the files they wrote that other stages read or that lie in folders, of
        which each is opened by many tasks, and with the stage that wrote the files they read."""
        if not self._ran.of_all() and not self._executions_of_folders:
            return tuple(stages)
        histories = self._histories(stages)
        wanted = self._executions_read(histories) | self._executions_of_folders
        stage_of_execution = self._writing_stages(stages, wanted)
        write_of_stage = {
            stage_id: self._writes[execution] for execution, stage_id in stage_of_execution.items()
        }
        with_external_rows = _stages_of_external_rows(stages)

        def linked(stage: StageRun) -> StageRun:
            write = write_of_stage.get(stage.stage_id, NOTHING)
            return replace(
                stage,
                written_files=_number(write.files),
                written_folders=_number(write.folders),
                files_by=self._writer_of(stage, histories, stage_of_execution, with_external_rows),
            )

        return tuple(map(linked, stages))

    def _histories(self, stages: Sequence[StageRun]) -> dict[str, WriteHistory]:
        """The writes of each path. A plan does not say whether an overwrite of folders replaced
        others too: it did not where a scan reads more files than were written since."""
        histories = {
            path: WriteHistory.of(executions, self._writes)
            for path, executions in self._executions_of_path.items()
        }
        undecided = {one.path for one in self._writes.values() if one.replaces and one.folders}
        for stage in stages if undecided else ():
            path, index = self._write_before(stage, histories)
            if path not in undecided or index is None:
                continue
            if histories[path].total_files[index] < (stage.files_read or 0.0):
                executions = histories[path].executions
                histories[path] = WriteHistory.of(executions, self._writes, whole=False)
                undecided.remove(path)
        return histories

    def _write_before(
        self, stage: StageRun, histories: Mapping[str, WriteHistory]
    ) -> tuple[str, int | None]:
        """The path that a stage scans, and the index of the last write to it before; None where
        there is none, it scans several paths, or the number of its files is unknown."""
        read = set(self.ran_by(stage.stage_id))
        if len(read) != 1 or not stage.files_read:
            return "", None
        path, execution = next(iter(read))
        return path, histories[path].before(execution)

    def _add_write(self, execution: int, node: PlanNode) -> None:
        text = _decode_text(node.text) if bytes(node.text) else ""
        match = _WRITE.match(text)
        if match is None:
            return
        if execution not in self._writes:
            write = Write(match[1].rstrip("/"), _OVERWRITE in text)
            self._writes[execution] = write
            insort(self._executions_of_path.setdefault(write.path, []), execution)
        for metric in node.metrics:
            if metric.name in (_FILES, _FOLDERS):
                self._watched[metric.accumulator] = execution, metric.name

    @property
    def _executions_of_folders(self) -> set[int]:
        """The executions that wrote to partition folders."""
        return {execution for execution, write in self._writes.items() if write.folders}

    def _executions_read(self, histories: Mapping[str, WriteHistory]) -> set[int]:
        """The executions whose files a scan may read: those since the last overwrite. Among scans
        since the same overwrite, later ones also read what earlier ones did."""
        last = dict[tuple[str, int], int]()
        for path, execution in {self._nodes[rows] for rows in self._ran.of_all()}:
            index = histories[path].before(execution)
            if index is not None:
                key = path, histories[path].since_overwrite[index]
                last[key] = max(index, last.get(key, index))
        return {
            read_one
            for (path, first), index in last.items()
            for read_one in histories[path].executions[first : index + 1]
        }

    def _writing_stages(self, stages: Sequence[StageRun], wanted: set[int]) -> dict[int, int]:
        """Execution -> the stage of it that wrote the most bytes."""
        largest: dict[int, StageRun] = {}
        for stage in stages:
            execution, size = stage.sql_execution_id, total_of(stage.output_bytes)
            if execution in wanted and size > (
                total_of(largest[execution].output_bytes) if execution in largest else 0
            ):
                largest[execution] = stage
        return {execution: stage.stage_id for execution, stage in largest.items()}

    def _writer_of(
        self,
        stage: StageRun,
        histories: Mapping[str, WriteHistory],
        stage_of_execution: Mapping[int, int],
        with_external_rows: Container[int],
    ) -> int | None:
        """The stage that wrote the files which a stage scans; of several, the one that wrote most.

        That one stands for the others, since each writes again in a replay. None where the run did
        not write all files. None too where no write has half of them and the rows are generated by
        the program (the stage is not in `with_external_rows`): more input may then mean more
        writes.
        """
        path, index = self._write_before(stage, histories)
        if index is None:
            return None
        most, written = histories[path].largest_write[index], histories[path].total_files[index]
        writer = stage_of_execution.get(most)
        wrote_half = 2 * (self._writes[most].files or 0) >= written
        return (
            writer
            if (wrote_half or writer in with_external_rows) and written >= (stage.files_read or 0.0)
            else None
        )


def _stages_of_external_rows(stages: Sequence[StageRun]) -> set[int]:
    """The stages whose rows come from external input, directly or through shuffles, rather than
    being generated by the program. Shuffles with an unknown writer count as external."""
    external, generated = set[int](), set[int]()
    for stage in sorted(stages, key=lambda one: one.stage_id):  # parents have lower numbers
        all_generated = bool(stage.parents) and generated.issuperset(stage.parents)
        shuffled = total_of(stage.shuffle_read_bytes) > 0.0 and not all_generated
        (external if shuffled or total_of(stage.input_bytes) > 0.0 else generated).add(
            stage.stage_id
        )
    return external


def _number(number: int | None) -> float | None:
    return None if number is None else float(number)
