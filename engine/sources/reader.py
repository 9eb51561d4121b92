"""One source at a time: what it is (by its content, not its name) and what it holds."""

from __future__ import annotations

import re
import sys
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from engine.catalog import InstanceType
from engine.errors import BadInput
from engine.notices import Notice
from engine.sources.access import codecs
from engine.sources.access.address import is_history_server, parse_address
from engine.sources.access.folders import ROLLING_PART, LogFiles, logs_among, logs_in
from engine.sources.access.remote import RemotePlace, local_path, scheme_of
from engine.sources.formats import source_format
from engine.sources.samples import sample_files, sample_named
from engine.sources.source_checks import (
    STDIN,
    UnrecognisedFile,
    is_tar,
    missing_source_error,
    unrecognised_error,
)
from engine.sources.source_contents import (
    SourceContents,
    with_instance_type,
    with_iterations,
    with_notices,
)
from engine.sources.training_manifest import code_notices

if TYPE_CHECKING:
    from engine.sources.access.archives import Archive

ONE_PART = "only one part was given"
FIRST_PARTS = ("events_0_", "events_1_")
"""Beginning of the name of a rolling log's first part: Spark counts from 1, EMR Serverless from 0.
"""

LARGEST_TEXT_BYTES = 256 << 20
"""A larger profile or run table is refused, since it would be kept in memory."""

FEW_CHUNKS = 64
"""The content of a source must begin within this many chunks."""

WORKFLOW = re.compile(rb"^\s*[\"']?format[\"']?\s*:\s*[\"']?sparkplan-workflow", re.MULTILINE)
_EVENT = re.compile(rb"""\s*\{.{0,4096}?"Event"\s*:""", re.DOTALL)
_LATER_EVENT = re.compile(rb"""\n\{"Event":"[\w.$]+",""")

EVENT_LOG = "event log"
Report = Callable[[int, int | None], None]
Part = tuple[codecs.Stream, Iterable[bytes], int]
"""A stream, its chunks, and the number of missing parts before it."""
Open = Callable[[Path], codecs.Stream]
"""Opens a part of a log by its path in `LogFiles`."""


