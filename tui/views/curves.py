"""The Curves view: time and cost against the number of nodes, as chart data."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

from tui.format import odds
from tui.state import MAX_DRAWN, PlanState
from tui.views import chart_axes, cluster_words, compositions, sentences
from tui.views.prose import Line, Prose
from tui.widgets.chart import Chart
from tui.widgets.chart_data import PATTERNS, ChartData, Point, Series, Threshold
from tui.widgets.numbers import money_text, time_text

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Choice, Curve
    from tui.answers import Answer
    from tui.panels import Panels
    from tui.views.at_crosshair import CurveReading, DrawnCurves

READING = ChartData(message="reading ...")
BUILDING = ChartData(message="predicting ...")
NOTHING = ChartData(message="no plan yet")


def fill(panels: Panels) -> list[Widget]:
    """The charts, the headline for small terminals, and the first rows of the compositions."""
    return [
        panels.panel(panels.new(Chart, READING, id="time"), chart_axes.TITLES["time"]),
        panels.panel(panels.new(Chart, READING, id="cost"), chart_axes.TITLES["cost"]),
        panels.new(Prose, sentences.WAITING, id="sentence"),
        panels.panel(
            panels.new(compositions.ShortList, compositions.COLUMNS, id="short"), "Compositions"
        ),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """Show charts and list; of two charts that do not both fit, only the visible one is drawn."""
    look(panels, answer)
    show_short(panels, answer)


def show_short(panels: Panels, answer: Answer) -> None:
    """Fill the list of compositions for its height. The height of a view that is just being shown
    is not known before its layout: until then the number of rows stays."""
    table = panels.table("short")
    visible_rows = table.size.height - 1 if table.size.height else len(table.rows)
    max_rows = compositions.SHORT_LIST if table.has_focus else max(3, visible_rows)
    compositions.show_short_rows(panels, answer, max_rows)


def look(panels: Panels, answer: Answer) -> None:
    """Redraw what the crosshair and a zoom change: the charts, and the values at the crosshair."""
    state, short = panels.app.state, panels.is_short
    curves = curves_of(panels, answer)
    if not short or state.chart == "time":
        panels.chart("time").show(time_chart(state, answer, curves))
    if not short or state.chart == "cost":
        panels.chart("cost").show(cost_chart(state, answer, curves))
    show_titles(panels, curves)
    brief = sentences.brief(state, answer, panels.app.marks)
    if crosshair_readings := crosshair_values(panels, curves):
        from tui.views import at_crosshair

        brief = at_crosshair.compact_rows(state, crosshair_readings, panels.width - 2)
    panels.prose("sentence").show(brief)


def show_titles(panels: Panels, curves: DrawnCurves) -> None:
    """Name the charts, and what their bands are, or that they are as thin as their curves."""
    state = panels.app.state
    for name in ("time", "cost"):
        band = "" if panels.chart(name).band_hidden else "dots"
        title_suffix = band_title(state, curves, name, band=band)
        if answer := panels.app.answer:
            title_suffix = cluster_words.on_demand_title(answer) + title_suffix
        panels.set_title(name, chart_axes.title(state, name) + title_suffix)


def aside(panels: Panels, answer: Answer) -> list[Line] | None:
    """Lines for the side panel while there is a crosshair; None without one."""
    state = panels.app.state
    if state.crosshair is None:
        return None
    from tui.views import at_crosshair

    curves = curves_of(panels, answer)
    return at_crosshair.side_lines(state, crosshair_values(panels, curves)) or None


def crosshair_values(panels: Panels, curves: DrawnCurves) -> list[CurveReading]:
    """The values of the curves at the crosshair; none without a crosshair."""
    if panels.app.state.crosshair is None:
        return []
    # Imported here as the first frame has no crosshair.
    from tui.views import at_crosshair

    return at_crosshair.readings(curves, round(panels.app.state.crosshair), panels.app.glyphs)


def curves_of(panels: Panels, answer: Answer) -> DrawnCurves:
    """The curves that the charts show, with those of the pinned plans."""
    pinned = [pin.instance for pin in panels.app.pins]
    return drawn_curves(panels.app.state, answer, pinned)


def drawn_curves(
    state: PlanState, answer: Answer, pinned: Sequence[str | None]
) -> list[tuple[int, Curve]]:
    """The curves by colour slot: the recommended type, the one at the cursor of the compositions
    (or the other type of a mix), then those added by the user and the types of pinned plans."""
    if answer.report.curve is None:
        return []
    slots = [(1, answer.report.curve)]
    if answer.compared is not None:
        slots.append((2, answer.compared))
    present = {curve.instance for _, curve in slots}
    extra_types = [
        name for name in dict.fromkeys((*state.drawn, *pinned)) if name and name not in present
    ]
    curves = [curve for name in extra_types if (curve := answer.curve(name)) is not None]
    return [*slots, *enumerate(curves[:MAX_DRAWN], start=3)]


def time_chart(state: PlanState, answer: Answer, curves: DrawnCurves) -> ChartData:
    """Predicted time by nodes with the interval as a band, the deadline, and the range that meets
    the goal."""
    best = answer.report.recommendation.recommended
    return _chart(
        state,
        curves,
        "time",
        thresholds=thresholds(state.deadline_seconds, "deadline", time_text),
        feasible_label="meets the goal",
        points=_point(best, best.seconds) if best else (),
    )


def band_title(state: PlanState, curves: DrawnCurves, chart: str, *, band: str = "dots") -> str:
    """Addition to the title of a chart: what the band around the first curve is, or that there is
    none, and on how many nodes its job starts; for costs also which types have none, and why.

    Args:
        band: what the band consists of: "dots", or "shaded" in a picture; "" where it is as thin
            as its curve.
    """
    if not curves:
        return ""
    values, lows, _ = _values(curves[0][1], chart)
    title = ""
    if _any_known(lows):
        share = f"{odds(state.confidence)} runs"
        title = f", {band}: {share}" if band else f", {share}: within the line"
    elif _any_known(values):
        title = ", no interval"
    title += _start_title(curves)
    is_drawn = chart == "cost" and _is_any_drawn(curves, chart)
    return title + (unpriced_title(curves) if is_drawn else "")


def _start_title(curves: DrawnCurves) -> str:
    """Why the first curve begins behind the first node, with its type where there are others; ""
    where it does not."""
    curve = curves[0][1]
    if curve.started.all() or not curve.started.any():
        return ""
    named = f"{curve.instance} " if len(curves) > 1 else ""
    return f", {named}starts on {int(curve.nodes[curve.started.argmax()])} nodes or more"


def _any_known(values: Iterable[float]) -> bool:
    return any(map(math.isfinite, values))


def _is_any_drawn(curves: DrawnCurves, chart: str) -> bool:
    """Whether a value of any curve is known; else the chart says why none is."""
    return any(_any_known(_values(curve, chart)[0]) for _, curve in curves)


def unpriced_title(curves: DrawnCurves) -> str:
    """Addition to the title of the cost chart: types that have a time but no cost, and why."""
    without = [curve for _, curve in curves if not _any_known(curve.cost_usd)]
    return "".join(f", {curve.instance}: {curve.unpriced}" for curve in without)


def cost_chart(state: PlanState, answer: Answer, curves: DrawnCurves) -> ChartData:
    """Expected cost by nodes with the costs of the interval as a band, the budget, and the
    recommended point."""
    best = answer.report.recommendation.recommended
    priced = best is not None and best.cost_usd is not None
    return _chart(
        state,
        curves,
        "cost",
        thresholds=thresholds(state.budget_usd, "budget", money_text),
        points=_point(best, float(best.cost_usd or 0.0)) if best and priced else (),
    )


def _chart(
    state: PlanState, curves: DrawnCurves, name: Literal["time", "cost"], **marks: Any
) -> ChartData:
    """The curves by nodes; `marks` are fields of the chart."""
    if not curves:
        return ChartData(message="no type can be predicted and priced")
    if not _is_any_drawn(curves, name):
        return ChartData(message=_nothing_known(curves, name))
    first = curves[0][1]
    return ChartData(
        series=tuple(_series(slot, curve, name) for slot, curve in curves),
        x=chart_axes.axis(state, "nodes", kind="count", title="nodes"),
        y=chart_axes.axis(state, name, kind="time" if name == "time" else "money"),
        feasible=intervals(first.nodes.tolist(), first.feasible.tolist()),
        crosshair=state.crosshair,
        **marks,
    )


def _nothing_known(curves: DrawnCurves, name: str) -> str:
    """Why no value of any curve is known."""
    if name == "time":
        return f"no time is predicted on {', '.join(curve.instance for _, curve in curves)}"
    whys = dict.fromkeys(f"{curve.instance}: {curve.unpriced}" for _, curve in curves)
    return f"no cost is known: {', '.join(whys)}"


def _series(slot: int, curve: Curve, name: Literal["time", "cost"]) -> Series:
    """A curve as a series of its slot; the first one has a band."""
    ys, lows, highs = _values(curve, name)
    return Series(
        xs=curve.nodes.tolist(),
        ys=ys,
        lows=lows if slot == 1 else None,
        highs=highs if slot == 1 else None,
        label=curve.instance,
        slot=slot,
        pattern=PATTERNS[slot - 1],
    )


_FIELDS = {
    "time": ("seconds", "low", "high"),
    "cost": ("cost_usd", "cost_low_usd", "cost_high_usd"),
}
"""Chart -> the fields of a curve that it draws: the values, and the ends of their interval."""


def _values(curve: Curve, chart: str) -> list[list[float]]:
    """What a chart draws of a curve, by nodes."""
    return [getattr(curve, field).tolist() for field in _FIELDS[chart]]


def _point(best: Choice, y: float) -> tuple[Point, ...]:
    """The recommended point; a mix is drawn at its total number of nodes and labelled, as it is on
    no curve."""
    label = "mix" if best.instance is None and best.composition else ""
    return (Point(x=float(best.nodes or 1), y=y, label=label),)


def thresholds(
    value: float | None, name: str, text: Callable[[float], str], *, vertical: bool = False
) -> tuple[Threshold, ...]:
    """The line of a part of the goal; none where that part is off."""
    if value is None:
        return ()
    label = f"{name} {text(value)}"
    return (Threshold(value=value, label=label, vertical=vertical, name=name),)


def intervals(xs: Sequence[float], holds: Sequence[bool]) -> tuple[tuple[float, float], ...]:
    """The maximal ranges of ascending `xs` over which `holds` is true, as (first, last)."""
    ranges: list[tuple[float, float]] = []
    start: float | None = None
    last = 0.0
    for x, true in zip(xs, holds, strict=True):
        if true:
            start = x if start is None else start
            last = x
        elif start is not None:
            ranges.append((start, last))
            start = None
    if start is not None:
        ranges.append((start, last))
    return tuple(ranges)
