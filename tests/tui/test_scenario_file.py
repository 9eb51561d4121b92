"""Pins in scenario and session files: the same after reading, and one line for what is wrong."""

from dataclasses import replace

import pytest
from screen import at_rest, settled, text_of
from test_pins import BASE, FIRST, SECOND

import engine
from tui.pins import MAX_PINS, Pin
from tui.state import PlanState
from tui.storage import scenario_store
from tui.storage.scenario_file import VERSION, SavedPlan, format_saved_plan, read_saved_plan

SAMPLE = "sales-report-small"
STATE = PlanState(sources=(SAMPLE,), deadline_seconds=2700.0, deadline_chosen=True)
BARE = Pin("a: [b] \u00e9", replace(BASE, view="curves"), False, "nothing")


def plain(pin):
    """The view is no part of a pin."""
    return replace(pin, state=replace(pin.state, view="curves"))


def test_pins_come_back_as_they_were(tmp_path):
    path = tmp_path / "x.yaml"
    kept = SavedPlan(STATE, (plain(FIRST), SECOND, BARE))
    path.write_text(format_saved_plan(kept, folder=tmp_path))
    assert read_saved_plan(path) == kept
    assert path.read_text().splitlines()[1] == f"version: {VERSION}"


def test_one_change_is_one_line(tmp_path):
    before = format_saved_plan(SavedPlan(STATE, (FIRST, SECOND)), folder=tmp_path).splitlines()
    changed = replace(SECOND, state=replace(SECOND.state, spot=False))
    after = format_saved_plan(SavedPlan(STATE, (FIRST, changed)), folder=tmp_path).splitlines()
    assert [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]] == [
        ("    spot: on", "    spot: off")
    ]


