"""How many tasks an executor ran at once, which tells its cores where the log does not state them
(Spark 1.2, logs that lack their beginning)."""

from __future__ import annotations

from engine.sources.logs.events import NO_METRICS, TaskEnd

SPANS_TO_COUNT = 1024
"""Tasks after which the spans so far are counted and dropped, so that memory stays constant."""


class ConcurrentTasks:
    """The most tasks that an executor ran at once.

    Neither the order of events nor their times tell this directly. A slot takes its next task as
    soon as the executor has finished one, while the driver still fetches the result: the next start
    is logged before that end, and mostly launched before that finish time. So a task counts from
    its launch for as long as its executor worked on it, and never together with the next one.

    Args:
        started: tasks that started; they count while no task has ended.
    """

    __slots__ = ("_most", "_spans", "started")

    def __init__(self) -> None:
        self.started = 0
        self._most = 0
        self._spans: list[tuple[int, int]] = []

    def ended(self, event: TaskEnd, cpus_in_run_time: int) -> None:
        """Adds a task that ended.

        Args:
            cpus_in_run_time: factor by which Spark multiplied its run time.
        """
        metrics, launch_ms = event.metrics or NO_METRICS, event.info.launch_ms
        worked_ms = max(0, metrics.deserialize_ms) + max(0, metrics.run_ms)
        until_ms = min(event.info.finish_ms, launch_ms + worked_ms // cpus_in_run_time)
        self._spans.append((launch_ms, max(launch_ms, until_ms)))
        if len(self._spans) >= SPANS_TO_COUNT:
            self._count()

    def _count(self) -> None:
        if self._spans:
            self._most = max(self._most, most_overlapping(self._spans))
            self._spans.clear()

    @property
    def most(self) -> int:
        """The most that ran at once; of tasks none of which ended, all that started."""
        self._count()
        return self._most or self.started


def most_overlapping(spans: list[tuple[int, int]]) -> int:
    """The most of some spans (start, end) that overlap, at least 1; one that begins where another
    ends does not overlap it."""
    changes = sorted(change for start, end in spans for change in ((start, 1), (end, -1)))
    most, current = 1, 0
    for _, change in changes:
        current += change
        most = max(most, current)
    return most
