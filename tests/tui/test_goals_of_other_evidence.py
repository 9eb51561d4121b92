"""Goals while other evidence is opened: what was chosen before, what a chart may set, and undo."""

from dataclasses import replace
from itertools import pairwise

import pytest
from fakes import FakeSession, started
from screen import settled, shows, waits
from test_slider_ranges import OfOtherLength

from tui.changes import DeadlineRelaxed, EvidenceRead, OpenSources, SetDeadline, SetMaxNodes
from tui.history import History
from tui.reducer import reduce
from tui.widgets.chart import Chart


class Broken(FakeSession):
    """Another source cannot be read."""

    def build(self, state, say, show):
        if "other" in state.sources:
            raise ValueError("other is no log")
        return super().build(state, say, show)


@pytest.mark.parametrize("session", [OfOtherLength, Broken])
async def test_a_chosen_goal_outlives_a_source_that_is_not_read(planner, session):
    """The default deadline came back, as if none had been chosen."""
    session = session()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        app._panels.focus_first_slider()
        await pilot.press("right", "right", "right")
        await settled(pilot)
        chosen = app.state.deadline_seconds
        app.dispatch(OpenSources(("other",)))
        if isinstance(session, OfOtherLength):
            await pilot.press("escape")
            session.read_other.set()
            session.go_on.set()
        await settled(pilot)
        assert app.state.sources == ("nightly-als",)
        assert (app.state.deadline_seconds, app.state.deadline_chosen) == (chosen, True)
        await pilot.press("u")
        await settled(pilot)
        assert app.state.sources == ("nightly-als",), "undo opens nothing that was left"
        assert app.state.deadline_seconds != chosen


def test_steps_on_evidence_that_was_left_are_dropped():
    """Undo read the cancelled source again."""
    good = started(deadline_seconds=60.0)
    steps = [good, reduce(good, OpenSources(("other",)))]
    steps.append(reduce(steps[-1], SetDeadline(40.0)))
    steps.append(reduce(steps[-1], OpenSources(("third",))))
    history = History()
    for at, (before, after) in enumerate(pairwise(steps)):
        history = history.recorded(before, after, now_seconds=9.0 * at + 9.0)
    assert len(history.past) == 3
    assert history.refused(good).past == ()


def test_a_step_from_before_the_plan_gets_its_default_deadline():
    """Undo of it left none at all."""
    empty = started()
    more = reduce(empty, SetMaxNodes(99))
    chosen = reduce(empty, SetDeadline(None))
    history = History((empty, chosen, started(sources=("other",))))
    read = EvidenceRead(600.0, None)
    plain = history.started(reduce(more, read), read)
    assert [step.deadline_seconds for step in plain.past] == [300.0, None, None]
    relaxed = history.started(reduce(reduce(more, read), DeadlineRelaxed(470.0)), read)
    assert [step.deadline_seconds for step in relaxed.past] == [480.0, None, None]
    by_user = history.started(reduce(more, SetDeadline(40.0)), read)
    assert [step.deadline_seconds for step in by_user.past] == [300.0, None, None]


async def test_charts_of_the_last_answer_set_no_goal_of_evidence_that_is_being_read(planner):
    """A deadline of the last job was set for one that nobody had read yet."""
    session = OfOtherLength()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        await pilot.press("3")
        app.dispatch(OpenSources(("other",)))
        app.follow(0)
        assert await shows(pilot, "no time is known yet: press enter and type 45m")
        chart = app.query_one("#frontier-chart", Chart)
        app.on_chart_threshold_dragged(Chart.ThresholdDragged(chart, "budget", 2.0, 1))
        assert await shows(pilot, "no cost is known yet: press enter and type $5")
        assert (app.state.deadline_seconds, app.state.budget_usd) == (None, None)
        session.read_other.set()
        session.go_on.set()
        await settled(pilot)


async def test_an_unknown_track_has_no_end_after_a_typed_value_is_taken_away(planner):
    """`end` chose $2000, the end of a track that means nothing."""
    session = OfOtherLength()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        app.dispatch(OpenSources(("other",)))
        app._panels.slider("budget").focus()
        await pilot.press("enter", *"7000", "enter", "delete", "end")
        assert await shows(pilot, "no cost is known yet: press enter and type $5")
        assert app.state.budget_usd is None
        await pilot.press("right")
        await pilot.pause()
        assert app.state.budget_usd == 7000.0, "a step goes back to what was typed"
        session.read_other.set()
        session.go_on.set()
        await settled(pilot)


class Unranged(OfOtherLength):
    """What is read of another source names no run, as of a workflow."""

    def build(self, state, say, show):
        def unranged(evidence):
            runs = () if "other" in state.sources else evidence.profile.runs
            show(evidence._replace(profile=replace(evidence.profile, runs=runs)))

        return super().build(state, say, unranged)


async def test_a_refusal_stays_where_reading_has_told_no_range(planner):
    """Of a workflow "no time is known yet" went while none was."""
    session = Unranged()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        app.dispatch(OpenSources(("other",)))
        app._panels.focus_first_slider()
        await pilot.press("right")
        assert await shows(pilot, "no time is known yet: press enter and type 45m")
        session.read_other.set()
        async for _ in waits():
            if app._read_now is not None:
                break
        await pilot.pause()
        assert not app.ranges.known
        assert await shows(pilot, "no time is known yet: press enter and type 45m")
        session.go_on.set()
        await settled(pilot)
