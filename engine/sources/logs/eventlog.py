"""The parser of event logs: reads lines, decodes the events and applies them to an `Application`.

Nearly all lines are task ends. They are recognised by their first bytes, decoded into typed
structures and packed as one row each. Task starts and events that are not used are recognised by
their prefix and skipped without being parsed.
"""

from __future__ import annotations

import struct
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any

import msgspec

from engine.errors import BadInput
from engine.sources.access.lines import Lines
from engine.sources.logs import events, plan_events
from engine.sources.logs.application import Application, BadEvent, OtherApplication
from engine.sources.logs.broadcast_joins import JOIN, OTHER_JOINS
from engine.sources.logs.clients import CLIENT_EVENTS, Clients
from engine.sources.logs.partial_aggregates import GROUPING
from engine.sources.logs.plan_events import CACHE_SCAN, NAMED_CACHE_SCAN
from engine.sources.logs.planned_scans import FILES_METRIC, SIZE_METRIC
from engine.sources.logs.python_workers import PYTHON_METRIC, has_start_metrics
from engine.sources.logs.requested_partitions import DEALT_OUT, NAMED_NUMBER, REBALANCED
from engine.sources.logs.running import REMEMBERED_STARTS
from engine.sources.logs.session_settings import SESSION, JobSettings
from engine.sources.logs.task_rows import BUFFER_BYTES, row_of
from engine.sources.logs.written_files import WRITTEN_METRIC

TASK_END = b'{"Event":"SparkListenerTaskEnd"'
TASK_START = b'{"Event":"SparkListenerTaskStart"'
_EVENT = b'{"Event":"'

_STARTS = (b'{"Event":"SparkListenerLogStart"', b'{"Event":"DBCEventLoggingListenerMetadata"')

_APPLICATION = b'{"Event":"SparkListenerApplicationStart"'

_decode_start = msgspec.json.Decoder(events.ApplicationStart).decode
_decode_task_end = msgspec.json.Decoder(events.TaskEnd).decode
_decode_place = msgspec.json.Decoder(events.TaskPlace).decode
_decode_task_start = msgspec.json.Decoder(events.TaskStart).decode
_decode_name = msgspec.json.Decoder(events.NamedEvent).decode
_decode_any = msgspec.json.Decoder(dict[str, Any]).decode

BAD_EVENT = (
    *(msgspec.MsgspecError, UnicodeDecodeError, struct.error, OverflowError, RecursionError),
    BadEvent,
)
"""Exceptions from decoding an event that is damaged or of the wrong shape."""

_PLAN_SIGNS = (
    *(SIZE_METRIC, FILES_METRIC, WRITTEN_METRIC, JOIN, *OTHER_JOINS, GROUPING),
    *(NAMED_NUMBER, REBALANCED, DEALT_OUT),
)
"""One of them is in each query plan that is decoded."""

_CACHE_SIGNS = (f'"{CACHE_SCAN}"'.encode(), f'"{NAMED_CACHE_SCAN}'.encode())
"""One of them is in each plan that reads a cache. The query that fills it lies below."""

MOST_BAD_EVENTS = 100_000
"""Reading stops with an error after this many undecodable lines, if they are the majority."""

LONG_TASK_END = 2048
_ACCUMULABLES, _METRICS = b',"Accumulables":[', b'"Task Metrics":{'
_BEFORE, _AFTER = 24, 56
"""Search window, in bytes, around the position of a key in the previous line."""


class AccumulableStripper:
    """Cuts the accumulables and executor metrics out of a task end before it is parsed.

    They are not used and make up most of a long line; finding where they end is faster than parsing
    them. Neither key can occur inside a string, where its quotes would be escaped. Both stand at
    nearly the same position as in the previous line, give or take a few digits.
    """

    __slots__ = ("_end", "_end_before", "_end_from", "_start", "_start_before", "_start_from")

    def __init__(self) -> None:
        self._set_windows(_BEFORE, _AFTER)

    def _set_windows(self, start: int, tail: int) -> None:
        """Sets the search windows from the keys' positions: bytes from the start and the end."""
        self._start, self._end = start, tail
        self._start_from, self._start_before = max(0, start - _BEFORE), start + _AFTER
        self._end_from, self._end_before = -tail - _BEFORE, min(_AFTER - tail, -1)

    def strip(self, line: bytes) -> bytes:
        """The line without them; unchanged where they are not found."""
        start = line.find(_ACCUMULABLES, self._start_from, self._start_before)
        end = line.rfind(_METRICS, self._end_from, self._end_before)
        if not 0 < start < end:
            start, end = line.find(_ACCUMULABLES), line.rfind(_METRICS)
            if not 0 < start < end:
                return line
            self._set_windows(start, len(line) - end)
        return line[:start] + b"}," + line[end:]


