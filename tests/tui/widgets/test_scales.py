"""Scales, ticks, stops and the numbers on axes."""

import math
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.text.quantities import parse_seconds, parse_usd
from engine.text.reachable import reachable_seconds, reachable_usd
from tui.widgets.numbers import (
    bytes_text,
    money_text,
    number_of,
    number_text,
    text_of,
    tick_texts,
    time_text,
)
from tui.widgets.scales import (
    DiscreteScale,
    LinearScale,
    LogScale,
    Stops,
    discrete_stops,
    log_stops,
    nice_bounds,
    step_at_least,
    step_at_most,
    tick_candidates,
)

KINDS = ["number", "count", "time", "money", "bytes", "share"]
positive = st.floats(1e-3, 1e12)


@st.composite
def scales(draw):
    low, ratio = draw(positive), draw(st.floats(1.2, 1e6))
    return draw(st.sampled_from([LinearScale, LogScale]))(low, low * ratio)


@given(scales(), st.floats(0, 1))
def test_position_and_value_are_inverse(scale, position):
    value = scale.value(position)
    assert scale.position(value) == pytest.approx(position, abs=1e-6)
    assert scale.positions([value]) == pytest.approx([scale.position(value)])
    assert scale.low * (1 - 1e-9) <= value <= scale.high * (1 + 1e-9)


@given(scales(), st.floats(0, 1), st.floats(0, 1))
def test_positions_keep_the_order(scale, a, b):
    low, high = sorted((scale.value(a), scale.value(b)))
    assert scale.position(low) <= scale.position(high) + 1e-12


def test_a_log_scale_has_no_place_for_zero():
    assert math.isnan(LogScale(1, 10).position(0))
    assert math.isnan(LogScale(1, 10).position(-3))


def test_scales_refuse_an_empty_range():
    for build in (LinearScale, LogScale):
        with pytest.raises(ValueError, match="low < high"):
            build(5, 5)
    with pytest.raises(ValueError, match="0 < low"):
        LogScale(0, 5)
    with pytest.raises(ValueError, match="ascending"):
        DiscreteScale((1, 3, 2))


def test_a_discrete_scale_spreads_its_values_evenly():
    scale = DiscreteScale((0.5, 0.9, 0.99))
    assert scale.positions([0.5, 0.9, 0.99]) == pytest.approx([0, 0.5, 1])
    assert scale.position(0.7) == pytest.approx(0.25)
    assert [scale.value(place) for place in (0, 0.2, 0.3, 0.8)] == [0.5, 0.5, 0.9, 0.99]


@given(scales(), st.sampled_from(KINDS))
def test_ticks_lie_on_the_axis_in_order_and_get_fewer(scale, kind):
    sets = list(tick_candidates(scale, kind))
    for ticks in sets:
        assert all(a < b for a, b in pairwise(ticks))
        margin = (scale.high - scale.low) * 1e-5
        assert all(scale.low - margin <= tick <= scale.high + margin for tick in ticks)
    assert all(len(a) >= len(b) for a, b in pairwise(sets))


@given(positive, st.sampled_from(KINDS))
def test_nice_steps_bracket_the_size(size, kind):
    assert step_at_least(size, kind) >= size * (1 - 1e-6)
    if kind != "count" or size >= 1:
        assert step_at_most(size, kind) <= size * (1 + 1e-6)
    if kind == "count":
        assert step_at_least(size, kind).is_integer()


@given(positive, positive, st.booleans(), st.sampled_from(KINDS))
@example(0.3, 5.0, True, "count")
@example(0.001, 0.0010000000000000002, True, "number")
def test_nice_bounds_contain_the_values(a, b, log, kind):
    low, high = sorted((a, b))
    nice_low, nice_high = nice_bounds(low, high, kind, log=log)
    assert nice_low < nice_high
    margin = high * 1e-6
    assert nice_low <= low + margin
    assert nice_high >= high - margin


