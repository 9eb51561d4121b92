"""The list of compositions: filtered by words or globs, sorted by a column."""

from dataclasses import replace

import pytest
from fakes import Gated, answered, started
from screen import at_rest, settled, shows, text_of, typed

import engine
from tui import format as text
from tui.changes import FilterList, Select, SortList
from tui.reducer import reduce
from tui.views.composition_rows import listing, matches_filter, miss_text, short_rows
from tui.views.marks import Marks
from tui.widgets.columns import text_of as text_of_cell
from tui.widgets.table import Table

MARKS = Marks("*", "x", "!")
MOST = 500


def listed_and_types(state, answer):
    """The list in its own view, as rows and their types."""
    found = listing(state, answer, MARKS)
    return list(found.rows), list(found.types)


@pytest.mark.parametrize(
    ("wanted", "names", "said", "held"),
    [
        ("", ("m5.xlarge",), "", True),
        ("m5.*", ("m5.xlarge",), "", True),
        ("m5", ("m5.xlarge",), "", True),
        ("r5.*", ("m5.xlarge", "r5.xlarge"), "mix", True),
        ("r5.*", ("m5.xlarge",), "next to r5.xlarge", False),
        ("m5.* Measured", ("m5.xlarge",), "measured type", True),
        ("m5.* transferred", ("m5.xlarge",), "measured type", False),
    ],
)
def test_words_and_globs(wanted, names, said, held):
    assert matches_filter(wanted, names, said) is held


def test_unfiltered_and_by_the_goal_it_is_the_list_as_it_was():
    state, answer = answered(deadline_seconds=1200.0, max_nodes=16)
    listed, types = listed_and_types(state, answer)
    below, types_below = short_rows(answer, MARKS, most=MOST)
    assert types == types_below
    assert listed[1:] == below[1:]
    assert listed[0][:-1] == below[0][:-1]
    assert listed[0][-1][0] == below[0][-1][0]  # of the best below the charts it is brighter


@pytest.mark.parametrize("order", ["time", "cost", "odds"])
def test_sorting_keeps_all_rows_and_puts_those_that_meet_the_goal_first(order):
    state, answer = answered(deadline_seconds=1200.0, max_nodes=16)
    found = answer.report.recommendation
    _, plain = short_rows(answer, MARKS, most=MOST)
    listed, types = listed_and_types(reduce(state, SortList(order)), answer)
    assert sorted(types, key=str) == sorted(plain, key=str)
    met = [found.recommended, *found.alternatives]
    missed = {row.instance for row in found.rejected}
    assert set(types[len(met) :]) == missed
    by_type = {None: found.recommended} | {choice.instance: choice for choice in met[1:]}
    value = {
        "time": lambda choice: choice.seconds,
        "cost": lambda choice: choice.cost_usd,
        "odds": lambda choice: -choice.p_deadline,
    }[order]
    values = [value(by_type[name]) for name in types[: len(met)]]
    assert values == sorted(values)
    assert listed[types.index(None)][0] == ("*", "good")


def test_of_equal_costs_the_better_one_comes_first():
    """A cost that is a sum was above the same one as a product, in its last digit: a runner-up
    stood before the recommended composition."""
    state, answer = answered(deadline_seconds=1500.0)
    best = answer.report.recommendation.recommended
    second = answer.report.recommendation.alternatives[0]
    assert second.cost_usd == best.cost_usd
    assert engine.outlines(answer.report.recommendation.alternatives)[0].cost_usd < best.cost_usd
    _, types = listed_and_types(reduce(state, SortList("cost")), answer)
    assert types[:2] == [None, second.instance]


def test_sorting_by_the_same_column_again_goes_back():
    state, _ = answered()
    once = reduce(state, SortList("cost"))
    assert reduce(once, SortList("cost")).order == "best"
    assert reduce(once, SortList("time")).order == "time"


