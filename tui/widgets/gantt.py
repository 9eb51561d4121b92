"""A Gantt chart in the terminal: rows of bars over time, coloured and lettered by kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len

from tui.widgets.frame import Frame, ScrollingFrame
from tui.widgets.glyphs import Glyphs
from tui.widgets.numbers import tick_texts
from tui.widgets.scales import LinearScale, tick_candidates
from tui.widgets.text import fit, wrapped

KINDS = 5
"""Colours of bars: slots 1 to `KINDS`."""

_LABEL_SHARE = 3
_MIN_LABEL_CELLS = 6
_TICK_GAP = 3


@dataclass(frozen=True, slots=True)
class Span:
    """One bar segment.

    Args:
        kind: colour slot, 1 ... `KINDS`.
        letter: drawn in its first cell where the caption does not fit; one character.
        caption: a word at its beginning, drawn where it fits with a cell to spare.
        strong: drawn bold, with a heavier fill.
    """

    start: float
    end: float
    kind: int
    letter: str
    caption: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class GanttRow:
    """One row of segments with its label; segments do not overlap."""

    label: str
    spans: tuple[Span, ...]


@dataclass(frozen=True)
class GanttData:
    """The data of a Gantt chart.

    Args:
        end: the right end of the time axis, in seconds.
        marks: times of vertical rules through all rows (a state ends), in seconds.
        legend: (letter, kind, word) of each kind that occurs.
        message: shown while there are no rows.
    """

    rows: tuple[GanttRow, ...] = ()
    end: float = 0.0
    marks: tuple[float, ...] = ()
    legend: tuple[tuple[str, int, str], ...] = ()
    message: str = ""


class Gantt(ScrollingFrame, can_focus=True):
    """Rows of bars over a common time axis; labels are untrusted and never markup."""

    KEPT_ROWS = 3
    STYLES: ClassVar[Mapping[str, str]] = {
        "base": "$foreground",
        "label": "$foreground",
        "axis": "$foreground-muted",
        "tick": "$foreground-muted",
        "rule": "$text-disabled",
        "message": "$foreground-muted",
        "legend": "$foreground-muted",
        "more": "bold $foreground-muted",
        "kind-1": "$text-accent",
        "kind-2": "$text-warning",
        "kind-3": "$text-success",
        "kind-4": "$foreground-muted",
        "kind-5": "$text-secondary",
        "kind-1-strong": "bold $text-accent",
        "kind-2-strong": "bold $text-warning",
        "kind-3-strong": "bold $text-success",
        "kind-4-strong": "bold $foreground-muted",
        "kind-5-strong": "bold $text-secondary",
    }
    ANSI_STYLES: ClassVar[Mapping[str, str]] = {
        "rule": "dim $text-disabled",
        "kind-1": "ansi_cyan",
        "kind-1-strong": "bold ansi_cyan",
        "kind-2": "ansi_yellow",
        "kind-2-strong": "bold ansi_yellow",
        "kind-3": "ansi_green",
        "kind-3-strong": "bold ansi_green",
        "kind-4": "$foreground",
        "kind-4-strong": "bold $foreground",
        "kind-5": "ansi_bright_blue",
        "kind-5-strong": "bold ansi_bright_blue",
    }
    DEFAULT_CSS = """
    Gantt {
        height: 1fr;
        width: 1fr;
        min-height: 4;
    }
    """

    def __init__(
        self,
        data: GanttData = GanttData(),
        *,
        glyphs: Glyphs | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(glyphs=glyphs, id=id)
        self._data = data

    @property
    def data(self) -> GanttData:
        return self._data

    def show(self, data: GanttData) -> None:
        if data != self._data:
            self._data = data
            self.redraw()

    # Drawing

    def draw(self, frame: Frame) -> None:
        """Labels at the left, bars beside them, the legend and the time axis at the bottom."""
        data = self._data
        if not data.rows or data.end <= 0.0:
            for y, line in enumerate(wrapped(self.printable(data.message), frame.width)):
                frame.put(0, y, line, "message")
            return
        width = self._label_width(frame.width)
        left = width + 2
        across = frame.width - left
        body = max(1, frame.height - (3 if data.legend and frame.height > 4 else 2))
        self._top = min(max(0, self._top), max(0, len(data.rows) - body))
        shown = data.rows[self._top : self._top + body]
        for mark in data.marks:
            x = left + self._column(mark, across)
            for y in range(len(shown)):
                if left <= x < frame.width:
                    frame.put(x, y, self._glyphs.vertical, "rule")
        for y, row in enumerate(shown):
            label = fit(self.printable(row.label), width, ellipsis=self._glyphs.ellipsis)
            frame.put(0, y, label, "label")
            frame.put(width + 1, y, self._glyphs.axis_y, "axis")
            self._draw_bar(frame, y, left, across, row.spans)
        self._draw_axis(frame, len(shown), left, across)
        self._draw_more(frame, len(shown))
        if data.legend and frame.height > 4:
            self._draw_legend(frame, len(shown) + 2)

    def _label_width(self, width: int) -> int:
        longest = max(cell_len(self.printable(row.label)) for row in self._data.rows)
        return min(longest, max(_MIN_LABEL_CELLS, width // _LABEL_SHARE))

    def _column(self, moment: float, across: int) -> int:
        return round(moment / self._data.end * across)

    def _draw_bar(
        self, frame: Frame, y: int, left: int, across: int, spans: Sequence[Span]
    ) -> None:
        """Draw segments that begin with their caption or letter; one shorter than a cell still gets
        a cell, if that is free."""
        next_free = -1
        for span in spans:
            first = min(self._column(span.start, across), across - 1)
            last = max(self._column(span.end, across), first + 1)
            first = max(first, next_free)
            if first >= min(last, across):
                continue
            cells_left = min(last, across) - first
            style = f"kind-{min(max(1, span.kind), KINDS)}" + ("-strong" if span.strong else "")
            caption = self.printable(span.caption)
            head = (
                caption
                if caption and cell_len(caption) < cells_left
                else self.printable(span.letter)
            )
            fill = self._glyphs.filled if span.strong else self._glyphs.track
            frame.put(left + first, y, (head + fill * cells_left)[:cells_left], style)
            next_free = first + cells_left

    def _draw_axis(self, frame: Frame, y: int, left: int, across: int) -> None:
        """The line below the bars, with as many ticks as fit; a label at the right end is shifted
        left to stay inside."""
        glyphs = self._glyphs
        frame.put(left - 1, y, glyphs.corner + glyphs.axis_x * across, "axis")
        for values in tick_candidates(LinearScale(0.0, self._data.end), "time"):
            texts = tick_texts(values, "time")
            columns = [left + self._column(value, across) for value in values]
            starts = [
                min(column, frame.width - cell_len(text))
                for column, text in zip(columns, texts, strict=True)
            ]
            fits = all(
                after - before - cell_len(text) >= _TICK_GAP
                for before, after, text in zip(starts[:-1], starts[1:], texts[:-1], strict=True)
            )
            if fits and starts and starts[0] >= left:
                for column, start, text in zip(columns, starts, texts, strict=True):
                    frame.put(min(column, frame.width - 1), y, glyphs.tick_x, "axis")
                    frame.put(start, y + 1, text, "tick")
                return

    def _draw_more(self, frame: Frame, shown: int) -> None:
        """How many rows are above and below, at the left of the axis."""
        above, below = self._top, len(self._data.rows) - self._top - shown
        parts = [f"{self._glyphs.above}{above}"] if above else []
        parts += [f"{self._glyphs.below}{below}"] if below else []
        if parts:
            frame.put(0, shown, " ".join(parts), "more")

    def _draw_legend(self, frame: Frame, y: int) -> None:
        x = 0
        for letter, kind, word in self._data.legend:
            text = self.printable(word)
            if x + 2 + cell_len(text) > frame.width:
                return
            if letter:
                frame.put(x, y, letter, f"kind-{kind}-strong")
                x += 2
            frame.put(x, y, text, "legend")
            x += cell_len(text) + 3
