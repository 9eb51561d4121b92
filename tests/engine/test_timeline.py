"""Stages on a time scale: driver time, idle cores and the critical path, against plain counting."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine.stage_run import Measure
from engine.timeline import StageSpan, critical_path, full_share, gaps


def span(start: float, end: float, *, busy: float | None = 1.0, number: int = 0) -> StageSpan:
    return StageSpan(number, f"stage {number}", 8, start, end, 2.0, busy, "cpu")


def timeline(seconds: float, *stages: StageSpan) -> engine.Timeline:
    return engine.Timeline(seconds, stages, gaps(stages, seconds))


def test_driver_time_is_what_no_stage_covers() -> None:
    found = timeline(10.0, span(1, 3), span(2, 5), span(7, 9))
    assert found.driver == ((0.0, 1), (5, 7), (9, 10.0))
    assert found.driver_seconds == 4.0


def test_idle_cores_of_stages_side_by_side_add_up() -> None:
    found = timeline(10.0, span(0, 4, busy=0.5), span(2, 4, busy=0.25), span(4, 6, busy=0.9))
    assert found.idle_shares([0.0, 2.0, 4.0, 5.0, 6.0, 10.0]) == pytest.approx(
        (0.5, 0.25, 0.1, 0.1, 1.0)
    )
    assert found.idle_share == pytest.approx(1.0 - (2.0 + 0.5 + 1.8) / 10.0)


def test_stages_are_summed_by_what_bounds_them() -> None:
    cpu, disk = span(0, 1), replace(span(1, 4), bottleneck="disk")
    assert list(timeline(9.0, cpu, disk, span(4, 8)).bottleneck_shares.items()) == [
        ("cpu", 5 / 8),
        ("disk", 3 / 8),
    ]
    assert timeline(9.0, cpu, replace(disk, bottleneck=None)).bottleneck_shares == {}
    assert timeline(9.0, span(2, 2)).bottleneck_shares == {}


def test_idle_cores_are_not_guessed() -> None:
    found = timeline(4.0, span(0, 2, busy=None), span(2, 4, busy=0.5))
    assert found.idle_share is None
    assert found.idle_shares([0.0, 1.0, 2.0, 4.0]) == (None, None, pytest.approx(0.5))


def test_the_critical_path_waits_for_the_last_of_two_branches() -> None:
    short, long, joined = span(0, 3), span(0, 5), span(5.5, 8)
    side = span(5.5, 6)
    assert critical_path([short, long, joined, side]) == (1, 2)


def test_a_stage_that_found_the_cores_full_waited_for_who_held_them() -> None:
    first, holder, waited = span(0, 1), span(1, 9, busy=0.95), span(8.5, 12)
    assert critical_path([first, holder, waited]) == (0, 1, 2)
    half = span(1, 9, busy=0.5)
    assert critical_path([first, half, waited]) == (0, 2)


def test_nothing_has_no_critical_path() -> None:
    assert critical_path([]) == ()
    assert critical_path([span(2, 2)]) == (0,)
    assert critical_path([span(2, 2), span(2, 2)]) in {(0,), (1,)}


stages = st.lists(
    st.tuples(st.floats(0, 100), st.floats(0, 30)).map(lambda t: span(t[0], t[0] + t[1])),
    min_size=1,
    max_size=12,
)


@given(stages)
def test_a_critical_path_is_a_chain_that_ends_last(found: list[StageSpan]) -> None:
    path = [found[place] for place in critical_path(found)]
    assert path[-1].end_seconds == max(stage.end_seconds for stage in found)
    for before, after in pairwise(path):
        assert before.start_seconds < after.start_seconds
        if before.end_seconds > after.start_seconds + 2e-3:
            continue  # it held the cores
        between = [
            stage
            for stage in found
            if before.end_seconds + 2e-3 < stage.end_seconds <= after.start_seconds
            and stage.start_seconds < after.start_seconds
        ]
        assert not between


@given(stages)
def test_driver_time_and_stages_cover_the_run_once(found: list[StageSpan]) -> None:
    seconds = 150.0
    moments = [(i + 0.5) * seconds / 3000 for i in range(3000)]
    covered = sum(any(s.start_seconds <= t < s.end_seconds for s in found) for t in moments)
    share = sum(end - start for start, end in gaps(found, seconds)) / seconds
    assert share == pytest.approx(1.0 - covered / len(moments), abs=13 / 3000)


@given(st.floats(0.01, 500.0))
def test_a_last_wave_leaves_slots_empty(waves: float) -> None:
    share = full_share(waves)
    assert 0.0 < share <= 1.0
    if waves <= 1.0:
        assert share == waves
    assert share * math.ceil(waves - 1e-9) == pytest.approx(waves) or waves < 1.0


def test_a_real_log_measured_and_predicted_where_it_ran() -> None:
    """The replay of a log on its own cluster is the log: same stages, nearly the same picture."""
    profile = engine.read("nightly-features")
    run = profile.runs[0]
    measured = engine.measured_timeline(run)
    prediction = engine.fit(profile).predict(cluster=run.cluster)
    predicted = engine.predicted_timeline(prediction)
    assert predicted is not None
    assert measured.seconds == run.seconds
    assert measured.driver_seconds == pytest.approx(run.driver_seconds, rel=0.01)
    assert [s.stage_id for s in measured.stages] == [s.stage_id for s in predicted.stages]
    assert predicted.idle_share == pytest.approx(measured.idle_share, abs=0.05)
    assert predicted.driver_seconds == pytest.approx(measured.driver_seconds, rel=0.15, abs=1.0)
    ours = [s.stage_id for s in measured.stages if s.critical]
    theirs = [s.stage_id for s in predicted.stages if s.critical]
    assert ours[-3:] == theirs[-3:] == [2, 5, 9]
    for before, after in zip(measured.stages, predicted.stages, strict=True):
        if before.tasks > 1:
            assert after.busy_share == pytest.approx(before.busy_share, abs=0.1)


@pytest.mark.parametrize("task_cpus", [1, 2])
def test_the_measured_share_of_busy_cores_is_that_of_core_seconds(task_cpus: int) -> None:
    """Six tasks of 5 s in a stage of 10 s, which is half of the run."""
    run = engine.read("nightly-features").runs[0]
    slots = 8
    cluster = engine.Cluster.of_executors(executors=2, executor_cores=4)
    stage = replace(
        run.stages[0], tasks=6, task_cpus=task_cpus, task_seconds=Measure(6, 30.0, (5.0,) * 6),
        submitted_seconds=5.0, completed_seconds=15.0,
    )  # fmt: skip
    found = engine.measured_timeline(replace(run, cluster=cluster, seconds=20.0, stages=(stage,)))
    (span,) = found.stages
    assert span.waves == pytest.approx(6 * task_cpus / slots)
    assert span.busy_share == pytest.approx(30.0 * task_cpus / (10.0 * slots))
    assert found.driver_seconds == pytest.approx(10.0)
    assert found.idle_share == pytest.approx(1.0 - 30.0 * task_cpus / (20.0 * slots))


def test_more_cores_idle_more() -> None:
    profile = engine.read("nightly-features")
    fitted = engine.fit(profile)

    def idle(executors: int) -> float:
        cluster = engine.Cluster.of_executors(executors=executors, executor_cores=4)
        found = engine.predicted_timeline(fitted.predict(cluster=cluster))
        assert found.idle_share is not None
        return found.idle_share

    assert idle(1) < idle(16) < idle(200)


def test_what_tells_no_stages_has_no_timeline() -> None:
    profile = engine.read("ernest-rcv1")
    assert engine.measured_timeline(profile.runs[0]) is None
    prediction = engine.fit(profile).predict(cluster=profile.runs[0].cluster)
    assert engine.predicted_timeline(prediction) is None
