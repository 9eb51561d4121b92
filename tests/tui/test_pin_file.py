"""Pins in scenario and session files: the same after reading, and one line for what is wrong."""

from dataclasses import replace

import pytest
from screen import settled, text_of
from test_pins import BASE, FIRST, SECOND

import engine
from tui import keeping
from tui.pin_file import VERSION, Kept, format_kept, read_kept
from tui.pins import Pin
from tui.state import PlanState

SAMPLE = "sales-report-small"
STATE = PlanState(sources=(SAMPLE,), deadline_seconds=2700.0, deadline_chosen=True)
BARE = Pin("a: [b] \u00e9", replace(BASE, view="curves"), False, "nothing")


def plain(pin):
    """The view is no part of a pin."""
    return replace(pin, state=replace(pin.state, view="curves"))


def test_pins_come_back_as_they_were(tmp_path):
    path = tmp_path / "x.yaml"
    kept = Kept(STATE, (plain(FIRST), SECOND, BARE))
    path.write_text(format_kept(kept, folder=tmp_path))
    assert read_kept(path) == kept
    assert path.read_text().splitlines()[1] == f"version: {VERSION}"


def test_one_change_is_one_line(tmp_path):
    before = format_kept(Kept(STATE, (FIRST, SECOND)), folder=tmp_path).splitlines()
    changed = replace(SECOND, state=replace(SECOND.state, spot=False))
    after = format_kept(Kept(STATE, (FIRST, changed)), folder=tmp_path).splitlines()
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == [
        ("    spot: on", "    spot: off")
    ]


def test_a_file_of_before_pins_is_read(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(f"open: {SAMPLE}\ndeadline: 45m\n")
    assert read_kept(path) == Kept(STATE)


@pytest.mark.parametrize(
    ("pins", "says"),
    [
        ("version: 99", r"x\.yaml:2: version 99"),
        ("version: soon", r"x\.yaml:2"),
        ("pins: A", r"x\.yaml:2.*list"),
        ("pins:\n  - open: y", r"name is missing"),
        ("pins:\n  - name: now\n    open: y", r"x\.yaml:3.*'now'"),
        ("pins:\n  - name: A\n    deadline: 4m", r"open is missing"),
        ("pins:\n  - name: A\n    open: y", r"answer is missing"),
        ("pins:\n  - name: A\n    open: y\n    sport: on", r"x\.yaml:5.*sport"),
        ("pins:\n  - name: A\n    open: y\n    answer:\n      meets: 7", r"composition is missing"),
        ("pins:\n  - name: A\n    open: y\n    answer:\n      composition: n\n      meets: on\n"
         "      seconds: -1", r"x\.yaml:8.*seconds"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(tmp_path, pins, says):
    path = tmp_path / "x.yaml"
    path.write_text(f"open: {SAMPLE}\n{pins}\n")
    with pytest.raises(engine.EngineError, match=says) as caught:
        read_kept(path)
    assert "\n" not in str(caught.value)


async def test_the_session_is_resumed_with_its_pins(planner):
    app = planner(sources=(SAMPLE,))
    async with app.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("p")
        await app.run_line("deadline 25m")
        await app.run_line("pin fast")
    app.keep_session()
    kept = keeping.last_session()
    assert [pin.name for pin in kept.pins] == ["A", "fast"]
    # A deadline that is written down is one that was chosen.
    assert kept.pins == tuple(
        replace(pin, state=replace(pin.state, deadline_chosen=True)) for pin in app.pins
    )
    again = planner(start=kept.state, pins=kept.pins)
    async with again.run_test(size=(120, 40)) as pilot:
        await settled(pilot)
        await pilot.press("7")
        await pilot.pause()
        assert " fast " in text_of(again)
        await again.run_line("unpin A")
        await again.run_line("pin other")
        await again.run_line("resume")
        await settled(pilot)
        assert [pin.name for pin in again.pins] == ["fast", "other", "A"]
