"""Pins and the Compare view: what is kept, how it differs, and the way back."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from screen import at_rest, settled, text_of

from tui import format as text
from tui.pins import Pin, free_name, input_differences, pin_of, with_pin, without_pin
from tui.state import PlanState
from tui.views import cluster_words, compare
from tui.views.marks import Marks

MARKS = Marks("@", "x", "!")
PLAN = SimpleNamespace(frontier=[SimpleNamespace(cost_usd=2.0)])
BASE = PlanState(
    sources=("/logs/run-1.zstd",), deadline_seconds=2700.0, deadline_chosen=True, view="compare"
)
FIRST = Pin("A", BASE, True, "4 × m5.xlarge", 1000.0, 800.0, 1300.0, 2.0, 0.95)
SECOND = Pin(
    "fast",
    replace(BASE, deadline_seconds=1800.0, spot=True, view="curves"),
    True,
    "9 × m5.xlarge",
    500.0,
    400.0,
    700.0,
    2.5,
    0.97,
    cost_low_usd=2.2,
    cost_high_usd=3.1,
    at_spot=True,
)


def test_pins_are_named_replaced_and_forgotten():
    assert free_name(()) == "A"
    pins = with_pin(with_pin((), FIRST), SECOND)
    assert free_name(pins) == "B"
    better = replace(FIRST, cost_usd=1.0)
    assert with_pin(pins, better) == (better, SECOND)
    assert without_pin(pins, "A") == (SECOND,)
    assert free_name(tuple(replace(FIRST, name=chr(65 + n)) for n in range(26))) is None


def test_there_are_as_many_pins_as_letters():
    pins = tuple(replace(FIRST, name=str(number)) for number in range(26))
    assert with_pin(pins, FIRST) == pins
    assert with_pin(pins[:25], FIRST) == (*pins[:25], FIRST)
    other = replace(pins[25], cost_usd=1.0)
    assert with_pin(pins, other) == (*pins[:25], other), "one that is there is replaced"


def test_inputs_differ_in_words():
    there = replace(FIRST, state=replace(BASE, deadline_seconds=None, sources=("/b/run-2.zstd",)))
    unset = replace(there, state=replace(there.state, deadline_chosen=False, category="sql"))
    assert input_differences(there, FIRST) == (
        "open run-2.zstd, not run-1.zstd",
        "deadline off, not 45m",
    )
    assert input_differences(unset, there) == (
        "deadline not set (A: off)",
        "category sql (A: not set)",
    )
    assert input_differences(SECOND, FIRST) == ("deadline 30m, not 45m", "spot on, not off")
    assert input_differences(FIRST, FIRST) == ()


def test_differences_are_to_the_first():
    first, second = compare.rows([FIRST, SECOND], MARKS, PLAN)
    assert [cell if isinstance(cell, str) else cell[0] for cell in first][4] == ""
    cells = [cell if isinstance(cell, str) else cell[0] for cell in second]
    assert cells[4] == f"-{text.seconds(500.0)}"
    assert cells[7] == "$2.20–$3.10"
    assert cells[8] == f"+{text.usd(0.5)}"
    assert cells[10] == "deadline, spot"
    unknown = replace(SECOND, cost_usd=None, seconds=None)
    assert (compare.more_seconds(unknown, FIRST), compare.more_usd(unknown, FIRST)) == ("–", "–")
    assert compare.more_usd(replace(SECOND, cost_usd=2.0), FIRST) == "same"
    assert compare.more_usd(replace(SECOND, cost_usd=2.0009), FIRST) == "same"
    assert compare.more_usd(replace(SECOND, cost_usd=2.002), FIRST) == f"+{text.usd_cell(0.002)}"
    assert compare.more_seconds(replace(SECOND, seconds=1000.00004), FIRST) == "same"


def test_times_that_are_written_alike_do_not_differ():
    """Two rows of 1m 34s were said to differ by 59 ms."""
    first = replace(FIRST, seconds=94.35)
    assert compare.more_seconds(replace(SECOND, seconds=94.41), first) == "same"
    assert compare.more_seconds(replace(SECOND, seconds=95.41), first) == "+1 s"
    # Two that are nearly a second apart, and two that are hardly, as the table rounds them.
    low, high = replace(FIRST, seconds=93.52), replace(SECOND, seconds=94.48)
    assert compare.more_seconds(high, low) == "same"
    assert compare.more_seconds(replace(high, seconds=94.52), high) == "+1 s"


def said(pin):
    """Of a plan against the first."""
    return " ".join(part for line in compare.about([FIRST, pin], 1) for part, _ in line)


def test_times_within_each_others_intervals_are_not_called_different():
    assert "overlap" not in said(SECOND)
    assert "overlap" in said(replace(SECOND, high=900.0))
    assert "overlap" not in said(replace(SECOND, low=None, high=None))
    assert "meets no goal" in said(replace(SECOND, meets=False))


def test_time_and_cost_say_what_they_lie_between_and_of_what_prices():
    assert "8m 20s (9 in 10 runs: 6.7 to 11.7 min) for $2.50 at spot prices ($2.20 to $3.10)" in (
        said(SECOND)
    )
    unsure = {"low": None, "high": None, "cost_low_usd": None, "cost_high_usd": None}
    assert "8m 20s (no interval) for $2.50: time" in said(replace(SECOND, **unsure, at_spot=False))
    unknown = {"seconds": None, "cost_usd": None, "p_deadline": None, "at_spot": False}
    assert "nothing, – for –: time –" in said(
        replace(SECOND, **unsure, **unknown, composition="nothing")
    )


def test_what_every_other_one_changes_is_said_below_the_list():
    """Where columns were few, two rows of one cluster told two costs, and not what they are for."""
    third = replace(SECOND, name="C", state=BASE)
    plans = [FIRST, SECOND, third]
    told = ["fast: deadline 30m, not 45m; spot on, not off.", "C: the same inputs."]
    assert [line[0][0] for line in compare.other_differences(plans, 0)] == told
    assert [line[0][0] for line in compare.other_differences(plans, 2)] == told[:1]
    assert compare.other_differences([FIRST], 0) == []


async def test_a_pin_is_the_answer_on_the_screen(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        best = app.answer.best
        await pilot.press("p")
        await pilot.pause()
        (pin,) = app.pins
        assert pin == pin_of("A", app.state, app.answer)
        told = ("seconds", "low", "high", "cost_usd", "cost_low_usd", "cost_high_usd")
        for name in (*told, "p_deadline", "instance"):
            assert getattr(pin, name) == getattr(best, name) is not None, name
        assert (pin.meets, pin.at_spot, pin.state) == (True, False, app.state)
        assert "pinned as A" in text_of(app)


async def test_a_pin_of_the_nearest_miss_and_one_of_spot_nodes_say_so(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await app.run_command_line("spot on")
        await app.run_command_line("deadline 1s")
        await settled(pilot)
        best = app.answer.best
        pin = pin_of("A", app.state, app.answer)
        assert (pin.meets, pin.at_spot) == (False, True)
        assert (pin.composition, pin.seconds) == (cluster_words.composition(best), best.seconds)
        nothing = SimpleNamespace(best=None, report=app.answer.report)
        assert pin_of("A", app.state, nothing) == Pin("A", app.state, False, "nothing")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_compare_and_back(planner, size):
    async with at_rest(planner(), size, "7") as (app, pilot):
        await pilot.pause()
        shown = text_of(app)
        assert "Nothing is pinned yet: p pins this plan." in shown
        assert any(
            " now " in row and text.usd_cell(app.answer.best.cost_usd) in row
            for row in shown.splitlines()
        )
        await pilot.press("1", "p")
        pinned = app.state
        await app.run_command_line("deadline 25m")
        await app.run_command_line("pin fast")
        await app.run_command_line("spot on")
        await pilot.press("7")
        await pilot.pause()
        shown = text_of(app)
        for name in ("A", "fast", "now"):
            assert any(f" {name} " in row for row in shown.splitlines())
        await pilot.press("down")
        await pilot.pause()
        assert "deadline 25m, not" in text_of(app)
        await pilot.press("up", "enter")
        await settled(pilot)
        assert app.state.deadline_seconds == pinned.deadline_seconds
        assert not app.state.spot
        assert app.state.view == "curves"
        await pilot.press("u")
        assert app.state.spot
        await pilot.press("7", "delete")
        await pilot.pause()
        assert [pin.name for pin in app.pins] == ["fast"]
        await app.run_command_line("unpin nothing")
        await pilot.pause()
        assert "pinned: fast" in text_of(app)
        await app.run_command_line("unpin all")
        await pilot.pause()
        assert app.pins == ()


async def test_going_back_to_the_plan_on_the_screen_promises_no_undo(planner):
    """It said that u goes to where one was; u took back the change before, or nothing."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        await app.run_command_line("deadline 25m")
        await pilot.press("p", "7")
        await settled(pilot)
        for row, told in (("home", "back at A; it is the plan"), ("end", "nothing changed")):
            app.action_view("compare")
            await settled(pilot)
            before, past = app.state, app.history.past
            await pilot.press(row, "enter")
            await settled(pilot)
            assert told in text_of(app)
            assert "where you were" not in text_of(app)
            assert app.state.deadline_seconds == before.deadline_seconds
            assert app.history.past == past


