"""Work that would block the keyboard, in one thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable


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

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` after the running one, in place of one that waits; jobs handle their errors."""
        with self._condition:
            self._waiting = job
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=self._name, daemon=True)
                self._thread.start()
            self._condition.notify()

    def _work(self) -> None:
        while True:
            with self._condition:
                while self._waiting is None:
                    self._condition.wait()
                job, self._waiting = self._waiting, None
            job()
