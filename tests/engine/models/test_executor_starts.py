"""What the first tasks of a stage tell of its data, and of the start of its executors."""

from collections.abc import Sequence

import numpy as np
import pytest
from made_runs import Stage, measure, observed

from engine.models.replay.replayed_run import Replay
from engine.models.replay.report import time_skew
from engine.models.stages.durations.executor_starts import warm_and_cold
from engine.profile import Run

SLOTS, START_SECONDS, LONG = 20, 2.0, 8.0
READ_BYTES = 1e8


def skewed(
    *, long_has_data: bool, long_runs_first: bool = True, started: int = 6, slots: int = SLOTS
) -> Run:
    """200 tasks of 10 s, of which one takes 80 s; six tasks met a slot that never ran one."""
    seconds, read = np.full(200, 10.0), np.full(200, READ_BYTES)
    long = 3 if long_runs_first else 100
    seconds[long] = 10.0 * LONG
    if long_has_data:
        read[long] = LONG * READ_BYTES
    seconds[:started] += START_SECONDS
    more = {
        "task_seconds": measure(seconds),
        "first_wave_seconds": measure(seconds[:started]),
        "shuffle_read_bytes": measure(read),
    }
    return observed([Stage(seconds, shuffle_bytes=200 * READ_BYTES, more=more)], slots=slots)


@pytest.mark.parametrize("slots", [5, 20, 40, 200])
@pytest.mark.parametrize("first", [True, False])
def test_a_task_with_much_data_stays_whatever_slot_it_met(slots: int, first: bool) -> None:
    """It was among those that met new slots, and was gone on clusters where none does so."""
    run = skewed(long_has_data=True, long_runs_first=first)
    warm, mean, cold = warm_and_cold(run.stages[0])
    assert warm.max() == pytest.approx(10.0 * LONG, rel=0.05)
    assert mean == pytest.approx(10.35, rel=0.01)
    assert cold - warm == pytest.approx(START_SECONDS, rel=0.05)
    assert Replay.of(run).replayed(slots).seconds > 0.9 * 10.0 * LONG


def test_an_executor_that_starts_slowly_is_no_data() -> None:
    run = skewed(long_has_data=False)
    warm, mean, cold = warm_and_cold(run.stages[0])
    assert warm.max() == pytest.approx(10.0, rel=0.01)
    assert mean == pytest.approx(10.0, rel=0.01)
    assert cold - warm == pytest.approx(START_SECONDS, rel=0.05)
    assert time_skew(run.stages[0]) == pytest.approx(LONG * 10.0 / 12.0, rel=0.1)


def few(*seconds: float, read: Sequence[float]) -> Run:
    """A stage of a few tasks on one slot, of which the first met a new executor."""
    more: dict[str, object] = {
        "first_wave_seconds": measure(seconds[:1]),
        "input_bytes": measure(READ_BYTES * np.asarray(read)),
    }
    return observed([Stage(np.asarray(seconds), more=more)], slots=1)


@pytest.mark.parametrize("later", [(1.1,), (1.1, 1.3)])
def test_one_later_task_of_as_much_data_tells_how_slowly_an_executor_starts(
    later: tuple[float, ...],
) -> None:
    """Three splits of 4.4 MB took 5.1, 1.3 and 1.1 s in 3.3.4. Twelve were predicted to hold a task
    of 17 s on two slots, where both took 8."""
    run = few(5.1, *later, read=[1.0] * (1 + len(later)))
    warm, _, cold = warm_and_cold(run.stages[0])
    assert warm.max() == pytest.approx(max(later), abs=0.11)
    assert cold - warm == pytest.approx(5.1 - sum(later) / len(later), abs=0.01)


def test_one_later_task_of_less_data_tells_nothing() -> None:
    """The first task may be long for its data, and is on any cluster."""
    run = few(5.1, 1.1, 1.3, read=[4.0, 1.0, 1.0])
    warm, _, cold = warm_and_cold(run.stages[0])
    assert warm.max() == pytest.approx(5.1)
    assert not len(cold)


def test_a_log_in_which_all_tasks_were_first_tells_neither() -> None:
    run = skewed(long_has_data=True, started=200)
    assert not len(warm_and_cold(run.stages[0])[2])
