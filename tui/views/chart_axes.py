"""The axes of the charts: which axes of the state belong to which chart, and how they are shown."""

from __future__ import annotations

from tui.state import AxisName, AxisView, PlanState
from tui.widgets.chart_data import Axis
from tui.widgets.numbers import Kind

AXES: dict[str, tuple[AxisName, AxisName]] = {
    "time": ("nodes", "time"),
    "cost": ("nodes", "cost"),
    "frontier-chart": ("frontier_time", "frontier_cost"),
}
"""Id of a chart -> its horizontal and its vertical axis."""

TITLES = {"time": "Time by nodes", "cost": "Cost by nodes", "frontier-chart": "Cost by time"}


def charts_of(state: PlanState) -> tuple[str, ...]:
    """The charts of the current view, the one that keys act on first."""
    if state.view == "frontier":
        return ("frontier-chart",)
    if state.view != "curves":
        return ()
    return ("cost", "time") if state.chart == "cost" else ("time", "cost")


def look_of(state: PlanState, axis: AxisName) -> AxisView:
    """Scale and zoom of an axis."""
    view: AxisView = getattr(state.axes, axis)
    return view


def axis(
    state: PlanState,
    name: AxisName,
    *,
    kind: Kind,
    title: str = "",
    log: bool = True,
    high: float | None = None,
) -> Axis:
    """An axis with the state's scale and zoom; `log` where the user chose no scale."""
    look = look_of(state, name)
    chosen = log if look.log is None else look.log
    return Axis(kind=kind, log=chosen, title=title, high=high, window=look.window)


def title(state: PlanState, chart: str) -> str:
    """The title over a chart; of a zoomed one, also how to reset it."""
    looks = [look_of(state, name) for name in AXES[chart]]
    linear = [sign for sign, look in zip("xy", looks, strict=True) if look.log is False]
    parts = [TITLES[chart]]
    parts += [f"linear {' and '.join(linear)}"] if linear else []
    parts += ["zoomed: a shows all"] if any(look.window for look in looks) else []
    return ", ".join(parts)
