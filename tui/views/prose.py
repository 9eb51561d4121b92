"""Text in a panel: wrapped, styled in spans, scrolled by keys, repainted cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar, Literal

from rich.cells import cell_len
from textual.binding import Binding, BindingType

from tui.widgets.frame import Frame, ScrollingFrame
from tui.widgets.glyphs import Glyphs
from tui.widgets.text import cells, units

Tone = Literal["base", "strong", "muted", "good", "bad", "warn", "accent"]
Span = tuple[str, Tone]
Line = Sequence[Span]
"""Spans of untrusted text, each with a tone. A line that is too long is wrapped with a hanging
indent: its leading spaces, or its first column."""

_PARTS = re.compile(
    r"\S*\d [×x] \S+"
    r"|\S*\d(?:[dhm] \d+[hms]| (?:%|ms|s|min|h|[kMGTP]?B))(?!\w)"
    r"(?:\S*\d[dhm] \d+[hms](?!\w))?\S*"
    r"|\S+(?: %\S*)?|\s+"
)
"""Units of wrapping: a count with its type, a number with its unit, a duration in two units, a
range of two values, a word, or the blanks between."""


def wrap(line: Line, width: int) -> list[list[Span]]:
    """A line as rows of at most `width` cells, broken at spaces; longer words are cut."""
    indent = min(_indent(line), max(0, width - 8))
    rows: list[list[Span]] = [[]]
    used = 0
    for word in _words(line):
        length = sum(cell_len(text) for text, _ in word)
        blank = word[0][0].isspace()
        if used + length > width and used > indent:
            rows.append([(" " * indent, "base")] if indent else [])
            used = indent
            if blank:
                continue
        for text, tone in word:
            for part in _pieces(text, width - used, width - indent):
                if used + cell_len(part) > width:
                    rows.append([(" " * indent, "base")] if indent else [])
                    used = indent
                rows[-1].append((part, tone))
                used += cell_len(part)
    return rows


def _indent(line: Line) -> int:
    """Indent of continuation rows: the leading spaces and a mark with its space; or the width of a
    first span that is a column (spaces on both sides) or a mark, which in ASCII may be a letter."""
    first = line[0][0] if len(line) > 1 else ""
    mark = len(first) == 2 and not first[0].isspace()
    if first.strip() and first.endswith(" ") and (mark or first.startswith(" ")):
        return cell_len(first)
    text = "".join(part for part, _ in line)
    body = text.lstrip(" ")
    lead = len(text) - len(body)
    return lead + 2 if len(body) > 1 and body[1] == " " and not body[0].isalnum() else lead


def _words(line: Line) -> Iterator[list[Span]]:
    """Words and the blanks between them; a word may consist of several spans."""
    word: list[Span] = []
    for text, tone in line:
        for part in _PARTS.findall(text):
            if word and (part.isspace() or word[0][0].isspace()):
                yield word
                word = []
            word.append((part, tone))
    if word:
        yield word


def _pieces(text: str, first: int, rest: int) -> Iterator[str]:
    """The text in pieces: the first of at most `first` cells, the others of at most `rest`."""
    if cell_len(text) <= first or cell_len(text) <= rest:
        yield text
        return
    piece, used = "", 0
    for unit, size in units(text):
        if used + size > first:
            if piece:
                yield piece
            piece, used, first = "", 0, rest
        piece, used = piece + unit, used + size
    yield piece


class Prose(ScrollingFrame):
    """Lines of styled text; scrolls where it is focusable and the text is longer than its
    height."""

    DEFAULT_CSS = """
    Prose {
        height: 1fr;
        width: 1fr;
    }
    """

    def __init__(
        self,
        lines: Sequence[Line] = (),
        *,
        focusable: bool = False,
        glyphs: Glyphs | None = None,
        id: str | None = None,
    ) -> None:
        """Create a text."""
        super().__init__(glyphs=glyphs, id=id)
        self.can_focus = focusable
        self._lines: tuple[Line, ...] = tuple(lines)

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    def show(self, lines: Sequence[Line]) -> None:
        """Show other lines; only cells that differ are sent.

        Where the first line has changed, the text is scrolled to its start: a new answer must not
        stay hidden because the last one was scrolled.
        """
        if tuple(lines) != self._lines:
            if tuple(lines[:1]) != self._lines[:1]:
                self._top = 0
            self._lines = tuple(lines)
            self.redraw()

    def rows(self, width: int) -> list[list[Span]]:
        """The lines as rows of at most `width` cells, in printable characters."""
        return [row for line in self._lines for row in wrap(self._safe(line), width)]

    def taken(self, most: int) -> None:
        """Set the height to the rows at this width: at least one, at most `most`."""
        rows = len(self.rows(max(20, self.size.width)))
        self.styles.height = min(most, max(1, rows))

    def _safe(self, line: Line) -> list[Span]:
        return [(self.printable(text), tone) for text, tone in line]

    def draw(self, frame: Frame) -> None:
        """The rows from the scroll position on, and how many are below."""
        rows = self.rows(frame.width)
        self._top = max(0, min(self._top, len(rows) - frame.height))
        shown = rows[self._top : self._top + frame.height]
        for y, row in enumerate(shown):
            x = 0
            for text, tone in row:
                frame.put(x, y, text, tone)
                x += cell_len(text)
            if x > frame.width:
                frame.put(frame.width - 1, y, self._glyphs.ellipsis, "muted")
        if len(rows) - self._top > frame.height:
            self._draw_more(frame, len(rows) - self._top - frame.height, shown[-1])

    def _draw_more(self, frame: Frame, below: int, last: Sequence[Span]) -> None:
        """At the end of the last row, how many rows are below, where one can scroll; elsewhere an
        ellipsis behind its last word. No word of that row is cut, nor a duration in two units:
        "1m" of "1m 54s" is another time."""
        glyphs = self._glyphs
        text = f" {glyphs.below}{below} more" if self.can_focus else f" {glyphs.ellipsis}"
        text = text[: frame.width]
        start, words = frame.width - cell_len(text), "".join(part for part, _ in last)
        if cell_len(words) > start or not self.can_focus:
            start = _whole_words(last, start)
            text = text.ljust(frame.width - start)
        frame.put(start, frame.height - 1, text, "muted")


def _whole_words(row: Line, width: int) -> int:
    """Width of the words of a row that fit, without the space behind them."""
    end = used = 0
    for word in _words(row):
        used += sum(cell_len(text) for text, _ in word)
        if used > width:
            break
        end = end if word[0][0].isspace() else used
    return end


class Verbatim(Prose):
    """Lines as they are, to paste: long ones are cut with a sign, and scrolled sideways by keys."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left,h", "look_along(-1)", "Left", show=False),
        Binding("right,l", "look_along(1)", "Right", show=False),
    ]

    _left = 0

    def show(self, lines: Sequence[Line], *, first: int = 0) -> None:
        """Show other lines, scrolled to line `first`, or less far where the rest has room."""
        if tuple(lines) != self.lines:
            self._left = 0
            super().show(lines)
            self._top = first
            self.redraw()

    def rows(self, width: int) -> list[list[Span]]:
        """The lines from the first visible cell on, in printable characters."""
        safe = [self._safe(line) for line in self.lines]
        longest = max((cell_len("".join(text for text, _ in line)) for line in safe), default=0)
        self._left = max(0, min(self._left, longest - width))
        return [_scrolled_line(line, self._left, self._glyphs.ellipsis) for line in safe]

    def action_look_along(self, by: int) -> None:
        """Scroll sideways by half of the width, so that the reader keeps the context."""
        self._left = max(0, self._left + by * max(1, self.size.width // 2))
        self.redraw()


def _scrolled_line(line: Line, left: int, ellipsis: str) -> list[Span]:
    """A line without the cells left of `left`; an ellipsis stands for them."""
    row: list[Span] = []
    for text, tone in line:
        seen = cells(text)
        row.append(("".join(seen[left:]), tone))
        left = max(0, left - len(seen))
    cut = sum(cell_len(text) for text, _ in line) > sum(cell_len(text) for text, _ in row)
    first = next((i for i, (text, _) in enumerate(row) if text), None)
    if cut and first is not None:
        text, tone = row[first]
        row[first] = (text[cell_len(ellipsis) :], tone)
        row.insert(first, (ellipsis, "muted"))
    return row
