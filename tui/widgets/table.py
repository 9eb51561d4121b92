"""A light table of text: fits its columns to the width and repaints only the cells that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.widgets.frame import Frame, FrameWidget
from tui.widgets.glyphs import Glyphs, choose_glyphs
from tui.widgets.text import fit, plain

CellStyle = Literal["plain", "strong", "muted", "good", "bad", "warn"]
Cell = str | tuple[str, CellStyle]
Row = Sequence[Cell]

_GAP = 2
_MARK = 2


class Column(NamedTuple):
    """One column.

    Attributes:
        title: its header.
        width: cells, or None for as wide as its longest text.
        align: `left` or `right`.
        priority: 0 always stays; of the others the highest number is left out first.
        shrink: may be cut to `least` cells before any column is left out.
        least: the least width when it shrinks.
    """

    title: str
    width: int | None = None
    align: Literal["left", "right"] = "left"
    priority: int = 0
    shrink: bool = False
    least: int = 8


def fit_columns(
    columns: Sequence[Column], natural: Sequence[int], width: int
) -> tuple[tuple[int, int], ...]:
    """Which columns `width` cells hold, and how wide: (index, cells) from left to right.

    First columns that may shrink do (the ones that would go first before the others), then columns
    go by priority, then what is left is cut.

    Args:
        columns: all columns.
        natural: the width that each would like.
        width: cells, without the mark of the cursor.
    """
    kept = list(range(len(columns)))
    least = [
        min(natural[i], column.least) if column.shrink else natural[i]
        for i, column in enumerate(columns)
    ]

    def needed(widths: Sequence[int]) -> int:
        return sum(widths[i] for i in kept) + _GAP * max(0, len(kept) - 1)

    while needed(least) > width and any(columns[i].priority for i in kept):
        kept.remove(max(kept, key=lambda i: (columns[i].priority, i)))
    widths = list(natural)
    for i in sorted(kept, key=lambda i: -columns[i].priority):
        if columns[i].shrink:
            widths[i] = max(least[i], widths[i] - max(0, needed(widths) - width))
    for i in reversed(kept):
        widths[i] = max(1, widths[i] - max(0, needed(widths) - width))
    return tuple((i, widths[i]) for i in kept)


class Table(FrameWidget, can_focus=True):
    """Rows of text under a header, with a row cursor. Texts are untrusted and never markup."""

    STYLES: ClassVar[Mapping[str, str]] = {
        "base": "$foreground",
        "header": "bold $foreground-muted",
        "plain": "$foreground",
        "strong": "bold $foreground",
        "muted": "$foreground-muted",
        "good": "$text-success",
        "bad": "$text-error",
        "warn": "$text-warning",
        "message": "$foreground-muted",
        "cursor": "bold $foreground",
    }
    FOCUS_STYLES: ClassVar[Mapping[str, str]] = {
        "cursor": "reverse $foreground",
    }
    DEFAULT_CSS = """
    Table {
        height: 1fr;
        width: 1fr;
        min-height: 2;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "Up", show=False),
        Binding("down,j", "move(1)", "Down", show=False),
        Binding("pageup", "page(-1)", "Page up", show=False),
        Binding("pagedown", "page(1)", "Page down", show=False),
        Binding("home", "to_end(0)", "First", show=False),
        Binding("end", "to_end(1)", "Last", show=False),
        Binding("left", "ask(-1)", "Explain the column before", show=False),
        Binding("right", "ask(1)", "Explain the next column", show=False),
        Binding("enter", "choose", "Choose", show=False),
    ]

    @dataclass(eq=False, repr=False)
    class Moved(Message):
        """The cursor went to row `index`; a later message stands for all queued ones."""

        table: Table
        index: int

        @property
        def control(self) -> Table:
            """The table, for `on` selectors."""
            return self.table

        def can_replace(self, message: Message) -> bool:
            """Only where the cursor rests matters."""
            return isinstance(message, Table.Moved) and message.table is self.table

    class Asked(Message):
        """Another column, or none, is asked about: by keys or by the mouse over it."""

        def __init__(self, table: Table) -> None:
            super().__init__()
            self.table = table

        @property
        def control(self) -> Table:
            """The table, for `on` selectors."""
            return self.table

        def can_replace(self, message: Message) -> bool:
            """Only the last question counts."""
            return isinstance(message, Table.Asked)

    @dataclass(eq=False, repr=False)
    class Chosen(Message):
        """Row `index` was chosen by Enter or a double click."""

        table: Table
        index: int

        @property
        def control(self) -> Table:
            """The table, for `on` selectors."""
            return self.table

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Row] = (),
        *,
        message: str = "",
        glyphs: Glyphs | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        """Create a table; `message` is shown while there are no rows."""
        super().__init__(id=id, classes=classes)
        self._columns = tuple(columns)
        self._rows: tuple[Row, ...] = tuple(rows)
        self._message = message
        self._glyphs = glyphs or choose_glyphs()
        self._cursor = 0
        self._top = 0
        self._column: int | None = None
        self._hovered: int | None = None

    @property
    def asked(self) -> str:
        """The title of the column that is asked about; empty for none."""
        place = self._column if self._hovered is None else self._hovered
        return "" if place is None else self._columns[place].title

    @property
    def cursor(self) -> int:
        """The index of the row under the cursor."""
        return self._cursor

    @property
    def rows(self) -> tuple[Row, ...]:
        """What is shown."""
        return self._rows

    def show(
        self,
        rows: Sequence[Row],
        *,
        message: str | None = None,
        cursor: int | None = None,
        columns: Sequence[Column] | None = None,
    ) -> None:
        """Show other rows, perhaps under other columns; the cursor stays on its index unless told
        otherwise."""
        self._rows = tuple(rows)
        if columns is not None and len(columns) != len(self._columns):
            self._column = self._hovered = None
        self._columns = self._columns if columns is None else tuple(columns)
        self._message = self._message if message is None else message
        wanted = self._cursor if cursor is None else cursor
        self._cursor = min(max(0, wanted), max(0, len(self._rows) - 1))
        self.redraw()

    def use_glyphs(self, glyphs: Glyphs) -> None:
        """Draw with another set of characters from now on."""
        self._glyphs = glyphs
        self.redraw()

    def on_focus(self) -> None:
        """Show the cursor row."""
        self.redraw()

    def on_blur(self) -> None:
        """Leave only the mark of the cursor row."""
        self._column = None
        self.redraw()

    # Moving

    def _go(self, index: int) -> None:
        """Put the cursor on row `index`, held inside, and tell when it moved."""
        index = min(max(0, index), max(0, len(self._rows) - 1))
        if index != self._cursor:
            self._cursor = index
            self.redraw()
            self.post_message(self.Moved(self, index))

    def action_move(self, rows: int) -> None:
        """Up or down."""
        self._go(self._cursor + rows)

    def action_page(self, pages: int) -> None:
        """Up or down by what is visible."""
        self._go(self._cursor + pages * max(1, self.size.height - 2))

    def action_to_end(self, end: int) -> None:
        """To the first (0) or last (1) row."""
        self._go(len(self._rows) - 1 if end else 0)

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self._rows:
            self.post_message(self.Chosen(self, self._cursor))

    # Asking about columns

    def _fitted(self, width: int) -> tuple[tuple[int, int], ...]:
        """Which columns are shown, and how wide."""
        return fit_columns(self._columns, self._natural(), width - _MARK)

    def action_ask(self, direction: int) -> None:
        """To the next column with a title; beyond the last one none."""
        shown = [i for i, _ in self._fitted(self.size.width) if self._columns[i].title]
        ring: list[int | None] = [None, *shown]
        place = ring.index(self._column) if self._column in ring else 0
        self._column = ring[(place + direction) % len(ring)]
        self.redraw()
        self.post_message(self.Asked(self))

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """The column under the mouse is asked about."""
        x, hovered = _MARK, None
        for index, width in self._fitted(self.size.width):
            if x <= event.x - self.gutter.left < x + width:
                hovered = index
            x += width + _GAP
        self._hover(hovered)

    def on_leave(self) -> None:
        """Nothing is under the mouse any more."""
        self._hover(None)

    def _hover(self, column: int | None) -> None:
        if column != self._hovered:
            self._hovered = column
            self.post_message(self.Asked(self))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click chooses."""
        offset = event.get_content_offset(self)
        if offset is None or not 1 <= offset.y <= len(self._rows) - self._top:
            return
        event.stop()
        self._go(self._top + offset.y - 1)
        if event.chain == 2:
            self.action_choose()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.action_move(-1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel moves the cursor."""
        event.stop()
        self.action_move(1)

    # Drawing

    def draw(self, frame: Frame) -> None:
        """The header, then the rows around the cursor; marks show that there are more."""
        visible = max(1, frame.height - 1)
        self._top = min(self._top, self._cursor, max(0, len(self._rows) - visible))
        self._top = max(self._top, self._cursor - visible + 1)
        shown = self._rows[self._top : self._top + visible]
        texts = [[self._cell(cell) for cell in row] for row in shown]
        fitted = self._fitted(frame.width)
        titles = [
            (column.title, "cursor" if place == self._column else "header")
            for place, column in enumerate(self._columns)
        ]
        self._draw_row(frame, 0, titles, fitted, None)
        for y, row in enumerate(texts, start=1):
            at_cursor = self._top + y - 1 == self._cursor
            self._draw_row(
                frame, y, row, fitted, "cursor" if at_cursor and self.has_focus else None
            )
            if at_cursor:
                frame.put(0, y, self._glyphs.focus, "cursor")
        self._draw_more(frame, len(shown))
        if not self._rows and self._message:
            text = plain(self._message, ascii_only=self._glyphs.ascii_only)
            cut = fit(text, max(0, frame.width - _MARK), ellipsis=self._glyphs.ellipsis)
            frame.put(_MARK, 1, cut, "message")

    def _cell(self, cell: Cell) -> tuple[str, str]:
        """Printable text and style name of a cell."""
        text, style = (cell, "plain") if isinstance(cell, str) else cell
        return plain(text, ascii_only=self._glyphs.ascii_only), style

    def _natural(self) -> list[int]:
        """The width that each column would like, over all rows so that scrolling moves nothing."""
        widths = []
        for index, column in enumerate(self._columns):
            cells = (self._cell(row[index])[0] for row in self._rows if index < len(row))
            longest = max(map(cell_len, cells), default=0)
            widths.append(column.width or max(cell_len(column.title), longest))
        return widths

    def _draw_row(
        self,
        frame: Frame,
        y: int,
        row: Sequence[tuple[str, str]],
        fitted: Sequence[tuple[int, int]],
        over: str | None,
    ) -> None:
        """One row; `over` is a style for the whole of it."""
        if over:
            frame.put(0, y, " " * frame.width, over)
        x = _MARK
        for index, width in fitted:
            text, style = row[index] if index < len(row) else ("", "plain")
            align = self._columns[index].align
            cut = fit(text, width, align=align, ellipsis=self._glyphs.ellipsis)
            frame.put(x, y, cut, over or style)
            x += width + _GAP

    def _draw_more(self, frame: Frame, shown: int) -> None:
        """At the right of the header: how many rows are above and below."""
        above, below = self._top, len(self._rows) - self._top - shown
        parts = [f"{self._glyphs.above}{above}"] if above else []
        parts += [f"{self._glyphs.below}{below}"] if below else []
        text = " ".join(parts)
        if text:
            frame.put(frame.width - cell_len(text) - 1, 0, f" {text}", "header")
