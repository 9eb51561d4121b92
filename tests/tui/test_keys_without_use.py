"""Keys without a meaning, and text that is pasted where nothing is typed: both are answered."""

import pytest
from screen import at_rest, settled, shows, text_of
from textual.events import Paste

from tui.screens.open import OpenScreen
from tui.widgets.slider import Slider
from tui.widgets.table import Table

NO_USE = "does nothing here; ? explains the keys, ^q quits"


@pytest.mark.parametrize(("key", "shown"), [("q", "q"), ("Z", "Z"), ("f5", "f5"), ("ctrl+t", "^t")])
async def test_a_key_without_a_meaning_is_said_to_have_none(planner, key, shown):
    """Nothing happened, and nobody learnt how to leave."""
    async with at_rest(planner(), (80, 24), key) as (app, pilot):
        assert await shows(pilot, f"{shown} {NO_USE}")
        assert app.notice_log == ()
        await pilot.press("tab")
        assert await shows(pilot, NO_USE, gone=True)


async def test_it_leaves_a_notice_where_it_is(planner):
    async with at_rest(planner(), (120, 40), "enter", "x", "enter") as (app, pilot):
        assert await shows(pilot, "'x' is not a duration")
        await pilot.press("escape", "Q")
        app.show_notice("this stays", "warn", stays=True)
        await pilot.press("Q")
        assert await shows(pilot, f"Q {NO_USE}")
        assert "this stays" in text_of(app)


async def test_enter_says_so_in_a_list_where_it_does_nothing(planner):
    async with at_rest(planner(), (120, 40), "2", "enter") as (app, pilot):
        assert isinstance(app.focused, Table)
        assert await shows(pilot, f"enter {NO_USE}")


async def test_enter_uses_the_model_under_the_cursor(planner):
    async with at_rest(planner(), (120, 40), "5", "down", "enter") as (app, pilot):
        await settled(pilot)
        assert app.state.model == "ernest"


@pytest.mark.parametrize("key", ["a", "u", "v", "down", "5", "h"])
async def test_keys_with_a_meaning_are_not_said_to_have_none(planner, key):
    async with at_rest(planner(vi=True), (120, 40), key) as (app, pilot):
        await settled(pilot)
        assert NO_USE not in text_of(app)


async def test_a_value_pasted_onto_a_slider_is_typed_into_it(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.post_message(Paste("2h\n"))
        await settled(pilot)
        assert isinstance(app.focused, Slider)
        assert app.focused.editing
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.deadline_seconds == 7200.0


@pytest.mark.parametrize("view", ["1", "2", "8"])
async def test_a_path_that_is_pasted_is_what_to_open(planner, view):
    """It was ignored, or its letters were taken for keys."""
    async with at_rest(planner(), (120, 40), view) as (app, pilot):
        app.post_message(Paste("/logs/app-2024\n"))
        await settled(pilot)
        assert isinstance(app.screen, OpenScreen)
        assert app.screen.query_one("#typed").value == "/logs/app-2024"


async def test_a_dialog_keeps_what_is_pasted(planner):
    async with at_rest(planner(), (120, 40), "question_mark") as (app, pilot):
        await settled(pilot)
        shown = app.screen
        app.post_message(Paste("/logs/app-2024"))
        await settled(pilot)
        assert app.screen is shown


@pytest.mark.parametrize(
    ("size", "below", "then"), [((120, 40), "budget", "size"), ((80, 24), "size", "confidence")]
)
async def test_up_and_down_go_from_slider_to_slider(planner, size, below, then):
    """Below a slider is another one, and in few columns that is not the next one."""
    async with at_rest(planner(), size, "down") as (app, pilot):
        assert app.focused.id == below
        await pilot.press("down")
        assert app.focused.id == then
        await pilot.press("up", "up", "enter", "9", "down")
        assert app.focused.id == "deadline"
        assert app.focused.editing, "what was typed stays"
        await pilot.press("escape", "up")
        assert app.focused.id != "deadline"


@pytest.mark.parametrize("key", ["a", "minus"])
async def test_a_chart_that_is_whole_says_so(planner, key):
    async with at_rest(planner(), (120, 40), key) as (_, pilot):
        assert await shows(pilot, "the whole chart is shown already")
        await pilot.press("plus", key)
        assert await shows(pilot, "the whole chart is shown already", gone=True)
