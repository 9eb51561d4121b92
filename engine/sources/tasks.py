"""The tasks of one stage: rows in a buffer, each partition counted once, then `Measure`s.

A finished task is one row of `WIDTH` 64-bit integers, packed into a byte buffer that NumPy views.
Work is what the first successful attempt of each partition did; whatever else ran (failed and
killed attempts, speculative copies, recomputed partitions) is `Waste`. A stage keeps its rows up
to `EXACT_TASKS`; above that they go into sketches while the log is read, so that memory stays
constant.
"""

from __future__ import annotations

from dataclasses import dataclass
from struct import Struct

import numpy as np
from numpy.typing import NDArray

from engine.profile import Measure
from engine.sources import measures
from engine.sources.events import NO_METRICS, TaskEnd
from engine.sources.sketch import QuantileSketch

Rows = NDArray[np.int64]

COLUMNS = (
    "attempt", "index", "partition", "status", "cold", "launch", "finish", "run", "cpu", "gc",
    "fetch_wait", "remote_read", "local_read", "shuffle_write", "input", "cached_input", "output",
    "memory_spilled", "disk_spilled", "peak_memory",
)  # fmt: skip
WIDTH = len(COLUMNS)
(
    ATTEMPT, INDEX, PARTITION, STATUS, COLD, LAUNCH, FINISH, RUN, CPU, GC,
    FETCH_WAIT, REMOTE_READ, LOCAL_READ, SHUFFLE_WRITE, INPUT, CACHED_INPUT, OUTPUT,
    MEMORY_SPILLED, DISK_SPILLED, PEAK_MEMORY,
) = range(WIDTH)  # fmt: skip
SUCCESS, FAILED, KILLED, RESUBMITTED = range(4)

PACK = Struct(f"<{WIDTH}q").pack
ROW_BYTES = 8 * WIDTH
BUFFER_BYTES = 16_384 * ROW_BYTES

EXACT_TASKS = 100_000
"""A stage of more tasks is sketched."""

MOST_PARTITIONS = 1 << 26
"""A larger partition number is taken for damage: remembering it would need too much memory."""

LATEST_MS = 10**14
"""No log is from later (the year 5138): such a time is damage too."""

MS, NS, BYTE = 1e-3, 1e-9, 1.0
READ_FROM_CACHE = frozenset({"Memory", "Disk"})
"""`Data Read Method`s of Spark 1.x that mean a persisted block."""


def row_of(event: TaskEnd, *, cold: bool) -> bytes:
    """The packed row of a finished task.

    Raises:
        struct.error: for numbers that are not 64-bit integers.
    """
    info, metrics = event.info, event.metrics or NO_METRICS
    read, given = metrics.read, metrics.input
    plain = event.reason.reason == "Success" and not info.failed and not info.killed
    return PACK(
        event.attempt, info.index, info.partition, SUCCESS if plain else status_of(event), cold,
        info.launch_ms, info.finish_ms, metrics.run_ms, metrics.cpu_ns, metrics.gc_ms,
        read.fetch_wait_ms, read.remote_bytes, read.local_bytes, metrics.write.bytes_written,
        given.bytes_read, given.bytes_read if given.method in READ_FROM_CACHE else 0,
        metrics.output.bytes_written,
        metrics.memory_spilled, metrics.disk_spilled, metrics.peak_memory,
    )  # fmt: skip


def status_of(event: TaskEnd) -> int:
    """How a task ended; a success that is marked failed or killed is not one."""
    reason = event.reason.reason
    if reason == "Success":
        return FAILED if event.info.failed else KILLED if event.info.killed else SUCCESS
    if reason == "Resubmitted":
        return RESUBMITTED
    return KILLED if reason == "TaskKilled" or event.info.killed else FAILED


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """What the tasks of a stage add up to; fields as in `StageRun`, times in epoch ms."""

    first_launch_ms: int
    last_finish_ms: int
    measures: dict[str, Measure | None]
    cached_input_bytes: float
    memory_spilled_bytes: float | None
    disk_spilled_bytes: float | None
    warm_up: tuple[float, ...] = ()


_SPECS: dict[str, tuple[float, int]] = {
    "task_seconds": (MS, measures.PRIMARY_VALUES),
    "overhead_seconds": (MS, measures.SECONDARY_VALUES),
    "run_seconds": (MS, measures.SECONDARY_VALUES),
    "cpu_seconds": (NS, measures.SECONDARY_VALUES),
    "gc_seconds": (MS, measures.SECONDARY_VALUES),
    "fetch_wait_seconds": (MS, measures.SECONDARY_VALUES),
    "input_bytes": (BYTE, measures.SECONDARY_VALUES),
    "output_bytes": (BYTE, measures.SECONDARY_VALUES),
    "shuffle_read_bytes": (BYTE, measures.SECONDARY_VALUES),
    "shuffle_remote_read_bytes": (BYTE, measures.SECONDARY_VALUES),
    "shuffle_write_bytes": (BYTE, measures.SECONDARY_VALUES),
    "peak_execution_memory_bytes": (BYTE, measures.SECONDARY_VALUES),
    "first_wave_seconds": (MS, measures.PRIMARY_VALUES),
}
"""Measure -> (its unit per stored integer, quantiles to keep)."""

