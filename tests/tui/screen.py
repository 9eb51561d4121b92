"""Reading a planner under test: waiting for its plan, and its screen as text."""

from asyncio import sleep
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from textual.events import MouseMove
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widget import Widget

from tui.app import PlannerApp
from tui.screens.dialog import Dialog

MAX_WAITS = 6000
"""A minute and more: other programs may have the machine, and no test asserts a time."""


async def waits() -> AsyncIterator[None]:
    """So often may a test look whether something has come about. A pause of the pilot asks every
    widget each time, and what is waited for would have to share its processor with that."""
    for _ in range(MAX_WAITS):
        yield
        await sleep(0.01)


def _at_rest(app: PlannerApp) -> bool:
    """Whether no key waits for another one (`KeyOrder`), no plan is built and no mix searched."""
    keys = app.message_queue_size or app.keys_queued
    return not (keys or app.busy or app.settling)


async def settled(pilot: Pilot[None]) -> PlannerApp:
    """The app once it is at rest and everything is drawn: also after that, as on a busy machine
    keys may be longer on their way than any pause."""
    app = pilot.app
    assert isinstance(app, PlannerApp)
    async for _ in waits():
        if _at_rest(app):
            await pilot.pause()
            await pilot.pause()
            if _at_rest(app):
                return app
    raise AssertionError(f"never at rest: {app.busy!r}, settling {app.settling}")


async def drag_to(
    pilot: Pilot[None], target: Widget | type[Widget] | str, offset: tuple[int, int]
) -> None:
    """The mouse goes there with its button down; `hover` is a mouse without one."""
    await pilot.pause()
    await pilot._post_mouse_events([MouseMove], target, offset, button=1)


@asynccontextmanager
async def at_rest(
    planner: PlannerApp, size: tuple[int, int], *keys: str
) -> AsyncIterator[tuple[PlannerApp, Pilot[None]]]:
    """A planner that runs in a terminal of so many columns and rows, once it is at rest; then these
    keys are pressed."""
    async with planner.run_test(size=size) as pilot:
        app = await settled(pilot)
        if keys:
            await pilot.press(*keys)
        yield app, pilot


async def opened(pilot: Pilot[None], key: str) -> Screen[object]:
    """The dialog that a key opens, once it stands."""
    await pilot.press(key)
    async for _ in waits():
        if isinstance(pilot.app.screen, Dialog) and pilot.app.screen.stands:
            break
    await pilot.pause()
    return pilot.app.screen


async def keyboard_is_seen(pilot: Pilot[None]) -> bool:
    """Whether something that is drawn comes to have the keyboard: what is hidden hears of it only
    after all else is settled."""
    app = await settled(pilot)
    async for _ in waits():
        if app.focused is not None and app.focused.region and app.focused.is_on_screen:
            return True
    return False


async def compared(pilot: Pilot[None]) -> PlannerApp:
    """The app once all models have answered in the evidence view."""
    app = await settled(pilot)
    async for _ in waits():
        asked = app.comparing.rows(app.answer) if app.answer else None
        if asked == [] or (asked and not app.comparing.waiting):
            break
    await pilot.pause()
    await pilot.pause()
    return app


async def advised(pilot: Pilot[None]) -> PlannerApp:
    """The app once the experiments of its answer have been worked out and drawn."""
    app = await settled(pilot)
    await pilot.pause()
    async for _ in waits():
        if not app.advising.waiting:
            break
    assert not app.advising.waiting
    await pilot.pause()
    await pilot.pause()
    return app


async def shows(pilot: Pilot[None], words: str, *, gone: bool = False) -> bool:
    """Whether the screen comes to show `words` (to show them no more): on a busy machine a scrolled
    text is drawn some time after its key."""
    app = pilot.app
    assert isinstance(app, PlannerApp)
    async for _ in waits():
        if (words in text_of(app)) is not gone:
            await pilot.pause()
            return True
    return False


def text_of(app: PlannerApp) -> str:
    """All rows of the screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join("".join(segment.text for segment in strip) for strip in strips)


def words_in(widget: Widget) -> str:
    """The visible words of a widget in one line, whatever rows they are wrapped to."""
    rows = [widget.render_line(y).text for y in range(widget.size.height)]
    return " ".join(" ".join(rows).split())


async def typed(pilot: Pilot[None], words: str) -> None:
    """Type characters one by one."""
    names = {" ": "space", "*": "asterisk", ".": "full_stop", "$": "dollar_sign", "/": "slash"}
    names |= {",": "comma", "-": "minus", "%": "percent_sign", "_": "underscore"}
    await pilot.press(*(names.get(character, character) for character in words))
