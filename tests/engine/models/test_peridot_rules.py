"""PERIDOT rule by rule: which runs are references, the means over them, how sure they are."""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed, of_type
from peridot_runs import REFERENCE_CORES, codes, executors, fit, references, run_of, slowed

from engine.cluster import Cluster, Workload
from engine.errors import ModelDoesNotFit
from engine.models.peridot.equations import Parameters
from engine.models.peridot.model import PHASE_FIXED, SHOWN_PHASES
from engine.models.peridot.references import find_references
from engine.models.peridot.spread import PUBLISHED_SPREAD, Doubt, prior_spread
from engine.notices import Notice
from engine.profile import Profile, Run

FAILED = Notice("failed-stages", "1 stage failed", "give another log")


def sizes_of(*runs: Run) -> list[float]:
    """Input of the references that PERIDOT takes."""
    return find_references(Profile("job", runs)).sizes.tolist()


def timed(size: float, variable: Sequence[float], fixed: Sequence[float]) -> Run:
    """A run of one variable and one fixed group, whose tasks take these seconds, with 1 s of the
    driver before each."""
    stages = [Stage(np.asarray(variable)), Stage(np.asarray(fixed), job=1)]
    jobs = [Job((), 1.0), Job((0,), 1.0)]
    run = observed(stages, jobs, slots=REFERENCE_CORES, input_bytes=size)
    return replace(run, application="app", source=f"{size:g}")


# Which runs


def test_the_widest_range_of_sizes_decides_then_the_number_of_runs() -> None:
    """As a ratio: 1 to 4 is wider than 10 to 20."""
    few = [run_of(size, cores=5) for size in (1.0, 4.0)]
    many = [run_of(size, cores=10) for size in (10.0, 15.0, 20.0)]
    assert sizes_of(*many, *few) == [1.0, 4.0]
    alike = [run_of(size, cores=10) for size in (1.0, 2.0, 4.0)]
    assert sizes_of(*few, *alike) == [1.0, 2.0, 4.0]


def test_runs_on_other_types_are_no_tests() -> None:
    def on(run: Run, name: str) -> Run:
        nodes = Cluster.of_nodes(instance_type=name, nodes=5, vcpus=1.0, memory_gib=4.0)
        layout = (run.cluster.executors, run.cluster.executor_cores)
        return replace(run, cluster=replace(nodes, executors=layout[0], executor_cores=layout[1]))

    own = [on(run, "a") for run in references()]
    same, other = (on(run_of(2.0, cores=10), name) for name in "ab")
    found = find_references(Profile("job", (*own, same, other)))
    assert [run is same for run in found.elsewhere] == [True]


def test_the_order_of_the_runs_does_not_matter() -> None:
    runs = [run_of(size, noise=0.3) for size in (1.0, 2.0, 3.0)] + [run_of(2.0, cores=10)]
    forward, backward = fit(*runs), fit(*reversed(runs))
    for workload in (None, Workload(40.0)):
        answers = [
            fitted.predict(cluster=executors(20), workload=workload)
            for fitted in (forward, backward)
        ]
        assert answers[0].seconds == pytest.approx(answers[1].seconds)
        assert answers[0].high == pytest.approx(answers[1].high)


def test_failed_runs_serve_before_runs_whose_end_nobody_saw() -> None:
    small, large = references()
    failed = replace(large, notices=(FAILED,))
    broken = replace(run_of(3.0), complete=False)
    assert sizes_of(small, failed, broken) == [1.0, 2.0]
    assert sizes_of(small, broken) == [1.0, 3.0]
    assert sizes_of(small, large, replace(run_of(3.0), notices=(FAILED,))) == [1.0, 2.0]


def test_parameters_are_those_of_the_largest_run() -> None:
    def told(size: float, k: float) -> Run:
        return replace(run_of(size), workload=Workload(size, parameters={"k": k}))

    assert sizes_of(told(1.0, 5.0), told(1.5, 5.0), told(2.0, 3.0), told(4.0, 3.0)) == [2.0, 4.0]


@pytest.mark.parametrize("other", ["etl_8", "etl-2024-11-23", "etl"])
def test_names_that_differ_in_numbers_and_signs_are_one_application(other: str) -> None:
    one, two = references()
    assert fit(replace(one, application="etl-7"), replace(two, application=other))


def test_one_log_without_a_size_is_one_log() -> None:
    untold = replace(run_of(1.0), workload=Workload())
    with pytest.raises(ModelDoesNotFit, match="here is one"):
        fit(untold)


def test_runs_of_one_size_are_said_to_be() -> None:
    with pytest.raises(ModelDoesNotFit, match="all runs here read about the same"):
        fit(run_of(1.0), run_of(1.0, cores=8))


@pytest.mark.parametrize(("shared", "serves"), [(6.0, True), (4.0, False)])
def test_half_of_the_stages_time_has_to_match(shared: float, serves: bool) -> None:
    def run(size: float, last: str) -> Run:
        found = timed(size, [shared] * int(5 * size), [10.0 - shared] * int(5 * size))
        other = replace(found.stages[1], name=last)
        return replace(found, stages=(found.stages[0], other))

    runs = run(1.0, "a"), run(2.0, "b")
    if serves:
        assert len(fit(*runs).references.groups) == 1
        return
    with pytest.raises(ModelDoesNotFit, match="1 groups with 40 % of its stages' time"):
        fit(*runs)


