"""What more time or money buys: the clusters that no other beats in both, as a chart and a list."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tui import format as text
from tui.changes import SelectPoint, SetGoalFromPoint
from tui.state import PlanState
from tui.views import chart_axes, compositions, sentences
from tui.views.curves import WAITING, intervals, thresholds
from tui.views.marks import Marks
from tui.views.pages import FRONTIER_LIST
from tui.views.prose import Line, Prose, Span
from tui.widgets.chart import Chart
from tui.widgets.chart_data import ChartData, Point, Series
from tui.widgets.numbers import money_text, time_text
from tui.widgets.table import Column, Row

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Choice
    from tui.answers import Answer
    from tui.panels import Panels

CHART = "frontier-chart"
_NEAR = 4.0
"""A deadline up to so many times the slowest point is drawn."""

TITLE = "Frontier: none is both faster and cheaper"
TITLE_OF_MIX = "Frontier of one type: none but a mix is both faster and cheaper"

COLUMNS = (
    *compositions.COLUMNS[:-1],
    Column(title="than next faster", shrink=True, least=22, priority=3),
)
"""Those of the compositions, with a step in place of the note."""


def fill(panels: Panels) -> list[Widget]:
    """The chart, a sentence on the point under the cursor, and the list."""
    return [
        panels.panel(panels.new(Chart, WAITING, id=CHART), chart_axes.TITLES[CHART]),
        panels.new(Prose, id="point"),
        panels.panel(
            panels.new(compositions.ShortList, COLUMNS, id=FRONTIER_LIST),
            TITLE,
        ),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """The frontier, and where the cursor stands on it."""
    look(panels, answer)
    best = answer.report.recommendation.recommended
    panels.set_title(FRONTIER_LIST, TITLE_OF_MIX if best and best.instance is None else TITLE)
    show_rows(panels, answer)


def show_rows(panels: Panels, answer: Answer) -> None:
    """The list, in the cells that there are for it."""
    points = answer.report.recommendation.frontier[:]
    place = cursor(panels.state, answer, points)
    narrow = compositions.is_narrow(panels, FRONTIER_LIST)
    listed = rows(answer, points, panels.marks)
    columns: tuple[Column, ...] = COLUMNS
    if narrow:
        listed = [compositions.in_few_cells(row, panels.glyphs.ellipsis) for row in listed]
        columns = tuple(
            column._replace(least=compositions.NARROW_MIX)
            if column.title == "composition"
            else column
            for column in COLUMNS
        )
    names = tuple(tuple(choice.composition.items()) for choice in points)
    # The cursor goes with the recommendation until somebody moves it.
    follows = place if panels.state.point is None else None
    panels.show_list(
        FRONTIER_LIST, listed, keys=(names, follows, narrow), cursor=place, columns=columns
    )


def look(panels: Panels, answer: Answer) -> None:
    """What the crosshair and a zoom change: it reads another point than the list's cursor."""
    state = panels.state
    points = answer.report.recommendation.frontier[:]
    place = cursor(state, answer, points)
    if state.crosshair is not None and points:
        at = state.crosshair
        place = min(range(len(points)), key=lambda index: abs(points[index].seconds - at))
    panels.chart(CHART).show(chart(state, answer, points, place))
    panels.set_title(CHART, chart_axes.title(state, CHART))
    panels.prose("point").show(about(answer, points, place))


def cursor(state: PlanState, answer: Answer, points: Sequence[Choice]) -> int:
    """The place of the chosen point, else of the best composition, else of the nearest to it."""
    named = [(choice.instance, choice.nodes) for choice in points]
    if state.point in named:
        return named.index(state.point)
    best = answer.best
    if best is None or not points:
        return 0
    seconds = best.seconds
    return min(range(len(points)), key=lambda place: abs(points[place].seconds - seconds))


def chart(state: PlanState, answer: Answer, points: Sequence[Choice], place: int) -> ChartData:
    """Cost against time, the goal's two lines, the recommended point and the one at the cursor."""
    if not points:
        return ChartData(message="no type can be predicted and priced")
    seconds = [choice.seconds for choice in points]
    costs = [choice.cost_usd or 0.0 for choice in points]
    at_cursor = points[place]
    marked = [Point(x=at_cursor.seconds, y=costs[place], label=sentences.composition(at_cursor))]
    best = answer.report.recommendation.recommended
    if best is not None and best.composition != at_cursor.composition:
        marked.insert(0, Point(x=best.seconds, y=best.cost_usd or 0.0, label="recommended"))
    # A cluster that one owns costs nothing: there is no logarithm of that.
    log = min(costs) > 0.0
    deadline = thresholds(state.deadline_seconds, "deadline", time_text, vertical=True)
    return ChartData(
        series=(Series(xs=seconds, ys=costs),),
        x=chart_axes.axis(
            state,
            "frontier_time",
            kind="time",
            title="time",
            high=_reach(seconds[-1], state.deadline_seconds),
        ),
        y=chart_axes.axis(state, "frontier_cost", kind="money", log=log),
        thresholds=(*deadline, *thresholds(state.budget_usd, "budget", money_text)),
        feasible=intervals(seconds, [meets(answer, choice) for choice in points]),
        feasible_label="meets the goal",
        points=tuple(marked),
        crosshair=state.crosshair,
    )


