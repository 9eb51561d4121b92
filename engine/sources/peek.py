"""A quick preview of a source: application, duration, cores, input, completeness.

Small logs are read completely. Of a large one only the first and the last part are read: the first
has the application, its Spark version and its initial executors, the last has its end.
"""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from engine.errors import EngineError
from engine.profile import Run
from engine.sources.access import codecs
from engine.sources.access.address import is_history_server
from engine.sources.access.folders import ROLLING_PART, LogFiles, log_of, logs_among
from engine.sources.access.remote import RemotePlace, local_path, scheme_of
from engine.sources.distilling.distill import distil
from engine.sources.distilling.settings import spark_version
from engine.sources.logs.application import Application
from engine.sources.logs.eventlog import EventLog
from engine.sources.reader import EVENT_LOG, Open, kind_of
from engine.sources.samples import sample_files, sample_named

WHOLE_BYTES = 16 << 20
"""Logs up to this size are read completely, in some hundredths of a second."""

WHOLE_REMOTE_BYTES = 4 << 20
"""The same limit for remote sources, of which the end of a large log is not read."""

TAIL_BYTES = 1 << 20
UNPACKED_BYTES = 256 << 20
"""Limit of the search for the end of a compressed log, which must be unpacked to get there."""

_RUNNING = ".inprogress"
_CUT = "only its first and last part was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peek:
    """The preview of a source; None means unknown.

    Args:
        kind: kind of the source, such as "event log"; None if it is no SOURCE.
        name: name of the application.
        spark_version: version that wrote the log.
        seconds: from the application's start to its end, or to the last event of an unfinished one.
        cores: cores of all executors; of a large log the initial ones.
        input_bytes: bytes that the application read from sources.
        complete: whether the application ended by itself.
        whole: whether all of the log was read; otherwise there may be more cores.
    """

    kind: str | None = None
    name: str | None = None
    spark_version: str | None = None
    seconds: float | None = None
    cores: int | None = None
    input_bytes: float | None = None
    complete: bool | None = None
    whole: bool = False


NOTHING = Peek()


def peek(source: str | Path) -> Peek:
    """Previews a file, a rolling folder or a sample; never raises.

    It takes at most some tenths of a second and a few megabytes; for a remote path, the time to
    fetch its first bytes.
    """
    try:
        named = str(source)
        path = local_path(named)
        if path is None and scheme_of(named):
            return NOTHING if is_history_server(named) else _peek_remote(named)
        if codecs.is_zip(path or Path(named)):
            return _peek_zip(path or Path(named))
        files = _files_of(named if path is None else str(path))
        return NOTHING if files is None else _peek_files(files, codecs.open_path)
    except (EngineError, OSError, ValueError):
        return NOTHING


def _files_of(source: str) -> LogFiles | None:
    path = Path(source)
    if path.is_dir():
        return log_of(path)
    if path.is_file():
        return LogFiles(source, (path,))
    sample = sample_named(source)
    if sample is None or path.exists():
        return None
    first = Path(str(sample_files(sample)[0]))
    return log_of(first) if first.is_dir() else LogFiles(source, (first,))


def _peek_zip(path: Path) -> Peek:
    """Previews the log in a zip by its beginning."""
    from engine.sources.access.archives import stored_archive

    with stored_archive(path) as archive:
        names = archive.names()
        logs = logs_among(names)

        def open_part(part: Path) -> codecs.Stream:
            return codecs.Stream(cast(BinaryIO, archive.open(names[part])), str(path))

        return _peek_files(logs[0], open_part, remote=True) if len(logs) == 1 else NOTHING


def _peek_remote(source: str) -> Peek:
    remote = RemotePlace(source)
    logs = remote.logs() if remote.is_folder else [LogFiles(source, (remote.path,))]

    def open_part(path: Path) -> codecs.Stream:
        return codecs.Stream(cast(BinaryIO, remote.open(path)), str(path))

    return _peek_files(logs[0], open_part, remote=True) if len(logs) == 1 else NOTHING


