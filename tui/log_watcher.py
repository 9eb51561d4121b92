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

LONGEST_WAIT_SECONDS = 30.0
"""But one that never rests is read this often."""

EVERY_SECONDS = 1.0
"""How often the sizes are looked at."""


@dataclass(frozen=True)
class Grown:
    """What to read now, and why in words."""

    sources: tuple[str, ...]
    words: str


MOST_WATCHED = 2_000
"""A folder of more files is not followed: looking at each every second would be a load."""


class Unfinished(NamedTuple):
    """What there is of unfinished logs: of a folder all files count, also those that ended."""

    size_bytes: int
    files: int
    running: int


@dataclass
class _Followed:
    source: str
    read: Unfinished
    seen: Unfinished
    first_change: float | None = None
    last_change: float = 0.0


class Watch:
    """Follows the unfinished logs among the local sources."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._sources: tuple[str, ...] = ()
        self._followed: list[_Followed] = []

    @property
    def active(self) -> bool:
        """Whether there is anything to follow."""
        return bool(self._followed)

    def follow(self, sources: tuple[str, ...]) -> None:
        """Take the sizes of now as those that are read."""
        self._sources = sources
        found = ((source, unfinished(source)) for source in sources)
        self._followed = [_Followed(source, now, now) for source, now in found if now is not None]

    def poll(self) -> Grown | None:
        """What has grown and come to rest, or ended; None while there is nothing new."""
        now = self._clock()
        for log in self._followed:
            found = unfinished(log.source)
            if found is None:
                return self._ended(log)
            if found != log.seen:
                log.seen, log.last_change = found, now
                log.first_change = now if log.first_change is None else log.first_change
            if log.first_change is None or found == log.read:
                continue
            rests = now - log.last_change >= QUIET_SECONDS
            if rests or now - log.first_change >= LONGEST_WAIT_SECONDS:
                return Grown(self._sources, f"{_name(log.source)} has grown: it was read again")
        return None

    def _ended(self, log: _Followed) -> Grown | None:
        """The mark is gone: the application ended, or somebody removed its log."""
        self._followed.remove(log)
        now_called = log.source.removesuffix(RUNNING)
        if not os.path.exists(now_called):
            return None
        sources = tuple(now_called if s == log.source else s for s in self._sources)
        return Grown(sources, f"{_name(now_called)} has ended: it was read again")


def unfinished(source: str) -> Unfinished | None:
    """What grows of a source: an unfinished log, rolling or not, or a folder of logs with one;
    None for any other source."""
    path = Path(source)
    try:
        if path.is_dir():
            return _in_folder(path)
        if source.endswith(RUNNING) and path.is_file():
            return Unfinished(path.stat().st_size, 1, 1)
    except (OSError, ValueError):
        pass
    return None


def _in_folder(folder: Path) -> Unfinished | None:
    size = files = running = 0
    for place, _, names in os.walk(folder):
        files += len(names)
        if files > MOST_WATCHED:
            return None
        running += sum(name.endswith(RUNNING) for name in names)
        size += sum(_size(os.path.join(place, name)) for name in names)
    return Unfinished(size, files, running) if running else None


def _size(path: str) -> int:
    """0 for a file that has just got another name."""
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _name(source: str) -> str:
    return Path(source).name