def test_a_filter_keeps_what_holds_it():
    state, answer = answered(deadline_seconds=1200.0, max_nodes=16)
    _, types = listed_and_types(reduce(state, FilterList("m5.*")), answer)
    assert types
    best = answer.best.instance
    assert all((name or best).startswith("m5.") for name in types)


async def test_keys_sort_and_slash_filters_and_escape_shows_all(planner):
    async with at_rest(planner(max_nodes=16), (120, 40), "2") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#full", Table)
        everything = len(table.rows)
        await pilot.press("t")
        await settled(pilot)
        assert app.state.view == "compositions"
        assert "time ↓" in text_of(app)
        assert table.cursor == 0
        fastest = min(app.answer.report.recommendation.alternatives, key=lambda c: c.seconds)
        assert app.state.selected == fastest.instance
        await pilot.press("i")
        await settled(pilot)
        assert "in time ↓" in text_of(app)
        await pilot.press("slash")
        await typed(pilot, "c6i")
        await pilot.pause()
        assert "Filter the compositions" in text_of(app)
        await pilot.press("enter")
        await settled(pilot)
        assert 0 < len(table.rows) < everything
        assert "Compositions with c6i" in text_of(app)
        await pilot.press("escape")
        await settled(pilot)
        assert len(table.rows) == everything
        assert "Compositions with" not in text_of(app)


async def test_moving_in_a_sorted_list_keeps_its_place(planner):
    async with at_rest(planner(), (80, 24), "2", "t", "home") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#full", Table)
        for place in (1, 2, 3):
            await pilot.press("down")
            await settled(pilot)
            assert table.cursor == place
        _, types = listed_and_types(app.state, app.answer)
        assert app.state.selected == types[3] != types[0]


async def test_steps_that_follow_each_other_fast_are_not_lost(planner):
    """A redraw put the cursor back at the selected type, which is behind steps already made."""
    async with at_rest(planner(), (80, 24), "2") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#full", Table)
        for _ in range(3):
            table.action_move(1)
            app._panels.show()
        assert table.cursor == 3
        await settled(pilot)
        assert table.cursor == 3
        assert app.state.selected == app._panels.instance_at("full", 3) is not None


@pytest.mark.parametrize("view", ["1", "2"])
async def test_a_list_seen_again_has_its_cursor_at_what_was_selected_elsewhere(planner, view):
    async with at_rest(planner(), (120, 40), view, "3") as (app, pilot):
        await settled(pilot)
        found = app.answer.report.recommendation
        app.dispatch(Select(found.alternatives[1].instance))
        await settled(pilot)
        await pilot.press(view)
        await settled(pilot)
        assert app._panels.table({"1": "short", "2": "full"}[view]).cursor == 2


async def test_a_sorted_list_seen_again_keeps_its_cursor_at_the_recommended_one(planner):
    async with at_rest(planner(), (80, 24), "2", "t") as (app, pilot):
        await settled(pilot)
        table = app.query_one("#full", Table)
        place = next(n for n in range(1, 9) if app._panels.instance_at("full", n) is None)
        await pilot.press(*["down"] * place, "1", "2")
        await settled(pilot)
        assert (app.state.selected, table.cursor) == (None, place)


async def test_a_sorted_list_is_shown_from_its_top(planner):
    """It opened at the recommended type, which may be far down."""
    start = started(mix=1, order="time", view="compositions")
    async with at_rest(planner(start=start), (80, 24)) as (app, pilot):
        await settled(pilot)
        table = app.query_one("#full", Table)
        assert app._panels.instance_at("full", 0) is not None
        assert app.state.selected is None
        assert table.cursor == 0
        for wanted in ("m5", ""):
            app.dispatch(FilterList(wanted))
            await settled(pilot)
            assert table.cursor == 0


async def test_a_filter_that_nothing_holds_says_so(planner):
    async with at_rest(planner(), (80, 24), "2") as (app, pilot):
        app.dispatch(FilterList("[bold]nope"))
        await settled(pilot)
        assert "no composition holds [bold]nope" in text_of(app)


