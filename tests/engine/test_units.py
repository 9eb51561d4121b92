import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import units
from engine.errors import BadInput
from engine.text import quantities


@pytest.mark.parametrize("text", ["-5", "-5m", "-2,5h", "$-5", "-$5", "\u22125"])
@pytest.mark.parametrize(
    "parse",
    [
        quantities.parse_seconds,
        quantities.parse_bytes,
        quantities.parse_memory_gib,
        quantities.parse_usd,
    ],
)
def test_what_is_below_zero_is_told_so_and_not_how_to_write_it(
    parse: Callable[[str], float], text: str
) -> None:
    with pytest.raises(BadInput, match=f" must be more than zero, not {re.escape(repr(text))}$"):
        parse(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45m", 2700.0),
        ("1h30m", 5400.0),
        ("1h 30m", 5400.0),
        ("1.5h", 5400.0),
        ("90s", 90.0),
        ("90", 90.0),
        ("1:30:15", 5415.0),
        ("0:15:00", 900.0),
        ("2d", 172800.0),
        ("250ms", 0.25),
        ("2 hours", 7200.0),
    ],
)
def test_durations_as_people_write_them(text: str, seconds: float) -> None:
    assert quantities.parse_seconds(text) == pytest.approx(seconds)


@pytest.mark.parametrize(
    "text", ["", "soon", "0", "-5m", "5x", "30m1h", "nan", "inf", "1h 30", "m"]
)
def test_what_is_not_a_duration_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        quantities.parse_seconds(text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("15:00", "write 15m or 15h, or 0:15:00 (h:mm:ss)"),
        ("8:10", "write 8m10s or 8h10m, or 0:08:10 (h:mm:ss)"),
        (" 1:05 ", "write 1m5s or 1h5m, or 0:01:05 (h:mm:ss)"),
        ("60:00", "write 60m or 60h"),
        ("90:00", "write 90m or 90h"),
    ],
)
def test_two_parts_of_a_clock_may_be_minutes_or_hours_and_are_refused(
    text: str, remedy: str
) -> None:
    with pytest.raises(BadInput, match="is ambiguous: minutes and seconds, or hours") as caught:
        quantities.parse_seconds(text, where="here")
    assert (caught.value.where, caught.value.remedy) == ("here", remedy)
    for spelt in re.findall(r"\d\S*\d[ms]?\b|\d+[mh]\b", remedy):
        assert quantities.parse_seconds(spelt) > 0  # what is proposed can be read


@pytest.mark.parametrize(
    ("parse", "text", "pointed"),
    [
        (quantities.parse_seconds, "312,4", "312.4"),
        (quantities.parse_seconds, "1.312,4 s", "1312.4 s"),
        (quantities.parse_bytes, "10,5GB", "10.5GB"),
        (quantities.parse_usd, "$12,5", "$12.5"),
        (quantities.parse_seconds, "0,500", "0.500"),
        (quantities.parse_seconds, "1234,567", "1234.567"),
        (quantities.parse_bytes, "0,125GB", "0.125GB"),
        (quantities.parse_usd, "$0,110", "$0.110"),
        (quantities.parse_usd, "1.234,567", "1234.567"),
    ],
)
def test_a_decimal_comma_is_told_from_nonsense(
    parse: Callable[[str], float], text: str, pointed: str
) -> None:
    with pytest.raises(BadInput) as caught:
        parse(text)
    assert caught.value.remedy == f"write it with a point: {pointed}"
    assert parse(pointed) > 0.0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("48GB", 48e9),
        ("48 gb", 48e9),
        ("1.5TiB", 1.5 * 1024**4),
        ("300MB", 300e6),
        ("2T", 2e12),
        ("123", 123.0),
        ("1,000", 1000.0),
        ("0.125", 0.125),
        ("1e9", 1e9),
    ],
)
def test_sizes(text: str, size: float) -> None:
    assert quantities.parse_bytes(text) == pytest.approx(size)


@pytest.mark.parametrize("text", ["", "big", "0", "-1GB", "12QB", "1GBB", "1 2 GB", "GB"])
def test_what_is_not_a_size_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        quantities.parse_bytes(text)