def _peek_files(files: LogFiles, open_part: Open, *, remote: bool = False) -> Peek:
    log, budget = EventLog(), _Budget(WHOLE_REMOTE_BYTES if remote else WHOLE_BYTES)
    for path in files.parts:
        with open_part(path) as stream:
            chunks = stream.chunks()
            head = next(chunks, b"").removeprefix(BOM_UTF8)
            if path is files.parts[0]:
                kind = kind_of(head[: 1 << 16])
                if kind != EVENT_LOG and not ROLLING_PART.match(path.name):
                    return Peek(kind=kind)
            log.read(budget.take(head, chunks), str(path))
        if not budget.left:
            break
    whole = budget.left > 0
    tail = None if whole or remote else _tail(files.parts[-1])
    if tail is not None:
        log.read([tail], files.name)
    return _peek_of(log, files, whole=whole, to_the_end=whole or tail is not None)


class _Budget:
    """Passes chunks on until a number of bytes is used up."""

    def __init__(self, size: int) -> None:
        self.left = size

    def take(self, head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
        chunk = head
        while chunk and self.left > 0:
            self.left = max(0, self.left - len(chunk))
            yield chunk
            chunk = next(chunks, b"")


def _tail(path: Path) -> bytes | None:
    """The complete lines in the last part of a file; None if its end is beyond the limit."""
    with path.open("rb") as file:
        plain = kind_of(file.read(1 << 16)) is not None
        if plain:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            end = file.read(TAIL_BYTES)
        else:
            with codecs.open_path(path) as stream:
                last = _last_bytes(stream.chunks())
            if last is None:
                return None
            end = last
    return end[end.find(b"\n") + 1 :]


def _last_bytes(chunks: Iterator[bytes]) -> bytes | None:
    chunks_kept: deque[bytes] = deque()
    kept_bytes = seen_bytes = 0
    for chunk in chunks:
        chunks_kept.append(chunk)
        kept_bytes += len(chunk)
        seen_bytes += len(chunk)
        if seen_bytes > UNPACKED_BYTES:
            return None
        while kept_bytes - len(chunks_kept[0]) > TAIL_BYTES:
            kept_bytes -= len(chunks_kept.popleft())
    return b"".join(chunks_kept)


def _peek_of(log: EventLog, files: LogFiles, *, whole: bool, to_the_end: bool) -> Peek:
    application = log.application
    try:
        runs: Sequence[Run] = distil(
            log, source="", where=files.name, lost=files.lost if whole else (_CUT,)
        ).runs
    except EngineError:  # no task has finished in what was read
        runs = ()
    sizes = [run.workload.input_bytes for run in runs if run.workload.input_bytes is not None]
    return Peek(
        kind=EVENT_LOG,
        name=application.name,
        spark_version=spark_version(application),
        seconds=_seconds(application, runs) if to_the_end else None,
        cores=_cores(application, runs),
        input_bytes=sum(sizes) if whole and sizes else None,
        complete=_complete(application, files, runs if whole else (), to_the_end=to_the_end),
        whole=whole,
    )


def _seconds(application: Application, runs: Sequence[Run]) -> float | None:
    start = application.started_ms or application.first_ms
    end = application.ended_ms or application.last_ms
    longest = runs[0].seconds if len(runs) == 1 else 0.0
    if start is not None and end > start:
        longest = max(longest, (end - start) / 1000.0)
    return longest or None


def _cores(application: Application, runs: Sequence[Run]) -> int | None:
    if runs and runs[0].cluster.slots:
        return runs[0].cluster.slots
    cores_of = [e.cores for e in application.executors.by_id.values() if e.removed_ms is None]
    known = [cores for cores in cores_of if cores is not None]
    return sum(known) if known and len(known) == len(cores_of) else None


def _complete(
    application: Application, files: LogFiles, runs: Sequence[Run], *, to_the_end: bool
) -> bool | None:
    """Whether the application ended and, where all of the log was read, nothing of it is lost."""
    lost = any(run.lost for run in runs)
    if application.ended_ms is not None:
        return not lost
    databricks = "Databricks" in (spark_version(application) or "")  # its logs have no end
    if _marked_running(files) or (to_the_end and not databricks):
        return False
    return None


def _marked_running(files: LogFiles) -> bool:
    """Whether a file name has Spark's mark of a running application; unmarked ones may run too."""
    folder = Path(files.name)
    marked = folder.glob(f"appstatus_*{_RUNNING}") if folder.is_dir() else ()
    return any(path.name.endswith(_RUNNING) for path in (*files.parts, *marked))
