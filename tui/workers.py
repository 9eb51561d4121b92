"""Work that would block the keyboard, in one thread of its own."""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable


class Cancelled(Exception):
    """Raised within a job that nobody waits for any more."""


IDLE_SECONDS = 2.0
"""A thread without a job ends after so long, and the next job starts another one: it holds the
streams that it was started with, and with these a planner that was left long ago."""


class LatestJobWorker:
    """Runs one job at a time in a daemon thread; of the jobs that wait, only the newest stays.

    A slider asks for a plan with every step: building each of them would only delay the last one.
    A daemon thread lets the application end while a large log is being read (`end_process`).
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
        """Run `job` after the running one, in place of one that waits; jobs handle their errors."""
        with self._condition:
            self._waiting = job
            LatestJobWorker.started = True
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
            del job  # and with it the plan that it was about


def end_process(status: int) -> None:
    """Ends the process without waiting for jobs that nobody waits for; returns where there can be
    none.

    An interpreter that winds up ends a daemon thread wherever it next asks for the interpreter. In
    a library's C++ code that ends the process: "terminate called without an active exception" on
    the terminal and exit code 134, after a quit in the middle of a computation.
    """
    if not LatestJobWorker.started:
        return
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)
