"""Collects the task attempts of a stage, counts each partition once, and summarises them.

Useful work is the first successful attempt of each partition. Everything else (failed and killed
attempts, speculative copies, recomputed partitions) is wasted time. Up to `EXACT_TASKS` rows are
kept; beyond that they go into quantile sketches while the log is read, so that memory stays
constant.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.forecast import BoolArray
from engine.sources.logs.measures import QuantileSketch
from engine.sources.logs.python_workers import WorkerStarts
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
    with_wall_clock_run_time,
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
"""A larger partition number is treated as damage: the array of finished partitions would take too
much memory."""


class StageTasks:
    """Collects the tasks of one stage over all its attempts.

    `buffer` takes packed rows; `flush` processes them. `tasks` is the stage's number of partitions,
    from its first attempt; None until known. `last_end` is the last task end line, kept until the
    stage has completed. `workers` sums the start-up time of Python workers, for a stage that may
    use them. `cpus_in_run_time` is the factor by which Spark multiplied run times.
    """

    def __init__(self) -> None:
        self.buffer = bytearray()
        self._unsorted = bytearray()
        self._closed = False
        self._oldest_attempt = 0
        self._begun_again_ms = 0
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
        self._partition_done = np.zeros(0, dtype=bool)
        self._unsuccessful: dict[int, int] = {}
        self._rows: list[Rows] = []
        self._sketches: dict[str, QuantileSketch] | None = None
        self._sums = np.zeros(len(COLUMNS[SUMMED]), dtype=np.float64)
        self._reported = np.zeros(len(COLUMNS[SUMMED]), dtype=bool)
        self._summary: TaskSummary | None = None

    @property
    def waste(self) -> tuple[int, int, float]:
        """Failed attempts, killed attempts, seconds of attempts without a used result."""
        return self.failed, self.killed, self.wasted_ms / 1000.0

    def begin_again(self, attempt: int, *, alone: bool) -> None:
        """Counts the successes so far as waste, since an attempt begins that runs all of the
        stage's tasks again: their output was lost, or is not used.

        Args:
            alone: whether successes of earlier attempts that are still to come count as waste too.
        """
        self.flush()
        if self._closed:
            return
        self.killed += self.finished
        self.wasted_ms += self._useful_ms()
        self.finished = 0
        if not alone:
            done = np.flatnonzero(self._partition_done).tolist()
            self._unsuccessful.update(dict.fromkeys(done, self.last_finish_ms))
        self._partition_done[:] = False
        self._rows, self._sketches = [], None
        self._sums[:], self._reported[:] = 0.0, False
        if self.workers is not None:
            self.workers = WorkerStarts()
        if alone:
            self._oldest_attempt, self._begun_again_ms = attempt, self.last_finish_ms

    def _useful_ms(self) -> int:
        """Milliseconds of the tasks that count as work so far."""
        if self._sketches is not None:
            return round(self._sketches["task_seconds"].total)
        return sum(int((rows[:, FINISH] - rows[:, LAUNCH]).sum()) for rows in self._rows)

    def close(self) -> int:
        """Marks the stage as completed: task ends that follow are not work of it, if any was done.

        Returns the bytes of rows that are still to be summarised.
        """
        self._flush_unsorted()
        self.last_end = b""
        if self._closed:
            return 0
        self._unsorted, self.buffer = self.buffer, bytearray()
        self._closed = not self._unsorted and self.finished > 0
        return len(self._unsorted)

    def flush(self) -> None:
        """Splits the buffered rows into useful work and waste."""
        self._flush_unsorted()
        if self.buffer:
            packed = bytes(self.buffer)
            self.buffer.clear()
            self._split(packed)

    def unsorted_rows(self) -> bytearray:
        """Packed rows from before the completion that were not split into work and waste yet."""
        return self._unsorted

    def inputs(self) -> dict[int, int] | None:
        """Partition -> input bytes of its first successful task so far; None once the stage is
        sketched."""
        if self._sketches is not None:
            return None
        completed = self._closed or self._unsorted
        packed = bytes(self._unsorted if completed else self.buffer)
        rows = np.concatenate([*self._rows, np.frombuffer(packed, "<i8").reshape(-1, WIDTH)])
        rows = rows[_plausible(rows) & (rows[:, STATUS] == SUCCESS)][::-1]
        read = np.maximum(rows[:, INPUT], 0)
        return dict(zip(_partitions(rows).tolist(), read.tolist(), strict=True))

    def take_successes(self, rows: Rows, *, first_ms: int, last_ms: int) -> None:
        """Takes `unsorted_rows` that are all plausible successes, or splits them where a partition
        occurs twice or an attempt may not count."""
        if self._oldest_attempt or not self._all_fresh(_partitions(rows)):
            return self._flush_unsorted()
        self._unsorted.clear()
        self._closed = True
        self.finished += len(rows)
        self._extend_span(first_ms, last_ms)
        return self._add_work(rows)

    def _flush_unsorted(self) -> None:
        """Splits the rows from before the completion."""
        if self._unsorted:
            self._split(bytes(self._unsorted))
            self._unsorted.clear()
            self._closed = self.finished > 0

    def _split(self, packed: bytes) -> None:
        rows = self._valid_rows(np.frombuffer(packed, dtype="<i8").reshape(-1, WIDTH))
        succeeded = rows[:, STATUS] == SUCCESS
        successes = int(np.count_nonzero(succeeded))
        usable = succeeded & (rows[:, ATTEMPT] >= self._oldest_attempt)
        work = self._first_successes(rows if usable.all() else rows[usable])
        self._count_waste(rows, successes=successes, work=work)
        if len(work) and not self._closed:
            self._add_work(work)

    def _valid_rows(self, rows: Rows) -> Rows:
        good = _plausible(rows)
        if good.all():
            return rows
        self.invalid += int((~good).sum())
        return rows[good]

    def _first_successes(self, rows: Rows) -> Rows:
        """The first success of each partition that was not done before.

        Before Spark 3.3 a retried stage attempt numbers the missing partitions from 0, so the
        partition of its tasks is unknown: as many of its rows count as partitions are missing.
        """
        known = _partition_known(rows)
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
        partition = _partitions(rows)
        if self._all_fresh(partition):
            return rows
        _, first = np.unique(partition, return_index=True)
        kept: Rows = rows[np.sort(first[~self._partition_done[partition[first]]])]
        self._partition_done[partition] = True
        return kept

    def _all_fresh(self, partitions: Rows) -> bool:
        """Marks the partitions as done and returns True, if none was done before and none occurs
        twice, which is nearly always so; else changes nothing."""
        highest = int(partitions.max())
        if highest >= len(self._partition_done):
            grown = np.zeros(max(highest + 1, 2 * len(self._partition_done)), dtype=bool)
            grown[: len(self._partition_done)] = self._partition_done
            self._partition_done = grown
        before = self._partition_done[partitions]
        done_before = np.count_nonzero(self._partition_done)
        self._partition_done[partitions] = True
        fresh = bool(np.count_nonzero(self._partition_done) == done_before + len(partitions))
        if not fresh:
            self._partition_done[partitions] = before
        return fresh

    def _extend_span(self, first_ms: int, last_ms: int) -> None:
        self.first_launch_ms = min(first_ms, self.first_launch_ms or first_ms)
        self.last_finish_ms = max(self.last_finish_ms, last_ms)

    def _count_waste(self, rows: Rows, *, successes: int, work: Rows) -> None:
        if not len(rows):
            return
        self._extend_span(int(rows[:, LAUNCH].min()), int(rows[:, FINISH].max()))
        if len(work) == len(rows):
            return
        status, duration = rows[:, STATUS], rows[:, FINISH] - rows[:, LAUNCH]
        unsuccessful = rows[status != SUCCESS]
        for partition, launch in zip(
            _partitions(unsuccessful).tolist(), unsuccessful[:, LAUNCH].tolist(), strict=True
        ):
            self._unsuccessful[partition] = max(launch, self._unsuccessful.get(partition, 0))
        spent = np.where((duration > 0) & (status != RESUBMITTED), duration, 0)
        useful = int((work[:, FINISH] - work[:, LAUNCH]).sum())
        resubmitted = int((status == RESUBMITTED).sum())
        repeated = successes - len(work)
        self.failed += int((status == FAILED).sum()) + resubmitted
        self.killed += int((status == KILLED).sum()) + max(0, repeated - resubmitted)
        self.wasted_ms += int(spent.sum()) - useful

    def _add_work(self, work: Rows) -> None:
        if self.cpus_in_run_time > 1:
            work = with_wall_clock_run_time(work, self.cpus_in_run_time)
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

    def has_ended(self, partition: int, launch_ms: int) -> bool:
        """Whether the partition is done, or its attempt of that launch time has failed or is of no
        use any more."""
        done = 0 <= partition < len(self._partition_done) and bool(self._partition_done[partition])
        ended_ms = max(self._unsuccessful.get(partition, 0), self._begun_again_ms)
        return done or ended_ms >= launch_ms

    def summary(self) -> TaskSummary | None:
        """The summary of the useful work; None when no task finished. Frees the rows."""
        if self._summary is None:
            summarise((self,))
        self.flush()
        return self._summary

    def pending_rows(self) -> Rows | None:
        """(tasks, `WIDTH`) rows that are not summarised yet; None for none, or if sketched."""
        if self._summary is not None or not self._rows:
            return None
        return self._rows[0] if len(self._rows) == 1 else np.concatenate(self._rows)

    def set_summary(self, measures: Measures, warm_up: tuple[float, ...]) -> None:
        """Stores the summary of the rows and frees them."""
        cached, memory, disk, load_ms, load_ns, fetched, *records = self._sums.tolist()
        _, has_memory, has_disk, has_load, has_load_cpu, *_ = self._reported.tolist()
        self._summary = TaskSummary(
            first_launch_ms=self.first_launch_ms or 0,
            last_finish_ms=self.last_finish_ms,
            measures=measures,
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

    def summarise_sketches(self) -> None:
        """Stores the summary of a stage that was sketched."""
        if self._sketches is not None:
            self.set_summary(of_sketches(self._sketches), ())


def summarise(stages: Sequence[StageTasks]) -> None:
    """Summarises the stages' work so far, those with equal numbers of tasks in one batch."""
    _take_successes([tasks for tasks in stages if tasks.unsorted_rows()])
    by_count: dict[int, list[tuple[StageTasks, Rows]]] = {}
    for tasks in stages:
        tasks.flush()
        tasks.summarise_sketches()
        rows = tasks.pending_rows()
        if rows is not None:
            by_count.setdefault(len(rows), []).append((tasks, rows))
    for group in by_count.values():
        summaries = of_rows(np.stack([rows for _, rows in group]))
        for (tasks, _), (named, warm_up) in zip(group, summaries, strict=True):
            tasks.set_summary(named, warm_up)