async def test_elsewhere_slash_names_the_candidate_types(planner):
    async with at_rest(planner(), (80, 24), "slash") as (app, pilot):
        await pilot.pause()
        assert "Instance types" in text_of(app)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_type_that_lost_says_by_what_where_there_is_no_room_for_its_note(planner, size):
    async with at_rest(planner(deadline_seconds=900.0, max_nodes=20), size, "2") as (app, pilot):
        app = await settled(pilot)
        lost = app.answer.report.recommendation.rejected
        assert lost
        ends = f"up to {text.seconds(900.0 + lost[0].late_seconds)}"
        assert ends in text_of(app)


@pytest.mark.parametrize(
    ("code", "miss", "says"),
    [
        ("deadline", {"late_seconds": 397.0, "seconds": 800.0}, "up to 21m 37s"),
        ("deadline", {"late_seconds": 397.0, "seconds": 1297.0}, "6m 40s late"),
        ("deadline", {"late_seconds": 90000.0, "seconds": 800.0}, "up to 25h 15m"),
        ("deadline", {"late_seconds": 0.0114, "seconds": 800.0}, "just too late"),
        ("deadline", {"late_seconds": 0.6, "seconds": 900.6}, "1 s late"),
        ("budget", {"over_usd": 0.12}, "$0.12 over"),
        ("deadline-and-budget", {"late_seconds": 1.0, "over_usd": 0.1}, "late and over"),
        ("no-executor", {}, "no executor"),
        ("no-spot-price", {}, "no spot price"),
        ("no-dbus", {}, "DBUs unknown"),
        ("limits", {}, "not allowed"),
        ("stage-needs-cores", {}, "too few cores"),
    ],
)
def test_a_miss_fits_its_column(code, miss, says):
    lost = engine.Rejected("m5.large", None, "the whole reason", code, **miss)
    assert miss_text(lost, 900.0) == says
    assert len(says) <= text.SPAN_CELLS


def test_what_is_hardly_late_is_not_told_the_deadline_itself():
    """ "Up to 30.0 s" stood in the list below a deadline of 30 s, and "<0.1 s late" beside an
    expected time of 18 s."""
    lost = engine.Rejected("a", {"a": 1}, "", "deadline", 18.0, late_seconds=0.02)
    assert miss_text(lost, 30.0) == "just too late"
    assert miss_text(replace(lost, late_seconds=0.2), 30.0) == "up to 30.2 s"


async def test_the_list_below_the_charts_fills_its_room_after_another_view(planner):
    """Coming back it had no room yet, and kept three rows with the rest of the panel empty."""
    async with at_rest(planner(deadline_seconds=1200.0), (120, 40)) as (app, pilot):
        before = app._panels.table("short").rows
        assert len(before) > 3
        await pilot.press("4", "1")
        await settled(pilot)
        assert app._panels.table("short").rows == before


def test_a_list_of_nothing_but_misses_has_as_many_rows_as_there_are_for_it():
    """One was kept for a recommendation that there was not."""
    _, answer = answered(deadline_seconds=1.0, max_nodes=4)
    found = answer.report.recommendation
    assert found.recommended is None
    assert len(found.rejected) >= 4
    listed, types = short_rows(answer, MARKS, most=4)
    assert len(listed) == len(types) == 4


async def test_the_list_below_the_charts_fills_what_a_window_has_come_to_have(planner):
    """Also where the window changed while another view was looked at."""
    async with at_rest(planner(deadline_seconds=1200.0), (120, 60), "4") as (app, pilot):
        await settled(pilot)
        await pilot.resize_terminal(120, 34)
        await settled(pilot)
        await pilot.press("1")
        await settled(pilot)
        table = app._panels.table("short")
        assert len(table.rows) == table.size.height - 1


