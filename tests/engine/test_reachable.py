"""Limits that are named: who types one gets what is said of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import units
from engine.text import quantities, reachable


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
