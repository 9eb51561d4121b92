"""What an application is made of: executors, jobs, stages and their attempts, micro-batches."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from engine.sources.logs.combined_inputs import CombinedInputs
from engine.sources.logs.python_workers import WorkerStarts
from engine.sources.logs.source_reads import SourceRead
from engine.sources.logs.tasks import StageTasks
from engine.stage_run import PYTHON_OPERATIONS


@dataclass(slots=True)
class Executor:
    """One executor; `cores` is None where the log does not say, `busiest` then bounds it.
    `launched_ms` is the launch of the first task that was seen to start on it, `drained_ms` when it
    was done with its last one, of one that was decommissioned."""

    host: str
    added_ms: int | None
    cores: int | None = None
    profile: int = 0
    removed_ms: int | None = None
    removed_reason: str = ""
    drained_ms: int | None = None
    storage_bytes: int | None = None
    running: int = 0
    busiest: int = 0
    cold_slots: int = 0
    launched_ms: int | None = None

    @property
    def offered_until_ms(self) -> int | None:
        """Until when it could have had tasks; None where that is the end."""
        return self.removed_ms if self.drained_ms is None else self.drained_ms

    @property
    def ran_tasks(self) -> bool:
        """Whether a task was seen to start on it."""
        return self.busiest > 0 or self.cold_slots < (self.cores or 0)

    @property
    def ran_before_it_came(self) -> bool:
        """Whether its tasks started before the log says that it came."""
        if not self.ran_tasks or self.added_ms is None:
            return False
        return self.launched_ms is None or self.launched_ms < self.added_ms


@dataclass(slots=True)
class Job:
    """One job and what its properties say it belongs to."""

    job_id: int
    submitted_ms: int | None
    stage_ids: tuple[int, ...]
    completed_ms: int | None = None
    sql_execution_id: int | None = None
    query: str | None = None
    batch_id: int | None = None
    dstream_batch_ms: int | None = None


_CANCELLED = re.compile(r"(?:\[\w{1,80}\] )?Job \d{1,10} cancelled\b")
"""How the failure of a stage begins whose job was cancelled (since Spark 4 behind a class)."""


@dataclass(slots=True)
class Attempt:
    """One attempt of a stage, from submission to completion; one that was cancelled with its job
    has failed too, to go by the log."""

    submitted_ms: int | None
    completed_ms: int | None = None
    failed: bool = False
    cancelled: bool = False

    @property
    def succeeded(self) -> bool:
        """Whether it came to its end and was not given up."""
        return self.completed_ms is not None and not self.failed

    def ended(self, completed_ms: int | None, failure: str | None) -> None:
        """It is done; `failure` is Spark's reason where it was given up."""
        self.completed_ms = completed_ms
        self.failed = failure is not None
        self.cancelled = failure is not None and bool(_CANCELLED.match(failure))


@dataclass(slots=True)
class Stage:
    """A stage over all its attempts; `partitions` are those of the RDD that it computes, 0 where
    the log does not say; `file_scans` name the scans of files that its tasks compute, one each.
    `persisted` are its persisted RDDs with their partitions, `fed` is the one that it computes from
    a source, `held` which partitions of these had blocks when it began, `copies` on how many
    executors a block of those is to lie of which more than one is to hold it. `kept_rdds` are
    those of a cache or a checkpoint of which each task reads one partition. `generated` are the
    partitions of the program's own rows, where it works on nothing else, `combined` the inputs of a
    union or of a product."""

    stage_id: int
    name: str = ""
    parents: tuple[int, ...] | None = None
    profile: int = 0
    final_rdd: int | None = None
    partitions: int = 0
    persisted: tuple[tuple[int, int], ...] = ()
    disk_backed_rdds: tuple[int, ...] = ()
    off_heap_rdds: frozenset[int] = frozenset()
    copies: dict[int, int] = field(default_factory=dict)
    cached_disk_bytes: float | None = None
    needed_rdds: tuple[tuple[int, int], ...] = ()
    operations: tuple[str, ...] = ()
    operation_counts: tuple[int, ...] = ()
    coalesced: bool = False
    generated: tuple[int, ...] = ()
    combined: CombinedInputs | None = None
    barrier: bool = False
    file_scans: tuple[str, ...] = ()
    reads_cache: bool = False
    beside_maker: bool = False
    fed: int | None = None
    kept_rdds: tuple[int, ...] = ()
    held: frozenset[int] | None = None
    source_read: SourceRead | None = None
    library: str | None = None
    python_start_seconds: float | None = None
    tasks: StageTasks = field(default_factory=StageTasks)
    attempts: dict[int, Attempt] = field(default_factory=dict)

    @property
    def cached_rdds(self) -> tuple[int, ...]:
        """Its persisted RDDs."""
        return tuple(rdd_id for rdd_id, _ in self.persisted)

    @property
    def cancelled(self) -> bool:
        """Whether it was cancelled with its job, and nothing went wrong in it."""
        attempts = self.attempts.values()
        return bool(attempts) and all(attempt.cancelled for attempt in attempts)

    def on_heap(self, rdds: Iterable[int]) -> tuple[int, ...]:
        """Those persisted RDDs that want memory of the heap."""
        return tuple(rdd_id for rdd_id in rdds if rdd_id not in self.off_heap_rdds)

    def watch_workers(self) -> None:
        """Has the ends of its tasks looked at for Python workers, where it may have any."""
        if self.tasks.workers is None and self._names_python:
            self.tasks.workers = WorkerStarts()

    @property
    def _names_python(self) -> bool:
        return any(kind in name for name in self.operations for kind in PYTHON_OPERATIONS)

    def ran_python(self, *, starts_told: bool) -> None:
        """Its tasks computed in Python, which not every operation's name tells: a data source
        written in Python is a scan like others. Starting the workers took them so long, all
        attempts together, where the log tells that."""
        if starts_told and self.tasks.workers is not None:
            self.python_start_seconds = self.tasks.workers.seconds
        if not self._names_python:
            self.operations = (*self.operations, PYTHON_OPERATIONS[0])
            self.operation_counts = (*self.operation_counts, 1) if self.operation_counts else ()


@dataclass(slots=True)
class Batch:
    """A micro-batch as its query reported it."""

    started: str
    duration_ms: int | None
