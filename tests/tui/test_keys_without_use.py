"""Keys without a meaning, and text that is pasted where nothing is typed: both are answered."""

import pytest
from screen import at_rest, settled, shows, text_of
from textual.events import Paste

from tui.screens.open import OpenScreen
from tui.views.goal import GOALS
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


async def test_a_double_click_where_it_does_nothing_is_no_key(planner):
    async with at_rest(planner(), (120, 40), "2") as (app, pilot):
        await pilot.click(app.focused, offset=(5, 2), times=2)
        await settled(pilot)
        assert NO_USE not in text_of(app)


async def test_enter_that_changes_nothing_is_answered(planner):
    """It was silent, with "use" beside it in the line of keys."""
    async with at_rest(planner(), (120, 40), "5", "enter") as (app, pilot):
        assert await shows(pilot, "sparkplan is in use already")
        await pilot.press("down")
        app.focused.narrow("nothing of this name")
        await pilot.press("enter")
        assert await shows(pilot, f"enter {NO_USE}")
        app.focused.narrow("")
        await pilot.press("1", "v")
        assert await shows(pilot, f"enter {NO_USE}", gone=True)
        await pilot.press("enter")
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
@pytest.mark.parametrize("pasted", ["/logs/app 2024\n", "'/logs/app 2024'", "\n /logs/app 2024"])
async def test_a_path_that_is_pasted_is_what_to_open(planner, view, pasted):
    """It was ignored, or its letters were taken for keys; a goal called it a wrong duration."""
    async with at_rest(planner(), (120, 40), view) as (app, pilot):
        app.show_notice("this stays", "warn", stays=True)
        told = app.notice_log
        app.post_message(Paste(pasted))
        await settled(pilot)
        assert isinstance(app.screen, OpenScreen)
        assert app.screen.query_one("#typed").value == "/logs/app 2024"
        assert app.notice_log == told
        await pilot.press("escape")
        assert await shows(pilot, "this stays")


async def test_what_is_there_or_bundled_is_what_to_open_too(planner, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "2024").touch()
    for pasted in ("2024", "~", "sales-report-large", "s3://bucket/log"):
        async with at_rest(planner(), (120, 40)) as (app, pilot):
            app.post_message(Paste(pasted))
            await settled(pilot)
            assert isinstance(app.screen, OpenScreen)


async def test_several_paths_that_are_pasted_are_opened_together(planner, tmp_path):
    """The first was opened alone."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        (tmp_path / "runs").mkdir()
        (tmp_path / "log").touch()
        opened = [f"{tmp_path}/runs", f"{tmp_path}/log"]
        app.post_message(Paste(f"{opened[0]}/\n'{opened[1]}'\n"))
        await settled(pilot)
        assert await shows(pilot, "2 marked")
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.sources == tuple(opened)


async def test_blank_text_that_is_pasted_is_nothing(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.post_message(Paste(" \n"))
        await settled(pilot)
        assert len(app.screen_stack) == 1
        assert not app.focused.editing


@pytest.mark.parametrize(
    ("goal", "pasted"), [("confidence", "45"), ("size", "2024"), ("deadline", "x")]
)
async def test_a_slider_says_why_it_refuses_what_is_pasted(planner, goal, pasted):
    """It opened the dialog for files, as if it were a path."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.query_one(f"#{goal}").focus()
        app.post_message(Paste(pasted))
        await settled(pilot)
        assert app.focused.editing
        assert app.notice_log == ()
        await pilot.press("enter")
        await settled(pilot)
        assert app.focused.error
        assert app.visible_refusal


async def test_of_several_lines_a_slider_takes_the_first(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.post_message(Paste("90m\n2h"))
        await settled(pilot)
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.deadline_seconds == 5400.0


async def test_a_pasted_value_that_is_cancelled_leaves_the_track(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.post_message(Paste("900d"))
        await settled(pilot)
        await pilot.press("escape")
        await settled(pilot)
        assert not app.focused.holds(900 * 86400.0)


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
        before = app.focused.id
        assert before not in GOALS
        await pilot.press("tab", "tab", "up")
        assert app.focused.id == (before if size[0] < 100 else "deadline"), "not to the left"


async def test_below_the_last_row_is_what_follows_the_sliders(planner):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        app.query_one("#confidence").focus()
        await pilot.press("tab")
        after = app.focused.id
        app.query_one("#nodes").focus()
        await pilot.press("down")
        assert app.focused.id == after


@pytest.mark.parametrize("key", ["a", "minus"])
async def test_a_chart_that_is_whole_says_so(planner, key):
    async with at_rest(planner(), (120, 40), key) as (_, pilot):
        assert await shows(pilot, "the whole chart is shown already")
        await pilot.press("plus", key)
        assert await shows(pilot, "the whole chart is shown already", gone=True)
