"""What was observed of an application: `Profile` -> `Run` -> `StageRun` -> `Measure`.

All are immutable. A value that was not observed is None, never 0, and what that means for the
answer is said in a `Notice`. Task arrays do not live here: a stage keeps the count, the sum and
the quantiles of each measure, which is what a profile YAML stores too, so that a profile and the
log it came from give the same predictions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

from engine.catalog import InstanceType
from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.given_profiles import OptexProfile, ResourceProfile

CATEGORIES = ("sql", "streaming", "mllib", "graphx", "core")
"""Application categories of OptEx III-A (the Spark modules), and `core` for plain RDD jobs."""


@dataclass(frozen=True, slots=True)
class Notice:
    """Something the user should know: a stable code, one line of text, and what to do about it."""

    code: str
    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Measure:
    """One quantity over the tasks of a stage.

    Args:
        count: tasks that reported it.
        total: its sum, in the unit of the field's name.
        quantiles: values at equally spaced probabilities 0 ... 1 (minimum first, maximum last);
            of task times these are all values, sorted, with at most `EXACT_VALUES` tasks; other
            measures keep eleven points, or one where all values are the same.
    """

    count: int
    total: float
    quantiles: tuple[float, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if self.count < 0 or (self.count > 0 and not self.quantiles):
            raise BadInput("a measure needs a count of at least 0 and its quantiles")

    @property
    def mean(self) -> float | None:
        """Mean over the tasks that reported it, None when none did."""
        return self.total / self.count if self.count else None

    @property
    def maximum(self) -> float | None:
        """Largest value, None when no task reported it."""
        return self.quantiles[-1] if self.quantiles else None

    def quantile(self, p: float) -> float:
        """The value at probability `p` in [0, 1], linear between the stored points."""
        points = self.quantiles
        position = p * (len(points) - 1)
        low = min(int(position), len(points) - 1)
        high = min(low + 1, len(points) - 1)
        return points[low] + (points[high] - points[low]) * (position - low)


def total_of(measure: Measure | None) -> float:
    """Sum over the tasks, 0 where none of them reported any."""
    return 0.0 if measure is None else measure.total


EXACT_VALUES = 201
"""Task times of at most this many tasks keep every value; above, this many quantiles."""

STAGE_AMOUNTS = (
    "cached_input_bytes", "cached_disk_bytes", "memory_spilled_bytes", "disk_spilled_bytes",
    "deserialize_seconds", "deserialize_cpu_seconds", "python_start_seconds",
    "input_records", "shuffle_read_records", "shuffle_write_records", "output_records",
)  # fmt: skip
"""Fields of a stage that are sums over its tasks."""


@dataclass(frozen=True, slots=True)
class Waste:
    """Work that was done in vain: failed, killed (speculative) and resubmitted task attempts."""

    failed_tasks: int = 0
    killed_tasks: int = 0
    retried_stages: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage of one run, its attempts merged so that each partition counts once.

    Times are seconds, `submitted_seconds` and `completed_seconds` since the application started.
    Amounts without a `Measure` are those of all tasks together. None: the log does not say, or,
    of bytes and records, nothing moved.

    Args:
        parents: stage ids of this run; for a skipped stage that which really computed the shuffle.
        task_seconds: time that a task held its slot (finish - launch).
        overhead_seconds: the part of it outside `executorRunTime` (scheduling, deserialisation,
            result); `deserialize_seconds` to load code, and what of that they computed
            (`deserialize_cpu_seconds`, since Spark 2.1).
        python_start_seconds: in which Python workers started and loaded their code (SQL, Spark 4).
        cached_disk_bytes: what of the blocks that it needs was on disk alone when it began.
        files_bytes: size of the files that its scans were cut from, columns that nobody read
            included; files_read: how many these are.
        running_seconds: how long tasks had run that had begun and not ended where the log breaks
            off: no task of them is shorter.
        operation_counts: how often each of `operations` is done in a task, 0 for those whose result
            is read from the cache; left out where that is once each.
        coalesced: it has the number of tasks that the program asked for, without a shuffle.
        generated: it works on nothing but rows that the program made itself, as `range` and
            `parallelize` do, in as many partitions as these have; united: the partitions of each of
            them where a union puts several beside each other.
        paired: the partitions of the two inputs of which it pairs every row with every row, as
            `crossJoin` and `cartesian` do: each task has one of either.
        bucketed: it reads tables in buckets, which each of its tasks gets whole.
        in_part: it ran some partitions of its RDD alone, as `take`, `first` and `show` do.
        joined_broadcasts: the stages whose rows, sent to every executor, it joins its own with;
            joined_records: how many of its own met those of each, and joined_shuffled_bytes what
            each took, before compression, where it was shuffled first; None where the log does not
            say.
        barrier: it starts all of its tasks at once or none.
        stored_by: the stage that computed the cached or checkpointed RDD of which each task reads
            one partition; None where it reads anything else. Of a checkpoint Spark counts no bytes.
        cached_rdds: the persisted RDDs that want memory of the heap (not DISK_ONLY, OFF_HEAP);
            disk_backed_rdds: those of them whose blocks go to disk where memory is full, the others
            are computed again; needed_rdds: those that its tasks read or compute, nearest first
            (what lies behind one that was computed before is not needed while that one is there).
        warm_up: mean time of the first 1/32, 1/16, 1/8, 1/4 and 1/2 of the tasks in launch order
            over that of all (first tasks on a slot apart, times at equal size): new code is slow.
        recomputed: it wrote again what lost executors had taken with them: work in vain.
    """

    stage_id: int
    name: str
    tasks: int
    submitted_seconds: float
    completed_seconds: float
    task_seconds: Measure
    parents: tuple[int, ...] = ()
    job_ids: tuple[int, ...] = ()
    sql_execution_id: int | None = None
    overhead_seconds: Measure | None = None
    run_seconds: Measure | None = None
    cpu_seconds: Measure | None = None
    gc_seconds: Measure | None = None
    fetch_wait_seconds: Measure | None = None
    input_bytes: Measure | None = None
    cached_input_bytes: float | None = None
    cached_disk_bytes: float | None = None
    output_bytes: Measure | None = None
    shuffle_read_bytes: Measure | None = None
    shuffle_remote_read_bytes: Measure | None = None
    shuffle_write_bytes: Measure | None = None
    memory_spilled_bytes: float | None = None
    disk_spilled_bytes: float | None = None
    deserialize_seconds: float | None = None
    deserialize_cpu_seconds: float | None = None
    python_start_seconds: float | None = None
    input_records: float | None = None
    files_bytes: float | None = None
    files_read: float | None = None
    shuffle_read_records: float | None = None
    shuffle_write_records: float | None = None
    output_records: float | None = None
    peak_execution_memory_bytes: Measure | None = None
    first_wave_seconds: Measure | None = None
    running_seconds: Measure | None = None
    task_cpus: int = 1
    resource_profile_id: int = 0
    operations: tuple[str, ...] = ()
    operation_counts: tuple[int, ...] = ()
    coalesced: bool = False
    generated: bool = False
    united: tuple[int, ...] = ()
    paired: tuple[int, ...] = ()
    bucketed: bool = False
    in_part: bool = False
    joined_broadcasts: tuple[int, ...] = ()
    joined_records: tuple[float | None, ...] = ()
    joined_shuffled_bytes: tuple[float | None, ...] = ()
    barrier: bool = False
    stored_by: int | None = None
    cached_rdds: tuple[int, ...] = ()
    disk_backed_rdds: tuple[int, ...] = ()
    needed_rdds: tuple[int, ...] = ()
    warm_up: tuple[float, ...] = ()
    recomputed: bool = False
    waste: Waste = field(default_factory=Waste)

    def __post_init__(self) -> None:
        if self.operation_counts and len(self.operation_counts) != len(self.operations):
            raise BadInput("operation_counts needs one number for each of operations")
        for name in ("joined_records", "joined_shuffled_bytes"):
            told = getattr(self, name)
            if told and len(told) != len(self.joined_broadcasts):
                raise BadInput(f"{name} needs one number for each of joined_broadcasts")
        if len(self.paired) not in (0, 2):
            raise BadInput("paired needs the partitions of two inputs, or none")

    @property
    def read_bytes(self) -> float:
        """Bytes that its tasks read, from outside, from a cache and from shuffles."""
        return total_of(self.input_bytes) + total_of(self.shuffle_read_bytes)

    @property
    def outside_bytes(self) -> float:
        """Bytes that its tasks read from outside: its input less what came from a cache."""
        return max(0.0, total_of(self.input_bytes) - (self.cached_input_bytes or 0.0))

    @property
    def whole_files_bytes(self) -> float:
        """The size of the files that it scans, where every byte of them is read whichever columns
        are wanted; 0 where they are others, or their size is not known."""
        whole = any(name.startswith(WHOLE_FILES) for name in self.operations)
        return self.files_bytes or 0.0 if whole else 0.0


