"""A change that is refused while another plan is being built: what was asked before stays."""

from contextlib import asynccontextmanager
from dataclasses import replace
from threading import Event

import pytest
from fakes import Gated
from screen import at_rest, settled, shows, waits

import engine
from tui.changes import (
    OpenSources,
    RereadSources,
    SetBudget,
    SetCatalog,
    SetDeadline,
    SetInstances,
    SetLimits,
    SetMaxNodes,
    SetModel,
    SetScale,
)
from tui.reducer import reduce


class Refusing(Gated):
    """Its plans wait until they may go on; those of one model are refused."""

    def __init__(self, *models):
        super().__init__()
        self.refused = models
        self.go_on.set()

    def build(self, state, say, *shown):
        built = super().build(state, say, *shown)
        if state.model in self.refused:
            raise engine.ModelDoesNotFit(f"{state.model} needs more", remedy="open more")
        return built


@asynccontextmanager
async def held(planner, *refused):
    """A planner whose next plans are built only once they may go on."""
    session = Refusing(*refused)
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        session.go_on.clear()
        yield app, pilot
        session.go_on.set()
        await settled(pilot)


def asks(app, *changes):
    """Each is a step of its own."""
    for change in changes:
        app.history = replace(app.history, last_changed=frozenset())
        app.dispatch(change)


async def goes_on(app, pilot):
    app._session.go_on.set()
    await settled(pilot)


async def test_what_was_asked_for_before_it_is_planned(planner):
    """It went with the refused change."""
    async with held(planner, "optex") as (app, pilot):
        asks(app, SetScale(2.0), SetModel("optex"))
        await goes_on(app, pilot)
        assert await shows(pilot, "optex needs more")
        assert (app.state.scale, app.state.model) == (2.0, "sparkplan")
        assert app.built.plan.request.workload == app.built.profile.workload_at(2.0)
        await pilot.press("u")
        await settled(pilot)
        assert (app.state.scale, app.history.past) == (1.0, ()), "the refused change is no step"


async def test_a_goal_set_after_it_stays_as_a_step(planner):
    async with held(planner, "optex") as (app, pilot):
        before = app.state.deadline_seconds
        asks(app, SetScale(2.0), SetModel("optex"), SetDeadline(1800.0))
        await goes_on(app, pilot)
        assert (app.state.scale, app.state.model) == (2.0, "sparkplan")
        assert app.answer.report.goal.deadline_seconds == 1800.0
        await pilot.press("u")
        await settled(pilot)
        assert (app.state.scale, app.state.deadline_seconds) == (2.0, before)


async def test_where_that_is_refused_too_the_last_good_plan_stays(planner):
    """With what neither refusal was about."""
    async with held(planner, "optex", "boe") as (app, pilot):
        good = app.state
        asks(app, SetModel("boe"), SetScale(2.0), SetModel("optex"))
        await goes_on(app, pilot)
        assert await shows(pilot, "boe needs more")
        assert (app.state, app.history.past) == (replace(good, scale=2.0), (good,))


@pytest.mark.parametrize("undone", [False, True])
async def test_what_was_undone_does_not_come_back(planner, undone):
    async with held(planner, "optex") as (app, pilot):
        asks(app, SetModel("ernest"), SetScale(2.0))
        if undone:
            await pilot.press("u", "u")
        else:
            asks(app, SetScale(1.0), SetModel("sparkplan"))
        asks(app, SetModel("optex"))
        await goes_on(app, pilot)
        assert await shows(pilot, "optex needs more")
        assert (app.state.scale, app.state.model) == (1.0, "sparkplan")


async def test_a_source_is_opened_though_a_change_behind_it_is_refused(planner):
    """The refusal stays visible once the source is read."""
    async with held(planner, "optex") as (app, pilot):
        asks(app, OpenSources(("second",)), SetModel("optex"))
        await goes_on(app, pilot)
        assert (app.state.sources, app.state.model) == (("second",), "sparkplan")
        assert await shows(pilot, "optex needs more")


@pytest.mark.parametrize("ended_by", ["refused", "escape"])
async def test_a_source_that_is_not_read_takes_nothing_with_it(planner, ended_by):
    async with held(planner) as (app, pilot):
        source = "missing" if ended_by == "refused" else "second"
        asks(app, SetModel("ernest"), OpenSources((source,)))
        if ended_by == "escape":
            await pilot.press("escape")
        await goes_on(app, pilot)
        assert app.state.sources == ("nightly-als",)
        assert app.state.model == app.built.plan.fitted.model == "ernest"


async def test_a_scenario_that_is_refused_is_refused_as_a_whole(planner):
    async with held(planner, "optex") as (app, pilot):
        asks(app, SetModel("ernest"))
        asked = app.state
        app.adopt(replace(asked, model="optex", deadline_seconds=77.0, scale=3.0))
        await goes_on(app, pilot)
        assert await shows(pilot, "optex needs more")
        assert app.state == asked


