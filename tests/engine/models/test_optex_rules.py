"""OptEx rule by rule: what a job profile takes for granted, and what its refit says."""

from dataclasses import replace

import numpy as np
import pytest

from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.given_profiles import Operation, OptexProfile
from engine.models.base import FittedModel
from engine.models.optex.model import Optex, deadline_satisfaction
from engine.profile import Profile, Run

JOB = OptexProfile(
    "x", 10.0, 5.0, t_commn_baseline_seconds=10.0, cf_commn=0.5, s_baseline=100.0,
    operations=(Operation("map", 20.0),),
)  # fmt: skip


def fit(*jobs: OptexProfile, runs: tuple[Run, ...] = ()) -> FittedModel:
    return Optex().fit(Profile("p", runs, optex=jobs), models={})


def on(count: int, kind: str = "x", vcpus: float | None = None) -> Cluster:
    memory = None if vcpus is None else 4.0 * vcpus
    return Cluster.of_nodes(instance_type=kind, nodes=count, vcpus=vcpus, memory_gib=memory)


def codes(fitted: FittedModel, workload: Workload | None = None) -> set[str]:
    return {n.code for n in fitted.predict(cluster=on(4), workload=workload).warnings}


def test_a_deadline_is_kept_by_what_takes_as_long() -> None:
    """VI-F: the cases that did not violate it."""
    assert deadline_satisfaction(np.asarray([100.0, 101.0]), np.asarray([100.0, 100.0])) == 0.5


def test_a_size_left_open_is_that_of_the_baseline() -> None:
    assert fit(JOB).predict(cluster=on(5)).seconds == pytest.approx(15.0 + (5.0 + 20.0) / 5)


def test_the_exponent_is_of_the_execution_alone() -> None:
    found = fit(replace(JOB, exponent=2.0)).predict(cluster=on(5))
    assert found.seconds == pytest.approx(15.0 + 5.0 / 5 + 20.0 / 25)


def test_a_multiple_is_of_the_largest_baseline() -> None:
    fitted = fit(JOB, replace(JOB, s_baseline=200.0))
    by_scale = fitted.predict(cluster=on(5), workload=Workload(scale=2.0))
    assert by_scale.seconds == fitted.predict(cluster=on(5), workload=Workload(400.0)).seconds


def test_representatives_answer_with_their_mean_not_with_the_middle_one() -> None:
    jobs = [replace(JOB, t_init_seconds=10.0 + more) for more in (0.0, 3.0, 12.0)]
    assert fit(*jobs).predict(cluster=on(5)).seconds == pytest.approx(20.0 + 5.0)
    assert "several-representatives" in codes(fit(*jobs[:2]))
    assert "several-representatives" not in codes(fit(JOB))


def test_one_iteration_is_no_iteration() -> None:
    once = fit(JOB)
    assert "iterations-assumed" not in codes(once)
    assert "model-does-not-fit" not in codes(once, Workload(iterations=1))
    assert "model-does-not-fit" in codes(once, Workload(iterations=2))


def test_slots_of_a_node_let_other_types_be_compared() -> None:
    """Three nodes of eight are six of four."""
    found = fit(replace(JOB, slots_per_node=4.0)).predict(cluster=on(3, "y", 8.0))
    assert found.seconds == pytest.approx(15.0 + 25.0 / 6)


def test_iterations_that_no_run_tells_are_known_to_an_iterative_job_profile() -> None:
    run = Run(60.0, on(2), Workload(100.0))
    fitted = fit(replace(JOB, iterative=True), runs=(run,))
    found = fitted.predict(cluster=on(5), workload=Workload(100.0, 7))
    assert found.seconds == pytest.approx(15.0 + 5.0 / 5 + 7 * 20.0 / 5)
    with pytest.raises(BadInput, match="no run says its iterations"):
        fit(JOB, runs=(run,)).predict(cluster=on(5), workload=Workload(100.0, 7))


def runs_of(*times: float) -> tuple[Run, ...]:
    """On 1, 2, 4 ... nodes."""
    return tuple(Run(seconds, on(2**k), Workload(1.0)) for k, seconds in enumerate(times))


def test_repetitions_are_left_out_together() -> None:
    runs = runs_of(110.0, 58.0, 40.0, 24.0)
    once, twice = fit(runs=runs).validation, fit(runs=(*runs, *runs)).validation
    assert twice.predicted_seconds == pytest.approx(once.predicted_seconds * 2)


def test_time_that_falls_faster_than_nodes_are_added_is_said() -> None:
    assert "model-does-not-fit" in codes(fit(runs=runs_of(400.0, 100.0, 60.0, 40.0)))
    assert "model-does-not-fit" not in codes(fit(runs=runs_of(400.0, 205.0, 110.0, 60.0)))


def test_iterations_between_those_that_were_run_are_no_extrapolation() -> None:
    runs = tuple(
        Run(20.0 + 40.0 * k / n, on(n), Workload(1.0, k)) for n in (1, 2, 4) for k in (5, 10)
    )
    fitted = fit(runs=runs)
    assert "extrapolating-iterations" not in codes(fitted, Workload(1.0, 7))
    assert "extrapolating-iterations" in codes(fitted, Workload(1.0, 20))
