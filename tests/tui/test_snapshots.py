"""Each view at every size as it was when somebody looked at it and liked it.

After a change that is meant: SPARKPLAN_TESTS=deep pytest tests/tui/test_snapshots.py
--snapshot-update, then look.
"""

from itertools import product

import pytest
from depth import DEEP
from fakes import FakeSession, profile, without_stages
from screen import advised, compared, settled

SIZES = {"80x24": (80, 24), "120x40": (120, 40)}
ALL_SIZES = {**SIZES, "200x60": (200, 60)}
LOOKS = {
    "sixteen": {"theme": "ansi-dark"},
    "ascii": {"theme": "ansi-light", "glyphs": "ascii"},
}
VIEWS = {
    "curves": ("1",),
    "crosshair": ("p", "s", "v", "right", "right", "+"),
    "compositions": ("2", "down"),
    "frontier": ("3", "up", "up"),
    "stages": ("4",),
    "evidence": ("5",),
    "workflow": ("6",),
    "compare": ("p", "s", "p", "home", "end", "left", "7", "down"),
    "experiments": ("8", "down"),
}
SCREENS = {
    "jump": ("f",),
    "help": ("question_mark",),
    "palette": ("ctrl+p",),
    "types": ("slash",),
    "export": ("e",),
    "limits": ("b",),
    "sorted": ("2", "c"),
    "filter": ("2", "slash"),
    "filtered": ("4", "slash", "f", "i", "t", "enter"),
}


def after(*keys):
    """Waits for the plan, presses keys, waits after each for what it brings."""

    async def run(pilot):
        await settled(pilot)
        for key in keys:
            await pilot.press(key)
            app = await settled(pilot)
            if app.state.view == "evidence":
                await compared(pilot)
            if app.state.view == "experiments":
                await advised(pilot)

    return run


def drawn_at(place, column):
    """Of looks that are drawn at one size: another one for each view."""
    return place == column % len(ALL_SIZES)


def each_size():
    """In the ordinary run every view at 80 and at 120 columns, a third of them at 200."""
    for (place, size), (column, view) in product(enumerate(ALL_SIZES), enumerate(VIEWS)):
        is_drawn = DEEP or size in SIZES or drawn_at(place, column)
        yield pytest.param(size, view, marks=skipped_unless(is_drawn))


def skipped_unless(is_drawn):
    """Skipped, not left out: pytest would call the files of those unused."""
    return pytest.mark.skipif(not is_drawn, reason="drawn in the deep run")


@pytest.mark.parametrize(("size", "view"), each_size())
def test_views(snap_compare, planner, size, view):
    size = ALL_SIZES[size]
    assert snap_compare(planner(), terminal_size=size, run_before=after(*VIEWS[view]))


def pairs():
    """In the ordinary run each view in each look at one size, and each look at every size: what
    looks differ in are colours and characters, and what sizes differ in is in `test_views`."""
    for (row, look), (place, size), (column, view) in product(
        enumerate(LOOKS), enumerate(ALL_SIZES), enumerate(VIEWS)
    ):
        is_drawn = DEEP or drawn_at(place, row + column)
        yield pytest.param(look, size, view, marks=skipped_unless(is_drawn))


@pytest.mark.parametrize(("look", "size", "view"), pairs())
def test_views_of_few_colours_and_characters(snap_compare, planner, look, size, view):
    app, size = planner(**LOOKS[look]), ALL_SIZES[size]
    assert snap_compare(app, terminal_size=size, run_before=after(*VIEWS[view]))


@pytest.mark.parametrize("size", SIZES)
def test_a_mix(snap_compare, planner, size):
    session = FakeSession(evidence=without_stages())
    app = planner(session, mix=2, deadline_seconds=1200.0)
    assert snap_compare(app, terminal_size=SIZES[size], run_before=after())


@pytest.mark.parametrize("size", SIZES)
def test_an_impossible_goal(snap_compare, planner, size):
    assert snap_compare(planner(), terminal_size=SIZES[size], run_before=after("home"))


@pytest.mark.parametrize("size", SIZES)
def test_a_log_that_does_not_say_where_it_ran(snap_compare, planner, size):
    session = FakeSession(evidence=profile(ran_on=None, runs=1))
    assert snap_compare(planner(session), terminal_size=SIZES[size], run_before=after())


def test_the_cost_chart_of_a_small_terminal(snap_compare, planner):
    keys = ("c", "tab", "end", "left", "left")
    assert snap_compare(planner(), terminal_size=(80, 24), run_before=after(*keys))


@pytest.mark.parametrize("screen", SCREENS)
def test_screens(snap_compare, planner, screen):
    assert snap_compare(planner(), terminal_size=(80, 24), run_before=after(*SCREENS[screen]))
