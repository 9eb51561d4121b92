"""Which part of its axes a chart shows, by hand on an axis of 0 to 10."""

import math

import pytest

from tui.widgets.chart_data import Axis, ChartData, Series, Threshold
from tui.widgets.chart_scales import chart_scales, panned, visible_part, zoomed
from tui.widgets.scales import LinearScale

WHOLE = LinearScale(0.0, 10.0)
SEEN = LinearScale(2.0, 6.0)


@pytest.mark.parametrize(
    ("window", "shown"),
    [
        ((2.0, 4.0), (2.0, 4.0)),
        ((-5.0, 3.0), (0.0, 3.0)),
        ((7.0, 20.0), (7.0, 10.0)),
        ((-5.0, 20.0), (0.0, 10.0)),
        ((12.0, 15.0), (0.0, 10.0)),
        (None, (0.0, 10.0)),
    ],
)
def test_a_window_shows_what_it_holds_of_the_whole(
    window: tuple[float, float] | None, shown: tuple[float, float]
) -> None:
    found = visible_part(WHOLE, window)
    assert (found.low, found.high) == shown


@pytest.mark.parametrize(
    ("at", "window"),
    [
        (4.0, (3.0, 5.0)),
        (2.0, (2.0, 4.0)),
        (5.0, (3.5, 5.5)),
        (-50.0, (2.0, 4.0)),
        (50.0, (4.0, 6.0)),
        (math.nan, (3.0, 5.0)),
    ],
)
def test_a_zoom_keeps_its_place_or_the_nearest_end_that_is_seen(
    at: float, window: tuple[float, float]
) -> None:
    """Around the middle of what is seen where a value has no place."""
    assert zoomed(SEEN, WHOLE, factor=0.5, at=at) == pytest.approx(window)


def test_out_of_a_zoom_is_the_whole_or_ends_at_an_end_of_it() -> None:
    assert zoomed(SEEN, WHOLE, factor=3.0, at=4.0) is None
    assert zoomed(SEEN, WHOLE, factor=2.0, at=6.0) == pytest.approx((0.0, 8.0))


@pytest.mark.parametrize(
    ("share", "window"),
    [(0.5, (4.0, 8.0)), (2.0, (6.0, 10.0)), (-0.25, (1.0, 5.0)), (-1.0, (0.0, 4.0))],
)
def test_what_is_dragged_stays_as_wide_and_inside(
    share: float, window: tuple[float, float]
) -> None:
    assert panned(SEEN, WHOLE, share=share) == pytest.approx(window)


def test_an_axis_holds_all_curves_and_on_a_logarithmic_one_those_above_zero() -> None:
    low = Series(xs=(1.0, 2.0), ys=(0.0, 5.0))
    high = Series(xs=(2.0, 9.0), ys=(50.0, math.nan))
    linear = chart_scales(ChartData(series=(high, low)))
    assert (linear.x.low, linear.x.high) == (1.0, 9.0)
    assert linear.y.low == 0.0
    assert 50.0 <= linear.y.high <= 60.0
    log = chart_scales(ChartData(series=(high, low), y=Axis(log=True)))
    assert 0.0 < log.y.low <= 5.0
    assert 50.0 <= log.y.high <= 100.0


@pytest.mark.parametrize("log", [True, False])
@pytest.mark.parametrize(("highest", "top"), [(139.0, 150.0), (900.0, 150.0), (110.0, 120.0)])
def test_a_band_that_passes_a_limit_is_seen_to(highest: float, top: float, *, log: bool) -> None:
    """The axis ended at the deadline, as if no run took longer."""
    curve = Series(xs=(1, 2), ys=(67.0, 20.0), lows=(60.0, 15.0), highs=(highest, 25.0), slot=1)
    limit = Threshold(value=120.0, label="deadline 2m")
    axis = Axis(log=log, kind="time")
    found = chart_scales(ChartData(series=(curve,), thresholds=(limit,), y=axis))
    assert found is not None
    assert found.y.high == top
