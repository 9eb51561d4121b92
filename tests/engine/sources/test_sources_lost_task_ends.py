"""Task ends that Spark dropped, of stages that are known to have ended."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

import engine
from engine.cluster import Cluster, Workload
from engine.profile import Run

READ = {"Input Metrics": {"Bytes Read": 1000, "Records Read": 10}}


def two_jobs(
    *, kept: int = 40, completed: bool = True, failure: str | None = None
) -> list[log.Event]:
    """Two jobs of one stage, forty tasks of a second each on four slots; of the first stage the log
    has the ends of `kept` tasks, which take from 0.81 to 1.2 s."""
    events = log.header()
    for number, start in ((0, 2.0), (1, 13.0)):
        stage = log.info(number, 40)
        events += [log.job(number, [stage], start), log.submitted(stage, start)]
        for n in range(40 if number else kept):
            at = start + n * 40 // (40 if number else kept) // 4
            seconds = 0.81 + 0.01 * (n * 40 // kept if not number else n)
            name = str(1 + n % 2)
            ended = log.task(number, 100 * number + n, at, at + seconds, index=n, executor=name)
            ended["Task Metrics"] |= READ
            events.append(ended)
        if number or completed:
            events.append(
                log.completed(stage, start, start + 10.0, failure=None if number else failure)
            )
        events.append(log.job_end(number, start + 10.0))
    return [*events, log.end(24.0)]


def test_tasks_whose_ends_are_lost_were_as_those_that_are_seen(tmp_path: Path) -> None:
    run = run_of(tmp_path, two_jobs(kept=30))
    assert (run.lost, run.complete) == (("10 of 40 tasks of 1 stage are missing",), False)
    stage, whole = stage_of(run, 0), stage_of(run, 1)
    times = stage.task_seconds
    assert (stage.tasks, times.count, len(times.quantiles)) == (40, 40, 40)
    assert times.total == pytest.approx(whole.task_seconds.total, rel=0.02)
    assert times.quantiles == pytest.approx(whole.task_seconds.quantiles, abs=0.03)
    assert stage.input_bytes is not None
    assert (stage.input_bytes.count, stage.input_bytes.total) == (40, 40_000.0)
    assert stage.input_records == 400.0
    assert run.workload.input_bytes == 80_000.0
    assert "stage-in-part" not in {n.code for n in engine.fit(profile_of(run)).fit_notices}


def profile_of(run: Run) -> engine.Profile:
    return engine.Profile("job", (run,))


@pytest.mark.parametrize(("failure", "completed"), [("Job aborted", True), (None, False)])
def test_of_a_stage_that_may_not_have_run_them_they_stay_missing(
    tmp_path: Path, failure: str | None, completed: bool
) -> None:
    events = two_jobs(kept=30, completed=completed, failure=failure)
    stage = stage_of(run_of(tmp_path, events), 0)
    assert (stage.tasks, stage.task_seconds.count) == (40, 30)


@pytest.mark.parametrize("model", ["sparkplan", "boe", "simcost"])
@pytest.mark.parametrize("failure", [None, "Job aborted"])
def test_what_follows_waits_for_the_stage_all_the_same(
    tmp_path: Path, model: str, failure: str | None
) -> None:
    """With the time of its other tasks the stage ended after the next job had begun, which then
    waited for nothing: on eight times the slots the ten seconds of the stage stayed. An aborted one
    does less, and what follows it did not wait for more."""

    def seconds(kept: int) -> list[float]:
        run = run_of(tmp_path, two_jobs(kept=kept, failure=failure))
        fitted = engine.fit(profile_of(run), model=model)
        return [
            fitted.predict(
                cluster=Cluster.of_executors(executors=n, executor_cores=2), workload=Workload()
            ).seconds
            for n in (2, 16)
        ]

    assert seconds(30) == pytest.approx(seconds(40), rel=0.08)
