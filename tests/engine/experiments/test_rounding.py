"""Whole runs from a design: against every subset, at the edge of a budget, and in words."""

from itertools import combinations

import numpy as np
import pytest

from engine.errors import BadInput, BudgetTooSmall
from engine.experiments.design import a_optimal, criterion
from engine.experiments.designed_runs import designed
from engine.experiments.plans import Grid
from engine.experiments.rounding import (
    RunSelection,
    cheapest_first,
    cheapest_identifying,
    efficiency,
)
from engine.forecast import FloatArray
from engine.models.curves.terms import ERNEST_TERMS


def best_of_all(
    features: FloatArray, costs: FloatArray, budget: float, known: FloatArray
) -> tuple[float, float]:
    """The least criterion of all sets of runs within a budget, and the cost of the cheapest set
    that tells the coefficients apart, by trying all of them."""
    n, p = features.shape
    best = cheapest = np.inf
    for size in range(n + 1):
        for subset in combinations(range(n), size):
            cost, rows = float(costs[list(subset)].sum()), features[list(subset)]
            information = known.T @ known + rows.T @ rows
            if np.linalg.matrix_rank(information) == p:
                cheapest = min(cheapest, cost)
                if cost <= budget * (1.0 + 1e-9):
                    best = min(best, float(np.trace(np.linalg.inv(information))))
    return best, cheapest


def problem(seed: int) -> tuple[FloatArray, FloatArray, float, FloatArray]:
    """Few experiments, each third time of few distinct features; half of them after earlier runs,
    which leave a coefficient untold."""
    random = np.random.default_rng(seed)
    p = 2 + seed % 2
    features = random.normal(size=(8, p))
    if seed % 3 == 0:
        features = random.integers(0, 3, (8, p)).astype(float)
    known = random.normal(size=(p - 1 if seed % 4 < 2 else 0, p))
    costs = random.uniform(0.5, 3.0, 8)
    return features, costs, float(costs.sum() * random.uniform(0.2, 0.9)), known


def test_few_experiments_give_the_best_set_of_all_or_name_the_cheapest_that_would_do() -> None:
    """An exchange that no single run improves may miss it, seldom and by little."""
    ratios, refused = [], 0
    for seed in range(60):
        features, costs, budget, known = problem(seed)
        best, cheapest = best_of_all(features, costs, budget, known)
        try:
            found = a_optimal(features, costs, budget, known=known)
        except BadInput:
            assert cheapest == np.inf
            continue
        if best == np.inf:
            with pytest.raises(BudgetTooSmall) as error:
                RunSelection(features, costs, budget, known).rounded(found.weights)
            assert error.value.least == pytest.approx(max(cheapest, costs.min()))
            refused += 1
            continue
        chosen = RunSelection(features, costs, budget, known).rounded(found.weights)
        assert costs[chosen].sum() <= budget * (1.0 + 1e-8)
        ratios.append(criterion(features[chosen], known) / best)
        reached = efficiency(features, chosen, found.bound, known=known)
        assert reached == pytest.approx(found.bound / (best * ratios[-1]))
    assert refused >= 2
    assert np.mean(np.asarray(ratios) < 1.0 + 1e-9) >= 0.95
    assert max(ratios) < 1.3


def test_runs_that_cost_the_budget_to_the_last_digit_are_within_it() -> None:
    """0.1 + 0.2 is more than 0.3 in floating point."""
    features, costs = np.eye(2), np.asarray([0.1, 0.2])
    assert list(RunSelection(features, costs, 0.3).rounded(np.ones(2))) == [0, 1]
    assert list(RunSelection(np.ones((2, 1)), costs, 0.1).rounded(np.ones(2))) == [0]
    assert list(cheapest_first(costs, 0.3)) == [0, 1]
    assert list(cheapest_first(costs, 0.29)) == [0]


def test_the_weightiest_runs_alone_need_not_tell_the_coefficients_apart() -> None:
    """Two runs that say the same fill the budget: the cheapest that identify it are begun with."""
    features = np.asarray([[3.0, 0.0], [3.0, 0.0], [0.1, 0.0], [0.0, 0.1]])
    costs, weights = np.asarray([2.0, 2.0, 0.5, 0.6]), np.asarray([1.0, 0.9, 0.0, 0.0])
    assert list(RunSelection(features, costs, 2.6).rounded(weights)) == [0, 3]


