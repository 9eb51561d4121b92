"""The Frontier view: the Pareto front of time and cost among clusters of one type, as a chart and a
list."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from rich.cells import cell_len

import engine
from tui import format as text
from tui.changes import SelectPoint, SetGoalFromPoint
from tui.state import PlanState
from tui.views import chart_axes, cluster_words, compositions, cost_columns
from tui.views.curves import READING, intervals, thresholds
from tui.views.marks import Marks
from tui.views.pages import FRONTIER_LIST
from tui.views.prose import Line, Prose, Span
from tui.widgets.chart import Chart
from tui.widgets.chart_data import ChartData, Series
from tui.widgets.chart_data import Point as MarkedPoint
from tui.widgets.numbers import money_text, time_text
from tui.widgets.on_demand import OnDemand
from tui.widgets.table import Column, Row

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Choice, Outline
    from tui.answers import Answer
    from tui.panels import Panels

    Point = Choice | Outline
    """A point of the frontier, built or in brief."""

CHART = "frontier-chart"
_DRAWN_DEADLINE_RATIO = 4.0
"""A deadline up to this multiple of the slowest point is drawn."""

TITLE = "Frontier: none is both faster and cheaper"
TITLE_OF_MIX = "Frontier of one type: none but a mix is both faster and cheaper"
TITLE_ON_DEMAND = "Frontier of one type on demand: spot nodes may be cheaper"
TITLE_NO_SPOT = "Frontier on demand: none is both faster and cheaper"
TITLE_NO_SPOT_OF_MIX = "Frontier of one type on demand: none but a mix is faster and cheaper"

COLUMNS = (
    *compositions.COLUMNS[:-1],
    Column(title="than next faster", shrink=True, least=22, priority=3),
)
"""The columns of the compositions, with the trade-off in place of the note."""


def fill(panels: Panels) -> list[Widget]:
    """The chart, a sentence on the point under the cursor, and the list."""
    return [
        panels.panel(panels.new(Chart, READING, id=CHART), chart_axes.TITLES[CHART]),
        panels.new(Prose, id="point"),
        panels.panel(
            panels.new(compositions.ShortList, COLUMNS, id=FRONTIER_LIST),
            TITLE,
        ),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """Show the frontier, and the cursor on it."""
    look(panels, answer)
    panels.set_title(FRONTIER_LIST, list_title(answer))
    show_rows(panels, answer)


def list_title(answer: Answer) -> str:
    """What no point of the list is beaten by: with a maximum share of spot nodes only others on
    demand, of which none is beaten by a cluster with spot nodes where that share is 0."""
    best, share = answer.report.recommendation.recommended, cluster_words.spot_share(answer)
    if share:
        return TITLE_ON_DEMAND
    mixed = best is not None and best.instance is None
    if share is None:
        return TITLE_OF_MIX if mixed else TITLE
    return TITLE_NO_SPOT_OF_MIX if mixed else TITLE_NO_SPOT


def show_rows(panels: Panels, answer: Answer) -> None:
    """Fill the list, with columns for its width."""
    points = outlines(answer)
    cursor_index = cursor(panels.app.state, answer, points)
    narrow, ellipsis = compositions.is_narrow(panels, FRONTIER_LIST), panels.app.glyphs.ellipsis
    whole = table_rows = rows(answer, answer.report.recommendation.frontier, panels.app.marks)
    if narrow:
        table_rows = OnDemand(
            len(whole), lambda place: compositions.in_few_cells(whole[place], ellipsis)
        )
    columns = columns_for(points, narrow=narrow)
    names = tuple(tuple(point.composition.items()) for point in points)
    # The cursor follows the recommendation until the user moves it.
    tracked_index = cursor_index if panels.app.state.point is None else None
    panels.show_list(
        FRONTIER_LIST,
        table_rows,
        keys=(names, tracked_index, narrow),
        cursor=cursor_index,
        columns=columns,
    )


def outlines(answer: Answer) -> Sequence[Outline]:
    """The points from the fastest to the cheapest; no choice is built for them, as a step of a
    slider would otherwise build those of some hundred."""
    return engine.outlines(answer.report.recommendation.frontier)


def columns_for(points: Sequence[Point], *, narrow: bool) -> tuple[Column, ...]:
    """The columns, as wide as the texts of all points, of which only those seen become rows."""
    texts = {
        "composition": [cluster_words.composition(point) for point in points],
        COLUMNS[-1].title: [step(faster, slower) for faster, slower in pairwise(points)],
    }
    columns = [
        column._replace(width=max(map(cell_len, (column.title, *texts[column.title]))))
        if column.title in texts
        else column
        for column in COLUMNS
    ]
    if narrow:
        columns = [
            column._replace(
                least=compositions.NARROW_MIX, width=min(column.width or 0, compositions.NARROW_MIX)
            )
            if column.title == "composition"
            else column
            for column in columns
        ]
    return tuple(columns)


def look(panels: Panels, answer: Answer) -> None:
    """Redraw what the crosshair and a zoom change: the crosshair may be at another point than the
    cursor."""
    state = panels.app.state
    points = outlines(answer)
    index = cursor(state, answer, points)
    if state.crosshair is not None and points:
        at = state.crosshair
        index = min(range(len(points)), key=lambda i: abs(points[i].seconds - at))
    panels.chart(CHART).show(chart(state, answer, points, index))
    title_suffix = cluster_words.on_demand_title(answer)
    panels.set_title(CHART, chart_axes.title(state, CHART) + title_suffix)
    panels.prose("point").show(about(answer, index))


def cursor(state: PlanState, answer: Answer, points: Sequence[Point]) -> int:
    """Index of the selected point, else of the best composition, else of the point nearest to
    it."""
    named = [(choice.instance, choice.nodes) for choice in points]
    if state.point in named:
        return named.index(state.point)
    best = answer.best
    if best is None or not points:
        return 0
    seconds = best.seconds
    return min(range(len(points)), key=lambda i: abs(points[i].seconds - seconds))


def chart(state: PlanState, answer: Answer, points: Sequence[Point], index: int) -> ChartData:
    """Cost against time: the goal's two lines, the recommended point and the one at the cursor."""
    if not points:
        return ChartData(message="no type can be predicted and priced")
    seconds = [choice.seconds for choice in points]
    costs = [choice.cost_usd or 0.0 for choice in points]
    at_cursor = answer.report.recommendation.frontier[index]
    label = cluster_words.composition(at_cursor)
    marked = [MarkedPoint(x=at_cursor.seconds, y=at_cursor.cost_usd or 0.0, label=label)]
    best = answer.report.recommendation.recommended
    if best is not None and not is_recommended(at_cursor, best):
        best_usd = best.cost_usd or 0.0
        marked.insert(0, MarkedPoint(x=best.seconds, y=best_usd, label="recommended"))
    # A cluster of owned nodes costs nothing, and zero has no logarithm.
    log = min(costs) > 0.0
    deadline = thresholds(state.deadline_seconds, "deadline", time_text, vertical=True)
    return ChartData(
        series=(Series(xs=seconds, ys=costs),),
        x=chart_axes.axis(
            state,
            "frontier_time",
            kind="time",
            title="time",
            high=_time_axis_end(seconds[-1], state.deadline_seconds),
        ),
        y=chart_axes.axis(state, "frontier_cost", kind="money", log=log),
        thresholds=(*deadline, *thresholds(state.budget_usd, "budget", money_text)),
        feasible=intervals(seconds, [meets(answer, choice) for choice in points]),
        feasible_label="meets the goal",
        points=tuple(marked),
        crosshair=state.crosshair,
    )


