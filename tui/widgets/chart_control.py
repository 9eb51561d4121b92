"""What keys and the mouse do with a chart: crosshair, zoom, pan, thresholds that are dragged.

What it needs for that is imported on its first use, as the first frame of an app has no curves.
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
"""How much narrower one step of a zoom makes what is looked at."""


class ChartControl(FrameWidget):
    """The part of `Chart` that is used; subclasses set `_data` and `_layout` and draw."""

    _data: ChartData = EMPTY
    _layout: Layout | None = None
    _remembered: float | None = None
    _drag: DragGesture | None = None
    _drags = 0
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

    # Plain classes: a dataclass takes longer to make than the first frame can spare.

    class _ChartMessage(Message, namespace="chart"):
        """Of these messages only the last one of a kind counts."""

        def __init__(self, chart: ChartControl) -> None:
            super().__init__()
            self.chart = chart

        def can_replace(self, message: Message) -> bool:
            """Fifty queued steps cause one computation."""
            return type(message) is type(self) and getattr(message, "chart", None) is self.chart

    class CrosshairMoved(_ChartMessage, namespace="chart"):
        """The crosshair went to `x`, or away; `line` is the threshold under the mouse."""

        def __init__(self, chart: ChartControl, x: float | None, line: str = "") -> None:
            super().__init__(chart)
            self.x, self.line = x, line

    class WindowChanged(_ChartMessage, namespace="chart"):
        """These parts of the axes are looked at; None for the whole."""

        def __init__(self, chart: ChartControl, x: Window | None, y: Window | None) -> None:
            super().__init__(chart)
            self.x, self.y = x, y

    class ThresholdDragged(_ChartMessage, namespace="chart"):
        """The threshold `name` is dragged to `value`; `drag` counts the gestures."""

        def __init__(self, chart: ChartControl, name: str, value: float, drag: int) -> None:
            super().__init__(chart)
            self.name, self.value, self.drag = name, value, drag

    class PointPicked(_ChartMessage, namespace="chart"):
        """The plot was clicked at the value `x` of the horizontal axis; `entered` where enter was
        pressed at the crosshair."""

        def __init__(self, chart: ChartControl, x: float, *, entered: bool = False) -> None:
            super().__init__(chart)
            self.x, self.entered = x, entered

    @property
    def data(self) -> ChartData:
        return self._data

    # Crosshair

    @property
    def xs(self) -> Sequence[float]:
        """Where the crosshair can stand: the xs of the first curve."""
        first = min(self._data.series, key=lambda series: series.slot, default=None)
        return () if first is None else first.xs

    def point_at(self, x: float | None, *, line: str = "") -> None:
        """Put the crosshair at `x`, or take it away, and tell it."""
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
        """Move the crosshair by a key: where it leaves what is seen, that moves along."""
        from tui.widgets.chart_scales import panned

        layout = self._layout
        place = layout.x.position(x) if layout else 0.5
        if layout is not None and not -1e-9 <= place <= 1 + 1e-9:
            share = place - 1.0 if place > 1 else place
            window = panned(layout.scales.x, layout.scales.whole_x, share=share)
            self._look(window, self._data.y.window)
        self.point_at(x)

    def _start(self) -> float | None:
        """Where the crosshair begins: where it was, else at the marked point."""
        layout, xs = self._layout, self.xs
        if layout is None or not xs:
            return None
        marked = [point.x for point in self._data.points]
        wanted = self._remembered if self._remembered is not None else next(iter(marked), None)
        position = 0.5 if wanted is None else layout.x.position(wanted)
        from tui.widgets.chart_crosshair import nearest

        return nearest(xs, layout, position * (layout.width - 1))

    def action_step(self, direction: int, *, big: bool = False) -> None:
        """The crosshair to the next point."""
        x = self._data.crosshair
        if x is None or self._layout is None:
            x = self._start()
            if x is not None:
                self.point_at(x)
            return
        from tui.widgets.chart_crosshair import stepped

        self._follow(stepped(self.xs, self._layout, x, direction, big=big))

    def action_stride(self, direction: int) -> None:
        """The crosshair by a big step."""
        self.action_step(direction, big=True)

    def action_to_end(self, end: int) -> None:
        """The crosshair to the first (0) or last (1) point."""
        if self.xs:
            self._follow(self.xs[-1 if end else 0])

    def action_pick(self) -> None:
        """Choose the point at the crosshair."""
        if self._data.crosshair is not None:
            self.post_message(self.PointPicked(self, self._data.crosshair, entered=True))

    def watch_has_focus(self, has_focus: bool) -> None:
        """The crosshair comes and goes with the focus."""
        super().watch_has_focus(has_focus)
        if has_focus and self._data.crosshair is None:
            self.point_at(self._start())
        elif not has_focus and not self.mouse_hover:
            self.point_at(None)

    # Looking

    def action_zoom(self, axis: AxisName, direction: int, at: float | None = None) -> None:
        """Closer (1) or wider (-1), around the value `at`: the crosshair, else the middle."""
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
        """Move what is looked at by a share of its width; the whole stays."""
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
        """Look at these parts of the axes, and tell it."""
        data = self._data
        if (x, y) == (data.x.window, data.y.window):
            return
        self._data = replace(data, x=replace(data.x, window=x), y=replace(data.y, window=y))
        self.redraw()
        self.post_message(self.WindowChanged(self, x, y))

    # Mouse

    def on_mouse_down(self, event: events.MouseDown) -> None:
        """Take hold of a threshold, or of the plot to pan it."""
        from tui.widgets import chart_mouse

        self._moved = False
        offset = event.get_content_offset(self)
        if event.button == 1 and offset is not None and self._layout is not None:
            # Here too: over some lines a terminal tells where the mouse is only when it is pressed.
            xs = chart_mouse.pointed(self.xs, self._layout, offset.x, offset.y)
            self.point_at(xs)
            self._drag = chart_mouse.grip(self._data, self._layout, offset)
            if self._drag is not None:
                self._drags += 1
                self.capture_mouse()

    def on_mouse_move(self, event: events.MouseMove) -> None:
        """Drag what is held, else point at what is under the mouse. That the button was let go may
        not have been told."""
        from tui.widgets import chart_mouse

        if not event.button:
            self._let_go()
        x, y = event.x - self.gutter.left, event.y - self.gutter.top
        grip, layout = self._drag, self._layout
        if layout is None:
            return
        if grip is None:
            line = chart_mouse.line_at(self._data, layout, x, y)
            self.point_at(
                chart_mouse.pointed(self.xs, layout, x, y), line=line.name if line else ""
            )
            return
        event.stop()
        if not self._moved and (x, y) == grip.start:
            return
        self._moved = True
        if grip.line is not None:
            value = grip.value(x, y)
            self._data = chart_mouse.with_line(self._data, grip.line.name, value)
            self.redraw()
            self.post_message(self.ThresholdDragged(self, grip.line.name, value, self._drags))
        else:
            self._look(*grip.windows(x, y))

    def on_mouse_up(self, event: events.MouseUp) -> None:
        if self._drag is not None:
            event.stop()
            self._let_go()

    def on_hide(self) -> None:
        """A key that shows another view while the mouse drags: what is not seen is told of no
        button that is let go, and would have the mouse for good."""
        self._let_go()

    def _let_go(self) -> None:
        if self._drag is not None:
            self._drag = None
            self.release_mouse()
            self.redraw()

    def on_leave(self) -> None:
        """Without the mouse the crosshair is the keyboard's."""
        if not self.has_focus:
            self.point_at(None)

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel zooms in around the mouse: x, with shift or ctrl y."""
        self._wheel(event, 1)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, -1)

    def _wheel(self, event: events.MouseEvent, direction: int) -> None:
        event.stop()
        offset, layout = event.get_content_offset(self), self._layout
        if offset is None or layout is None:
            return
        if event.shift or event.ctrl:
            up = 1.0 - offset.y / max(1, layout.height - 1)
            self.action_zoom("y", direction, layout.y.value(up))
        else:
            across = (offset.x - layout.left) / max(1, layout.width - 1)
            self.action_zoom("x", direction, layout.x.value(across))

    def on_click(self, event: events.Click) -> None:
        """Tell which value of x was clicked."""
        layout, offset = self._layout, event.get_content_offset(self)
        if layout is None or offset is None or self._moved:
            return
        column = offset.x - layout.left
        if 0 <= column < layout.width:
            event.stop()
            self.post_message(self.PointPicked(self, layout.x.value(column / (layout.width - 1))))