_NONE_WHEN_ZERO = frozenset(
    {"input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes"}
)
"""Newer versions write 0 where older ones leave out the metric: both mean that nothing moved."""


def _columns(rows: Rows) -> Rows:
    """(measures, tasks): the values behind each measure of `_SPECS`, -1 where a task did not report
    it."""
    by_column = np.ascontiguousarray(rows.T)
    run, remote, local = by_column[RUN], by_column[REMOTE_READ], by_column[LOCAL_READ]
    duration = by_column[FINISH] - by_column[LAUNCH]
    reads_shuffle = np.maximum(remote, local) > 0
    return np.stack((
        duration,
        np.where(run < 0, -1, np.maximum(duration - run, 0)),
        run,
        by_column[CPU],
        by_column[GC],
        np.where(reads_shuffle, by_column[FETCH_WAIT], -1),
        by_column[INPUT],
        by_column[OUTPUT],
        # Spark 1.2 tells remote bytes alone: their sum with the local ones is not known then.
        np.where((remote < 0) | (local < 0), -1, remote + local),
        np.where(reads_shuffle, remote, -1),
        by_column[SHUFFLE_WRITE],
        by_column[PEAK_MEMORY],
        np.where(by_column[COLD] > 0, duration, -1),
    ))  # fmt: skip


WARM_UP_PARTS = (32, 16, 8, 4, 2)
FEWEST_IN_ORDER = 8
"""Fewer warm tasks do not show how their times fall."""

FIXED_SHARE = 0.25
"""Of a typical task's time, when tasks of different size are compared: the rest goes with bytes."""


