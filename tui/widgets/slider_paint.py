"""Paints a slider: focus mark, label, track and value in one line of cells."""

from __future__ import annotations

from typing import NamedTuple

from tui.widgets.frame import Frame
from tui.widgets.glyphs import Glyphs
from tui.widgets.line_edit import LineEdit
from tui.widgets.text import Align, fit, plain

_MIN_TRACK = 4


class Parts(NamedTuple):
    """First cell and width of each part of the line."""

    label: int
    track: int
    track_width: int
    value: int
    value_width: int


class SliderFace(NamedTuple):
    """What a slider displays.

    Args:
        position: position of the knob on the track, from 0 to 1; None when off.
        shown: the value as text. error: why typed text was refused. edit: what is being typed.
    """

    label: str
    focused: bool
    position: float | None
    shown: str
    error: str
    edit: LineEdit | None


def split(width: int, *, label_width: int, value_width: int) -> Parts:
    """Divide `width` cells; the track shrinks last, down to its least width."""
    value_width = min(value_width, max(1, width - _MIN_TRACK - 2))
    label_width = min(label_width, max(0, width - value_width - _MIN_TRACK - 4))
    track = 2 + label_width + (1 if label_width else 0)
    value = width - value_width
    return Parts(2, track, max(0, value - 1 - track), value, value_width)


def paint(frame: Frame, face: SliderFace, parts: Parts, glyphs: Glyphs) -> None:
    """Paint focus mark, label, track and value; while typing the editor and any error."""
    frame.put(0, 0, glyphs.focus if face.focused else " ", "label")
    if face.error:
        # In place of the label: whoever types knows which slider this is.
        width = parts.value - 1 - parts.label
        frame.put(parts.label, 0, _fitted(face.error, width, glyphs), "error")
    else:
        label = _fitted(face.label, parts.track - 1 - parts.label, glyphs)
        frame.put(parts.label, 0, label, "label")
        _paint_track(frame, face.position, parts, glyphs)
    if face.edit is not None:
        _paint_editor(frame, face.edit, parts, glyphs)
    else:
        cut = _fitted(face.shown, parts.value_width, glyphs, "right")
        frame.put(parts.value, 0, cut, "off" if face.position is None else "value")


def _fitted(text: str, width: int, glyphs: Glyphs, align: Align = "left") -> str:
    """Untrusted text in exactly `width` cells."""
    safe = plain(text, ascii_only=glyphs.ascii_only)
    return fit(safe, width, align=align, ellipsis=glyphs.ellipsis)


def _paint_track(frame: Frame, position: float | None, parts: Parts, glyphs: Glyphs) -> None:
    width = parts.track_width
    frame.put(parts.track, 0, glyphs.track * width, "track")
    if position is None or width < 1:
        return
    knob = round(min(1.0, max(0.0, position)) * (width - 1))
    frame.put(parts.track, 0, glyphs.filled * knob, "filled")
    frame.put(parts.track + knob, 0, glyphs.knob, "knob")


def _paint_editor(frame: Frame, edit: LineEdit, parts: Parts, glyphs: Glyphs) -> None:
    """The typed text with a caret cell, in place of the value."""
    safe = LineEdit(plain(edit.text, ascii_only=glyphs.ascii_only), edit.cursor)
    text, cursor = safe.window(parts.value_width)
    frame.put(parts.value, 0, fit(text, parts.value_width), "edit")
    if edit.selected:
        frame.put(parts.value, 0, text, "caret")
    under = text[cursor] if cursor < len(text) else " "
    frame.put(parts.value + cursor, 0, under, "caret")
