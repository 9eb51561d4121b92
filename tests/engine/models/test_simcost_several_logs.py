"""SimCost on several logs: which of them explains the answer."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, measure, observed, of_type

import engine
from engine.models import MODELS
from engine.models.simcost.model import Simcost
from engine.profile import Profile, Run

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
