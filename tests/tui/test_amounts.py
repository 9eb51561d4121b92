"""Amounts of input in words."""

from __future__ import annotations

import pytest

from tui.format import size


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
