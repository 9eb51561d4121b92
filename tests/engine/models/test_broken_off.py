"""Logs that break off in a stage: the rest of its tasks is foretold, not held against the model."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed

import engine
from engine.models.base import Prediction
from engine.models.warm_up import PARTS
from engine.profile import Profile, Run

TASKS, SLOTS = 400, 4
SECONDS = np.full(TASKS, 2.0)


def run_of(seconds: np.ndarray) -> Run:
    """One stage, whose log tells the order of its tasks."""
    parts = [float(seconds[: max(1, round(part * len(seconds)))].mean()) for part in PARTS[:-1]]
    more = {"warm_up": tuple(part / float(seconds.mean()) for part in parts)}
    return observed([Stage(seconds, input_bytes=1e9, more=more)], slots=SLOTS)


def broken_off(seconds: np.ndarray, seen: int) -> Run:
    """The same up to the end of its first tasks."""
    part = run_of(seconds[:seen])
    stages = tuple(replace(stage, tasks=len(seconds)) for stage in part.stages)
    return replace(part, stages=stages, complete=False)


def ask(run: Run) -> Prediction:
    model = engine.fit(Profile("job", (run,)), model="sparkplan")
    return model.predict(cluster=run.cluster, workload=run.workload)


@pytest.mark.parametrize("seen", [40, 200, 360])
def test_the_whole_job_is_foretold_from_its_first_tasks(seen: int) -> None:
    """What is missing is no error of the replay: a stage seen to a tenth made it ten times too
    slow on its own cluster, which was taken off every answer and doubled every interval."""
    found = ask(broken_off(SECONDS, seen))
    assert found.seconds == pytest.approx(TASKS * 2.0 / SLOTS, rel=0.03)
    assert "model-does-not-fit" not in {notice.code for notice in found.warnings}


def test_the_less_was_seen_the_less_sure() -> None:
    widths = []
    for run in (broken_off(SECONDS, 40), broken_off(SECONDS, 360), run_of(SECONDS)):
        found = ask(run)
        assert found.low is not None
        assert found.high is not None
        widths.append(math.log(found.high / found.low))
    assert widths[0] > 2.0 * widths[2]
    assert widths == sorted(widths, reverse=True)


def test_tasks_that_were_not_seen_meet_code_that_is_less_new() -> None:
    seconds = 2.0 + 4.0 * np.exp(-np.arange(TASKS) / 40.0)
    found = ask(broken_off(seconds, 100))
    like_the_seen = TASKS * float(seconds[:100].mean()) / SLOTS
    whole = float(seconds.sum()) / SLOTS
    assert whole < found.seconds < whole + 0.5 * (like_the_seen - whole)
