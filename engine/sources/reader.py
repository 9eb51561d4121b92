"""One source at a time: what it is (by its content, not its name) and what it holds."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO, cast

from engine.catalog import InstanceType
from engine.errors import BadInput, UnknownName
from engine.profile import Notice, OptexProfile, Profile, Run
from engine.sources import codecs, profile_file, run_table
from engine.sources.distill import distil
from engine.sources.eventlog import EventLog
from engine.sources.folders import ROLLING_PART, LogFiles, logs_in
from engine.sources.samples import list_samples, sample_files, sample_named

STDIN = "-"
LONGEST_SHOWN = 100
LARGEST_TEXT_BYTES = 256 << 20
"""A profile or run table larger than this is refused: it would be held in memory."""

_PROFILE = re.compile(rb"^\s*[\"']?format[\"']?\s*:\s*[\"']?sparkplan-profile", re.MULTILINE)
_WORKFLOW = re.compile(rb"^\s*[\"']?format[\"']?\s*:\s*[\"']?sparkplan-workflow", re.MULTILINE)
_EVENT = re.compile(rb"""\s*\{.{0,4096}?"Event"\s*:""", re.DOTALL)
_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+://")

Report = Callable[[int, int | None], None]
Part = tuple[codecs.Stream, Iterable[bytes]]


@dataclass(frozen=True, slots=True)
class Found:
    """What one source gave.

    `unit` is None where its sizes do not say their unit; `origins` are the sources that a profile
    was itself made from.
    """

    source: str
    runs: tuple[Run, ...] = ()
    name: str | None = None
    category: str | None = None
    optex: tuple[OptexProfile, ...] = ()
    unit: str | None = "bytes"
    deadline_seconds: float | None = None
    notices: tuple[Notice, ...] = ()
    profile_sources: tuple[str, ...] = ()

    @property
    def origins(self) -> tuple[str, ...]:
        """What to name as the source of the evidence."""
        return self.profile_sources or (self.source,)


@dataclass(slots=True)
class Reader:
    """Reads sources one after the other and reports how far it is.

    `report` gets the bytes read so far and their total (None when standard input is among them);
    whatever it raises ends the reading and reaches the caller.
    """

    ran_on: InstanceType | None = None
    report: Report | None = None
    total: int | None = 0
    done: int = field(default=0, init=False)

    def read(self, source: str) -> list[Found]:
        """What a source holds: one entry per log, profile or table.

        Raises:
            BadInput: in one line, for anything that cannot be used.
        """
        if source == STDIN:
            return [self._stream(cast(BinaryIO, sys.stdin.buffer), "standard input")]
        path = Path(source)
        try:
            is_folder, exists = path.is_dir(), path.exists()
        except (OSError, ValueError):
            is_folder = exists = False
        if is_folder:
            return self._folder(path)
        if exists:
            return [self._file(path)]
        sample = sample_named(source)
        if sample is None:
            raise _not_there(source)
        return [found for entry in sample_files(sample) for found in self.read(str(entry))]

    def _folder(self, folder: Path) -> list[Found]:
        logs = logs_in(folder)
        if len(logs) == 1 and len(logs[0].parts) > 1:
            return [self._log(logs[0])]
        found, skipped = [], []
        for log in logs:
            try:
                found.append(self._log(log))
            except BadInput as problem:
                skipped.append(problem)
        if not found:
            what = (
                "holds no event log" if not skipped else f"holds no event log ({skipped[0].what})"
            )
            raise BadInput(what, where=str(folder), remedy="give a folder of Spark event logs")
        if skipped:
            notice = _skipped(folder, len(logs), skipped)
            found.append(Found(str(folder), notices=(notice,)))
        return found

    def _file(self, path: Path) -> Found:
        if not path.is_file() and not path.is_fifo():
            raise BadInput("is not a file", where=str(path), remedy="give a file or a folder")
        if _part_of_rolling(path):
            return self._log(LogFiles(str(path), (path,), ("only one part was given",)))
        return self._dispatch(self._open(path))

    def _stream(self, file: BinaryIO, name: str) -> Found:
        return self._dispatch(codecs.Stream(file, name, self._progress()))

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

    def _dispatch(self, stream: codecs.Stream) -> Found:
        """Reads a stream as what its first bytes say it is."""
        chunks = stream.chunks()
        head = next(chunks, b"")
        if not head.strip():
            raise BadInput(
                stream.lost or "is empty", where=stream.name,
                remedy="give an event log, a profile or a run table",
            )  # fmt: skip
        start = head.removeprefix(b"\xef\xbb\xbf")[: 1 << 16]
        if _EVENT.match(start):
            return self._events([(stream, chain([head], chunks))], stream.name)
        everything = chain([head], chunks)
        if _PROFILE.search(start):
            return _profile_found(
                profile_file.parse(_text(everything, stream), stream.name), Path(stream.name).name
            )
        if _WORKFLOW.search(start):
            raise BadInput(
                "is a workflow, not a job", where=stream.name,
                remedy="give its file alone to sparkplan workflow, or to the planner",
            )  # fmt: skip
        if run_table.looks_like(start):
            return _table_found(run_table.parse(_text(everything, stream), stream.name))
        raise _unrecognised(start, stream.name)

    def _log(self, files: LogFiles) -> Found:
        """A log of one or more parts."""
        return self._events(self._parts(files), files.name, files.lost)

    def _parts(self, files: LogFiles) -> Iterator[Part]:
        for path in files.parts:
            stream = self._open(path)
            chunks = stream.chunks()
            head = next(chunks, b"")
            if len(files.parts) == 1 and not _EVENT.match(head[: 1 << 16]):
                raise _unrecognised(head, str(path))
            yield stream, chain([head], chunks)

    def _events(self, parts: Iterable[Part], name: str, lost: Sequence[str] = ()) -> Found:
        log = EventLog()
        broken = list(lost)
        for stream, chunks in parts:
            log.read(chunks, stream.name)
            if stream.lost is not None:
                broken.append(f"{stream.lost} after {log.read_events} events")
        distilled = distil(log, source=Path(name).name, where=name, lost=broken, ran_on=self.ran_on)
        return Found(
            Path(name).name,
            distilled.runs,
            name=log.application.name,
            category=distilled.category,
            deadline_seconds=distilled.deadline_seconds,
        )


def _text(chunks: Iterable[bytes], stream: codecs.Stream) -> str:
    """A whole text, within bounds."""
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


def _profile_found(profile: Profile, source: str) -> Found:
    return Found(
        source, profile.runs, profile.name, profile.category, profile.optex,
        profile.input_unit, profile.deadline_seconds, profile.notices, profile.sources,
    )  # fmt: skip


def _table_found(table: run_table.RunTable) -> Found:
    return Found(
        Path(table.source).name,
        table.runs,
        name=table.name,
        unit=table.unit,
        notices=table.notices,
    )


def _part_of_rolling(path: Path) -> bool:
    return bool(ROLLING_PART.match(path.name)) and not path.name.startswith("events_1_")


def _skipped(folder: Path, total: int, problems: Sequence[BadInput]) -> Notice:
    first = problems[0]
    where = Path(first.where).name if first.where else folder.name
    return Notice(
        "skipped-files",
        f"{len(problems)} of {total} files in {folder.name} hold no run (first: {where}: "
        f"{first.what})",
        "give those files by themselves to see what is wrong with each",
    )


def _not_there(source: str) -> BadInput:
    if _URL.match(source):
        return BadInput(
            "history servers and remote paths are not read by this version",
            where=source.partition("@")[0][:80] if "@" not in source else "URL",
            remedy="download the event log and give the file",
        )
    if "/" in source or "\\" in source or Path(source).suffix:
        return BadInput("no such file", where=source, remedy="check the path")
    shown = source if len(source) <= LONGEST_SHOWN else source[:LONGEST_SHOWN] + "..."
    return UnknownName("file or sample", shown, (sample.name for sample in list_samples()))


def _unrecognised(start: bytes, name: str) -> BadInput:
    if not start.strip():
        return BadInput("is empty", where=name, remedy="give a Spark event log")
    if start.lstrip().startswith((b"<!", b"<html", b"<HTML")):
        what = "is a web page, not an event log"
    else:
        what = "is not an event log, a profile or a run table"
    return BadInput(
        what, where=name,
        remedy="an event log has one JSON event per line, a profile begins with `format:`, a run "
        "table has the columns nodes, input_size and seconds",
    )  # fmt: skip
