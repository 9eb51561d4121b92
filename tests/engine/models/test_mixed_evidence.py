"""sparkplan where some runs have stages and others only their times."""

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, observed
from sparkplan_runs import executors, fit

from engine.cluster import Workload
from engine.models.base import FittedModel
from engine.models.laws.model import TableModel
from engine.models.replay.model import ReplayModel
from engine.profile import Run


def log_of(slots: int) -> Run:
    tasks = np.random.default_rng(3).gamma(16.0, 0.25, 240)
    stages = [Stage(tasks, input_bytes=240 * BLOCK)]
    return observed(stages, [Job((), 5.0)], slots=slots, tail_seconds=1.0)


def times_of(model: FittedModel, *, factor: float) -> list[Run]:
    """What was measured at twelve configurations, a factor from what a model says of them."""
    runs = []
    for slots in (2, 4, 8, 16):
        for scale in (1.0, 2.0, 4.0):
            cluster, workload = executors(slots), Workload(scale * 240 * BLOCK)
            seconds = factor * model.predict(cluster=cluster, workload=workload).seconds
            runs.append(Run(seconds, cluster, workload))
    return runs


def test_measured_times_go_before_one_log_that_contradicts_them() -> None:
    log = log_of(4)
    measured = times_of(fit(log), factor=1.6)
    model = fit(log, *measured)
    assert isinstance(model, TableModel)
    for run in measured:
        found = model.predict(cluster=run.cluster, workload=run.workload)
        assert found.seconds == pytest.approx(run.seconds, rel=0.15)


def test_a_log_that_measured_times_confirm_goes_on_answering() -> None:
    """And says that they take no part."""
    log = log_of(4)
    model = fit(log, *times_of(fit(log), factor=1.02))
    assert isinstance(model, ReplayModel)
    found = model.predict(cluster=executors(8))
    said = next(notice for notice in found.warnings if notice.code == "runs-not-used")
    assert said.text.startswith("12 runs without stages take no part")
    assert "runs-not-used" not in {n.code for n in fit(log).predict(cluster=executors(8)).warnings}


def test_a_single_time_beside_a_log_is_not_passed_over_in_silence() -> None:
    log = log_of(4)
    model = fit(log, Run(3.0 * log.seconds, executors(8), log.workload))
    found = model.predict(cluster=executors(8))
    assert "runs-not-used" in {notice.code for notice in found.warnings}
