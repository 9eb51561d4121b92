"""Which runs are replayed: whole ones before broken ones, micro-batches by a few; and when runs
without stages answer in place of a log."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import BLOCK, Job, Stage, observed
from sparkplan_runs import BY_NAME, codes, executors, fit, run_of

from engine.cluster import Workload
from engine.models.base import FittedModel
from engine.models.boe.model import MOST_LOGS
from engine.models.laws.model import TableModel
from engine.models.replay.model import ReplayModel
from engine.models.replay.run_selection import (
    MOST_REPLAYS,
    replayable_runs,
    representative_runs,
    spread_runs,
)
from engine.notices import Notice
from engine.profile import Profile, Run


def test_incomplete_logs_and_changing_clusters_say_so() -> None:
    lost = Notice("incomplete-log", "the end is missing", "log it again")
    changing = Notice("dynamic-allocation", "executors came and went", "fix them")
    run = replace(run_of(8), complete=False, notices=(lost, changing))
    assert {"incomplete-log", "dynamic-allocation"} <= codes(
        fit(run).predict(cluster=executors(8)).warnings
    )


def test_whole_runs_go_before_incomplete_ones() -> None:
    whole, torn = run_of(8), replace(run_of(16), complete=False)
    assert replayable_runs([torn, whole]) == [whole]
    assert replayable_runs([torn]) == [torn]


def test_of_many_runs_each_number_of_slots_keeps_the_one_of_median_time() -> None:
    """What the files are called, or the order in which they are given, does not matter."""
    usual, rng = run_of(8), np.random.default_rng(3)
    runs = [
        replace(usual, seconds=seconds, cluster=replace(usual.cluster, executors=executors))
        for executors in (2, 4, 8)
        for seconds in (100.0 / executors, 90.0 / executors, 400.0 / executors)
    ]
    shuffled = [runs[place] for place in rng.permutation(len(runs))]
    found = spread_runs(shuffled, 3)
    assert [(run.cluster.executors, run.seconds) for run in found] == [
        (2, 50.0), (4, 25.0), (8, 12.5)
    ]  # fmt: skip
    many = [run for run in runs for _ in range(MOST_REPLAYS)]
    assert representative_runs(shuffled[:2]) == shuffled[:2]
    assert {run.cluster.executors for run in representative_runs(many)} == {2, 4, 8}
    assert len(representative_runs(many)) <= MOST_REPLAYS


def test_of_many_logs_eight_are_estimated_by_their_states() -> None:
    usual = run_of(8)
    runs = tuple(replace(usual, seconds=usual.seconds * (1.0 + 0.01 * n)) for n in range(11))
    fitted = BY_NAME["boe"].fit(Profile("job", runs), models=BY_NAME)
    assert len(fitted.plans) == MOST_LOGS == 8


@pytest.mark.parametrize("model", ["sparkplan", "boe", "simcost"])
def test_runs_that_failed_take_no_part_and_are_counted(model: str) -> None:
    """A first attempt whose stage failed ends in order, but did a part of the work."""
    failed = Notice("failed-stages", "1 stage failed", "give another log")
    good, bad = run_of(8), replace(run_of(8, slow=0.2), notices=(failed,))
    torn = replace(run_of(8), complete=False)
    alone, both = (
        BY_NAME[model].fit(Profile("job", runs), models=BY_NAME).predict(cluster=executors(8))
        for runs in ((good,), (bad, good, torn))
    )
    assert both.seconds == pytest.approx(alone.seconds)
    (said,) = (notice for notice in both.warnings if notice.code == "incomplete-runs")
    expected = "2 of 3 logs are left aside: 1 without an end and 1 with a stage that failed"
    assert said.text == expected
    assert replayable_runs([torn, bad]) == [bad]


def test_a_first_micro_batch_starts_executors_which_others_do_not() -> None:
    def of_stream(run: Run, number: int, share: float = 1.0) -> Run:
        return replace(run, batch_id=number, app_id="a", workload=Workload(8 * BLOCK * share))

    cold = Stage(np.ones(8), input_bytes=8 * BLOCK, cold_seconds=9.0)
    first = of_stream(observed([cold], slots=4), 0)
    warm = [of_stream(run_of(8), number) for number in (1, 2)]
    assert replayable_runs([first, *warm]) == warm
    small = of_stream(run_of(8), 1, 0.1)
    assert replayable_runs([first, small]) == [first, small]
    other = replace(warm[0], app_id="b")
    assert replayable_runs([first, other]) == [first, other]
    assert replayable_runs([replace(first, batch_id=None), *warm])[0].batch_id is None


def test_a_first_micro_batch_is_not_the_measured_run_of_a_stream() -> None:
    """It took longest of all, at the same input or where none is known."""
    cold = Stage(np.ones(8), input_bytes=8 * BLOCK, cold_seconds=300.0)
    first, second, third = (
        replace(run, batch_id=number, app_id="a", workload=Workload())
        for number, run in enumerate((observed([cold], slots=4), run_of(8), run_of(8)))
    )
    assert first.seconds > second.seconds
    assert Profile("stream", (first, second, third)).largest_run == second
    assert Profile("stream", (first,)).largest_run == first


def test_many_micro_batches_are_represented_by_a_few() -> None:
    batches = [replace(run_of(8, 0.25 + 0.05 * (i % 12)), batch_id=i) for i in range(40)]
    model = fit(*batches)
    assert isinstance(model, ReplayModel)
    assert len(model.replays) == 8
    truth = run_of(8, 0.5)
    found = model.predict(cluster=executors(8), workload=truth.workload)
    assert found.seconds == pytest.approx(truth.seconds, rel=0.1)


def log_of(slots: int) -> Run:
    tasks = np.random.default_rng(3).gamma(16.0, 0.25, 240)
    stages = [Stage(tasks, input_bytes=240 * BLOCK)]
    return observed(stages, [Job((), 5.0)], slots=slots, tail_seconds=1.0)


def times_of(model: FittedModel, *, factor: float) -> list[Run]:
    """What was measured at twelve configurations, a factor from what a model says of them."""
    runs = []
    for slots in (2, 4, 8, 16):
        for scale in (1.0, 2.0, 4.0):
            cluster, workload = executors(slots), Workload(scale * 240 * BLOCK)
            seconds = factor * model.predict(cluster=cluster, workload=workload).seconds
            runs.append(Run(seconds, cluster, workload))
    return runs


def test_measured_times_go_before_one_log_that_contradicts_them() -> None:
    log = log_of(4)
    measured = times_of(fit(log), factor=1.6)
    model = fit(log, *measured)
    assert isinstance(model, TableModel)
    for run in measured:
        found = model.predict(cluster=run.cluster, workload=run.workload)
        assert found.seconds == pytest.approx(run.seconds, rel=0.15)


def test_a_log_that_measured_times_confirm_goes_on_answering() -> None:
    """And says that they take no part."""
    log = log_of(4)
    model = fit(log, *times_of(fit(log), factor=1.02))
    assert isinstance(model, ReplayModel)
    found = model.predict(cluster=executors(8))
    said = next(notice for notice in found.warnings if notice.code == "runs-not-used")
    assert said.text.startswith("12 runs without stages take no part")
    assert "runs-not-used" not in {n.code for n in fit(log).predict(cluster=executors(8)).warnings}


def test_a_single_time_beside_a_log_is_not_passed_over_in_silence() -> None:
    log = log_of(4)
    model = fit(log, Run(3.0 * log.seconds, executors(8), log.workload))
    found = model.predict(cluster=executors(8))
    assert "runs-not-used" in {notice.code for notice in found.warnings}
