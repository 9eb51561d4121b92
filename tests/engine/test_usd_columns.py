"""One precision for all amounts of a column, which tells its rows apart."""

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
        ((0.246, 0.5, 1.0), ["$0.25", "$0.50", "$1.00"]),
        ((0.246, 0.25, 0.312), ["$0.246", "$0.250", "$0.312"]),
        ((0.0326, 0.0349, 3.2), ["$0.033", "$0.035", "$3.200"]),
        ((0.0326, 0.0334, 3.2), ["$0.0326", "$0.0334", "$3.2000"]),
        ((0.0, 0.5), ["$0.00", "$0.50"]),
        ((0.5, 12_345.6), ["$0.50", "$12,346"]),
    ],
)
def test_a_column_has_as_many_decimals_as_tell_its_rows_apart(amounts, shown):
    decimals = engine.usd_decimals(amounts)
    known = [usd for usd in amounts if usd is not None and not math.isnan(usd)]
    assert [engine.format_usd_to(usd, decimals) for usd in known] == shown


def test_an_amount_of_another_column_is_not_said_to_be_nothing():
    assert engine.format_usd_to(0.0004, 3) == "<$0.001"
    assert engine.format_usd_to(0.0006, 3) == "$0.001"


@given(st.lists(st.floats(1e-5, 9000.0), min_size=1, max_size=20))
def test_what_is_told_apart_alone_is_told_apart_in_a_column(amounts):
    decimals = engine.usd_decimals(amounts)
    shown = [engine.format_usd_to(usd, decimals) for usd in amounts]
    assert len({len(text.partition(".")[2]) for text in shown}) == 1
    for one, one_shown in zip(amounts, shown, strict=True):
        assert float(one_shown[1:]) == pytest.approx(one, rel=0.051)
        for other, other_shown in zip(amounts, shown, strict=True):
            if engine.format_usd(one) != engine.format_usd(other):
                assert one_shown != other_shown
