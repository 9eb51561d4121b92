"""What of an application's clock is counted: idle stretches, pauses, and what is said of them."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import sparklog as log
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.intervals import gaps
from engine.sources import read
from engine.sources.distilling.clusters import Span
from engine.sources.distilling.idle_time import (
    Clock,
    active_spans,
    idle_notices,
    idle_stretches,
    is_session,
    uncovered_spans,
    unsuccessful_notice,
)
from engine.sources.formats.profile_file import parse
from engine.sources.formats.profile_text import format_profile
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Job

MINUTE = 60_000
HOUR = 60 * MINUTE

edges = st.lists(st.integers(0, 200), min_size=2, max_size=12, unique=True).map(sorted)


def spans_of(places: list[int]) -> list[Span]:
    """Disjoint spans in order, of an even number of places."""
    return list(zip(places[::2], places[1::2], strict=False))


@pytest.mark.parametrize("early_by", [4.0, 1e9])
def test_a_start_behind_the_first_job_is_that_of_a_clock_that_was_set_back(
    tmp_path: Path, early_by: float
) -> None:
    """The run lasts from the first time after it; the parts of a rolled log repeat the start."""
    events = log.one_stage()
    (start,) = (event for event in events if event["Event"].endswith("ApplicationStart"))
    start["Timestamp"] += round(1000.0 * early_by)
    events.insert(-1, start)
    (run,) = read(log.write(tmp_path / "app", events)).runs
    assert (run.seconds, run.driver_seconds, run.complete) == (9.1, 1.1, True)
    assert run.started_epoch_seconds == (log.START_MS + 1900) / 1000.0
    assert [(s.submitted_seconds, s.completed_seconds) for s in run.stages] == [(0.1, 8.1)]


def test_an_end_before_the_start_is_not_known(tmp_path: Path) -> None:
    """A clock that was set back at the very end would make a run of less than no time."""
    events = log.one_stage()
    (whole,) = read(log.write(tmp_path / "whole", events)).runs
    assert events[-1]["Event"] == "SparkListenerApplicationEnd"
    early = {**events[-1], "Timestamp": log.START_MS - 5000}
    (run,) = read(log.write(tmp_path / "early", [*events[:-1], early])).runs
    (open_ended,) = read(log.write(tmp_path / "open", events[:-1])).runs
    assert (run.seconds, run.complete) == (open_ended.seconds, False)
    assert 0.0 < run.seconds <= whole.seconds


def test_no_moment_lies_before_the_start(tmp_path: Path) -> None:
    """A clock that was set back for a while left stages that ended an hour before the run began,
    and jobs that ended an hour before their submission."""
    stages = [log.info(0, 1), log.info(1, 1)]
    events = [
        *(*log.header(), log.job(0, stages, 2.0)),
        *(log.submitted(stages[0], -3600.0), log.task(0, 0, -3600.0, -3590.0, index=0)),
        log.completed(stages[0], -3600.0, -3590.0),
        *(log.submitted(stages[1], 4.0), log.task(1, 1, 4.0, 9.0, index=0)),
        *(log.completed(stages[1], 4.0, 9.0), log.job_end(0, -3580.0), log.end(10.0)),
    ]
    profile = read(log.write(tmp_path / "app", events))
    (run,) = profile.runs
    assert [(s.submitted_seconds, s.completed_seconds) for s in run.stages] == [(0, 0), (4, 9)]
    assert [(j.submitted_seconds, j.completed_seconds) for j in run.jobs] == [(2.0, 9.0)]
    early = format_profile(profile).replace("completed_seconds: 9", "completed_seconds: -9")
    for written in (early, early.replace("completed_seconds: -9", "completed_seconds: 9", 1)):
        with pytest.raises(BadInput, match=r"completed_seconds must lie between 0 and .*, not -9"):
            parse(written, "p.yaml")


@given(edges, st.integers(0, 200))
def test_a_clock_counts_each_moment_outside_the_idle_stretches(
    places: list[int], time: int
) -> None:
    idle = spans_of(places)
    counted = sum(not any(a <= moment < b for a, b in idle) for moment in range(time))
    assert Clock(0, tuple(idle)).seconds(time) == counted / 1000.0
    assert Clock(1000, tuple((a + 1000, b + 1000) for a, b in idle)).seconds(
        time + 1000
    ) == pytest.approx(counted / 1000.0)


@given(edges)
def test_pauses_are_what_the_active_spans_leave(places: list[int]) -> None:
    active = spans_of(places)
    found = gaps(active, 20, 150)
    assert all(a < b for a, b in found)
    within = [(max(a, 20), min(b, 150)) for a, b in active if a < 150 and b > 20]
    assert sum(b - a for a, b in [*found, *within]) == 130
    assert all(b <= c or d <= a for a, b in found for c, d in active)


def test_a_time_without_any_active_span_is_one_pause() -> None:
    assert gaps([], 5, 9) == [(5, 9)]
    assert gaps([(0, 20)], 5, 9) == []


def test_gaps_are_the_busy_times_without_a_useful_span() -> None:
    assert uncovered_spans([(2, 4)], [(0, 6), (8, 9)], 0, 10) == [(0, 2), (4, 6), (8, 9)]


@pytest.mark.parametrize(("length", "idle"), [(5 * MINUTE - 1, 0), (5 * MINUTE, 1)])
def test_five_minutes_in_a_session_are_idle(length: int, idle: int) -> None:
    found = idle_stretches([(0, length)], total_ms=100 * HOUR, session=True)
    assert found == ((0, length),) * idle


@pytest.mark.parametrize(
    ("length", "other", "idle"),
    [(HOUR - 1, 1, 0), (HOUR, HOUR - 1, 1), (HOUR, HOUR, 0), (50 * HOUR, 51 * HOUR, 0)],
)
def test_an_hour_longer_than_all_other_time_is_idle(length: int, other: int, idle: int) -> None:
    found = idle_stretches([(0, length)], total_ms=length + other, session=False)
    assert found == ((0, length),) * idle


def test_pauses_of_an_hour_are_idle_together_and_shorter_ones_are_not() -> None:
    long, short, again = (0, 2 * HOUR), (3 * HOUR, 4 * HOUR - 1), (5 * HOUR, 6 * HOUR)
    assert idle_stretches([long, short, again], total_ms=6 * HOUR - 1, session=False) == (
        long,
        again,
    )
    assert idle_stretches([], total_ms=HOUR, session=False) == ()


def test_who_says_what_a_pause_is_has_all_of_them_left_out() -> None:
    found = [(0, 29_999), (MINUTE, MINUTE + 30_000), (HOUR, 3 * HOUR)]
    for session in (True, False):
        idle = idle_stretches(found, total_ms=9 * HOUR, session=session, min_pause_ms=30_000)
        assert idle == tuple(found[1:])


def notebook() -> list[log.Event]:
    """Executors from second 40 on, jobs at 41, 120 and 125, the end at 400."""
    events = [*log.header(executors=0), log.added("1", 40.0)]
    for number, start in enumerate((41.0, 120.0, 125.0)):
        stage = log.info(number, 1)
        events += [log.job(number, [stage], start), log.submitted(stage, start)]
        events += [log.task(number, number, start, start + 2.0, index=0)]
        events += [log.completed(stage, start, start + 2.0), log.job_end(number, start + 2.0)]
    return [*events, log.end(400.0)]


def test_pauses_that_are_left_out_leave_starts_and_short_ones(tmp_path: Path) -> None:
    """40 s for the executor, 1 s to the first job, three of 2 s, 3 s between the last two."""
    path = log.write(tmp_path / "app", notebook())
    (whole,), (cut,) = read(path).runs, read(path, pause_seconds=30.0).runs
    assert (whole.seconds, whole.driver_seconds) == (400.0, 394.0)
    assert (cut.seconds, cut.driver_seconds) == (50.0, 44.0)
    assert [stage.submitted_seconds for stage in cut.stages] == [41.0, 43.0, 48.0]
    assert [notice.code for notice in cut.notices] == ["idle-time"]
    (longer,) = read(path, pause_seconds=200.0).runs
    assert longer.seconds == 127.0


def test_pauses_of_less_than_a_second_are_the_drivers(tmp_path: Path) -> None:
    path = log.write(tmp_path / "app", notebook())
    with pytest.raises(BadInput, match=r"pauses must be at least 1 s, not 0\.5"):
        read(path, pause_seconds=0.5)


def pause_codes(*lengths: int, counted_ms: int, session: bool = False) -> list[str]:
    kept = [(n * HOUR, n * HOUR + length) for n, length in enumerate(lengths)]
    said = idle_notices([], kept, start_ms=0, counted_ms=counted_ms, session=session)
    return [notice.code for notice in said]


def test_pauses_of_a_minute_are_said_where_they_are_half_of_the_time() -> None:
    assert pause_codes(MINUTE, counted_ms=2 * MINUTE - 1) == ["long-pauses"]
    assert pause_codes(MINUTE, counted_ms=2 * MINUTE) == []
    assert pause_codes(MINUTE - 1, counted_ms=MINUTE) == []
    assert pause_codes(2 * MINUTE, MINUTE - 1, counted_ms=4 * MINUTE) == []


def test_in_a_session_every_pause_of_a_minute_is_said() -> None:
    assert pause_codes(MINUTE, counted_ms=HOUR, session=True) == ["long-pauses"]
    assert pause_codes(MINUTE - 1, counted_ms=HOUR, session=True) == []


def test_in_a_session_shorter_pauses_are_said_that_make_up_half_of_the_time() -> None:
    lengths = (20_000, 21_000)
    assert pause_codes(*lengths, counted_ms=81_000, session=True) == ["long-pauses"]
    assert pause_codes(*lengths, counted_ms=82_000, session=True) == []
    assert pause_codes(*lengths, counted_ms=81_000) == []


@pytest.mark.parametrize(
    ("name", "session"),
    [
        ("Spark shell", True),
        ("SparkR", True),
        ("sparkr-shell-main", True),
        ("livy-session-12", True),
        ("Zeppelin", True),
        ("SparkReport", False),
        ("SparkRecommender nightly", False),
        (None, False),
    ],
)
def test_a_session_is_told_by_whole_words_of_its_name(name: str | None, session: bool) -> None:
    """Pauses of five minutes of every job whose name begins like SparkR's were cut out."""
    named = Application()
    named.name = name
    assert is_session(named) is session