def test_memory_is_binary_and_bare_numbers_are_mebibytes_as_in_spark() -> None:
    assert quantities.parse_memory_gib("8g") == 8.0
    assert quantities.parse_memory_gib("512m") == 0.5
    assert quantities.parse_memory_gib("2048") == 2.0


@pytest.mark.parametrize(("text", "usd"), [("$12.50", 12.5), ("12.5", 12.5), ("1,200 USD", 1200.0)])
def test_money(text: str, usd: float) -> None:
    assert quantities.parse_usd(text) == usd


@pytest.mark.parametrize("text", ["$0", "-$5", "cheap", "$", "12 EUR"])
def test_what_is_not_money_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        quantities.parse_usd(text)


@pytest.mark.parametrize("text", ["12,40 €", "€12.40", "12 EUR", "£5"])
def test_money_of_another_currency_is_told_to_be_converted(text: str) -> None:
    """A point instead of the comma was advised, and then refused."""
    with pytest.raises(BadInput) as caught:
        quantities.parse_usd(text)
    assert caught.value.remedy == "convert it to US dollars, and write it like $12.50"


@pytest.mark.parametrize(("text", "share"), [("90%", 0.9), ("90", 0.9), ("0.95", 0.95)])
def test_shares(text: str, share: float) -> None:
    assert quantities.parse_fraction(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["0", "100%", "1.0", "120%", "-3", "most", "nan"])
def test_what_is_not_a_share_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        quantities.parse_fraction(text)


@pytest.mark.parametrize(
    ("text", "share"),
    [("90%", 0.9), ("90", 0.9), (" 97.5 % ", 0.975), ("0.95", 0.95), ("50", 0.5), ("2%", 0.02)],
)
def test_confidences(text: str, share: float) -> None:
    assert quantities.parse_confidence(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["2", "1", "9", "49", "0", "100", "100%", "0%", "-3", "so", "nan"])
def test_a_confidence_that_is_a_slip_is_refused_with_what_is_taken(text: str) -> None:
    with pytest.raises(BadInput, match=r"0\.9.*90%.*from 50 to below 100"):
        quantities.parse_confidence(text)


@pytest.mark.parametrize("text", ["99.99995", "99.99995%", "0.9999999999999999"])
def test_a_confidence_that_no_runs_support_is_refused(text: str) -> None:
    """The interval of such a one ended in a traceback: its upper end was infinite."""
    with pytest.raises(BadInput, match=r"wider than numbers can be; give at most 99\.9999%"):
        quantities.parse_confidence(text)
    assert quantities.parse_confidence("99.9999%") == pytest.approx(0.999999)


def test_what_is_too_large_is_not_called_too_small() -> None:
    for parse in (quantities.parse_bytes, quantities.parse_memory_gib, quantities.parse_usd):
        with pytest.raises(BadInput, match="is too large"):
            parse("1e400")


def test_a_factor_is_told_from_a_size() -> None:
    assert quantities.parse_times("3x") == 3.0
    assert quantities.parse_times("3GB") is None
    assert quantities.has_size_unit("48GB")
    assert not quantities.has_size_unit("48")


@given(st.floats(min_value=1e-3, max_value=1e7))
def test_a_duration_that_is_shown_reads_back_as_nearly_the_same(seconds: float) -> None:
    shown = units.format_seconds(seconds)
    assert quantities.parse_seconds(shown) == pytest.approx(seconds, rel=0.06)


@given(st.floats(min_value=0.0101, max_value=1e6))
def test_money_that_is_shown_reads_back_to_the_cent(usd: float) -> None:
    assert quantities.parse_usd(units.format_usd(usd)) == pytest.approx(usd, rel=0.005)


@given(st.floats(min_value=1.0, max_value=1e17))
def test_a_size_that_is_shown_reads_back_to_three_digits(size: float) -> None:
    assert quantities.parse_bytes(units.format_bytes(size)) == pytest.approx(size, rel=0.006)


@pytest.mark.parametrize(
    ("size", "text"), [(999.4e15, "999 PB"), (999.6e15, "1,000 PB"), (12e18, "12,000 PB")]
)
def test_what_no_store_holds_is_no_power_of_ten(size: float, text: str) -> None:
    assert units.format_bytes(size) == text
    assert quantities.parse_bytes(text) == pytest.approx(size, rel=0.006)