def _events_before(batch: list[bytes]) -> int:
    """How many events of a batch precede the last application start in it."""
    starts = [n for n, line in enumerate(batch) if line.startswith(_STARTS)]
    return starts[-1] if starts else 0


def _starts_in(batch: list[bytes]) -> list[tuple[str | None, int]]:
    """The (id, time) of each application start in a batch of lines."""
    starts = []
    for line in batch:
        if line.startswith(_APPLICATION):
            with suppress(*BAD_EVENT):
                start = _decode_start(line)
                starts.append((start.app_id, start.time_ms))
    return starts


def _rewritten(line: bytes) -> bytes:
    """An event in Spark's own format: its name first, no whitespace between keys and values."""
    return msgspec.json.encode({"Event": _decode_name(line).name, **_decode_any(line)})


def _normalised(line: bytes) -> bytes:
    """The line in Spark's own format; unchanged where it is so already, or is no event."""
    with suppress(*BAD_EVENT):
        return line if line.startswith(_EVENT) else _rewritten(line)
    return line


Handler = Callable[[Application, bytes], None]


def _handler(kind: Any, method: Callable[[Application, Any], None]) -> Handler:
    decode = msgspec.json.Decoder(kind).decode
    return lambda application, line: method(application, decode(line))


def _client_handler(kind: Any, method: Callable[[Clients, Any], None]) -> Handler:
    decode = msgspec.json.Decoder(kind).decode
    return lambda application, line: method(application.clients, decode(line))


_decode_job = msgspec.json.Decoder(events.JobStart).decode
_decode_settings = msgspec.json.Decoder(JobSettings).decode
_decode_stage = msgspec.json.Decoder(events.StageEvent).decode
_decode_completed = msgspec.json.Decoder(events.StageCompleted).decode
_decode_metrics = msgspec.json.Decoder(plan_events.StageMetrics).decode
_decode_sql_start = msgspec.json.Decoder(events.SqlExecutionStart).decode
_decode_plan = msgspec.json.Decoder(plan_events.SqlPlan).decode
_decode_driver_metrics = msgspec.json.Decoder(plan_events.DriverMetrics).decode


def _job_start(application: Application, line: bytes) -> None:
    application.job_start(_decode_job(line))
    if SESSION in line:
        application.session.job_started(_decode_settings(line))


def _stage_submitted(application: Application, line: bytes) -> None:
    event = _decode_stage(line)
    application.stage_submitted(event, line)
    application.stages[event.info.stage].watch_workers()


def _stage_completed(application: Application, line: bytes) -> None:
    event = _decode_completed(line)
    if not application.submission_seen(event.info.stage):
        application.stage_submitted(_decode_stage(line), line)
    application.stage_completed(event)
    _stage_metrics(application, line)


def _stage_metrics(application: Application, line: bytes) -> None:
    """Applies the metrics of a completed stage: Python workers, scans, joins, writes, aggregates.
    They are decoded only where one of these is present, since they are long."""
    python = PYTHON_METRIC in line
    if not (python or any(tracker.any_planned for tracker in application.plan_trackers)):
        return
    info = _decode_metrics(line).info
    if python:
        application.stage_of(info.stage).ran_python(
            starts_reported=has_start_metrics(info.accumulables)
        )
    application.stage_metrics(info)


def _sql_start(application: Application, line: bytes) -> None:
    application.sql_start(_decode_sql_start(line))
    _sql_plan(application, line)