WHOLE_FILES = ("Scan json", "Scan csv", "Scan text")
"""Operations that read all bytes of their files."""


@dataclass(frozen=True, slots=True)
class PersistedRdd:
    """An RDD that an application kept for later stages: how many bytes it took, None where the log
    does not say, and the stage that had ended last when it was unpersisted, None where it never
    was. One that was persisted again is there once for each time, in their order. `copies` is how
    many executors are to hold each block, by its storage level; the bytes are those of all copies
    that the executors of the run could hold."""

    rdd_id: int
    stored_bytes: float | None = None
    unpersisted_after: int | None = None
    copies: int = 1


@dataclass(frozen=True, slots=True)
class JobRun:
    """One Spark job: which stages it ran or skipped; times are seconds since the application
    started, `completed_seconds` None where the log ends before it."""

    job_id: int
    submitted_seconds: float
    completed_seconds: float | None
    stage_ids: tuple[int, ...]
    sql_execution_id: int | None = None
    batch_id: int | None = None


LEAST_SECONDS, MOST_SECONDS = 1e-6, 1e10
"""What a run may last: a microsecond to three centuries. What follows from other times leaves the
range of numbers."""

LEAST_AMOUNT, MOST_AMOUNT = 1e-30, 1e30
"""How large an input is, in whatever unit, and how often it is iterated: the same holds."""


