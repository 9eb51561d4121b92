"""A frame with more rows than fit: keys and the wheel scroll it."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType

from tui.widgets.frame import FrameWidget


class ScrollingFrame(FrameWidget):
    """A `FrameWidget` whose `draw` begins at row `_top` and keeps it within what there is."""

    KEPT_ROWS = 1
    """Rows by which a page is less than the height: an axis, or the last row seen before."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_rows(-1)", "Up", show=False),
        Binding("down,j", "scroll_rows(1)", "Down", show=False),
        Binding("pageup", "scroll_pages(-1)", "Page up", show=False),
        Binding("pagedown,space", "scroll_pages(1)", "Page down", show=False),
        Binding("home", "scroll_rows(-100000)", "Start", show=False),
        Binding("end", "scroll_rows(100000)", "End", show=False),
    ]

    _top = 0

    def action_scroll_rows(self, rows: int) -> None:
        self._top = max(0, self._top + rows)
        self.redraw()

    def action_scroll_pages(self, pages: int) -> None:
        """Up or down by what is visible."""
        self.action_scroll_rows(pages * max(1, self.size.height - self.KEPT_ROWS))

    def wheel(self, event: events.MouseEvent, rows: int) -> None:
        event.stop()
        self.action_scroll_rows(rows)