def shell(waits: list[float]) -> list[log.Event]:
    """A shell whose first executor comes after the first wait; each of the others is followed by a
    job of a second, and the application ends with the last."""
    events, now = log.header(executors=0, spark_repl_class="X"), waits[0]
    events.append(log.added("1", now))
    for number, wait in enumerate(waits[1:]):
        stage, start = log.info(number, 1), now + wait
        now = start + 1.0
        events += [log.job(number, [stage], start), log.submitted(stage, start)]
        events += [log.task(number, number, start, now, index=0)]
        events += [log.completed(stage, start, now), log.job_end(number, now)]
    return [*events, log.end(now)]


@given(st.lists(st.sampled_from([0.1, 0.9, 1.5, 4.0, 8.0, 20.0, 45.0, 90.0]), min_size=2))
def test_who_leaves_out_the_pauses_that_a_warning_names_is_warned_no_more(
    waits: list[float],
) -> None:
    """30 s was advised whatever the pauses, and left out none of those of a shell of seconds."""
    with TemporaryDirectory() as folder:
        path = log.write(Path(folder) / "app", shell(waits))
        (run,) = read(path).runs
        for said in (notice for notice in run.notices if notice.code == "long-pauses"):
            advised = re.search(r"--pauses (\d+)s", said.remedy)
            if advised is None:  # it waited for its executor, or in moments
                assert said.remedy.endswith("log a run that does not wait")
                assert max(waits[1:]) < 1.0 or paused(path, 1.0)
            else:
                assert not paused(path, float(advised[1]))


