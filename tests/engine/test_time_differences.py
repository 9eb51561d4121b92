"""Differences of times: no finer than the times beside them are told."""

import pytest

from engine import format_time_difference


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
