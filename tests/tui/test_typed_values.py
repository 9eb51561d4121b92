"""Goals, sizes and counts as a person sets them, by sliders and by words."""

import re

import pytest
from fakes import FakeSession
from screen import at_rest, settled, shows, text_of, typed

from tui.session import EngineSession
from tui.views import sentences, terms
from tui.views.goal import GoalPanel
from tui.widgets.slider import Slider


def words_of(app):
    return sentences.headline(app.answer, app.marks)


def said(app):
    return " ".join("".join(part for part, _ in line) for line in words_of(app))


async def test_a_slider_changes_the_answer_without_a_new_plan(planner):
    session = FakeSession()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        before, builds = app.answer.best, session.builds
        await pilot.press("home")
        await pilot.pause()
        assert app.state.deadline_seconds == app.query_one("#deadline", Slider).value
        assert app.answer.best != before
        assert session.builds == builds


@pytest.mark.parametrize(("size", "step"), [((80, 24), "←→ step"), ((120, 40), "← → step")])
async def test_while_a_value_is_typed_the_foot_tells_its_keys_and_what_can_be(planner, size, step):
    """It offered the steps of the slider and letters that are text there."""
    async with planner().run_test(size=size) as pilot:
        await settled(pilot)
        assert await shows(pilot, step)
        for leave in ("escape", "enter", "tab"):
            app = pilot.app
            app.query_one("#deadline", Slider).focus()
            await settled(pilot)
            await pilot.press("enter")
            assert await shows(pilot, "⏎ take  esc cancel")
            shown = text_of(app)
            assert "Deadline: as 45m, 1h30m or 90 s; empty: none" in shown
            assert step not in shown
            assert "export" not in shown.splitlines()[-1]
            await pilot.press(leave)
            assert await shows(pilot, step)
            assert "esc cancel" not in text_of(app)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("deadline", ["45m", "1h30m", "90 s", ""]),
        ("budget", ["$12.50", ""]),
        ("size", ["2TB", "3x"]),
        ("nodes", ["1", "512"]),
        ("confidence", ["95 %", "0.95"]),
    ],
)
async def test_what_the_foot_says_can_be_typed_is_taken(planner, name, values):
    async with planner().run_test(size=(80, 24)) as pilot:
        app = await settled(pilot)
        slider = app.query_one(f"#{name}", Slider)
        for value in values:
            assert (value or "empty") in terms.TYPED[name]
            slider.focus()
            await settled(pilot)
            await pilot.press("enter", "delete")
            await typed(pilot, value)
            await pilot.press("enter")
            await settled(pilot)
            assert (slider.error, slider.editing) == ("", False)


async def test_an_impossible_goal_shows_the_nearest_miss(planner):
    async with at_rest(planner(), (120, 40), "home") as (app, pilot):
        await pilot.pause()
        shown = text_of(app)
        assert app.answer.report.recommendation.recommended is None
        assert "No cluster of up to 64 nodes" in shown
        assert "Nearest:" in shown
        deadline = re.search(r"at 90 %; (.+) can be met\.", said(app))[1]
        await app.run_command_line(f"deadline {deadline}")
        await settled(pilot)
        assert app.answer.report.recommendation.recommended is not None
        await app.run_command_line("deadline 3s")
        await app.run_command_line("budget $0.01")
        await settled(pilot)
        ways = re.search(r"; (.+) can be met for (\$\S+), (.+?) for (\$\S+)\. N", said(app))
        for deadline, budget in (ways.groups()[:2], ways.groups()[2:]):
            await app.run_command_line(f"deadline {deadline}")
            await app.run_command_line(f"budget {budget}")
            await settled(pilot)
            assert app.answer.report.recommendation.recommended is not None
        for line in ("deadline 3s", "budget $0.01", "nodes 1", "instances m5.xlarge"):
            await app.run_command_line(line)
        await settled(pilot)
        assert re.search(r"; (.+) can be met for (\$\S+)\. N", said(app))  # one cluster does both
        for line in ("nodes 64", "instances off", "deadline 20h"):
            await app.run_command_line(line)
        await settled(pilot)
        budget = re.search(r"; (\$.+) is enough\.", said(app))[1]
        await app.run_command_line(f"budget {budget}")
        await settled(pilot)
        assert app.answer.report.recommendation.recommended is not None


async def test_where_no_type_can_be_priced_the_goal_is_not_blamed_alone(planner):
    """Spot prices of types that have none: 'No cluster ... stays within $12.' was all it said."""
    async with at_rest(
        planner(EngineSession(), sources=("sales-report-small",), catalog="gcp"), (120, 40)
    ) as (app, pilot):
        for line in ("instances n2-standard-4,n2-standard-8", "budget $12", "spot on"):
            await app.run_command_line(line)
            await settled(pilot)
        best = app.answer.report.recommendation
        assert {entry.code for entry in best.rejected} == {"no-spot-price"}
        said = " ".join(part for line in words_of(app) for part, _ in line)
        assert "n2-standard-4: has no spot price; likewise 1 other type." in said


