"""Time and cost against nodes, as chart data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tui.state import PlanState
from tui.views import compositions, words
from tui.views.prose import Prose
from tui.widgets.chart import Chart
from tui.widgets.chart_data import Axis, ChartData, Point, Series, Threshold
from tui.widgets.numbers import money_text, time_text
from tui.widgets.table import Table

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Choice, Curve
    from tui.panels import Panels
    from tui.session import Answer

WAITING = ChartData(message="reading ...")
NOTHING = ChartData(message="no plan yet")


def fill(panels: Panels) -> list[Widget]:
    """The charts, the sentence of a small terminal, and the first rows of the compositions."""
    return [
        panels.panel(panels.new(Chart, WAITING, id="time"), "Time by nodes"),
        panels.panel(panels.new(Chart, WAITING, id="cost"), "Cost by nodes"),
        panels.new(Prose, words.WAITING, id="sentence"),
        panels.panel(panels.new(Table, compositions.COLUMNS, id="short"), "Compositions"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """Of two charts that do not both fit, only the one that is seen is drawn."""
    state, short = panels.state, panels.is_short
    if not short or state.chart == "time":
        panels.chart("time").show(time_chart(state, answer))
    if not short or state.chart == "cost":
        panels.chart("cost").show(cost_chart(state, answer))
    panels.prose("sentence").show(words.brief(state, answer, panels.marks))
    table = panels.table("short")
    most = compositions.SHORT_LIST if table.has_focus else max(3, table.size.height - 1)
    compositions.show_rows(panels, "short", answer, most)


def time_chart(state: PlanState, answer: Answer) -> ChartData:
    """Predicted time by nodes with its band, the deadline and the part that meets the goal."""
    curve = answer.report.curve
    if curve is None:
        return ChartData(message="no type can be predicted and priced")
    series = [
        Series(
            xs=curve.nodes.tolist(),
            ys=curve.seconds.tolist(),
            lows=curve.low.tolist(),
            highs=curve.high.tolist(),
            label=curve.instance,
        )
    ]
    if answer.compared is not None:
        series.append(_compared(answer.compared, answer.compared.seconds.tolist()))
    best = answer.report.recommendation.recommended
    return ChartData(
        series=tuple(series),
        x=Axis(kind="count", log=True, title="nodes"),
        y=Axis(kind="time", log=True),
        thresholds=thresholds(state.deadline_seconds, "deadline", time_text),
        feasible=intervals(curve.nodes.tolist(), curve.feasible.tolist()),
        feasible_label="meets the goal",
        points=_point(best, best.seconds) if best else (),
    )


def cost_chart(state: PlanState, answer: Answer) -> ChartData:
    """Expected cost by nodes, the budget, and the same point."""
    curve = answer.report.curve
    if curve is None:
        return ChartData(message="no type can be predicted and priced")
    series = [Series(xs=curve.nodes.tolist(), ys=curve.cost_usd.tolist(), label=curve.instance)]
    if answer.compared is not None:
        series.append(_compared(answer.compared, answer.compared.cost_usd.tolist()))
    best = answer.report.recommendation.recommended
    priced = best is not None and best.cost_usd is not None
    return ChartData(
        series=tuple(series),
        x=Axis(kind="count", log=True, title="nodes"),
        y=Axis(kind="money", log=True),
        thresholds=thresholds(state.budget_usd, "budget", money_text),
        feasible=intervals(curve.nodes.tolist(), curve.feasible.tolist()),
        points=_point(best, float(best.cost_usd or 0.0)) if best and priced else (),
    )


def _point(best: Choice, y: float) -> tuple[Point, ...]:
    """The recommended point; a mix lies at its total of nodes and says so, as it is on no curve."""
    label = "mix" if best.instance is None and best.composition else ""
    return (Point(x=float(best.nodes or 1), y=y, label=label),)


def _compared(curve: Curve, ys: Sequence[float]) -> Series:
    return Series(xs=curve.nodes.tolist(), ys=ys, label=curve.instance, slot=2, pattern="dashed")


def thresholds(
    value: float | None, name: str, text: Callable[[float], str], *, vertical: bool = False
) -> tuple[Threshold, ...]:
    """The line of a part of the goal; none where it is off."""
    if value is None:
        return ()
    return (Threshold(value=value, label=f"{name} {text(value)}", vertical=vertical),)


def intervals(xs: Sequence[float], holds: Sequence[bool]) -> tuple[tuple[float, float], ...]:
    """The stretches of ascending `xs` over which `holds` is true, as (first, last)."""
    found: list[tuple[float, float]] = []
    start: float | None = None
    last = 0.0
    for x, true in zip(xs, holds, strict=True):
        if true:
            start = x if start is None else start
            last = x
        elif start is not None:
            found.append((start, last))
            start = None
    if start is not None:
        found.append((start, last))
    return tuple(found)