def test_a_file_without_pins_or_a_version_is_read(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(f"open: {SAMPLE}\ndeadline: 45m\n")
    assert read_saved_plan(path) == SavedPlan(STATE)


@pytest.mark.parametrize("version", [VERSION - 1, VERSION + 1])
def test_another_version_earlier_or_later_is_for_the_sparkplan_that_wrote_it(tmp_path, version):
    """An earlier one needed "a newer sparkplan"."""
    path = tmp_path / "x.yaml"
    path.write_text(f"open: {SAMPLE}\nversion: {version}\n")
    with pytest.raises(engine.EngineError) as caught:
        read_saved_plan(path)
    remedy = caught.value.remedy
    assert f"version {VERSION}" in remedy
    assert "the sparkplan that wrote it" in remedy
    assert "newer" not in remedy


@pytest.mark.parametrize(
    ("pins", "says"),
    [
        ("version: 99", r"x\.yaml:2: version 99"),
        ("version: 4", r"x\.yaml:2: version 4"),
        ("version: 0", r"x\.yaml:2: version 0"),
        ("version: soon", r"x\.yaml:2: version soon is none that this sparkplan knows"),
        ("version: 1.5", r"x\.yaml:2: version 1.5 is none"),
        ("pins: {name: A}", r"x\.yaml:2.*list"),
        ("pins: [A]", r"x\.yaml:2.*list"),
        ("pins: A", r"x\.yaml:2.*list"),
        ("pins:\n  - open: y", r"name is missing"),
        ("pins:\n  - name: now\n    open: y", r"x\.yaml:3.*'now'"),
        ("pins:\n  - name: A\n    deadline: 4m", r"open is missing"),
        ("pins:\n  - name: A\n    open: y", r"answer is missing"),
        ("pins:\n  - name: A\n    open: y\n    sport: on", r"x\.yaml:5.*sport"),
        ("pins:\n  - name: A\n    open: y\n    answer:\n      meets: 7", r"composition is missing"),
        ("pins:\n  - name: A\n    open: y\n    answer:\n      composition: n\n      meets: on\n"
         "      seconds: -1", r"x\.yaml:8.*seconds"),
        ("pins:\n  - name: A\n    open: y\n    answer:\n      composition: n\n      meets: on",
         r"at-spot is missing"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(tmp_path, pins, says):
    path = tmp_path / "x.yaml"
    path.write_text(f"open: {SAMPLE}\n{pins}\n")
    with pytest.raises(engine.EngineError, match=says) as caught:
        read_saved_plan(path)
    assert "\n" not in str(caught.value)


def pin_lines(name, *answer, at_spot="off"):
    inside = ("meets: on", "composition: 4 of them", *answer, f"at-spot: {at_spot}")
    return [f"  - name: {name}", "    open: y", "    answer:", *(f"      {one}" for one in inside)]


def written(tmp_path, *lines):
    path = tmp_path / "x.yaml"
    path.write_text("\n".join((f"open: {SAMPLE}", *lines)) + "\n")
    return path


@pytest.mark.parametrize("mix", [None, 1, 2])
def test_a_mix_is_kept_where_it_was_asked_for(tmp_path, mix):
    """On Dataproc, which starts no mix, sessions that held the usual one looked for it for ever."""
    kept = SavedPlan(replace(STATE, mix=mix), (replace(FIRST, state=replace(BASE, mix=mix)),))
    path = written(tmp_path)
    path.write_text(format_saved_plan(kept, folder=tmp_path))
    saved = read_saved_plan(path)
    assert saved.state.mix == mix
    assert [pin.state.mix for pin in saved.pins] == [mix]


def test_an_answer_may_be_nothing_known_or_zero(tmp_path):
    path = written(tmp_path, "pins:", *pin_lines("A"), *pin_lines("B", "in-time: 0", at_spot="on"))
    first, second = read_saved_plan(path).pins
    assert (first.p_deadline, first.at_spot, first.meets) == (None, False, True)
    assert (second.p_deadline, second.at_spot, second.seconds) == (0.0, True, None)


@pytest.mark.parametrize("value", ["-0.1", ".inf", "inf", ".nan", "nan", "soon"])
@pytest.mark.parametrize("key", ["seconds", "usd-high"])
def test_a_number_of_an_answer_is_finite_and_not_below_zero(tmp_path, key, value):
    path = written(tmp_path, "pins:", *pin_lines("A", f"{key}: {value}"))
    with pytest.raises(engine.EngineError, match=rf"x\.yaml:8.*{key} must be a number"):
        read_saved_plan(path)


def test_a_name_is_given_once_and_no_more_pins_than_letters(tmp_path):
    names = [f"p{number}" for number in range(MAX_PINS + 1)]
    full = [line for name in names[:-1] for line in pin_lines(name)]
    assert len(read_saved_plan(written(tmp_path, "pins:", *full)).pins) == MAX_PINS
    for twice in (names[0], names[-1]):
        lines = full if twice == names[-1] else pin_lines(names[0])
        with pytest.raises(engine.EngineError, match=f"'{twice}' cannot be the name"):
            read_saved_plan(written(tmp_path, "pins:", *lines, *pin_lines(twice)))


async def test_the_session_is_resumed_with_its_pins(planner):
    async with at_rest(planner(sources=(SAMPLE,)), (120, 40), "p") as (app, pilot):
        await app.run_command_line("deadline 25m")
        await app.run_command_line("pin fast")
        await settled(pilot)
    app.keep_session()
    kept = scenario_store.last_session()
    assert [pin.name for pin in kept.pins] == ["A", "fast"]
    # A deadline that is written down is one that was chosen.
    assert kept.pins == tuple(
        replace(pin, state=replace(pin.state, deadline_chosen=True)) for pin in app.pins
    )
    again = planner(start=kept.state, pins=kept.pins)
    async with at_rest(again, (120, 40), "7") as (_, pilot):
        await pilot.pause()
        assert " fast " in text_of(again)
        await again.run_command_line("unpin A")
        await again.run_command_line("pin other")
        await settled(pilot)
        await again.run_command_line("resume")
        await settled(pilot)
        assert [pin.name for pin in again.pins] == ["fast", "other", "A"]


@pytest.mark.parametrize("value", ["5", "1.01"])
def test_the_probability_of_an_answer_is_at_most_one(tmp_path, value):
    """Compare showed 500 % of the runs in time."""
    path = written(tmp_path, "pins:", *pin_lines("A", f"in-time: {value}"))
    with pytest.raises(engine.EngineError, match=r"x\.yaml:8.*in-time must be a share from 0 to 1"):
        read_saved_plan(path)
