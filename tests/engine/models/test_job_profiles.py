"""Job profiles of OptEx from logs: known coefficients come out, what is assumed."""

from dataclasses import replace

import numpy as np
import pytest
from logged_runs import (
    A_PER_SIZE,
    B_PER_ITERATION,
    C_PER_NODE,
    INIT,
    PREP,
    RUNS,
    SLOTS,
    codes,
    estimated,
    fit,
    logged,
    measure,
    on,
    one,
)

from engine.cluster import Cluster, Workload
from engine.errors import ModelDoesNotFit
from engine.given_profiles import OptexProfile
from engine.models.optex.job_profiles import PUBLISHED_COEFF, job_profile, with_job_profiles
from engine.models.optex.model import PHASE_SHARING
from engine.profile import Profile, Run

# Coefficients


def test_known_coefficients_are_found_again() -> None:
    job = one(*RUNS)
    assert job.t_init_seconds == pytest.approx(INIT)
    assert job.t_prep_seconds == pytest.approx(PREP)
    assert job.coeff * job.t_vs_baseline_seconds == pytest.approx(C_PER_NODE, rel=1e-5)
    assert job.cf_commn * job.t_commn_baseline_seconds / job.s_baseline == pytest.approx(
        A_PER_SIZE, rel=1e-5
    )
    per_set = sum(operation.mean_seconds * operation.count for operation in job.operations)
    assert job.n_unit_baseline * per_set / job.s_baseline == pytest.approx(
        B_PER_ITERATION, rel=1e-4
    )
    assert (job.iterative, job.category, job.application) == (True, "mllib", "als")
    assert (job.instance_type, job.slots_per_node) == ("m1.large", SLOTS)


@pytest.mark.parametrize("nodes", [1, 3, 10, 40])
@pytest.mark.parametrize(("iterations", "size"), [(1.0, 1.0), (20.0, 1.0), (20.0, 7.0)])
def test_predictions_obey_equation_8(nodes: int, iterations: float, size: float) -> None:
    job = one(*RUNS)
    found = fit(Profile("als", optex=(job,))).predict(
        cluster=on(nodes), workload=Workload(size, iterations)
    )
    assert found.seconds == pytest.approx(estimated(nodes, iterations, size), rel=1e-4)
    assert found.phases[PHASE_SHARING] == pytest.approx(C_PER_NODE * nodes * iterations, rel=1e-4)


def test_one_run_gives_its_own_time_again_and_labels_what_it_cannot_tell() -> None:
    run = logged(iterations=10)
    profile = with_job_profiles(Profile("als", (run,)))
    (job,) = profile.optex
    assert job.coeff == PUBLISHED_COEFF
    assert job.cf_commn == pytest.approx(1.0)
    told = [notice.text for notice in profile.notices if notice.code == "default-coefficients"]
    assert len(told) == 2
    assert "0.004" in told[0]
    assert "not-single-node" not in codes(profile.notices)
    found = fit(profile).predict(cluster=on(1))
    assert found.seconds == pytest.approx(run.seconds, rel=1e-4)


def test_nothing_is_assumed_of_runs_that_tell_all_coefficients() -> None:
    profile = with_job_profiles(Profile("als", tuple(RUNS)))
    assert "default-coefficients" not in codes(profile.notices)


def test_runs_on_several_nodes_are_scaled_to_one() -> None:
    profile = with_job_profiles(Profile("als", (logged(nodes=4, iterations=10),)))
    assert "not-single-node" in codes(profile.notices)
    (job,) = profile.optex
    assert job.t_commn_baseline_seconds == pytest.approx(A_PER_SIZE, rel=1e-5)
    assert job.cf_commn == pytest.approx(1.0, rel=1e-5)
    assert job.slots_per_node == SLOTS
    found = fit(profile).predict(cluster=on(4))
    assert found.seconds == pytest.approx(estimated(4, 10, 1.0), rel=1e-3)


def test_runs_that_were_broken_off_serve_where_there_are_no_others() -> None:
    broken_off = replace(RUNS[1], complete=False)
    assert one(RUNS[0], broken_off) == one(RUNS[0])
    assert one(broken_off).application == "als"


def test_iterations_are_told_or_inferred_with_a_label() -> None:
    run = logged(iterations=10, said=False)
    repeated = replace(run, stages=run.stages * 4)
    inferred = with_job_profiles(Profile("als", (repeated,)))
    assert inferred.runs[0].workload.iterations == 4
    assert "iterations-inferred" in codes(inferred.notices)
    told = with_job_profiles(Profile("als", (repeated,)), iterations=10)
    assert told.runs[0].workload.iterations == 10
    assert "iterations-inferred" not in codes(told.notices)


def test_categories_are_data() -> None:
    assert one(*RUNS, category="our fraud jobs").category == "our fraud jobs"


def test_one_job_profile_for_each_type_and_given_ones_stay() -> None:
    def moved(run: Run, name: str | None) -> Run:
        cluster = Cluster.of_nodes(instance_type=name, nodes=run.cluster.nodes or 1)
        return replace(run, cluster=replace(cluster, executors=1, executor_cores=SLOTS))

    given = OptexProfile("m1.large", 1.0, 2.0)
    runs = (RUNS[0], moved(RUNS[0], "m2.xlarge"), moved(RUNS[0], None))
    profile = with_job_profiles(Profile("als", runs, optex=(given,)))
    found = profile.optex
    assert found[0] is given
    (kept,) = (notice for notice in profile.notices if notice.code == "job-profile-kept")
    assert "a job profile of m1.large already" in kept.text
    assert [job.instance_type for job in found] == ["m1.large", "m2.xlarge", None]


def test_evidence_that_gives_no_job_profile() -> None:
    table = Run(60.0, on(4), Workload(1.0))
    no_nodes = replace(RUNS[0], cluster=Cluster.of_executors(executors=1, executor_cores=SLOTS))
    for untold in (table, no_nodes):
        with pytest.raises(ModelDoesNotFit, match="no run that shows its stages"):
            with_job_profiles(Profile("p", (untold,)))
    other = replace(RUNS[1], application="sort")
    with pytest.raises(ModelDoesNotFit, match="not of 2 applications"):
        with_job_profiles(Profile("p", (RUNS[0], other)))
    with pytest.raises(ModelDoesNotFit, match="not of 2 applications"):
        fit(Profile("p", (RUNS[0], other)))


def test_a_run_without_any_time_in_stages_does_not_break_it() -> None:
    instant = tuple(
        replace(s, completed_seconds=s.submitted_seconds, task_seconds=measure(0.0, s.tasks),
                overhead_seconds=None, fetch_wait_seconds=None)
        for s in RUNS[0].stages
    )  # fmt: skip
    job, _ = job_profile([replace(RUNS[0], stages=instant)], instance_type=None)
    assert np.isfinite(job.n_unit_baseline)
    assert (job.t_commn_baseline_seconds, job.cf_commn) == (0.0, 1.0)


def test_communication_that_the_baseline_has_not_is_the_mean_of_the_others() -> None:
    quiet = tuple(replace(stage, fetch_wait_seconds=None) for stage in RUNS[0].stages)
    job = one(replace(RUNS[0], stages=quiet), *RUNS[1:])
    assert job.t_commn_baseline_seconds == pytest.approx(2.0 / 3.0 * A_PER_SIZE, rel=1e-5)
