"""The slider by keys, mouse, wheel and typing."""

from typing import ClassVar

import pytest
from screen import drag_to
from textual import events
from textual.app import App
from textual.binding import BindingType
from textual.widgets import Static

from tui.widgets.glyphs import ASCII, UNICODE
from tui.widgets.numbers import time_text
from tui.widgets.scales import DiscreteScale, LogScale, discrete_stops, log_stops
from tui.widgets.slider import Slider

WIDTH = 60
TRACK_START = 15
TRACK_END = WIDTH - 8 - 2


def parse(text):
    """Minutes and hours: "45m", "2h"."""
    units = {"m": 60.0, "h": 3600.0}
    if text[-1:] not in units or not text[:-1].isdigit():
        raise ValueError(f"{text!r} is not a duration")
    return float(text[:-1]) * units[text[-1]]


def slider(value=2700.0, **options):
    return Slider(
        "Deadline",
        scale=LogScale(300, 86400),
        stops=log_stops(300, 86400, "time", least=300),
        value=value,
        parse=parse,
        format=time_text,
        glyphs=options.pop("glyphs", UNICODE),
        id="deadline",
        **options,
    )


class SliderApp(App):
    CSS = f"Slider {{ width: {WIDTH}; }}"
    BINDINGS: ClassVar[list[BindingType]] = [("q", "quit", "Quit"), ("1", "never", "View")]

    def __init__(self, widget):
        super().__init__()
        self.widget = widget
        self.values = []

    def compose(self):
        yield self.widget
        yield Static("below")

    def on_slider_changed(self, message):
        assert message.slider.id == "deadline"
        self.values.append(message.value)

    def action_never(self):
        raise AssertionError("a typed digit reached the app")


def line(widget):
    return widget.render_line(0).text


@pytest.fixture
async def driven():
    app = SliderApp(slider(allow_off=True))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        yield app, pilot


async def press(pilot, *keys):
    await pilot.press(*keys)
    await pilot.pause()


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        (["right"], "50m"),
        (["left"], "40m"),
        (["right"] * 4, "1h 05m"),
        (["shift+right"], "1h"),
        (["ctrl+left"], "30m"),
        (["pageup"], "1h"),
        (["pagedown"], "30m"),
        (["home"], "5m"),
        (["home", "left"], "5m"),
        (["end"], "1d"),
    ],
)
async def test_keys(driven, keys, shown):
    app, pilot = driven
    await press(pilot, *keys)
    assert time_text(app.widget.value) == shown
    assert app.values[-1] == app.widget.value
    assert line(app.widget).endswith(f" {shown}")


async def test_what_it_looks_like(driven):
    app, pilot = driven
    text = line(app.widget)
    assert len(text) == WIDTH
    assert text.startswith("▸ Deadline")
    assert text.count("●") == 1
    await press(pilot, "home")
    assert line(app.widget)[TRACK_START] == "●"
    await press(pilot, "end")
    assert line(app.widget)[TRACK_END] == "●"


async def test_a_step_beyond_the_end_tells_nobody(driven):
    app, pilot = driven
    await press(pilot, "home", "left", "home")
    assert app.values == [300.0]


def test_what_others_propose_is_held_on_the_track():
    widget = slider()
    assert [widget.snapped(value) for value in (0.0, 2710.0, 1e9)] == [300.0, 2700.0, 86400.0]


async def test_another_range_is_where_one_that_is_off_begins(driven):
    """Other evidence was opened: the value of the one before would be far off."""
    app, pilot = driven
    app.widget.set_range(LogScale(1.0, 100.0), log_stops(1.0, 100.0, "time"), None)
    await press(pilot, "right")
    assert app.widget.value == pytest.approx(10.0)


def test_a_change_stands_for_others_of_the_same_slider_alone():
    one, other = slider(), slider()
    assert Slider.Changed(one, 1.0).can_replace(Slider.Changed(one, 2.0))
    assert not Slider.Changed(one, 1.0).can_replace(Slider.Changed(other, 2.0))


async def test_a_typed_value(driven):
    app, pilot = driven
    await press(pilot, "enter", "ctrl+u", "1", "0", "0", "m")
    assert app.widget.editing
    assert app.values == []
    assert "100m" in line(app.widget)
    await press(pilot, "enter")
    assert app.values == [6000.0]
    assert not app.widget.editing


