"""`/` filters every list; notices and the keys at the foot keep up with what is on the screen."""

import pytest
from screen import advised, at_rest, compared, settled, text_of, typed
from textual.widgets import Input

from tui.session import EngineSession
from tui.views.pages import NAMES, PAGES

FILTERED = {page.name: page.filtered for page in PAGES if page.filtered not in ("", "full")}


@pytest.mark.parametrize("view", FILTERED)
async def test_every_list_is_filtered(planner, view):
    async with at_rest(planner(), (120, 40), "p", str(NAMES.index(view) + 1)) as (app, pilot):
        await settled(pilot)
        if view == "evidence":
            await compared(pilot)
        if view == "experiments":
            await advised(pilot)
        table = app._panels.table(FILTERED[view])
        assert len(table.matching("")) == len(table.rows) > 0
        await pilot.press("slash")
        await typed(pilot, "qqq")
        assert "no row has that" in text_of(app)
        await pilot.press("enter")
        await settled(pilot)
        assert table.matching(table.wanted) == ()
        assert table.has_focus
        assert "no row has qqq" in text_of(app)
        await pilot.press("escape")
        assert table.wanted == ""
        assert "no row has" not in text_of(app)


async def test_among_the_inputs_it_chooses_the_candidate_types(planner):
    async with at_rest(planner(), (120, 40), "4") as (app, pilot):
        app.query_one("#deadline").focus()
        await pilot.press("slash")
        await settled(pilot)
        assert "Instance types" in text_of(app)


async def test_enter_on_a_row_that_was_gone_to_takes_it_into_the_line(planner):
    """The next one applies the line; without going anywhere the first one does."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        names = list(app.built.catalog.offers)
        await pilot.press("slash", "down", "down", "enter")
        await settled(pilot)
        assert app.screen.query_one("#typed", Input).value == names[2]
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.instances == (names[2],)
        await pilot.press("colon", "down", "enter")
        await settled(pilot)
        assert app.screen.query_one("#typed", Input).value.startswith("budget")
        await pilot.press(*"5", "enter")
        await settled(pilot)
        assert app.state.budget_usd == 5.0
        await pilot.press("slash", *["backspace"] * len(names[2]), "enter")
        await settled(pilot)
        assert app.state.instances == ()


async def test_the_first_row_is_gone_to_by_coming_back_to_it(planner):
    """It was the typed line that was applied; a letter typed since leaves every row."""
    async with at_rest(planner(), (120, 40), "slash", "down", "up", "enter") as (app, pilot):
        await settled(pilot)
        line = app.screen.query_one("#typed", Input)
        assert line.value == app.built.catalog.offers[line.value].instance.name
        await pilot.press(*["backspace"] * len(line.value), "down", "r", "5", "full_stop", "*")
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.instances == ("r5.*",)


async def test_types_that_the_plan_compares_come_first(planner):
    """The list began with types that hold no executor of the job, or are hidden."""
    async with at_rest(
        planner(EngineSession(), sources=("nightly-features",), ran_on="m5.xlarge"), (120, 40)
    ) as (app, pilot):
        compared_names = set(app.built.plan.surface.candidates.names)
        every = set(app.built.catalog.offers)
        assert compared_names < every
        for key in ("slash", "w"):
            await pilot.press(key)
            await settled(pilot)
            names = [option.value for option in app.screen._matches("")]
            first = [name for name in names if name in every][: len(compared_names)]
            assert set(first) == compared_names
            assert every <= set(names)
            await pilot.press("escape")


async def test_a_command_that_takes_what_it_likes_says_what_while_it_is_empty(planner):
    """So "no command begins so" stood below "size ", right after it was taken from the list."""
    async with at_rest(planner(), (120, 40), "colon", *"siz", "tab") as (app, pilot):
        await settled(pilot)
        assert app.screen.query_one("#typed", Input).value == "size "
        assert "input of this size" in text_of(app)
        assert "no command begins so" not in text_of(app)


async def test_a_dialog_has_its_own_keys_and_the_planner_gets_its_own_back(planner):
    async with at_rest(planner(), (80, 24), "2", "e") as (app, pilot):
        await settled(pilot)
        about, keys = text_of(app).splitlines()[-2:]
        assert about.strip() == ""
        assert keys.split() == ["^q", "quit"]
        await pilot.press("escape")
        await settled(pilot)
        about, keys = text_of(app).splitlines()[-2:]
        assert about.strip().startswith("Compositions:")
        assert "choose" in keys


async def test_a_notice_goes_with_the_view_and_takes_no_more_rows_than_it_needs(planner):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        app.show_notice(
            "something that stays until it is dealt with, whatever is seen", "warn", stays=True
        )
        await pilot.press("u")
        assert "nothing to undo" in text_of(app)
        await pilot.press("2")
        await settled(pilot)
        assert "nothing to undo" not in text_of(app)
        assert "something that stays" in text_of(app)
        await pilot.resize_terminal(40, 12)
        await settled(pilot)
        assert app.query_one("#notice").size.height == 2
        await pilot.resize_terminal(80, 24)
        await settled(pilot)
        assert app.query_one("#notice").size.height == 1
        await pilot.press("escape", "1")
        await settled(pilot)
        assert "something that stays" not in text_of(app)


async def test_the_screen_names_the_keys_of_the_settings(planner):
    async with planner(keys={"undo": "z,ctrl+z", "jump": "ctrl+j"}).run_test(
        size=(80, 24)
    ) as pilot:
        app = await settled(pilot)
        assert " z undo " in text_of(app)
        assert " ^j jump " in text_of(app)
        assert " u undo " not in text_of(app)
        await pilot.press("ctrl+p")
        await typed(pilot, "undo the last")
        await settled(pilot)
        assert "Undo the last change of an input  z" in text_of(app)


async def test_a_high_wide_screen_tells_the_chosen_row_beside_the_list_alone(planner):
    """Why told it beside the list, and a second text below it."""
    for size, below in (((120, 40), False), ((120, 24), True), ((80, 40), True)):
        async with at_rest(planner(), size, "2") as (app, _):
            assert app.query_one("#chosen").display is below
