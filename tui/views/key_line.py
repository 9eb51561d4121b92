"""The keys at the foot: first those of the focused widget, then those of the app."""

from __future__ import annotations

from typing import NamedTuple

from textual.widget import Widget

from tui.state import View
from tui.views import compositions
from tui.views.pages import page
from tui.views.prose import Prose
from tui.widgets.chart import Chart
from tui.widgets.slider import Slider
from tui.widgets.table import Table

SCROLLED = ("gantt", "stage-gantt")
"""Charts that scroll like texts."""

ENTER = {"inputs": "change", "frontier-list": "deadline", "pins": "return", "models": "use"}
"""What Enter does in a table, where it does anything."""

CHARTED: tuple[View, ...] = ("curves", "frontier")
"""Views with charts that have a crosshair."""

CLEARED = ("deadline", "budget")
"""Sliders that can be switched off."""

OF_TYPES = ("inputs", "short")
"""Tables in which `/` chooses the candidate types; in every other one it filters the rows."""

FEW = ("models",)
"""Tables of so few rows that where columns are few the next panel takes precedence over a
filter."""


class Key(NamedTuple):
    """A key, what it does, and the app's action that a click on it runs ("" for none)."""

    key: str
    what: str
    action: str = ""


NEXT = Key("tab", "next")
OPEN, EXPORT = Key("o", "open", "open"), Key("e", "export", "export")
UNDO, JUMP = Key("u", "undo", "undo"), Key("f", "jump", "jump")
TYPES, FILTER = Key("/", "types", "filter"), Key("/", "filter", "filter")
COPY, QUIT = Key("y", "copy", "copy"), Key("^q", "quit", "quit")
PIN, COMMAND = Key("p", "pin", "pin"), Key(":", "command", "command")
READ = Key("v", "read", "crosshair")
ZOOM_ALL, LOG_Y = Key("a", "all", "zoom('all')"), Key("Y", "log", "log('y')")
SAVE = Key("E", "save", "save_chart")

TYPED = (Key("⏎", "take"), Key("esc", "cancel"))
"""Keys while a value is typed into a slider: every other key is text."""


def list_at(focused: Widget | None, view: View) -> str:
    """The id of the list that `/` filters; empty where it chooses the candidate types: among the
    inputs, and in the Curves view."""
    if isinstance(focused, Table) and focused.id not in OF_TYPES:
        return str(focused.id)
    if view == "compositions":
        return page(view).filtered
    if focused is None or isinstance(focused, Slider) or focused.id in ("inputs", "why"):
        return ""
    return page(view).filtered


def keys(focused: Widget | None, view: View, *, narrow: bool) -> tuple[list[Key], list[Key]]:
    """The keys at the left, the most specific first, and those at the right end. With few columns,
    the keys that every list has give way to undo and jump, which nobody could guess."""
    if isinstance(focused, Slider) and focused.editing:
        return list(TYPED), [QUIT]
    focused_keys = _narrow(focused) if narrow else _wide(focused)
    slash = FILTER if list_at(focused, view) else TYPES
    if not narrow:
        read = [READ] if view in CHARTED and not isinstance(focused, Chart) else []
        return [*focused_keys, slash, OPEN, EXPORT, UNDO, JUMP, COPY, PIN, *read, COMMAND], [
            Key("^p", "actions", "palette"),
            QUIT,
        ]
    right_keys = [Key("^p", "more", "palette"), QUIT]
    if isinstance(focused, Chart):
        return [*focused_keys, UNDO, JUMP], right_keys
    if isinstance(focused, Table):
        few = slash is TYPES or focused.id in FEW
        return [
            *focused_keys,
            *([] if few else [slash]),
            EXPORT,
            UNDO,
            JUMP,
            NEXT,
            OPEN,
        ], right_keys
    return [
        *focused_keys,
        *([] if slash is TYPES else [slash]),
        OPEN,
        EXPORT,
        UNDO,
        JUMP,
        NEXT,
    ], right_keys


def _wide(focused: Widget | None) -> list[Key]:
    if isinstance(focused, Slider):
        off = [Key("del", "off")] if focused.id in CLEARED else []
        return [Key("← →", "step"), Key("⇧← →", "big"), Key("⏎", "type"), *off, NEXT]
    if isinstance(focused, Table):
        choose = Key("↑ ↓", "choose")
        if focused.id == "full":
            return [choose, *(Key(*key) for key in compositions.KEYS)]
        forget = [Key("del", "forget", "unpin")] if focused.id == "pins" else []
        return [*_of_table(focused), *forget, choose, Key("← →", "columns"), NEXT]
    if isinstance(focused, Chart):
        zoom = (Key("+", "zoom", "zoom('in')"), Key("-", "out", "zoom('out')"))
        return [Key("← →", "read"), *zoom, ZOOM_ALL, LOG_Y, SAVE]
    return [Key("↑ ↓", "scroll"), NEXT] if _scrolls(focused) else []


def _narrow(focused: Widget | None) -> list[Key]:
    if isinstance(focused, Slider):
        return [Key("←→", "step"), Key("⏎", "type")]
    if isinstance(focused, Table):
        sort = [Key("t c i", "sort")] if focused.id == "full" else []
        return [*_of_table(focused), Key("↑↓", "choose"), *sort]
    if isinstance(focused, Chart):
        return [Key("←→", "read"), Key("+ -", "zoom"), ZOOM_ALL, LOG_Y, SAVE]
    return [Key("↑↓", "scroll")] if _scrolls(focused) else []


def _of_table(table: Table) -> list[Key]:
    """Keys of this table alone."""
    if table.id in ("next-runs", "training-runs"):
        return [Key("+ -", "budget"), Key("r", "rule", "training_plan")]
    enter = ENTER.get(str(table.id))
    return [Key("⏎", enter)] if enter else []


def _scrolls(focused: Widget | None) -> bool:
    return isinstance(focused, Prose) or (focused is not None and focused.id in SCROLLED)
