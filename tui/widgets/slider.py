"""A one-line slider: label, track and value; set by keys, mouse, wheel or typing a value with
units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.widgets.frame import Frame, FrameWidget
from tui.widgets.glyphs import Glyphs
from tui.widgets.line_edit import LineEdit
from tui.widgets.scales import Scale, Stops
from tui.widgets.slider_paint import Parts, SliderFace, paint, split


class Slider(FrameWidget, can_focus=True):
    """Chooses a number on a scale, one line high.

    A typed value may lie between stops; the next step lands on a stop again. `None` is "off" (a
    budget that is not set): Delete or Backspace switches off, moving switches on again.
    """

    STYLES: ClassVar[Mapping[str, str]] = {
        "base": "$foreground",
        "label": "$foreground",
        "track": "$text-disabled",
        "filled": "$text-primary",
        "knob": "bold $foreground",
        "value": "bold $foreground",
        "off": "$foreground-muted",
        "edit": "underline $foreground",
        "caret": "reverse $foreground",
        "error": "bold $text-error",
    }
    ANSI_STYLES: ClassVar[Mapping[str, str]] = {"track": "dim $text-disabled"}
    FOCUS_STYLES: ClassVar[Mapping[str, str]] = {
        "label": "bold $text-accent",
        "filled": "bold $text-accent",
        "knob": "bold $text-accent",
        "value": "bold $text-accent",
    }
    DEFAULT_CSS = """
    Slider {
        height: 1;
        width: 1fr;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Less", show=False),
        Binding("right", "step(1)", "More", show=False),
        Binding("shift+left,ctrl+left,pagedown", "stride(-1)", "Much less", show=False),
        Binding("shift+right,ctrl+right,pageup", "stride(1)", "Much more", show=False),
        Binding("home", "to_end(0)", "Least", show=False),
        Binding("end", "to_end(1)", "Most", show=False),
        Binding("enter", "edit", "Type a value", show=False),
        Binding("delete,backspace", "switch_off", "Off", show=False),
    ]

    @dataclass(eq=False, repr=False)
    class Changed(Message):
        """The user chose `value` (None: off); a later message replaces all that are queued."""

        slider: Slider
        value: float | None

        def can_replace(self, message: Message) -> bool:
            """Fifty queued steps cause one computation."""
            return isinstance(message, Slider.Changed) and message.slider is self.slider

    @dataclass(eq=False, repr=False)
    class StartUnknown(Message):
        """The slider was moved from off, and no sensible value is known yet."""

        slider: Slider

    @dataclass(eq=False, repr=False)
    class Typing(Message):
        """Typing a value has begun or ended (`editing`), whether or not it changed the value: other
        keys are valid now, and the notice about a refused text no longer applies."""

        slider: Slider

    def __init__(
        self,
        label: str,
        *,
        scale: Scale,
        stops: Stops,
        value: float | None,
        parse: Callable[[str], float],
        format: Callable[[float], str],
        errors: tuple[type[Exception], ...] = (ValueError,),
        allow_off: bool = False,
        start_unknown: bool = False,
        label_width: int = 12,
        value_width: int = 8,
        glyphs: Glyphs | None = None,
        id: str | None = None,
    ) -> None:
        """Create a slider.

        Args:
            label: shown before the track.
            scale: maps values to positions on the track.
            stops: where steps land.
            value: the first value, or None for off.
            parse: a value from typed text; raises one of `errors` with a message for the user.
            format: a value as text of at most `value_width` cells.
            errors: what `parse` raises for wrong text.
            allow_off: whether None may be chosen.
            start_unknown: whether the track is meaningless, so that from off only typing chooses
                a value; until `set_range`.
            label_width: cells for the label.
            value_width: cells for the value, at the right end.
        """
        super().__init__(glyphs=glyphs, id=id)
        self._label = label
        self._scale = scale
        self._stops = stops
        self._value = value
        self._last_value = value if value is not None or start_unknown else scale.value(0.5)
        self._start_unknown = start_unknown
        self._parse = parse
        self._format = format
        self._errors = errors
        self._allow_off = allow_off
        self._label_width = label_width
        self._value_width = value_width
        self._edit: LineEdit | None = None
        self._error = ""
        self._dragging = False

    @property
    def value(self) -> float | None:
        return self._value

    @property
    def editing(self) -> bool:
        return self._edit is not None

    @property
    def untouched(self) -> bool:
        """Whether the editor is open and nothing has been typed into it."""
        return self._edit is not None and (self._edit.selected or not self._edit.text)

    @property
    def error(self) -> str:
        """Why the last typed text was refused; empty when it was not."""
        return self._error

    def holds(self, value: float) -> bool:
        """Whether a value lies on the track."""
        return self._scale.low <= value <= self._scale.high

    def snapped(self, value: float) -> float:
        """The stop nearest to a value that comes from elsewhere, such as a dragged threshold."""
        low, high = self._stops.fine[0], self._stops.fine[-1]
        return self._stops.nearest(min(high, max(low, value)), self._scale)

    def set_value(self, value: float | None) -> None:
        """Show `value` without a message (undo, or a loaded state)."""
        self._remember(value)
        self.redraw()

    def set_range(
        self, scale: Scale, stops: Stops, value: float | None, *, start_unknown: bool = False
    ) -> None:
        """Use another scale (other data were opened); `start_unknown` as when it is created."""
        self._scale, self._stops, self._start_unknown = scale, stops, start_unknown
        self._last_value = value if value is not None or start_unknown else scale.value(0.5)
        self.set_value(value)

    def _remember(self, value: float | None) -> None:
        self._value = value
        if value is not None:
            self._last_value = value

    def _choose(self, value: float | None) -> None:
        """Take `value` from the user: show it and post it once."""
        self._error = ""
        changed = value != self._value
        self._remember(value)
        self.redraw()
        if changed:
            self.post_message(self.Changed(self, value))

    # Moving

    def _stays_off(self, *, returns: bool = False) -> bool:
        """Whether the slider is off, and nothing on its track is a sensible value; says so. A step
        `returns` to the last value, which may have been typed."""
        unknown = self._start_unknown and not (returns and self._last_value is not None)
        stays = self._value is None and unknown
        if stays:
            self.post_message(self.StartUnknown(self))
        return stays

    def _move(self, direction: int, *, coarse: bool) -> None:
        """One step; from off it returns to the last value."""
        if self._stays_off(returns=True):
            return
        if self._value is None:
            self._choose(self._last_value)
            return
        step = self._stops.after if direction > 0 else self._stops.before
        self._choose(step(self._value, coarse=coarse))

    def action_step(self, direction: int) -> None:
        self._move(direction, coarse=False)

    def action_stride(self, direction: int) -> None:
        self._move(direction, coarse=True)

    def action_to_end(self, end: int) -> None:
        """Move to the first (0) or last (1) stop."""
        if not self._stays_off():
            self._choose(self._stops.fine[-1 if end else 0])

    def action_switch_off(self) -> None:
        """Switch off, where that is allowed."""
        if self._allow_off:
            self._choose(None)

    # Typing

    def action_edit(self) -> None:
        """Open the editor on the displayed value."""
        text = "" if self._value is None else self._format(self._value).strip()
        self._edit = LineEdit.of(text)
        self._error = ""
        self.redraw()
        self.post_message(self.Typing(self))

    def _finish_edit(self) -> None:
        """Take the typed text; invalid text stays with the reason, and the old value is kept. The
        displayed value is rounded: where nothing was typed the exact value stays."""
        assert self._edit is not None
        if self._edit.selected:
            self._end_edit(self._value)
            return
        text = self._edit.text.strip()
        if not text and self._allow_off:
            self._end_edit(None)
            return
        try:
            value = self._parse(text)
        except self._errors as error:
            self._refuse(str(error))
            return
        if self.holds(value):
            self._end_edit(value)
        else:
            low, high = self._format(self._scale.low), self._format(self._scale.high)
            self._refuse(f"{low.strip()} to {high.strip()}")

    def _end_edit(self, value: float | None) -> None:
        self._stop_typing()
        self._choose(value)

    def _stop_typing(self) -> None:
        """Close the editor, and clear the reason of a refusal."""
        self._error = ""
        if self._edit is not None:
            self._edit = None
            self.post_message(self.Typing(self))

    def _refuse(self, reason: str) -> None:
        lines = reason.splitlines()
        self._error = lines[0] if lines else "not understood"
        self.redraw()

    def cancel_edit(self) -> None:
        """Close the editor; the value stays."""
        self._stop_typing()
        self.redraw()

    def check_consume_key(self, key: str, character: str | None) -> bool:
        """While typing, printable keys are text. No value begins with a space: it is left to its
        binding."""
        if character == " " and self.untouched:
            return False
        return self.editing and character is not None and character.isprintable()

    def on_key(self, event: events.Key) -> None:
        """While typing, keys edit; otherwise they are left to the bindings."""
        if self._edit is None:
            return
        if event.key == "enter":
            self._finish_edit()
        elif event.key == "escape":
            self.cancel_edit()
        else:
            typed = event.character if event.is_printable and event.character else None
            edited = self._edit.insert(typed) if typed else self._edit.press(event.key)
            if edited is None:
                return
            self._edit, self._error = edited, ""
            self.redraw()
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """While typing, pasted text is typed text; otherwise it is left to the app."""
        if self._edit is not None:
            event.stop()
            self.insert(event.text)

    def insert(self, text: str) -> None:
        """Type the first line of a text, into an editor that is opened for it where none is."""
        if self._edit is None:
            self.action_edit()
        first = next(iter(text.strip().splitlines()), "")
        self._edit = (self._edit or LineEdit()).insert("".join(filter(str.isprintable, first)))
        self._error = ""
        self.redraw()

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the focus mark; losing the focus discards typed text."""
        super().watch_has_focus(has_focus)
        if not has_focus:
            self._let_go()
            self._stop_typing()
        self.redraw()

    # Mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """On the track: move there and follow the mouse. On the value: open the editor."""
        offset = event.get_content_offset(self)
        if offset is None or event.button != 1:
            return
        event.stop()
        parts = self._parts(self.size.width)
        if offset.x >= parts.value:
            self.action_edit()
        elif parts.track <= offset.x < parts.track + parts.track_width:
            self._stop_typing()
            if self._stays_off():
                return
            self._dragging = True
            self.capture_mouse()
            self._move_to(offset.x)

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Follow the mouse while the button is down. Its release may not have been reported: on a
        slow line, or outside the window."""
        if not event.button:
            self._let_go()
        if self._dragging:
            event.stop()
            self._move_to(event.x - self.gutter.left)

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._dragging:
            event.stop()
            self._let_go()

    def _let_go(self) -> None:
        """Stop following the mouse; while it is captured no other widget gets its events."""
        if self._dragging:
            self._dragging = False
            self.release_mouse()

    def wheel(self, event: events.MouseEvent, rows: int) -> None:
        """A step: up is more."""
        event.stop()
        if self._edit is None:
            self._move(-rows, coarse=False)

    def _move_to(self, x: int) -> None:
        """Move to the stop nearest to cell `x` of the line."""
        parts = self._parts(self.size.width)
        position = (x - parts.track) / max(1, parts.track_width - 1)
        value = self._scale.value(min(1.0, max(0.0, position)))
        self._choose(self._stops.nearest(value, self._scale))

    # Drawing

    def draw(self, frame: Frame) -> None:
        paint(
            frame,
            SliderFace(
                label=self._label,
                focused=self.has_focus,
                position=None if self._value is None else self._scale.position(self._value),
                shown="off" if self._value is None else self._format(self._value),
                error=self._error,
                edit=self._edit,
            ),
            self._parts(frame.width),
            self._glyphs,
        )

    def _parts(self, width: int) -> Parts:
        return split(width, label_width=self._label_width, value_width=self._value_width)
