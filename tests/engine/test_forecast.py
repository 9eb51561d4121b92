import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import engine
from engine.forecast import Forecast, student_quantile

seconds = st.floats(0.1, 1e6)
scales = st.floats(0.001, 2.0)
dofs = st.one_of(st.just(np.inf), st.integers(1, 60).map(float))


@given(seconds, scales, dofs, st.floats(0.05, 0.99))
def test_quantile_and_probability_are_inverse(t: float, s: float, dof: float, p: float) -> None:
    forecast = Forecast.of(np.array([t]), s, dof)
    deadline = float(forecast.quantile(p)[0])
    if 0 < deadline < np.inf:
        assert forecast.p_within(deadline)[0] == pytest.approx(p, abs=1e-6)


@given(seconds, scales, dofs, st.floats(0.05, 0.99))
def test_an_interval_contains_its_own_point(t: float, s: float, dof: float, p: float) -> None:
    low, high = Forecast.of(np.array([t]), s, dof).interval(p)
    assert low[0] <= t <= high[0]


def test_it_is_students_law_of_the_logarithm() -> None:
    forecast = Forecast.of(np.array([100.0, 100.0]), 0.1, np.array([5.0, np.inf]))
    expected = 100.0 * np.exp(0.1 * np.array([stats.t.ppf(0.95, 5), stats.norm.ppf(0.95)]))
    assert forecast.quantile(0.95) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.99])
def test_an_interval_is_central(confidence: float) -> None:
    """As much lies below it as above."""
    low, high = Forecast.of(np.array([100.0]), 0.2, 4.0).interval(confidence)
    assert stats.t.cdf(np.log(low / 100.0) / 0.2, 4) == pytest.approx((1.0 - confidence) / 2.0)
    assert stats.t.sf(np.log(high / 100.0) / 0.2, 4) == pytest.approx((1.0 - confidence) / 2.0)


def test_what_is_not_known_stays_unknown_and_what_is_exact_is_certain() -> None:
    unknown = Forecast.of(np.array([10.0]))
    assert np.isnan(unknown.interval(0.9)).all()
    assert np.isnan(unknown.p_within(20.0)).all()
    assert unknown.quantile_or_median(0.9).tolist() == [10.0]
    exact = Forecast.of(np.array([10.0]), 0.0)
    assert exact.p_within(10.0)[0] == 1.0
    assert exact.p_within(9.9)[0] == 0.0
    beside = Forecast.of(np.array([10.0, 10.0]), np.array([np.nan, 0.2]))
    assert beside.quantile_or_median(0.9)[0] == 10.0
    assert beside.p_within(float(beside.quantile_or_median(0.9)[1]))[1] == pytest.approx(0.9)


def test_a_bound_larger_than_numbers_can_be_is_unknown() -> None:
    """The lower one is a time all the same; the quantile meets no deadline."""
    beyond = Forecast.of(np.array([100.0, 100.0]), np.array([0.5, 0.001]), 1.0)
    low, high = beyond.interval(0.9999)
    assert np.isnan(high[0])
    assert 0.0 <= low[0] < 100.0 < high[1] < np.inf
    assert beyond.quantile(0.99995)[0] == np.inf
    endless = Forecast.of(np.array([np.inf]), 0.1)
    assert np.isnan(endless.interval(0.9)).all()


def test_predictions_and_choices_have_none_for_it() -> None:
    fitted, catalog = engine.fit(engine.read("nightly-features")), engine.load_catalog("aws")
    sure = 0.9999999999999999
    cluster = engine.Cluster.of_nodes(instance_type="m5.xlarge", nodes=3, catalog=catalog)
    predicted = fitted.predict(cluster=cluster, confidence=sure)
    chosen = engine.recommend(
        fitted, catalog=catalog, objective="cost", instances=["m5.xlarge"], confidence=sure
    ).recommended
    assert chosen is not None
    for low, seconds, high in (
        (predicted.low, predicted.seconds, predicted.high),
        (chosen.low, chosen.seconds, chosen.high),
        (chosen.cost_low_usd, chosen.cost_usd, chosen.cost_high_usd),
    ):
        assert low is not None
        assert low <= seconds
        assert high is None


def test_widening_adds_in_quadrature() -> None:
    assert Forecast.of(np.array([1.0]), 0.3).widened(0.4).log_scale[0] == pytest.approx(0.5)


@pytest.mark.parametrize("dof", [1.0, 1.5, 2.0, 3.0, 7.0, 40.0, np.inf])
@pytest.mark.parametrize("doubt", [0.005, 0.05, 0.2, 1.0])
def test_widening_adds_the_bounds_of_99_percent_in_quadrature(dof: float, doubt: float) -> None:
    """Which gives the degrees of freedom."""
    wide = Forecast.of(np.array([1.0]), 0.1, dof).widened(doubt)
    known = stats.norm if np.isinf(dof) else stats.t(dof)
    bound = np.hypot(known.ppf(0.995) * 0.1, stats.norm.ppf(0.995) * doubt)
    assert np.log(wide.interval(0.99)[1][0]) == pytest.approx(bound, rel=1e-4)
    assert wide.dof[0] >= 0.999 * min(dof, 1e6)


