"""The driver launches one task after the other, however many slots there are."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed, without_growth

from engine.cluster import Cluster
from engine.models.stages.durations.launches import LAUNCH_SECONDS


def test_short_tasks_wait_for_the_driver_to_launch_them() -> None:
    """20,000 tasks of 50 ms: on 8 slots their work decides, on thousands the driver."""
    replay = without_growth(observed([Stage(np.full(20_000, 0.05), input_bytes=1e12)], slots=8))
    assert replay.replayed(8).seconds == pytest.approx(125.0, rel=0.001)
    assert replay.replayed(16).seconds == pytest.approx(62.5, rel=0.001)
    for slots in (1_000, 5_000):
        found = replay.replayed(slots).seconds
        assert found == pytest.approx(20_000 * LAUNCH_SECONDS + 0.05, rel=0.001)
    long = without_growth(observed([Stage(np.full(2_000, 60.0), input_bytes=1e12)], slots=8))
    assert long.replayed(1_000).seconds == pytest.approx(120.0, rel=0.001)


def test_a_log_whose_driver_launched_faster_says_so() -> None:
    """4,000 tasks in 1 s: 0.25 ms each. What a log shows is never lengthened."""
    fast = observed([Stage(np.full(4_000, 0.5), input_bytes=1e12)], slots=2_000)
    replay = without_growth(fast)
    assert replay.launch_seconds == pytest.approx(0.00025)
    assert replay.observed().seconds == pytest.approx(1.0)
    assert replay.replayed(4_000).seconds == pytest.approx(1.0)


def test_tasks_of_two_cpus_are_half_as_many_in_the_first_wave_of_a_log() -> None:
    """20,000 tasks on 2,000 slots: 1,000 ran at once, so that 19,000 more are launched."""
    stage = Stage(np.full(20_000, 2.0), input_bytes=1e12, more={"task_cpus": 2})
    pairs = Cluster.of_executors(executors=1_000, executor_cores=2)
    replay = without_growth(replace(observed([stage], slots=2_000), cluster=pairs))
    found = replay.replayed(50_000).seconds
    assert found == pytest.approx(19_000 * LAUNCH_SECONDS + 2.0, rel=0.001)