@given(st.text(max_size=20))
def test_no_text_makes_a_parser_fail_otherwise_than_in_one_line(text: str) -> None:
    for parse in (
        quantities.parse_bytes,
        quantities.parse_seconds,
        quantities.parse_usd,
        quantities.parse_fraction,
        quantities.parse_confidence,
    ):
        try:
            value = parse(text)
        except BadInput:
            continue
        assert math.isfinite(value)
        assert value > 0


@pytest.mark.parametrize("text", ["", "much", "8x", "-1g", "0", "g"])
def test_what_is_not_memory_is_refused_in_one_line(text: str) -> None:
    with pytest.raises(BadInput) as caught:
        quantities.parse_memory_gib(text, where="here")
    assert caught.value.where == "here"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (1.1e-13, "0 s"),
        (0.85, "850 ms"),
        (0.9994, "999 ms"),
        (0.0, "0 s"),
        (0.04, "40.0 ms"),
        (0.9996, "1.00 s"),
        (1.0, "1 s"),
        (2.3, "2.30 s"),
        (6.11, "6.11 s"),
        (9.9996, "10.0 s"),
        (30.0, "30 s"),
        (30.04, "30.0 s"),
        (59.94, "59.9 s"),
        (59.95, "1m 00s"),
        (119.6, "2m 00s"),
        (3599.4, "59m 59s"),
        (3599.5, "1h 00m"),
        (48 * 3600.0 - 60.0, "47h 59m"),
        (48 * 3600.0, "2d 00h"),
    ],
)
def test_durations_as_they_are_shown(seconds: float, text: str) -> None:
    assert units.format_seconds(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(6.6, "6.6 s"), (13.0, "13 s"), (0.67, "670 ms"), (0.001, "1.0 ms")]
)
def test_two_digits_are_two(seconds: float, text: str) -> None:
    assert units.format_seconds(seconds, figures=2) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0.0123, 1.04, "12 ms to 1.0 s"),
        (0.0, 1.04, "0 ms to 1.0 s"),
        (0.049, 90.0, "49 ms to 1m 30s"),
        (0.02, 3600.0, "20 ms to 1h 00m"),
        (0.05, 1.04, "0.1 to 1.0 s"),
        (0.0123, 0.9, "12 to 900 ms"),
    ],
)
def test_no_interval_begins_at_nothing(low: float, high: float, text: str) -> None:
    assert units.format_interval(low, high) == text


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (40 * 60.0, 700 * 86400.0, "40 min to 700 days"),
        (11 * 86400.0, 18_643 * 86400.0, "11 days to 51 years"),
        (800 * 86400.0, 18_643 * 86400.0, "2.2 to 51.0 years"),
        (204.0, 1.6e14, "3.4 min to over 999 years"),
        (0.02, 1.6e14, "20 ms to over 999 years"),
        (997 * 365.25 * 86400.0, 1.6e14, "997 to over 999 years"),
        (1200 * 365.25 * 86400.0, 1.6e14, "over 999 years"),
        (5.0, 12 * 365.25 * 86400.0, "5.0 s to 12 years"),
    ],
)
def test_an_interval_of_ages_counts_no_days(low: float, high: float, text: str) -> None:
    assert units.format_interval(low, high) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0.0842, "$0.0842"),
        (0.04003, "$0.0400"),
        (0.04, "$0.04"),
        (0.5, "$0.50"),
        (0.1239, "$0.124"),
        (0.0, "$0.00"),
        (0.00009996, "$0.000100"),
        (0.9996, "$1.00"),
        (1.0, "$1.00"),
        (9999.49, "$9999.49"),
        (9999.5, "$10,000"),
    ],
)
def test_money_as_it_is_shown(usd: float, text: str) -> None:
    assert units.format_usd(usd) == text


@pytest.mark.parametrize(
    ("usd", "text"), [(0.0021, "$0.0021"), (0.9951, "$1.00"), (0.00998, "$0.010"), (0.5, "$0.50")]
)
def test_a_difference_of_money_has_two_figures(usd: float, text: str) -> None:
    assert units.format_usd(usd, figures=2) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (2.0, "2"),
        (0.0512345, "0.0512"),
        (567.4, "567"),
        (3000.0, "3,000"),
        (1234567.0, "1,230,000"),
    ],
)
def test_multiples_have_no_exponent(value: float, text: str) -> None:
    assert units.format_number(value) == text