def _time_axis_end(slowest: float, deadline: float | None) -> float | None:
    """The end of the time axis: extended to the deadline where that is near."""
    if deadline is None or not slowest < deadline <= slowest * _DRAWN_DEADLINE_RATIO:
        return None
    return deadline * 1.05


def is_recommended(point: Point, best: Choice | None) -> bool:
    """Whether a point is the recommended cluster. Under a maximum share of spot nodes that one may
    have the types and counts of a point on demand, at another cost."""
    return best is not None and (point.composition, point.spot) == (best.composition, best.spot)


def meets(answer: Answer, choice: Point) -> bool:
    """Whether a cluster meets the goal."""
    goal = answer.report.goal
    if goal.budget_usd is not None and (choice.cost_usd is None or choice.cost_usd > goal.most_usd):
        return False
    if goal.deadline_seconds is None:
        return True
    if choice.p_deadline is None:
        return choice.seconds < goal.deadline_seconds
    return choice.p_deadline >= goal.confidence


def rows(answer: Answer, choices: Sequence[Choice], marks: Marks) -> OnDemand[Row]:
    """The points from the fastest to the cheapest, each with what it saves over the next faster
    one. A choice is built when its row is looked at."""
    best = answer.report.recommendation.recommended
    points = engine.outlines(choices)
    decimals = cost_columns.of_rows(points)

    def row(place: int) -> Row:
        choice = choices[place]
        saved = step(points[place - 1], points[place]) if place else ""
        return (
            (marks.best, "good")
            if is_recommended(choice, best)
            else ("", "plain")
            if meets(answer, choice)
            else (marks.missed, "bad"),
            cluster_words.composition(choice),
            text.seconds(choice.seconds),
            text.span_cell(choice.low, choice.high),
            *cost_columns.cells(choice, decimals, "plain"),
            text.in_time(choice.p_deadline, answer.report.goal.confidence),
            (saved, "muted"),
        )

    return OnDemand(len(choices), row)


