"""What is being read, whether anybody still waits for it, and which of it may grow."""

from __future__ import annotations

import threading
from collections.abc import Hashable

from tui.log_watcher import LogWatcher
from tui.workers import Cancelled


class ReadRequest:
    """One reading of one evidence; all plans on the same evidence share it."""

    def __init__(self, evidence: Hashable) -> None:
        self.evidence = evidence
        self.watch = LogWatcher()
        self._cancelled = threading.Event()
        self._begun = False

    def begin(self, sources: tuple[str, ...]) -> None:
        """Before the first byte is read: take the sizes of logs that may grow."""
        if not self._begun:
            self._begun = True
            self.watch.follow(sources)

    def cancel(self) -> None:
        self._cancelled.set()

    def check(self) -> None:
        """Goes on quietly.

        Raises:
            Cancelled: where nobody waits any more.
        """
        if self._cancelled.is_set():
            raise Cancelled


class ReadTracker:
    """The current reading, and the watch over what was read last."""

    def __init__(self) -> None:
        self.watch = LogWatcher()
        self._current = ReadRequest(None)

    def ticket(self, evidence: Hashable) -> ReadRequest:
        """The ticket for that evidence; the reading of any other one is cancelled."""
        if evidence != self._current.evidence:
            self._current.cancel()
            self._current = ReadRequest(evidence)
        return self._current

    def done(self) -> None:
        """What was read is shown: from now on its growth matters."""
        self.watch = self._current.watch

    def cancel(self) -> None:
        self._current.cancel()
        self._current = ReadRequest(None)
