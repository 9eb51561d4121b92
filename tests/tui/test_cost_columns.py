"""The columns of costs in the planner's lists: even, and the same while a slider moves."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from test_pins import FIRST, SECOND

from tui import format as text
from tui.input_text.training_text import saving_cells
from tui.pins import NOW
from tui.session import EngineSession
from tui.state import Limits, PlanState
from tui.views import compare, compositions, cost_columns
from tui.views.composition_rows import listing
from tui.views.marks import Marks
from tui.widgets.table import text_of

MARKS = Marks("*", "x", "!")
COST = next(i for i, column in enumerate(compositions.COLUMNS) if column.title == "cost")
NIGHTLY = PlanState(sources=("nightly-features",))


def decimals_in(cell):
    """The decimals of an amount, or the set of those of the ends of a span."""
    return {len(end.partition(".")[2]) for end in cell.split("–") if end}


@pytest.mark.parametrize(
    ("amounts", "shown"),
    [
        ((0.00094, 0.0101, 0.5), ["$0.0009", "$0.0101", "$0.5000"]),
        ((0.00094, 0.0101, 0.5, 12.5), ["$0.001", "$0.010", "$0.500", "$12.500"]),
        ((0.004, 0.0345, 150.0), ["<$0.01", "$0.03", "$150.00"]),
        ((0.0345, 9.99996), ["$0.035", "$10.000"]),
        ((0.0345, 1234.5), ["$0.0345", "$1,234"]),
        ((0.00002, 0.5), ["<$0.001", "$0.5000"]),
    ],
)
def test_a_column_of_few_cells_stays_even(amounts, shown):
    """Of a column with $12.500 one amount had three decimals, one two and one four."""
    decimals = text.usd_cell_decimals(amounts)
    assert [text.usd_cell(usd, decimals) for usd in amounts] == shown


@pytest.fixture(scope="module")
def nightly():
    session = EngineSession()
    return session, session.build(NIGHTLY, lambda _: None, lambda _: None)


def test_decimals_stay_while_the_deadline_moves(nightly):
    """They were 3, 2, 3 and 4, and the amounts jumped under the eye."""
    session, built = nightly
    kinds = set()
    for seconds in (30.0, 38.0, 40.0, 45.0, 65.0, 120.0, 600.0):
        answer = session.answer(replace(NIGHTLY, deadline_seconds=seconds), built)
        rows = listing(NIGHTLY, answer, MARKS).rows
        kinds |= {frozenset(decimals_in(text_of(row[COST]))) for row in rows}
        assert not any("<" in text_of(row[COST + 1]) for row in rows)
    assert kinds == {frozenset({4})}


def test_a_listed_price_is_a_budget_that_buys_it(nightly):
    """A price of $0.0345 was listed as $0.034, and a budget of that found nothing."""
    session, built = nightly
    best = session.answer(replace(NIGHTLY, deadline_seconds=600.0), built).report.recommendation
    shown, _ = cost_columns.cells(best.recommended, cost_columns.of_plan(best), "plain")
    assert text_of(shown) == text.usd(best.recommended.cost_usd)
    listed = replace(NIGHTLY, budget_usd=float(text_of(shown)[1:]))
    found = session.answer(listed, built).report.recommendation.recommended
    assert found.composition == best.recommended.composition


def test_nodes_that_cost_nothing_leave_the_others_their_decimals(nightly):
    """Where owned nodes cost $0, the costs beside them fell to "$0.02", "$0.02" and "$0.02"."""
    session, _ = nightly
    owned = Limits(owned=(("m5.2xlarge", 4),), owned_master=True)
    state = replace(NIGHTLY, limits=owned, deadline_seconds=120.0)
    built = session.build(state, lambda _: None, lambda _: None)
    answer = session.answer(state, built)
    assert answer.report.recommendation.frontier[-1].cost_usd == 0.0
    shown = [text_of(row[COST]) for row in listing(state, answer, MARKS).rows]
    assert {places for cell in shown for places in decimals_in(cell)} == {4}
    found = answer.report.recommendation
    for free in (replace(found, frontier=found.frontier[-1:]), replace(found, frontier=())):
        assert cost_columns.of_plan(free) == 4


def test_compare_keeps_its_decimals_while_the_plan_on_the_screen_follows_a_slider(nightly):
    """Those of what is pinned alone gave a plan on the screen of $0.0345 as $0.03 beside one of
    $2.00: a figure, where the others have three."""
    session, built = nightly
    plan = session.answer(replace(NIGHTLY, deadline_seconds=600.0), built).report.recommendation
    cost = next(i for i, column in enumerate(compare.COLUMNS) if column.title == "cost")
    for pinned_usd in (0.5123, 2.0):
        pinned = replace(FIRST, cost_usd=pinned_usd)
        for usd in (0.0345, 0.25, 1.5):
            now = replace(SECOND, name=NOW, cost_usd=usd)
            rows = compare.rows([pinned, now], MARKS, plan)
            assert [decimals_in(text_of(row[cost])) for row in rows] == [{4}, {4}]
            assert decimals_in(text_of(rows[1][cost + 2])) == {4}
    assert text_of(compare.rows([pinned, replace(now, cost_usd=0.0345)], MARKS, plan)[1][cost]) == (
        "$0.0345"
    )


def test_what_runs_save_has_equally_many_decimals():
    """ "$0.0164" stood above "$0.21", and a saving of nothing has no decimals to give."""

    def run(usd, seconds=None):
        return SimpleNamespace(gain_usd=usd, gain_seconds=seconds)

    assert saving_cells([run(0.0164), run(0.2134), run(1.2)]) == ["$0.0164", "$0.2134", "$1.2000"]
    assert saving_cells([run(0.0), run(2.5)]) == ["$0.00", "$2.50"]
    assert saving_cells([run(None, 90.0)]) == [text.seconds(90.0)]
