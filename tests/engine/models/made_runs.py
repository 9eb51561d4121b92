"""Runs as a log would tell them, made from applications whose every task is known."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

import engine
from engine.catalog import InstanceType
from engine.cluster import Cluster, NodeGroup, Workload
from engine.models.base import Prediction
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.warm_up import PARTS
from engine.profile import JobRun, Profile, Run
from engine.scheduling.stages import ScheduledNode, schedule
from engine.scheduling.waves import Tasks
from engine.stage_run import EXACT_VALUES, Measure, StageRun

Values = NDArray[np.float64]

BLOCK = 128.0 * 1024**2
"""Bytes of an input split."""


def measure(values: Values) -> Measure:
    """As the reader of logs makes it: all values of few tasks, quantiles of many."""
    ordered = np.sort(np.asarray(values, dtype=float))
    if len(ordered) > EXACT_VALUES:
        ordered = np.quantile(ordered, np.linspace(0.0, 1.0, EXACT_VALUES))
    return Measure(len(values), float(np.sum(values)), tuple(ordered.tolist()))


def order_of(seconds: Values) -> tuple[float, ...]:
    """`StageRun.warm_up` of tasks in launch order."""
    counts = [max(1, round(len(seconds) * part)) for part in PARTS[:-1]]
    return tuple(float(seconds[:count].mean() / seconds.mean()) for count in counts)


@dataclass(frozen=True)
class Stage:
    """A stage of a made application: its tasks' times, and what it reads."""

    seconds: Values
    parents: tuple[int, ...] = ()
    job: int = 0
    input_bytes: float = 0.0
    shuffle_bytes: float = 0.0
    cold_seconds: float = 0.0
    more: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """A job: what the driver waits for (jobs), and how long it then takes to submit it."""

    after: tuple[int, ...] = ()
    gap_seconds: float = 0.0


def simulated(
    stages: Sequence[Stage], jobs: Sequence[Job], *, slots: int, tail_seconds: float = 0.0
) -> tuple[float, Values, Values, Values, Values]:
    """Duration, stage starts and ends, job submissions and ends: task by task."""
    nodes: list[ScheduledNode] = []
    gates: dict[int, int] = {}
    place: dict[int, int] = {}
    for number, job in enumerate(jobs):
        waited = [place[i] for i, s in enumerate(stages) if s.job in job.after]
        waited += [gates[other] for other in job.after]
        gates[number] = len(nodes)
        nodes.append(ScheduledNode(tuple(waited), job.gap_seconds, -1))
        for i, stage in enumerate(stages):
            if stage.job == number:
                parents = [place[parent] for parent in stage.parents]
                place[i] = len(nodes)
                cold = stage.seconds + stage.cold_seconds if stage.cold_seconds else None
                barrier, after = bool(stage.more.get("barrier")), (gates[number], *parents)
                tasks = Tasks(stage.seconds, cold)
                nodes.append(ScheduledNode(after, 0.0, i, tasks, barrier=barrier))
    found = schedule(nodes, slots, exact=True)
    places = [place[i] for i in range(len(stages))]
    ends = [
        max([found.end[place[i]] for i, s in enumerate(stages) if s.job == number] or [0.0])
        for number in range(len(jobs))
    ]
    starts = [
        max([found.end[p] for p in nodes[place[i]].after], default=0.0) for i in range(len(stages))
    ]
    return (
        found.seconds + tail_seconds,
        np.asarray(starts),
        found.end[places],
        found.start[[gates[number] for number in range(len(jobs))]],
        np.asarray(ends),
    )


def observed(
    stages: Sequence[Stage],
    jobs: Sequence[Job] = (Job(),),
    *,
    slots: int,
    tail_seconds: float = 0.0,
    input_bytes: float | None = None,
    config: Mapping[str, str] | None = None,
) -> Run:
    """The run that a log of this application on so many slots tells."""
    seconds, start, end, submitted, ended = simulated(
        stages, jobs, slots=slots, tail_seconds=tail_seconds
    )
    known = [
        stage_run(i, stage, float(start[i]), float(end[i]), slots) for i, stage in enumerate(stages)
    ]
    total = sum(stage.input_bytes for stage in stages) or None
    return Run(
        seconds,
        Cluster.of_executors(executors=slots, executor_cores=1),
        Workload(input_bytes or total),
        stages=tuple(known),
        jobs=tuple(
            JobRun(
                number,
                float(submitted[number]),
                float(ended[number]),
                tuple(i for i, stage in enumerate(stages) if stage.job == number),
            )
            for number in range(len(jobs))
        ),
        cores=((0.0, slots),),
        config=config or {},
        spark_version="3.5.9",
    )


def stage_run(i: int, stage: Stage, start: float, end: float, slots: int) -> StageRun:
    seconds, first = stage.seconds, None
    if stage.cold_seconds:
        count = min(slots, len(seconds))
        seconds = np.concatenate((seconds[:count] + stage.cold_seconds, seconds[count:]))
        first = measure(seconds[:count])
    n = len(seconds)
    run = StageRun(
        stage_id=i,
        name=f"stage {i}",
        tasks=n,
        submitted_seconds=start,
        completed_seconds=end,
        task_seconds=measure(seconds),
        parents=stage.parents,
        job_ids=(stage.job,),
        run_seconds=measure(seconds),
        input_bytes=measure(np.full(n, stage.input_bytes / n)) if stage.input_bytes else None,
        shuffle_read_bytes=(
            measure(np.full(n, stage.shuffle_bytes / n)) if stage.shuffle_bytes else None
        ),
        first_wave_seconds=first,
        warm_up=(1.0,) * 5,
    )
    return replace(run, **stage.more)


def without_growth(run: Run) -> Replay:
    """A replay that takes task times as they are on any number of slots."""
    replay = Replay.of(run)
    models = tuple(replace(model, warm_up=None) for model in replay.models)
    return replace(replay, contention_growth=np.zeros(len(replay.contention_growth)), models=models)


def of_type(name: str, score: float, cores: int = 8) -> Cluster:
    """Nodes of one core, each of this speed."""
    kind = InstanceType(name, 1.0, 4.0, cpu_score=score, cpu_benchmark="mark")
    plain = Cluster.of_executors(executors=cores, executor_cores=1)
    return replace(plain, groups=(NodeGroup(cores, kind),))


def ask(run: Run, model: str = "sparkplan") -> Prediction:
    """What a model that knows one run says of the same cluster and workload."""
    fitted = engine.fit(Profile("job", (run,)), model=model)
    return fitted.predict(cluster=run.cluster, workload=run.workload)
