"""What was observed of one stage: `StageRun`, and the `Measure`s of its tasks.

Task arrays do not live here: a stage keeps the count, the sum and the quantiles of each measure,
which is what a profile YAML stores too, so that a profile and the log it came from give the same
predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from engine.errors import BadInput


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
    "deserialize_seconds", "deserialize_cpu_seconds", "python_start_seconds", "fetched_bytes",
    "input_records", "shuffle_read_records", "shuffle_write_records", "output_records",
    "joined_output_records",
)  # fmt: skip
"""Fields of a stage that are sums over its tasks."""


@dataclass(frozen=True, slots=True)
class Waste:
    """Work that was done in vain: failed, killed (speculative) and resubmitted task attempts."""

    failed_tasks: int = 0
    killed_tasks: int = 0
    retried_stages: int = 0
    seconds: float = 0.0


Origin = Literal["files", "made", "stored", "shuffled"]
"""Where rows are from: from outside, made by the program itself (`range`, `parallelize`), read from
what an earlier stage has persisted, or from a shuffle of SQL."""


@dataclass(frozen=True, slots=True)
class StageInput:
    """One of the inputs of which a stage has the partitions beside each other or pairs them.

    Args:
        origin: where its rows are from.
        stored_by: the stage that computed them, where they are stored and that is known.
        files_bytes: size of the files that its scan was cut from, and files_read how many these
            are; None where the log does not say.
    """

    origin: Origin
    stored_by: int | None = None
    files_bytes: float | None = None
    files_read: float | None = None


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
        fetched_bytes: of rows that its tasks sent to the driver, beyond the 16 KiB that any task
            may send.
        cached_disk_bytes: what of the blocks that it needs was on disk alone when it began.
        files_bytes: size of the files that its scans were cut from, columns that nobody read
            included; files_read: how many these are; files_by: the stage of this run that wrote
            them, or half of them at least.
        written_files: how many files it wrote of a table that another stage of the run reads, and
            written_folders into how many folders of it (`partitionBy`), 0 where it has none.
        running_seconds: how long tasks had run that had begun and not ended where the log breaks
            off: no task of them is shorter.
        operation_counts: how often each of `operations` is done in a task, 0 for those whose result
            is read from the cache; left out where that is once each.
        coalesced: it has the number of tasks that the program asked for, without a shuffle.
        coalesced_most: to how many partitions its query puts those of its scan together, where it
            may have fewer; None where it does not, or the log does not say.
        generated: it works on nothing but rows that the program made itself, as `range` and
            `parallelize` do, in as many partitions as these have.
        united: the partitions of each input, where a union puts several beside each other that are
            unlike, stored or made by the program.
        paired: the partitions of the two inputs of which it pairs every row with every row, as
            `crossJoin` and `cartesian` do: each task has one of either.
        inputs: what each of those united or paired is; left out where all are made by the program.
        bucketed: it reads tables in buckets, which each of its tasks gets whole.
        in_part: it ran some partitions of its RDD alone, as `take`, `first` and `show` do.
        joined_broadcasts: the stages whose rows, sent to every executor, it joins its own with,
            once for each join;
            joined_records: how many of its own met those of each, and joined_shuffled_bytes what
            each took, before compression, where it was shuffled first; None where the log does not
            say.
        joined_output_records: the most rows that one of its joins by a broadcast or a merge gives.
        grouped_rows: how many rows its tasks hand on after each has grouped its own, and groups
            how many groups these are, once those of all tasks are brought together.
        merged_bytes: of each of its joins by sort and merge what the smaller shuffled side took,
            before compression, of those that Spark may broadcast.
        barrier: it starts all of its tasks at once or none.
        stored_by: the stage that computed the cached or checkpointed RDD of which each task reads
            one partition, beside shuffles or other caches too; None where it reads a source. Of a
            checkpoint Spark counts no bytes.
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
    fetched_bytes: float | None = None
    input_records: float | None = None
    files_bytes: float | None = None
    files_read: float | None = None
    files_by: int | None = None
    written_files: float | None = None
    written_folders: float | None = None
    shuffle_read_records: float | None = None
    shuffle_write_records: float | None = None
    output_records: float | None = None
    peak_execution_memory_bytes: Measure | None = None
    first_wave_seconds: Measure | None = None
    running_seconds: Measure | None = None
    task_cpus: int = 1
    operations: tuple[str, ...] = ()
    operation_counts: tuple[int, ...] = ()
    coalesced: bool = False
    coalesced_most: int | None = None
    generated: bool = False
    united: tuple[int, ...] = ()
    paired: tuple[int, ...] = ()
    inputs: tuple[StageInput, ...] = ()
    bucketed: bool = False
    in_part: bool = False
    joined_broadcasts: tuple[int, ...] = ()
    joined_records: tuple[float | None, ...] = ()
    joined_shuffled_bytes: tuple[float | None, ...] = ()
    joined_output_records: float | None = None
    grouped_rows: float | None = None
    groups: float | None = None
    merged_bytes: tuple[float, ...] = ()
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
        if self.inputs and len(self.inputs) != len(self.paired or self.united):
            raise BadInput("inputs needs one entry for each of paired or united")

    @property
    def read_bytes(self) -> float:
        """Bytes that its tasks read, from outside, from a cache and from shuffles."""
        return total_of(self.input_bytes) + total_of(self.shuffle_read_bytes)

    @property
    def outside_bytes(self) -> float:
        """Bytes that its tasks read from outside: its input less what came from a cache."""
        return max(0.0, total_of(self.input_bytes) - (self.cached_input_bytes or 0.0))

    @property
    def whole_files_bytes(self) -> float | None:
        """The size of the files that it scans, where every byte of them is read whichever columns
        are wanted; None where they are others, or their size is not known."""
        whole = any(name.startswith(WHOLE_FILES) for name in self.operations)
        return self.files_bytes if whole else None


WHOLE_FILES = ("Scan json", "Scan csv", "Scan text")
"""Operations that read all bytes of their files."""

PYTHON_OPERATIONS = ("Python", "Pandas", "Arrow")
"""What is in the names of operations that compute in Python."""
