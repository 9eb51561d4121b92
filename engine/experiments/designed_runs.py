"""Ernest's experiment design (3.3) as whole runs within a budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from engine.errors import BadInput
from engine.experiments.design import a_optimal, covariance, criterion, rank, undetermined
from engine.experiments.plans import (
    Estimates,
    ExperimentPlan,
    Grid,
    KnownRuns,
    experiment_at,
    grouped_by_cluster,
    smallest_runs,
    unknown_estimates,
)
from engine.experiments.rounding import RunSelection, cheapest_first, efficiency
from engine.forecast import FloatArray, IntArray
from engine.models.curves.terms import ERNEST_TERMS, Term
from engine.units import format_count, format_share


def designed(
    grid: Grid,
    *,
    budget: float,
    unit: str = "smallest runs",
    costs: Callable[[Grid], FloatArray] = smallest_runs,
    estimates: Estimates | None = None,
    terms: Sequence[Term] = ERNEST_TERMS,
    known: KnownRuns | None = None,
) -> ExperimentPlan:
    """Ernest's A-optimal design within a budget, as whole runs.

    Args:
        costs: the cost function: (n,) cost of each experiment of a grid, in the budget's unit.
        estimates: expected times and prices to show beside each run; None if unknown.

    Raises:
        BadInput: for candidates that do not identify the terms, and for a budget below the
            cheapest run or the cheapest runs that can.
    """
    features, earlier = _scaled_features(grid, terms, known)
    prices = costs(grid)
    _check_identified(features, earlier, grid, terms)
    chosen, bound = _integer_design(features, prices, budget, earlier, unit)
    greedy = cheapest_first(prices, float(prices[chosen].sum()))
    greedy_criterion = criterion(features[greedy], earlier)
    parts = _coefficient_names(grid, [f"{term.phase} time" for term in terms])
    lessons = _lessons(features[chosen], earlier, parts)
    shown_estimates = estimates or unknown_estimates(grid)
    runs = [
        experiment_at(grid, int(index), shown_estimates, float(prices[index]), lesson)
        for index, lesson in zip(chosen, lessons, strict=True)
    ]
    return ExperimentPlan(
        method="ernest",
        runs=grouped_by_cluster(runs),
        unit=unit,
        budget=budget,
        terms=tuple(term.name for term in terms),
        candidates=len(grid),
        criterion=criterion(features[chosen], earlier),
        optimum=bound,
        greedy_criterion=greedy_criterion if math.isfinite(greedy_criterion) else None,
        greedy_runs=len(greedy),
        efficiency=efficiency(features, chosen, bound, known=earlier),
        known_runs=0 if known is None else len(known.machines),
        notices=shown_estimates.notices,
    )


def _scaled_features(
    grid: Grid, terms: Sequence[Term], known: KnownRuns | None
) -> tuple[FloatArray, FloatArray | None]:
    """(n, p k) terms of each experiment, scaled to a mean of 1, and (m, p k) those of the known
    runs on the same scale; None without any."""
    raw = grid.features(terms, grid.machines, grid.fraction, grid.type_index)
    scale = np.where((means := raw.mean(axis=0)) > 0.0, means, 1.0)
    if known is None or not len(known.machines):
        return raw / scale, None
    earlier = grid.features(terms, known.machines, known.fraction, known.type_index)
    return raw / scale, earlier / scale


LARGEST_SHARES = (0.6, 0.3, 0.15)
"""The largest share of the budget for a single run, in the designs that are compared."""

NEAR_ENOUGH = 0.95
"""If the first rounding is this efficient, no other design is tried."""


def _integer_design(
    features: FloatArray, prices: FloatArray, budget: float, known: FloatArray | None, unit: str
) -> tuple[IntArray, float]:
    """The runs to make, and a lower bound on the criterion of any whole runs within the budget.

    A continuous design may rest on half of a run that costs the whole budget, which rounds badly.
    Designs without the most expensive runs are therefore rounded too, and the best one is taken.
    """
    affordable = np.flatnonzero(prices <= budget)
    weights, bound = _continuous_design(features, prices, budget, known, affordable)
    selection = RunSelection(features, prices, budget, known)
    roundings = [selection.rounded(weights, unit=unit)]
    for share in LARGEST_SHARES:
        if efficiency(features, roundings[0], bound, known=known) >= NEAR_ENOUGH:
            break
        subset = np.flatnonzero(prices <= share * budget)
        if len(subset) == len(affordable):
            continue
        weights, _ = _continuous_design(features, prices, budget, known, subset)
        if not weights.any():
            break
        roundings.append(selection.rounded(weights))
    return min(roundings, key=lambda chosen: criterion(features[chosen], known)), bound


def _continuous_design(
    features: FloatArray,
    prices: FloatArray,
    budget: float,
    known: FloatArray | None,
    subset: IntArray,
) -> tuple[FloatArray, float]:
    """(n,) weights of the continuous design over a subset of experiments, and its lower bound; all
    weights are 0 if the subset does not identify the terms."""
    weights, rows = np.zeros(len(prices)), features[subset]
    all_rows = rows if known is None else np.concatenate((known, rows))
    if rank(all_rows) < features.shape[1]:
        return weights, 0.0
    optimum = a_optimal(rows, prices[subset], budget, known=known)
    weights[subset] = optimum.weights
    return weights, optimum.bound


def _coefficient_names(grid: Grid, names: Sequence[str]) -> list[str]:
    """(p k,) names of p coefficients for each of k types, with the type if there are several."""
    several = len(grid.instances) > 1
    return [
        f"{name} ({instance})" if several else name for instance in grid.instances for name in names
    ]


def _check_identified(
    features: FloatArray, known: FloatArray | None, grid: Grid, terms: Sequence[Term]
) -> None:
    all_rows = features if known is None else np.concatenate((known, features))
    unknown = undetermined(all_rows)
    if not len(unknown):
        return
    names = _coefficient_names(grid, [term.name for term in terms])
    counts, sizes = len(np.unique(grid.machines)), len(np.unique(grid.fraction))
    left_out = f"; {grid.left_out} experiments with fewer partitions than cores are left out"
    raise BadInput(
        f"{format_count(counts, 'node count')} and {format_count(sizes, 'fraction')} "
        f"cannot tell these terms apart: " + ", ".join(names[column] for column in unknown),
        remedy="add node counts or fractions (--nodes, --fractions)"
        + (left_out if grid.left_out else ""),
    )


def _lessons(rows: FloatArray, known: FloatArray | None, names: Sequence[str]) -> list[str]:
    """What each run teaches: the coefficient whose variance rises most without it."""
    inverse = covariance(rows if known is None else np.concatenate((known, rows)))
    variance, lessons = np.diag(inverse), []
    for row in rows:
        direction, leverage_left = inverse @ row, 1.0 - float(row @ inverse @ row)
        if leverage_left < 1e-9:
            index = int(np.argmax(np.square(direction) / variance))
            lessons.append(f"{names[index]}: no other run does")
            continue
        rises = np.square(direction) / leverage_left / variance
        index = int(np.argmax(rises))
        rise = rises[index]
        higher = (
            f"{format_share(rise)} higher" if rise < 10.0 else f"{rise + 1.0:.0f} times as high"
        )
        lessons.append(f"{names[index]}: variance {higher} without it")
    return lessons