# Means


def test_fixed_time_is_the_mean_over_references_and_never_less_than_nothing() -> None:
    runs = [timed(size, [2.0] * int(5 * size), [rest]) for size, rest in ((1, 3), (2, 4), (3, 11))]
    assert fit(*runs).parameters.fixed_seconds == pytest.approx(2.0 + 6.0)
    contradicting = [replace(run, seconds=1.0) for run in runs]
    assert fit(*contradicting).parameters.fixed_seconds == 0.0


def test_fixed_groups_of_more_than_one_wave_are_means_over_configurations() -> None:
    """Five or six tasks on five cores, whatever the size: 3 s and 6 s are parallel work; the size
    that was run three times counts once."""
    one = [timed(1.0, [2.0] * 5, [3.0] * tasks) for tasks in (5, 6, 6)]
    two = [timed(2.0, [2.0] * 10, [3.0] * 6)]
    found = fit(*one, *two)
    assert found.references.variable.tolist() == [True, False]
    assert found.parameters.parallel_fixed_seconds == pytest.approx((5.0 + 6.0) / 2)


def test_no_run_takes_no_time() -> None:
    nothing = Parameters(1.0, np.empty(0), np.empty(0), 0.0, 0.0)
    assert nothing.seconds(1.0, np.ones(1), np.ones(1)).tolist() == [1e-3]


# How sure


def test_the_prior_is_the_published_error_as_a_normal_law() -> None:
    """VI-B: 6.6 % over eight applications."""
    prior = Doubt()
    assert prior.near == pytest.approx(0.066 * math.sqrt(math.pi / 2.0), abs=5e-4)
    assert prior.dof == 8.0


def test_repetitions_teach_once() -> None:
    errors, expected = np.asarray([0.3, 0.1, 0.2]), np.full(3, 0.1)
    found = Doubt().learnt(errors, expected, np.asarray([0, 0, 1]))
    assert found.dof == 10.0
    assert found.factor == pytest.approx(math.sqrt((8.0 + (9.0 + 1.0) / 2.0 + 4.0) / 10.0))


def test_the_prior_is_the_spread_of_the_papers_mean_error() -> None:
    """6.6 % (VI-B) as the mean absolute error of a normal law."""
    assert pytest.approx(0.066 * math.sqrt(math.pi / 2.0), abs=5e-4) == PUBLISHED_SPREAD


def test_references_whose_own_times_do_not_come_out_again_are_less_sure() -> None:
    one, other = references()
    assert fit(one, other).doubt.near == pytest.approx(PUBLISHED_SPREAD)
    fitted = fit(one, slowed(other, 1.2))
    off = [
        math.log(run.seconds / fitted.predict(cluster=run.cluster, workload=run.workload).seconds)
        for run in (one, slowed(other, 1.2))
    ]
    assert max(map(abs, off)) > 0.05
    assert fitted.doubt.near == pytest.approx(
        math.sqrt(PUBLISHED_SPREAD**2 + sum(error**2 for error in off) / 2.0)
    )


def test_distances_in_cores_and_size_add_up_as_independent_doubts() -> None:
    found = prior_spread(
        near=0.2,
        doublings_cores=np.asarray([3.0, 0.0]),
        doublings_size=4.0,
        parallel_share=np.asarray([0.5, 0.0]),
    )
    per_doubling = math.hypot(0.10, 0.5 * 0.35)
    assert found == pytest.approx([math.hypot(0.2, 5.0 * per_doubling), math.hypot(0.2, 0.4)])


def test_a_run_that_took_twice_as_long_as_predicted_widens_the_interval() -> None:
    """On twice the cores: the prior and one error, and of the references none."""
    fitted = fit(*references(), slowed(run_of(2.0, cores=10), 2.0))
    predicted, took = fitted.validation.predicted_seconds[-1], fitted.validation.actual_seconds[-1]
    own = fit(*references()).doubt
    ratio = math.log(took / predicted) / math.hypot(own.near * own.factor, 0.10)
    assert fitted.doubt.dof == 8.0 + 3.0
    assert fitted.doubt.factor == pytest.approx(math.sqrt((8.0 + ratio**2) / 11.0), rel=0.05)


def test_four_configurations_left_out_tell_more_than_the_prior() -> None:
    three = [run_of(size) for size in (1.0, 2.0, 3.0)]
    assert "prior-interval" in codes(fit(*three).fit_notices)
    assert "prior-interval" not in codes(fit(*three, run_of(4.0)).fit_notices)
    assert "prior-interval" in codes(fit(*three, run_of(3.0)).fit_notices)


