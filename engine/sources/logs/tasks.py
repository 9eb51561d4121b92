"""The tasks of one stage: rows in a buffer, each partition counted once, then summed up.

Work is what the first successful attempt of each partition did; whatever else ran (failed and
killed attempts, speculative copies, recomputed partitions) is `Waste`. A stage keeps its rows up
to `EXACT_TASKS`; above that they go into sketches while the log is read, so that memory stays
constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import BoolArray
from engine.sources.logs.python_workers import WorkerStarts
from engine.sources.logs.sketch import QuantileSketch
from engine.sources.logs.task_cpus import with_own_run_time
from engine.sources.logs.task_rows import (
    ATTEMPT,
    COLUMNS,
    FAILED,
    FINISH,
    INDEX,
    INPUT,
    KILLED,
    LATEST_MS,
    LAUNCH,
    PARTITION,
    RESUBMITTED,
    ROW_BYTES,
    STATUS,
    SUCCESS,
    SUMMED,
    WIDTH,
    Rows,
)
from engine.sources.logs.task_summary import (
    MS,
    NS,
    RECORDS,
    SPECS,
    Measures,
    TaskSummary,
    columns_of,
    of_rows,
    of_sketches,
)

EXACT_TASKS = 100_000
"""A stage of more tasks is sketched."""

MOST_PARTITIONS = 1 << 26
"""A larger partition number is taken for damage: remembering it would need too much memory."""


class StageTasks:
    """Collects the tasks of one stage over all its attempts.

    `buffer` takes packed rows; `flush` moves them on. `tasks` is how many partitions the stage
    has, from its first attempt; None until that is known. `last_end` is the last task end as it
    stands in the log, kept until the stage has completed. `workers` is what Python workers took to
    start, of a stage that may use them. `cpus_in_run_time` is how many times a task's run time is
    counted.
    """

    def __init__(self) -> None:
        self.buffer = bytearray()
        self._told = bytearray()
        self._closed = False
        self.tasks: int | None = None
        self.cpus_in_run_time = 1
        self.last_end = b""
        self.workers: WorkerStarts | None = None
        self.finished = 0
        self.invalid = 0
        self.failed = 0
        self.killed = 0
        self.wasted_ms = 0
        self.first_launch_ms: int | None = None
        self.last_finish_ms = 0
        self._done = np.zeros(0, dtype=bool)
        self._in_vain: dict[int, int] = {}
        self._rows: list[Rows] = []
        self._sketches: dict[str, QuantileSketch] | None = None
        self._sums = np.zeros(len(COLUMNS[SUMMED]), dtype=np.float64)
        self._reported = np.zeros(len(COLUMNS[SUMMED]), dtype=bool)
        self._summary: TaskSummary | None = None

    @property
    def waste(self) -> tuple[int, int, float]:
        """Failed attempts, killed attempts, seconds spent in vain."""
        return self.failed, self.killed, self.wasted_ms / 1000.0

    def close(self) -> int:
        """The stage has completed: what comes from here on is no work of it, if any was done.

        Returns the bytes of rows that are left to be summed up.
        """
        self._flush_told()
        self.last_end = b""
        if self._closed:
            return 0
        self._told, self.buffer = self.buffer, bytearray()
        self._closed = not self._told and self.finished > 0
        return len(self._told)

    def flush(self) -> None:
        """Sorts what is buffered into work and waste."""
        self._flush_told()
        if self.buffer:
            packed = bytes(self.buffer)
            self.buffer.clear()
            self._sort(packed)

    def told(self) -> bytearray:
        """The rows from before the stage completed that were not sorted yet."""
        return self._told

    def inputs(self) -> dict[int, int] | None:
        """Bytes that the first task which succeeded of each partition has read, so far; None where
        there are too many of them."""
        if self._sketches is not None:
            return None
        completed = self._closed or self._told
        packed = bytes(self._told if completed else self.buffer)
        rows = np.concatenate([*self._rows, np.frombuffer(packed, "<i8").reshape(-1, WIDTH)])
        rows = rows[_sensible(rows) & (rows[:, STATUS] == SUCCESS)][::-1]
        read = np.maximum(rows[:, INPUT], 0)
        return dict(zip(_places(rows).tolist(), read.tolist(), strict=True))

    def take(self, rows: Rows, *, first_ms: int, last_ms: int) -> None:
        """Takes `told` rows of which each is a success that makes sense, or sorts them where they
        do a partition twice."""
        if not self._all_fresh(_places(rows)):
            return self._flush_told()
        self._told.clear()
        self._closed = True
        self.finished += len(rows)
        self._span(first_ms, last_ms)
        return self._keep(rows)

    def _flush_told(self) -> None:
        """The rows from before the stage completed."""
        if self._told:
            self._sort(bytes(self._told))
            self._told.clear()
            self._closed = self.finished > 0

    def _sort(self, packed: bytes) -> None:
        rows = self._valid(np.frombuffer(packed, dtype="<i8").reshape(-1, WIDTH))
        succeeded = rows[:, STATUS] == SUCCESS
        successes = int(np.count_nonzero(succeeded))
        work = self._first_successes(rows if successes == len(rows) else rows[succeeded])
        self._count_waste(rows, successes=successes, work=work)
        if len(work) and not self._closed:
            self._keep(work)

    def _valid(self, rows: Rows) -> Rows:
        good = _sensible(rows)
        if good.all():
            return rows
        self.invalid += int((~good).sum())
        return rows[good]

    def _first_successes(self, rows: Rows) -> Rows:
        """The first success of each partition that was not done before.

        Before Spark 3.3 a retried attempt numbers the missing partitions from 0, so its rows
        cannot be told apart by number: as many of them count as partitions are missing.
        """
        known = _numbered(rows)
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
        place = _places(rows)
        if self._all_fresh(place):
            return rows
        _, first = np.unique(place, return_index=True)
        kept: Rows = rows[np.sort(first[~self._done[place[first]]])]
        self._done[place] = True
        return kept

    def _all_fresh(self, place: Rows) -> bool:
        """Whether none of these partitions was done before and none is there twice, as nearly
        always: then they are done now."""
        highest = int(place.max())
        if highest >= len(self._done):
            grown = np.zeros(max(highest + 1, 2 * len(self._done)), dtype=bool)
            grown[: len(self._done)] = self._done
            self._done = grown
        before, number = self._done[place], np.count_nonzero(self._done)
        self._done[place] = True
        fresh = bool(np.count_nonzero(self._done) == number + len(place))
        if not fresh:
            self._done[place] = before
        return fresh

    def _span(self, first_ms: int, last_ms: int) -> None:
        self.first_launch_ms = min(first_ms, self.first_launch_ms or first_ms)
        self.last_finish_ms = max(self.last_finish_ms, last_ms)

    def _count_waste(self, rows: Rows, *, successes: int, work: Rows) -> None:
        if not len(rows):
            return
        self._span(int(rows[:, LAUNCH].min()), int(rows[:, FINISH].max()))
        if len(work) == len(rows):
            return
        status, duration = rows[:, STATUS], rows[:, FINISH] - rows[:, LAUNCH]
        vain = rows[status != SUCCESS]
        for place, launch in zip(_places(vain).tolist(), vain[:, LAUNCH].tolist(), strict=True):
            self._in_vain[place] = max(launch, self._in_vain.get(place, 0))
        spent = np.where((duration > 0) & (status != RESUBMITTED), duration, 0)
        useful = int((work[:, FINISH] - work[:, LAUNCH]).sum())
        resubmitted = int((status == RESUBMITTED).sum())
        repeated = successes - len(work)
        self.failed += int((status == FAILED).sum()) + resubmitted
        self.killed += int((status == KILLED).sum()) + max(0, repeated - resubmitted)
        self.wasted_ms += int(spent.sum()) - useful

    def _keep(self, work: Rows) -> None:
        if self.cpus_in_run_time > 1:
            work = with_own_run_time(work, self.cpus_in_run_time)
        extra = work[:, SUMMED]
        most = extra.max(axis=0)
        self._reported |= most >= 0
        if most.max() > 0:
            self._sums += np.maximum(extra, 0).sum(axis=0, dtype=np.float64)
        if self._sketches is None:
            self._rows.append(work)
            if self.finished <= EXACT_TASKS:
                return
            self._sketches = {name: QuantileSketch() for name in SPECS}
            work = np.concatenate(self._rows)
            self._rows = []
        for sketch, values in zip(self._sketches.values(), columns_of(work), strict=True):
            sketch.add(values[values >= 0])

    def has_ended(self, place: int, launch_ms: int) -> bool:
        """Whether the partition is done, or its attempt that was launched then ended in vain."""
        done = 0 <= place < len(self._done) and bool(self._done[place])
        return done or self._in_vain.get(place, 0) >= launch_ms

    def summary(self) -> TaskSummary | None:
        """What the work adds up to; None when no task finished. The rows are given up."""
        if self._summary is None:
            summarise((self,))
        self.flush()
        return self._summary

    def work(self) -> Rows | None:
        """(tasks, `WIDTH`) rows that wait to be summed up; None for none, or where they went into
        sketches."""
        if self._summary is not None or not self._rows:
            return None
        return self._rows[0] if len(self._rows) == 1 else np.concatenate(self._rows)

    def sum_up(self, found: Measures, warm_up: tuple[float, ...]) -> None:
        """Takes what the rows add up to and gives them up."""
        cached, memory, disk, load_ms, load_ns, fetched, *records = self._sums.tolist()
        _, has_memory, has_disk, has_load, has_load_cpu, *_ = self._reported.tolist()
        self._summary = TaskSummary(
            first_launch_ms=self.first_launch_ms or 0,
            last_finish_ms=self.last_finish_ms,
            measures=found,
            cached_input_bytes=cached,
            memory_spilled_bytes=memory if has_memory else None,
            disk_spilled_bytes=disk if has_disk else None,
            deserialize_seconds=load_ms * MS if has_load else None,
            deserialize_cpu_seconds=load_ns * NS if has_load_cpu else None,
            fetched_bytes=fetched or None,
            records={name: own or None for name, own in zip(RECORDS, records, strict=True)},
            warm_up=warm_up,
        )
        self._rows, self._sketches, self._closed = [], None, True

    def sum_up_sketches(self) -> None:
        """The same for a stage that was sketched."""
        if self._sketches is not None:
            self.sum_up(of_sketches(self._sketches), ())


def summarise(stages: Sequence[StageTasks]) -> None:
    """Sums up what stages have done so far, those with as many tasks together."""
    _take_successes([tasks for tasks in stages if tasks.told()])
    alike: dict[int, list[tuple[StageTasks, Rows]]] = {}
    for tasks in stages:
        tasks.flush()
        tasks.sum_up_sketches()
        rows = tasks.work()
        if rows is not None:
            alike.setdefault(len(rows), []).append((tasks, rows))
    for group in alike.values():
        found = of_rows(np.stack([rows for _, rows in group]))
        for (tasks, _), (named, warm_up) in zip(group, found, strict=True):
            tasks.sum_up(named, warm_up)


def _take_successes(stages: Sequence[StageTasks]) -> None:
    """Lets those stages take their rows in which every task succeeded, which one look at the rows
    of all of them tells."""
    if not stages:
        return
    rows = np.frombuffer(b"".join(tasks.told() for tasks in stages), "<i8").reshape(-1, WIDTH)
    ends = np.cumsum([len(tasks.told()) // ROW_BYTES for tasks in stages])
    starts = np.concatenate(([0], ends[:-1]))
    usual = _sensible(rows) & _numbered(rows) & (rows[:, STATUS] == SUCCESS)
    told = zip(
        stages, starts.tolist(), ends.tolist(),
        np.logical_and.reduceat(usual, starts).tolist(),
        np.minimum.reduceat(rows[:, LAUNCH], starts).tolist(),
        np.maximum.reduceat(rows[:, FINISH], starts).tolist(),
        strict=True,
    )  # fmt: skip
    for tasks, start, end, all_usual, first_ms, last_ms in told:
        if all_usual:
            tasks.take(rows[start:end], first_ms=first_ms, last_ms=last_ms)


def _places(rows: Rows) -> Rows:
    """Which partition each task was of; before Spark 3.3 only its number in the attempt is told."""
    return np.where(rows[:, PARTITION] >= 0, rows[:, PARTITION], rows[:, INDEX])


def _numbered(rows: Rows) -> BoolArray:
    """Whether that number is that of the partition."""
    known: BoolArray = (rows[:, PARTITION] >= 0) | (rows[:, ATTEMPT] == 0)
    return known


def _sensible(rows: Rows) -> BoolArray:
    """Whether times and partition make sense; a resubmitted task may have no finish time."""
    place, launch, finish = _places(rows), rows[:, LAUNCH], rows[:, FINISH]
    good: BoolArray = (launch > 0) & (place >= 0) & (place < MOST_PARTITIONS)
    good &= (launch < LATEST_MS) & (finish < LATEST_MS)
    good &= (finish >= launch) | (rows[:, STATUS] != SUCCESS)
    return good
