"""PERIDOT: known parameters found again, intervals, what is said."""

from dataclasses import replace

import numpy as np
import pytest
from peridot_runs import TABLE_2, codes, executors, fit, references, run_of, slowed, truth

from engine.cluster import Workload
from engine.models.base import FittedModel
from engine.models.peridot.model import PHASE_FIXED
from engine.scheduling.waves import waves

MEAN_ERROR, WORST_APPLICATION = 0.066, 0.13


def predicted(fitted: FittedModel, size: float, cores: int) -> float:
    return fitted.predict(cluster=executors(cores), workload=Workload(size)).seconds


# Known parameters


@pytest.mark.parametrize("cores", [1, 5, 7, 20, 40])
@pytest.mark.parametrize("size", [1.0, 3.0, 20.0, 100.0])
def test_an_application_as_the_paper_assumes_it_comes_out_exactly(size: float, cores: int) -> None:
    """Equal tasks, partitions in proportion to the input, fixed groups of one wave: to 1e-9."""
    groups = {"variable": 3, "fixed": 2}
    fitted = fit(*references(**groups))
    fixed = 2 * 0.4 * (waves(4, cores) - 1)
    assert predicted(fitted, size, cores) == pytest.approx(truth(size, cores, **groups) - fixed)


def test_wave_times_are_found_again() -> None:
    found = fit(*references(variable=3)).parameters
    assert found.mean_wave_seconds == pytest.approx([2.0, 2.1, 2.2])
    assert found.mean_partitions == pytest.approx(np.full(3, 15.0))
    assert found.fixed_seconds == pytest.approx(4 * 0.3 + 0.4 + 1.0)


def test_accuracy_of_the_paper_on_its_grid() -> None:
    """VI-B: mean error 6.6 % and at most 13 % for an application, on all sizes of 1 to 100 GB and 5
    to 40 cores but the references'; here on made applications of Table II whose task
    times vary by 30 %."""
    errors = []
    for _, variable, fixed, width in TABLE_2.values():
        groups = {"variable": variable, "fixed": fixed, "parallel": width, "noise": 0.3}
        fitted = fit(*references(**groups))
        grid = [(size, cores) for size in (5.0, 20.0, 100.0) for cores in (5, 10, 20, 40)]
        exact = np.asarray([truth(size, cores, **groups) for size, cores in grid])
        found = np.asarray([predicted(fitted, size, cores) for size, cores in grid])
        errors.append(np.mean(np.abs(found / exact - 1.0)))
    assert np.max(errors) <= WORST_APPLICATION
    assert np.mean(errors) <= MEAN_ERROR


def test_more_references_improve_it() -> None:
    """VI-B: two more references lower the error (8.7 to 3.0 % for Q26)."""
    random = np.random.default_rng(1)
    errors: dict[int, list[float]] = {2: [], 4: []}
    for _ in range(30):
        sizes = (1.0, 2.0, 1.5, 2.5)
        runs = [slowed(run_of(size), float(np.exp(0.1 * random.normal()))) for size in sizes]
        for count, found in errors.items():
            found.append(abs(predicted(fit(*runs[:count]), 40.0, 20) / truth(40.0, 20) - 1.0))
    assert np.mean(errors[4]) < 0.9 * np.mean(errors[2])


# Intervals


def test_two_references_rest_on_a_labelled_prior() -> None:
    answer = fit(*references()).predict(cluster=executors(5))
    assert "prior-interval" in codes(answer.warnings)
    assert answer.high is not None
    assert answer.low < truth(2.0, 5) < answer.high


def test_a_run_on_other_cores_tests_but_is_no_reference() -> None:
    fitted = fit(*references(), run_of(2.0, cores=10))
    assert len(fitted.references) == 2
    assert fitted.validation.actual_seconds[-1] == pytest.approx(truth(2.0, 10))
    assert fitted.validation.predicted_seconds[-1] == pytest.approx(truth(2.0, 10), rel=0.05)


def test_cores_that_nothing_can_use_are_no_distance() -> None:
    fitted = fit(*references())
    some, many = (fitted.predict(cluster=executors(cores)) for cores in (20, 2000))
    assert many.high == some.high


def test_phases_are_the_variable_groups_and_the_rest() -> None:
    found = fit(*references()).predict(cluster=executors(20), workload=Workload(40.0))
    assert [*found.phases] == ["group 1: stage 0", "group 2: stage 1", PHASE_FIXED]
    assert sum(found.phases.values()) == pytest.approx(found.seconds)
    assert found.bottleneck == "waves"
    assert [stage.waves for stage in found.stages[:2]] == [20.0, 20.0]
    assert [stage.tasks for stage in found.stages] == [400, 400, 4]
    assert found.stages[-1].end_seconds == pytest.approx(found.seconds - 1.0)


def test_the_structure_of_other_data_is_an_assumption() -> None:
    fitted = fit(*references())
    far = fitted.predict(cluster=executors(20), workload=Workload(40.0, shuffle_partitions=9))
    assert codes(far.warnings) >= {
        "same-structure", "extrapolating-nodes", "extrapolating-size", "not-modelled"
    }  # fmt: skip
    near = fitted.predict(cluster=executors(5))
    assert not codes(near.warnings) & {"same-structure", "extrapolating-size"}


def test_no_variable_group_is_said() -> None:
    runs = references(variable=0, fixed=3)
    found = fit(*runs).predict(cluster=executors(50), workload=Workload(100.0))
    assert found.seconds == pytest.approx(runs[0].seconds)
    assert "model-does-not-fit" in codes(found.warnings)


def test_groups_without_a_counterpart_are_reported_and_count_as_fixed() -> None:
    small, large = references(variable=3, fixed=2)
    renamed = tuple(
        replace(stage, name="other") if stage.stage_id == 4 else stage for stage in large.stages
    )
    other = replace(large, stages=renamed)
    fitted = fit(small, other)
    assert len(fitted.references.groups) == 4
    (notice,) = (n for n in fitted.fit_notices if n.code == "groups-do-not-match")
    assert "1 of 5 in 1 GB on 5 (0.4 s, first stage 4)" in notice.text
    assert "first other" in notice.text
    assert predicted(fitted, 2.0, 5) == pytest.approx(predicted(fit(small, large), 2.0, 5))
