"""Stages answered at once agree with the same stages one by one, and with every task placed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed

from engine.models.kept_inputs import KEPT_INPUTS
from engine.models.replay import Replay
from engine.models.stage_batch import FEWEST_STAGES, StageBatch
from engine.models.task_times import StageLaw
from engine.profile import Run

SLOTS = 12
BLOCK = 128.0 * 1024**2


def many_stages(count: int = 40) -> Run:
    """A chain of stages of all sizes and spreads, some of them in step, some warming up."""
    random, stages = np.random.default_rng(5), []
    for place in range(count):
        tasks = int(random.integers(2, 400))
        seconds = random.lognormal(0.0, float(random.choice([0.0, 0.05, 0.4, 1.0])), tasks)
        warm_up = tuple(np.linspace(1.0 + random.random(), 1.02, 5)) if place % 3 else ()
        more = {"warm_up": warm_up, "task_cpus": 1 + place % 2}
        stages.append(
            Stage(
                seconds,
                (place - 1,) if place else (),
                job=place // 8,
                input_bytes=tasks * BLOCK,
                more=more,
            )
        )
    jobs = [Job((number - 1,) if number else (), 0.5) for number in range(-(-count // 8))]
    return observed(stages, jobs, slots=SLOTS)


@pytest.mark.parametrize("slots", [1, 5, SLOTS, 31, 300, 5000])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 3.7])
def test_closed_forms_agree_with_single_stages(slots: int, ratio: float) -> None:
    replay = Replay.of(many_stages())
    shapes = [
        replace(shape, law=StageLaw(slots=0.05 * (-1) ** place))
        for place, shape in enumerate(replay.shapes)
    ]
    replay = replace(replay, shapes=tuple(shapes)).fresh()
    stages = replay._tasks(ratio, None, SLOTS)
    batch = StageBatch.of(replay.shapes, stages, replay.growth, SLOTS)
    slowdowns, speed = batch.slowdowns(slots), np.linspace(0.6, 1.4, len(shapes))
    forms = batch.closed_forms(slots, slowdowns, speed)
    for place, (shape, (scaled, tasks)) in enumerate(zip(shapes, stages, strict=True)):
        one = replay.slowdown(shape, replay.growth[place], scaled, slots)
        assert slowdowns[place] == pytest.approx(one)
        typical = shape.mean_seconds * scaled.work
        slow = tasks.slowed(contention=one, typical_seconds=typical, speed=float(speed[place]))
        lanes = max(1, slots // shape.stage.task_cpus)
        form = forms[place]
        assert form.slots == lanes
        assert (form.total, form.longest) == pytest.approx((slow.total, slow.longest))
        assert form.makespan == pytest.approx(slow.expected_makespan(lanes), rel=1e-6, abs=1e-9)


def test_the_second_answer_is_the_first() -> None:
    """The first question about an input is answered stage by stage, later ones at once."""
    replay = Replay.of(many_stages())
    assert len(replay.shapes) > FEWEST_STAGES
    for slots in (3, 40, 700):
        first = replay.fresh().replayed(slots, ratio=2.0).seconds
        replay.replayed(slots, ratio=2.0)
        assert replay.replayed(slots, ratio=2.0).seconds == pytest.approx(first, rel=1e-9)


def test_what_is_kept_of_inputs_is_bounded() -> None:
    """Somebody who types one size after the other fills no memory."""
    replay = Replay.of(many_stages())
    for step in range(3 * KEPT_INPUTS):
        for _ in range(2):
            replay.replayed(40, ratio=1.0 + 0.01 * step)
    kept = replay._kept
    for store in (kept.stages, kept.counts, kept.batches, kept.useful, kept.asked_once):
        assert len(store) <= KEPT_INPUTS
    assert len(kept.asked_once) == KEPT_INPUTS


@pytest.mark.parametrize("slots", [2, 9, 50, 400])
def test_they_agree_with_every_task_placed(slots: int) -> None:
    replay = Replay.of(many_stages())
    replay.replayed(slots)
    exact = replay.replayed(slots, exact=True).seconds
    assert replay.replayed(slots).seconds == pytest.approx(exact, rel=0.03)
