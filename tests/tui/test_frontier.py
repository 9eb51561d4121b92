"""The frontier: what it shows, and that the sliders follow a point of it."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from fakes import FakeSession, started
from screen import at_rest, drag_to, settled, shows, text_of
from textual.events import Resize

from tui.reducer import reduce
from tui.state import Limits
from tui.views import cluster_words, frontier, sentences
from tui.views.compositions import ShortList
from tui.views.marks import Marks
from tui.widgets.chart import Chart
from tui.widgets.table import Table

MARKS = Marks("*", "x", "!")


def answered(**options):
    session = FakeSession()
    state = started(**options)
    built = session.build(state, lambda words: None)
    return session, state, session.answer(state, built)


def test_every_point_is_the_answer_to_what_it_promises():
    """Each promise is the shortest deadline that its cluster meets."""
    session, state, answer = answered(deadline_seconds=1500.0)
    points = answer.report.recommendation.frontier
    assert len(points) > 3
    for place, choice in enumerate(points):
        asked = frontier.goal_action(answer, place)
        then = reduce(state, asked)
        assert then.budget_usd is None
        found = session.answer(then, answer.built).report.recommendation.recommended
        assert found.cost_usd <= choice.cost_usd * (1 + 1e-9)
        shorter = reduce(state, asked._replace(seconds=asked.seconds * 0.98 - 1.0))
        surface = answer.built.plan.surface
        row = surface.rows[choice.instance]
        bound = surface.log_least_deadlines(0.9)[row, choice.nodes - 1]
        assert math.exp(bound) <= asked.seconds
        assert shorter.deadline_seconds < math.exp(bound)


def test_rows_go_from_fast_to_cheap_and_say_what_waiting_saves():
    _, state, answer = answered(deadline_seconds=1500.0)
    points = answer.report.recommendation.frontier[:]
    for faster, slower in pairwise(points):
        assert faster.seconds < slower.seconds
        assert faster.cost_usd > slower.cost_usd
    data = frontier.chart(state, answer, points, 0)
    assert [line.vertical for line in data.thresholds] == [True]
    assert data.points[-1].x == points[0].seconds
    met = [frontier.meets(answer, choice) for choice in points]
    assert met == [choice.p_deadline >= 0.9 for choice in points]
    assert True in met
    assert False in met


def test_what_hardly_misses_the_deadline_does_not_read_as_meeting_it():
    """A row with the sign of a miss said "90 %" of a deadline that is to be met at 90 %, and so
    did the sentence about the nearest one."""
    _, _, answer = answered(deadline_seconds=1500.0)
    found = answer.report.recommendation
    near = replace(found.recommended, p_deadline=0.8963)
    assert not frontier.meets(answer, near)
    missed = replace(found, recommended=None, nearest=near)
    none = replace(answer, report=replace(answer.report, recommendation=missed))
    [(mark, *_, odds, _)] = frontier.rows(none, [near], MARKS)
    assert (mark[0], odds) == ("x", "<90 %")
    said = " ".join(part for line in sentences.headline(none, MARKS) for part, _ in line)
    assert "in time in <90 % of runs." in said
    assert "No cluster of up to 64 nodes meets 25m at 90 %" in said  # the goal that was answered
    copied = sentences.headline_text(none, MARKS)
    assert copied.startswith("No cluster of up to 64 nodes")
    assert " Nearest: " in copied


def test_a_free_cluster_leaves_no_logarithm():
    _, state, answer = answered(deadline_seconds=7200.0, limits=Limits(owned=(("m5.4xlarge", 40),)))
    points = answer.report.recommendation.frontier[:]
    assert points[-1].cost_usd == 0.0
    assert frontier.chart(state, answer, points, 0).y.log is False


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_moving_selects_a_point_and_enter_moves_the_sliders(planner, size):
    async with at_rest(planner(budget_usd=20.0), size, "3") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#frontier-list", Table)
        assert table.has_focus
        start = table.cursor
        await pilot.press("down")
        await settled(pilot)
        points = app.answer.report.recommendation.frontier
        wanted = points[start + 1]
        assert app.state.point == (wanted.instance, wanted.nodes)
        shown = app.query_one("#frontier-chart", Chart).data.points[-1]
        assert (shown.x, shown.y) == (wanted.seconds, wanted.cost_usd)
        promised = frontier.goal_action(app.answer, start + 1)
        await pilot.press("enter")
        await settled(pilot)
        assert app.state.deadline_seconds == promised.seconds
        assert app.state.budget_usd is None
        assert app.query_one("#deadline").value == promised.seconds
        assert app.answer.best.p_deadline >= 0.9
        assert "no budget" in text_of(app)
        await pilot.press("u")
        await settled(pilot)
        assert app.state.budget_usd == 20.0


async def test_the_cursor_follows_the_recommendation_until_it_is_moved(planner):
    async with at_rest(planner(), (120, 40), "3") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#frontier-list", Table)
        for deadline in ("20m", "60m"):
            await app.run_command_line(f"deadline {deadline}")
            await settled(pilot)
            points = app.answer.report.recommendation.frontier
            best = app.answer.best
            assert abs(points[table.cursor].seconds - best.seconds) == min(
                abs(point.seconds - best.seconds) for point in points
            )


async def test_a_goal_that_nothing_meets_still_has_a_frontier(planner):
    async with at_rest(planner(deadline_seconds=1.0), (80, 24)) as (app, pilot):
        await pilot.press("3", "end", "enter")
        await settled(pilot)
        assert app.answer.report.recommendation.recommended is not None


async def test_a_row_that_another_answer_has_not_is_let_go(planner):
    async with at_rest(planner(), (120, 40), "3") as (app, pilot):
        await pilot.pause()
        table, before = app.query_one("#frontier-list", Table), app.state
        gone = len(app.answer.report.recommendation.frontier)
        table.post_message(Table.CursorMoved(table, gone))
        table.post_message(Table.RowChosen(table, gone))
        await settled(pilot)
        assert app.state == before


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_waiting_saves_is_never_cut(planner, size):
    async with at_rest(planner(), size, "3") as (_, pilot):
        app = await settled(pilot)
        points = app.answer.report.recommendation.frontier
        longest = max((frontier.step(a, b) for a, b in pairwise(points)), key=len)
        assert longest.startswith("+")
        cut = [line for line in text_of(app).splitlines() if " saves" in line and "…" in line]
        assert cut == []


def test_a_step_is_said_in_the_cells_that_there_are():
    from types import SimpleNamespace as Point

    slow, fast = Point(seconds=355.0, cost_usd=0.28), Point(seconds=259.0, cost_usd=0.2853)
    said = frontier.step(fast, slow)
    assert said == "+1m 36s saves $0.0053"
    (column,) = [c for c in frontier.COLUMNS if c.title == "than next faster"]
    assert len(said) <= column.least


async def test_the_fastest_at_any_price_has_one_beside_it_that_is_as_fast(planner):
    async with at_rest(planner(budget_usd=1000.0), (120, 40)) as (app, _):
        found = app.answer.report.recommendation
        (line,) = sentences.hardly_slower_line(found)
        said = "".join(part for part, _ in line)
        near = [
            choice
            for choice in found.frontier
            if choice.seconds <= 1.01 * found.recommended.seconds
        ]
        assert said.startswith(cluster_words.composition(near[-1]))
        assert "at most 1 % slower and costs $" in said
        cheaper = cluster_words.composition(near[-1])
        for before, lines in (("", []), ("1", [line])):
            why = (f"the next best type, {before}{cheaper}, takes 1 s longer",)
            told = replace(found, recommended=replace(found.recommended, why=why))
            assert sentences.hardly_slower_line(told) == lines
    async with at_rest(planner(deadline_seconds=3000.0), (120, 40)) as (app, _):
        assert sentences.hardly_slower_line(app.answer.report.recommendation) == []


def test_a_reason_names_a_cluster_only_where_it_is_all_of_one():
    from types import SimpleNamespace as Some

    def said(*why: str) -> bool:
        best = Some(why=why, cost_usd=0.5)
        other = Some(composition={"c5.xlarge": 2}, spot={}, note="", cost_usd=0.3)
        return bool(sentences.hardly_slower_line(Some(recommended=best, hardly_slower=other)))

    assert said()
    assert not said("the next best type, 2 × c5.xlarge, takes 138 ms longer")
    assert said("the next best type, 12 × c5.xlarge, takes 138 ms longer")
    assert said("2 × c5.xlarge + 1 × m5.xlarge costs less")
    assert said("1 × m5.xlarge + 2 × c5.xlarge costs less")


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_times_stand_beside_their_intervals_at_every_size(planner, size):
    """At 100 x 30 a probability took the room, and at other sizes what a step saves."""
    async with at_rest(planner(), size) as (app, pilot):
        await pilot.press("3")
        await settled(pilot)
        (heads,) = [line for line in text_of(app).splitlines() if "composition  " in line]
        assert heads.index("time") < heads.index("interval") < heads.index("cost")


async def test_at_100_columns_the_names_of_types_keep_their_ends(planner, monkeypatch):
    """ "40 × n2d-standar…" stood in every row, for nodes of 2 and of 16 vCPUs. Of a list whose
    place is looked up before its first layout Textual sends no `Resize`: none is sent here."""
    names = ["40 × n2d-standard-2 (38 spot)", "5 × n2d-standard-16 (3 spot)"]
    monkeypatch.setattr(cluster_words, "composition", lambda point: names[point.nodes % 2])
    monkeypatch.setattr(
        ShortList, "check_message_enabled", lambda _, message: not isinstance(message, Resize)
    )
    async with at_rest(planner(), (100, 30), "3") as (_, pilot):
        # The list hears of its width once it is drawn.
        assert await shows(pilot, "40 × n2d-…andard-2 ")
        assert await shows(pilot, "5 × n2d-s…ndard-16 ")
        await pilot.resize_terminal(120, 40)
        for name in names:
            assert await shows(pilot, name)


async def test_a_click_takes_the_list_to_the_cluster_at_the_crosshair(planner):
    """Only the first click did, and on a logarithmic axis to the one that is nearest in seconds."""
    async with at_rest(planner(), (120, 40), "3") as (app, pilot):
        chart = app.query_one("#frontier-chart", Chart)
        points, rows = app.answer.report.recommendation.frontier, app.query_one("#frontier-list")
        for column in range(0, chart._layout.width, 3):
            await pilot.click(chart, offset=(chart._layout.left + column, 4))
            await settled(pilot)
            assert points[rows.cursor].seconds == chart.data.crosshair


async def test_a_click_on_a_cluster_that_is_filtered_out_ends_the_filter(planner):
    """The list stayed at one cluster, and the text told of another."""
    async with at_rest(planner(), (120, 40), "3") as (app, pilot):
        chart, rows = app.query_one("#frontier-chart", Chart), app.query_one("#frontier-list")
        slowest = rows.rows[-1][1]
        rows.narrow(slowest)
        await pilot.click(chart, offset=(chart._layout.left, 4))
        await settled(pilot)
        assert (rows.cursor, rows.wanted) == (0, "")
        rows.narrow(slowest)
        await settled(pilot)
        await pilot.click(chart, offset=(chart._layout.left + chart._layout.width - 1, 4))
        await settled(pilot)
        assert rows.wanted == slowest.lower()


@pytest.mark.parametrize("label_cell", [1, 8])
async def test_a_deadline_outside_the_axis_is_dragged_from_the_edge(planner, label_cell):
    """It jumped to the cell of its label that was pressed."""
    app = planner(deadline_seconds=9e6, deadline_chosen=True)
    async with at_rest(app, (120, 40), "3") as (app, pilot):
        await settled(pilot)
        chart = app.query_one("#frontier-chart", Chart)
        (label,) = chart._layout.labels
        edge, cell = chart._layout.x.value(1.0), chart._layout.x.value(0.9)
        x = chart._layout.left + label.start + label_cell
        await pilot.mouse_down(chart, offset=(x, label.row))
        await drag_to(pilot, chart, (x - 1, label.row))
        await pilot.mouse_up(chart, offset=(x - 1, label.row))
        await settled(pilot)
        assert cell < app.state.deadline_seconds <= edge


@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
@pytest.mark.parametrize(("deadline", "label"), [(9e6, "deadline 104d"), (61.0, "deadline 1m")])
async def test_a_deadline_outside_the_axis_is_at_its_edge(planner, glyphs, deadline, label):
    """Nothing told where it is, as a budget outside the axis of costs does."""
    app = planner(deadline_seconds=deadline, deadline_chosen=True, glyphs=glyphs)
    async with at_rest(app, (80, 24), "3"):
        arrow = app.glyphs.after if deadline > 1e6 else app.glyphs.before
        chart = text_of(app).partition("Cost by time")[2].partition("Frontier")[0]
        (line,) = [row for row in chart.splitlines() if label in row]
        assert arrow in line
        assert app.query_one("#frontier-chart", Chart)._layout.labels