@given(dofs, scales, st.floats(0.001, 2.0), st.floats(1.01, 2.0))
def test_more_doubt_never_makes_an_interval_narrower(
    dof: float, scale: float, doubt: float, factor: float
) -> None:
    """Nor a deadline later than the prediction more probable."""
    sure = Forecast.of(np.array([1.0]), scale, dof)
    less, least = sure.widened(doubt), sure.widened(factor * doubt)
    for p in (0.6, 0.8, 0.9, 0.95, 0.975, 0.99, 0.995):
        bounds = [float(np.log(one.quantile(p))[0]) for one in (sure, less, least)]
        assert bounds[0] <= bounds[1] * 1.0005
        assert bounds[1] <= bounds[2] * 1.0005


def test_doubt_of_nothing_changes_nothing_and_much_of_it_is_normal() -> None:
    sure = Forecast.of(
        np.array([1.0, 1.0, 1.0]), np.array([0.1, 0.1, np.nan]), np.array([3, np.inf, 3.0])
    )
    same = sure.widened(0.0)
    assert same.dof.tolist() == [3.0, np.inf, 3.0]
    assert same.quantile(0.9)[:2] == pytest.approx(sure.quantile(0.9)[:2])
    assert sure.widened(10.0).quantile(0.95)[0] == pytest.approx(
        np.exp(10.0 * stats.norm.ppf(0.95)), rel=0.02
    )
    assert np.isnan(same.quantile(0.9)[2])
    assert sure.widened(0.1).dof[2] == np.inf, "of a scale that is not known"


@given(seconds, scales, scales, dofs, st.floats(0.02, 0.99))
def test_two_scales_are_a_law_for_either_side(
    t: float, above: float, below: float, dof: float, p: float
) -> None:
    """Each side is the half of the law that has its scale."""
    forecast = Forecast.of(np.array([t]), above, dof, scale_below=np.array([below]))
    one = Forecast.of(np.array([t]), above if p >= 0.5 else below, dof)
    assert forecast.quantile(p).tolist() == one.quantile(p).tolist()
    deadline = float(forecast.quantile(p)[0])
    if 0 < deadline < np.inf:
        assert forecast.p_within(deadline)[0] == pytest.approx(p, abs=1e-6)
    low, high = forecast.interval(0.9)
    assert low[0] <= t <= high[0]


@given(dofs, scales, scales, st.floats(0.001, 2.0), st.floats(1.01, 2.0))
def test_more_doubt_makes_neither_side_narrower(
    dof: float, above: float, below: float, doubt: float, factor: float
) -> None:
    sure = Forecast.of(np.array([1.0]), above, dof, scale_below=np.array([below]))
    less, least = sure.widened(doubt), sure.widened(factor * doubt)
    for p in (0.005, 0.025, 0.1, 0.4, 0.6, 0.9, 0.975, 0.995):
        bounds = [abs(float(np.log(one.quantile(p))[0])) for one in (sure, less, least)]
        assert bounds[0] <= bounds[1] * 1.0005
        assert bounds[1] <= bounds[2] * 1.0005
    for p in (0.005, 0.995):
        scale = float(sure.scale_at(p)[0])
        bound = np.hypot(student_quantile(p, sure.dof) * scale, stats.norm.ppf(p) * doubt)
        assert abs(np.log(less.quantile(p))) == pytest.approx(bound, rel=2e-3)


def test_one_scale_stays_one_and_two_stay_two() -> None:
    one = Forecast.of(np.array([1.0, 2.0, 3.0]), 0.1, 5.0)
    two = Forecast.of(np.array([4.0]), 0.4, 7.0, scale_below=np.array([0.2]))
    for same in (one.widened(0.3), one.take([2, 0]), one.with_replaced([1], one.take([0]))):
        assert same.symmetric
        assert same.rms_scale is same.log_scale
    mixed = one.with_replaced([1], two)
    assert mixed.log_scale.tolist() == [0.1, 0.4, 0.1]
    assert mixed.scale_below.tolist() == [0.1, 0.2, 0.1]
    assert mixed.take([1]).interval(0.9) == two.interval(0.9)
    assert two.rms_scale == pytest.approx(np.sqrt(0.5 * (0.4**2 + 0.2**2)))
    exact = Forecast.of(np.array([10.0]), 0.2, 5.0, scale_below=np.array([0.0]))
    assert (exact.p_within(9.9)[0], exact.p_within(10.0)[0]) == (0.0, 0.5)
    assert exact.widened(0.0).scale_below[0] == 0.0


def test_a_time_that_is_no_time_has_a_chance_without_a_warning() -> None:
    """A model may answer so of a type, which is then rejected."""
    forecast = Forecast.of(np.array([0.0, np.inf, -1.0, 2.0]), 0.1, 5.0)
    with warnings.catch_warnings(action="error"):
        chances = forecast.p_within(2.0)
    assert chances.tolist()[:2] == [1.0, 0.0]
    assert np.isnan(chances[2])
    assert chances[3] == 0.5