def test_runs_that_were_made_count_whatever_their_scale() -> None:
    """They tell the first two of three coefficients, the first in numbers a million times as large:
    one run more is enough, and the cheapest that tells the third is it."""
    known = np.asarray([[1e6, 1.0, 0.0], [2e6, -1.0, 0.0]])
    features = np.asarray([[1e6, 0.0, 0.0], [0.0, 1.0, 0.0], [1e6, 1.0, 1.0], [0.0, 0.0, 1.0]])
    costs = np.asarray([1.0, 2.0, 3.0, 4.0])
    assert cheapest_identifying(features, costs, known=known) == np.asarray([2])
    with pytest.raises(BudgetTooSmall, match=r"cheapest 1 that do cost 3$|cost 3;"):
        RunSelection(features, costs, 2.5, known).rounded(np.zeros(4))
    assert 2 in RunSelection(features, costs, 3.0, known).rounded(np.zeros(4))


def test_what_a_budget_leaves_buys_the_cheapest_of_many_candidates() -> None:
    random = np.random.default_rng(1)
    dear, cheap = random.normal(size=(200, 2)), 1e-3 * random.normal(size=(20, 2))
    features = np.concatenate((dear, cheap))
    costs = np.concatenate((np.full(200, 1.0), np.full(20, 0.01)))
    found = a_optimal(features, costs, 4.5)
    chosen = RunSelection(features, costs, 4.5).rounded(found.weights)
    assert costs[chosen].sum() > 4.1


@pytest.mark.parametrize(
    ("unit", "said"),
    [("usd", r"\$2\.50"), ("seconds", r"2\.50 s"), ("runs", "2.5 runs"), (None, "2.5 ")],
)
def test_a_budget_is_refused_in_its_own_unit(unit: str | None, said: str) -> None:
    with pytest.raises(BudgetTooSmall, match=f"budget of {said}"):
        RunSelection(np.eye(2), np.full(2, 2.0), 2.5).rounded(np.ones(2), unit=unit)


def best_for_two(plan_features: FloatArray, costs: FloatArray, budgets: list[float]) -> list[float]:
    """The least criterion within each budget of two types of as many candidates each, by trying
    every set of runs of either: they share nothing but the budget."""
    m, half = len(costs) // 2, plan_features.shape[1] // 2
    members = ((np.arange(1 << m)[:, None] >> np.arange(m)) & 1).astype(float)
    members = members[members.sum(axis=1) >= half]
    found: list[tuple[FloatArray, FloatArray]] = []
    for k in (0, 1):
        rows, own = plan_features[k * m :][:m, k * half :][:, :half], costs[k * m :][:m]
        information = np.einsum("sm,mi,mj->sij", members, rows, rows)
        told = np.linalg.cond(information) < 1e13
        traces = np.full(len(members), np.inf)
        traces[told] = np.trace(np.linalg.inv(information[told]), axis1=1, axis2=2)
        order = np.argsort(members @ own)
        found.append(((members @ own)[order], np.minimum.accumulate(traces[order])))
    (first, one), (second, other) = found
    least = []
    for budget in budgets:
        left = np.searchsorted(second, budget - first, side="right") - 1
        least.append(float((one + other[left])[left >= 0].min()))
    return least


@pytest.mark.parametrize(
    ("nodes", "fractions", "price", "budgets"),
    [
        ((1, 2, 3, 16), (0.01, 0.1, 0.2), (0.5005, 2.775), (27.0, 28.457, 35.0)),
        ((1, 2, 4, 12), (0.01, 0.02, 0.1), (2.114, 2.353), (40.0, 48.749, 60.0)),
        ((1, 2, 4, 12), (0.02, 0.1, 0.5), (2.221, 2.579), (40.0, 57.837, 70.0)),
    ],
)
def test_two_types_within_one_budget_are_near_the_best_subset_and_more_money_is_never_worse(
    nodes: tuple[int, ...],
    fractions: tuple[float, ...],
    price: tuple[float, float],
    budgets: tuple[float, ...],
) -> None:
    """28.5 on the first grid bought runs 14 times worse than less money did."""
    grid = Grid.of(nodes=nodes, fractions=fractions, instances=("a", "b"))

    def costs(grid: Grid) -> FloatArray:
        of_type = np.asarray(price)[grid.type_index]
        shared = grid.fraction / fractions[0] / grid.machines
        return np.asarray(of_type * (0.2 * grid.machines + shared + 0.1))

    raw = grid.features(ERNEST_TERMS, grid.machines, grid.fraction, grid.type_index)
    best = best_for_two(raw / raw.mean(axis=0), costs(grid), list(budgets))
    found = [designed(grid, budget=b, costs=costs) for b in budgets]
    reached = [plan.criterion for plan in found]
    assert None not in reached
    for value, least in zip(reached, best, strict=True):
        assert least * (1.0 - 1e-6) <= (value or 0.0) <= 1.02 * least
    assert sorted(reached, reverse=True) == reached
