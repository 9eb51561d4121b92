"""One precision for all amounts of a column, which says no less of each than a sentence does."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine


@pytest.mark.parametrize(
    ("amounts", "shown"),
    [
        ((), []),
        ((None, math.nan), []),
        ((1.234, 12.5, 9999.4), ["$1.23", "$12.50", "$9999.40"]),
        ((0.9996, 2.0), ["$1.00", "$2.00"]),
        ((0.246, 0.5, 1.0), ["$0.246", "$0.500", "$1.000"]),
        ((0.25, 0.246, 0.312), ["$0.250", "$0.246", "$0.312"]),
        ((0.0345, 0.5, 3.2), ["$0.0345", "$0.5000", "$3.2000"]),
        ((0.05, 0.25, 3.2), ["$0.05", "$0.25", "$3.20"]),
        ((0.05, 0.2515), ["$0.050", "$0.252"]),
        ((0.0, 0.5), ["$0.00", "$0.50"]),
        ((0.5, 12_345.6), ["$0.50", "$12,346"]),
    ],
)
def test_a_column_has_three_figures_of_its_least_amount_below_a_dollar(amounts, shown):
    decimals = engine.usd_decimals(amounts)
    known = [usd for usd in amounts if usd is not None and not math.isnan(usd)]
    assert [engine.format_usd_to(usd, decimals) for usd in known] == shown


def test_an_amount_of_another_column_is_not_said_to_be_nothing():
    assert engine.format_usd_to(0.0004, 3) == "<$0.001"
    assert engine.format_usd_to(0.0006, 3) == "$0.001"


@given(st.lists(st.floats(1e-5, 9000.0), min_size=1, max_size=20))
def test_a_column_says_no_less_of_an_amount_than_a_sentence(amounts):
    """A price of $0.0345 was listed as $0.034, and a budget of that found nothing."""
    decimals = engine.usd_decimals(amounts)
    shown = [engine.format_usd_to(usd, decimals) for usd in amounts]
    assert len({len(text.partition(".")[2]) for text in shown}) == 1
    for usd, in_column in zip(amounts, shown, strict=True):
        alone = engine.format_usd(usd)
        of_sentence = len(alone.partition(".")[2])
        assert decimals >= of_sentence
        assert float(in_column[1:]) == pytest.approx(
            float(alone[1:]), abs=0.501 * 10.0**-of_sentence
        )