def _sql_plan(application: Application, line: bytes) -> None:
    """Applies a query plan that scans or writes files, joins, aggregates or names a number of
    partitions. A plan nested too deeply to decode is skipped and does not count as a bad event."""
    if not any(sign in line for sign in _PLAN_SIGNS):
        return
    with suppress(RecursionError):
        reads_cache = any(sign in line for sign in _CACHE_SIGNS)
        application.sql_plan(_decode_plan(line), reads_cache=reads_cache)


def _driver_metrics(application: Application, line: bytes) -> None:
    if application.scans.any_planned or application.writes.any_planned:
        updates = _decode_driver_metrics(line).updates
        application.scans.driver_metrics_updated(updates)
        application.writes.driver_metrics_updated(updates)


_HANDLERS: dict[bytes, Handler] = {
    b"SparkListenerLogStart": _handler(events.LogStart, Application.log_start),
    b"DBCEventLoggingListenerMetadata": _handler(events.LogStart, Application.log_start),
    b"SparkListenerApplicationStart": _handler(
        events.ApplicationStart, Application.application_start
    ),
    b"SparkListenerApplicationEnd": _handler(events.ApplicationEnd, Application.application_end),
    b"SparkListenerEnvironmentUpdate": _handler(events.Environment, Application.environment),
    b"SparkListenerResourceProfileAdded": _handler(
        events.ResourceProfileAdded, Application.resource_profile
    ),
    b"SparkListenerExecutorAdded": _handler(events.ExecutorAdded, Application.executor_added),
    b"SparkListenerExecutorRemoved": _handler(events.ExecutorRemoved, Application.executor_removed),
    b"SparkListenerBlockManagerAdded": _handler(
        events.BlockManagerAdded, Application.block_manager_added
    ),
    b"SparkListenerBlockManagerRemoved": _handler(
        events.BlockManagerRemoved, Application.block_manager_removed
    ),
    b"SparkListenerBlockUpdated": _handler(events.BlockUpdated, Application.block_updated),
    b"SparkListenerUnpersistRDD": _handler(events.UnpersistRdd, Application.unpersisted),
    b"SparkListenerJobStart": _job_start,
    b"SparkListenerJobEnd": _handler(events.JobEnd, Application.job_end),
    b"SparkListenerStageSubmitted": _stage_submitted,
    b"SparkListenerStageCompleted": _stage_completed,
    b"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart": _sql_start,
    b"org.apache.spark.sql.execution.ui.SparkListenerSQLAdaptiveExecutionUpdate": _sql_plan,
    b"org.apache.spark.sql.execution.ui.SparkListenerDriverAccumUpdates": _driver_metrics,
    b"org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionEnd": _handler(
        events.SqlExecutionEnd, Application.sql_end
    ),
    b"org.apache.spark.sql.streaming.StreamingQueryListener$QueryProgressEvent": _handler(
        events.QueryProgressEvent, Application.query_progress
    ),
    **{name: _client_handler(kind, method) for name, kind, method in CLIENT_EVENTS},
}