@dataclass(frozen=True)
class Run:
    """One observed execution of an application.

    `stages` and what follows are there only when the run came from an event log. `cores` is the
    step function of cores available: (seconds since start, cores from then on).
    `cached_bytes` is what it wanted to keep in memory at once: the blocks that some stage still
    needed, and those for which there was no room; `persisted_rdds` are all that it ever kept.
    `driver_seconds` is the time in which no stage
    ran. `lost` says in numbers what a broken log no longer tells.
    """

    seconds: float
    cluster: Cluster
    workload: Workload
    source: str = ""
    application: str | None = None
    app_id: str | None = None
    spark_version: str | None = None
    started_epoch_seconds: float | None = None
    complete: bool = True
    lost: tuple[str, ...] = ()
    stages: tuple[StageRun, ...] = field(default=(), repr=False)
    jobs: tuple[JobRun, ...] = field(default=(), repr=False)
    cores: tuple[tuple[float, int], ...] = field(default=(), repr=False)
    driver_seconds: float | None = None
    storage_memory_bytes: float | None = None
    cached_bytes: float | None = None
    persisted_rdds: tuple[PersistedRdd, ...] = field(default=(), repr=False)
    config: Mapping[str, str] = field(default_factory=dict, repr=False)
    batch_id: int | None = None
    notices: tuple[Notice, ...] = field(default=(), repr=False)

    def __post_init__(self) -> None:
        if not LEAST_SECONDS <= self.seconds <= MOST_SECONDS:
            raise BadInput(
                f"no run lasts {self.seconds:g} s",
                where=self.source or None,
                remedy=f"give between {LEAST_SECONDS:g} and {MOST_SECONDS:g} s, or leave it out",
            )
        for amount in (self.workload.input_bytes, self.workload.iterations):
            if amount is not None and not LEAST_AMOUNT <= amount <= MOST_AMOUNT:
                raise BadInput(
                    f"no run has an input or iterations of {amount:g}",
                    where=self.source or None,
                    remedy=f"give between {LEAST_AMOUNT:g} and {MOST_AMOUNT:g}, or leave it out",
                )
        object.__setattr__(self, "config", MappingProxyType(dict(self.config)))

    @property
    def has_failed(self) -> bool:
        """Whether a stage of it was given up, so that it did less work than a run that succeeds."""
        return any(notice.code == "failed-stages" for notice in self.notices)


