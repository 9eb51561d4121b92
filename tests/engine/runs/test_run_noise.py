"""What repetitions say of the noise of runs, and that no advice is surer than they allow."""

import math

import numpy as np
import pytest

from engine import fit, load_catalog, read
from engine.cluster import Cluster, Workload
from engine.experiments.advice import advise
from engine.experiments.belief import belief_at
from engine.experiments.points import Points
from engine.optimiser import recommend
from engine.profile import Profile, Run
from engine.runs.configurations import repetitions
from engine.runs.run_noise import MODEL_SPREAD, NOISE_DOF, NOISE_SHARE_OF_LOG, RUN_NOISE, run_noise

WORK = Workload(20e9)
UNKNOWN = np.array([math.nan])


def on(nodes: int, name: str = "m5.2xlarge") -> Cluster:
    return Cluster.of_nodes(instance_type=name, nodes=nodes, vcpus=8.0, memory_gib=32.0)


def table(*runs: tuple[int, float]) -> Profile:
    return Profile("made", tuple(Run(seconds, on(nodes), WORK) for nodes, seconds in runs))


SCATTERED = table((4, 480.0), (4, 900.0), (8, 300.0), (8, 620.0))
"""Repetitions that differ twofold."""

CALM = table((4, 640.0), (4, 650.0), (8, 420.0), (8, 430.0))


def test_repetitions_are_runs_of_the_same_on_the_same() -> None:
    runs = [*SCATTERED.runs, Run(1.0, on(4, "r5.2xlarge"), WORK), Run(2.0, on(4), Workload(1e9))]
    found = [[run.seconds for run in same] for same in repetitions(runs)]
    assert found == [[480.0, 900.0], [300.0, 620.0], [1.0], [2.0]]


def test_without_repetitions_the_prior_decides() -> None:
    found = run_noise(table((4, 480.0), (8, 300.0)), UNKNOWN)
    assert (found.scale, found.dof) == (pytest.approx(RUN_NOISE), NOISE_DOF)


def test_nodes_of_a_type_that_is_not_known_are_counted_too() -> None:
    """A table without instance types: its runs on 4 and on 8 nodes are no repetitions."""
    clusters = [Cluster.of_nodes(instance_type=None, nodes=nodes) for nodes in (4, 8, 4)]
    runs = [Run(600.0 + place, cluster, WORK) for place, cluster in enumerate(clusters)]
    assert [len(same) for same in repetitions(runs)] == [2, 1]
    assert run_noise(Profile("made", tuple(runs)), UNKNOWN).scale < RUN_NOISE


def test_noise_that_a_fit_found_counts_where_nothing_was_repeated() -> None:
    once = table((4, 480.0), (8, 300.0))
    assert run_noise(once, UNKNOWN, fitted=0.06).scale == pytest.approx(0.06)
    assert run_noise(once, UNKNOWN, fitted=0.01).scale == pytest.approx(RUN_NOISE)


def test_the_scatter_of_all_configurations_updates_the_prior() -> None:
    found = run_noise(SCATTERED, UNKNOWN)
    scatter = math.log(900.0 / 480.0) ** 2 / 2.0 + math.log(620.0 / 300.0) ** 2 / 2.0
    assert found.scale**2 == pytest.approx((NOISE_DOF * RUN_NOISE**2 + scatter) / 6.0)
    assert found.dof == NOISE_DOF + 2.0


def test_many_repetitions_say_what_the_noise_is() -> None:
    seconds = 300.0 * np.exp(0.2 * np.random.default_rng(3).normal(size=400))
    found = run_noise(table(*((4, value) for value in seconds)), UNKNOWN)
    assert found.scale == pytest.approx(0.2, rel=0.1)


def test_what_a_model_misses_of_most_of_its_runs_is_noise() -> None:
    """Of a run table beyond what is peculiar to places; of logs half of the variance."""
    once = table((4, 480.0), (8, 300.0))
    assert run_noise(once, np.array([MODEL_SPREAD, MODEL_SPREAD])).scale == pytest.approx(RUN_NOISE)
    beyond = run_noise(once, np.array([0.3, 0.3])).scale
    assert beyond == pytest.approx(math.sqrt(0.09 - MODEL_SPREAD**2))
    logged = read("nightly-features")
    assert run_noise(logged, np.array([0.3])).scale == pytest.approx(
        0.3 * math.sqrt(NOISE_SHARE_OF_LOG)
    )