class EventLog:
    """Reads the parts of one log, in order, into an `Application`.

    `read_events` counts events, `bad_events` those that could not be decoded. Where the events of
    another application follow, they are not read and `other_application` is true; `repeated` is
    true if it is the same application, logged twice in the file. `starts` are the last task start
    lines, undecoded; they show which tasks were running where the log breaks off.
    """

    def __init__(self) -> None:
        self.application = Application()
        self.read_events = 0
        self.bad_events = 0
        self.too_long = 0
        self.torn_parts = 0
        self.other_application = self.repeated = False
        self.starts: deque[bytes] = deque(maxlen=REMEMBERED_STARTS)
        self.last_ends: dict[str, int] = {}
        self._stripper = AccumulableStripper()

    def read(self, chunks: Iterable[bytes], name: str) -> None:
        """Reads one part, given as decompressed chunks.

        Raises:
            BadInput: when it has no lines at all.
        """
        if self.other_application:
            return
        lines = Lines(chunks, name)
        for batch in lines.batches():
            if not self._read_own(batch):
                return
            if self.bad_events > MOST_BAD_EVENTS and 2 * self.bad_events > self.read_events:
                raise BadInput(
                    f"not a readable event log: {self.bad_events} of {self.read_events} lines "
                    "are no events",
                    where=name,
                    remedy="give a file that Spark wrote",
                )
        self.too_long += lines.too_long
        if lines.torn.strip():
            self._read_last_line(lines.torn)
        self.application.summarise_completed()

    def _read_last_line(self, line: bytes) -> None:
        """Reads a last line without a line end, which may be truncated or complete."""
        try:
            _decode_name(line)
        except BAD_EVENT:
            self.torn_parts += 1
        else:
            self._read_own([line])

    def _read_own(self, lines: list[bytes]) -> bool:
        """Reads lines up to the start of another application; returns False if there is one."""
        try:
            self._read_lines(lines)
        except OtherApplication:
            lines = [_normalised(line) for line in lines]
            before = _events_before(lines)
            self.repeated = self.application.reported_start in _starts_in(lines[before:])
            self.other_application = True
            self.read_events += before
        return not self.other_application

    def _read_lines(self, lines: list[bytes]) -> None:
        """The hot loop; attribute lookups are hoisted out of it."""
        application = self.application
        executors, tasks_of = application.executors, application.tasks
        other, special, strip = self._other, self._special, self._stripper.strip
        remember, last_ends = self.starts.append, self.last_ends
        cold, sized = executors.cold_tasks, executors.sized
        for line in lines:
            try:
                if line.startswith(TASK_END):
                    event = _decode_task_end(strip(line) if len(line) > LONG_TASK_END else line)
                    tasks = tasks_of.get(event.stage) or application.stage_of(event.stage).tasks
                    tasks.last_end = line
                    if tasks.workers is not None:
                        tasks.workers.task_ended(line)
                    buffer = tasks.buffer
                    buffer += row_of(event, cold=event.info.task_id in cold)
                    if len(buffer) >= BUFFER_BYTES:
                        tasks.flush()
                    if application.decommissioning:
                        last_ends[event.info.executor] = event.info.finish_ms
                    metrics = event.metrics
                    counts = executors.starts_to_read > 0 or event.info.executor not in sized
                    if counts or (metrics and metrics.updated_blocks):
                        special(event, line)
                elif not line.startswith(TASK_START):
                    other(line)
                else:
                    remember(line)
                    if executors.starts_to_read > 0:
                        application.task_start(_decode_task_start(line))
            except BAD_EVENT as problem:
                self._recover(line, problem)
        self.read_events += len(lines)

    def _recover(self, line: bytes, problem: Exception) -> None:
        """Counts an undecodable line as bad. A line whose only fault is text that is not UTF-8 is
        read with replacement characters: Spark before 3.0 wrote in the platform's charset, which
        the log does not name."""
        if isinstance(problem, UnicodeDecodeError):
            with suppress(*BAD_EVENT):
                return self._other(line.decode("utf-8", errors="replace").encode())
        self.bad_events += 1
        return None

    def _special(self, event: events.TaskEnd, line: bytes) -> None:
        """Handles task ends that matter for warm-up, show how many tasks an executor of unknown
        cores runs at once and where, or report updated blocks."""
        self.application.task_end(event)
        executor = self.application.executors.of(event.info.executor)
        if not executor.host:
            with suppress(*BAD_EVENT):
                executor.host = _decode_place(line).info.host
        metrics = event.metrics
        for block in (metrics.updated_blocks if metrics is not None else None) or ():
            status = block.status
            size = max(0, status.memory_bytes) or status.disk_bytes
            on_disk = status.memory_bytes <= 0
            self.application.blocks.update(
                block.block, size, on_disk=on_disk, executor=event.info.executor
            )

    def _other(self, line: bytes) -> None:
        """Handles any line other than a task start or end in Spark's own format."""
        if not line.startswith(_EVENT):
            return self._other_formatting(line)
        handler = _HANDLERS.get(line[len(_EVENT) : line.find(b'"', len(_EVENT))])
        return None if handler is None else handler(self.application, line)

    def _other_formatting(self, line: bytes) -> None:
        """Reads an event with other whitespace or key order, as some tools write it, after
        rewriting it in Spark's own format: some handlers search the raw text."""
        if line.strip():
            self._read_lines([_rewritten(line)])
        self.read_events -= 1  # a blank line is no event; any other has been counted above
