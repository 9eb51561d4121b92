"""The experiment design: published optima, brute force, properties, and its use for a fit."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.errors import BadInput
from engine.experiments.design import a_optimal, criterion, lower_bound, undetermined
from engine.experiments.rounding import (
    RunSelection,
    cheapest_first,
    cheapest_identifying,
    efficiency,
)
from engine.forecast import FloatArray
from engine.models.curves.terms import ERNEST_TERMS, EXTRA_TERMS, columns

# Ernest's reference: parts_min, parts_max, total_parts, machines, cores per machine, scale steps,
# candidates, optimum (budget 10).
PUBLISHED = (
    (32, 64, 512, 10, 2, 5, 50, 7.98605),
    (64, 128, 1024, 25, 2, 20, 500, 3.60137),
    (128, 256, 2048, 50, 2, 100, 5000, 1.82933),
)
WITHIN = 2e-5
"""The solver stops within 1e-5; six digits are printed."""


def grid(
    parts_min: int, parts_max: int, parts: int, machines: int, cores: int, steps: int
) -> tuple[FloatArray, FloatArray]:
    """(n,) machines and (n,) scales of the published grids."""
    scales = np.linspace(parts_min / parts, parts_max / parts, steps)
    scale, m = np.meshgrid(scales, np.arange(1.0, machines + 1.0), indexing="ij")
    kept = np.round(scale.ravel() * parts) >= cores * m.ravel()
    return m.ravel()[kept], scale.ravel()[kept]


def over_their_means(features: FloatArray) -> FloatArray:
    """(n, p) columns as Ernest's reference scales them."""
    return np.asarray(features / features.mean(axis=0))


def problem(*published: int) -> tuple[FloatArray, FloatArray]:
    m, scale = grid(*published)
    return over_their_means(columns(ERNEST_TERMS, m, scale)), scale / scale.min() / m


@pytest.mark.parametrize("published", PUBLISHED)
def test_the_published_optima_are_reached(published: tuple[int, ...]) -> None:
    features, costs = problem(*published[:6])
    assert len(costs) == published[6]
    found = a_optimal(features, costs, 10.0)
    assert found.objective == pytest.approx(published[7], rel=WITHIN)
    assert 0.0 <= found.gap <= 1e-5
    assert costs @ found.weights <= 10.0
    assert ((found.weights >= 0.0) & (found.weights <= 1.0)).all()


@pytest.mark.parametrize("published", PUBLISHED[:2])
def test_whole_runs_come_near_what_any_design_can_reach_and_beat_the_cheapest(
    published: tuple[int, ...],
) -> None:
    features, costs = problem(*published[:6])
    found = a_optimal(features, costs, 10.0)
    chosen = RunSelection(features, costs, 10.0).rounded(found.weights)
    greedy = cheapest_first(costs, 10.0)
    assert costs[chosen].sum() <= 10.0 + 1e-9
    assert costs[greedy].sum() <= 10.0 + 1e-9
    assert 0.98 < efficiency(features, chosen, found.bound) <= 1.0
    assert criterion(features[greedy]) > 2.0 * criterion(features[chosen])


def small_problem(seed: int, n: int = 9, p: int = 2) -> tuple[FloatArray, FloatArray, float]:
    rng = np.random.default_rng(seed)
    costs = rng.uniform(0.5, 2.0, n)
    return rng.normal(size=(n, p)), costs, float(costs.sum() * rng.uniform(0.35, 0.8))


def best_subset(features: FloatArray, costs: FloatArray, budget: float) -> float:
    n = len(costs)
    return min(
        criterion(features[list(subset)])
        for size in range(features.shape[1], n + 1)
        for subset in combinations(range(n), size)
        if costs[list(subset)].sum() <= budget
    )


def test_whole_runs_are_near_the_best_subset_found_by_trying_all() -> None:
    ratios = []
    for seed in range(12):
        features, costs, budget = small_problem(seed)
        found = a_optimal(features, costs, budget)
        chosen = RunSelection(features, costs, budget).rounded(found.weights)
        best = best_subset(features, costs, budget)
        assert found.bound <= best * (1.0 + 1e-9)
        assert costs[chosen].sum() <= budget * (1.0 + 1e-9)
        ratios.append(criterion(features[chosen]) / best)
    assert max(ratios) < 1.15
    assert np.median(ratios) == pytest.approx(1.0)


def test_the_optimum_agrees_with_an_independent_solver() -> None:
    from scipy.optimize import minimize

    for seed in range(3):
        features, costs, budget = small_problem(seed, n=6, p=3)
        found = a_optimal(features, costs, budget)
        other = minimize(
            lambda w, a=features: float(np.trace(np.linalg.inv((a * w[:, None]).T @ a))),
            np.full(6, min(0.5, 0.5 * budget / costs.sum())),
            bounds=[(1e-9, 1.0)] * 6,
            constraints={"type": "ineq", "fun": lambda w, c=costs, b=budget: b - c @ w},
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        assert found.objective == pytest.approx(other.fun, rel=1e-4)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.05, 0.95), st.integers(1, 4))
def test_the_bound_is_below_every_feasible_point(seed: int, share: float, p: int) -> None:
    rng = np.random.default_rng(seed)
    features, costs = rng.uniform(0.1, 2.0, (12, p)), rng.uniform(0.1, 3.0, 12)
    budget = share * float(costs.sum())
    found = a_optimal(features, costs, budget)
    weights = rng.uniform(0.0, 1.0, 12)
    weights *= min(1.0, budget / float(costs @ weights))
    other = float(np.trace(np.linalg.inv((features * weights[:, None]).T @ features)))
    assert found.bound <= found.objective
    assert found.gap <= 1e-4
    assert found.bound <= other * (1.0 + 1e-9)


