"""Logs of applications that still run: when one has grown, it is worth reading again.

Spark writes `NAME.inprogress` and drops the ending when the application is done; of a rolling log
the empty file `appstatus_NAME.inprogress` tells the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

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


@dataclass
class _Followed:
    source: str
    read_bytes: int
    seen_bytes: int
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
        sizes = ((source, running_bytes(source)) for source in sources)
        self._followed = [_Followed(source, n, n) for source, n in sizes if n is not None]

    def poll(self) -> Grown | None:
        """What has grown and come to rest, or ended; None while there is nothing new."""
        now = self._clock()
        for log in self._followed:
            size = running_bytes(log.source)
            if size is None:
                return self._ended(log)
            if size != log.seen_bytes:
                log.seen_bytes, log.last_change = size, now
                log.first_change = now if log.first_change is None else log.first_change
            if log.first_change is None or size == log.read_bytes:
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


def running_bytes(source: str) -> int | None:
    """The size of the unfinished log that a source is; None for any other source."""
    path = Path(source)
    try:
        if source.endswith(RUNNING):
            return path.stat().st_size if path.is_file() else None
        if not path.is_dir():
            return None
        with os.scandir(path) as entries:
            files = [(entry.name, entry.stat().st_size) for entry in entries if entry.is_file()]
    except (OSError, ValueError):
        return None
    marked = any(name.startswith("appstatus_") and name.endswith(RUNNING) for name, _ in files)
    return sum(size for _, size in files) if marked else None


def _name(source: str) -> str:
    return Path(source).name
