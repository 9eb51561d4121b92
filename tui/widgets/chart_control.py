"""Keys and mouse of a chart: crosshair, zoom, pan, dragged thresholds.

Helpers are imported on first use, as the first frame of an app has no curves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.widgets.chart_data import EMPTY, ChartData, Window
from tui.widgets.frame import FrameWidget

if TYPE_CHECKING:
    from tui.widgets.chart_layout import Layout
    from tui.widgets.chart_mouse import DragGesture

AxisName = Literal["x", "y"]

_ZOOM = 0.7
"""Width of the visible part after one zoom step, relative to that before."""


class ChartControl(FrameWidget):
    """The interactive part of `Chart`; subclasses set `_data` and `_layout` and draw."""

    _data: ChartData = EMPTY
    _layout: Layout | None = None
    _remembered: float | None = None
    _drag: DragGesture | None = None
    _drag_count = 0
    _line = ""
    _moved = False

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "step(-1)", "Crosshair left", show=False),
        Binding("right", "step(1)", "Crosshair right", show=False),
        Binding("shift+left,ctrl+left,pagedown", "stride(-1)", "Far left", show=False),
        Binding("shift+right,ctrl+right,pageup", "stride(1)", "Far right", show=False),
        Binding("home", "to_end(0)", "First", show=False),
        Binding("end", "to_end(1)", "Last", show=False),
        Binding("up", "pan('y', 0.125)", "Look higher", show=False),
        Binding("down", "pan('y', -0.125)", "Look lower", show=False),
        Binding("shift+up,ctrl+up", "zoom('y', 1)", "Zoom into y", show=False),
        Binding("shift+down,ctrl+down", "zoom('y', -1)", "Zoom out of y", show=False),
        Binding("enter", "pick", "Choose", show=False),
    ]

    # Plain classes: creating dataclasses takes longer than the first frame can spare.

    class _ChartMessage(Message, namespace="chart"):
        """A message of which only the last of its kind counts."""

        def __init__(self, chart: ChartControl) -> None:
            super().__init__()
            self.chart = chart

        def can_replace(self, message: Message) -> bool:
            """Fifty queued steps cause one computation."""
            return type(message) is type(self) and getattr(message, "chart", None) is self.chart

    class CrosshairMoved(_ChartMessage, namespace="chart"):
        """The crosshair moved to `x`, or was hidden (None); `line` is the threshold under the
        mouse."""

        def __init__(self, chart: ChartControl, x: float | None, line: str = "") -> None:
            super().__init__(chart)
            self.x, self.line = x, line

    class WindowChanged(_ChartMessage, namespace="chart"):
        """The chart was zoomed or panned to these windows; None for a whole axis."""

        def __init__(self, chart: ChartControl, x: Window | None, y: Window | None) -> None:
            super().__init__(chart)
            self.x, self.y = x, y

    class ThresholdDragged(_ChartMessage, namespace="chart"):
        """The threshold `name` was dragged to `value`; `drag` numbers the gestures."""

        def __init__(self, chart: ChartControl, name: str, value: float, drag: int) -> None:
            super().__init__(chart)
            self.name, self.value, self.drag = name, value, drag

    class BandChanged(_ChartMessage, namespace="chart"):
        """The band shows beside the curves, or does no longer (`Chart.band_hidden`)."""

    class PointPicked(_ChartMessage, namespace="chart"):
        """The plot was clicked where the crosshair goes to `x`; `entered` where Enter was pressed
        at the crosshair instead."""

        def __init__(self, chart: ChartControl, x: float, *, entered: bool = False) -> None:
            super().__init__(chart)
            self.x, self.entered = x, entered

    @property
    def data(self) -> ChartData:
        return self._data

    # Crosshair

    @property
    def xs(self) -> Sequence[float]:
        """Positions of the crosshair: the xs of the first curve."""
        first = min(self._data.series, key=lambda series: series.slot, default=None)
        return () if first is None else first.xs

    def point_at(self, x: float | None, *, line: str = "") -> None:
        """Move the crosshair to `x`, or hide it, and post the change."""
        if (x, line) == (self._data.crosshair, self._line):
            return
        self._line = line
        if x is not None:
            self._remembered = x
        if x != self._data.crosshair:
            self._data = replace(self._data, crosshair=x)
            self.redraw()
        self.post_message(self.CrosshairMoved(self, x, line))

    def _follow(self, x: float) -> None:
        """Move the crosshair by a key; where it leaves the visible part, that pans along."""
        from tui.widgets.chart_scales import panned

        layout = self._layout
        position = layout.x.position(x) if layout else 0.5
        if layout is not None and not -1e-9 <= position <= 1 + 1e-9:
            share = position - 1.0 if position > 1 else position
            window = panned(layout.scales.x, layout.scales.whole_x, share=share)
            self._look(window, self._data.y.window)
        self.point_at(x)

    def _start(self) -> float | None:
        """First position of the crosshair: where it was last, else at the marked point."""
        layout, xs = self._layout, self.xs
        if layout is None or not xs:
            return None
        marked = [point.x for point in self._data.points]
        wanted = self._remembered if self._remembered is not None else next(iter(marked), None)
        position = 0.5 if wanted is None else layout.x.position(wanted)
        from tui.widgets.chart_crosshair import nearest

        return nearest(xs, layout, position * (layout.width - 1))

    def action_step(self, direction: int, *, big: bool = False) -> None:
        """Move the crosshair to the next point."""
        x = self._data.crosshair
        if x is None or self._layout is None:
            x = self._start()
            if x is not None:
                self.point_at(x)
            return
        from tui.widgets.chart_crosshair import stepped

        self._follow(stepped(self.xs, self._layout, x, direction, big=big))

    def action_stride(self, direction: int) -> None:
        """Move the crosshair by a big step."""
        self.action_step(direction, big=True)

    def action_to_end(self, end: int) -> None:
        """Move the crosshair to the first (0) or last (1) point."""
        if self.xs:
            self._follow(self.xs[-1 if end else 0])

    def action_pick(self) -> None:
        """Pick the point at the crosshair."""
        if self._data.crosshair is not None:
            self.post_message(self.PointPicked(self, self._data.crosshair, entered=True))

    def watch_has_focus(self, has_focus: bool) -> None:
        """Show the crosshair with the focus, hide it without."""
        super().watch_has_focus(has_focus)
        if has_focus and self._data.crosshair is None:
            self.point_at(self._start())
        elif not has_focus and not self.mouse_hover:
            self.point_at(None)

    # Zoom and pan

    def action_zoom(self, axis: AxisName, direction: int, at: float | None = None) -> None:
        """Zoom in (1) or out (-1), around the value `at`: the crosshair, else the middle."""
        layout = self._layout
        if layout is None:
            return
        from tui.widgets.chart_scales import zoomed

        scales, factor = layout.scales, _ZOOM if direction > 0 else 1 / _ZOOM
        if axis == "x":
            middle = self._data.crosshair if at is None else at
            middle = scales.x.value(0.5) if middle is None else middle
            window = zoomed(scales.x, scales.whole_x, factor=factor, at=middle)
            self._look(window, self._data.y.window)
        else:
            middle = scales.y.value(0.5) if at is None else at
            window = zoomed(scales.y, scales.whole_y, factor=factor, at=middle)
            self._look(self._data.x.window, window)

    def action_pan(self, axis: AxisName, share: float) -> None:
        """Pan by a share of the visible width; the whole axis does not move."""
        layout = self._layout
        if layout is None:
            return
        from tui.widgets.chart_scales import panned

        scales = layout.scales
        if axis == "x":
            self._look(panned(scales.x, scales.whole_x, share=share), self._data.y.window)
        elif self._data.y.window is not None:
            self._look(self._data.x.window, panned(scales.y, scales.whole_y, share=share))

    def _look(self, x: Window | None, y: Window | None) -> None:
        """Show these windows of the axes, and post the change."""
        data = self._data
        if (x, y) == (data.x.window, data.y.window):
            return
        self._data = replace(data, x=replace(data.x, window=x), y=replace(data.y, window=y))
        self.redraw()
        self.post_message(self.WindowChanged(self, x, y))

    # Mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Grab a threshold to drag it, or the plot to pan it."""
        from tui.widgets import chart_mouse

        self._moved = False
        offset = event.get_content_offset(self)
        if event.button == 1 and offset is not None and self._layout is not None:
            # Here too: some terminals report the mouse only while a button is pressed.
            xs = chart_mouse.nearest_x(self.xs, self._layout, offset.x, offset.y)
            self.point_at(xs)
            self._drag = chart_mouse.drag_at(self._data, self._layout, offset)
            if self._drag is not None:
                self._drag_count += 1
                self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag what is grabbed, else point at what is under the mouse. The release of the button
        may not have been reported."""
        from tui.widgets import chart_mouse

        if not event.button:
            self._let_go()
        x, y = event.x - self.gutter.left, event.y - self.gutter.top
        drag, layout = self._drag, self._layout
        if layout is None:
            return
        if drag is None:
            line = chart_mouse.line_at(self._data, layout, x, y)
            self.point_at(
                chart_mouse.nearest_x(self.xs, layout, x, y), line=line.name if line else ""
            )
            return
        event.stop()
        if not self._moved and (x, y) == drag.start:
            return
        self._moved = True
        if drag.line is not None:
            value = drag.value(drag.line, x, y)
            self._data = chart_mouse.with_line(self._data, drag.line.name, value)
            self.redraw()
            self.post_message(self.ThresholdDragged(self, drag.line.name, value, self._drag_count))
        else:
            self._look(*drag.windows(x, y))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag is not None:
            event.stop()
            self._let_go()

    def on_hide(self) -> None:
        """A key showed another view during a drag: a hidden widget gets no release of the button,
        and would keep the mouse captured."""
        self._let_go()

    def _let_go(self) -> None:
        if self._drag is not None:
            self._drag = None
            self.release_mouse()
            self.redraw()

    def on_leave(self) -> None:
        """Without the mouse the crosshair belongs to the keyboard."""
        if not self.has_focus:
            self.point_at(None)

    def wheel(self, event: events.MouseEvent, rows: int) -> None:
        """Up zooms in around the mouse: x, with shift or ctrl y."""
        event.stop()
        direction, offset, layout = -rows, event.get_content_offset(self), self._layout
        if offset is None or layout is None:
            return
        if event.shift or event.ctrl:
            up = 1.0 - offset.y / max(1, layout.height - 1)
            self.action_zoom("y", direction, layout.y.value(up))
        else:
            across = (offset.x - layout.left) / max(1, layout.width - 1)
            self.action_zoom("x", direction, layout.x.value(across))

    def on_click(self, event: events.Click) -> None:
        """Pick the point at the crosshair, which the button's press has put there."""
        if not self._moved and self._data.crosshair is not None:
            event.stop()
            self.post_message(self.PointPicked(self, self._data.crosshair))
