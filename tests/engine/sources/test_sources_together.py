"""What several sources hold together: one name, one unit, each run and each notice once."""

import math
import sys
from dataclasses import replace
from typing import Any

import pytest

from engine.catalog import InstanceType
from engine.cluster import Cluster, NodeGroup, Workload
from engine.errors import BadInput
from engine.models.workloads import unused_logs_notices
from engine.notices import Notice
from engine.profile import Run
from engine.sources.merge import merged_profile
from engine.sources.source_contents import SourceContents
from engine.stage_run import Measure, StageRun

SAID = Notice("some-code", "something", "do something")


def run(size: float | None = None, **more: object) -> Run:
    return Run(10.0, Cluster(), Workload(input_bytes=size), **more)


def said(*runs: Run) -> dict[str, str]:
    return {n.code: n.text for n in merged_profile([SourceContents("a", runs)]).notices}


def batch(number: int, seconds: float, log_name: str = "a") -> Run:
    """A micro-batch; the first of a stream runs on new executors."""
    stage = StageRun(0, "s", 1, 0.0, 1.0, SECOND, first_wave_seconds=None if number else SECOND)
    own = {"batch_id": number, "app_id": log_name, "source": log_name, "stages": (stage,)}
    return replace(run(1e9, **own), seconds=seconds)


SECOND = Measure(1, 1.0, (1.0,))


def test_how_much_longer_a_stream_takes_at_first_is_that_of_its_slowest_start() -> None:
    """Against the median of the later batches; a first one that was faster adds nothing."""
    slow = [batch(0, 19.0), batch(1, 4.0), batch(2, 6.0), batch(3, 5.0)]
    slower = [batch(0, 40.0, "b"), batch(1, 10.0, "b")]
    fast = [batch(0, 2.0, "c"), batch(1, 4.0, "c")]
    assert " after the first, which took 30 s longer" in said(*slow, *slower)["micro-batches"]
    assert " after the first, which took 14 s longer" in said(*slow, *fast)["micro-batches"]
    assert " after the first" not in said(*fast)["micro-batches"]
    assert " after the first" not in said(slow[0])["micro-batches"]


def test_a_larger_run_that_failed_is_said_in_the_unit_of_its_table() -> None:
    failed = replace(run(9e6, notices=(Notice("failed-stages", "one", "look"),)), source="b")
    notices = merged_profile([SourceContents("a.csv", (run(3e6), failed), unit="rows")]).notices
    (text,) = (notice.text for notice in notices if notice.code == "largest-run-broke-off")
    assert text.startswith("b failed after 9e+06 rows of input: ")
    assert "3e+06 rows of the largest run" in text


def test_streaming_queries_of_one_log_are_told_from_applications() -> None:
    """Batches of one log, and of two: only the former can be taken apart by `fleet` as it is."""
    one, two = (replace(batch(0, 4.0), application=name) for name in ("clicks", "orders"))
    assert said(one, two)["mixed-applications"].startswith("the log holds 2 streaming queries (cli")
    other = replace(two, app_id="b")
    assert said(one, other)["mixed-applications"].startswith("the sources hold 2 applications (cli")
    whole = replace(two, batch_id=None)
    assert said(one, whole)["mixed-applications"].startswith("the sources hold 2 applications (cli")


def test_sizes_in_different_units_cannot_be_held_against_each_other() -> None:
    found = [
        SourceContents("a.csv", (run(3.0),), unit="rows"),
        SourceContents("b", (run(4e9),), unit="bytes"),
    ]
    with pytest.raises(BadInput, match="different units: rows and bytes; give sources that use"):
        merged_profile(found)


def test_a_source_without_sizes_has_no_unit_to_contradict() -> None:
    found = [
        SourceContents("a.csv", (run(),), unit="rows"),
        SourceContents("b", (run(4e9),), unit="bytes"),
    ]
    assert merged_profile(found).input_unit == "bytes"


def test_the_first_name_is_that_of_the_profile_else_the_first_file() -> None:
    named = [
        SourceContents("a.zstd", (run(),)),
        *(SourceContents(n, (run(),), name=n) for n in ("job", "other")),
    ]
    assert merged_profile(named).name == "job"
    assert merged_profile(named[:1]).name == "a"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_a_type_has_the_shape_of_the_source_that_tells_most_of_it(order: tuple[int, int]) -> None:
    shapes = InstanceType("m", 4.0, math.nan), InstanceType("m", 4.0, 16.0)
    runs = [replace(run(), cluster=Cluster(groups=(NodeGroup(2, shapes[at]),))) for at in order]
    found = merged_profile([SourceContents(str(place), (one,)) for place, one in enumerate(runs)])
    assert [one.cluster.instance for one in found.runs] == [shapes[1]] * 2


def test_what_is_said_of_several_sources_is_said_once() -> None:
    found = [SourceContents(name, (run(),), notices=(SAID,)) for name in ("a", "b")]
    assert merged_profile(found).notices == (SAID,)


def test_runs_whose_start_is_not_known_are_not_told_to_be_one() -> None:
    runs = run(app_id="app-1"), run(app_id="app-1")
    assert merged_profile([SourceContents("a", runs)]).runs == runs


