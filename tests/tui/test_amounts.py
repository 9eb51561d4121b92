"""Amounts of input in words."""

from __future__ import annotations

import pytest

from tui.format import size, usd_difference


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (1.0, "units", "1 unit"),
        (2.0, "units", "2 units"),
        (2e8, "units", "200M units"),
        (48e9, "bytes", "48 GB"),
        (None, "bytes", "–"),
    ],
)
def test_an_amount_has_its_unit(value: float | None, unit: str, shown: str) -> None:
    assert size(value, unit) == shown


@pytest.mark.parametrize(
    ("difference", "shown"),
    [(0.00385, "$0.0039"), (-0.0469, "$0.047"), (12.345, "$12.35"), (1e-5, "less than $0.001")],
)
def test_a_difference_has_the_digits_of_the_reasons(difference: float, shown: str) -> None:
    """The line on a runner-up said $0.00385 where the reasons said $0.0039."""
    assert usd_difference(difference) == shown