@pytest.mark.parametrize(
    ("typed", "reason"), [("soon", "'soon' is not a duration"), ("99h", "5m to 1d")]
)
async def test_a_wrong_text_says_why_and_keeps_the_value(driven, typed, reason):
    app, pilot = driven
    await press(pilot, "enter", "ctrl+u", *typed, "enter")
    assert reason in line(app.widget)
    assert typed in line(app.widget)
    assert (app.values, app.widget.value) == ([], 2700.0)
    await press(pilot, "backspace")
    assert reason not in line(app.widget)
    await press(pilot, "escape")
    assert not app.widget.editing
    assert line(app.widget).endswith(" 45m")


@pytest.mark.parametrize(("typed", "value"), [("5m", 300.0), ("24h", 86400.0)])
async def test_both_ends_can_be_typed(driven, typed, value):
    app, pilot = driven
    await press(pilot, "enter", *typed, "enter")
    assert app.values == [value]


async def test_typing_goes_on_whatever_does_not_edit(driven):
    """Keys without a meaning in a line, and the wheel; a click on the track ends it."""
    app, pilot = driven
    await press(pilot, "enter", "9", "up", "f2")
    await pilot._post_mouse_events([events.MouseScrollUp], widget=Slider, offset=(20, 0))
    assert app.widget.editing
    assert "9" in line(app.widget)
    assert app.widget.value == 2700.0
    assert not app.widget.check_consume_key("ctrl+x", "\x18")
    await pilot.click(Slider, offset=(TRACK_START, 0))
    assert not app.widget.editing
    assert app.widget.value == 300.0


async def test_the_first_key_replaces_the_shown_value(driven):
    app, pilot = driven
    await press(pilot, "enter", "2", "h", "enter")
    assert app.values == [7200.0]
    await press(pilot, "enter", "backspace", "3", "h", "enter")
    assert app.values == [7200.0, 10800.0]


@pytest.mark.parametrize("value", [3605.0, 5430.4])
async def test_a_value_with_more_digits_than_are_shown_is_not_rounded_by_looking_at_it(value):
    app = SliderApp(slider(value))
    async with app.run_test() as pilot:
        await press(pilot, "enter", "enter")
        assert (app.values, app.widget.value, app.widget.editing) == ([], value, False)


async def test_editing_keys(driven):
    app, pilot = driven
    await press(pilot, "enter", "home", "delete", "3", "end", "backspace", "m", "left", "right")
    await press(pilot, "enter")
    assert app.values == [35 * 60.0]


async def test_pasted_text_is_typed_text(driven):
    app, pilot = driven
    await press(pilot, "enter", "ctrl+u")
    app.widget.post_message(events.Paste("2\x1bh\n"))
    await press(pilot, "enter")
    assert app.values == [7200.0]


async def test_leaving_cancels_typing(driven):
    app, pilot = driven
    await press(pilot, "enter", "9")
    app.set_focus(None)
    await pilot.pause()
    assert not app.widget.editing
    assert (app.values, app.widget.value) == ([], 2700.0)


async def test_off_and_on_again(driven):
    app, pilot = driven
    await press(pilot, "delete")
    assert (app.values, app.widget.value) == ([None], None)
    assert line(app.widget).endswith("off")
    assert "●" not in line(app.widget)
    await press(pilot, "right")
    assert app.values == [None, 2700.0]
    await press(pilot, "enter", "ctrl+u", "enter")
    assert app.values[-1] is None
    # What is off is typed from an empty line, and an empty line is off.
    await press(pilot, "enter", "enter")
    assert not app.widget.editing
    assert app.widget.value is None


async def test_what_must_be_set_cannot_be_switched_off():
    app = SliderApp(slider())
    async with app.run_test() as pilot:
        await press(pilot, "delete", "backspace", "enter", "ctrl+u", "enter")
        assert app.widget.editing
        assert (app.values, app.widget.value) == ([], 2700.0)


async def test_a_button_that_was_let_go_unseen_drags_no_longer(driven):
    """The slider went with the mouse until the next click."""
    app, pilot = driven
    await pilot.mouse_down(Slider, offset=(TRACK_START + 5, 0))
    await drag_to(pilot, Slider, (TRACK_END, 0))
    await pilot.hover(Static, offset=(TRACK_START, 3))
    await pilot.hover(Static, offset=(TRACK_START + 9, 3))
    assert app.mouse_captured is None
    assert app.widget.value == 86400


async def test_click_and_drag(driven):
    app, pilot = driven
    await pilot.click(Slider, offset=(TRACK_START, 0))
    await pilot.pause()
    assert app.widget.value == 300
    await pilot.mouse_down(Slider, offset=(TRACK_START + 5, 0))
    await drag_to(pilot, Slider, (TRACK_END, 0))
    await pilot.pause()
    assert app.widget.value == 86400
    await drag_to(pilot, Static, (WIDTH + 10, 3))
    await pilot.mouse_up(Static, offset=(WIDTH + 10, 3))
    await pilot.hover(Slider, offset=(TRACK_START, 0))
    await pilot.pause()
    assert app.widget.value == 86400
    assert set(app.values) <= set(app.widget._stops.fine)


