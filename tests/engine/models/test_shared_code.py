"""How unsure other executors are whose threads may share what each slot of the log lost to new
code."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Stage, observed, order_of
from sparkplan_runs import width

from engine.batch import ClusterBatch
from engine.cluster import Cluster, Workload
from engine.models.replay.fitting import fit_replays
from engine.models.replay.model import ReplayModel
from engine.models.replay.replayed_run import Replay
from engine.models.replay.shared_code import shared_code_scale
from engine.models.replay.times import Times
from engine.profile import Profile, Run

TASKS, NEW_CODE_SECONDS = 64, 16.0


def layout(executors: int, cores: int) -> Cluster:
    return Cluster.of_executors(executors=executors, executor_cores=cores)


def cold_run(
    cluster: Cluster, *, tasks: int = TASKS, task_seconds: float = 1.0, slow: float = 1.0
) -> Run:
    """Tasks of a second, of which the first on each slot takes sixteen more."""
    slots = cluster.slots or 1
    first = np.arange(tasks) < slots
    seconds = (task_seconds + np.where(first, NEW_CODE_SECONDS, 0.0)) * slow
    run = observed([Stage(seconds, input_bytes=tasks * BLOCK)], slots=slots)
    stage = replace(run.stages[0], warm_up=order_of(seconds))
    return replace(run, cluster=cluster, stages=(stage,))


def fitted(*runs: Run) -> ReplayModel:
    return fit_replays(Profile("job", runs))


def widths(run: Run, *clusters: Cluster, workload: Workload | None = None) -> list[float]:
    """Of the intervals of a log on some clusters."""
    model, wanted = fitted(run), workload or run.workload
    return [width(model.predict(cluster=cluster, workload=wanted)) for cluster in clusters]


@pytest.mark.parametrize(("own", "asked"), [((4, 1), (2, 2)), ((2, 2), (4, 1)), ((4, 1), (1, 4))])
def test_the_same_slots_in_other_executors_are_less_sure(
    own: tuple[int, int], asked: tuple[int, int]
) -> None:
    """The time stays: what is shared is not known, and nothing is what the replay counts."""
    run = cold_run(layout(*own))
    model = fitted(run)
    same, other = (
        model.predict(cluster=cluster, workload=run.workload)
        for cluster in (run.cluster, layout(*asked))
    )
    assert other.seconds == pytest.approx(same.seconds, rel=1e-9)
    assert width(other) > 1.25 * width(same)


def test_further_executors_like_those_of_the_log_share_no_more_than_they_did() -> None:
    """Twice the slots as twice the executors, or as executors of twice the threads."""
    run = cold_run(layout(2, 2))
    alike, more_threads = widths(run, layout(4, 2), layout(2, 4))
    assert more_threads > 1.1 * alike


def test_the_doubt_goes_where_the_job_is_long_or_its_code_is_not_new() -> None:
    added = []
    for run in (
        cold_run(layout(4, 1)),
        cold_run(layout(4, 1), tasks=32 * TASKS),
        cold_run(layout(4, 1), task_seconds=300.0),
    ):
        same, other = widths(run, run.cluster, layout(2, 2))
        added.append(other - same)
    assert added[0] > 0.2
    assert max(added[1:]) < 0.02
    assert min(added) >= 0.0


def test_of_more_data_new_code_is_a_smaller_part() -> None:
    run = cold_run(layout(4, 1))
    factors = []
    for scale in (1.0, 8.0, 64.0):
        workload = Workload((run.workload.input_bytes or 0.0) * scale)
        same, other = widths(run, run.cluster, layout(2, 2), workload=workload)
        factors.append(other / same)
    assert factors == sorted(factors, reverse=True)
    assert factors[-1] < 1.01 < 1.2 < factors[0]


@pytest.mark.parametrize("threads", [1, 4, 16])
def test_the_scale_is_what_the_powers_of_the_prior_spread(threads: int) -> None:
    """Executors of 4 slots lose 10 of 40 s: of others each slot loses (4 / threads)^a as much."""
    run = cold_run(layout(1, 4))
    replay = Replay.of(run)
    lost = replay.new_code_seconds / 40.0
    batch = ClusterBatch.of([layout(2, threads)], Profile("job", (run,)))
    times = Times(np.asarray([40.0]), np.asarray([5.0]))
    found = shared_code_scale(replay, batch, times, np.ones(1))
    power = np.linspace(0.0, 1.0, 100_001)
    change = np.log(1.0 + lost * ((4.0 / threads) ** power - 1.0))
    assert found == pytest.approx([math.sqrt(np.trapezoid(change**2, power))], rel=0.01, abs=1e-12)
    assert (found[0] > 0.05) == (threads != 4)


def test_new_code_is_what_later_tasks_do_not_lose() -> None:
    """16 s on each slot; half of them are counted by the later half of two tasks, and 15 of 16
    where there are sixteen."""
    run = cold_run(layout(4, 1))
    assert Replay.of(run).new_code_seconds == pytest.approx(NEW_CODE_SECONDS, rel=0.1)
    warm = replace(run, stages=(replace(run.stages[0], warm_up=(1.0,) * 5),))
    assert Replay.of(warm).new_code_seconds == 0.0


def test_logs_of_other_threads_are_expected_to_differ_by_as_much() -> None:
    """Left out, the slower of two logs is as wrong either way; less than expected where what its
    threads share is not known."""
    log = cold_run(layout(2, 1))
    alike, threads = (
        fitted(log, cold_run(cluster, slow=1.8)) for cluster in (layout(4, 1), layout(2, 2))
    )
    assert alike.factor > 1.1 * threads.factor
