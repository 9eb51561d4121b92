"""What was observed of an application: `Profile` -> `Run` -> `StageRun` (`engine.stage_run`).

All are immutable. A value that was not observed is None, never 0, and what that means for the
answer is said in a `Notice`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from engine.catalog import InstanceType
from engine.cluster import Cluster, Workload, cores_held
from engine.errors import BadInput
from engine.given_profiles import OptexProfile, ResourceProfile
from engine.notices import Notice
from engine.read_only import ReadOnly
from engine.stage_run import StageRun

CATEGORIES = ("sql", "streaming", "mllib", "graphx", "core")
"""Application categories of OptEx III-A (the Spark modules), and `core` for plain RDD jobs."""


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


TASK_CPUS = "spark.task.cpus"

MOST_TASK_CPUS = 1024
"""A task that holds more is damage."""


def told_task_cpus(config: Mapping[str, str]) -> int:
    """Cores that each task holds by a run's settings; one, Spark's default, where they do not say
    or are damaged."""
    told = config.get(TASK_CPUS, "")
    is_number = told.isascii() and told.isdecimal() and len(told) <= len(str(MOST_TASK_CPUS))
    held = int(told) if is_number else 1
    return held if 1 <= held <= MOST_TASK_CPUS else 1


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
        object.__setattr__(self, "config", ReadOnly(self.config))
        held = told_task_cpus(self.config)
        if held != self.cluster.task_cpus:
            object.__setattr__(self, "cluster", replace(self.cluster, task_cpus=held))

    @property
    def slot_steps(self) -> tuple[tuple[float, int], ...]:
        """The step function of slots (`Cluster.slots`), of executors like those of the cluster:
        (seconds since start, slots from then on)."""
        cores = self.cluster.executor_cores
        if not cores or self.cluster.task_cpus == 1:
            return self.cores
        held = cores_held(cores, self.cluster.task_cpus)
        return tuple((at, now // cores * held + min(now % cores, held)) for at, now in self.cores)

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
    `fills_nodes`: the user wants executors laid out anew on measured types, as on others.
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
    fills_nodes: bool = False

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
