"""The actions of the charts: crosshair, zoom, axis scales, dragged thresholds, extra curves,
files."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, cast

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import (
    Action,
    DrawCurves,
    MoveCrosshair,
    ResetZoom,
    SetAxisScale,
    SetAxisWindow,
    SetBudget,
    SetDeadline,
    ShowChart,
)
from tui.reducer import reduce
from tui.state import MAX_DRAWN, ChartKind
from tui.views import chart_axes
from tui.views.pages import FRONTIER_LIST
from tui.widgets.chart import Chart
from tui.widgets.table import Table

if TYPE_CHECKING:
    from tui.history import History
    from tui.state import PlanState

_PAN = 0.25
"""One pan step, as a share of the visible part of the axis."""


class ChartActions(PlannerMixin):
    """Mixin of `PlannerApp`."""

    hovered_threshold: str = ""
    """The threshold under the mouse; empty for none."""

    _before_drag: tuple[int, PlanState, History] | None = None
    _refused_file: str = ""

    # Messages of the charts

    def on_chart_crosshair_moved(self, message: Chart.CrosshairMoved) -> None:
        """The crosshair moved: show it in every chart of the view, and its terms in the help
        line."""
        self.hovered_threshold = message.line
        self._look(MoveCrosshair(message.x))
        hovered = message.chart if message.x is not None else None
        self.planner._panels.explain(hovered)

    def on_table_column_asked(self, message: Table.ColumnAsked) -> None:
        """A column was pointed at: explain it in the help line."""
        over = message.table if message.table.asked else None
        self.planner._panels.explain(over)

    def on_chart_window_changed(self, message: Chart.WindowChanged) -> None:
        """A chart was zoomed or panned."""
        app = self.planner
        x, y = chart_axes.AXES[str(message.chart.id)]
        app.state = reduce(app.state, SetAxisWindow(x, message.x))
        self._look(SetAxisWindow(y, message.y))

    def on_chart_band_changed(self) -> None:
        """At another size, a band as thin as its curve is no longer seen beside it: say so."""
        app = self.planner
        if app.answer is not None and app.state.view == "curves":
            from tui.views import curves

            curves.show_titles(app._panels, curves.curves_of(app._panels, app.answer))

    def on_chart_point_picked(self, message: Chart.PointPicked) -> None:
        """In the frontier a click moves the list's cursor to the nearest point; Enter adopts it as
        goal too. Elsewhere nothing is picked."""
        app = self.planner
        answer = app.answer
        if message.chart.id != "frontier-chart" or answer is None:
            if message.entered:
                app.say_unused("enter")
            return
        from tui.views import frontier

        points = frontier.outlines(answer)
        nearest = sorted(range(len(points)), key=lambda i: abs(points[i].seconds - message.x))
        listed = app._panels.table(FRONTIER_LIST)
        for index in nearest[:1]:
            app.dispatch(frontier.select_action(answer, index))
            if listed.wanted and index not in listed.matching(listed.wanted):
                listed.narrow("")
            listed.show(listed.rows, cursor=index)
            if message.entered:
                app.follow(index)

    def on_chart_threshold_dragged(self, message: Chart.ThresholdDragged) -> None:
        """A threshold was dragged: move its slider. Undo takes the whole gesture as one step."""
        app = self.planner
        if app.refuses_unknown(message.name):
            return
        slider = app._panels.slider(message.name)
        value = slider.snapped(message.value)
        if self._before_drag is None or self._before_drag[0] != message.drag:
            self._before_drag = (message.drag, app.state, app.history)
        _, before, history = self._before_drag
        action: Action = SetDeadline(value) if message.name == "deadline" else SetBudget(value)
        app.dispatch(action)
        app.history = history.recorded(before, app.state, now_seconds=monotonic())

    def _look(self, action: Action) -> None:
        """Take an action that computes nothing, and redraw only what it changes."""
        app = self.planner
        app.state = reduce(app.state, action)
        app._panels.look()

    # Keys, palette, typed commands

    @property
    def _chart(self) -> Chart | None:
        """The chart that keys act on: the focused one, else the first of the view."""
        app = self.planner
        if isinstance(app.focused, Chart):
            return app.focused
        names = chart_axes.charts_of(app.state)
        if not names:
            app.show_notice("this view has no chart; 1 and 3 have", "warn")
            return None
        return app._panels.chart(names[0])

    def action_crosshair(self) -> None:
        """Focus the chart, where the arrow keys move the crosshair."""
        app = self.planner
        names, chart = chart_axes.charts_of(app.state), self._chart
        if chart is None:
            return
        if chart.has_focus and len(names) > 1 and not app._panels.is_short:
            chart = app._panels.chart(next(name for name in names if name != chart.id))
        chart.focus()

    def action_at(self, nodes: int) -> None:
        """Put the crosshair at a number of nodes."""
        app = self.planner
        if app.state.view != "curves":
            app.action_view("curves")
        chart = app._panels.chart(chart_axes.charts_of(app.state)[0])
        if not chart.xs:
            app.show_notice("there is no curve yet", "warn")
            return
        chart.focus()
        chart.point_at(min(chart.xs, key=lambda x: abs(x - nodes)))

    def action_zoom(self, where: str) -> None:
        """Zoom in ("in"), out ("out"), or show the whole of every chart ("all")."""
        chart, app = self._chart, self.planner
        if chart is None:
            return
        if where != "in" and reduce(app.state, ResetZoom()) == app.state:
            app.show_notice("the whole chart is shown already", "base")
            return
        app._panels.show_status([])
        if where == "all":
            self._look(ResetZoom())
        else:
            chart.action_zoom("x", 1 if where == "in" else -1)

    def action_pan(self, side: str) -> None:
        """Pan towards smaller ("left") or larger ("right") values of x."""
        if (chart := self._chart) is not None:
            chart.action_pan("x", _PAN if side == "right" else -_PAN)

    def action_zoom_to(self, axis: str, low: float, high: float) -> None:
        """Zoom to a typed range of nodes, time or cost."""
        app = self.planner
        names = chart_axes.charts_of(app.state)
        if not names:
            app.action_view("curves")
            names = chart_axes.charts_of(app.state)
        axes_of_kind = {"nodes": ("nodes",), "time": ("time", "frontier_time")}
        matching_axes = axes_of_kind.get(axis, ("cost", "frontier_cost"))
        axes = ((name, shown) for name in names for shown in chart_axes.AXES[name])
        found = next((pair for pair in axes if pair[1] in matching_axes), None)
        if found is None:
            app.show_notice(f"no chart of this view has an axis of {axis}", "warn")
            return
        name, shown = found
        if name in ("time", "cost") and shown != "nodes":
            app.state = reduce(app.state, ShowChart(cast("ChartKind", name)))
        self._look(SetAxisWindow(shown, (low, high)))
        app._panels.show()

    def action_log(self, axis: str, kind: str = "") -> None:
        """Make an axis logarithmic ("log") or linear ("linear"); without either, switch it."""
        chart, app = self._chart, self.planner
        if chart is None:
            return
        shown = chart.data.x if axis == "x" else chart.data.y
        log = kind == "log" if kind else not shown.log
        name = chart_axes.AXES[str(chart.id)]["xy".index(axis)]
        self._look(SetAxisScale(name, log))
        app.show_notice(f"{axis} is {'logarithmic' if log else 'linear'} now", "base")

    def action_draw(self) -> None:
        """Add the curve of the type under the cursor of the compositions, or remove it."""
        app = self.planner
        selected, drawn = app.state.selected, app.state.drawn
        if selected is None:
            app.show_notice("the recommended type is always drawn; choose another row", "warn")
        elif selected in drawn:
            self._draw(tuple(name for name in drawn if name != selected))
        elif len(drawn) >= MAX_DRAWN:
            app.show_notice(f"{MAX_DRAWN} types are drawn already; :draw off drops them", "warn")
        else:
            self._draw((*drawn, selected))

    def action_draw_types(self, names: str) -> None:
        """Draw the curves of these types (separated by spaces) beside the recommended one, and no
        others."""
        self._draw(tuple(names.split()))

    def _draw(self, names: tuple[str, ...]) -> None:
        app = self.planner
        app.dispatch(DrawCurves(names))
        answer = app.answer
        # A type that the filter excludes is kept, and drawn once it is a candidate again.
        excluded = [n for n in app.state.drawn if answer is not None and answer.curve(n) is None]
        drawn = ", ".join(name for name in app.state.drawn if name not in excluded)
        shown = f"also drawn: {drawn}" if drawn else "no other type is drawn"
        warning = (
            f"; not among the candidate types: {', '.join(excluded)} (/ chooses)"
            if excluded
            else ""
        )
        app.show_notice(shown + warning, "warn" if excluded else "base")

    def action_save_chart(self, path: str = "") -> None:
        """Write the charts of the view, or their numbers, to a file."""
        app = self.planner
        from tui.charts import chart_files

        if not path:
            app.type_command(f"chart {chart_files.suggested_name(app)}")
            return
        self._refused_file = chart_files.save(app, path, allowed=self._refused_file)
