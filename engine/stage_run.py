"""The observations of one stage: `StageRun`, and the `Measure`s of its tasks.

A stage does not keep its tasks but the count, sum and quantiles of each measure. A profile YAML
stores the same, so that a profile and the log it came from give the same predictions.
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
        quantiles: values at equally spaced probabilities 0 ... 1, from minimum to maximum. Task
            times of up to `EXACT_VALUES` tasks are kept whole, sorted; other measures keep eleven
            points, or one if all values are equal.
    """

    count: int
    total: float
    quantiles: tuple[float, ...] = field(repr=False)

    def __post_init__(self) -> None:
        if self.count < 0 or (self.count > 0 and not self.quantiles):
            raise BadInput("a measure needs a count of at least 0 and its quantiles")

    @property
    def mean(self) -> float | None:
        """Mean over the tasks that reported it; None if none did."""
        return self.total / self.count if self.count else None

    @property
    def maximum(self) -> float | None:
        """Largest value; None if no task reported it."""
        return self.quantiles[-1] if self.quantiles else None

    def quantile(self, p: float) -> float:
        """The value at probability `p` in [0, 1], interpolated linearly."""
        points = self.quantiles
        position = p * (len(points) - 1)
        low = min(int(position), len(points) - 1)
        high = min(low + 1, len(points) - 1)
        return points[low] + (points[high] - points[low]) * (position - low)


def total_of(measure: Measure | None) -> float:
    """Sum over the tasks; 0 if none reported any."""
    return 0.0 if measure is None else measure.total


EXACT_VALUES = 201
"""Task times of up to this many tasks are kept whole; of more, this many quantiles."""

STAGE_AMOUNTS = (
    "cached_input_bytes", "cached_disk_bytes", "memory_spilled_bytes", "disk_spilled_bytes",
    "deserialize_seconds", "deserialize_cpu_seconds", "python_start_seconds", "fetched_bytes",
    "input_records", "shuffle_read_records", "shuffle_write_records", "output_records",
    "joined_output_records",
)  # fmt: skip
"""Fields of a stage that are sums over its tasks."""


@dataclass(frozen=True, slots=True)
class Waste:
    """Wasted work: failed, killed (speculative) and resubmitted task attempts."""

    failed_tasks: int = 0
    killed_tasks: int = 0
    retried_stages: int = 0
    seconds: float = 0.0


Origin = Literal["files", "made", "stored", "shuffled"]
"""Where rows come from: files, the program itself (`range`, `parallelize`), what an earlier stage
persisted, or a shuffle."""


@dataclass(frozen=True, slots=True)
class StageInput:
    """One input of a stage that unites or pairs the partitions of several.

    Args:
        origin: where its rows come from.
        stored_by: the stage that computed them, if they are stored and it is known.
        files_bytes: size of the scanned files; None if the log does not say.
        files_read: how many these are; None if the log does not say.
    """

    origin: Origin
    stored_by: int | None = None
    files_bytes: float | None = None
    files_read: float | None = None


