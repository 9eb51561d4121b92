"""Which stage made what another reads of a cache or a checkpoint, in logs and in profiles."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

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
