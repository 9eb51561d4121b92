"""The list of compositions builds what is seen of it, and is sorted by what is known before."""

import pytest
from fakes import FakeSession, started
from screen import at_rest, settled

import engine
from tui.state import Limits
from tui.views import compositions
from tui.views.composition_rows import listing
from tui.views.marks import Marks
from tui.widgets.on_demand import OnDemand
from tui.widgets.table import Table, text_of


def test_an_item_is_made_once_when_it_is_looked_at():
    made = []
    items = OnDemand(5, lambda place: made.append(place) or 10 * place)
    assert len(items) == 5
    assert not made
    assert (items[1], items[-1], items[1]) == (10, 40, 10)
    assert items[1:3] == (10, 20)
    assert made == [1, 4, 2]
    with pytest.raises(IndexError):
        items[5]
    assert items != OnDemand(5, items.__getitem__)


async def test_the_filter_dialog_builds_no_choice_for_its_options(planner):
    """The first slash built those of all types, of AWS some 400."""
    async with at_rest(planner(max_nodes=16), (80, 14), "2") as (app, pilot):
        await settled(pilot)
        others = app.answer.report.recommendation.alternatives
        others._made.clear()  # as if none had been seen
        await pilot.press("slash")
        await pilot.pause()
        assert len(app.screen._options) >= len(others) > 1
        assert not others._made


@pytest.mark.parametrize(
    "inputs",
    [
        {"deadline_seconds": 3600.0},
        {"deadline_seconds": 3600.0, "spot": True, "limits": Limits(max_spot=0.5)},
        {"deadline_seconds": 3600.0, "limits": Limits(owned=(("m5.xlarge", 2),))},
        {"deadline_seconds": 200.0},
        {"budget_usd": 5.0},
        {},
    ],
)
def test_the_filter_dialog_says_of_a_composition_what_its_row_does(inputs):
    session, state = FakeSession(), started(**inputs)
    answer = session.answer(state, session.build(state, lambda words: None))
    listed = listing(state, answer, Marks("*", "x", "!"))
    titles = [column.title for column in compositions.COLUMNS]
    assert len(listed) > 2
    for brief, row in zip(listed.briefs, listed.rows, strict=True):
        cell = dict(zip(titles, map(text_of, row), strict=True))
        figures = "  ".join(cell[title] for title in ("time", "cost", "note"))
        assert brief == (cell["composition"], figures)


async def test_a_step_of_a_slider_builds_no_more_of_the_list_than_is_seen(planner):
    """Choices with their costs and warnings were built of all types, of AWS some 400, and twice:
    0.5 s of each step."""
    async with at_rest(planner(max_nodes=16), (80, 14), "2", "f", "a", "right") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#full", Table)
        assert isinstance(table.rows, OnDemand)
        assert 0 < len(table.rows._made) <= table.size.height - 1 < len(table.rows)


async def test_a_step_of_a_slider_builds_no_more_of_the_frontier_than_is_seen(planner):
    """Some hundred choices were built for its chart and its list, most of the time of a step."""
    async with at_rest(planner(max_nodes=64), (80, 24), "3", "f", "a", "right") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#frontier-list", Table)
        points = app.answer.report.recommendation.frontier
        visible = table.size.height - 1
        beside_list = 3
        """The cheapest, the one at the cursor and the next faster one."""
        assert 0 < len(table.rows._made) <= visible < len(table.rows) == len(points)
        assert len(points._made) <= visible + beside_list < len(points)


@pytest.mark.parametrize(
    "inputs", [{}, {"order": "time"}, {"order": "odds"}, {"listed": "m5.* transferred"}]
)
def test_no_choice_is_built_to_sort_or_filter_the_list(inputs):
    session, state = FakeSession(), started(deadline_seconds=3600.0, **inputs)
    answer = session.answer(state, session.build(state, lambda words: None))
    listed = listing(state, answer, Marks("*", "x", "!"))
    last = list(listed.types)[-1]
    assert listed.place_of(last) == len(listed) - 1
    compositions.full_columns(state, answer, "v")
    others = answer.report.recommendation.alternatives
    assert len(listed) > 1
    assert not others._made
    assert listed.rows[1]
    assert len(others._made) == 1


OWNED = Limits(owned=(("m5.xlarge", 3),))
GOALS = [
    {"deadline_seconds": 3600.0},
    {"deadline_seconds": 3600.0, "spot": True},
    {"deadline_seconds": 1500.0, "spot": True, "limits": Limits(max_spot=0.5)},
    {"deadline_seconds": 9000.0, "budget_usd": 6.0, "limits": OWNED},
    {"deadline_seconds": 9000.0, "spot": True, "limits": OWNED._replace(max_spot=0.5)},
    {"budget_usd": 6.0},
    {},
]
"""A deadline, spot nodes, a share of them, owned nodes beside rented ones, a budget alone, and no
goal."""


@pytest.mark.parametrize("mix", [1, 2])
@pytest.mark.parametrize("goal", GOALS)
def test_outlines_say_what_the_choices_do(goal, mix):
    """By them the list is sorted and filtered before its choices are built."""
    session, state = FakeSession(), started(mix=mix, **goal)
    answer = session.answer(state, session.build(state, lambda words: None))
    if mix > 1:
        answer = session.mixed(state, answer)
    found = answer.report.recommendation
    for choices in (found.alternatives, found.frontier):
        outlines_say_what_they_do(choices)


def outlines_say_what_they_do(others):
    outlines = engine.outlines(others)
    assert len(outlines) == len(others) > 2
    for outline, choice in zip(outlines, others, strict=True):
        assert (outline.instance, outline.note) == (choice.instance, choice.note)
        assert (outline.composition, outline.nodes) == (choice.composition, choice.nodes)
        assert outline.seconds == choice.seconds
        assert outline.cost_usd == pytest.approx(choice.cost_usd, rel=1e-12)
        assert outline.p_deadline == choice.p_deadline
    assert list(engine.outlines(tuple(others))) == [engine.Outline.of(x) for x in others]