def _warm_up(rows: Rows) -> tuple[float, ...]:
    """`StageRun.warm_up` of a stage's tasks; empty when there are too few."""
    rows = rows[(rows[:, COLD] <= 0) & (rows[:, FINISH] > rows[:, LAUNCH])]
    if len(rows) < FEWEST_IN_ORDER:
        return ()
    rows = rows[np.argsort(rows[:, LAUNCH], kind="stable")]
    read = np.maximum(rows[:, (INPUT, REMOTE_READ, LOCAL_READ)], 0).sum(axis=1, dtype=np.float64)
    size = read / read.mean() if read.any() else np.ones(len(rows))
    seconds = (rows[:, FINISH] - rows[:, LAUNCH]) / (FIXED_SHARE + (1.0 - FIXED_SHARE) * size)
    means = np.cumsum(seconds) / np.arange(1, len(seconds) + 1)
    firsts = [max(0, len(seconds) // part - 1) for part in WARM_UP_PARTS]
    return tuple(measures.rounded(mean / means[-1]) for mean in means[firsts].tolist())


class StageTasks:
    """Collects the tasks of one stage over all its attempts.

    `buffer` takes packed rows; `flush` moves them on. `tasks` is how many partitions the stage
    has, from its first attempt; None until that is known.
    """

    def __init__(self) -> None:
        self.buffer = bytearray()
        self.tasks: int | None = None
        self.finished = 0
        self.invalid = 0
        self.failed = 0
        self.killed = 0
        self.wasted_ms = 0
        self.first_launch_ms: int | None = None
        self.last_finish_ms = 0
        self._done = np.zeros(0, dtype=bool)
        self._rows: list[Rows] = []
        self._sketches: dict[str, QuantileSketch] | None = None
        self._sums = np.zeros(3, dtype=np.float64)
        self._reported = np.zeros(3, dtype=bool)
        self._summary: TaskSummary | None = None

    @property
    def waste(self) -> tuple[int, int, float]:
        """Failed attempts, killed attempts, seconds spent in vain."""
        return self.failed, self.killed, self.wasted_ms / 1000.0

    def flush(self) -> None:
        """Sorts what is buffered into work and waste."""
        if not self.buffer:
            return
        rows = np.frombuffer(bytes(self.buffer), dtype="<i8").reshape(-1, WIDTH)
        self.buffer.clear()
        rows = self._valid(rows)
        succeeded = rows[:, STATUS] == SUCCESS
        successes = int(np.count_nonzero(succeeded))
        work = self._first_successes(rows if successes == len(rows) else rows[succeeded])
        self._count_waste(rows, successes=successes, work=work)
        if len(work) and self._summary is None:
            self._keep(work)

    def _valid(self, rows: Rows) -> Rows:
        """Rows whose times and partition make sense; a resubmitted task has no finish time."""
        place = np.where(rows[:, PARTITION] >= 0, rows[:, PARTITION], rows[:, INDEX])
        good = (rows[:, LAUNCH] > 0) & (place >= 0) & (place < MOST_PARTITIONS)
        good &= (rows[:, LAUNCH] < LATEST_MS) & (rows[:, FINISH] < LATEST_MS)
        good &= (rows[:, FINISH] >= rows[:, LAUNCH]) | (rows[:, STATUS] != SUCCESS)
        if good.all():
            return rows
        self.invalid += int((~good).sum())
        return rows[good]

    def _first_successes(self, rows: Rows) -> Rows:
        """The first success of each partition that was not done before.

        Before Spark 3.3 a retried attempt numbers the missing partitions from 0, so its rows
        cannot be told apart by number: as many of them count as partitions are missing.
        """
        known = (rows[:, PARTITION] >= 0) | (rows[:, ATTEMPT] == 0)
        if known.all():
            fresh = self._not_done(rows)
            self.finished += len(fresh)
            return fresh
        fresh = self._not_done(rows[known])
        anonymous = rows[~known]
        missing = len(anonymous)
        if self.tasks is not None:
            missing = max(0, self.tasks - self.finished - len(fresh))
        fresh = np.concatenate((fresh, anonymous[:missing]))
        self.finished += len(fresh)
        return fresh

    def _not_done(self, rows: Rows) -> Rows:
        if not len(rows):
            return rows
        place = np.where(rows[:, PARTITION] >= 0, rows[:, PARTITION], rows[:, INDEX])
        highest = int(place.max())
        if highest >= len(self._done):
            grown = np.zeros(max(highest + 1, 2 * len(self._done)), dtype=bool)
            grown[: len(self._done)] = self._done
            self._done = grown
        before, number = self._done[place], np.count_nonzero(self._done)
        self._done[place] = True
        if np.count_nonzero(self._done) == number + len(place):  # as nearly always
            return rows
        _, first = np.unique(place, return_index=True)
        fresh = ~before[first]
        kept: Rows = rows[np.sort(first[fresh])]
        return kept

    def _count_waste(self, rows: Rows, *, successes: int, work: Rows) -> None:
        if not len(rows):
            return
        first = int(rows[:, LAUNCH].min())
        self.first_launch_ms = min(first, self.first_launch_ms or first)
        self.last_finish_ms = max(self.last_finish_ms, int(rows[:, FINISH].max()))
        if len(work) == len(rows):
            return
        status, duration = rows[:, STATUS], rows[:, FINISH] - rows[:, LAUNCH]
        spent = np.where((duration > 0) & (status != RESUBMITTED), duration, 0)
        useful = int((work[:, FINISH] - work[:, LAUNCH]).sum())
        resubmitted = int((status == RESUBMITTED).sum())
        repeated = successes - len(work)
        self.failed += int((status == FAILED).sum()) + resubmitted
        self.killed += int((status == KILLED).sum()) + max(0, repeated - resubmitted)
        self.wasted_ms += int(spent.sum()) - useful

    def _keep(self, work: Rows) -> None:
        extra = work[:, (CACHED_INPUT, MEMORY_SPILLED, DISK_SPILLED)]
        self._sums += np.maximum(extra, 0).sum(axis=0, dtype=np.float64)
        self._reported |= (extra >= 0).any(axis=0)
        if self._sketches is None:
            self._rows.append(work)
            if self.finished <= EXACT_TASKS:
                return
            self._sketches = {name: QuantileSketch() for name in _SPECS}
            work = np.concatenate(self._rows)
            self._rows = []
        for sketch, values in zip(self._sketches.values(), _columns(work), strict=True):
            sketch.add(values[values >= 0])

    def summary(self) -> TaskSummary | None:
        """What the work adds up to; None when no task finished. The rows are given up."""
        self.flush()
        if self._summary is None and self.finished:
            cached, memory, disk = self._sums.tolist()
            _, has_memory, has_disk = self._reported.tolist()
            self._summary = TaskSummary(
                first_launch_ms=self.first_launch_ms or 0,
                last_finish_ms=self.last_finish_ms,
                measures=self._measures(),
                cached_input_bytes=cached,
                memory_spilled_bytes=memory if has_memory else None,
                disk_spilled_bytes=disk if has_disk else None,
                warm_up=() if self._sketches else _warm_up(np.concatenate(self._rows)),
            )
            self._rows, self._sketches = [], None
        return self._summary

    def _measures(self) -> dict[str, Measure | None]:
        units, points = zip(*_SPECS.values(), strict=True)
        if self._sketches is None:
            columns = _columns(np.concatenate(self._rows))
            found = measures.of_columns(columns, units=units, points=points)
        else:
            sketched = zip(self._sketches.values(), units, points, strict=True)
            found = [measures.of_sketch(s, unit=unit, points=most) for s, unit, most in sketched]
        named = dict(zip(_SPECS, found, strict=True))
        for name in _NONE_WHEN_ZERO:
            measure = named[name]
            if measure is not None and measure.total == 0.0:
                named[name] = None
        return named
