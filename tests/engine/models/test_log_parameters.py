"""Job parameters of event logs: which logs answer for which, and what is said about it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, observed

import engine
from engine.cluster import Cluster, Workload
from engine.errors import BadInput, ModelDoesNotFit
from engine.evidence import ask, fit_outcome
from engine.models import MODELS
from engine.models.base import FittedModel, Prediction
from engine.models.boe.model import fit_workflow
from engine.models.boe.workflow import Workflow, WorkflowJob
from engine.models.curves.parameter_scales import (
    DOUBLINGS_FROM_ZERO,
    MOST_DOUBLINGS,
    SPREAD_PER_PARAMETER,
    nearest_parameters,
)
from engine.models.replay import fitting
from engine.profile import Profile, Run

FOUR = Cluster.of_executors(executors=4, executor_cores=1)
LOGS = pytest.mark.parametrize("model", ["sparkplan", "simcost", "boe"])


def log(scale: float = 1.0, *, slow: float = 1.0, slots: int = 4, **parameters: float) -> Run:
    """The log of a run with these job parameters, which take `slow` times as long."""
    random = np.random.default_rng(3)
    count = round(80 * scale)
    stages = [
        Stage(random.gamma(16.0, 0.25, count) * slow, input_bytes=count * BLOCK),
        Stage(random.gamma(16.0, 0.1, 40) * scale * slow, (0,), shuffle_bytes=1e9 * scale),
    ]
    run = observed(stages, [Job((), 5.0)], slots=slots, tail_seconds=1.0)
    return replace(run, workload=replace(run.workload, parameters=parameters))


def fit(*runs: Run, model: str = "sparkplan") -> FittedModel:
    return engine.fit(Profile("job", runs), model=model)


def asked(fitted: FittedModel, size: float | None = None, **parameters: float) -> Prediction:
    own = fitted.profile.reference_workload.input_bytes if size is None else size
    return fitted.predict(cluster=FOUR, workload=Workload(own, parameters=parameters))


def text(found: Prediction, code: str) -> str:
    return " | ".join(notice.text for notice in found.warnings if notice.code == code)


def width(found: Prediction) -> float:
    return float(found.forecast.log_scale[0])


def test_a_parameter_that_no_log_has_is_not_answered_in_silence() -> None:
    fitted = fit(log(0.5, k=10.0), log(k=10.0))
    same, other = asked(fitted, k=10.0), asked(fitted, k=1000.0)
    assert not {"transferred-parameters", "several-parameters"} & {n.code for n in same.warnings}
    assert other.seconds == pytest.approx(same.seconds)
    more = SPREAD_PER_PARAMETER * math.log2(100.0)
    assert width(other) == pytest.approx(math.hypot(width(same), more))
    said = text(other, "transferred-parameters")
    assert "k 1000: 0 of 2 (they have k 10)" in said
    assert "6.6 doublings" in said
    assert text(asked(fitted, k=20.0), "transferred-parameters").endswith("wider for 1 doubling")


@LOGS
def test_the_logs_that_have_the_parameter_answer(model: str) -> None:
    """Also where these are not those of the largest run."""
    small, large = log(0.5, k=3.0), log(slow=3.0, k=9.0)
    fitted, size = fit(small, large, model=model), small.workload.input_bytes
    for k, run in ((3.0, small), (9.0, large)):
        found = asked(fitted, size, k=k)
        alone = asked(fit(run, model=model), size, k=k)
        assert (found.seconds, found.low, found.high) == pytest.approx(
            (alone.seconds, alone.low, alone.high)
        )
        said = text(found, "several-parameters")
        assert f"1 of 2 logs answers, with k {k:g}: the logs have k 3; k 9" in said
        assert "single-run" in {notice.code for notice in found.warnings}
    assert asked(fitted, size, k=9.0).seconds > 2.0 * asked(fitted, size, k=3.0).seconds


@pytest.mark.parametrize(("k", "taken"), [(1.0, 3.0), (4.0, 3.0), (7.0, 9.0), (50.0, 9.0)])
def test_the_nearest_logs_answer(k: float, taken: float) -> None:
    fitted = fit(log(0.5, k=3.0), log(slow=3.0, k=9.0))
    found, near = asked(fitted, k=k), asked(fitted, k=taken)
    assert found.seconds == pytest.approx(near.seconds)
    more = SPREAD_PER_PARAMETER * abs(math.log2(k / taken))
    assert width(found) == pytest.approx(math.hypot(width(near), more))
    said = text(found, "transferred-parameters")
    assert f"k {k:g}: 0 of 2 (they have k 3; k 9)" in said
    assert f"the nearest answer, with k {taken:g}" in said


@LOGS
def test_what_was_taken_for_a_parameter_that_is_not_asked_is_said(model: str) -> None:
    fitted = fit(log(0.5, k=3.0), log(slow=3.0, k=9.0), model=model)
    unsaid, said = fitted.predict(cluster=FOUR), asked(fitted, k=9.0)
    assert unsaid.seconds == pytest.approx(said.seconds)
    assert "with k 9" in text(unsaid, "several-parameters")
    mixed = fit(log(0.5, k=3.0), log(), model=model).predict(cluster=FOUR)
    assert "2 of 2 logs answer, whatever their parameters: the logs have none; k 3" in text(
        mixed, "several-parameters"
    )


@LOGS
def test_a_log_that_does_not_say_a_parameter_does_not_have_it(model: str) -> None:
    fitted = fit(log(0.5, slow=3.0), log(k=9.0), model=model)
    found = asked(fitted, k=9.0)
    assert found.seconds == pytest.approx(asked(fit(log(k=9.0), model=model), k=9.0).seconds)
    if model == "sparkplan":
        assert "they have none; k 9" in text(asked(fitted, k=3.0), "transferred-parameters")


def test_parameters_that_no_log_says_together_are_refused() -> None:
    with pytest.raises(ModelDoesNotFit, match="no run says all of"):
        asked(fit(log(0.5, a=1.0), log(b=2.0)), a=1.0)
    with pytest.raises(BadInput, match="k must be a number, not nan"):
        asked(fit(log(k=2.0)), k=math.nan)


@LOGS
def test_the_left_out_errors_are_those_of_the_logs_that_answer(model: str) -> None:
    threes = [log(scale, k=3.0) for scale in (0.25, 0.5)]
    nines = [log(scale, slow=3.0, k=9.0) for scale in (0.5, 0.75, 1.0)]
    fitted = fit(*threes, *nines, model=model)
    wanted = {k: Workload(threes[1].workload.input_bytes, parameters={"k": k}) for k in (3.0, 9.0)}
    for k, runs in ((3.0, threes), (9.0, nines)):
        validation = fitted.answering(wanted[k]).validation
        assert sorted(validation.actual_seconds) == sorted(run.seconds for run in runs)
        outcome = fit_outcome(next(m for m in MODELS if m.name == model), fitted.profile)
        answer = ask(outcome, cluster=FOUR, workload=wanted[k])
        assert {id(pair.run) for pair in answer.outcome.left_out} == {id(run) for run in runs}
    assert fitted.validation == fitted.answering(wanted[9.0]).validation


def test_a_set_of_parameters_is_fitted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    own = fitting.fit_replays
    monkeypatch.setattr(fitting, "fit_replays", lambda p: fits.append(p) or own(p))
    fitted = fit(log(0.5, k=3.0), log(k=9.0))
    for k in (9.0, 3.0, 50.0, 51.0, 3.0, 1.0):
        for size in (1e9, 2e9):
            asked(fitted, size, k=k)
    assert len(fits) == 2


def test_whole_logs_of_other_parameters_do_not_push_out_a_torn_one() -> None:
    torn = replace(log(0.5, k=3.0), complete=False)
    fitted = fit(torn, log(slow=3.0, k=9.0))
    assert asked(fitted, k=3.0).seconds == pytest.approx(asked(fit(torn), 80 * BLOCK).seconds)


def test_boe_refuses_what_no_log_has_and_says_who_answers() -> None:
    fitted = fit(log(0.5, k=3.0), log(k=9.0), model="boe")
    with pytest.raises(ModelDoesNotFit, match=r"no run has k = 50.*sparkplan.*choices: 3, 9"):
        asked(fitted, k=50.0)
    assert isinstance(fitted, engine.FittedStates)
    workload = Workload(80 * BLOCK, parameters={"k": 3.0})
    course = fitted.course(cluster=FOUR, workload=workload)
    assert course.prediction.seconds == pytest.approx(asked(fitted, k=3.0).seconds)


def test_a_job_of_a_workflow_takes_a_log_of_its_parameters() -> None:
    """That of other parameters is nearer to the input."""
    large, other = log(k=9.0), log(0.5, k=3.0)
    wanted = Workload(other.workload.input_bytes)
    job = WorkflowJob("job", profile=Profile("job", (other, large)), workload=wanted)
    plan = fit_workflow(Workflow.of("flow", [job])).plans[0]
    assert plan.parts[0].observed.run is large


def times(**parameters: float) -> list[Run]:
    """Runs without stages."""
    return [
        Run(
            100.0 / slots + 10.0,
            Cluster.of_executors(executors=slots, executor_cores=1),
            Workload(40 * BLOCK, parameters=parameters),
        )
        for slots in (1, 2, 4, 8)
    ]


def test_run_times_that_have_the_parameter_go_before_logs_that_do_not() -> None:
    fitted = fit(log(0.5, k=3.0), log(k=9.0), *times(k=20.0))
    found = asked(fitted, 40 * BLOCK, k=20.0)
    assert found.seconds == pytest.approx(35.0, rel=0.1)
    assert "k 20: 0 of 2 (they have k 3; k 9); run times" in text(found, "several-parameters")
    assert "they have k 3; k 9" in text(asked(fitted, k=50.0), "transferred-parameters")


def test_a_parameter_that_had_one_value_in_a_run_table_is_not_ignored() -> None:
    fitted = fit(*times(k=10.0))
    same, other = asked(fitted, k=10.0), asked(fitted, k=1000.0)
    assert "transferred-parameters" not in {notice.code for notice in same.warnings}
    assert "k 1000: 0 of 4 (they have k 10)" in text(other, "transferred-parameters")
    assert width(other) > SPREAD_PER_PARAMETER * math.log2(100.0) > width(same)


def test_the_nearest_parameters() -> None:
    runs = [log(k=k, p=p) for k, p in ((1.0, 4.0), (8.0, 4.0), (8.0, 1.0), (4.0, 0.5), (8.0, 4.0))]
    assert nearest_parameters(runs, {"k": 8.0, "p": 4.0}) == ({"k": 8.0, "p": 4.0}, 0.0)
    assert nearest_parameters(runs, {"k": 2.0, "p": 0.5}) == (
        {"k": 4.0, "p": 0.5},
        pytest.approx(1.0),
    )
    between = nearest_parameters(runs, {"k": 8.0, "p": 2.0})
    assert between == ({"k": 8.0, "p": 4.0}, pytest.approx(1.0)), "of two the one of more runs"
    assert nearest_parameters(runs, {"p": 2.0, "k": 16.0})[1] == pytest.approx(math.sqrt(2.0))
    assert nearest_parameters([log(k=0.0), log(k=8.0)], {"k": 6.0}) == (
        {"k": 8.0},
        pytest.approx(0.5),
    )
    assert nearest_parameters([log(k=8.0)], {"k": 2.0})[1] == pytest.approx(2.0)
    assert (
        nearest_parameters([log(k=8.0)], {"k": 0.0})[1]
        == nearest_parameters([log(k=0.0)], {"k": 50.0})[1]
        == DOUBLINGS_FROM_ZERO
    )
    assert nearest_parameters([log(k=1.0)], {"k": 1e9})[1] == MOST_DOUBLINGS


def test_peridot_says_whose_parameters_it_takes() -> None:
    logs = [log(scale, k=k) for scale, k in ((0.25, 9.0), (0.5, 3.0), (1.0, 9.0))]
    said = text(fit(*logs, model="peridot").predict(cluster=FOUR), "several-parameters")
    assert "2 of 3 logs answer, with k 9: the logs have k 3; k 9" in said


def test_the_runs_of_other_parameters_are_not_counted() -> None:
    logs = [log(0.25, k=3.0), log(0.5, k=3.0), log(k=9.0)]
    for model in ("sparkplan", "simcost", "boe"):
        fitted = fit(*logs, model=model)
        used = [fitted.runs_used(Workload(1e9, parameters={"k": k})) for k in (3.0, 9.0)]
        assert used == [2, 1]
    near_nine = Workload(1e9, parameters={"k": 6.0})  # 0.6 doublings from 9, one from 3
    assert fit(*logs).runs_used(near_nine) == 1