async def test_the_plan_of_now_follows_the_sliders(planner):
    async with at_rest(planner(), (120, 40), "p", "7") as (app, pilot):
        await pilot.pause()
        before = text_of(app)
        await app.run_command_line("deadline 20m")
        await settled(pilot)
        assert text_of(app) != before
        assert text.usd(app.answer.best.cost_usd) in text_of(app)


async def test_a_plan_is_pinned_once_unless_it_gets_another_name(planner):
    """Each press of the key added a row that was the same as the one above."""
    async with at_rest(planner(), (80, 24), "p", "2", "down", "p") as (app, pilot):
        await settled(pilot)
        assert [pin.name for pin in app.pins] == ["A"]
        assert "it is pinned already, as A" in text_of(app)
        await app.run_command_line("pin again")
        await settled(pilot)
        await app.run_command_line("deadline 20m")
        await pilot.press("p")
        await settled(pilot)
        assert [pin.name for pin in app.pins] == ["A", "again", "B"]


@pytest.mark.parametrize("size", [(80, 24), (100, 30)])
async def test_what_few_pins_leave_over_tells_in_what_each_differs(planner, size):
    """The last ones were cut off below a list with empty rows."""
    async with at_rest(planner(), size, "p", "right", "p", "s", "p", "right", "p") as (app, pilot):
        await settled(pilot)
        await pilot.press("7")
        await settled(pilot)
        compared = app._panels.prose("compared")
        assert len(compared.rows(compared.size.width - 4)) <= compared.size.height


async def test_what_cannot_be_pinned(planner):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        await app.run_command_line("pin now")
        await pilot.pause()
        assert app.pins == ()
        assert "choose another name" in text_of(app)
        await app.run_command_line("pin [b]x[/b]")
        await pilot.press("7")
        await pilot.pause()
        assert "[b]x[/b]" in text_of(app)


async def test_a_name_that_is_too_long_shows_how_it_ends(planner):
    """Names of a job's runs differ in their last letters, which were cut off."""
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        name = "warehouse-nightly-features-2026-07-"
        app.pins = tuple(replace(FIRST, name=f"{name}{day}") for day in (28, 29))
        await pilot.press("7")
        await settled(pilot)
        shown = text_of(app)
        assert "ware…-28  4 × m5.xlarge" in shown
        assert "ware…-29  4 × m5.xlarge" in shown
