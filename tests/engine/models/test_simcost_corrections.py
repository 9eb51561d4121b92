"""SimCost on several logs: which of them explains the answer, and what their errors teach."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, measure, observed, of_type

import engine
from engine.fitting import left_out_spread
from engine.forecast import FloatArray
from engine.models import MODELS
from engine.models.replay.priors import LOG_NOISE, MIN_CONFIGURATIONS_FOR_SPREAD
from engine.models.simcost.corrections import Corrections, RunPairs
from engine.models.simcost.model import Simcost
from engine.profile import Profile, Run

SEEN = np.asarray([[1.0, 0.0], [3.0, 0.0], [1.0, 3.0], [4.0, 4.0], [5.0, 1.0], [0.0, 2.0]])
"""Doublings of slots and of input of each log."""

TIMES = np.asarray([100.0, 40.0, 700.0, 300.0, 20.0, 800.0])


def pairs(slope: tuple[float, float] = (0.0, 0.0), *places: int) -> RunPairs:
    """Logs whose predictions for each other are off by so much log time per doubling; `places` are
    those of `SEEN`, twice for a repetition."""
    chosen = np.asarray(places or range(len(SEEN)))
    at, logs = SEEN[chosen], np.log(TIMES[chosen])
    doublings = at[None, :, :] - at[:, None, :]
    return RunPairs(logs[None, :] - doublings @ np.asarray(slope), doublings, TIMES[chosen], chosen)


def learnt(found: RunPairs) -> Corrections:
    return found.corrections(np.ones(len(found.seconds), dtype=bool))


def told(found: Corrections) -> FloatArray:
    return np.concatenate((found.mean, found.covariance.ravel()))


def test_without_pairs_there_is_the_prior() -> None:
    """10 % per doubling of slots and 15 % per doubling of input."""
    none = Corrections.learnt(np.empty((0, 2)), np.empty(0), np.empty(0), 1)
    assert none.mean.tolist() == [0.0, 0.0]
    assert none.covariance == pytest.approx(np.diag([0.10**2, 0.15**2]))


def test_the_posterior_is_least_squares_with_the_prior_as_two_more_errors() -> None:
    """A pair's error is that of two logs, and of pairs of each with each of k logs, k (k - 1), only
    k - 1 are independent."""
    random = np.random.default_rng(0)
    doublings, errors = random.normal(size=(12, 2)), random.normal(size=12)
    shares, logs = random.uniform(0.2, 1.0, 12), 4
    weights = np.sqrt(shares / (2.0 * LOG_NOISE**2) * (logs - 1.0) / (logs * (logs - 1.0)))
    rows = np.vstack((weights[:, None] * doublings, np.diag([1.0 / 0.10, 1.0 / 0.15])))
    expected = np.linalg.lstsq(rows, np.concatenate((weights * errors, [0.0, 0.0])), rcond=None)[0]
    found = Corrections.learnt(doublings, errors, shares, logs)
    assert found.mean == pytest.approx(expected)
    assert found.covariance == pytest.approx(np.linalg.inv(rows.T @ rows))


def test_what_all_pairs_get_wrong_per_doubling_is_nearly_believed() -> None:
    assert learnt(pairs((0.2, -0.3))).mean == pytest.approx([0.2, -0.3], rel=0.05)


def test_repetitions_of_a_configuration_teach_once_in_any_order() -> None:
    once = told(learnt(pairs((0.2, -0.3), 0, 2, 4)))
    assert told(learnt(pairs((0.2, -0.3), 4, 0, 2))) == pytest.approx(once)
    assert told(learnt(pairs((0.2, -0.3), 0, 2, 4, 2, 2))) == pytest.approx(once)


def test_a_log_is_predicted_by_the_others_alone() -> None:
    found = pairs((0.2, -0.3))
    validation, scale, dof = found.left_out()
    assert validation is not None
    assert validation.predicted_seconds == pytest.approx(tuple(TIMES), rel=0.05)
    assert validation.actual_seconds == tuple(TIMES)
    spread = left_out_spread(np.asarray(validation.predicted_seconds), TIMES, terms=1)
    assert (scale, dof) == (spread.log_scale, spread.dof)
    own = found.predicted + np.where(np.arange(len(TIMES)) == 3, 5.0, 0.0)[:, None]
    unlike, _, _ = RunPairs(own, found.doublings, found.seconds, found.groups).left_out()
    assert unlike is not None
    assert unlike.predicted_seconds[3] == pytest.approx(validation.predicted_seconds[3])


def test_repetitions_are_left_out_together_and_count_as_one() -> None:
    once, scale, dof = pairs((0.2, -0.3), 0, 1, 2, 3).left_out()
    twice, scale_of_twice, dof_of_twice = pairs((0.2, -0.3), 0, 1, 2, 3, 3).left_out()
    assert once is not None
    assert twice is not None
    predicted = (*once.predicted_seconds, once.predicted_seconds[3])
    assert twice.predicted_seconds == pytest.approx(predicted, rel=1e-4)
    assert (scale_of_twice, dof_of_twice) == (pytest.approx(scale, rel=1e-2), dof)


def test_few_configurations_tell_no_spread_and_one_predicts_nothing() -> None:
    few = range(MIN_CONFIGURATIONS_FOR_SPREAD - 1)
    validation, scale, dof = pairs((0.0, 0.0), *few).left_out()
    assert validation is not None
    assert validation.predicted_seconds == pytest.approx(tuple(TIMES[list(few)]))
    assert math.isnan(scale)
    assert dof == math.inf
    alone, scale, _ = pairs((0.0, 0.0), 0, 0).left_out()
    assert alone is None
    assert math.isnan(scale)


BY_NAME = {model.name: model for model in MODELS}


def written(output_bytes: float, name: str) -> Run:
    """Eight tasks on eight slots of a type, each of which writes so many bytes."""
    output = {"output_bytes": measure(np.full(8, output_bytes))}
    run = observed([Stage(np.full(8, 5.0), input_bytes=1e9, more=output)], slots=8)
    return replace(run, cluster=of_type(name, 1.0))


@pytest.mark.parametrize("order", [("one", "other"), ("other", "one")])
def test_the_log_of_the_type_that_is_asked_for_explains_the_answer(order: tuple[str, str]) -> None:
    """Equally far in slots and input, the log from such machines weighs more than one whose speed
    is carried over: the row of Table 3 is its own."""
    each = {"one": 1e6, "other": 1e8}
    runs = tuple(written(each[name], name) for name in order)
    fitted = Simcost().fit(Profile("job", runs), models=BY_NAME)
    for name in order:
        row = fitted.predict(cluster=of_type(name, 1.0)).job_profile
        assert row is not None
        assert row["output_bytes"] == pytest.approx(8 * each[name])


def test_memory_that_is_not_known_is_not_free() -> None:
    """A run whose heap no log tells cost "75 %" of the same run with its assured memory."""
    (run,) = engine.read("sort-small").runs
    bare = replace(run, cluster=replace(run.cluster, executor_memory_gib=None))
    for one, known in ((run, True), (bare, False)):
        fitted = engine.fit(Profile("sort", (one,)), model="simcost")
        figures = fitted.predict(cluster=one.cluster).job_profile
        assert ("training_cost_ratio" in figures) is known
        assert figures["resource_time_vcore_seconds"] > 2.0 * run.seconds
