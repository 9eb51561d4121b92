"""Every model side by side: the figures of OptEx VI-D and VI-F, and failures as one line."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest

import engine
from engine.batch import ClusterBatch
from engine.evidence import FitOutcome, ask, fit_outcome, in_one_line, left_out_runs
from engine.forecast import Forecast
from engine.models.assured_memory import AssuredMemory
from engine.models.base import LeaveOneOut


def run(seconds: float, nodes: int) -> engine.Run:
    cluster = engine.Cluster.of_nodes(instance_type="x", nodes=nodes, vcpus=4, memory_gib=16)
    return engine.Run(seconds=seconds, cluster=cluster, workload=engine.Workload(1e9))


PROFILE = engine.Profile("made", (run(100.0, 1), run(50.0, 2), run(100.0, 3), run(25.0, 4)))


@dataclass(frozen=True, eq=False)
class Told(engine.FittedModel):
    """Predicts what it is told, or raises it."""

    says: float | Exception = 60.0

    def forecast(self, batch: ClusterBatch, workload: engine.Workload) -> Forecast:
        if isinstance(self.says, Exception):
            raise self.says
        return Forecast.of(np.full(len(batch), self.says), 0.1, 10.0)


class Broken(engine.Model):
    """A model with a defect."""

    name = "broken"
    summary = "divides by zero"

    def fit(
        self, profile: engine.Profile, *, models: Mapping[str, engine.Model]
    ) -> engine.FittedModel:
        raise ZeroDivisionError("division\nby zero")


def outcome(*pairs: tuple[float, float], says: float | Exception = 60.0) -> FitOutcome:
    validation = LeaveOneOut(tuple(p for p, _ in pairs), tuple(a for _, a in pairs))
    fitted = Told("told", PROFILE, validation=validation if pairs else None, says=says)
    return FitOutcome("told", fitted)


def test_left_out_runs_are_sought_once() -> None:
    """The planner asks for them at each step of a slider, of as many runs as a table has."""
    found = outcome((110.0, 100.0), (40.0, 50.0))
    assert found.left_out is found.left_out


def test_relative_error_and_its_mean_are_those_of_optex() -> None:
    """VI-D: RE is signed, delta the mean of its magnitude."""
    found = outcome((110.0, 100.0), (40.0, 50.0))
    assert [pair.relative_error for pair in found.left_out] == pytest.approx([0.1, -0.2])
    assert found.mean_relative_error == pytest.approx(0.15)
    assert found.mean_relative_error == pytest.approx(found.fitted.validation.mean_relative_error)


def test_deadline_satisfaction_counts_the_runs_that_were_promised() -> None:
    """VI-F: S is over the cases whose estimate satisfies T_Est < SLO (Eq. 9)."""
    found = outcome((110.0, 100.0), (40.0, 50.0), (60.0, 100.0), (20.0, 25.0))
    record = found.deadline_record(60.0)
    assert (record.cases, record.share) == (2, 1.0)
    record = found.deadline_record(70.0)
    assert record.cases == 3
    assert record.share == pytest.approx(2 / 3)
    record = found.deadline_record(10.0)
    assert (record.cases, record.share) == (0, None)


def test_without_left_out_runs_nothing_is_claimed() -> None:
    found = outcome()
    assert found.left_out == ()
    assert found.mean_relative_error is None
    assert found.deadline_record(60.0) is None


def test_pairs_find_their_runs_and_equal_times_keep_their_order() -> None:
    validation = LeaveOneOut((1.0, 2.0, 3.0, 4.0), (50.0, 100.0, 100.0, 7.0))
    nodes = [pair.run and pair.run.cluster.nodes for pair in left_out_runs(PROFILE, validation)]
    assert nodes == [2, 1, 3, None]


def test_a_defect_is_one_line_and_not_a_crash() -> None:
    found = fit_outcome(Broken(), PROFILE)
    assert found.fitted is None
    assert found.why_not == (
        "it failed with ZeroDivisionError: division by zero; please report this"
    )
    answer = ask(found, cluster=PROFILE.runs[0].cluster, workload=None)
    assert (answer.prediction, answer.why_not) == (None, found.why_not)
    assert in_one_line(KeyError()) == "it failed with KeyError; please report this"


def test_a_model_that_fits_but_cannot_answer_says_why() -> None:
    cluster = PROFILE.runs[0].cluster
    broken = ask(outcome(says=RuntimeError("no")), cluster=cluster, workload=None)
    assert broken.prediction is None
    assert "RuntimeError: no" in broken.why_not
    told = ask(outcome(says=engine.BadInput("no size")), cluster=cluster, workload=None)
    assert told.why_not == "no size"
    unknown = ask(outcome(says=float("nan")), cluster=cluster, workload=None)
    assert unknown.prediction is None
    assert unknown.why_not


@dataclass(frozen=True, eq=False)
class Unsized(Told):
    """Tells a time, and fails where it is asked how much memory the job needs."""

    def assured_memory(self, workload: engine.Workload) -> AssuredMemory | None:
        raise ZeroDivisionError("no sample")


def test_executors_that_cannot_be_sized_leave_the_prediction() -> None:
    found = FitOutcome("unsized", Unsized("unsized", PROFILE))
    answer = ask(found, cluster=PROFILE.runs[0].cluster, workload=None)
    assert answer.prediction is not None
    assert "ZeroDivisionError: no sample" in answer.why_no_executors


@pytest.mark.parametrize("sample", ["nightly-features", "ernest-rcv1", "optex-als-table3"])
def test_every_model_answers_or_says_why_on_real_evidence(sample: str) -> None:
    profile = engine.read(sample)
    largest = profile.largest_run
    answers = list(engine.compare_models(profile, cluster=largest.cluster))
    assert [answer.model for answer in answers] == [model.name for model in engine.MODELS]
    for answer in answers:
        assert (answer.prediction is None) == bool(answer.why_not)
        assert "\n" not in answer.why_not
        assert "failed with" not in answer.why_not
        if answer.prediction is not None:
            same = engine.fit(profile, model=answer.model).predict(cluster=largest.cluster)
            assert answer.prediction.seconds == same.seconds
        for pair in answer.outcome.left_out:
            assert pair.run.seconds == pytest.approx(pair.recorded_seconds, rel=1e-8)


def test_errors_compare_on_the_runs_that_all_left_out() -> None:
    """A model that left out only the easy runs is not the better one for it."""
    easy = outcome((50.0, 50.0), (26.0, 25.0))
    both = FitOutcome("both", outcome((55.0, 50.0), (25.0, 25.0), (200.0, 100.0)).fitted)
    none = FitOutcome("none", outcome().fitted)
    errors, runs = engine.errors_on_common_runs([easy, both, none])
    assert runs == 2
    assert errors == pytest.approx({"told": 0.02, "both": 0.05})
    assert engine.errors_on_common_runs([none]) == ({}, 0)


def test_a_model_that_assures_memory_recommends_executors_of_one_s_own() -> None:
    profile = engine.read("nightly-features")
    by_name = {model.name: model for model in engine.MODELS}
    cluster = engine.Cluster.of_executors(executors=4, executor_cores=2)
    found = ask(fit_outcome(by_name["simcost"], profile), cluster=cluster, workload=None)
    best = found.executors.recommended
    again = engine.recommend_owned(
        engine.fit(profile, model="simcost"), executor_cores=2, max_executors=64
    ).recommended
    # Ranges are searched down to single executors: near the best of all 64.
    assert best.resource_time <= 1.05 * again.resource_time
    assert best.layout.executor_cores == 2
    plain = ask(fit_outcome(by_name["sparkplan"], profile), cluster=cluster, workload=None)
    assert plain.executors is None