@pytest.mark.parametrize("chart", ["t", "c"])
async def test_no_height_leaves_the_list_below_the_chart_without_rows(planner, chart):
    """At 22 rows, and at 23 with a notice, it had none: a notice in the tour took the list away."""
    async with planner(mix=2).run_test(size=(80, 19)) as pilot:
        app = await settled(pilot)
        await pilot.press(chart)
        for height in range(18, 28):
            await pilot.resize_terminal(80, height)
            await settled(pilot)
            placed = app.query_one("#short").region
            assert 2 <= placed.height <= 5, height
            assert placed.y + 2 <= app.query_one("#about").region.y, height
            assert "▸ ◆" in text_of(app), height


@pytest.mark.parametrize("height", range(15, 23))
async def test_the_answer_is_seen_in_full_below_the_chart_of_a_low_terminal(planner, height):
    """It ended in the middle, or the chart had taken its rows."""
    async with planner().run_test(size=(80, height)) as pilot:
        app = await settled(pilot)
        sentence = app.query_one("#sentence").region
        assert sentence.height == 3
        assert sentence.bottom <= app.query_one("#about").region.y
        assert "likely within 1h" in " ".join(text_of(app).split())


@pytest.mark.parametrize(
    ("title", "order"), [(" time", "time"), ("cost", "cost"), ("in time", "odds")]
)
async def test_a_click_on_a_title_sorts_by_it(planner, title, order):
    async with at_rest(planner(), (120, 40), "2") as (app, pilot):
        await pilot.pause()
        rows = text_of(app).splitlines()
        y = next(n for n, row in enumerate(rows) if "composition  " in row)
        x = rows[y].index(title) + 1
        await pilot.click(offset=(x, y))
        await settled(pilot)
        assert app.state.order == order
        await pilot.click(offset=(x, y))
        await settled(pilot)
        assert app.state.order == "best"
        await pilot.click(offset=(rows[y].index("interval"), y))
        await settled(pilot)
        assert app.state.order == "best"


def test_types_that_miss_a_deadline_show_their_chance_and_are_sorted_by_it():
    """Their column "in time" was empty, and the order by it left them as they were."""
    state, answer = answered(deadline_seconds=600.0, max_nodes=8, order="odds")
    lost = answer.report.recommendation.rejected
    assert len({each.p_deadline for each in lost}) > 2
    listed = listing(state, answer, MARKS)
    shown = [row[6][0] for row in list(listed.rows)[len(listed.met) :]]
    assert shown == [
        text.in_time(p, state.confidence)
        for p in sorted((x.p_deadline for x in lost), reverse=True)
    ]


async def test_a_filter_is_typed_before_the_first_plan(planner):
    """What was typed behind the key were other keys: 5 went to another view."""
    session = Gated()
    async with planner(session).run_test(size=(120, 40)) as pilot:
        app = pilot.app
        await pilot.press("2", "slash")
        assert await shows(pilot, "the evidence is still being read; enter keeps it")
        await pilot.press(*"c6i", "enter")
        assert await shows(pilot, "the evidence is still being read", gone=True)
        assert app.state.view == "compositions"
        session.go_on.set()
        await settled(pilot)
        assert app.state.listed == "c6i"
        table = app._panels.table("full")
        assert table.rows
        assert all("c6i" in "".join(text_of_cell(cell) for cell in row) for row in table.rows)


async def test_a_filter_of_what_was_read_meanwhile_says_what_it_matches(planner):
    """Typed as the plan stood, it was still of evidence that is being read, and enter kept it."""
    session = Gated()
    async with planner(session).run_test(size=(120, 40)) as pilot:
        app = pilot.app
        await pilot.press("2", "slash")
        assert await shows(pilot, "the evidence is still being read; enter keeps it")
        session.go_on.set()
        await settled(pilot)
        await pilot.press("z", "z", "z")
        assert await shows(pilot, "no composition holds that")
        assert "enter keeps it" not in text_of(app)