async def test_a_scenario_is_refused_as_a_whole_behind_a_return_to_the_plan(planner):
    """Its deadline stayed: nothing had been asked for before it that was not planned."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        asks(app, SetScale(2.0), SetScale(1.0))
        app.adopt(replace(good, model="optex", deadline_seconds=77.0))
        await goes_on(app, pilot)
        assert await shows(pilot, "optex needs more")
        assert app.state == good


async def test_a_goal_stays_that_was_set_after_a_scenario_was_undone(planner):
    """It was lost with the change behind it, as if that were the scenario."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        app.adopt(replace(good, scale=3.0))
        await pilot.press("u")
        asks(app, SetDeadline(1800.0), SetModel("optex"))
        await goes_on(app, pilot)
        assert await shows(pilot, "optex needs more")
        assert (app.state.scale, app.state.model) == (1.0, "sparkplan")
        assert app.answer.report.goal.deadline_seconds == 1800.0
        await pilot.press("u")
        await settled(pilot)
        assert app.state.deadline_seconds == good.deadline_seconds


async def test_before_the_first_plan_too(planner):
    """The sources were left unread, with the model that had been refused."""
    session = Refusing("optex")
    session.go_on.clear()
    async with planner(session).run_test(size=(120, 40)) as pilot:
        app = pilot.app
        await pilot.pause()
        asks(app, SetModel("optex"))
        await goes_on(app, pilot)
        assert app.answer is not None
        assert app.state.model == "sparkplan"


async def test_a_change_behind_the_refused_one_is_asked_of_the_last_good_plan(planner):
    """It was lost: the data size of a slider that was moved while the model was being tried."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        asks(app, SetModel("optex"), SetScale(2.0), SetMaxNodes(300), SetDeadline(1800.0))
        await goes_on(app, pilot)
        assert await shows(pilot, "optex needs more")
        assert (app.state.model, app.state.scale, app.state.max_nodes) == ("sparkplan", 2.0, 300)
        assert app.built.plan.request.workload == app.built.profile.workload_at(2.0)
        assert app.answer.report.goal.deadline_seconds == 1800.0
        await pilot.press("u", "u")
        await settled(pilot)
        assert app.state == replace(good, deadline_seconds=1800.0, deadline_chosen=True)


async def test_behind_two_refused_changes_it_is_asked_without_either(planner):
    async with held(planner, "optex", "boe") as (app, pilot):
        asks(app, SetModel("boe"), SetScale(2.0), SetModel("optex"), SetScale(3.0))
        await goes_on(app, pilot)
        assert await shows(pilot, "boe needs more")
        assert (app.state.model, app.state.scale) == ("sparkplan", 3.0)


def refuses_other_sizes(app):
    """No plan is built for another size than the measured one."""
    build = app._session.build

    def only_as_it_was(state, *said):
        built = build(state, *said)
        if state.scale != 1.0:
            raise engine.BadInput("no size but the measured one")
        return built

    app._session.build = only_as_it_was


async def test_it_is_asked_once_more_alone_and_then_given_up(planner):
    """Neither change can be planned."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        refuses_other_sizes(app)
        asks(app, SetModel("optex"), SetScale(2.0))
        await goes_on(app, pilot)
        assert await shows(pilot, "no size but the measured one")
        assert (app.state, app.history.past) == (good, ())


