"""Jobs of several scheduler pools: what logs tell of them, and how they are replayed."""

from dataclasses import replace
from pathlib import Path

import pytest
import sparklog as log

from engine.models.replay.replayed_run import Replay
from engine.models.stages import application_graph
from engine.profile import Profile, Run
from engine.sources import read
from engine.sources.formats.profile_file import write_profile


def job(
    number: int, pool: str | None, starts: list[float], *, at: float | None = None
) -> list[log.Event]:
    """A job of one stage with tasks of 2 s that begin at these times; it is submitted with the
    first of them, or `at` an earlier time."""
    stage, end = log.info(number, len(starts)), max(starts) + 2.0
    begin = min(starts) if at is None else at
    tasks = [log.task(number, 10 * number + n, t, t + 2.0, index=n) for n, t in enumerate(starts)]
    properties = {} if pool is None else {"spark.scheduler.pool": pool}
    return [
        log.job(number, [stage], begin, **properties),
        *(log.submitted(stage, begin), *tasks, log.completed(stage, begin, end)),
        log.job_end(number, end),
    ]


def two_pools(folder: Path, mode: str = "FAIR") -> Run:
    """On two slots eight tasks of one pool, and two jobs of one task each of another, the second
    submitted when the first has ended."""
    events = [
        *log.header(executors=1, spark_scheduler_mode=mode),
        *job(0, "etl of a customer", [2.0, 2.0, 4.0, 6.0, 6.0, 8.0, 10.0, 10.0]),
        *(*job(1, "reports", [4.0]), *job(2, "reports", [8.0], at=6.1), log.end(12.0)),
    ]
    return read(log.write(folder / f"app-{mode}", events)).runs[0]


def test_pools_are_numbered_and_their_names_are_not_kept(tmp_path: Path) -> None:
    run = two_pools(tmp_path)
    assert [entry.pool for entry in run.jobs] == [1, 2, 2]
    write_profile(Profile("job", (run,)), tmp_path / "p.yaml")
    assert "customer" not in (tmp_path / "p.yaml").read_text()
    assert [entry.pool for entry in read(tmp_path / "p.yaml").runs[0].jobs] == [1, 2, 2]


@pytest.mark.parametrize("pool", [None, "default"])
def test_jobs_that_name_no_pool_are_in_that_of_spark(tmp_path: Path, pool: str | None) -> None:
    events = [*log.header(), *job(0, pool, [2.0]), *job(1, "own", [4.0]), log.end(8.0)]
    run = read(log.write(tmp_path / "app", events)).runs[0]
    assert [entry.pool for entry in run.jobs] == [None, 1]


@pytest.mark.parametrize(("mode", "seconds"), [("FAIR", 12.0), ("FIFO", 14.0)])
def test_pools_share_the_slots_where_spark_shares_fairly(
    tmp_path: Path, mode: str, seconds: float
) -> None:
    """First in, first out the reports would wait for all of the first job."""
    run = two_pools(tmp_path, mode)
    assert Replay.of(run).observed().seconds == pytest.approx(seconds, abs=0.2)


def test_in_one_pool_jobs_go_first_in_first_out(tmp_path: Path) -> None:
    """As without pools: a program that sets the mode alone has one."""
    run = two_pools(tmp_path)
    alone = replace(run, jobs=tuple(replace(entry, pool=None) for entry in run.jobs))
    assert Replay.of(alone).observed().seconds == pytest.approx(14.0, abs=0.2)


@pytest.mark.parametrize(("most", "seconds"), [(10, 12.0), (9, 14.0)])
def test_pools_of_a_log_of_very_many_tasks_are_not_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int, seconds: float
) -> None:
    """The log has ten."""
    monkeypatch.setattr(application_graph, "MOST_TASKS_IN_POOLS", most)
    replay = Replay.of(two_pools(tmp_path))
    assert replay.observed().seconds == pytest.approx(seconds, abs=0.2)
