"""A chart of curves in the terminal, drawn with braille dots and repainted cell by cell."""

from __future__ import annotations

from typing import ClassVar

from textual.geometry import Region

from tui.widgets.chart_control import ChartControl
from tui.widgets.chart_data import (
    EMPTY,
    LIMIT_SLOTS,
    SERIES_SLOTS,
    Axis,
    ChartData,
    Point,
    Series,
    Threshold,
)
from tui.widgets.chart_message import paint_message
from tui.widgets.frame import Frame, component_classes
from tui.widgets.glyphs import Glyphs, choose_glyphs

__all__ = ["Axis", "Chart", "ChartData", "Point", "Series", "Threshold"]

_SERIES = tuple(f"series-{slot}" for slot in range(1, SERIES_SLOTS + 1))
_LIMITS = tuple(f"limit-{slot}" for slot in range(1, LIMIT_SLOTS + 1))
_PLAIN = ("base", "axis", "tick", "title", "band", "feasible", "marker", "marker-label", "message")


class Chart(ChartControl, can_focus=True):
    """Several curves with bands, thresholds, a feasible part and marked points.

    Give it everything at once with `show`; it refreshes the cells that changed and no others. Keys
    and the mouse move a crosshair, zoom, pan and drag thresholds; the chart follows at once and
    tells what it did, so that whoever owns the data can keep it.
    """

    PREFIX = "chart"
    COMPONENT_CLASSES: ClassVar[set[str]] = component_classes(
        PREFIX,
        (*_PLAIN, *_SERIES, *_LIMITS, *(f"{name}-label" for name in (*_SERIES, *_LIMITS))),
    )
    DEFAULT_CSS = """
    Chart {
        height: 1fr;
        width: 1fr;
        min-height: 5;
        & > .chart--base { color: $foreground; }
        & > .chart--axis { color: $foreground-muted; }
        & > .chart--tick { color: $foreground-muted; }
        & > .chart--title { color: $foreground-muted; text-style: italic; }
        & > .chart--band { color: $text-disabled; }
        & > .chart--feasible { color: $text-success; text-style: bold; }
        & > .chart--marker { color: $foreground; text-style: bold; }
        & > .chart--marker-label { color: $foreground; text-style: bold; }
        & > .chart--message { color: $foreground-muted; }
        & > .chart--series-1, & > .chart--series-1-label { color: $text-accent; text-style: bold; }
        & > .chart--series-2, & > .chart--series-2-label { color: $text-primary; }
        & > .chart--series-3, & > .chart--series-3-label { color: $text-success; }
        & > .chart--series-4, & > .chart--series-4-label { color: $text-secondary; }
        & > .chart--series-5, & > .chart--series-5-label { color: $foreground; }
        & > .chart--series-6, & > .chart--series-6-label { color: $foreground-muted; }
        & > .chart--limit-1, & > .chart--limit-1-label { color: $text-error; }
        & > .chart--limit-2, & > .chart--limit-2-label { color: $text-error; }
        & > .chart--limit-3, & > .chart--limit-3-label { color: $foreground-muted; }
        &:ansi {
            & > .chart--axis, & > .chart--tick, & > .chart--title { text-style: dim; }
            & > .chart--band, & > .chart--limit-3, & > .chart--limit-3-label { text-style: dim; }
            & > .chart--series-1, & > .chart--series-1-label { color: $foreground; }
            & > .chart--series-2, & > .chart--series-2-label { color: ansi_cyan; }
            & > .chart--series-3, & > .chart--series-3-label { color: ansi_green; }
            & > .chart--series-4, & > .chart--series-4-label { color: ansi_blue; }
            & > .chart--series-5, & > .chart--series-5-label { color: ansi_magenta; }
        }
    }
    """

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

    def show(self, data: ChartData) -> list[Region]:
        """Show `data` and return the regions of cells that changed."""
        if data is self._data:
            return []
        self._data = data
        if data.crosshair is not None:
            self._remembered = data.crosshair
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

        data = self._data if self._grip is None else self._grip.held(self._data)
        self._layout = paint(frame, data, self._glyphs)
