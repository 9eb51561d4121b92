"""Tracks the current read of the sources: cancels outdated ones, and watches logs that may grow."""

from __future__ import annotations

import threading
from collections.abc import Hashable

from tui.log_watcher import LogWatcher
from tui.workers import Cancelled


class ReadRequest:
    """One cancellable read of one evidence; all plans on the same evidence share it."""

    def __init__(self, evidence: Hashable) -> None:
        self.evidence = evidence
        self.watch = LogWatcher()
        self._cancelled = threading.Event()
        self._begun = False

    def begin(self, sources: tuple[str, ...]) -> None:
        """Record the sizes of logs that may grow, before the first byte is read."""
        if not self._begun:
            self._begun = True
            self.watch.follow(sources)

    def cancel(self) -> None:
        self._cancelled.set()

    def check(self) -> None:
        """Return if the read is still wanted.

        Raises:
            Cancelled: if the read is no longer wanted.
        """
        if self._cancelled.is_set():
            raise Cancelled


class ReadTracker:
    """The current read, and the watcher of the sources that were read last."""

    def __init__(self) -> None:
        self.watch = LogWatcher()
        self._current = ReadRequest(None)

    def request_for(self, evidence: Hashable) -> ReadRequest:
        """The request for that evidence; the read of any other evidence is cancelled."""
        if evidence != self._current.evidence:
            self._current.cancel()
            self._current = ReadRequest(evidence)
        return self._current

    def done(self) -> None:
        """The evidence is shown, or was refused and there is no other: from now on its logs are
        watched."""
        self.watch = self._current.watch

    def cancel(self) -> None:
        self._current.cancel()
        self._current = ReadRequest(None)

    def not_again(self) -> None:
        """The evidence was to be read again, and that was cancelled or refused: until its logs grow
        further, what was read stays. The next reading then watches from its own beginning."""
        self.cancel()
        self.watch.take_seen_as_read()
