"""A chart of curves in the terminal, drawn with braille dots and repainted cell by cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.geometry import Region

from tui.widgets.chart_control import ChartControl
from tui.widgets.chart_data import EMPTY, Axis, ChartData, Point, Series, Threshold
from tui.widgets.chart_message import paint_message
from tui.widgets.frame import Frame
from tui.widgets.glyphs import Glyphs

__all__ = ["Axis", "Chart", "ChartData", "Point", "Series", "Threshold"]


class Chart(ChartControl, can_focus=True):
    """Several curves with bands, thresholds, a feasible range and marked points.

    Pass all data at once to `show`; it refreshes only the cells that changed. Keys and the mouse
    move a crosshair, zoom, pan and drag thresholds; the chart redraws at once and posts messages,
    so that the owner of the data can store the change.
    """

    STYLES: ClassVar[Mapping[str, str]] = {
        "base": "$foreground",
        "axis": "$foreground-muted",
        "tick": "$foreground-muted",
        "title": "italic $foreground-muted",
        "band": "$foreground-muted",
        "feasible": "bold $text-success",
        "marker": "bold $foreground",
        "message": "$foreground-muted",
        "series-1": "bold $text-accent",
        "series-2": "$text-primary",
        "series-3": "$text-success",
        "series-4": "$text-secondary",
        "series-5": "$foreground",
        "series-6": "$foreground-muted",
        "limit": "$text-error",
    }
    ANSI_STYLES: ClassVar[Mapping[str, str]] = {
        "axis": "dim $foreground-muted",
        "tick": "dim $foreground-muted",
        "title": "dim $foreground-muted",
        "band": "dim $text-disabled",
        "series-1": "bold $foreground",
        "series-2": "ansi_cyan",
        "series-3": "ansi_green",
        "series-4": "ansi_bright_blue",
        "series-5": "ansi_magenta",
    }
    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        width: 1fr;
        min-height: 5;
    }
    """

    def __init__(
        self, data: ChartData = EMPTY, *, glyphs: Glyphs | None = None, id: str | None = None
    ) -> None:
        super().__init__(glyphs=glyphs, id=id)
        self._data = data

    def show(self, data: ChartData) -> list[Region]:
        """Show `data` and return the regions of cells that changed."""
        if data is self._data:
            return []
        self._data = data
        if data.crosshair is not None:
            self._remembered = data.crosshair
        return self.redraw()

    @property
    def band_hidden(self) -> bool:
        """Whether curves are painted, and no band shows beside them: it is as thin as a line."""
        return self._layout is not None and not self._layout.band_seen

    def draw(self, frame: Frame) -> None:
        """Paint the data, or a message in their place."""
        if self._data.message is not None:
            self._layout = None
            paint_message(frame, self._data.message, self._glyphs)
            return
        # Imported here as the first frame of an app has no curves yet.
        from tui.widgets.chart_paint import paint

        data = self._data if self._drag is None else self._drag.with_fixed_axes(self._data)
        was_hidden = self.band_hidden
        self._layout = paint(frame, data, self._glyphs)
        if self.band_hidden != was_hidden:
            # Later: a message that is made while the screen draws counts as the screen's own, and
            # never gets to it.
            self.call_later(lambda: self.post_message(self.BandChanged(self)))