async def test_a_typed_value_with_its_unit(planner):
    async with at_rest(planner(), (120, 40), "enter", *["backspace"] * 8) as (app, pilot):
        await typed(pilot, "1h30m")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.deadline_seconds == 5400.0
        await pilot.press("tab", "enter", *["backspace"] * 8)
        await typed(pilot, "$2.50")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.budget_usd == 2.5
        await pilot.press("delete")
        await pilot.pause()
        assert app.state.budget_usd is None


@pytest.mark.parametrize("amount", ["$12.34k", "12.34k"])
async def test_a_budget_is_typed_as_the_slider_shows_it(planner, amount):
    async with at_rest(planner(budget_usd=12_000.0), (120, 40)) as (app, pilot):
        assert "$12k" in text_of(app)
        await pilot.press("tab", "enter")
        await typed(pilot, amount)
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.budget_usd == 12_340.0


async def test_a_budget_below_nothing_is_refused_in_thousands_too(planner):
    async with at_rest(planner(budget_usd=12_000.0), (120, 40), "tab", "enter") as (app, pilot):
        await typed(pilot, "-3k")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.budget_usd == 12_000.0
        assert "an amount of money must be more than zero, not '-3000'" in text_of(app)


async def test_what_was_refused_is_not_said_of_the_value_after_it(planner):
    async with at_rest(planner(), (80, 24), "tab", "enter", *"45m", "enter") as (app, pilot):
        await settled(pilot)
        assert "'45m' is not an amount of money" in text_of(app)
        await pilot.press("escape", "right")
        await settled(pilot)
        assert "is not an amount of money" not in text_of(app)


@pytest.mark.parametrize("keys", [("escape",), ("tab",), (*["backspace"] * 4, "enter")])
async def test_a_refusal_goes_with_what_was_typed(planner, keys):
    """It stayed above a slider that stood at its old value: nothing had been refused of that."""
    async with at_rest(planner(), (80, 24), "tab", "enter", *"soon", "enter") as (app, pilot):
        await settled(pilot)
        assert "'soon' is not an amount of money" in text_of(app)
        await pilot.press(*keys)
        await settled(pilot)
        assert app.state.budget_usd is None
        assert "is not an amount of money" not in text_of(app)


@pytest.mark.parametrize(
    ("refused", "taken", "said"),
    [
        ("deadline soon", "deadline 45m", "'soon' is not a duration"),
        ("min-nodes 100", "min-nodes 3", "at least 100 nodes, but at most 64"),
        ("open missing", "deadline 45m", "no such file"),
    ],
)
async def test_a_refusal_goes_when_a_typed_command_is_taken(planner, refused, taken, said):
    """It stayed above the value that had been typed in its place."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await app.run_command_line(refused)
        await settled(pilot)
        assert said in text_of(app)
        await app.run_command_line(taken)
        await settled(pilot)
        assert said not in text_of(app)


async def test_a_slider_that_contradicts_a_limit_says_so_until_one_is_taken(planner):
    async with at_rest(planner(max_nodes=8), (120, 40)) as (app, pilot):
        await app.run_command_line("min-nodes 8")
        app.query_one("#nodes").focus()
        await pilot.press("left")
        await settled(pilot)
        assert "at least 8 nodes, but at most 7" in text_of(app)
        await pilot.press("right")
        await settled(pilot)
        assert "at least 8 nodes" not in text_of(app).splitlines()[2]
        assert app.state.max_nodes > 8


async def test_a_typed_deadline_beyond_the_track_is_taken(planner):
    async with at_rest(planner(), (120, 40), "enter", *["backspace"] * 8) as (app, pilot):
        await typed(pilot, "30d")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.deadline_seconds == 30 * 86400.0


@pytest.mark.parametrize("words", ["soon", "0", "-5"])
async def test_a_deadline_without_meaning_is_one_notice_and_the_plan_stays(planner, words):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        before = app.state
        await pilot.press("enter", *["backspace"] * 8)
        await typed(pilot, words)
        await pilot.press("enter")
        await pilot.pause()
        assert app.state == before
        assert words in text_of(app).splitlines()[2]
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert "duration" not in text_of(app)


@pytest.mark.parametrize(
    ("size", "scale"), [("4.2TB", 2.0), ("3x", 3.0), ("1050GB", 0.5), ("0.5x", 0.5)]
)
async def test_a_data_size_by_amount_or_by_factor(planner, size, scale):
    session = FakeSession()
    async with at_rest(planner(session), (120, 40)) as (app, pilot):
        before = app.answer.best.seconds
        await pilot.press("tab", "tab", "enter", *["backspace"] * 8)
        await typed(pilot, size)
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.scale == pytest.approx(scale)
        assert session.builds == 2
        assert app.answer.best.seconds != before


def test_a_slider_cannot_be_asked_for_what_it_is_not():
    from tui.views.goal import action_of

    with pytest.raises(ValueError, match="cannot be off"):
        action_of("nodes", None)


async def test_a_plain_number_of_nodes(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.query_one(GoalPanel).slider("nodes").focus()
        await pilot.press("enter", "backspace", "backspace")
        await typed(pilot, "12")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.max_nodes == 12
        await pilot.press("enter", "backspace", "backspace")
        await typed(pilot, "9999")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.max_nodes == 12
        assert "type 1 to 512" in text_of(app)
