"""Rounded times and amounts: differences, columns, and limits that are kept as they are typed."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import engine
from engine import format_time_difference, units
from engine.text import quantities, reachable


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


@pytest.mark.parametrize(
    ("seconds", "of_seconds", "says"),
    [
        (0.46, 25.7, "0.5 s"),
        (0.98, 26.7, "1.0 s"),
        (9.2, 48.7, "9.2 s"),
        (12.34, 40.0, "12 s"),
        (3.9, 67.0, "4 s"),
        (0.4, 67.0, "less than 1 s"),
        (59.7, 600.0, "1m 00s"),
        (443.0, 3000.0, "7m 20s"),
        (700.0, 18000.0, "12 min"),
        (20.0, 18000.0, "less than 1 min"),
        (3700.0, 18000.0, "1h 02m"),
        (5000.0, 3e5, "1 h"),
        (0.0042, 0.9, "4 ms"),
        (0.0042, 0.05, "4.2 ms"),
        (0.0042, 1.0, "less than 0.01 s"),
        (0.0, 50.0, "less than 0.1 s"),
    ],
)
def test_two_digits_and_the_place_of_the_longer_time(seconds, of_seconds, says):
    assert format_time_difference(seconds, of_seconds=of_seconds) == says


def test_more_digits_where_they_are_asked_for_still_end_at_that_place():
    """Beside both times in a table, two digits would contradict them."""
    assert format_time_difference(15672.0, of_seconds=18660.0, figures=6) == "4h 21m"
    assert format_time_difference(117.4, of_seconds=184.0, figures=6) == "1m 57s"
    assert format_time_difference(117.4, of_seconds=184.0) == "2m 00s"
    assert format_time_difference(3.944, of_seconds=67.0, figures=6) == "4 s"


@given(st.floats(0.01, 4e6))
def test_a_reachable_deadline_is_one_that_who_types_it_gets(seconds: float) -> None:
    named = reachable.reachable_seconds(seconds)
    typed = quantities.parse_seconds(units.format_seconds(named))
    assert typed == pytest.approx(named, rel=1e-12)
    assert seconds < typed
    assert named <= seconds + max(0.1, seconds / 24.0) + 1e-6 * seconds


@pytest.mark.parametrize(
    ("seconds", "named"),
    [
        (0.31, 0.4),
        (48.34, 48.4),
        (59.94, 60.0),
        (60.0, 61.0),  # what is just enough is not, for the last digit of who computes it
        (3599.2, 3600.0),
        (3661.0, 3720.0),
        (90000.5, 93600.0),
    ],
)
def test_a_reachable_deadline_has_no_more_figures_than_are_said(
    seconds: float, named: float
) -> None:
    assert reachable.reachable_seconds(seconds) == named


@given(st.floats(1e-5, 1e5))
def test_a_reachable_budget_is_one_that_who_types_it_gets(usd: float) -> None:
    named = reachable.reachable_usd(usd)
    assert quantities.parse_usd(units.format_usd(named)) == pytest.approx(named, rel=1e-12)
    assert usd < named * (1.0 + 1e-12)
    assert named <= usd + max(0.01 * usd, 0.01 if usd >= 1.0 else 0.0) + (1.0 if usd > 9e3 else 0.0)
