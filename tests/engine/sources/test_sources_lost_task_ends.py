"""Task ends that Spark dropped, of stages that are known to have ended."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

import engine
from engine.cluster import Cluster, Workload
from engine.models.replay.censored_tasks import (
    partial_stages_notice,
    with_all_tasks,
    without_censored_tasks,
)
from engine.profile import Run
from engine.sources import read
from engine.sources.access.codecs import open_path
from engine.sources.logs.eventlog import TASK_END

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


def profile_of(run: Run) -> engine.Profile:
    return engine.Profile("job", (run,))


def test_the_work_of_tasks_without_an_end_counts(tmp_path: Path) -> None:
    """No task is seen twice, and the stage has the time that it had."""
    run = run_of(tmp_path, two_jobs(kept=30))
    assert (run.lost, run.complete) == (("10 of 40 tasks of 1 stage are missing",), False)
    (told,) = (notice for notice in run.notices if notice.code == "incomplete-log")
    assert told.remedy.startswith("let Spark drop fewer events"), "the application did end"
    assert stage_of(run, 0).task_seconds.count == 30
    whole = with_all_tasks(run)
    stage, other = stage_of(whole, 0), stage_of(whole, 1)
    assert (stage.completed_seconds, whole.seconds) == (12.0, run.seconds)
    assert stage.task_seconds.count == 40
    assert stage.task_seconds.total == pytest.approx(other.task_seconds.total, rel=0.05)


def test_a_stage_with_a_reader_is_over_whatever_became_of_its_job(tmp_path: Path) -> None:
    """The end of the job is lost too."""
    events = log.header()
    first, second = log.info(0, 8), log.info(1, 1, parents=[0])
    events += [log.job(0, [first, second], 2.0), log.submitted(first, 2.0)]
    events += [log.task(0, n, 2.0, 4.0, index=n) for n in range(4)]
    events += [log.completed(first, 2.0, 6.0), log.submitted(second, 6.0)]
    run = run_of(tmp_path, [*events, log.task(1, 9, 6.0, 7.0)])
    assert stage_of(with_all_tasks(run), 0).completed_seconds == 6.0


def test_a_stage_that_is_cut_off_would_have_run_longer(tmp_path: Path) -> None:
    """Where the log breaks off in it, or it was given up with its job and nothing came then."""
    events = two_jobs(kept=30, failure="Job aborted")
    cut = next(n for n, event in enumerate(events) if event["Event"].endswith("StageCompleted"))
    for last in (cut, cut + 2):
        run = run_of(tmp_path, events[:last])
        assert with_all_tasks(run).seconds > run.seconds


@pytest.mark.parametrize("beyond", [1, 2])
def test_the_last_stage_is_over_where_it_or_its_job_ended(tmp_path: Path, beyond: int) -> None:
    """It counted as cut off, since nothing came after it: the run was taken to be longer."""
    events = two_jobs(kept=30)
    cut = next(n for n, event in enumerate(events) if event["Event"].endswith("StageCompleted"))
    for ended in ([], [log.end(13.0)]):
        run = run_of(tmp_path, [*events[: cut + beyond], *ended])
        whole = with_all_tasks(run)
        assert whole.seconds == run.seconds
        assert stage_of(whole, 0).completed_seconds == stage_of(run, 0).completed_seconds == 12.0
        assert stage_of(whole, 0).task_seconds.count == 40
        assert stage_of(without_censored_tasks(run), 0).tasks == 40
        assert remedy_of(run).startswith("let Spark drop" if ended else "let the application end")


def remedy_of(run: Run) -> str:
    """What to do about stages that were seen in part, which is what to do about their log."""
    (told,) = (notice for notice in run.notices if notice.code == "incomplete-log")
    partial = partial_stages_notice([run])
    assert partial is not None
    assert partial.remedy == told.remedy
    return partial.remedy


def test_a_stage_in_part_of_which_spark_dropped_nothing_has_the_remedy_of_its_log(
    tmp_path: Path,
) -> None:
    """One that was given up while its application goes on; and where lines of the file are lost."""
    given_up = two_jobs(kept=30, failure="Job aborted")[:-1]
    assert remedy_of(run_of(tmp_path, given_up)).startswith("let the application end")
    path = log.write(tmp_path / "torn", two_jobs())
    lines = path.read_text().splitlines(keepends=True)
    ends = [n for n, line in enumerate(lines) if "SparkListenerTaskEnd" in line]
    for n in ends[:10]:
        lines[n] = lines[n][: len(lines[n]) // 2] + "\n"
    path.write_text("".join(lines))
    (torn,) = read(path).runs
    assert remedy_of(torn).startswith("fetch the log again")


def test_the_last_stage_of_a_cancelled_micro_batch_is_not_over(tmp_path: Path) -> None:
    """Its job has an end, and its stages no failure that counts."""
    events = two_jobs(kept=30)
    cut = next(n for n, event in enumerate(events) if event["Event"].endswith("StageCompleted"))
    run = replace(run_of(tmp_path, events[: cut + 2]), batch_id=3)
    assert with_all_tasks(run).seconds > run.seconds


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


def test_a_run_took_as_long_as_it_took_whatever_ends_were_dropped(tmp_path: Path) -> None:
    """The time of a stage that did its work covers the tasks whose ends are lost: held against the
    time of the other tasks alone, this run seemed to be disturbed, and its answers were 3 % up."""
    stored = Path(str(files("sample_logs") / "sales-report-large.zstd"))
    with open_path(stored) as stream:
        lines = b"".join(stream.chunks()).splitlines(keepends=True)
    ends = [n for n, line in enumerate(lines) if line.startswith(TASK_END)]
    dropped = set(ends[7::16])
    kept = tmp_path / "kept"
    kept.write_bytes(b"".join(line for n, line in enumerate(lines) if n not in dropped))
    whole, part = (engine.read(str(path)) for path in (stored, kept))
    assert part.runs[0].lost
    cluster = part.runs[0].cluster
    seconds = [
        engine.fit(profile).predict(cluster=cluster, workload=Workload()).seconds
        for profile in (whole, part)
    ]
    assert seconds[1] == pytest.approx(seconds[0], rel=0.01)


@pytest.mark.parametrize(("failure", "covered"), [(None, 40), ("Job aborted", 30)])
def test_the_time_of_an_aborted_stage_covers_only_tasks_that_ended(
    tmp_path: Path, failure: str | None, covered: int
) -> None:
    run = run_of(tmp_path, two_jobs(kept=30, failure=failure))
    assert stage_of(without_censored_tasks(run), 0).tasks == covered