@pytest.mark.parametrize(
    ("scale", "kind", "most", "expected"),
    [
        (LinearScale(0, 10800), "time", 8, ("0s", "30m", "1h", "1h 30m", "2h", "2h 30m", "3h")),
        (LinearScale(0, 40), "time", 6, ("0s", "10s", "20s", "30s", "40s")),
        (LogScale(60, 86400), "time", 7, ("1m", "5m", "15m", "1h", "3h", "12h", "1d")),
        (
            LinearScale(0, 16),
            "money",
            9,
            ("$0", "$2", "$4", "$6", "$8", "$10", "$12", "$14", "$16"),
        ),
        (LinearScale(0, 2), "money", 5, ("$0.00", "$0.50", "$1.00", "$1.50", "$2.00")),
        (LogScale(1, 512), "count", 6, ("1", "4", "16", "64", "256")),
        (LinearScale(1, 64), "count", 7, ("10", "20", "30", "40", "50", "60")),
        (LogScale(1e9, 1e12), "bytes", 4, ("1 GB", "10 GB", "100 GB", "1 TB")),
        (LinearScale(0, 1), "share", 6, ("0%", "20%", "40%", "60%", "80%", "100%")),
        (LogScale(1200, 2500), "time", 6, ("20m", "25m", "30m", "35m", "40m")),
        (LogScale(0.02, 0.7), "money", 2, ("$0.03", "$0.30")),  # not $0.10 alone
    ],
)
def test_ticks_people_would_choose(scale, kind, most, expected):
    ticks = next(values for values in tick_candidates(scale, kind) if len(values) <= most)
    assert tick_texts(ticks, kind) == expected


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0s"),
        (0.5, "0.5s"),
        (90, "1m 30s"),
        (1800, "30m"),
        (3600, "1h"),
        (3605, "1h"),
        (5430, "1h 30m"),
        (93600, "1d 02h"),
        (184.4, "3m 04s"),
        (48.34, "48.3s"),
        (59.96, "1m"),
        (-60, "-1m"),
    ],
)
def test_time_text(seconds, text):
    assert time_text(seconds) == text


@given(st.floats(0.01, 4e6))
@example(3599.5)
@example(86399.5)
def test_a_time_that_is_stepped_up_is_written_in_full(seconds):
    """So that who types what was shown gets at least the time that was meant."""
    stepped = reachable_seconds(seconds)
    assert parse_seconds(time_text(stepped)) == stepped


@pytest.mark.parametrize("usd", [0.00123, 0.0494, 0.0996, 0.2401, 0.2459, 0.5, 0.999, 7.891])
def test_a_budget_that_is_named_is_shown_in_full_when_it_is_typed(usd):
    """$0.246 was shown as $0.25, and of $0.245 it was said that no cluster stays within $0.24."""
    named = reachable_usd(usd)
    assert parse_usd(money_text(named)) == named


def test_other_texts():
    assert [money_text(v) for v in (12, 7.9, 0.012, 12500)] == ["$12", "$7.90", "$0.012", "$12.5k"]
    assert [bytes_text(v) for v in (0, 999, 48e9, 2.1e12)] == ["0 B", "999 B", "48 GB", "2.1 TB"]
    assert [number_text(v) for v in (0, 0.25, 9999, 12000, 1.5e6)] == [
        "0",
        "0.25",
        "9999",
        "12k",
        "1.5M",
    ]
    assert text_of(0.95, "share") == "95%"


def test_what_rounds_up_to_the_next_unit_is_written_in_it():
    assert [number_text(v) for v in (999_940, 999_960)] == ["999.9k", "1M"]
    assert [money_text(v) for v in (0.9994, 0.9996, 999_960)] == ["$0.999", "$1.00", "$1M"]
    assert bytes_text(999.96e9) == "1 TB"


def test_deadline_stops_are_times_people_say():
    stops = log_stops(300, 86400, "time", least=300)
    assert [time_text(stop) for stop in stops.fine[:6]] == ["5m", "10m", "15m", "20m", "25m", "30m"]
    assert time_text(stops.after(3600)) == "1h 05m"
    assert time_text(stops.after(7200)) == "2h 15m"
    assert [time_text(stop) for stop in stops.coarse] == (
        ["5m", "10m", "15m", "30m", "1h", "2h", "3h", "6h", "12h", "1d"]
    )