@pytest.mark.parametrize("last", [SetMaxNodes(200), SetInstances(("m5.*",))])
async def test_behind_two_refused_changes_each_other_one_stays(planner, last):
    """The number of nodes went with the data size, which was refused for its own sake."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        refuses_other_sizes(app)
        asks(app, SetModel("optex"), SetScale(2.0), last)
        await goes_on(app, pilot)
        assert await shows(pilot, "no size but the measured one")
        assert app.state == reduce(good, last)
        assert app.built.plan.request.max_nodes >= app.state.max_nodes
        assert app.history.past == (good,)
        await pilot.press("u")
        await settled(pilot)
        assert app.state == good


@pytest.mark.parametrize("behind", [(), (SetMaxNodes(200),)])
async def test_all_that_is_given_up_is_said(planner, behind):
    """Only the last of several refusals was said: the model was given up without a word."""
    async with held(planner, "optex", "boe") as (app, pilot):
        good = app.state
        refuses_other_sizes(app)
        asks(app, SetModel("boe"), SetScale(2.0), SetModel("optex"), *behind)
        await goes_on(app, pilot)
        size, model = "no size but the measured one", "needs more; open more"
        (line,) = app.visible_refusal
        assert "".join(words for words, _ in line)[2:].split("; also: ") == [
            f"boe {model}", f"optex {model}", size
        ]  # fmt: skip
        assert app.state == replace(good, max_nodes=200 if behind else good.max_nodes)
        asks(app, SetModel("optex"))
        await settled(pilot)
        assert app.notice_log[-1].words == f"optex {model}", "what was given up before is past"


async def test_an_undo_while_the_plan_before_is_tried_is_not_overridden(planner):
    """The data size was asked for again behind it, and the undone step was lost."""
    async with held(planner, "optex") as (app, pilot):
        build, undone, built = app._session.build, Event(), set()

        def until_undone(state, *said):
            if built and state.scale == 1.0:
                assert undone.wait(60.0)
            if state.scale == 2.0:
                built.add(state)
            return build(state, *said)

        app._session.build = until_undone
        asks(app, SetModel("optex"), SetScale(2.0), SetScale(3.0))
        app._session.go_on.set()
        async for _ in waits():
            if app.state.scale == 1.0:
                break
        assert app.state.model == "optex"
        await pilot.press("u")
        undone.set()
        await settled(pilot)
        assert (app.state.model, app.state.scale) == ("sparkplan", 1.0)
        assert [(step.model, step.scale) for step in app.history.future] == [("optex", 1.0)]


async def test_each_step_before_a_goal_behind_a_refused_change_can_be_undone(planner):
    """Undo stuck at the goal, which had been set on the refused model."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        asks(app, SetModel("optex"), SetDeadline(1800.0), SetScale(2.0), SetBudget(5.0))
        await goes_on(app, pilot)
        in_time = replace(good, deadline_seconds=1800.0, deadline_chosen=True)
        within = replace(in_time, budget_usd=5.0)
        assert app.state == replace(within, scale=2.0)
        for earlier in (within, in_time, good):
            await pilot.press("u")
            await settled(pilot)
            assert app.state == earlier
        assert app.history.past == ()


@pytest.mark.parametrize(
    ("changes", "undos"),
    [
        ([SetModel("optex"), SetDeadline(1800.0)], 1),
        ([SetModel("optex"), SetScale(2.0), SetModel("sparkplan")], 3),
    ],
)
async def test_undo_does_not_stick_at_a_refused_plan(planner, changes, undos):
    """It was asked for, refused, and stood in the history again."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        asks(app, *changes)
        await goes_on(app, pilot)
        assert app.state.model == "sparkplan"
        for _ in range(undos):
            await pilot.press("u")
            await settled(pilot)
        assert (app.state, app.history.past) == (good, ())


@pytest.mark.parametrize("counter", ["reading", "pricing"])
async def test_nor_where_the_log_or_the_prices_were_read_again_since(planner, counter):
    """The step was of the reading before, and no undo led past it."""
    async with held(planner, "optex") as (app, pilot):
        good = app.state
        app._session.go_on.set()
        asks(app, SetMaxNodes(40), SetModel("optex"), SetModel("ernest"))
        await settled(pilot)
        again = {"reading": RereadSources(app.state.sources), "pricing": SetCatalog(None)}
        app.dispatch(again[counter])
        await settled(pilot)
        assert getattr(app.state, counter) == 1
        for model, nodes in (("ernest", 40), ("sparkplan", 40), ("sparkplan", good.max_nodes)):
            await pilot.press("u")
            await settled(pilot)
            assert (app.state.model, app.state.max_nodes) == (model, nodes)
        assert app.history.past == ()


async def test_a_redone_step_that_is_refused_is_dropped(planner):
    """It was the next one to be redone, again and again."""
    async with held(planner) as (app, pilot):
        asks(app, SetModel("ernest"))
        await goes_on(app, pilot)
        await pilot.press("u")
        good = await settled(pilot)
        app._session.refused = ("ernest",)
        await pilot.press("ctrl+y")
        await settled(pilot)
        assert await shows(pilot, "ernest needs more")
        assert (app.state, app.history.future) == (good.state, ())


async def test_a_source_opened_behind_a_refused_change_is_read(planner):
    async with held(planner, "optex") as (app, pilot):
        asks(app, SetModel("optex"), OpenSources(("second",)))
        await goes_on(app, pilot)
        assert (app.state.sources, app.state.model) == (("second",), "sparkplan")
        assert app.answer is not None


async def test_what_was_changed_on_a_source_that_is_not_read_goes_with_it(planner):
    async with held(planner) as (app, pilot):
        good = app.state
        asks(app, OpenSources(("missing",)), SetScale(2.0))
        await goes_on(app, pilot)
        assert app.state == good


async def test_a_limit_set_behind_a_refused_change_stays(planner):
    """Such a limit only filters the plan that there is; all limits were those before again."""
    async with held(planner, "optex") as (app, pilot):
        limits = app.state.limits._replace(max_vcpus=64)
        asks(app, SetModel("optex"), SetLimits(limits))
        await goes_on(app, pilot)
        assert await shows(pilot, "optex needs more")
        assert (app.state.model, app.state.limits) == ("sparkplan", limits)
        assert app.answer.report.recommendation.recommended is not None