@dataclass(frozen=True, slots=True)
class StageRun:
    """One stage of one run, its attempts merged so that each partition counts once.

    Times are in seconds; `submitted_seconds` and `completed_seconds` count from the application's
    start. Amounts that are no `Measure` are sums over all tasks. None means that the log does not
    say or, for bytes and records, that nothing moved.

    Args:
        parents: ids of parent stages in this run; in place of a skipped one, the stage that really
            computed its shuffle.
        task_seconds: time that a task held its slot (finish - launch).
        overhead_seconds: the part of it outside `executorRunTime` (scheduling, deserialisation,
            result).
        deserialize_seconds: time to load code; `deserialize_cpu_seconds` is the part of it spent
            computing (since Spark 2.1).
        python_start_seconds: time in which Python workers started and loaded their code (SQL,
            Spark 4).
        fetched_bytes: rows that its tasks sent to the driver, beyond the 16 KiB that any task may
            send.
        cached_disk_bytes: blocks that it needs and that were only on disk when it began.
        files_bytes: size of the files that it scans, including columns that are not read.
        files_read: how many these are.
        tables_read: how many unlike tables, or sets of partitions of one, its scans read, if there
            are several scans and the log says it.
        row_shares: of the width of a row of the columns that its scan reads, and of those that any
            scan of that table reads, what the columns have that it hands on, by what Spark takes a
            value of each type for; empty if the plan does not say.
        files_by: the stage of this run that wrote them, or the most of them where several did.
        written_files: how many files it wrote of a table, or of an RDD, that another stage of the
            run reads, or of a table that lies in folders.
        written_folders: into how many folders of that table (`partitionBy`); 0 for none.
        running_seconds: how long unfinished tasks had run when the log broke off: a lower bound.
        operation_counts: how often a task performs each of `operations`, 0 if its result is read
            from the cache; empty if once each.
        coalesced: it has the number of tasks that the program asked for: by a `coalesce` without a
            shuffle, by a query's `repartition`, or by fetching one partition after the other
            (`toLocalIterator`).
        coalesced_most: the number of partitions into which its query coalesces those of its scan,
            which may be fewer; None if it does not, or the log does not say.
        rebalanced: it reads rows that Spark brings to partitions of about the advisory size
            (`REBALANCE`), cutting larger ones.
        generated: all of its rows are made by the program, as by `range` and `parallelize`, in as
            many partitions as these have.
        united: the partitions of each input of a union of unlike inputs, stored or made by the
            program.
        paired: the partitions of the two inputs whose rows it all pairs, as `crossJoin` and
            `cartesian` do: each task has one of either.
        inputs: each of the united or paired inputs; empty if all are made by the program.
        bucketed: it reads bucketed tables, each task a whole bucket.
        in_part: it ran only some partitions of its RDD, as `take`, `first` and `show` do.
        joined_broadcasts: the stages whose rows, broadcast to every executor, it joins with its
            own, once for each join.
        joined_records: how many of its own rows matched those of each; None if the log does not
            say.
        joined_shuffled_bytes: the size of each before compression, if it was shuffled first; None
            as `joined_records`.
        joined_output_records: the most rows that one of its joins returns.
        ungrouped_rows: rows that its tasks group, of which each groups its own first.
        grouped_rows: rows that they hand on then.
        groups: how many groups these are once all tasks are brought together.
        merged_bytes: for each sort-merge join, the size before compression of its smaller shuffled
            side, if Spark may broadcast that.
        merged_stages: the stage that wrote each of these sides; empty if the log does not say.
        barrier: it starts all of its tasks at once or none.
        query_settings: settings of its query, by name, that differ from those of its run; empty
            text for one that its query left at its default.
        stored_by: the stage that computed the cached or checkpointed RDD of which each task reads
            one partition, beside shuffles or other caches too; None if it reads a source. Spark
            counts no bytes for a checkpoint.
        cached_rdds: persisted RDDs that use the heap (not DISK_ONLY, OFF_HEAP).
        disk_backed_rdds: those of them whose blocks go to disk when memory is full; the others are
            computed again.
        needed_rdds: those that its tasks read or compute, nearest first. What one was computed from
            is not needed while that one is there.
        warm_up: mean time of the first 1/32, 1/16, 1/8, 1/4 and 1/2 of the tasks in launch order
            relative to that of all (without the first tasks on a slot, at equal size): new code is
            slow.
        recomputed: it only wrote again what was lost with executors.
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
    tables_read: int | None = None
    row_shares: tuple[float, ...] = ()
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
    rebalanced: bool = False
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
    ungrouped_rows: float | None = None
    grouped_rows: float | None = None
    groups: float | None = None
    merged_bytes: tuple[float, ...] = ()
    merged_stages: tuple[int, ...] = ()
    barrier: bool = False
    query_settings: tuple[tuple[str, str], ...] = ()
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
            values = getattr(self, name)
            if values and len(values) != len(self.joined_broadcasts):
                raise BadInput(f"{name} needs one number for each of joined_broadcasts")
        if self.merged_stages and len(self.merged_stages) != len(self.merged_bytes):
            raise BadInput("merged_stages needs one number for each of merged_bytes")
        if len(self.row_shares) not in (0, 2):
            raise BadInput("row_shares needs two numbers, or none")
        if len(self.paired) not in (0, 2):
            raise BadInput("paired needs the partitions of two inputs, or none")
        if self.inputs and len(self.inputs) != len(self.paired or self.united):
            raise BadInput("inputs needs one entry for each of paired or united")

    @property
    def read_bytes(self) -> float:
        """Bytes that its tasks read: from outside, from the cache and from shuffles."""
        return total_of(self.input_bytes) + total_of(self.shuffle_read_bytes)

    @property
    def read_records(self) -> float:
        """Records that its tasks read, from input and from shuffles; 0 if none are counted."""
        return (self.input_records or 0.0) + (self.shuffle_read_records or 0.0)

    @property
    def outside_bytes(self) -> float:
        """Bytes that its tasks read from outside: its input without what came from the cache."""
        return max(0.0, total_of(self.input_bytes) - (self.cached_input_bytes or 0.0))

    @property
    def whole_files_bytes(self) -> float | None:
        """The size of the files that it scans, if of a format that is read whole whichever columns
        are wanted; None for other formats, or if unknown."""
        whole = any(name.startswith(WHOLE_FILES) for name in self.operations)
        return self.files_bytes if whole else None


WHOLE_FILES = ("Scan json", "Scan csv", "Scan text")
"""Operations that read all bytes of their files."""

PYTHON_OPERATIONS = ("Python", "Pandas", "Arrow")
"""Words in the names of operations that compute in Python."""
