"""What each stage adds to metrics that go on."""

from engine.sources.logs.plan_events import StageCounts


def test_a_stage_adds_what_is_beyond_those_before() -> None:
    counts = StageCounts()
    assert counts.added(1, 2, 10.0) == 10.0
    assert counts.added(1, 4, 25.0) == 15.0
    assert counts.added(2, 4, 7.0) == 7.0, "another metric"
    assert counts.added(1, 6, 25.0) == 0.0


def test_another_attempt_of_a_stage_goes_on_with_the_rows_of_the_one_before() -> None:
    counts = StageCounts()
    assert counts.added(1, 2, 10.0) == 10.0
    assert counts.added(1, 4, 14.0) == 4.0, "the first attempt ended before all had"
    assert counts.added(1, 4, 22.0) == 12.0


def test_a_metric_that_falls_is_damage_and_adds_nothing() -> None:
    counts = StageCounts()
    counts.added(1, 2, 10.0)
    assert counts.added(1, 4, 3.0) == 0.0
