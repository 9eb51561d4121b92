"""Choosing one of many by typing a part of it: types, catalogs, models, actions, files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Input

from tui.screens.dialog import Dialog, TypedLine
from tui.views.bars import Bar, Item, keys
from tui.views.prose import Prose
from tui.widgets.glyphs import Glyphs
from tui.widgets.table import Column, Row, Table
from tui.widgets.text import wrapped

MAX_MATCHES = 200

MAX_LINES = 2
"""Of what is said of an option whose row is cut."""

LEAVE = (("esc", "leave", "screen.leave"),)
"""The key that every screen over the planner shows at the right."""


@dataclass(frozen=True)
class Option:
    """Something to choose: what is returned, how it reads, and what else there is to say."""

    value: str
    label: str
    detail: str = ""


Matches = Callable[[str], Sequence[Option]]
"""From typed text to the options that it leaves, best first."""


def containing(options: Sequence[Option]) -> Matches:
    """Options with every typed word in them, those that start with the text first."""

    def matches(typed: str) -> list[Option]:
        wanted = typed.lower().split()
        found = [o for o in options if all(w in f"{o.label} {o.detail}".lower() for w in wanted)]
        return sorted(found, key=lambda o: not o.label.lower().startswith(typed.lower()))

    return matches


class Picker(Dialog[str | None]):
    """A line to type in and the options that match; returns the chosen value, None when left.

    With `returns_typed` the text itself is the answer and the list shows what it matches: Enter
    puts an option that was gone to into the line first.
    """

    COLUMNS: ClassVar[tuple[Column, ...]] = (
        Column(title="", shrink=True, least=30),
        Column(title="", shrink=True, least=10, priority=1),
    )
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, priority=True),
        Binding("up", "move(-1)", "Up", show=False),
        Binding("down", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("tab", "complete", "Complete", show=False, priority=True),
    ]

    def __init__(
        self,
        title: str,
        matches: Matches,
        *,
        glyphs: Glyphs,
        typed: str = "",
        placeholder: str = "type to filter",
        returns_typed: bool = False,
        empty: str = "nothing matches",
        current: str | None = None,
    ) -> None:
        """`current` is the value of the option that the cursor begins at; None for the first."""
        super().__init__()
        self._heading = title
        self._matches = matches
        self._glyphs = glyphs
        self._typed = typed
        self._placeholder = placeholder
        self._returns_typed = returns_typed
        self._empty = empty
        self._begins_at = current
        self._options: list[Option] = []
        self._went = False

    def compose(self) -> ComposeResult:
        """Title in the border, input, matches, keys."""
        with Container(id="dialog"):
            yield TypedLine(self._typed, placeholder=self._placeholder, id="typed")
            yield Table(self.COLUMNS, message=self._empty, glyphs=self._glyphs, id="matches")
            yield Prose(glyphs=self._glyphs, id="whole")
            yield Bar(self._glyphs, firm=True, id="dialog-keys")

    def on_mount(self) -> None:
        """Show everything that matches the first text."""
        self.set_class(self._glyphs.ascii_only, "-ascii")
        self.query_one("#dialog").border_title = self._heading
        self.matched.can_focus = False
        self.query_one("#dialog-keys", Bar).show(self.key_items(), keys(LEAVE))
        self.refill(self._typed)
        values = [option.value for option in self._options]
        if self._begins_at in values:
            self.matched.action_move(values.index(self._begins_at))

    @property
    def matched(self) -> Table:
        return self.query_one("#matches", Table)

    @property
    def current(self) -> Option | None:
        place = self.matched.cursor
        return self._options[place] if place < len(self._options) else None

    def key_items(self) -> list[Item]:
        """The keys of this screen, beside the one that leaves it."""
        enter = "apply" if self._returns_typed else "choose"
        return keys([("⏎", enter, ""), ("↑ ↓", "move", ""), ("tab", "complete", "")])

    def refill(self, typed: str) -> None:
        self._options = list(self._matches(typed))[:MAX_MATCHES]
        rows: list[Row] = [(option.label, (option.detail, "muted")) for option in self._options]
        self.matched.show(rows, cursor=0)
        self._went = False
        self._tell_soon()

    def tell_current(self) -> None:
        """All that is to be said of the option under the cursor, where its row is cut. There is
        room for the longest of those that are: the list keeps its height while the cursor moves."""
        width, cut = self.matched.size.width, self.matched.cut_rows
        told = {place: (self._options[place].label, self._options[place].detail) for place in cut}
        longest = max((len(wrapped(" ".join(each), width)) for each in told.values()), default=0)
        whole = self.query_one("#whole", Prose)
        whole.styles.height = min(MAX_LINES, longest)
        label, detail = told.get(self.matched.cursor, ("", ""))
        whole.show([[(f"{label} ", "strong"), (detail, "muted")]] if label else [])

    def _tell_soon(self) -> None:
        """Once the list has its size, unless the answer was given before."""
        self.call_after_refresh(lambda: self.tell_current() if self.is_current else None)

    def on_table_cursor_moved(self, event: Table.CursorMoved) -> None:
        """What is said below the list is of the option under the cursor."""
        event.stop()
        self._went = True
        self.tell_current()

    def on_resize(self) -> None:
        """Other rows are cut."""
        self._tell_soon()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.refill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter answers, or takes the option that was gone to, be it back to the first one, into
        the typed line."""
        event.stop()
        option, typed = self.current, event.value
        adds = option is not None and self.completed(typed, option) != typed
        if self._returns_typed and self._went and adds:
            self.action_complete()
        else:
            self.answer(event.value)

    def on_table_row_chosen(self, event: Table.RowChosen) -> None:
        event.stop()
        if self._returns_typed:
            self.action_complete()
        else:
            self.answer(self.query_one("#typed", Input).value)

    def answer(self, typed: str) -> None:
        """Return what was chosen, or what was typed."""
        if self._returns_typed:
            self.close(typed)
        elif self.current is not None:
            self.close(self.current.value)

    def action_move(self, rows: int) -> None:
        """Move in the list without leaving the line."""
        self.matched.action_move(rows)

    def action_page(self, pages: int) -> None:
        """Move by what is visible."""
        self.matched.action_page(pages)

    def action_complete(self) -> None:
        """Put the option under the cursor into the line."""
        if self.current is not None:
            line = self.query_one("#typed", Input)
            line.value = self.completed(line.value, self.current)
            line.cursor_position = len(line.value)

    def completed(self, typed: str, option: Option) -> str:
        """The line after completion; where globs are typed, only the last one is completed."""
        if not self._returns_typed:
            return option.label
        head, comma, _ = typed.rpartition(",")
        return f"{head}{comma}{option.value}"


class CommandLine(Picker):
    """A picker whose typed line is the answer; tab completes it as a whole."""

    def completed(self, typed: str, option: Option) -> str:
        """The offered line: it holds what was typed before it."""
        return option.value
