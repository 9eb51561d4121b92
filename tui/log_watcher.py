"""Logs of applications that still run: when one has grown, it is worth reading again.

Spark writes `NAME.inprogress` and drops the ending when the application is done; of a rolling log
the empty file `appstatus_NAME.inprogress` tells the same. A folder of logs is followed as long as
one of them is unfinished: what grows, ends or joins it then is read again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

RUNNING = ".inprogress"

QUIET_SECONDS = 2.0
"""A log that has just grown grows on: only then is it read."""

MAX_WAIT_SECONDS = 30.0
"""But one that never rests is read this often."""

INTERVAL_SECONDS = 1.0
"""How often the sizes are looked at."""


@dataclass(frozen=True)
class SourceChange:
    """What to read now, and why in words."""

    sources: tuple[str, ...]
    words: str


MAX_WATCHED_FILES = 2_000
"""A folder of more files is not followed: looking at each every second would be a load."""


class LogSnapshot(NamedTuple):
    """What there is of unfinished logs: of a folder all files count, also those that ended."""

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
    """Follows the unfinished logs among the local sources."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sources: tuple[str, ...] = ()
        self._followed: list[_FollowedLog] = []

    @property
    def active(self) -> bool:
        """Whether there is anything to follow."""
        return bool(self._followed)

    def follow(self, sources: tuple[str, ...]) -> None:
        """Take the sizes of now as those that are read."""
        self._sources = sources
        found = ((source, log_snapshot(source)) for source in sources)
        self._followed = [
            _FollowedLog(source, now, now) for source, now in found if now is not None
        ]

    def poll(self) -> SourceChange | None:
        """What has grown and come to rest, or ended; None while there is nothing new."""
        now = self._clock()
        for log in self._followed:
            found = log_snapshot(log.source)
            if found is None:
                return self._ended(log)
            if found != log.seen:
                log.seen, log.last_change = found, now
                log.first_change = now if log.first_change is None else log.first_change
            if log.first_change is None or found == log.read:
                continue
            rests = now - log.last_change >= QUIET_SECONDS
            if rests or now - log.first_change >= MAX_WAIT_SECONDS:
                return SourceChange(
                    self._sources, f"{_name(log.source)} has grown: it was read again"
                )
        return None

    def _ended(self, log: _FollowedLog) -> SourceChange | None:
        """The mark is gone: the application ended, or somebody removed its log."""
        self._followed.remove(log)
        now_called = log.source.removesuffix(RUNNING)
        if not os.path.exists(now_called):
            return None
        sources = tuple(now_called if s == log.source else s for s in self._sources)
        return SourceChange(sources, f"{_name(now_called)} has ended: it was read again")


def log_snapshot(source: str) -> LogSnapshot | None:
    """What grows of a source: an unfinished log, rolling or not, or a folder of logs with one;
    None for any other source."""
    path = Path(source)
    try:
        if path.is_dir():
            return _in_folder(path)
        if source.endswith(RUNNING) and path.is_file():
            return LogSnapshot(path.stat().st_size, 1, 1)
    except (OSError, ValueError):
        pass
    return None


def _in_folder(folder: Path) -> LogSnapshot | None:
    size = files = running = 0
    for place, _, names in os.walk(folder):
        files += len(names)
        if files > MAX_WATCHED_FILES:
            return None
        running += sum(name.endswith(RUNNING) for name in names)
        size += sum(_size(os.path.join(place, name)) for name in names)
    return LogSnapshot(size, files, running) if running else None


def _size(path: str) -> int:
    """0 for a file that has just got another name."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _name(source: str) -> str:
    return Path(source).name
