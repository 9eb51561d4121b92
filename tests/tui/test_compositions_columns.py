"""The columns of the lists of compositions: none moves while an answer changes, and no figure is
cut."""

from dataclasses import replace

import pytest
from fakes import FakeSession, answered, started, without_stages
from rich.cells import cell_len
from screen import at_rest, settled, text_of

from tui import format as text
from tui.changes import SortList
from tui.reducer import reduce
from tui.state import MAX_NODES, Limits
from tui.views import compare, compositions, frontier
from tui.views.composition_rows import short_rows
from tui.views.marks import Marks
from tui.widgets.columns import fit_columns
from tui.widgets.table import Table


@pytest.mark.parametrize("order", ["time", "cost"])
def test_no_column_moves_when_the_list_is_sorted_by_time_or_cost(order):
    """Each took two cells of the composition, so that a mix was cut in the sorted list."""
    state, answer = answered(deadline_seconds=3600.0)
    plain = compositions.full_columns(state, answer, "v")
    by_one = compositions.full_columns(reduce(state, SortList(order)), answer, "v")
    assert [column.width for column in by_one] == [column.width for column in plain]
    assert f"{order} v" in [column.title for column in by_one]


SHARES = [{"limits": Limits(max_spot=0.5)}, {"limits": Limits(owned=(("c6i.4xlarge", 2),))}, {}]


@pytest.mark.parametrize("asked", SHARES)
def test_no_column_moves_where_some_nodes_become_spot_nodes(asked):
    """Only an answer with such nodes had room for their number, and the list jumped with it."""
    cells, said = set(), set()
    for seconds in (30.0, 600.0, 1500.0, 3600.0, 20_000.0):
        session = FakeSession()
        state = started(deadline_seconds=seconds, spot=True, mix=1, **asked)
        answer = session.mixed(state, session.answer(state, session.build(state, print)))
        cells.add(compositions.full_columns(state, answer, "v")[1].width)
        found = answer.report.recommendation
        said |= {text.rented_nodes(found.recommended)} if found.recommended else {""}
    assert len(cells) == 1
    assert "" in said
    assert any(" spot)" in words for words in said) == bool(asked)
    assert max(map(cell_len, said)) <= min(cells)


@pytest.mark.parametrize(("platform", "wider"), [("dataproc", True), ("emr", False)])
def test_spot_nodes_have_room_beside_the_ones_that_a_service_rents_on_demand(platform, wider):
    state, answer = answered(deadline_seconds=3600.0, spot=True, mix=1)
    plain, most = compositions.one_type_cells(state, answer)
    surface = answer.built.plan.surface
    catalog = replace(surface.candidates.catalog, platform=platform)
    surface = replace(surface, candidates=replace(surface.candidates, catalog=catalog))
    built = replace(answer.built, plan=replace(answer.built.plan, surface=surface))
    there, most_there = compositions.one_type_cells(state, replace(answer, built=built))
    assert there - plain == (len(" (99 spot)") if wider else 0)
    assert most_there - most == (len(" (512 spot)") if wider else 0)


def test_no_column_moves_with_the_digits_of_the_most_nodes():
    cells = set()
    for nodes in (9, 10, 99, 100):
        state, answer = answered(deadline_seconds=3600.0, max_nodes=nodes, mix=1)
        cells.add(compositions.full_columns(state, answer, "v")[1].width)
    assert len(cells) == 1
    widest = f"{MAX_NODES} × {max(answer.built.plan.surface.candidates.names, key=len)}"
    assert cell_len(compositions.closer(widest, min(cells))) <= min(cells)


MINUTES = [(5.7 * 60, 16.5 * 60), (10.4 * 60, 15.5 * 60), (1.0, 99.0), (600.0, 7199.0)]


@pytest.mark.parametrize(("low", "high"), [*MINUTES, (40_000.0, 70_000.0), (90_000.0, 860_000.0)])
@pytest.mark.parametrize("columns", [compositions.COLUMNS, compare.COLUMNS, frontier.COLUMNS])
def test_an_interval_is_never_cut_off(columns, low, high):
    said = text.span(low, high, to="–")
    (place,) = (i for i, column in enumerate(columns) if column.title == "interval")
    assert len(said) <= columns[place].width


