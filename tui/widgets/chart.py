"""A chart of curves in the terminal, drawn with braille dots and repainted cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.geometry import Region
from textual.message import Message

from tui.widgets.chart_data import (
    EMPTY,
    Axis,
    ChartData,
    Point,
    Series,
    Threshold,
)
from tui.widgets.chart_message import paint_message
from tui.widgets.frame import Frame, FrameWidget
from tui.widgets.glyphs import Glyphs, choose_glyphs

if TYPE_CHECKING:
    from tui.widgets.chart_layout import Layout

__all__ = ["Axis", "Chart", "ChartData", "Point", "Series", "Threshold"]


class Chart(FrameWidget):
    """Several curves with bands, thresholds, a feasible part and marked points.

    Give it everything at once with `show`; it refreshes the cells that changed and no others.
    """

    STYLES: ClassVar[Mapping[str, str]] = {
        "base": "$foreground",
        "axis": "$foreground-muted",
        "tick": "$foreground-muted",
        "title": "italic $foreground-muted",
        "band": "$text-disabled",
        "feasible": "bold $text-success",
        "marker": "bold $foreground",
        "message": "$foreground-muted",
        "series-1": "bold $text-accent",
        "series-2": "$text-primary",
        "series-3": "$text-success",
        "series-4": "$text-secondary",
        "series-5": "$foreground",
        "series-6": "$foreground-muted",
        "limit-1": "$text-error",
        "limit-2": "$text-error",
        "limit-3": "$foreground-muted",
    }
    ANSI_STYLES: ClassVar[Mapping[str, str]] = {
        "axis": "dim $foreground-muted",
        "tick": "dim $foreground-muted",
        "title": "dim $foreground-muted",
        "band": "dim $text-disabled",
        "limit-3": "dim $foreground-muted",
        "series-1": "bold $foreground",
        "series-2": "ansi_cyan",
        "series-3": "ansi_green",
        "series-4": "ansi_blue",
        "series-5": "ansi_magenta",
    }
    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        width: 1fr;
        min-height: 5;
    }
    """

    @dataclass(eq=False, repr=False)
    class Picked(Message):
        """The plot was clicked at the value `x` of the horizontal axis."""

        chart: Chart
        x: float

        @property
        def control(self) -> Chart:
            """The chart, for `on` selectors."""
            return self.chart

    def __init__(
        self,
        data: ChartData = EMPTY,
        *,
        glyphs: Glyphs | None = None,
        id: str | None = None,
        classes: str | None = None,
    ) -> None:
        super().__init__(id=id, classes=classes)
        self._data = data
        self._glyphs = glyphs or choose_glyphs()
        self._layout: Layout | None = None

    @property
    def data(self) -> ChartData:
        """What is shown."""
        return self._data

    def show(self, data: ChartData) -> list[Region]:
        """Show `data` and return the regions of cells that changed."""
        if data is self._data:
            return []
        self._data = data
        return self.redraw()

    def use_glyphs(self, glyphs: Glyphs) -> None:
        """Draw with another set of characters from now on."""
        self._glyphs = glyphs
        self.redraw()

    def draw(self, frame: Frame) -> None:
        """Paint the data, or the message in place of them."""
        if self._data.message is not None:
            self._layout = None
            paint_message(frame, self._data.message, self._glyphs)
            return
        # Imported here as the first frame of an app has no curves yet.
        from tui.widgets.chart_paint import paint

        self._layout = paint(frame, self._data, self._glyphs)

    def on_click(self, event: events.Click) -> None:
        """Tell which value of x was clicked."""
        layout, offset = self._layout, event.get_content_offset(self)
        if layout is None or offset is None:
            return
        column = offset.x - layout.left
        if 0 <= column < layout.width:
            event.stop()
            self.post_message(self.Picked(self, layout.x.value(column / (layout.width - 1))))