@pytest.mark.parametrize(("size", "cores", "said"), [(3.0, 7, False), (4.0, 10, True)])
def test_twice_the_size_or_the_cores_is_far(size: float, cores: int, said: bool) -> None:
    fitted = fit(*references())
    found = codes(fitted.predict(cluster=executors(cores), workload=Workload(size)).warnings)
    assert {"extrapolating-nodes", "extrapolating-size"} <= found or not said
    assert not found & {"extrapolating-nodes", "extrapolating-size"} or said
    small = fitted.predict(cluster=executors(5), workload=Workload(0.4)).warnings
    assert {"extrapolating-size", "same-structure"} <= codes(small)
    few = fitted.predict(cluster=executors(2), workload=Workload(2.0)).warnings
    assert "extrapolating-nodes" in codes(few)


@pytest.mark.parametrize(("rest", "said"), [(11.0, False), (16.0, True)])
def test_a_quarter_more_fixed_time_is_not_constant(rest: float, said: bool) -> None:
    runs = timed(1.0, [2.0] * 5, [8.0]), timed(2.0, [2.0] * 10, [rest - 2.0])
    assert ("model-does-not-fit" in codes(fit(*runs).fit_notices)) is said


# What is said of another cluster


def on_type(run: Run, name: str, score: float) -> Run:
    return replace(run, cluster=of_type(name, score, run.cluster.slots or 1))


def test_a_faster_core_shortens_the_waves_and_widens_the_interval() -> None:
    """The doubt about its speed is added in quadrature, and phases and stages go with the time."""
    fitted = fit(*(on_type(run, "own", 1.0) for run in references()))
    own, other = (
        fitted.predict(cluster=of_type(name, score, 5)) for name, score in (("own", 1), ("new", 2))
    )
    fixed = fitted.parameters.fixed_seconds
    assert other.seconds - fixed == pytest.approx((own.seconds - fixed) / 2.0)
    assert sum(other.phases.values()) == pytest.approx(other.seconds)
    for found in (own, other):
        assert found.low is not None
        assert found.high is not None
    width = [math.log(found.high / found.low) for found in (own, other)]
    own_scale = fitted.doubt.factor * fitted.doubt.near
    assert width[1] / width[0] == pytest.approx(math.hypot(own_scale, 0.25) / own_scale)


def test_the_largest_groups_are_phases_of_their_own() -> None:
    """Of 40 groups the later ones take longer: 20 of them are shown."""
    found = fit(*references(variable=40)).predict(cluster=executors(5))
    shown = {int(name.split()[1].rstrip(":")) for name in found.phases if name[:6] == "group "}
    assert shown == set(range(21, 41))
    assert [*found.phases][-1] == PHASE_FIXED
    assert len(found.phases) == SHOWN_PHASES + 2, "and the others together"
    assert sum(found.phases.values()) == pytest.approx(found.seconds)


def test_fixed_groups_are_shown_with_the_waves_of_the_references() -> None:
    runs = [timed(size, [2.0] * int(5 * size), [3.0] * 7) for size in (1.0, 2.0)]
    found = fit(*runs).predict(cluster=executors(20))
    assert [stage.waves for stage in found.stages] == [1.0, 2.0]


def test_each_left_out_reference_is_as_far_as_the_nearest_other_size() -> None:
    """Repetitions are left out with it: 2 GB is predicted from 1 and 8 GB, once away from 1."""
    runs = [run_of(size) for size in (1.0, 2.0, 2.0, 8.0)]
    fitted = fit(*runs[:2], replace(runs[2], source="again"), runs[3])
    near = fit(*(run_of(size) for size in (1.0, 2.0, 8.0)))
    assert fitted.validation.predicted_seconds[1] == pytest.approx(
        near.validation.predicted_seconds[1]
    )
    _, _, expected = near.left_out()
    per_doubling = np.sqrt(expected**2 - near.doubt.near**2)
    assert per_doubling == pytest.approx([0.1, 0.1, 0.2], rel=1e-6)


def test_the_nearest_reference_says_how_far_an_input_is() -> None:
    """64 GB are three doublings from 8 GB, six from 1 GB."""
    fitted = fit(*(run_of(size) for size in (1.0, 8.0)))
    found = fitted.predict(cluster=executors(5), workload=Workload(64.0))
    at_hand = fitted.predict(cluster=executors(5), workload=Workload(8.0))
    width = [math.log(a.high / a.low) for a in (at_hand, found)]
    near = fitted.doubt.near
    assert width[1] / width[0] == pytest.approx(math.hypot(near, 0.3) / near, rel=1e-3)


def test_iterations_that_nobody_asks_about_are_those_of_the_references() -> None:
    runs = [replace(run, workload=Workload(run.workload.input_bytes, 10)) for run in references()]
    found, asked = (
        fit(*runs).predict(cluster=executors(5), workload=Workload(2.0, iterations))
        for iterations in (None, 10)
    )
    assert found.seconds == asked.seconds


def test_little_time_that_is_not_constant_is_not_worth_a_word() -> None:
    """Fixed time that doubles, but is a twentieth of all."""
    runs = timed(1.0, [90.0] * 5, [1.0]), timed(2.0, [90.0] * 10, [4.0])
    assert "model-does-not-fit" not in codes(fit(*runs).fit_notices)