@dataclass(slots=True)
class Reader:
    """Reads sources one after the other and reports progress.

    `report` gets the bytes read so far and in total (None when standard input is among them). An
    exception that it raises ends the reading and reaches the caller. `listed` are the logs of
    folders that were searched before, to get the total.
    """

    ran_on: InstanceType | None = None
    pause_seconds: float | None = None
    report: Report | None = None
    total: int | None = 0
    listed: dict[Path, list[LogFiles]] = field(default_factory=dict)
    done: int = field(default=0, init=False)

    def read(self, source: str) -> list[SourceContents]:
        """The contents of a source: one entry per log, profile or table.

        Raises:
            BadInput: in one line, for anything that cannot be used.
        """
        if source == STDIN:
            file = cast(BinaryIO, sys.stdin.buffer)
            return [self._dispatch(codecs.Stream(file, "standard input", self._progress()))]
        if is_history_server(source):
            return self._history(source)
        path = local_path(source)
        if path is None and scheme_of(source):
            return self._remote(source)
        path = path or Path(source)
        try:
            is_folder, exists = path.is_dir(), path.exists()
        except (OSError, ValueError):
            is_folder = exists = False
        if is_folder:
            return self._folder(path)
        if exists:
            return self._zip(path) if codecs.is_zip(path) else [self._file(path)]
        sample = sample_named(source)
        if sample is None:
            raise missing_source_error(source)
        read = [contents for entry in sample_files(sample) for contents in self.read(str(entry))]
        return [with_iterations(contents, sample.iterations) for contents in read]

    def _folder(self, folder: Path) -> list[SourceContents]:
        logs = self.listed.pop(folder, None)
        contents = self._logs(logs_in(folder) if logs is None else logs, str(folder), self._open)
        return with_notices(contents, code_notices(folder, [entry.source for entry in contents]))

    def _logs(self, logs: Sequence[LogFiles], folder: str, open_part: Open) -> list[SourceContents]:
        """Reads the logs of a folder; other files are skipped and counted."""
        if len(logs) == 1 and len(logs[0].parts) > 1:
            return [self._log(logs[0], open_part)]
        contents: list[SourceContents] = []
        first: BadInput | None = None
        skipped = 0
        for log in logs:
            try:
                contents += self._log_of_several(log, open_part)
            except (BadInput, UnrecognisedFile) as problem:
                skipped += 1
                first = first or _as_bad_input(problem)
        if not contents:
            why = f" ({_first_skipped(first, len(logs))})" if first else ""
            raise BadInput(
                f"holds no event log{why}", where=folder, remedy="give a folder of Spark event logs"
            )
        return with_notices(
            contents, [_skipped_notice(Path(folder), len(logs), skipped, first)] if first else []
        )

    def _log_of_several(self, log: LogFiles, open_part: Open) -> list[SourceContents]:
        """Reads one log of a folder; a zip in a folder may contain several.

        Raises:
            UnrecognisedFile: for a file that is no log.
        """
        if open_part == self._open and len(log.parts) == 1 and codecs.is_zip(log.parts[0]):
            return self._zip(log.parts[0])
        return [self._events(self._parts(log, open_part), log.name, log.lost)]

    def _zip(self, path: Path) -> list[SourceContents]:
        """Reads the logs in a zip, such as a history server's page offers for download."""
        from engine.sources.access.archives import stored_archive

        name = str(path)
        with stored_archive(path) as archive:
            logs, open_part = self._archive_logs(archive, name)
            several = len(logs) > 1
            contents = (
                self._logs(logs, name, open_part) if several else self._archive(archive, name)
            )
        self.done += path.stat().st_size
        return contents

    def _remote(self, source: str) -> list[SourceContents]:
        remote = RemotePlace(source)

        def open_part(path: Path) -> codecs.Stream:
            return self._stream_of(remote.open(path), str(path))

        if remote.is_folder:
            return self._logs(remote.logs(), source.rstrip("/"), open_part)
        if _part_of_rolling(remote.path):
            return [self._log(LogFiles(source, (remote.path,), (ONE_PART,)), open_part)]
        with self._stream_of(remote.open(remote.path), source) as stream:
            return [self._dispatch(stream)]

    def _history(self, source: str) -> list[SourceContents]:
        """Reads the applications that a history server address selects."""
        from engine.sources.access.history_server import HistoryServer

        server = HistoryServer(parse_address(source))
        entries, notices = server.chosen()
        contents, skipped = [], []
        for entry in entries:
            try:
                with server.archive(entry, self._progress()) as archive:
                    contents += self._archive(archive, entry.source)
            except BadInput as problem:
                skipped.append(problem)
        if not contents:
            raise skipped[0]
        if skipped:
            left_out = _skipped_notice(
                Path(entries[0].name), len(entries), len(skipped), skipped[0]
            )
            notices = (*notices, left_out)
        return with_notices(contents, notices)

    def _archive(self, archive: Archive, where: str) -> list[SourceContents]:
        """Reads the logs in a downloaded zip."""
        logs, open_part = self._archive_logs(archive, where)
        if not logs:
            raise BadInput("its archive holds no event log", where=where)
        return [self._log(log, open_part, where) for log in logs]

    def _archive_logs(self, archive: Archive, where: str) -> tuple[list[LogFiles], Open]:
        """The logs in a zip, and the function that opens their parts. Reading these does not
        advance the progress, only the archive as a whole does."""
        report, done = self.report, self.done

        def report_alive(_: int) -> None:
            if report is not None:
                report(done, self.total)

        names = archive.names()

        def open_part(path: Path) -> codecs.Stream:
            member = archive.open(names[path])
            return codecs.Stream(cast(BinaryIO, member), where, report_alive)

        return logs_among(names), open_part

    def _file(self, path: Path) -> SourceContents:
        if not path.is_file() and not path.is_fifo():
            raise BadInput("is not a file", where=str(path), remedy="give a file or a folder")
        if _part_of_rolling(path):
            return self._log(LogFiles(str(path), (path,), (ONE_PART,)), self._open)
        with self._open(path) as stream:
            return self._dispatch(stream)

    def _stream_of(self, file: codecs.ExplainedFile, name: str) -> codecs.Stream:
        return codecs.Stream(cast(BinaryIO, file), name, self._progress())

    def _open(self, path: Path) -> codecs.Stream:
        return codecs.open_path(path, self._progress())

    def _progress(self) -> Callable[[int], None] | None:
        before = self.done
        report = self.report
        if report is None:
            return None

        def advance(position: int) -> None:
            self.done = before + position
            report(self.done, self.total)

        return advance

    def _dispatch(self, stream: codecs.Stream) -> SourceContents:
        """Reads a stream according to the kind that its first bytes show."""
        chunks = stream.chunks()
        head = _first(chunks)
        if not head.strip():
            remedy = "fetch it again" if stream.lost else "give a log, a profile or a run table"
            raise BadInput(stream.lost or "is empty", where=stream.name, remedy=remedy)
        start = head[: 1 << 16]
        everything = chain([head], chunks)
        if _EVENT.match(start):
            return self._events([(stream, everything, 0)], stream.name)
        known = source_format(start)
        # The key of a format tells more than the looks of a text.
        has_key = known is not None and known.key is not None
        if not has_key and WORKFLOW.search(start):
            remedy = "give its file alone to sparkplan workflow, or to the planner"
            if stream.size is None:
                remedy = "save it as a file, beside which the sources of its jobs are looked for"
            raise BadInput("is a workflow, not a job", where=stream.name, remedy=remedy)
        if known is not None:
            contents = known.parse(_text(everything, stream), stream.name)
            return with_instance_type(contents, self.ran_on)
        if _lacks_beginning(start):
            return self._events([(stream, everything, 0)], stream.name)
        raise _as_bad_input(UnrecognisedFile(start, stream.name))

    def _log(self, files: LogFiles, open_part: Open, where: str | None = None) -> SourceContents:
        """Reads a log of one or more parts."""
        try:
            return self._events(self._parts(files, open_part), files.name, files.lost, where)
        except UnrecognisedFile as other:
            raise _as_bad_input(other) from None

    def _parts(self, files: LogFiles, open_part: Open) -> Iterator[Part]:
        missing_before = files.missing_before or (0,) * len(files.parts)
        for path, missing in zip(files.parts, missing_before, strict=True):
            before = self.done
            with open_part(path) as stream:
                chunks = stream.chunks()
                head = _first(chunks)
                start = head[: 1 << 16]
                known = _EVENT.match(start) or _lacks_beginning(start)
                if len(files.parts) == 1 and not known:
                    self.done = max(self.done, before + (stream.size or 0))
                    raise UnrecognisedFile(head, stream.name)
                yield stream, chain([head], chunks), missing

    def _events(
        self, parts: Iterable[Part], name: str, lost: Sequence[str] = (), where: str | None = None
    ) -> SourceContents:
        """Reads the events of a log into runs; `where` is its name in errors if not `name`."""
        parts = iter(parts)
        first = next(parts)  # fails early: most files of a folder may be no logs
        # Imported for logs alone: a run table does not wait for it.
        from engine.sources.distilling.distill import distil
        from engine.sources.distilling.losses import Losses, event_losses, repeated_notices
        from engine.sources.logs.eventlog import EventLog

        log, losses = EventLog(), Losses()
        for stream, chunks, missing in chain([first], parts):
            losses.begin(log)
            log.read(chunks, stream.name)
            losses.end(log, stream, missing_before=missing)
        broken = [*losses.part_losses(lost, log.read_events), *losses.texts, *event_losses(log)]
        distilled = distil(
            log, source=Path(name).name, where=where or name, lost=broken, ran_on=self.ran_on,
            pause_seconds=self.pause_seconds,
        )  # fmt: skip
        source = Path(name).name
        return SourceContents(
            source, distilled.runs, name=log.application.name, category=distilled.category,
            deadline_seconds=distilled.deadline_seconds, deadlines=distilled.deadlines,
            notices=(*repeated_notices(log, source), *distilled.notices),
        )  # fmt: skip


