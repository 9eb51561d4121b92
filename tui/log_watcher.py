"""Watches the logs of applications that still run, to read them again when they have grown.

Spark writes `NAME.inprogress` and drops the suffix when the application ends; for a rolling log the
empty file `appstatus_NAME.inprogress` has that role. A folder of logs is watched as long as one of
them is unfinished: what grows, ends or is added then is read again.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tui.storage.read_files import path_of

RUNNING = ".inprogress"

QUIET_SECONDS = 2.0
"""A log is read again only after it has not grown for this long."""

MAX_WAIT_SECONDS = 30.0
"""A log that grows without pause is read again this often."""

INTERVAL_SECONDS = 1.0
"""Interval between looks at the sizes."""


@dataclass(frozen=True)
class SourceChange:
    """The sources to read again, and a notice that says why."""

    sources: tuple[str, ...]
    notice: str


MAX_WATCHED_FILES = 2_000
"""A folder with more files is not watched: a stat of each per second would be a load."""


class LogSnapshot(NamedTuple):
    """Size of unfinished logs at one moment; in a folder all files count, also finished logs."""

    size_bytes: int
    files: int
    running: int


@dataclass
class _FollowedLog:
    source: str
    read: LogSnapshot
    seen: LogSnapshot
    first_change: float | None = None
    last_change: float = 0.0


class LogWatcher:
    """Watches the unfinished logs among the local sources."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sources: tuple[str, ...] = ()
        self._followed: list[_FollowedLog] = []
        self._polling = threading.Lock()

    @property
    def active(self) -> bool:
        """Whether there is anything to watch."""
        return bool(self._followed)

    def follow(self, sources: tuple[str, ...]) -> None:
        """Take the present sizes as those that are read."""
        self._sources = sources
        snapshots = ((source, log_snapshot(source)) for source in sources)
        self._followed = [
            _FollowedLog(source, now, now) for source, now in snapshots if now is not None
        ]

    def watches(self, where: str | None) -> bool:
        """Whether a file or folder, as errors name it, is among what is watched."""
        if where is None:
            return False
        return any(path_of(where).is_relative_to(path_of(log.source)) for log in self._followed)

    def take_seen_as_read(self) -> None:
        """Tell of what is seen already no more, but only of what is written after it: it was not to
        be read, or could not be."""
        for log in self._followed:
            log.read, log.first_change = log.seen, None

    def poll(self) -> SourceChange | None:
        """The change if a log has grown and come to rest, or ended; None while there is nothing
        new. Of two threads at once each change is told to one."""
        with self._polling:
            return self._change()

    def _change(self) -> SourceChange | None:
        now = self._clock()
        for log in self._followed:
            snapshot = log_snapshot(log.source)
            if snapshot is None:
                return self._ended(log)
            if snapshot != log.seen:
                log.seen, log.last_change = snapshot, now
                log.first_change = now if log.first_change is None else log.first_change
        for log in self._followed:
            if log.first_change is None or log.seen == log.read:
                continue
            rests = now - log.last_change >= QUIET_SECONDS
            if rests or now - log.first_change >= MAX_WAIT_SECONDS:
                return SourceChange(
                    self._sources, f"{_name(log.source)} has grown: it was read again"
                )
        return None

    def _ended(self, log: _FollowedLog) -> SourceChange | None:
        """The suffix is gone: the application ended, or the log was removed. A folder that has too
        many files by now is followed no more."""
        self._followed.remove(log)
        final_name = log.source.removesuffix(RUNNING)
        path = path_of(final_name)
        if not os.path.exists(path) or (path.is_dir() and _files(path) is None):
            return None
        self._sources = tuple(final_name if s == log.source else s for s in self._sources)
        return SourceChange(self._sources, f"{_name(final_name)} has ended: it was read again")


def log_snapshot(source: str) -> LogSnapshot | None:
    """The size of an unfinished log (rolling or not), or of a folder with one; None for any other
    source."""
    path = path_of(source)
    try:
        if path.is_dir():
            return _in_folder(path)
        if source.endswith(RUNNING) and path.is_file():
            return LogSnapshot(path.stat().st_size, 1, 1)
    except (OSError, ValueError):
        pass
    return None


def _in_folder(folder: Path) -> LogSnapshot | None:
    paths = _files(folder)
    running = sum(path.endswith(RUNNING) for path in paths or ())
    if paths is None or not running:
        return None
    return LogSnapshot(sum(map(_size, paths)), len(paths), running)


def _files(folder: Path) -> list[str] | None:
    """The paths of all files of a folder; None where they are too many to be watched."""
    paths: list[str] = []
    for folder_path, _, names in os.walk(folder):
        paths += (os.path.join(folder_path, name) for name in names)
        if len(paths) > MAX_WATCHED_FILES:
            return None
    return paths


def _size(path: str) -> int:
    """Size of a file; 0 if it has just been renamed."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _name(source: str) -> str:
    return path_of(source).name
