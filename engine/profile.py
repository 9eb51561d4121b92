"""The observations of an application: `Profile` -> `Run` -> `StageRun` (`engine.stage_run`).

All are immutable. A value that was not observed is None, never 0; a `Notice` says what that means
for a prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from engine.catalog import InstanceType
from engine.cluster import Cluster, Workload, cores_held
from engine.errors import BadInput
from engine.given_profiles import OptexProfile, ResourceProfile
from engine.notices import Notice
from engine.read_only import ReadOnly
from engine.stage_run import StageRun
from engine.text.quantities import check_times, has_size_unit, parse_bytes, parse_times

CATEGORIES = ("sql", "streaming", "mllib", "graphx", "core")
"""Application categories of OptEx III-A (the Spark modules), and `core` for plain RDD jobs."""


@dataclass(frozen=True, slots=True)
class PersistedRdd:
    """An RDD that an application persisted; one that it persisted again appears once each time, in
    order.

    Args:
        stored_bytes: of all copies that the run's executors had room for; None where the log does
            not say.
        unpersisted_after: the last stage to end before it was unpersisted; None if it never was.
        copies: the number of executors that hold each block, by its storage level.
    """

    rdd_id: int
    stored_bytes: float | None = None
    unpersisted_after: int | None = None
    copies: int = 1


@dataclass(frozen=True, slots=True)
class JobRun:
    """One Spark job and the stages that it ran or skipped. Times are seconds since the application
    started; `completed_seconds` is None where the log ends first. `pool` numbers the scheduler
    pools from 1 as they appear; None is Spark's default pool."""

    job_id: int
    submitted_seconds: float
    completed_seconds: float | None
    stage_ids: tuple[int, ...]
    sql_execution_id: int | None = None
    batch_id: int | None = None
    pool: int | None = None


TASK_CPUS = "spark.task.cpus"

MOST_TASK_CPUS = 1024
"""A larger value is taken for damage in the log."""


def configured_task_cpus(config: Mapping[str, str]) -> int:
    """Cores that each task holds, by a run's settings; 1, as in Spark, if missing or damaged."""
    text = config.get(TASK_CPUS, "")
    is_number = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_TASK_CPUS))
    cpus = int(text) if is_number else 1
    return cpus if 1 <= cpus <= MOST_TASK_CPUS else 1


LEAST_SECONDS, MOST_SECONDS = 1e-6, 1e10
"""How long a run may last: a microsecond to three centuries. Arithmetic on times beyond these
overflows."""

LEAST_AMOUNT, MOST_AMOUNT = 1e-30, 1e30
"""The same for the size of an input, in any unit, and for iterations."""


def require_possible(seconds: float, workload: Workload, where: str | None) -> None:
    """Refuses a time, an input or iterations that no run has.

    Raises:
        BadInput: which says `where` it stands.
    """
    if not LEAST_SECONDS <= seconds <= MOST_SECONDS:
        raise BadInput(
            f"no run lasts {seconds:g} s",
            where=where,
            remedy=f"give between {LEAST_SECONDS:g} and {MOST_SECONDS:g} s, or leave it out",
        )
    for amount in (workload.input_bytes, workload.iterations):
        if amount is not None and not LEAST_AMOUNT <= amount <= MOST_AMOUNT:
            raise BadInput(
                f"no run has an input or iterations of {amount:g}",
                where=where,
                remedy=f"give between {LEAST_AMOUNT:g} and {MOST_AMOUNT:g}, or leave it out",
            )


