"""Choose one of many by typing a part of it: types, catalogs, models, actions, files."""

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
from tui.views.prose import Line, Prose
from tui.widgets.glyphs import Glyphs
from tui.widgets.table import Column, Row, Table
from tui.widgets.text import wrapped

MAX_MATCHES = 200
"""Rows of a list; how many more match is said below it."""

MAX_LINES = 2
"""Lines for the full text of an option whose row is cut."""

LEAVE = (("esc", "leave", "screen.leave"),)
"""The key at the right of every screen over the planner."""


@dataclass(frozen=True)
class Option:
    """Something to choose: the value returned, its label, and a detail."""

    value: str
    label: str
    detail: str = ""


Matches = Callable[[str], Sequence[Option]]
"""From typed text to the matching options, best first."""


def containing(options: Sequence[Option]) -> Matches:
    """Options that contain every typed word, those that start with the text first."""

    def matches(typed: str) -> list[Option]:
        wanted = typed.lower().split()
        matching = [o for o in options if all(w in f"{o.label} {o.detail}".lower() for w in wanted)]
        return sorted(matching, key=lambda o: not o.label.lower().startswith(typed.lower()))

    return matches


class Picker(Dialog[str | None]):
    """An input line and the options that match; returns the chosen value, None when left.

    With `returns_typed` the text itself is the answer and the list shows what it matches: Enter
    completes the text with an option that the cursor was moved to.
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
        empty: str | Callable[[str], str] = "nothing matches",
        current: str | None = None,
    ) -> None:
        """Create a picker.

        Args:
            empty: what is shown where no option matches, whole; a function is asked each time with
                the typed text, where that may change while the dialog is open.
            current: value of the option at which the cursor starts; None for the first.
        """
        super().__init__(glyphs)
        self._heading = title
        self._matches = matches
        self._typed = typed
        self._placeholder = placeholder
        self._returns_typed = returns_typed
        self._empty = empty if callable(empty) else lambda _: empty
        self._begins_at = current
        self._options: list[Option] = []
        self._unlisted = 0
        self._cursor_moved = False

    def compose(self) -> ComposeResult:
        """Title in the border, input, matches, keys."""
        with Container(id="dialog"):
            yield TypedLine(self._typed, placeholder=self._placeholder, id="typed")
            yield Table(
                self.COLUMNS, message=self._empty(self._typed), glyphs=self._glyphs, id="matches"
            )
            yield Prose(glyphs=self._glyphs, id="whole")
            yield Bar(self._glyphs, firm=True, id="dialog-keys")

    def on_mount(self) -> None:
        """Show what matches the initial text."""
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
        index = self.matched.cursor
        return self._options[index] if index < len(self._options) else None

    def key_items(self) -> list[Item]:
        """The keys of this screen, beside the one that leaves it."""
        enter = "apply" if self._returns_typed else "choose"
        return keys([("⏎", enter, ""), ("↑ ↓", "move", ""), ("tab", "complete", "")])

    def refill(self, typed: str) -> None:
        matching = list(self._matches(typed))
        self._options = matching[:MAX_MATCHES]
        self._unlisted = len(matching) - len(self._options)
        rows: list[Row] = [(option.label, (option.detail, "muted")) for option in self._options]
        self.matched.show(rows, cursor=0, message=self._empty(typed))
        self._cursor_moved = False
        self._describe_soon()

    def describe_current(self) -> None:
        """Show the full text of the option under the cursor, where its row is cut; else how many
        options are not listed. The height is that of the longest cut option, so that the list's
        height does not change with the cursor."""
        width, cut = self.matched.size.width, self.matched.cut_rows
        cut_texts = {
            index: (self._options[index].label, self._options[index].detail) for index in cut
        }
        longest = max(
            (len(wrapped(" ".join(each), width)) for each in cut_texts.values()), default=0
        )
        whole = self.query_one("#whole", Prose)
        whole.styles.height = min(MAX_LINES, max(longest, bool(self._unlisted)))
        label, detail = cut_texts.get(self.matched.cursor, ("", ""))
        line: Line = [(f"{label} ", "strong"), (detail, "muted")] if label else ()
        if not label and self._unlisted:
            line = [(f"{self._unlisted:,} more: type a part of the name", "muted")]
        whole.show([line] if line else [])

    def _describe_soon(self) -> None:
        """Show it once the list is laid out, unless the dialog was answered before."""
        self.call_after_refresh(lambda: self.describe_current() if self.is_current else None)

    def on_table_cursor_moved(self, event: Table.CursorMoved) -> None:
        """Describe the option under the cursor."""
        event.stop()
        self._cursor_moved = True
        self.describe_current()

    def on_resize(self) -> None:
        """Other rows are cut now."""
        self._describe_soon()

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        self.refill(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Enter answers, or completes the typed line with the option that the cursor was moved to,
        even back to the first."""
        event.stop()
        option, typed = self.current, event.value
        adds = option is not None and self.completed(typed, option) != typed
        if self._returns_typed and self._cursor_moved and adds:
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
        """Return the chosen value, or the typed text."""
        if self._returns_typed:
            self.close(typed)
        elif self.current is not None:
            self.close(self.current.value)

    def action_move(self, rows: int) -> None:
        """Move in the list; the input line keeps the focus."""
        self.matched.action_move(rows)

    def action_page(self, pages: int) -> None:
        """Move by the visible rows."""
        self.matched.action_page(pages)

    def action_complete(self) -> None:
        """Complete the line with the option under the cursor."""
        if self.current is not None:
            line = self.query_one("#typed", Input)
            line.value = self.completed(line.value, self.current)
            line.cursor_position = len(line.value)

    def completed(self, typed: str, option: Option) -> str:
        """The line after completion; of several globs only the last one is completed."""
        if not self._returns_typed:
            return option.label
        head, comma, _ = typed.rpartition(",")
        return f"{head}{comma}{option.value}"


class CommandLine(Picker):
    """A picker whose typed line is the answer; tab completes it as a whole."""

    def completed(self, typed: str, option: Option) -> str:
        """The offered line, which includes what was typed."""
        return option.value
