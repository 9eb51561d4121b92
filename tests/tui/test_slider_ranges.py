"""While other evidence is read the sliders wait for its ranges, and a chosen goal survives them."""

from dataclasses import replace
from threading import Event

from fakes import FakeSession, profile
from screen import settled, shows, waits

from tui.changes import OpenSources, SetDeadline


class OfOtherLength(FakeSession):
    """The runs of another source take a hundred times as long; they are read once they may be, and
    planned once that may go on; with `first_waits` so is the first one."""

    def __init__(self, *, first_waits=False):
        super().__init__()
        self.read_other, self.go_on, self.first_waits = Event(), Event(), first_waits

    def build(self, state, say, show):
        def wait_after(evidence):
            show(evidence)
            held = self.first_waits or "other" in state.sources
            assert not held or self.go_on.wait(60.0)

        if "other" in state.sources:
            assert self.read_other.wait(60.0)
            long = [replace(run, seconds=100.0 * run.seconds) for run in profile().runs]
            self.evidence = replace(profile(), runs=tuple(long))
        return super().build(state, say, wait_after)


async def test_sliders_wait_for_other_evidence_and_follow_it_before_its_plan(planner):
    """A deadline of the first log's range would be all but impossible for the second."""
    session = OfOtherLength()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        first = app.ranges
        app.dispatch(OpenSources(("other",)))
        app._panels.focus_first_slider()
        for key in ("right", "home", "end"):
            await pilot.press(key)
            assert await shows(pilot, "no time is known yet: press enter and type 45m")
        await pilot.click("#deadline", offset=(20, 0))
        assert (app.state.deadline_seconds, app.state.deadline_chosen) == (None, False)
        session.read_other.set()
        assert await shows(pilot, "no time is known yet", gone=True)
        assert app.ranges.deadlines[0] > first.seconds
        assert app.answer.built.plan.request.profile.largest_run.seconds == first.seconds
        await pilot.press("right")
        await pilot.pause()
        chosen = app.state.deadline_seconds
        assert chosen > 50 * first.seconds
        session.go_on.set()
        await settled(pilot)
        assert app.state.deadline_seconds == app.answer.report.goal.deadline_seconds == chosen


async def test_ranges_are_never_those_of_a_source_that_was_left(planner):
    """A deadline from the old range would count as chosen, and the other source got none."""
    session = OfOtherLength(first_waits=True)
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = pilot.app
        assert await shows(pilot, "2.1 TB")
        await pilot.press("right")
        await pilot.pause()
        assert app.state.deadline_seconds is not None
        session.go_on.set()  # of the plan that nobody waits for any more
        app.dispatch(OpenSources(("other",)))
        assert await shows(pilot, "2.1 TB", gone=True)
        await pilot.press("right")
        assert await shows(pilot, "no time is known yet: press enter and type 45m")
        assert (app.state.deadline_seconds, app.state.deadline_chosen) == (None, False)
        session.read_other.set()
        assert await shows(pilot, "is known yet", gone=True)
        await settled(pilot)
        assert app.state.deadline_seconds is not None, "the default one"
        assert not app.state.deadline_chosen
        assert await shows(pilot, "2.1 TB")


async def test_a_goal_chosen_while_other_evidence_is_read_stays_beyond_its_range(planner):
    session = OfOtherLength()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        app.dispatch(OpenSources(("other",)))
        app._panels.focus_first_slider()
        await pilot.press("enter", *"40s", "enter")
        session.read_other.set()
        session.go_on.set()
        await settled(pilot)
        assert app.state.deadline_seconds == 40.0 < app.ranges.deadlines[0]
        await pilot.press("right")
        await settled(pilot)
        assert 40.0 < app.state.deadline_seconds < 60.0, "a step, not to the end of a range"


async def test_a_loaded_goal_beyond_the_range_is_on_its_track(planner):
    async with planner().run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        beyond = 3.0 * app.ranges.deadlines[1]
        app.dispatch(SetDeadline(beyond))
        app._panels.focus_first_slider()
        await pilot.press("left")
        await settled(pilot)
        assert app.ranges.deadlines[1] < app.state.deadline_seconds < beyond


async def test_ranges_stay_while_a_log_is_added(planner):
    session = OfOtherLength()
    async with planner(session).run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        before = app.ranges
        app.dispatch(OpenSources(("other",), add=True))
        app._panels.focus_first_slider()
        await pilot.press("right")
        await pilot.pause()
        assert app.ranges == before
        deadline = app.state.deadline_seconds
        assert app.state.deadline_chosen
        session.read_other.set()
        async for _ in waits():
            if app.ranges != before:
                break
        assert app.ranges.seconds == 100.0 * before.seconds
        assert app.ranges.usd == before.usd, "a cost needs a plan"
        session.go_on.set()
        await settled(pilot)
        assert app.state.deadline_seconds == deadline