def test_micro_batches_are_said_where_there_is_nothing_else() -> None:
    batch = run(app_id="app-1", started_epoch_seconds=5.0, batch_id=1)
    assert "micro-batches" in said(batch)
    assert "micro-batches" not in said(batch, run())


def test_batches_are_no_attempts_of_their_application() -> None:
    batches = [run(app_id="app-1", started_epoch_seconds=5.0 + n, batch_id=n) for n in range(3)]
    assert "several-attempts" not in said(*batches)
    again = [run(app_id="app-1", started_epoch_seconds=5.0 + n) for n in range(2)]
    assert said(*again)["several-attempts"].startswith("2 attempts of app-1 were read: ")


def test_attempts_that_start_at_the_same_moment_are_two_runs() -> None:
    both = [run(app_id="app-1", app_attempt=n, started_epoch_seconds=5.0) for n in ("1", "2")]
    assert merged_profile([SourceContents("a", (*both, both[0]))]).runs == tuple(both)
    assert said(*both)["several-attempts"].startswith("2 attempts of app-1 were read: ")


@pytest.mark.parametrize(("size", "told"), [(2e9, None), (3e9, " failed after 3 GB of input")])
def test_a_run_that_failed_with_the_most_input_is_said_to_have_failed(
    size: float, told: str | None
) -> None:
    failed = run(size, source="failed.zstd", notices=(Notice("failed-stages", "", ""),))
    text = said(run(2e9), failed).get("largest-run-broke-off")
    assert (text is None) if told is None else (text or "").startswith(f"failed.zstd{told}")


def test_applications_beside_each_other_are_named_up_to_three() -> None:
    runs = [run(application=name) for name in "abcd"]
    assert "3 applications (a, b, c):" in said(*runs[:3])["mixed-applications"]
    assert "4 applications (a, b, c, ...):" in said(*runs)["mixed-applications"]


@pytest.mark.parametrize("name", ["Spark shell", "PySparkShell", "Databricks Shell", "Zeppelin"])
def test_logs_that_share_the_name_of_all_sessions_are_said_to_be_one_job(name: str) -> None:
    """Four shells of different programs were one job, of `fleet` too, and nothing was said."""
    logs = [run(application=name, app_id=f"app-{n}") for n in range(3)]
    assert said(*logs)["session-names"].startswith(f"3 logs are named {name}, as sessions are")
    assert "session-names" not in said(logs[0])
    assert "session-names" not in said(logs[0], replace(logs[0], batch_id=4))
    for other in ("nightly", "SparkReport", "Zeppelins"):
        assert "session-names" not in said(*(replace(log, application=other) for log in logs))


def calls_for(runs: list[Run]) -> int:
    """How many calls of Python functions the runs of one history cost."""
    count = 0

    def one_more(frame: Any, event: str, _: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(one_more)
    try:
        merged_profile([SourceContents("history.csv", tuple(runs))])
        unused_logs_notices(runs)
    finally:
        sys.setprofile(None)
    return count


def test_a_history_ten_times_as_long_costs_ten_times_as_much() -> None:
    """Schedulers keep tens of thousands of runs: none may be held against every other."""
    runs = [run(1e9 + n) for n in range(500)]
    assert calls_for(runs) < 15 * calls_for(runs[:50])


def timed(*seconds: float) -> list[Run]:
    """Run times of a table, on 1, 2, 3... nodes."""
    return [
        Run(took, Cluster.of_nodes(instance_type="m", nodes=nodes), Workload(1e9))
        for nodes, took in enumerate(seconds, start=1)
    ]


def test_run_times_that_all_stand_twice_are_copies() -> None:
    """They made the interval of each measured place too narrow: nothing differed."""
    once = timed(100.0, 60.5, 45.25)
    for sources in (
        [SourceContents("a", (*once, *once))],
        [SourceContents("a", tuple(once)), SourceContents("b", (*once,))],
    ):
        profile = merged_profile(sources)
        assert list(profile.runs) == once
        (notice,) = profile.notices
        assert notice.code == "duplicate-runs"
        assert notice.text.startswith("each of 3 run times stands at least twice")


def test_copies_in_one_table_are_told_beside_another() -> None:
    """Those of the other stand once, and hid that all of the first stand twice."""
    once, other = timed(100.0, 60.5, 45.25), timed(90.0, 50.0)
    profile = merged_profile(
        [SourceContents("a", (*once, *once)), SourceContents("b", tuple(other))]
    )
    assert list(profile.runs) == [*once, *other]
    assert [notice.code for notice in profile.notices] == ["duplicate-runs"]


def test_repetitions_are_no_copies() -> None:
    """Those of which one took another time; and few, or times of two digits, which may be equal by
    chance."""
    once = timed(100.0, 60.5, 45.25)
    again = [*once[:2], replace(once[2], seconds=45.1)]
    few, short = timed(100.0, 60.5), timed(19.0, 12.0, 9.5, 8.0)
    for runs in ((*once, *again), (*once, *once[:2]), (*few, *few), (*short, *short)):
        profile = merged_profile([SourceContents("a", tuple(runs))])
        assert (list(profile.runs), profile.notices) == ([*runs], ())
