"""Stages that read what others kept, that ran in part, or all of whose tasks start at once."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

from engine.profile import Profile
from engine.sources import read
from engine.sources.formats.profile_file import write_profile

TASKS = 2


def rdd(rdd_id: int, *parents: int, name: str = "X", cached: bool = False) -> log.Event:
    return log.rdd(rdd_id, [*parents], name=name, cached=cached, partitions=TASKS)


def events_of(*stages: list[log.Event]) -> list[log.Event]:
    """The stages one after the other, each by its RDDs, from the one that it computes on."""
    events = log.header()
    for number, rdds in enumerate(stages):
        stage, start = log.info(number, TASKS, rdds=rdds), 2.0 + 2.0 * number
        tasks = [log.task(number, 10 * number + n, start, start + 1.0, index=n) for n in range(2)]
        events += [log.job(number, [stage], start), log.submitted(stage, start), *tasks]
        events += [log.completed(stage, start, start + 1.0), log.job_end(number, start + 1.0)]
    return [*events, log.end(20.0)]


def stored_by(tmp_path: Path, *stages: list[log.Event]) -> list[int | None]:
    return [stage.stored_by for stage in run_of(tmp_path, events_of(*stages)).stages]


@pytest.mark.parametrize("kind", ["ReliableCheckpointRDD", "LocalCheckpointRDD"])
def test_a_checkpoint_is_made_by_the_last_stage_that_computed_it(tmp_path: Path, kind: str) -> None:
    """Spark 3.5.9: once it is written, its RDD comes from one that stands for the files, which no
    task counts the bytes of."""
    used, written = [rdd(3, 1), rdd(1, 0), rdd(0)], [rdd(1, 0), rdd(0)]
    reader = [rdd(6, 5), rdd(5, 1), rdd(1, 4), rdd(4, name=kind)]
    assert stored_by(tmp_path, used, written, reader) == [None, None, 1]


def test_a_cache_is_made_by_the_first_stage_that_needs_it(tmp_path: Path) -> None:
    whole = [rdd(1, 0, cached=True), rdd(0)]
    stages = [[rdd(number, 1), *whole] for number in (2, 3, 4)]
    assert stored_by(tmp_path, *stages) == [None, 0, 0]
    run = run_of(tmp_path, events_of(*stages))
    write_profile(Profile("job", (run,)), tmp_path / "p.yaml")
    kept = read(tmp_path / "p.yaml").runs[0]
    assert [stage.stored_by for stage in kept.stages] == [None, 0, 0]


def test_what_lies_beside_a_shuffle_or_another_cache_has_its_partitions(tmp_path: Path) -> None:
    """Spark puts partitions side by side where there are as many of each: not those of a file,
    which may say how many there are, nor one of fewer partitions."""
    caches = [rdd(1, 0, cached=True), rdd(0), rdd(11, 10, cached=True), rdd(10)]
    first = [rdd(2, 1, 11), *caches]
    file, shuffle = [rdd(3, 1, 9), *caches, rdd(9)], [rdd(4, 1, 8), *caches, rdd(8, 7)]
    both, fewer = [rdd(5, 1, 11), *caches], [rdd(6, 1), *caches]
    fewer[0]["Number of Partitions"] = 1
    assert stored_by(tmp_path, first, file, shuffle, both, fewer) == [None, None, 0, 0, None]


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
    events = log.header()
    for number, count in enumerate(tasks):
        stage, at = log.info(number, count, rdds=[log.rdd(3, partitions=8)]), 2.0 + number
        events += [log.job(number, [stage], at), log.submitted(stage, at)]
        events += [log.task(number, 10 * number + n, at, at + 1.0, index=n) for n in range(count)]
        events += [log.completed(stage, at, at + 1.0), log.job_end(number, at + 1.0)]
    run = run_of(tmp_path, [*events, log.end(9.0)])
    assert [stage.in_part for stage in run.stages] == [told] * len(tasks)


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


def test_logs_tell_barrier_stages_and_profiles_keep_them(tmp_path: Path) -> None:
    rdds = [log.rdd(1, [0], barrier=True), log.rdd(0)]
    stages = [log.info(0, 2, rdds=rdds), log.info(1, 1, rdds=[log.rdd(2)])]
    events = [*log.header(), log.job(0, stages, 1.0)]
    for number, (stage, start) in enumerate(zip(stages, (2.0, 5.0), strict=True)):
        places = range(stage["Number of Tasks"])
        tasks = [log.task(number, 10 * number + n, start, start + 1.0, index=n) for n in places]
        events += [log.submitted(stage, start), *tasks, log.completed(stage, start, start + 1.0)]
    run = run_of(tmp_path, [*events, log.end(7.0)])
    assert (stage_of(run, 0).barrier, stage_of(run, 1).barrier) == (True, False)
    write_profile(Profile("job", (run,)), tmp_path / "p.yaml")
    kept = read(tmp_path / "p.yaml").runs[0]
    assert [stage.barrier for stage in kept.stages] == [True, False]