def _take_successes(stages: Sequence[StageTasks]) -> None:
    """Fast path: stages in which every task succeeded take their rows without splitting them. One
    vectorised check covers the rows of all stages."""
    if not stages:
        return
    rows = np.frombuffer(b"".join(tasks.unsorted_rows() for tasks in stages), "<i8").reshape(
        -1, WIDTH
    )
    ends = np.cumsum([len(tasks.unsorted_rows()) // ROW_BYTES for tasks in stages])
    starts = np.concatenate(([0], ends[:-1]))
    successes = _plausible(rows) & _partition_known(rows) & (rows[:, STATUS] == SUCCESS)
    per_stage = zip(
        stages, starts.tolist(), ends.tolist(),
        np.logical_and.reduceat(successes, starts).tolist(),
        np.minimum.reduceat(rows[:, LAUNCH], starts).tolist(),
        np.maximum.reduceat(rows[:, FINISH], starts).tolist(),
        strict=True,
    )  # fmt: skip
    for tasks, start, end, all_succeeded, first_ms, last_ms in per_stage:
        if all_succeeded:
            tasks.take_successes(rows[start:end], first_ms=first_ms, last_ms=last_ms)


def _partitions(rows: Rows) -> Rows:
    """The partition of each task; before Spark 3.3 its index within the stage attempt."""
    return np.where(rows[:, PARTITION] >= 0, rows[:, PARTITION], rows[:, INDEX])


def _partition_known(rows: Rows) -> BoolArray:
    """Whether `_partitions` is the true partition: logged, or of the first stage attempt."""
    known: BoolArray = (rows[:, PARTITION] >= 0) | (rows[:, ATTEMPT] == 0)
    return known


def _plausible(rows: Rows) -> BoolArray:
    """Whether times and partition are plausible; a resubmitted task may have no finish time."""
    partition, launch, finish = _partitions(rows), rows[:, LAUNCH], rows[:, FINISH]
    good: BoolArray = (launch > 0) & (partition >= 0) & (partition < MOST_PARTITIONS)
    good &= (launch < LATEST_MS) & (finish < LATEST_MS)
    good &= (finish >= launch) | (rows[:, STATUS] != SUCCESS)
    return good
