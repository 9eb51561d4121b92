"""`benchmarks/cpu_time.py`: a run with its times as its tasks computed."""

import sys
from pathlib import Path

import pytest

import engine
from engine.models.stages.job_phases import driver_seconds, phases_of

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from cpu_time import busy_share, in_cpu_time


def test_driver_time_passes_as_the_run_does() -> None:
    """The driver's time of the clock stayed: longer than a run on a busy machine, so that `optex`
    found no work in it and took the job to last the same with any data."""
    run = engine.read("word-count-small").runs[0]
    computed = in_cpu_time(run)
    expected = busy_share(run) * driver_seconds(run)
    assert driver_seconds(computed) == pytest.approx(expected, rel=1e-3)
    assert phases_of(computed).execution > 0.0


def test_without_the_driver_stages_are_all_of_the_run() -> None:
    run = in_cpu_time(engine.read("word-count-small").runs[0], driver=False)
    assert driver_seconds(run) == pytest.approx(0.0, abs=1e-6)