async def test_without_the_keyboard_it_lets_the_mouse_go(driven):
    """It kept it for good: no click reached anything else any more."""
    app, pilot = driven
    await pilot.mouse_down(Slider, offset=(TRACK_START + 5, 0))
    assert app.mouse_captured is app.widget
    app.set_focus(None)
    await pilot.pause()
    before = app.widget.value
    await drag_to(pilot, Slider, (TRACK_END, 0))
    await pilot.mouse_up(Slider, offset=(TRACK_END, 0))
    assert app.mouse_captured is None
    assert app.widget.value == before


async def test_only_the_first_button_moves_it(driven):
    app, pilot = driven
    await pilot.click(Slider, offset=(TRACK_START, 0), button=3)
    assert app.values == []


async def test_a_drag_beyond_the_track_ends_at_its_ends():
    shares = (0.5, 0.9, 0.99)
    widget = Slider(
        "Sure",
        scale=DiscreteScale(shares),
        stops=discrete_stops(shares),
        value=0.9,
        parse=float,
        format=str,
        glyphs=UNICODE,
        id="deadline",
    )
    app = SliderApp(widget)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.mouse_down(Slider, offset=(TRACK_START + 5, 0))
        await drag_to(pilot, Static, (WIDTH + 10, 3))
        await pilot.pause()
        assert widget.value == 0.99
        await drag_to(pilot, Static, (0, 3))
        await pilot.mouse_up(Static, offset=(0, 3))
        assert widget.value == 0.5


async def test_a_click_on_the_value_types(driven):
    app, pilot = driven
    await pilot.click(Slider, offset=(WIDTH - 2, 0))
    assert app.widget.editing


async def test_the_wheel_steps(driven):
    app, pilot = driven
    await pilot._post_mouse_events([events.MouseScrollUp], widget=Slider, offset=(20, 0))
    await pilot._post_mouse_events([events.MouseScrollUp], widget=Slider, offset=(20, 0))
    await pilot._post_mouse_events([events.MouseScrollDown], widget=Slider, offset=(20, 0))
    await pilot.pause()
    assert time_text(app.widget.value) == "50m"


async def test_fifty_queued_steps_cause_few_messages(driven):
    app, pilot = driven
    for _ in range(50):
        app.post_message(events.Key("right", None))
    await pilot.pause()
    await pilot.pause()
    assert app.widget.value == app.values[-1] == 86400
    assert len(app.values) <= 3


async def test_a_step_refreshes_only_the_cells_between(driven):
    app, _ = driven
    regions = []
    original = app.widget.refresh
    app.widget.refresh = lambda *changed, **options: (
        regions.extend(changed),
        original(*changed, **options),
    )[1]
    before = line(app.widget)
    app.widget.action_step(1)
    after = line(app.widget)
    changed = [x for x, (a, b) in enumerate(zip(before, after, strict=True)) if a != b]
    assert regions == [(changed[0], 0, changed[-1] + 1 - changed[0], 1)]
    assert changed[0] > TRACK_START


async def test_values_set_by_the_app_are_not_told(driven):
    app, pilot = driven
    app.widget.set_value(3600.0)
    await pilot.pause()
    assert app.values == []
    assert line(app.widget).endswith(" 1h")
    app.widget.set_range(DiscreteScale((1, 60, 120)), discrete_stops((1, 60, 120)), 60)
    await press(pilot, "right")
    assert app.values == [120]


async def test_without_colour_and_in_ascii(monkeypatch):
    monkeypatch.setenv("NO_COLOR", "1")
    app = SliderApp(slider(glyphs=ASCII))
    async with app.run_test(size=(80, 24)) as pilot:
        for keys in (["right"], ["enter"], ["x", "enter"], ["escape"], ["delete"]):
            await press(pilot, *keys)
            strip = app.widget.render_line(0)
            assert strip.text.isascii()
            assert all(segment.style is not None for segment in strip)


@pytest.mark.parametrize("width", [1, 5, 12, 20, 30])
async def test_a_narrow_slider_still_draws(width):
    widget = slider()
    app = SliderApp(widget)
    async with app.run_test(size=(80, 24)) as pilot:
        widget.styles.width = width
        await press(pilot, "right", "enter", "x", "enter")
        assert len(line(widget)) == width