@dataclass(frozen=True)
class Profile:
    """An application's runs and, where given, its OptEx job profiles (one per instance type).

    `input_unit` is "bytes" or the file's own word for its unit of size.
    `deadline_seconds` is a deadline that the evidence itself names (a trigger interval).
    `resources` are the measured throughputs of the nodes, where someone gave them. `shapes` are
    those of types that no run names (a job profile may). `overhead_per_core_gib` is what the user
    wants executors to have beside their heap, in place of what runs had; None where nobody said.
    """

    name: str
    runs: tuple[Run, ...] = field(default=(), repr=False)
    category: str | None = None
    optex: tuple[OptexProfile, ...] = field(default=(), repr=False)
    input_unit: str = "bytes"
    deadline_seconds: float | None = None
    notices: tuple[Notice, ...] = field(default=(), repr=False)
    sources: tuple[str, ...] = ()
    resources: ResourceProfile | None = None
    shapes: tuple[InstanceType, ...] = field(default=(), repr=False)
    overhead_per_core_gib: float | None = None

    @cached_property
    def largest_run(self) -> Run | None:
        """The run with the largest input (the longest among equals) among those that came to their
        end, where any did, and of a stream among its settled batches; None without runs."""
        return max(settled(completed_runs(self.runs)), key=_size_then_time, default=None)

    @property
    def reference_workload(self) -> Workload:
        """What `workload=None` means: the workload of the largest run.

        `iterations` is the largest observed (OptEx IV-A).
        """
        run = self.largest_run
        return run.workload if run else Workload()

    @cached_property
    def instance_types(self) -> tuple[str, ...]:
        """Names of the types that this profile knows, in order of first appearance."""
        names = [name for run in self.runs for name in run.cluster.composition]
        names += [job.instance_type for job in self.optex if job.instance_type is not None]
        return tuple(dict.fromkeys(names))

    @property
    def has_stages(self) -> bool:
        """Whether any run tells its stages (came from an event log)."""
        return any(run.stages for run in self.runs)

    def workload_at(self, scale: float) -> Workload:
        """The reference workload with `scale` times its input."""
        return self.reference_workload.times(scale)


def completed_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs whose end was seen and that did all their work; those whose end was seen where none
    did, all of them where that is not known of any."""
    ended = [run for run in runs if run.complete] or list(runs)
    return [run for run in ended if not run.has_failed] or ended


def runs_aside(runs: Sequence[Run]) -> list[Run]:
    """The runs that `completed_runs` leaves out: they broke off or failed, where others came to
    their end. No batches, of which the last of a stream that still runs always breaks off."""
    kept = {id(run) for run in completed_runs(runs)}
    return [run for run in runs if run.batch_id is None and id(run) not in kept]


SIZE_OF_FIRST = 0.5
"""A first micro-batch is left out where another has at least this share of its input."""


def settled(runs: Sequence[Run]) -> list[Run]:
    """The runs without those micro-batches that met new executors: they start them and load code,
    which a stream does once, however long it runs. They stay where no other can stand for them."""
    largest: dict[object, float] = {}
    for run in runs:
        if not _is_cold_batch(run):
            key = _stream_of(run)
            largest[key] = max(largest.get(key, 0.0), run.workload.input_bytes or 0.0)

    def stands(run: Run) -> bool:
        return largest.get(_stream_of(run), -1.0) >= SIZE_OF_FIRST * (run.workload.input_bytes or 0)

    return [run for run in runs if not (_is_cold_batch(run) and stands(run))]


def _is_cold_batch(run: Run) -> bool:
    return run.batch_id is not None and any(stage.first_wave_seconds for stage in run.stages)


def _stream_of(run: Run) -> object:
    """What batches of one query in one log have in common."""
    return run.source, run.app_id, run.application


def _size_then_time(run: Run) -> tuple[float, float, float]:
    return (run.workload.input_bytes or 0.0, run.workload.iterations or 0.0, run.seconds)
