"""A light table of text: fits its columns to the width and repaints only the cells that changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.widgets.columns import (
    GAP,
    Cell,
    CellStyle,
    Column,
    FittedColumns,
    Row,
    column_at,
    cut_alike_in,
    fit_columns,
    natural_widths,
    row_columns,
    text_of,
    title_end,
    title_start,
)
from tui.widgets.frame import Frame, FrameWidget
from tui.widgets.glyphs import Glyphs
from tui.widgets.on_demand import OnDemand
from tui.widgets.text import fit, fit_ends, plain, wrapped

__all__ = ["Cell", "CellStyle", "Column", "Row", "Table", "fit_columns", "text_of"]

_MARK, _MIN_TITLE, _MAX_WANTED = 2, 4, 16


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
    FOCUS_STYLES: ClassVar[Mapping[str, str]] = {"cursor": "reverse $foreground"}
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
    class _TableMessage(Message, namespace="table"):
        """A message of a table."""

        table: Table

    @dataclass(eq=False, repr=False)
    class CursorMoved(_TableMessage, namespace="table"):
        """The cursor moved to row `index`; a later message replaces all that are queued."""

        index: int

        def can_replace(self, message: Message) -> bool:
            """Only the final row matters."""
            return isinstance(message, Table.CursorMoved) and message.table is self.table

    class ColumnAsked(_TableMessage, namespace="table"):
        """Another column, or none, is pointed at, by keys or by the mouse; it is explained."""

        def can_replace(self, message: Message) -> bool:
            """Only the last column counts."""
            return isinstance(message, Table.ColumnAsked)

    @dataclass(eq=False, repr=False)
    class RowChosen(_TableMessage, namespace="table"):
        """Row `index` was chosen: `clicked` twice, or by Enter; None by Enter in an empty list."""

        index: int | None
        clicked: bool = False

    def __init__(
        self,
        columns: Sequence[Column],
        rows: Sequence[Row] = (),
        *,
        message: str = "",
        headed: bool = True,
        glyphs: Glyphs | None = None,
        id: str | None = None,
    ) -> None:
        """Create a table; `message` is shown while there are no rows. One that is not `headed` has
        no row of titles, and is high enough for all of its rows."""
        super().__init__(glyphs=glyphs, id=id)
        self._columns = tuple(columns)
        self._rows: Sequence[Row] = tuple(tuple(row) for row in rows)
        self._message = message
        self._head_rows = 1 if headed else 0
        self._wanted = ""
        self._kept: Sequence[int] = range(len(self._rows))
        self._cursor = 0
        self._top = 0
        self._column: int | None = None
        self._hovered: int | None = None

    @property
    def asked(self) -> str:
        """The title of the column that is pointed at; empty for none."""
        index = self._column if self._hovered is None else self._hovered
        return "" if index is None else self._columns[index].title

    @property
    def cursor(self) -> int:
        """The index of the row under the cursor, among all rows."""
        return self._cursor

    @property
    def wanted(self) -> str:
        """The words by which rows are filtered; empty for all rows."""
        return self._wanted

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, including those that do not fit."""
        return self._columns

    @property
    def rows(self) -> Sequence[Row]:
        return self._rows

    def show(
        self,
        rows: Sequence[Row],
        *,
        message: str | None = None,
        cursor: int | None = None,
        columns: Sequence[Column] | None = None,
    ) -> None:
        """Show other rows, perhaps under other columns; the cursor keeps its index unless `cursor`
        is given. Nothing is drawn where nothing differs: that is what takes time. Rows on demand
        are made as they are drawn."""
        new_rows = rows if isinstance(rows, OnDemand) else tuple(map(tuple, rows))
        same_texts = new_rows == self._rows and message in (None, self._message)
        if same_texts and columns is None and cursor in (None, self._cursor):
            return
        self._rows = new_rows
        if columns is not None and len(columns) != len(self._columns):
            self._column = self._hovered = None
        self._columns = self._columns if columns is None else tuple(columns)
        self._message = self._message if message is None else message
        at = self._cursor if cursor is None else cursor
        self._cursor = min(max(0, at), max(0, len(self._rows) - 1))
        self._keep()
        self.redraw()

    def narrow(self, wanted: str) -> None:
        """Show only rows that contain every one of these words; their indices stay."""
        self._wanted = " ".join(wanted.lower().split())
        before = self._cursor
        self._keep()
        self.redraw()
        if self._cursor != before:
            self.post_message(self.CursorMoved(self, self._cursor))

    def matching(self, wanted: str) -> tuple[int, ...]:
        """The indices of the rows that contain every one of these words."""
        words = wanted.lower().split()
        return tuple(
            index
            for index, row in enumerate(self._rows)
            if all(word in " ".join(map(text_of, row)).lower() for word in words)
        )

    def _keep(self) -> None:
        """Filter the rows; the cursor is moved to one of them."""
        self._kept = self.matching(self._wanted) if self._wanted else range(len(self._rows))
        if self._kept and self._cursor not in self._kept:
            self._cursor = self._kept[0]

    @property
    def _place(self) -> int:
        """Position of the cursor among the shown rows."""
        return self._kept.index(self._cursor) if self._cursor in self._kept else 0

    def watch_has_focus(self, has_focus: bool) -> None:
        """Highlight the cursor row; without the focus only its mark stays, and no column is pointed
        at."""
        super().watch_has_focus(has_focus)
        if not has_focus:
            self._column = None
        self.redraw()

    # Moving

    def _go(self, position: int) -> None:
        """Move the cursor to a shown row, clamped, and post the move."""
        position = min(max(0, position), max(0, len(self._kept) - 1))
        index = self._kept[position] if self._kept else 0
        if index != self._cursor:
            self._cursor = index
            self.redraw()
            self.post_message(self.CursorMoved(self, index))

    def action_move(self, rows: int) -> None:
        self._go(self._place + rows)

    def action_page(self, pages: int) -> None:
        """Up or down by what is visible."""
        self._go(self._place + pages * max(1, self.size.height - 2))

    def action_to_end(self, end: int) -> None:
        """To the first (0) or last (1) row."""
        self._go(len(self._kept) - 1 if end else 0)

    def action_choose(self) -> None:
        self.post_message(self.RowChosen(self, self._cursor if self._kept else None))

    # Explaining columns

    def _fitted(self, width: int) -> FittedColumns:
        """The visible columns and their widths, with room for the count of rows in the header."""
        hidden = max(0, len(self._kept) - max(1, self.size.height - self._head_rows))
        count = self._more(0, hidden)  # independent of scrolling, so that no column moves
        header_room = cell_len(count) + 1 if count else 0
        wished = natural_widths(self._columns, self._rows, ascii_only=self._glyphs.ascii_only)
        return fit_columns(self._columns, wished, width - _MARK, room=header_room)

    @property
    def cut_rows(self) -> tuple[int, ...]:
        """The rows of which some text is cut."""
        widths = dict(self._fitted(self.size.width))
        return tuple(
            index
            for index, row in enumerate(self._rows)
            if any(cell_len(self._cell(cell)[0]) > widths.get(i, 0) for i, cell in enumerate(row))
        )

    def action_ask(self, direction: int) -> None:
        """Point at the next column with a title; behind the last one at none."""
        shown = [i for i, _ in self._fitted(self.size.width) if self._columns[i].title]
        ring: list[int | None] = [None, *shown]
        position = ring.index(self._column) if self._column in ring else 0
        self._column = ring[(position + direction) % len(ring)]
        self.redraw()
        self.post_message(self.ColumnAsked(self))

    def on_mouse_move(self, event: events.MouseEvent) -> None:
        """Point at the column under the mouse."""
        x = event.x - self.gutter.left - _MARK
        self._hover(column_at(self._fitted(self.size.width), x))

    def on_leave(self) -> None:
        """The mouse has left: point at no column."""
        self._hover(None)

    def _hover(self, column: int | None) -> None:
        if column != self._hovered:
            self._hovered = column
            self.post_message(self.ColumnAsked(self))

    def on_click(self, event: events.Click) -> None:
        """A click moves the cursor, a double click chooses the row; a click on a title calls
        `press_title`."""
        offset = event.get_content_offset(self)
        self.on_mouse_move(event)
        if offset is None:
            return
        row = offset.y - self._head_rows
        if row < 0 and self._hovered is not None:
            self.press_title(self._hovered)
        if not 0 <= row < len(self._kept) - self._top:
            return
        event.stop()
        self._go(self._top + row)
        if event.chain == 2:
            self.post_message(self.RowChosen(self, self._cursor, clicked=True))

    def press_title(self, column: int) -> None:
        """Hook for a click on a title; nothing where rows have one order."""

    def wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        self.action_move(rows)

    # Drawing

    def draw(self, frame: Frame) -> None:
        """The header, then the rows around the cursor; counts show that there are more."""
        visible, position = max(1, frame.height - self._head_rows), self._place
        self._top = min(self._top, position, max(0, len(self._kept) - visible))
        self._top = max(self._top, position - visible + 1)
        shown = self._kept[self._top : self._top + visible]
        fitted = self._fitted(frame.width)
        if self._head_rows:
            self._draw_header(frame, fitted, below=len(self._kept) - self._top - len(shown))
        self._draw_rows(frame, fitted, shown)
        if not self._kept:
            self._draw_message(frame, visible)

    def _draw_header(self, frame: Frame, fitted: FittedColumns, *, below: int) -> None:
        """The titles, and how many rows are above and below. Without room behind the last title the
        count above is dropped; then the counts are drawn before the first title."""
        titles = [
            (column.title, "cursor" if index == self._column else "header")
            for index, column in enumerate(self._columns)
        ]
        above, more = self._top, self._more(self._top, below)
        cells_left = frame.width - _MARK - title_end(self._columns, fitted)
        if above and below and cell_len(more) >= cells_left:
            more = self._more(0, below)
        before = cells_left <= cell_len(more) < _MARK + title_start(self._columns, fitted)
        at = 0 if before else frame.width - cell_len(more)
        end = at - 1 if more and at else frame.width
        self._draw_row(frame, 0, titles, fitted, None, end=end)
        frame.put(at, 0, more, "header")

    def _draw_rows(self, frame: Frame, fitted: FittedColumns, shown: Sequence[int]) -> None:
        """The visible rows; names that a cut would make the same lose their middle instead."""
        ambiguous = cut_alike_in(
            self._columns, self._rows, fitted, ascii_only=self._glyphs.ascii_only
        )
        for y, index in enumerate(shown, start=self._head_rows):
            row = [self._cell(cell) for cell in self._rows[index]]
            for column, width, texts in ambiguous:
                if column < len(row) and row[column][0] in texts:
                    ends = fit_ends(row[column][0], width, ellipsis=self._glyphs.ellipsis)
                    row[column] = ends, row[column][1]
            over = "cursor" if index == self._cursor and self.has_focus else None
            self._draw_row(frame, y, row, fitted, over)
            if index == self._cursor:
                frame.put(0, y, self._glyphs.focus, "cursor")

    def _draw_message(self, frame: Frame, visible: int) -> None:
        """Why there is no row."""
        filtered = f"no row has {self._wanted}; esc shows all"
        text = self.printable(filtered if self._rows else self._message)
        width = max(0, frame.width - _MARK)
        for y, line in enumerate(wrapped(text, width)[:visible], start=1):
            frame.put(_MARK, y, fit(line, width, ellipsis=self._glyphs.ellipsis), "message")

    def _cell(self, cell: Cell) -> tuple[str, str]:
        """Printable text and style name of a cell."""
        text, style = (cell, "plain") if isinstance(cell, str) else cell
        return self.printable(text), style

    def _draw_row(
        self,
        frame: Frame,
        y: int,
        row: Sequence[tuple[str, str]],
        fitted: FittedColumns,
        over: str | None,
        *,
        end: int | None = None,
    ) -> None:
        """One row; `over` is a style for all of it. From column `end` on there is no room: a text
        of which only a letter or two would stay is left out."""
        if over:
            frame.put(0, y, " " * frame.width, over)
        x = _MARK
        for index, width in row_columns(self._columns, row, fitted, frame.width - x):
            text, style = row[index] if index < len(row) else ("", "plain")
            align = self._columns[index].align
            cells_left = width if end is None else max(0, min(width, end - x))
            if cells_left < min(width, cell_len(text), _MIN_TITLE):
                text = ""
            text = self._columns[index].text_in(text, cells_left)
            cut = fit(text, cells_left, align=align, ellipsis=self._glyphs.ellipsis)
            frame.put(x, y, cut, over or style)
            x += width + GAP

    def _more(self, above: int, below: int) -> str:
        """At the right of the header: the filter, and the numbers of rows above and below."""
        parts = [f"/{plain(self._wanted, ascii_only=True)[:_MAX_WANTED]}"] if self._wanted else []
        parts += [f"{self._glyphs.above}{above}"] if above else []
        parts += [f"{self._glyphs.below}{below}"] if below else []
        return " ".join(parts)