def paused(path: Path, seconds: float) -> bool:
    """Whether pauses are still warned of where those of so many seconds and more are left out."""
    (run,) = read(path, pause_seconds=seconds).runs
    return "long-pauses" in [notice.code for notice in run.notices]


def test_idle_time_is_said_with_where_its_longest_stretch_begins() -> None:
    start = 7 * HOUR
    idle = [(start + MINUTE, start + HOUR), (start + 2 * HOUR, start + 4 * HOUR)]
    (said,) = idle_notices(idle, [], start_ms=start, counted_ms=HOUR, session=True)
    assert said.code == "idle-time"
    assert "no job ran for 2h 59m (2 stretches, the longest from 2h 00m after" in said.text


def test_time_of_stages_that_came_to_nothing_is_said_with_their_number() -> None:
    assert unsuccessful_notice([], 0) is None
    one = unsuccessful_notice([(0, 1000), (5000, 7000)], 1)
    assert one is not None
    assert "no task of 1 stage succeeded: the 3 s in which" in one.text
    two = unsuccessful_notice([(0, 1000)], 2)
    assert two is not None
    assert "no task of 2 stages succeeded" in two.text


def application(*, ended_ms: int | None, submitted_ms: int) -> Application:
    made = Application()
    made.ended_ms = ended_ms
    made.jobs[0] = Job(0, submitted_ms, ())
    return made


def test_a_job_without_an_end_runs_to_its_last_stage_in_a_log_that_ends() -> None:
    """Only a log that breaks off leaves it open to the last event."""
    busy = [(10, 20), (30, 40)]
    assert active_spans(application(ended_ms=90, submitted_ms=5), busy, 90) == [(5, 40)]
    assert active_spans(application(ended_ms=None, submitted_ms=5), busy, 90) == [(5, 90)]
    assert active_spans(application(ended_ms=90, submitted_ms=5), [], 90) == [(5, 90)]
    assert active_spans(application(ended_ms=90, submitted_ms=60), busy, 90) == [*busy, (60, 60)]
