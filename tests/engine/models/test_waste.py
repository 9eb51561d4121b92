"""Attempts in vain, replayed: what they cost is expected again, unless slots were idle."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Stage, measure, observed, without_growth

from engine.profile import Run, Waste


def wasted(seconds: float, *, longer: bool) -> Run:
    """40 tasks of 2 s on 4 slots, and attempts in vain of so many seconds that lengthened the stage
    or ran beside it (speculative copies)."""
    run = observed(
        [Stage(np.full(40, 2.0 + (seconds / 40 if longer else 0.0)), input_bytes=40 * BLOCK)],
        slots=4,
    )
    stage = replace(
        run.stages[0],
        task_seconds=measure(np.full(40, 2.0)),
        waste=Waste(failed_tasks=4, seconds=seconds),
    )
    return replace(run, stages=(stage,))


def test_work_in_vain_is_expected_again_in_proportion() -> None:
    replay = without_growth(wasted(8.0, longer=True))
    assert replay.waste[0] == pytest.approx(0.1)
    assert replay.dispatch_seconds[0] == pytest.approx(0.0, abs=1e-9)
    assert replay.replayed(4).seconds == pytest.approx(22.0)
    assert replay.replayed(20).seconds == pytest.approx(4.4)


def test_a_stage_that_was_longer_than_by_its_work_in_vain_idled_for_the_rest() -> None:
    """Two seconds longer: half of that on four slots is work in vain, half of it in ten waves."""
    run = wasted(8.0, longer=True)
    stage = replace(run.stages[0], waste=Waste(failed_tasks=4, seconds=4.0))
    replay = without_growth(replace(run, stages=(stage,)))
    assert replay.waste[0] == pytest.approx(0.05)
    assert replay.dispatch_seconds[0] == pytest.approx(0.1)


def test_a_first_task_that_failed_is_not_lost_twice() -> None:
    """Its slot was as new as the other: what that costs is no work to be lost again."""
    stage = Stage(np.ones(12), input_bytes=12 * BLOCK, cold_seconds=6.0)
    run = observed([stage], slots=2)
    # Slot 1 starts with 7 s; on slot 2 a task fails after 5 s, the others take 1 s: all end at 12.
    stages = replace(
        run.stages[0],
        completed_seconds=12.0,
        task_seconds=measure(np.asarray([7.0, *[1.0] * 11])),
        first_wave_seconds=measure(np.asarray([7.0])),
        waste=Waste(failed_tasks=1, seconds=5.0),
    )
    replay = without_growth(replace(run, seconds=12.0, stages=(stages,)))
    assert replay.waste[0] == pytest.approx(0.0, abs=0.02)
    assert replay.replayed(2).seconds == pytest.approx(12.0, rel=0.02)


def test_copies_on_idle_slots_cost_no_time() -> None:
    replay = without_growth(wasted(8.0, longer=False))
    assert replay.waste[0] == 0.0
    assert replay.replayed(4).seconds == 20.0
