"""Cached data whose making a log has lost, as one that a history server compacted has."""

from pathlib import Path

import pytest
import sparklog as log

from engine import Cluster, Profile, fit
from engine.sources import read

MB = 1_000_000
MAKING_UNKNOWN = "how long computing it takes is not known, as the log has lost the stage that did"


def over_cache(number: int, start: float, size: int, *, disk: bool = False) -> list[log.Event]:
    """A job over a persisted RDD, of two tasks."""
    kept = log.rdd(5, [1], cached=True, partitions=2)
    kept["Storage Level"]["Use Disk"] = disk
    stage = log.info(number, 2, rdds=[log.rdd(50 + number, [5]), kept, log.rdd(1)])
    metrics = {"Input Metrics": {"Bytes Read": size // 2}}
    return [
        log.job(number, [stage], start),
        log.submitted(stage, start),
        *(log.task(number, 10 * number + n, start, start + 2.0, index=n, metrics=metrics)
          for n in range(2)),
        log.completed(stage, start, start + 2.0),
        log.job_end(number, start + 2.0),
    ]  # fmt: skip


def compacted(path: Path, *sizes: int, first: int = 4, disk: bool = False) -> Profile:
    """Of jobs that read so much those before `first` are gone; executors hold 55 MB each."""
    storage = {
        "Event": "SparkListenerBlockManagerAdded",
        "Block Manager ID": {"Executor ID": "1", "Host": "h0", "Port": 1},
        "Maximum Memory": 110 * MB,
        "Timestamp": log.ms(1.0),
    }
    events = [*log.header(executors=1, spark_executor_memory="494m"), storage]
    for place, size in enumerate(sizes):
        events += over_cache(first + place, 10.0 + 3.0 * place, size, disk=disk)
    return read(log.write(path / "app", [*events, log.end(60.0)]))


def said(profile: Profile, memory_gib: float) -> list[str]:
    cluster = Cluster.of_executors(executors=1, executor_cores=2, executor_memory_gib=memory_gib)
    found = fit(profile, model="sparkplan").predict(cluster=cluster, confidence=0.9)
    return [notice.text for notice in found.warnings if notice.code == "cache-does-not-fit"]


def test_blocks_whose_making_is_lost_are_no_input(tmp_path: Path) -> None:
    """All three read 104 MB to the byte: the first did not compute what the others found."""
    profile = compacted(tmp_path, 104 * MB, 104 * MB, 104 * MB)
    (run,) = profile.runs
    assert run.workload.input_bytes is None
    assert [stage.cached_input_bytes for stage in run.stages] == [104.0 * MB] * 3
    assert said(profile, 1.0) == [], "they found it all"


def test_what_computing_it_costs_is_said_to_be_unknown(tmp_path: Path) -> None:
    (text,) = said(compacted(tmp_path, 104 * MB, 104 * MB, 104 * MB), 0.44)
    assert text.startswith("104 MB are to be cached, ")
    assert MAKING_UNKNOWN in text


def test_what_is_on_disk_as_well_is_not_computed(tmp_path: Path) -> None:
    (text,) = said(compacted(tmp_path, 104 * MB, 104 * MB, 104 * MB, disk=True), 0.44)
    assert MAKING_UNKNOWN not in text


@pytest.mark.parametrize(("first", "sizes"), [(0, (104, 104, 104)), (4, (200, 104, 104))])
def test_the_first_stage_computes_it_where_the_log_says_so(
    tmp_path: Path, first: int, sizes: tuple[int, ...]
) -> None:
    """Of a whole log the first that needs it does, and one that reads otherwise than the next."""
    profile = compacted(tmp_path, *(size * MB for size in sizes), first=first)
    assert profile.runs[0].workload.input_bytes == sizes[0] * MB
    assert not any(MAKING_UNKNOWN in text for text in said(profile, 0.44))
