"""Entries of the open dialog and their rows: samples, files, folders, applications of a server."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import engine
from tui import format as text
from tui.log_watcher import RUNNING
from tui.screens.picker import MAX_MATCHES, Option
from tui.storage.user_folders import expand_home
from tui.widgets.numbers import bytes_text
from tui.widgets.table import Cell, Column, Row

ROLLING_PREFIX = "eventlog_v2_"
"""Spark's name for the folder of a rolling log, which is one log."""

COLUMNS = (
    Column(title="  file", shrink=True, least=25),
    Column(title="application", width=22, shrink=True, least=12, priority=1),
    Column(title="time", align="right", priority=2),
    Column(title="state", priority=3),
    Column(title="cores", align="right", priority=6),
    Column(title="input", align="right", priority=4),
    Column(title="Spark", shrink=True, least=5, priority=7),
    Column(title="size", align="right", priority=8),
)

MARK = "•"

MAX_FETCHED = 40
"""Files of a store whose beginning is fetched to peek into it."""


@dataclass(frozen=True)
class Entry(Option):
    """Something to open.

    Args:
        stamp: changes with the content; None for entries without a peek.
        known: what is known without a peek.
        folder: entered, not opened.
        sample: bundled.
    """

    size: str = ""
    stamp: tuple[int, int] | None = None
    known: engine.Peek | None = None
    folder: bool = False
    sample: bool = False

    @property
    def key(self) -> tuple[str, tuple[int, int] | None]:
        """Key of the cached peek."""
        return (self.value, self.stamp)

    @property
    def names(self) -> tuple[str, ...]:
        """Texts that the search matches."""
        return (self.label, self.known.name or "") if self.known else (self.label,)


def sample_entries() -> list[Entry]:
    return [
        Entry(s.name, s.name, f"sample: {s.shows}", stamp=(0, 0), sample=True)
        for s in engine.list_samples()
    ]


def application_entries(applications: Sequence[engine.HistoryApplication]) -> list[Entry]:
    """The applications of a history server."""
    entries = []
    for application in applications:
        known = engine.Peek(
            kind="event log",
            name=application.name,
            spark_version=application.spark_version,
            seconds=application.seconds,
            cores=application.cores,
            complete=application.complete,
            whole=True,
        )
        entries.append(
            Entry(
                application.source, application.app_id, _start_description(application), known=known
            )
        )
    return entries


def remote_entries(remote: Sequence[engine.RemoteEntry]) -> list[Entry]:
    """The content of a remote folder; the first files and rolling logs are peeked into."""
    entries, looked = list[Entry](), 0
    for entry in remote:
        if entry.folder and not entry.name.startswith(ROLLING_PREFIX):
            entries.append(Entry(f"{entry.source}/", f"{entry.name}/", "folder", folder=True))
            continue
        looked += 1
        stamp = (entry.size_bytes or 0, 1) if looked <= MAX_FETCHED else None
        if entry.folder:
            entries.append(Entry(entry.source, f"{entry.name}/", "rolling log", stamp=stamp))
        else:
            size = _size(entry.size_bytes or 0)
            entries.append(Entry(entry.source, entry.name, size=size, stamp=stamp))
    return entries


def _start_description(application: engine.HistoryApplication) -> str:
    """The start time, which distinguishes the runs of one job."""
    if application.started_ms is None:
        return application.name
    moment = datetime.fromtimestamp(application.started_ms / 1000, UTC)
    return f"{application.name}, started {moment:%Y-%m-%d %H:%M} UTC"