def test_eighty_columns_hold_the_interval_and_the_note():
    """As below the charts at 80x24, beside the margins and the mark of the cursor."""
    columns = compositions.COLUMNS
    natural = [column.width or 0 for column in columns]
    natural[1], natural[-1] = len("4 × c6id.2xlarge"), len("measured type")
    fitted = dict(fit_columns(columns, natural, 76))
    kept = {columns[place].title: cells for place, cells in fitted.items()}
    assert {column.title for column in columns} - set(kept) == {"cost between"}
    assert kept["interval"] == text.SPAN_CELLS
    assert kept["note"] >= len("transferred")


@pytest.mark.parametrize("view", ["2", "3"])
async def test_a_wide_terminal_says_of_each_row_what_its_cost_lies_between(planner, view):
    async with at_rest(planner(deadline_seconds=3600.0), (200, 60), view) as (app, pilot):
        app = await settled(pilot)
        best = app.answer.report.recommendation.recommended
        shown = text_of(app)
        assert "cost between" in shown
        assert text.usd_span(best.cost_low_usd, best.cost_high_usd) in shown


@pytest.mark.parametrize(
    ("usd", "says"),
    [
        (0.084, "$0.0840"),
        (999.99, "$999.99"),
        (1234.56, "$1,235"),
        (99_999.4, "$99,999"),
        (99_999.6, "$100k"),
        (123_456.0, "$123.5k"),
        (1_234_567.0, "$1.235M"),
        (None, "–"),
    ],
)
def test_a_cost_is_never_cut_off(usd, says):
    """From $1,000 on its end was."""
    assert text.usd_cell(usd) == says
    assert len(text.usd_span(usd, usd and 1.5 * usd)) <= text.USD_SPAN_CELLS


@pytest.mark.parametrize("columns", [compositions.COLUMNS, compare.COLUMNS, frontier.COLUMNS])
@pytest.mark.parametrize("usd", [99.99, 9_999.4, 45_678.0, 123_456.0, 87_654_321.0])
def test_its_column_holds_it(columns, usd):
    (place,) = (i for i, column in enumerate(columns) if column.title == "cost")
    assert len(text.usd_cell(usd)) <= columns[place].width


@pytest.mark.parametrize("cost", [1234.56, 0.00935, 0.000349])
def test_costs_fit_their_column(cost):
    """They were cut in it: $1234.56 to seven cells, and $0.00935 below a cent."""
    _, answer = answered(deadline_seconds=1200.0, max_nodes=16)
    found = answer.report.recommendation
    dear = replace(found, recommended=replace(found.recommended, cost_usd=cost))
    told = replace(answer, report=replace(answer.report, recommendation=dear))
    listed, _ = short_rows(told, Marks("*", "x", "!"), most=500)
    (place,) = (at for at, one in enumerate(compositions.COLUMNS) if one.title == "cost")
    shown = listed[0][place]
    assert len(shown if isinstance(shown, str) else shown[0]) <= compositions.COLUMNS[place].width


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_a_mix_that_comes_or_goes_moves_no_column_of_the_list(planner, size):
    """They jumped by eight cells under the deadline; and the interval has its place."""
    async with planner(FakeSession(evidence=without_stages()), mix=2).run_test(size=size) as pilot:
        app = await settled(pilot)
        await pilot.press("2")
        heads, mixed = set(), set()
        for minutes in (20, 25, 33, 45, 50, 90):
            await app.run_command_line(f"deadline {minutes}m")
            await settled(pilot)
            (head,) = (line for line in text_of(app).splitlines() if " composition " in line)
            heads.add(tuple(head.index(f" {name} ") for name in ("time", "interval", "cost")))
            mixed.add(app.answer.best.instance is None)
        assert mixed == {True, False}
        assert len(heads) == 1


async def test_at_100_columns_times_have_their_intervals_beside_them(planner):
    """Only whether the deadline is met stood there, which a row in the list says by its mark."""

    def titles(app, name):
        table = app.query_one(f"#{name}", Table)
        row = next(line for line in text_of(app).splitlines() if " interval " in line)
        return table.size.width, row.split("│")[-2].split()[-3:]

    async with at_rest(planner(deadline_seconds=3000.0), (120, 40)) as (app, pilot):
        await pilot.resize_terminal(100, 30)
        await settled(pilot)
        width, shown = titles(app, "short")
        assert width < compositions.NARROW
        assert shown == ["time", "interval", "cost"]
        await pilot.press("2")
        await settled(pilot)
        assert titles(app, "full")[1] == ["time", "interval", "cost"]
        await pilot.press("i")
        await settled(pilot)
        assert "in time" in text_of(app)