@dataclass(frozen=True)
class Run:
    """One observed execution of an application.

    `stages` and the fields below it are known only from an event log.

    Args:
        cluster: of pods (`counts_pods`) that are told as nodes alone, each is an executor.
        app_attempt: id of the attempt, where its cluster manager makes several (YARN).
        lost: what is missing from a broken log, in numbers.
        cores: the cores available over time: (seconds since start, cores from then on).
        driver_seconds: the time during which no stage ran.
        cached_bytes: the most that it wanted in memory at once: blocks that a stage still needed,
            whether or not there was room for them.
        persisted_rdds: everything that it ever persisted.

    Raises:
        BadInput: for a time, an input or iterations outside the limits above.
    """

    seconds: float
    cluster: Cluster
    workload: Workload
    source: str = ""
    application: str | None = None
    app_id: str | None = None
    app_attempt: str | None = None
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
        require_possible(self.seconds, self.workload, self.source or None)
        object.__setattr__(self, "config", ReadOnly(self.config))
        cpus = configured_task_cpus(self.config)
        if cpus != self.cluster.task_cpus:
            object.__setattr__(self, "cluster", replace(self.cluster, task_cpus=cpus))
        # Each of these nodes is an executor, also where only their number is told.
        if self.counts_pods and self.cluster.executors is None and self.cluster.nodes:
            pods = replace(self.cluster, executors=self.cluster.nodes)
            object.__setattr__(self, "cluster", pods)

    @property
    def slot_steps(self) -> tuple[tuple[float, int], ...]:
        """`cores` as slots (`Cluster.slots`) of executors like the cluster's: (seconds since start,
        slots from then on)."""
        cores = self.cluster.executor_cores
        if not cores or self.cluster.task_cpus == 1:
            return self.cores
        held = cores_held(cores, self.cluster.task_cpus)
        return tuple((at, now // cores * held + min(now % cores, held)) for at, now in self.cores)

    @property
    def counts_pods(self) -> bool:
        """Whether its nodes are pods: on Kubernetes each executor has a host name of its own, and a
        log does not say how many of them shared a node."""
        return self.config.get("spark.master", "").startswith("k8s")

    def with_types(self, type_of: Callable[[InstanceType | None], InstanceType | None]) -> Run:
        """The run with what `type_of` makes of the type of each group of its nodes."""
        groups = self.cluster.groups
        typed = tuple(replace(group, instance=type_of(group.instance)) for group in groups)
        return replace(self, cluster=replace(self.cluster, groups=typed))

    @property
    def has_failed(self) -> bool:
        """Whether Spark gave up a stage, so that it did less work than a run that succeeds."""
        return any(notice.code == "failed-stages" for notice in self.notices)


@dataclass(frozen=True)
class Profile:
    """An application's runs and, where given, its OptEx job profiles (one per instance type).

    Args:
        input_unit: "bytes", or the file's own word for its unit of size.
        deadline_seconds: a deadline that the evidence itself implies (a trigger interval).
        resources: measured throughputs of the nodes, if given.
        shapes: of types that no run names, though a job profile may.
        overhead_per_core_gib: memory beside the heap that the user asks for in place of what the
            runs had; None keeps theirs.
        fills_nodes: lay executors out anew on measured types, as on all others.
        jobs: of a workflow, which has no runs of its own: one profile per job, empty for a job
            without evidence.
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
    jobs: tuple[Profile, ...] = field(default=(), repr=False)

    @cached_property
    def largest_run(self) -> Run | None:
        """The run with the largest input, the longest among equals; None without runs. Only
        `completed_runs` count, and of a stream only `settled` batches."""
        return max(
            settled(completed_runs(self.runs)),
            key=lambda r: (r.workload.input_bytes or 0.0, r.workload.iterations or 0.0, r.seconds),
            default=None,
        )

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
        """Whether the stages of any run are known (it came from an event log)."""
        return any(run.stages for run in self.runs)

    def workload_at(self, scale: float) -> Workload:
        """The reference workload with `scale` times its input."""
        return self.reference_workload.times(scale)

    def workload_sized(self, text: str, *, where: str | None = None) -> Workload:
        """The reference workload with the input that a text names: "3x" (times that of the largest
        run), "48GB", or a number in `input_unit`.

        Raises:
            BadInput: for another text or unit, a size where the runs tell none, and one too far
                from theirs (`check_times`).
        """
        times = parse_times(text, where=where)
        if times is not None:
            check_times(times, text, where=where)
            return self.workload_at(times)
        if self.input_unit != "bytes" and has_size_unit(text):
            raise BadInput(
                f"the profile counts its input in {self.input_unit}, not in bytes",
                where=where,
                remedy="give a plain number in that unit, or a factor such as 2x",
            )
        size = parse_bytes(text, where=where, remedy=self._how_to_size())
        reference = self.reference_workload
        if self.runs and reference.input_bytes is None:
            raise BadInput(
                "the runs do not say how large their input was",
                where=where,
                remedy="give a factor such as 2x (times the largest run)",
            )
        if reference.input_bytes:
            check_times(size / reference.input_bytes, text, where=where)
        return Workload(size, reference.iterations, reference.parameters)

    def _how_to_size(self) -> str:
        if self.input_unit == "bytes":
            return "write it like 48GB or 300MB, or 3x for three times the largest run"
        return "write a plain number, as the runs count it, or 3x for three times the largest run"


def completed_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs that succeeded; if none did, those whose end was seen; failing that, all of them."""
    ended = [run for run in runs if run.complete] or list(runs)
    return [run for run in ended if not run.has_failed] or ended


def runs_aside(runs: Sequence[Run]) -> list[Run]:
    """The runs that `completed_runs` leaves out, micro-batches excepted: the last batch of a stream
    that is still running is always cut off."""
    kept = {id(run) for run in completed_runs(runs)}
    return [run for run in runs if run.batch_id is None and id(run) not in kept]


SIZE_OF_FIRST = 0.5
"""A first micro-batch is left out where another has at least this share of its input."""


def settled(runs: Sequence[Run]) -> list[Run]:
    """The runs without the micro-batches that ran on new executors: starting these and loading code
    happens once in a stream, however long it runs. A batch that no other can represent stays."""
    largest: dict[object, float] = {}
    for run in runs:
        if not _is_cold_batch(run):
            key = _stream_of(run)
            largest[key] = max(largest.get(key, 0.0), run.workload.input_bytes or 0.0)

    def represented(run: Run) -> bool:
        size = run.workload.input_bytes or 0
        return largest.get(_stream_of(run), -1.0) >= SIZE_OF_FIRST * size

    return [run for run in runs if not (_is_cold_batch(run) and represented(run))]


def _is_cold_batch(run: Run) -> bool:
    return run.batch_id is not None and any(stage.first_wave_seconds for stage in run.stages)


def _stream_of(run: Run) -> object:
    """A key that is the same for all batches of one query in one log."""
    return run.source, run.app_id, run.application


def with_jobs_of_workflows(profiles: Sequence[Profile]) -> tuple[Profile, ...]:
    """The profiles, each workflow's replaced by those of its jobs."""
    return tuple(job for profile in profiles for job in profile.jobs or (profile,))
