"""The run time of tasks that hold several CPUs, which Spark 4 counts once for each."""

from pathlib import Path

import numpy as np
import pytest

import engine
from engine.sources.logs.task_rows import (
    CPU,
    DESERIALIZE,
    RUN,
    WIDTH,
    multiplies_run_time_by_cpus,
    with_wall_clock_run_time,
)

DATA = Path(engine.__file__).parents[1] / "tests" / "data"


@pytest.mark.parametrize("log", ["wide_tasks", "wide_run_time"])
def test_tasks_of_two_cores_run_no_longer_than_they_hold_their_slot(log: str) -> None:
    """In the log of 4.0.1 the four tasks tell 2.8 s of run time within 1.7 s."""
    one, two = engine.read(DATA / f"{log}.zstd").runs[0].stages
    assert (one.task_cpus, two.task_cpus) == (1, 2)
    for stage in (one, two):
        within = stage.run_seconds.total + stage.deserialize_seconds
        assert 0.7 * stage.task_seconds.total < within <= stage.task_seconds.total
        outside = stage.task_seconds.total - stage.run_seconds.total
        assert stage.overhead_seconds.total == pytest.approx(outside)


def test_what_loading_took_is_taken_away_once() -> None:
    """Of 1,000 ms with 200 ms of loading Spark tells 2 x 1,000 - 200."""
    rows = np.full((3, WIDTH), 7, dtype=np.int64)
    rows[:, RUN], rows[:, DESERIALIZE] = (1800, -1, 10), (200, 200, -1)
    own = with_wall_clock_run_time(rows, 2)
    assert own[:, RUN].tolist() == [800, -1, 5]
    rest = [place for place in range(WIDTH) if place != RUN]
    assert (own[:, rest] == rows[:, rest]).all()


def test_no_task_runs_shorter_than_it_computed() -> None:
    """Loading of the task itself, before its run, is logged with that of its function: a task that
    loaded 600 ms before it computed for 1,000 ms tells 2,000 ms."""
    rows = np.full((3, WIDTH), 7, dtype=np.int64)
    rows[:, RUN], rows[:, DESERIALIZE] = (2000, 2000, 2000), 600
    rows[:, CPU] = (990_000_000, 5_000_000_000, -1)
    assert with_wall_clock_run_time(rows, 2)[:, RUN].tolist() == [990, 1000, 700]


@pytest.mark.parametrize(
    ("version", "counts"),
    [("3.5.9", False), ("4.0.1", True), ("4.1.0-preview1", True), ("10.0", True), (None, False)],
)
def test_versions_that_count_cpus(version: str | None, counts: bool) -> None:
    assert multiplies_run_time_by_cpus(version) is counts