def test_the_lower_bound_takes_what_saves_most_per_cost() -> None:
    gradient, costs = np.array([-4.0, -3.0, -1.0]), np.array([2.0, 1.0, 1.0])
    # 3 a unit, then 2 a unit: the second whole, half of the first.
    bound = lower_bound(10.0, gradient, np.zeros(3), costs, 2.0)
    assert bound == pytest.approx(10.0 - 3.0 - 2.0)


def test_a_budget_for_everything_takes_everything() -> None:
    features, costs, _ = small_problem(1)
    found = a_optimal(features, costs, float(costs.sum()))
    assert (found.weights == 1.0).all()
    assert found.objective == pytest.approx(criterion(features))


def test_any_cost_function_changes_the_design() -> None:
    m, scale = grid(*PUBLISHED[0][:6])
    features = over_their_means(columns(ERNEST_TERMS, m, scale))
    by_time = a_optimal(features, scale / scale.min() / m, 10.0)
    by_machine = a_optimal(features, scale / scale.min() * m, 10.0)
    assert m @ by_machine.weights / by_machine.weights.sum() < m @ by_time.weights / (
        by_time.weights.sum()
    )


def test_earlier_runs_are_not_paid_for_again() -> None:
    features, costs = problem(*PUBLISHED[0][:6])
    first = a_optimal(features, costs, 5.0)
    known = features[RunSelection(features, costs, 5.0).rounded(first.weights)]
    second = a_optimal(features, costs, 5.0, known=known)
    assert second.objective < first.objective
    assert second.objective >= a_optimal(features, costs, 10.0).bound * 0.5


def test_extended_terms_need_more_runs() -> None:
    m, scale = grid(*PUBLISHED[1][:6])
    features = over_their_means(columns(ERNEST_TERMS + EXTRA_TERMS[:2], m, scale))
    costs = scale / scale.min() / m
    found = a_optimal(features, costs, 10.0)
    chosen = RunSelection(features, costs, 10.0).rounded(found.weights)
    assert len(chosen) >= 6
    assert np.isfinite(criterion(features[chosen]))


def test_designed_runs_recover_coefficients_better_than_the_cheapest_runs() -> None:
    features, costs = problem(*PUBLISHED[0][:6])
    truth = np.array([5.0, 40.0, 3.0, 2.0])
    found = a_optimal(features, costs, 10.0)
    chosen = RunSelection(features, costs, 10.0).rounded(found.weights)
    greedy = cheapest_first(costs, float(costs[chosen].sum()))
    errors = {"designed": 0.0, "cheapest": 0.0}
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(size=len(costs))
        for name, rows in (("designed", chosen), ("cheapest", greedy)):
            seconds = features[rows] @ truth + noise[rows]
            fitted = np.linalg.lstsq(features[rows], seconds, rcond=None)[0]
            errors[name] += float(np.square(fitted - truth).sum()) / 200
    assert errors["designed"] < 0.6 * errors["cheapest"]
    # The criterion is the expected squared error of the coefficients under unit noise.
    assert errors["designed"] == pytest.approx(criterion(features[chosen]), rel=0.25)


def test_candidates_that_cannot_identify_the_terms_are_refused() -> None:
    m, scale = np.full(5, 4.0), np.linspace(0.1, 1.0, 5)
    features = columns(ERNEST_TERMS, m, scale)
    assert list(undetermined(features)) == [0, 2, 3]
    others = columns(ERNEST_TERMS, np.asarray([1.0, 2.0, 4.0, 8.0, 16.0]), scale)
    assert list(undetermined(others)) == []
    with pytest.raises(BadInput, match="cannot tell all 4 coefficients apart"):
        a_optimal(features, np.ones(5), 3.0)


@pytest.mark.parametrize("cost", [-1.0, float("nan"), float("inf")])
def test_a_cost_that_makes_no_sense_is_refused(cost: float) -> None:
    with pytest.raises(BadInput, match="costs finite and at least 0"):
        a_optimal(np.eye(2), np.asarray([1.0, cost]), 3.0)


@pytest.mark.parametrize("budget", [0.0, -1.0, float("nan"), float("inf")])
def test_a_budget_that_makes_no_sense_is_refused(budget: float) -> None:
    with pytest.raises(BadInput, match="budget"):
        a_optimal(np.eye(2), np.ones(2), budget)


def test_a_budget_below_the_cheapest_run_is_refused() -> None:
    with pytest.raises(BadInput, match="below the cheapest run"):
        RunSelection(np.eye(2), np.array([2.0, 3.0]), 1.0).rounded(np.ones(2))


def test_a_budget_that_identifies_nothing_names_the_cheapest_that_would() -> None:
    costs = np.array([2.0, 3.0, 2.5])
    features = np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]])
    assert list(cheapest_identifying(features, costs)) == [0, 1]
    with pytest.raises(BadInput, match=r"cheapest 2 that do cost 5$|cost 5;"):
        RunSelection(features, costs, 4.0).rounded(np.array([1.0, 0.5, 0.0]))
