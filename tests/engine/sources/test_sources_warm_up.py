"""How the first tasks of a stage compare with all of them, by their launch order in a log."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.sources.logs import events
from engine.sources.logs.application import Application
from engine.stage_run import StageRun

FALLING = [5.0] * 2 + [3.0] * 2 + [2.0] * 4 + [1.0] * 56
"""80 s in 64 tasks, a mean of 1.25; of the first 2, 4, 8, 16 and 32: 5, 4, 3, 2 and 1.5."""

SHARES = (4.0, 3.2, 2.4, 1.6, 1.2)


def tasks_of(seconds: list[float], *, metrics: list[log.Event] | None = None) -> list[log.Event]:
    """Ends of tasks that were launched one by one, in the order in which they came in: that of the
    last first."""
    each = metrics or [{}] * len(seconds)
    ends = [
        log.task(0, n, 20.0 + 0.1 * n, 20.0 + 0.1 * n + taken, metrics=told)
        for n, (taken, told) in enumerate(zip(seconds, each, strict=True))
    ]
    return ends[::-1]


def stage_of(folder: Path, *tasks: log.Event) -> StageRun:
    stage = log.info(0, sum(one["Event"] == "SparkListenerTaskEnd" for one in tasks))
    ran = [log.submitted(stage, 2.0), *tasks, log.completed(stage, 2.0, 40.0), log.end(41.0)]
    (found,) = run_of(folder, [*log.header(), *ran]).stages
    return found


def test_the_mean_of_the_first_tasks_by_launch_order(tmp_path: Path) -> None:
    assert stage_of(tmp_path, *tasks_of(FALLING)).warm_up == pytest.approx(SHARES)


def test_first_tasks_on_a_slot_and_those_without_a_time_stand_apart(tmp_path: Path) -> None:
    """Two executors of two cores start with four tasks of 9 s; one ended as it began."""
    cold = [(100 + n, str(1 + n // 2)) for n in range(4)]
    starts = [log.task_start(0, n, 3.0, index=n, executor=name) for n, name in cold]
    ends = [log.task(0, n, 3.0, 12.0, executor=name) for n, name in cold]
    empty = log.task(0, 200, 15.0, 15.0, metrics={"Executor Run Time": 0})
    found = stage_of(tmp_path, *starts, *ends, empty, *tasks_of(FALLING))
    assert found.first_wave_seconds.quantiles == (9.0,) * 4
    assert found.warm_up == pytest.approx(SHARES)


@pytest.mark.parametrize(
    "read",
    [
        lambda size: {"Input Metrics": {"Bytes Read": size}},
        lambda size: {"Shuffle Read Metrics": {"Remote Bytes Read": size}},
        lambda size: {"Shuffle Read Metrics": {"Local Bytes Read": size}},
    ],
    ids=["input", "remote shuffle", "local shuffle"],
)
def test_tasks_that_took_longer_for_their_data_show_no_new_code(tmp_path: Path, read) -> None:
    """The first half read 3 MB each and the others 1 MB; a quarter of the time of a task of the
    mean size, 2 MB, is there whatever it reads."""
    seconds = [0.25 + 0.75 * 1.5] * 32 + [0.25 + 0.75 * 0.5] * 32
    metrics = [read(3_000_000)] * 32 + [read(1_000_000)] * 32
    found = stage_of(tmp_path, *tasks_of(seconds, metrics=metrics))
    assert found.warm_up == pytest.approx((1.0,) * 5, abs=1e-4)


def test_seven_tasks_show_no_order_and_of_eight_the_first_stands_for_the_smallest_shares(
    tmp_path: Path,
) -> None:
    assert stage_of(tmp_path, *tasks_of([3.0] + [1.0] * 6)).warm_up == ()
    eight = stage_of(tmp_path, *tasks_of([3.0] + [1.0] * 7)).warm_up
    assert eight == pytest.approx((2.4, 2.4, 2.4, 1.6, 1.2))


def test_an_executor_announced_twice_has_its_slots_once() -> None:
    """Else its second set would never have first tasks, and all task starts would be decoded."""
    application = Application()
    added = events.ExecutorAdded(time_ms=5, executor="1", info=events.ExecutorInfo(cores=2))
    application.executor_added(added)
    application.executor_added(added)
    assert application.executors.cold_slots == 2
    application.executor_removed(events.ExecutorRemoved(time_ms=9, executor="1"))
    assert application.executors.cold_slots == 0