def test_budget_stops_are_round():
    stops = log_stops(1, 1000, "money")
    assert stops.after(12) == 13
    assert stops.after(1.2) == pytest.approx(1.3)
    assert stops.after(100) == 110
    assert stops.coarse == (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)


@given(st.floats(0.1, 1e9), st.floats(1.5, 1e5), st.sampled_from(KINDS))
def test_every_stop_is_reached_and_left_again(low, ratio, kind):
    high = low * ratio
    stops = log_stops(low, high, kind)
    assert (stops.fine[0], stops.fine[-1]) == (low, high)
    for a, b in pairwise(stops.fine):
        assert stops.after(a) == b
        assert stops.before(b) == a
    assert stops.after(high) == high
    assert stops.before(low) == low
    assert all(a < b for a, b in pairwise(stops.coarse))


def test_a_typed_value_between_stops_steps_to_a_stop():
    stops = Stops(tuple(range(0, 101, 5)), tuple(range(0, 101, 20)))
    assert (stops.after(42), stops.before(42)) == (45, 40)
    assert (stops.after(42, coarse=True), stops.before(42, coarse=True)) == (60, 40)
    assert stops.nearest(43, LinearScale(0, 100)) == 45


def test_discrete_stops():
    stops = discrete_stops((0.5, 0.8, 0.9, 0.95, 0.99))
    assert stops.after(0.9) == 0.95
    assert stops.coarse == (0.5, 0.9, 0.99)


@pytest.mark.parametrize("value", [12_300.0, 2e8, 1.5e12])
def test_a_count_is_read_as_it_is_written(value):
    assert number_of(number_text(value)) == pytest.approx(value)


@pytest.mark.parametrize("typed", ["", "k", "12", "2 GB", "3x", "M5"])
def test_what_is_no_short_count(typed):
    assert number_of(typed) is None


def test_the_size_of_counted_input_is_typed_as_the_slider_shows_it():
    from tui.views.goal import Ranges

    ranges = Ranges(input_size=2e8, unit="units")
    assert ranges.size_text(0.75) == "150M"
    assert ranges.parse_size("150M") == pytest.approx(0.75)


@given(largest=st.floats(1.0, 1e13), unit=st.sampled_from(["bytes", "units"]))
@example(largest=977_775_896.6, unit="bytes")
def test_the_ends_of_the_size_slider_are_typed_as_they_are_shown(largest, unit):
    """In three digits they may lie beyond: who typed the limit that a refusal named was refused."""
    from tui.views.goal import MAX_SCALE, MIN_SCALE, Ranges

    ranges = Ranges(input_size=largest, unit=unit)
    for end in (MIN_SCALE, MAX_SCALE):
        typed = ranges.parse_size(ranges.size_text(end))
        assert MIN_SCALE <= typed <= MAX_SCALE
        assert typed == pytest.approx(end, rel=0.006)


def test_on_a_log_track_what_is_not_above_zero_takes_no_place_from_the_others() -> None:
    none, *others = LogScale(1.0, 100.0).positions([0.0, 10.0, 100.0, 1.0])
    assert math.isnan(none)
    assert others == pytest.approx([0.5, 1.0, 0.0])


def test_between_a_few_values_a_position_is_that_of_its_neighbours() -> None:
    """What lies outside goes on as the two at that end are apart; a value is the nearest."""
    scale = DiscreteScale((0.5, 0.8, 0.9))
    assert [scale.position(at) for at in (0.2, 0.5, 0.65, 0.85, 1.0)] == pytest.approx(
        [-0.5, 0.0, 0.25, 0.75, 1.5]
    )
    assert [scale.value(at) for at in (-1.0, 0.3, 0.8, 2.0)] == [0.5, 0.8, 0.9, 0.9]
    assert DiscreteScale((1.0, 2.0)).position(2.0) == 1.0


@pytest.mark.parametrize("values", [(), (1.0,), (1.0, 1.0), (2.0, 1.0)])
def test_a_track_needs_two_values_in_order(values: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="a discrete scale needs ascending values"):
        DiscreteScale(values)
