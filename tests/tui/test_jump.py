"""Jump mode: a letter for every control and tab, and each leads there."""

import pytest
from depth import values
from fakes import FakeSession
from screen import at_rest, settled, text_of
from textual.events import Resize

from tui.screens.jump import JumpScreen, Letter, targets_of
from tui.widgets.slider import Slider
from tui.widgets.table import Table


async def jumping(pilot):
    """The letters by what they lead to: an id or an action."""
    app = await settled(pilot)
    targets = targets_of(app.screen)
    await pilot.press("f")
    await pilot.pause()
    assert isinstance(app.screen, JumpScreen)
    letters = [letter.letter for letter in app.screen.query(Letter)]
    assert len(letters) == len(set(letters)) == len(targets)
    ids = [str(target.widget.id) if target.widget else target.action for target in targets]
    return dict(zip(ids, letters, strict=True))


ASCII = {"glyphs": "ascii", "theme": "ansi-dark"}


@pytest.mark.parametrize(
    ("size", "options"),
    values(
        ((80, 24), {}),
        ((120, 40), ASCII),
        ((80, 24), {"vi": True}),
        deep=[((120, 40), {}), ((80, 24), ASCII), ((120, 40), {"vi": True})],
    ),
)
async def test_every_control_that_is_seen_has_a_letter_beside_it(planner, size, options):
    async with planner(**options).run_test(size=size) as pilot:
        below = text_of(await settled(pilot)).splitlines()
        letters = await jumping(pilot)
        app = pilot.app
        base = app.screen_stack[0]
        assert {"deadline", "budget", "size", "nodes", "confidence", "short"} <= set(letters)
        assert {f"view('{name}')" for name in ("curves", "stages", "compare")} <= set(letters)
        assert "Deadline" in app.export_screenshot()
        assert set(letters) >= {w.id for w in base.focus_chain if w.region.area}
        rows = text_of(app).splitlines()
        for name in ("deadline", "nodes", "short"):
            region = base.query_one(f"#{name}").region
            assert rows[region.y][region.x - 1] == letters[name]
            assert below[region.y][region.x - 1] == " "
        if "glyphs" in options:
            assert text_of(app).isascii()


@pytest.mark.parametrize("size", values((80, 24), deep=[(120, 40)]))
async def test_the_sliders_have_the_same_letters_in_every_view(planner, size):
    async with planner().run_test(size=size) as pilot:
        for view in "12345678":
            await pilot.press(view)
            app = await settled(pilot)
            first = [str(target.widget.id) for target in targets_of(app.screen)[:5]]
            assert set(first) == {"deadline", "budget", "size", "nodes", "confidence"}
            assert first[0] == "deadline"


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_letter_leads_to_its_control(planner, size):
    session = FakeSession()
    async with planner(session, vi=True).run_test(size=size) as pilot:
        for name, kind in (("nodes", Slider), ("confidence", Slider), ("short", Table)):
            letters = await jumping(pilot)
            await pilot.press(letters[name])
            app = await settled(pilot)
            assert app.focused is app.query_one(f"#{name}", kind)
        before = app.state
        letters = await jumping(pilot)
        await pilot.press(letters["view('frontier')"])
        app = await settled(pilot)
        assert app.state.view == "frontier"
        assert session.builds == 1
        assert app.state.deadline_seconds == before.deadline_seconds


async def test_any_other_key_and_a_click_leave(planner):
    async with planner().run_test(size=(80, 24)) as pilot:
        for leave in ("escape", "8", "enter", "up"):
            await jumping(pilot)
            focused = pilot.app.screen_stack[0].focused
            await pilot.press(leave)
            app = await settled(pilot)
            assert len(app.screen_stack) == 1
            assert app.focused is focused
        await jumping(pilot)
        await pilot.click(offset=(40, 12))
        app = await settled(pilot)
        assert len(app.screen_stack) == 1
        await jumping(pilot)
        await pilot.resize_terminal(120, 40)
        app = await settled(pilot)
        assert len(app.screen_stack) == 1


async def test_letters_leave_with_the_places_that_they_stand_beside(planner, monkeypatch):
    """Of a screen on which the mouse was looked up before its first layout Textual sends no
    `Resize` at first: the letters stayed beside other places when the window was resized."""
    async with planner().run_test(size=(80, 24)) as pilot:
        with monkeypatch.context() as patched:
            patched.setattr(
                JumpScreen,
                "check_message_enabled",
                lambda _, message: not isinstance(message, Resize),
            )
            await jumping(pilot)
        await pilot.resize_terminal(120, 40)
        app = await settled(pilot)
        assert len(app.screen_stack) == 1


async def test_without_colours(planner, monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    async with planner().run_test(size=(80, 24)) as pilot:
        letters = await jumping(pilot)
        await pilot.press(letters["budget"])
        app = await settled(pilot)
        assert app.focused is app.query_one("#budget")


async def test_f_is_text_where_text_is_typed_and_can_be_another_key(planner):
    async with at_rest(planner(keys={"jump": "ctrl+o"}), (80, 24), "f") as (app, pilot):
        assert len(app.screen_stack) == 1
        await pilot.press("ctrl+o")
        await pilot.pause()
        assert isinstance(app.screen, JumpScreen)
        await pilot.press("escape", "enter", "f")
        await pilot.pause()
        assert len(app.screen_stack) == 1