def _first(chunks: Iterator[bytes]) -> bytes:
    """The first non-blank chunk among the first `FEW_CHUNKS`, without a byte order mark."""
    first = next((chunk for chunk in islice(chunks, FEW_CHUNKS) if chunk.strip()), b"")
    return first.removeprefix(BOM_UTF8)


def kind_of(start: bytes) -> str | None:
    """The kind of a source by its first bytes (`EVENT_LOG`, or that of a `SourceFormat`); None if
    it is none."""
    if _EVENT.match(start):
        return EVENT_LOG
    known = source_format(start)
    return known.kind if known is not None else None


def _lacks_beginning(start: bytes) -> bool:
    """Whether it is a log of which the beginning is missing or damaged; the events in a tar archive
    may be of several."""
    return bool(_LATER_EVENT.search(start)) and not is_tar(start)


def _text(chunks: Iterable[bytes], stream: codecs.Stream) -> str:
    """The whole text of a stream, up to `LARGEST_TEXT_BYTES`."""
    parts, size = [], 0
    for chunk in chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > LARGEST_TEXT_BYTES:
            raise BadInput(
                f"is larger than {LARGEST_TEXT_BYTES >> 20} MiB", where=stream.name,
                remedy="split it, or give the event logs themselves",
            )  # fmt: skip
    if stream.lost is not None:
        raise BadInput(stream.lost, where=stream.name, remedy="fetch the file again")
    try:
        return b"".join(parts).decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise BadInput(
            f"byte {problem.start} is not UTF-8", where=stream.name, remedy="save it as UTF-8"
        ) from None


def _part_of_rolling(path: Path) -> bool:
    return bool(ROLLING_PART.match(path.name)) and not path.name.startswith(FIRST_PARTS)


def _skipped_notice(folder: Path, total: int, skipped: int, first: BadInput) -> Notice:
    name = folder.name or folder.resolve().name or str(folder)  # "." has no name of its own
    where = Path(first.where).name if first.where else name
    were = "was" if skipped == 1 else "were"
    return Notice(
        "skipped-files",
        f"{skipped} of {total} files in {name} {were} skipped (first: {where}: {first.what})",
        "give those files by themselves to see what is wrong with each",
    )


def _first_skipped(first: BadInput, total: int) -> str:
    """What is wrong with the first of the files of a folder, none of which is a log."""
    if total == 1 or not first.where:
        return first.what
    return f"first of {total} files: {Path(first.where).name}: {first.what}"


def _as_bad_input(problem: BadInput | UnrecognisedFile) -> BadInput:
    """The problem as an error with a message."""
    if isinstance(problem, BadInput):
        return problem
    kind = "workflow" if WORKFLOW.search(problem.start) else kind_of(problem.start)
    return unrecognised_error(problem.start, problem.name, kind=kind)
