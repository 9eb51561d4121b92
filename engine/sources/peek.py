"""A first look at a source: whose log it is, how long it ran, on how much, whether it is whole.

Small logs are read as a whole. Of a large one only the first and the last part are: the first tells
the application, its Spark and the executors it began with, the last one its end.
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
from engine.sources.reader import Kind, Open, kind_of
from engine.sources.samples import sample_files, sample_named

WHOLE_BYTES = 16 << 20
"""Text up to here is read as a whole: some hundredths of a second."""

WHOLE_REMOTE_BYTES = 4 << 20
"""From afar less is fetched, and the end of a large log is not looked for."""

TAIL_BYTES = 1 << 20
UNPACKED_BYTES = 256 << 20
"""The end of a compressed log is looked for up to here: only unpacking leads to it."""

_RUNNING = ".inprogress"
_CUT = "only its first and last part was read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Peek:
    """What the first look told; None is not known.

    Args:
        kind: what it is; None for what no SOURCE can be.
        name: of the application.
        spark_version: that wrote the log.
        seconds: from the application's start to its end, or to the last event of an unfinished one.
        cores: of all executors; of a large log those that it began with.
        input_bytes: read by the application from outside.
        complete: whether the application ended by itself.
        whole: whether all of the log was read; otherwise there may be more cores.
    """

    kind: Kind | None = None
    name: str | None = None
    spark_version: str | None = None
    seconds: float | None = None
    cores: int | None = None
    input_bytes: float | None = None
    complete: bool | None = None
    whole: bool = False


NOTHING = Peek()


def peek(source: str | Path) -> Peek:
    """A first look at a file, a rolling folder or a sample; never an error.

    It costs at most some tenths of a second and a few megabytes, of a remote path what fetching
    its first bytes takes.
    """
    try:
        named = str(source)
        path = local_path(named)
        if path is None and scheme_of(named):
            return NOTHING if is_history_server(named) else _look_remote(named)
        if codecs.is_zip(path or Path(named)):
            return _look_zip(path or Path(named))
        files = _files(named if path is None else str(path))
        return NOTHING if files is None else _look(files, codecs.open_path)
    except (EngineError, OSError, ValueError):
        return NOTHING


def _files(source: str) -> LogFiles | None:
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


def _look_zip(path: Path) -> Peek:
    """The log in a zip, read from its beginning alone."""
    from engine.sources.access.archives import stored_archive

    with stored_archive(path) as archive:
        names = archive.names()
        logs = logs_among(names)

        def opened(part: Path) -> codecs.Stream:
            return codecs.Stream(cast(BinaryIO, archive.open(names[part])), str(path))

        return _look(logs[0], opened, remote=True) if len(logs) == 1 else NOTHING


def _look_remote(source: str) -> Peek:
    place = RemotePlace(source)
    logs = place.logs() if place.is_folder else [LogFiles(source, (place.path,))]

    def opened(path: Path) -> codecs.Stream:
        return codecs.Stream(cast(BinaryIO, place.open(path)), str(path))

    return _look(logs[0], opened, remote=True) if len(logs) == 1 else NOTHING


def _look(files: LogFiles, opened: Open, *, remote: bool = False) -> Peek:
    log, budget = EventLog(), _Budget(WHOLE_REMOTE_BYTES if remote else WHOLE_BYTES)
    for path in files.parts:
        with opened(path) as stream:
            chunks = stream.chunks()
            head = next(chunks, b"").removeprefix(BOM_UTF8)
            if path is files.parts[0]:
                kind = kind_of(head[: 1 << 16])
                if kind != "event log" and not ROLLING_PART.match(path.name):
                    return Peek(kind=kind)
            log.read(budget.within(head, chunks), str(path))
        if not budget.left:
            break
    whole = budget.left > 0
    tail = None if whole or remote else _tail(files.parts[-1])
    if tail is not None:
        log.read([tail], files.name)
    return _told(log, files, whole=whole, to_the_end=whole or tail is not None)


class _Budget:
    """Hands chunks on until so many bytes are used up."""

    def __init__(self, size: int) -> None:
        self.left = size

    def within(self, head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
        chunk = head
        while chunk and self.left > 0:
            self.left = max(0, self.left - len(chunk))
            yield chunk
            chunk = next(chunks, b"")


def _tail(path: Path) -> bytes | None:
    """The complete lines in the last part of a file; None where its end is too far away."""
    with path.open("rb") as file:
        plain = kind_of(file.read(1 << 16)) is not None
        if plain:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            end = file.read(TAIL_BYTES)
        else:
            with codecs.open_path(path) as stream:
                found = _last_bytes(stream.chunks())
            if found is None:
                return None
            end = found
    return end[end.find(b"\n") + 1 :]


def _last_bytes(chunks: Iterator[bytes]) -> bytes | None:
    kept: deque[bytes] = deque()
    held = seen = 0
    for chunk in chunks:
        kept.append(chunk)
        held += len(chunk)
        seen += len(chunk)
        if seen > UNPACKED_BYTES:
            return None
        while held - len(kept[0]) > TAIL_BYTES:
            held -= len(kept.popleft())
    return b"".join(kept)


def _told(log: EventLog, files: LogFiles, *, whole: bool, to_the_end: bool) -> Peek:
    application = log.application
    try:
        runs: Sequence[Run] = distil(
            log, source="", where=files.name, lost=files.lost if whole else (_CUT,)
        ).runs
    except EngineError:  # nothing has finished yet, in what was read
        runs = ()
    sizes = [run.workload.input_bytes for run in runs if run.workload.input_bytes is not None]
    return Peek(
        kind="event log",
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
    told = [e.cores for e in application.executors.values() if e.removed_ms is None]
    known = [cores for cores in told if cores is not None]
    return sum(known) if known and len(known) == len(told) else None


def _complete(
    application: Application, files: LogFiles, runs: Sequence[Run], *, to_the_end: bool
) -> bool | None:
    """Whether the application ended and, where all of it was read, nothing of the log is lost."""
    lost = any(run.lost for run in runs)
    if application.ended_ms is not None:
        return not lost
    databricks = "Databricks" in (spark_version(application) or "")  # its logs have no end
    if _marked_running(files) or (to_the_end and not databricks):
        return False
    return None


def _marked_running(files: LogFiles) -> bool:
    """Spark marks what still runs in the name; what carries no mark may be either."""
    folder = Path(files.name)
    marked = folder.glob(f"appstatus_*{_RUNNING}") if folder.is_dir() else ()
    return any(path.name.endswith(_RUNNING) for path in (*files.parts, *marked))