def test_what_repetitions_tell_is_not_counted_again() -> None:
    """Of the middle of what the model misses: 10 % may be a place's own, and the scatter is told by
    the repetitions themselves. With logs half of its variance is the noise of runs."""
    misses = np.array([0.05, 0.4, 0.4, 0.9, math.nan])
    scatter = math.log(900.0 / 480.0) ** 2 / 2.0 + math.log(620.0 / 300.0) ** 2 / 2.0
    prior = 0.4**2 - 0.1**2 - scatter / 6.0
    found = run_noise(SCATTERED, misses).scale
    assert found**2 == pytest.approx((4.0 * prior + scatter) / 6.0)
    assert run_noise(read("nightly-features"), misses).scale == pytest.approx(0.4 / math.sqrt(2.0))


def test_what_was_measured_is_no_surer_than_its_repetitions() -> None:
    def deviation(profile: Profile) -> float:
        return float(belief_at(fit(profile), Points.of([on(4)], [WORK], profile)).deviation[0])

    assert deviation(SCATTERED) > 0.25
    assert deviation(CALM) < 0.06


def test_scattered_runs_hardly_move_what_is_believed_of_the_next() -> None:
    """One more run of what was run leaves the noise of the next."""
    advice = advise(
        fit(SCATTERED),
        catalog=load_catalog("aws"),
        instances=["m5.2xlarge"],
        deadline_seconds=900.0,
    )
    assert advice.next_runs
    for run in advice.next_runs:
        assert math.log(run.then_high / run.then_low) > 2.0 * 1.645 * 0.25


DEADLINES = (400.0, 900.0, 1500.0)


@pytest.mark.parametrize("deadline", DEADLINES)
@pytest.mark.parametrize("profile", [SCATTERED, CALM])
def test_now_is_what_the_optimiser_recommends(profile: Profile, deadline: float) -> None:
    _agrees(profile, ["m5.*"], deadline)


@pytest.mark.parametrize("deadline", [20.0, 60.0, 600.0])
def test_now_is_what_the_optimiser_recommends_of_a_log(deadline: float) -> None:
    """Also its nearest miss, where nothing keeps the deadline."""
    _agrees(read("nightly-features"), ["m5.*", "c5.*"], deadline)


def _agrees(profile: Profile, instances: list[str], deadline: float) -> None:
    """The same composition, with the same time, interval and probability."""
    fitted, catalog = fit(profile), load_catalog("aws")
    advice = advise(fitted, catalog=catalog, instances=instances, deadline_seconds=deadline)
    answer = recommend(fitted, catalog=catalog, instances=instances, deadline_seconds=deadline)
    choice = answer.recommended or answer.nearest
    assert (advice.instance, advice.nodes) == (choice.instance, choice.nodes)
    assert advice.seconds == pytest.approx(choice.seconds, rel=1e-6)
    assert (advice.low, advice.high) == pytest.approx((choice.low, choice.high), rel=1e-6)
    assert advice.p_deadline == pytest.approx(choice.p_deadline, abs=1e-6)
    assert advice.usd == pytest.approx(choice.cost_usd, rel=1e-6)


def test_other_job_parameters_are_no_noise() -> None:
    """Runs that take four times as long for another parameter say nothing of how sure this one is;
    taken for runs of the same they made the belief six times as wide."""

    def of(k: float, factor: float) -> tuple[Run, ...]:
        work = Workload(20e9, parameters={"k": k})
        nodes = (2, 4, 6, 8, 12)
        return tuple(Run(factor * (60.0 + 2000.0 / n), on(n), work) for n in nodes)

    def deviation(*runs: Run) -> float:
        profile = Profile("made", runs)
        asked = Workload(20e9, parameters={"k": 3.0})
        points = Points.of([on(4), on(10)], [asked, asked], profile)
        return float(belief_at(fit(profile), points).deviation.max())

    assert deviation(*of(3.0, 1.0), *of(9.0, 4.0)) < 1.5 * deviation(*of(3.0, 1.0))


def test_runs_of_other_iterations_are_not_what_the_process_sees() -> None:
    wanted, other = Workload(20e9, iterations=10.0), Workload(20e9, iterations=40.0)
    runs = [Run(60.0 + 2000.0 / n, on(n), wanted) for n in (2, 4, 8)]
    profile = Profile(
        "made", (*runs, *(Run(4.0 * run.seconds, run.cluster, other) for run in runs))
    )
    belief = belief_at(fit(profile), Points.of([on(4)], [wanted], profile))
    assert math.exp(belief.mean[0]) == pytest.approx(560.0, rel=0.1)
