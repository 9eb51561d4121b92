"""Logs of a job with known OptEx coefficients."""

from collections.abc import Sequence
from typing import Any

from engine.cluster import Cluster, Layout, Workload
from engine.given_profiles import OptexProfile
from engine.models.base import FittedModel
from engine.models.optex.job_profiles import with_job_profiles
from engine.models.optex.model import Optex
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.stage_run import Measure, StageRun

INIT, PREP = 20.0, 13.0
C_PER_NODE, A_PER_SIZE, B_PER_ITERATION = 0.06, 0.77, 90.0
"""Table II: T_init, T_prep, coeff x T_vs_baseline and cf_commn x T_commn_baseline; B is ours."""


SLOTS = 2
OPERATIONS = {"map": 3.0, "distinct": 6.0, "count": 1.5}
"""Seconds of slot time of each in one task."""


STAGES = [("map at a.py:1", ("map",)), ("count at a.py:2", ("map", "distinct"))]
"""Call sites and scopes; the second is an action."""


def measure(total: float, tasks: int) -> Measure:
    return Measure(tasks, total, (total / tasks,))


def logged(*, nodes: int = 1, iterations: float = 1.0, size: float = 1.0, said: bool = True) -> Run:
    """A run whose phases obey Eqs. 1, 2 and 5 exactly, as a log of it tells: every slot busy."""
    sharing = C_PER_NODE * iterations * nodes
    communication = A_PER_SIZE * size / nodes
    execution = B_PER_ITERATION * iterations * size / nodes
    busy = sharing + communication + execution
    slots = nodes * SLOTS
    each = [sum(OPERATIONS[name] for name in ("map",)), sum(OPERATIONS.values()) + 0.0]
    tasks = 12
    stages, at = [], INIT + PREP / 2.0
    for number, ((name, scopes), weight) in enumerate(zip(STAGES, each, strict=True)):
        share = weight / sum(each)
        stages.append(
            StageRun(
                stage_id=number,
                name=name,
                tasks=tasks,
                submitted_seconds=at,
                completed_seconds=at + busy * share,
                task_seconds=measure(busy * share * slots, tasks),
                overhead_seconds=measure(sharing * share * slots, tasks),
                fetch_wait_seconds=measure(communication * share * slots, tasks),
                input_bytes=None if number else measure(size, tasks),
                operations=scopes,
            )
        )
        at += busy * share
    nodes_of = Cluster.of_nodes(
        instance_type="m1.large",
        nodes=nodes,
        vcpus=2.0,
        memory_gib=7.5,
        layout=Layout(1, SLOTS, 4.0),
    )
    return Run(
        INIT + PREP + busy,
        nodes_of,
        Workload(size, iterations if said else None),
        source=f"{nodes} nodes",
        application="als",
        stages=tuple(stages),
        cores=((INIT, slots),),
    )


def estimated(nodes: float, iterations: float, size: float) -> float:
    """Eq. 8."""
    return (
        INIT
        + PREP
        + C_PER_NODE * nodes * iterations
        + (B_PER_ITERATION * iterations * size + A_PER_SIZE * size) / nodes
    )


RUNS = [
    logged(nodes=1, iterations=10),
    logged(nodes=2, iterations=10, size=3.0),
    logged(nodes=4, iterations=5, size=2.0),
]


def one(*runs: Run, **said: Any) -> OptexProfile:
    (job,) = with_job_profiles(Profile("als", runs, "mllib"), **said).optex
    return job


def codes(notices: Sequence[Notice]) -> set[str]:
    return {notice.code for notice in notices}


def on(nodes: int, name: str | None = "m1.large") -> Cluster:
    return Cluster.of_nodes(instance_type=name, nodes=nodes)


def fit(profile: Profile) -> FittedModel:
    return Optex().fit(profile, models={})


def stage(
    name: str, *operations: str, seconds: float = 1.0, tasks: int = 10, **more: Any
) -> StageRun:
    return StageRun(
        stage_id=more.pop("stage_id", 0),
        name=name,
        tasks=tasks,
        submitted_seconds=0.0,
        completed_seconds=seconds,
        task_seconds=measure(seconds * tasks, tasks),
        operations=operations,
        **more,
    )