class Listing:
    """The entries of folders, each folder read once until it changes."""

    def __init__(self, here: Path) -> None:
        self._here = here
        self._names: dict[Path, tuple[int, list[tuple[str, bool]]]] = {}

    def entries(self, typed: str) -> tuple[list[Entry], int]:
        """Entries of the folder of `typed` that begin with its last part, folders first; and how
        many more there are."""
        expanded = expand_home(typed)
        inside = typed.endswith("/") or not typed
        folder, prefix = (expanded, "") if inside else (expanded.parent, expanded.name)
        names = [
            (name, is_folder)
            for name, is_folder in self._in(self._here / folder)
            if name.startswith(prefix) and _visible(name, prefix)
        ]
        head = typed[: len(typed) - len(prefix)] if prefix else typed
        shown = names[:MAX_MATCHES]
        matching = [
            _entry(self._here / folder / name, name, head, is_folder=is_folder)
            for name, is_folder in shown
        ]
        return matching, len(names) - len(shown)

    def _in(self, folder: Path) -> list[tuple[str, bool]]:
        """(name, is a folder), folders first, by name."""
        try:
            changed = folder.stat().st_mtime_ns
            cached = self._names.get(folder)
            if cached is not None and cached[0] == changed:
                return cached[1]
            with os.scandir(folder) as entries:
                names = [(entry.name, entry.is_dir()) for entry in entries]
        except (OSError, ValueError):
            return []
        names.sort(key=lambda entry: (not entry[1], entry[0].lower()))
        self._names[folder] = (changed, names)
        return names


def _visible(name: str, prefix: str) -> bool:
    """Whether an entry is shown: hidden ones only after a dot is typed."""
    return prefix.startswith(".") or not name.startswith((".", "__pycache__"))


def _entry(path: Path, name: str, head: str, *, is_folder: bool) -> Entry:
    try:
        status = path.stat()
    except OSError:
        return Entry(f"{head}{name}", name, "cannot be read")
    stamp = (status.st_size, status.st_mtime_ns)
    if not is_folder:
        return Entry(f"{head}{name}", name, size=_size(status.st_size), stamp=stamp)
    if name.startswith(ROLLING_PREFIX):
        # Its own size and time do not tell of a part that grows.
        stamp = (_content_size(path), status.st_mtime_ns)
        return Entry(f"{head}{name}", f"{name}/", "rolling log", stamp=stamp)
    return Entry(f"{head}{name}/", f"{name}/", "folder", folder=True)


def _content_size(folder: Path) -> int:
    """Bytes of the files in a folder; 0 if it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            return sum(entry.stat().st_size for entry in entries)
    except OSError:
        return 0


def may_grow(entry: Entry, peek: engine.Peek | None) -> bool:
    """Whether it may be a local log that Spark still writes."""
    if entry.stamp is None or entry.sample or "://" in entry.value:
        return False
    unended = peek is not None and peek.kind == "event log" and peek.complete is False
    return unended or entry.value.endswith(RUNNING)


def _size(size: float) -> str:
    return bytes_text(float(f"{size:.3g}"))


def row(entry: Entry, peek: engine.Peek | None, *, marked: bool) -> Row:
    """One row of the table; `peek` is None until the entry was peeked into."""
    label: Cell = (f"{MARK if marked else ' '} {entry.label}", "strong" if marked else "plain")
    size: Cell = (entry.size, "muted")
    known = entry.known or peek
    if known is None or known.kind is None:
        description = entry.detail if known is None or entry.detail else text.UNKNOWN
        return (label, (description, "muted"), "", "", "", "", "", size)
    if known.kind != "event log":
        return (label, (entry.detail or known.kind, "muted"), "", "", "", "", "", size)
    return (
        label,
        known.name or text.UNKNOWN,
        text.seconds(known.seconds),
        ("sample", "muted") if entry.sample else _state(known.complete),
        _cores(known),
        text.UNKNOWN if known.input_bytes is None else _size(known.input_bytes),
        known.spark_version or text.UNKNOWN,
        size,
    )


def _state(complete: bool | None) -> Cell:
    if complete is None:
        return text.UNKNOWN
    return "complete" if complete else ("not ended", "warn")


def _cores(peek: engine.Peek) -> str:
    """The number of cores, with a plus where only the beginning of the log was read."""
    if peek.cores is None:
        return text.UNKNOWN
    return f"{peek.cores}{'' if peek.whole else '+'}"
