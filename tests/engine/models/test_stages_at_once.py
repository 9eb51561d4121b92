"""Stages that ran at the same time: slots idle between the tasks of none of them."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Job, Stage, observed

from engine.models.replay.replayed_run import Replay


def test_stages_side_by_side_replay_as_they_ran() -> None:
    """Six tasks whose stage was held up, then three stages of 200 small tasks at once: the run was
    predicted twice as long as it was, on its own cluster."""
    six = Stage(np.full(6, 0.5), input_bytes=6e8)
    small = [Stage(np.full(200, 0.02), (0,), 1 + number) for number in range(3)]
    run = observed([six, *small], [Job(), *(Job((0,)) for _ in small)], slots=2)
    late = 3.0
    stages = [
        replace(
            one,
            submitted_seconds=one.submitted_seconds + late * (place > 0),
            completed_seconds=one.completed_seconds + late,
        )
        for place, one in enumerate(run.stages)
    ]
    jobs = [
        replace(
            job,
            submitted_seconds=job.submitted_seconds + late * (place > 0),
            completed_seconds=job.completed_seconds + late,
        )
        for place, job in enumerate(run.jobs)
    ]
    run = replace(run, seconds=run.seconds + late, stages=tuple(stages), jobs=tuple(jobs))
    replay = Replay.of(run)
    assert replay.dispatch_seconds[0] > 0.5
    assert replay.dispatch_seconds[1:].tolist() == [0.0] * 3
    assert replay.replayed(2).seconds == pytest.approx(run.seconds, rel=0.02)