def _reach(slowest: float, deadline: float | None) -> float | None:
    """The end of the axis of time: the deadline too where it is not far."""
    if deadline is None or not slowest < deadline <= slowest * _NEAR:
        return None
    return deadline * 1.05


def meets(answer: Answer, choice: Choice) -> bool:
    """Whether a cluster satisfies the goal that was asked."""
    goal = answer.report.goal
    if goal.budget_usd is not None and (choice.cost_usd is None or choice.cost_usd > goal.most_usd):
        return False
    if goal.deadline_seconds is None:
        return True
    if choice.p_deadline is None:
        return choice.seconds < goal.deadline_seconds
    return choice.p_deadline >= goal.confidence


def rows(answer: Answer, points: Sequence[Choice], marks: Marks) -> list[Row]:
    """The points from the fastest to the cheapest, each with what it saves over the one before."""
    best = answer.report.recommendation.recommended
    steps = ["", *(step(faster, slower) for faster, slower in pairwise(points))]
    return [
        (
            (marks.best, "good")
            if best is not None and choice.composition == best.composition
            else ("", "plain")
            if meets(answer, choice)
            else (marks.missed, "bad"),
            sentences.composition(choice),
            text.seconds(choice.seconds),
            text.span_cell(choice.low, choice.high),
            text.usd_cell(choice.cost_usd),
            text.usd_span(choice.cost_low_usd, choice.cost_high_usd),
            text.in_time(choice.p_deadline, answer.report.goal.confidence),
            (saved, "muted"),
        )
        for choice, saved in zip(points, steps, strict=True)
    ]


def step(faster: Choice, slower: Choice) -> str:
    """What waiting longer saves: "+10 s saves $0.12"."""
    return f"+{_longer(faster, slower)} saves {_dearer(faster, slower)}"


def _longer(faster: Choice, slower: Choice) -> str:
    """A difference of times, in the cells that it has in the table."""
    return text.time_difference(slower.seconds, faster.seconds)


def _dearer(faster: Choice, slower: Choice) -> str:
    """A difference of costs, likewise."""
    usd = (faster.cost_usd or 0.0) - (slower.cost_usd or 0.0)
    return "<$0.001" if usd < 0.001 else text.usd(usd, figures=2)


def about(answer: Answer, points: Sequence[Choice], place: int) -> list[Line]:
    """The point under the cursor: what it promises, and what the next faster one would cost."""
    if not points:
        return []
    choice, confidence = points[place], answer.report.goal.confidence
    line: list[Span] = [(sentences.composition(choice), "strong"), (" takes ", "base")]
    line.append(
        (f"{text.seconds(choice.seconds)} ({sentences.in_words(choice, confidence)})", "base")
    )
    line += sentences.cost(choice)
    if place:
        faster = points[place - 1]
        more = f"; {_dearer(faster, choice)} more buys {_longer(faster, choice)} less"
        line.append((more, "base"))
    promised = time_text(followed(answer, place).seconds)
    return [[*line, (f". Enter: deadline {promised}.", "muted")]]


def selection(answer: Answer, place: int) -> SelectPoint:
    """What the cursor on a row asks for."""
    choice = answer.report.recommendation.frontier[place]
    return SelectPoint(str(choice.instance), int(choice.nodes or 1))


def followed(answer: Answer, place: int) -> SetGoalFromPoint:
    """What enter on a row asks for: the shortest deadline that the cluster meets."""
    report = answer.report
    choice = report.recommendation.frontier[place]
    promised = answer.built.plan.promised(choice, confidence=report.goal.confidence)
    return SetGoalFromPoint(promised, int(choice.nodes or 1))


def said(follow: SetGoalFromPoint) -> str:
    """A notice for what enter did."""
    return f"deadline {time_text(follow.seconds)}, no budget: the cheapest that keeps it is shown"
