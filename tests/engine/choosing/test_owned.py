import json
from contextlib import nullcontext
from dataclasses import dataclass, replace

import numpy as np
import pytest
from synthetic import TableModel, model, profile_on

from engine.batch import ClusterBatch
from engine.choosing.difference_texts import missed_by
from engine.choosing.owned import recommend_owned
from engine.choosing.recommendation import Goal, Recommendation
from engine.cluster import Workload
from engine.errors import BadInput, UnknownName
from engine.forecast import Forecast


def amdahl(name: str, executors: np.ndarray) -> np.ndarray:
    return 60.0 + 3600.0 / executors


def owned(**options: object) -> Recommendation:
    given = {"executor_cores": 2, "executor_memory_gib": 4.0, "max_executors": 64, **options}
    return recommend_owned(model(amdahl, log_scale=0.1), **given)


def test_least_resource_time_that_meets_the_deadline() -> None:
    answer = owned(deadline_seconds=600.0)
    best = answer.recommended
    counts = np.arange(1, 65)
    seconds = amdahl("", counts)
    met = counts[seconds * np.exp(0.1 * 1.2815515655) <= 600.0]
    assert best.executors == met.min()
    assert best.vcore_seconds == pytest.approx(best.executors * 2 * best.seconds)
    assert (best.cost_usd, best.instance, dict(best.composition)) == (None, None, {})
    assert (best.layout.executor_cores, best.layout.executor_memory_gib) == (2, 4.0)
    assert best.p_deadline >= 0.9
    assert best.why[0].startswith("one executor fewer misses the deadline in ")
    assert [choice.executors for choice in answer.alternatives] == list(range(met.min() + 1, 65))
    assert answer.evaluated == 64
    json.dumps(answer.to_dict(), allow_nan=False)


def test_the_goal_counts_executors_where_there_are_no_nodes() -> None:
    """JSON named 64 nodes, the default, where only --max-executors was given."""
    goal = owned(deadline_seconds=600.0, max_executors=40).to_dict()["goal"]
    assert (goal["max_nodes"], goal["max_executors"]) == (None, 40)
    assert goal["objective"] == "resource-time", "it does not minimise the cost, which has none"
    for asked in ("time", "runtime", "throughput"):
        given = owned(max_executors=40, objective=asked)
        assert given.to_dict()["goal"]["objective"] == asked, "JSON said time, whatever was asked"
        assert given.goal.by_time
        with pytest.raises(UnknownName) if asked != "time" else nullcontext():
            Goal(600.0, objective=asked)
    assert "max_executors" not in Goal(600.0, max_nodes=40).to_dict()
    assert Goal(600.0, max_nodes=40).to_dict()["max_nodes"] == 40


def test_more_executors_may_take_less_resource_time() -> None:
    def cliff(name: str, executors: np.ndarray) -> np.ndarray:
        return np.where(executors < 8, 10.0, 1.0) * 3600.0 / executors

    answer = recommend_owned(model(cliff), executor_cores=1, max_executors=16)
    assert answer.recommended.executors == 16, "8 to 16 tie: the fastest of them"
    assert [choice.executors for choice in answer.frontier] == [16]


def test_the_frontier_of_time_and_resource_time() -> None:
    answer = owned()
    assert [choice.executors for choice in answer.frontier] == list(range(64, 0, -1))
    assert answer.recommended.executors == 1
    assert answer.warnings == ()


def test_nothing_meets_the_deadline() -> None:
    answer = owned(deadline_seconds=30.0)
    assert answer.recommended is None
    assert answer.nearest.executors == 64
    assert [entry.code for entry in answer.rejected] == ["deadline"]
    late = answer.rejected[0].late_seconds
    assert late is not None
    said = missed_by(late, 0.9, deadline_seconds=30.0)
    assert answer.rejected[0].reason == f"{said} with 64 executors"


def test_without_an_interval() -> None:
    fitted = model(amdahl)
    answer = recommend_owned(fitted, executor_cores=1, max_executors=8, deadline_seconds=510.0)
    assert answer.recommended is None, "510 s at eight executors are not below 510 s"
    assert [notice.code for notice in answer.warnings] == ["no-interval"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_executors": 0}, "max_executors must lie between 1 and"),
        ({"executor_cores": 0}, "executor_cores must be a whole number"),
        ({"executor_memory_gib": -1.0}, "needs at least 450 MiB"),
        ({"deadline_seconds": -5.0}, "deadline_seconds must be more than zero"),
        ({"confidence": 0.0}, "confidence must lie between"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        owned(**options)


@dataclass(frozen=True, eq=False)
class Interpolating(TableModel):
    """2 % too fast on large batches, exact on a few clusters."""

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        exact = super().forecast(batch, workload)
        if len(batch) < 10:
            return exact
        return replace(exact, seconds=exact.seconds * 0.98)


def test_what_decides_is_evaluated_exactly() -> None:
    fitted = Interpolating("table", profile_on(), law=amdahl)
    exact = recommend_owned(model(amdahl), executor_cores=1, max_executors=64, deadline_seconds=300)
    found = recommend_owned(fitted, executor_cores=1, max_executors=64, deadline_seconds=300)
    assert found.recommended.executors == exact.recommended.executors == 16
    assert found.recommended.seconds == exact.recommended.seconds


def test_where_the_model_has_no_prediction_for_one_executor_fewer() -> None:
    def from_two_on(name: str, executors: np.ndarray) -> np.ndarray:
        return np.where(executors < 2.0, np.nan, amdahl(name, executors))

    found = recommend_owned(
        model(from_two_on), executor_cores=1, max_executors=8, deadline_seconds=3600.0
    )
    assert found.recommended.executors == 2
    assert found.recommended.why == ("the model has no prediction for one executor fewer",)
