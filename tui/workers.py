"""A worker thread for computations that would block the user interface."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable


class Cancelled(Exception):
    """Raised within a job whose result is no longer wanted."""


IDLE_SECONDS = 2.0
"""A thread without a job ends after this time, and the next job starts another one: a thread keeps
its streams alive, and with them a planner that was closed long ago."""


class LatestJobWorker:
    """Runs one job at a time in a daemon thread; of the jobs that wait, only the newest is kept.

    A slider requests a plan with every step: building each of them would only delay the last one. A
    daemon thread lets the application end while a large log is being read (`end_process`).
    """

    started = False
    """Whether the process has, or had, such a thread."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._condition = threading.Condition()
        self._waiting: Callable[[], None] | None = None
        self._thread: threading.Thread | None = None
        self._abandoned = 0

    def submit(self, job: Callable[[], None]) -> None:
        """Run `job` after the current one, in place of one that waits. Jobs handle their own
        errors."""
        with self._condition:
            self._waiting = job
            LatestJobWorker.started = True
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._work, args=(self._abandoned,), name=self._name, daemon=True
                )
                self._thread.start()
            self._condition.notify()

    @property
    def outdated(self) -> bool:
        """Whether a newer job waits for the one that runs."""
        return self._waiting is not None

    def abandon(self) -> None:
        """Stop waiting for the current job, which may hang in a read. Its thread ends with it."""
        with self._condition:
            self._abandoned += 1
            self._waiting = self._thread = None
            self._condition.notify_all()

    def _work(self, generation: int) -> None:
        while True:
            with self._condition:
                self._condition.wait_for(
                    lambda: self._waiting is not None or self._abandoned != generation, IDLE_SECONDS
                )
                if self._abandoned != generation:
                    return
                if self._waiting is None:
                    self._thread = None
                    return
                job, self._waiting = self._waiting, None
            job()
            del job  # frees the plan that it holds


def end_process(status: int) -> None:
    """End the process at once, without waiting for jobs whose results are no longer wanted. Returns
    if there can be none.

    An interpreter that shuts down ends a daemon thread wherever it next requests the interpreter
    lock. In a library's C++ code that aborts the process: "terminate called without an active
    exception" on the terminal and exit code 134, after a quit in the middle of a computation.
    """
    if not LatestJobWorker.started:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
