"""Work that would block the keyboard, in one thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Cancelled(Exception):
    """Raised within a job that nobody waits for any more."""


class Latest:
    """Runs one job at a time in a daemon thread; of the jobs that wait, only the newest stays.

    A slider asks for a plan with every step: building each of them would only delay the last one.
    A daemon thread lets the application end while a large log is being read.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._condition = threading.Condition()
        self._waiting: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None
        self._abandoned = 0

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` after the running one, in place of one that waits; jobs handle their errors."""
        with self._condition:
            self._waiting = job
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, args=(self._abandoned,), name=self._name, daemon=True
                )
                self._thread.start()
            self._condition.notify()

    def abandon(self) -> None:
        """Wait for the running job no longer: it may hang in a read. Its thread ends with it."""
        with self._condition:
            self._abandoned += 1
            self._waiting = self._thread = None
            self._condition.notify_all()

    def _work(self, generation: int) -> None:
        while True:
            with self._condition:
                while self._waiting is None and self._abandoned == generation:
                    self._condition.wait()
                if self._abandoned != generation or self._waiting is None:
                    return
                job, self._waiting = self._waiting, None
            job()
            del job  # and with it the plan that it was about