def step(faster: Point, slower: Point) -> str:
    """The trade-off of a slower point: "+10 s saves $0.12"."""
    return f"+{_time_difference(faster, slower)} saves {_cost_difference(faster, slower)}"


def _time_difference(faster: Point, slower: Point) -> str:
    """The difference of two times, formatted for the table."""
    return text.time_difference(slower.seconds, faster.seconds)


def _cost_difference(faster: Point, slower: Point) -> str:
    """The difference of two costs, likewise."""
    usd = (faster.cost_usd or 0.0) - (slower.cost_usd or 0.0)
    return "<$0.001" if usd < 0.001 else text.usd(usd, figures=2)


def about(answer: Answer, index: int) -> list[Line]:
    """The point under the cursor: its time and cost, and what the next faster one would cost."""
    points = answer.report.recommendation.frontier
    if not points:
        return []
    choice = points[index]
    within = cluster_words.interval_in_words(choice, answer.report.goal.confidence)
    line: list[Span] = [(cluster_words.composition(choice), "strong"), (" takes ", "base")]
    line.append((f"{text.seconds(choice.seconds)} ({within})", "base"))
    line += cluster_words.cost(choice)
    if index:
        faster = points[index - 1]
        cost, time = _cost_difference(faster, choice), _time_difference(faster, choice)
        line.append((f"; {cost} more buys {time} less", "base"))
    promised = time_text(goal_action(answer, index).seconds)
    return [[*line, (f". Enter: deadline {promised}.", "muted")]]


def select_action(answer: Answer, index: int) -> SelectPoint:
    """The action for the cursor on a row."""
    choice = answer.report.recommendation.frontier[index]
    return SelectPoint(str(choice.instance), int(choice.nodes or 1))


def goal_action(answer: Answer, index: int) -> SetGoalFromPoint:
    """The action for Enter on a row: the shortest deadline that the cluster meets becomes the
    goal."""
    report = answer.report
    choice = report.recommendation.frontier[index]
    achievable_seconds = answer.built.plan.promised(choice, confidence=report.goal.confidence)
    return SetGoalFromPoint(achievable_seconds, int(choice.nodes or 1))


def goal_notice(follow: SetGoalFromPoint) -> str:
    """The notice for what Enter did."""
    return f"deadline {time_text(follow.seconds)}, no budget: the cheapest that keeps it is shown"
