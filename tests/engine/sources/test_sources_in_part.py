"""Stages of which an action ran some partitions alone."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

from engine.profile import Run
from engine.sources.distilling import distill
from engine.sources.distilling.executed import ExecutedStage, StageGraph


@pytest.mark.parametrize(
    ("tasks", "told"),
    [
        ((1,), True),  # first()
        ((1, 4), True),  # take(20) that did not find them in the first partition
        ((7,), False),  # zipWithIndex counts all before the last
        ((1, 7), False),  # one after the other to the end
        ((8,), False),
    ],
)
def test_stages_of_some_partitions_alone_are_told(
    tmp_path: Path, tasks: tuple[int, ...], told: bool
) -> None:
    run = _run_of_one_rdd(tmp_path, tasks, partitions=8)
    assert [stage.in_part for stage in run.stages] == [told] * len(tasks)


@pytest.mark.parametrize(
    ("tasks", "partitions", "name", "told"),
    [
        ((1, 1, 1), 3, "runJob at PythonRDD.scala:181", True),
        ((1, 1), 2, "toLocalIterator at a.py:4", True),
        ((1, 1), 2, "take at a.py:4", False),  # not enough rows in the first partition
        ((1, 1), 3, "toLocalIterator at a.py:4", False),  # the program stopped early
        ((1, 1), 2**31 - 1, "toLocalIterator at a.py:4", False),  # as many as a log may state
        ((1, 2), 3, "take at a.py:4", False),
        ((3,), 3, "collect at a.py:4", False),
    ],
)
def test_partitions_fetched_one_after_the_other_are_never_run_side_by_side(
    tmp_path: Path, tasks: tuple[int, ...], partitions: int, name: str, told: bool
) -> None:
    run = _run_of_one_rdd(tmp_path, tasks, partitions=partitions, name=name)
    assert [stage.coalesced for stage in run.stages] == [told] * len(tasks)


def _run_of_one_rdd(
    tmp_path: Path, tasks: tuple[int, ...], *, partitions: int, name: str = "map at a.py:1"
) -> Run:
    """A run of jobs that each run so many partitions of the same RDD."""
    events = log.header()
    for number, count in enumerate(tasks):
        stage = log.info(number, count, rdds=[log.rdd(3, partitions=partitions)])
        stage, at = stage | {"Stage Name": name}, 2.0 + number
        events += [log.job(number, [stage], at), log.submitted(stage, at)]
        events += [log.task(number, 10 * number + n, at, at + 1.0, index=n) for n in range(count)]
        events += [log.completed(stage, at, at + 1.0), log.job_end(number, at + 1.0)]
    return run_of(tmp_path, [*events, log.end(9.0)])


def test_the_stages_of_an_rdd_are_looked_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program's loop may run many stages of one RDD."""

    class Counted(dict[int, ExecutedStage]):
        lookups = 0

        def __getitem__(self, stage_id: int) -> ExecutedStage:
            Counted.lookups += 1
            return super().__getitem__(stage_id)

    def lookups(stages: int) -> int:
        Counted.lookups = 0
        _run_of_one_rdd(tmp_path, (1,) * stages, partitions=stages)
        return Counted.lookups

    monkeypatch.setattr(
        distill, "StageGraph", lambda application, ran: StageGraph(application, Counted(ran))
    )
    assert 0 < lookups(40) <= 2 * lookups(20)


@pytest.mark.parametrize(
    ("name", "query", "told"),
    [
        ("take at a.py:3", False, True),
        ("showString at <unknown>:0", False, True),
        ("fit at a.py:9", False, False),
        ("collect at a.py:5", True, True),  # limit(100).collect()
    ],
)
def test_one_of_two_partitions_is_what_an_action_took_where_its_name_or_a_query_says_so(
    tmp_path: Path, name: str, query: bool, told: bool
) -> None:
    stage = log.info(0, 1, rdds=[log.rdd(3, partitions=2)]) | {"Stage Name": name}
    job = log.job(0, [stage], 2.0, **({"spark.sql.execution.id": "0"} if query else {}))
    events = [*log.header(), job, log.submitted(stage, 2.0), log.task(0, 0, 2.0, 3.0)]
    run = run_of(tmp_path, [*events, log.completed(stage, 2.0, 3.0), log.end(9.0)])
    assert stage_of(run, 0).in_part is told
