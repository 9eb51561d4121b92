"""Whole runs from a design: against every subset, at the edge of a budget, and in words."""

from itertools import combinations

import numpy as np
import pytest

from engine.errors import BadInput, BudgetTooSmall
from engine.experiments.design import a_optimal, criterion
from engine.experiments.rounding import cheapest_first, cheapest_identifying, efficiency, whole_runs
from engine.forecast import FloatArray


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
                whole_runs(features, costs, budget, weights=found.weights, known=known)
            assert error.value.least == pytest.approx(max(cheapest, costs.min()))
            refused += 1
            continue
        chosen = whole_runs(features, costs, budget, weights=found.weights, known=known)
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
    assert list(whole_runs(features, costs, 0.3, weights=np.ones(2))) == [0, 1]
    assert list(whole_runs(np.ones((2, 1)), costs, 0.1, weights=np.ones(2))) == [0]
    assert list(cheapest_first(costs, 0.3)) == [0, 1]
    assert list(cheapest_first(costs, 0.29)) == [0]


def test_the_weightiest_runs_alone_need_not_tell_the_coefficients_apart() -> None:
    """Two runs that say the same fill the budget: the cheapest that identify it are begun with."""
    features = np.asarray([[3.0, 0.0], [3.0, 0.0], [0.1, 0.0], [0.0, 0.1]])
    costs, weights = np.asarray([2.0, 2.0, 0.5, 0.6]), np.asarray([1.0, 0.9, 0.0, 0.0])
    assert list(whole_runs(features, costs, 2.6, weights=weights)) == [0, 3]


def test_runs_that_were_made_count_whatever_their_scale() -> None:
    """They tell the first two of three coefficients, the first in numbers a million times as large:
    one run more is enough, and the cheapest that tells the third is it."""
    known = np.asarray([[1e6, 1.0, 0.0], [2e6, -1.0, 0.0]])
    features = np.asarray([[1e6, 0.0, 0.0], [0.0, 1.0, 0.0], [1e6, 1.0, 1.0], [0.0, 0.0, 1.0]])
    costs = np.asarray([1.0, 2.0, 3.0, 4.0])
    assert cheapest_identifying(features, costs, known=known) == np.asarray([2])
    with pytest.raises(BudgetTooSmall, match=r"cheapest 1 that do cost 3$|cost 3;"):
        whole_runs(features, costs, 2.5, weights=np.zeros(4), known=known)
    assert 2 in whole_runs(features, costs, 3.0, weights=np.zeros(4), known=known)


def test_what_a_budget_leaves_buys_the_cheapest_of_many_candidates() -> None:
    random = np.random.default_rng(1)
    dear, cheap = random.normal(size=(200, 2)), 1e-3 * random.normal(size=(20, 2))
    features = np.concatenate((dear, cheap))
    costs = np.concatenate((np.full(200, 1.0), np.full(20, 0.01)))
    found = a_optimal(features, costs, 4.5)
    chosen = whole_runs(features, costs, 4.5, weights=found.weights)
    assert costs[chosen].sum() > 4.1


@pytest.mark.parametrize(
    ("unit", "said"),
    [("usd", r"\$2\.50"), ("seconds", r"2\.50 s"), ("runs", "2.5 runs"), (None, "2.5 ")],
)
def test_a_budget_is_refused_in_its_own_unit(unit: str | None, said: str) -> None:
    with pytest.raises(BudgetTooSmall, match=f"budget of {said}"):
        whole_runs(np.eye(2), np.full(2, 2.0), 2.5, weights=np.ones(2), unit=unit)
