"""From design weights to whole runs, and the plain choices that a design is compared with.

Ernest 3.3 runs every experiment whose weight is not zero, which may cost more than the budget. Here
a set of whole runs stays within it: the experiments of the largest weights, then exchanges
(Fedorov) until neither a single run added or replaced lowers tr(M^-1), nor one added in place of
several. Its distance to the continuous
optimum, which no set of whole runs can beat, is known and reported (`efficiency`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.errors import BudgetTooSmall
from engine.experiments.design import RANK_TOLERANCE, criterion
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.units import format_seconds, format_usd

NEGLIGIBLE = 1e-3
"""Weights below this are zero up to the solver's precision."""

_HEAVIEST_CONSIDERED = 160
_CHEAPEST_CONSIDERED = 40
"""How many experiments take part in exchanges: those of the largest weights, and the cheapest,
which use up the rest of a small budget."""

_SMALL_PROBLEM = 1000
"""Largest product of chosen runs and affordable experiments for which the search has several
starting sets: few runs are hard to round, and among many there is always one to exchange."""

_MOST_EXCHANGES = 200
_IMPROVES_BY = 1e-9
_BUDGET_SLACK = 1.0 + 1e-9

_INDEPENDENCE_TOLERANCES = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""Tolerances of linear independence for the starting sets, from clearly independent runs to barely
independent ones: the cheapest runs are alike, and those of consecutive node counts differ only in
the tenth digit."""

_Improvement = tuple[float, list[int]]
"""The criterion and the runs of a set with a lower criterion."""


@dataclass(frozen=True, eq=False)
class RunSelection:
    """Selects whole runs from experiments within a budget. Sets of runs that the weights of several
    designs lead to are improved once.

    Args:
        features: (n, p); costs: (n,); budget: as of `a_optimal`.
        known: (k, p) features of runs that were made already.
    """

    features: FloatArray
    costs: FloatArray
    budget: float
    known: FloatArray | None = None
    _improvements: dict[tuple[object, ...], _Improvement | None] = field(default_factory=dict)

    @property
    def available(self) -> float:
        """The budget, with a margin for floating-point rounding."""
        return self.budget * _BUDGET_SLACK

    def rounded(self, weights: FloatArray, *, unit: str | None = None) -> IntArray:
        """Indices of the experiments to make, ascending: the design weights rounded to whole runs.

        Args:
            weights: (n,) the continuous optimum.
            unit: of costs and budget, for messages.

        Raises:
            BudgetTooSmall: for a budget below the cheapest experiment, or below the cheapest set of
                whole runs that identifies the coefficients.
        """
        if self.available < float(self.costs.min()):
            raise BudgetTooSmall(
                f"the budget of {amount(self.budget, unit)} is below the cheapest run "
                f"({amount(float(self.costs.min()), unit)})",
                least=float(self.costs.min()),
                remedy="raise the budget, or allow smaller runs",
            )
        starts = [by_weight := self.by_weight(weights)]
        affordable = int(np.count_nonzero(self.costs <= self.available))
        is_small = len(by_weight) * affordable <= _SMALL_PROBLEM
        if is_small or _is_singular(self.information(by_weight)).any():
            starts += self.identifying()
        heaviest = np.argsort(-weights, kind="stable")[:_HEAVIEST_CONSIDERED]
        cheapest = np.argsort(self.costs, kind="stable")[:_CHEAPEST_CONSIDERED]
        considered = np.unique(np.concatenate((heaviest, cheapest, *starts)))
        if is_small:
            starts.append(self.backward_elimination(considered))
        best = self.best([self.improved_by_exchanges(start, considered) for start in starts])
        if is_small:
            best = self.best([best, *self.improved_without_each(best, considered)])
        if not np.isfinite(criterion(self.features[best], self.known)):
            raise self.too_small(unit)
        return best

    @cached_property
    def _prior_information(self) -> FloatArray:
        """(p, p) information matrix of the runs that were made already."""
        known = np.zeros((0, self.features.shape[1])) if self.known is None else self.known
        return np.asarray(known.T @ known)

    def information(self, runs: Sequence[int] | IntArray) -> FloatArray:
        """(..., p, p) information matrix M of (..., r) runs and those that were made already."""
        rows = self.features[runs]
        return np.asarray(self._prior_information + np.swapaxes(rows, -1, -2) @ rows)

    def best(self, sets: Sequence[IntArray]) -> IntArray:
        """The set of runs with the least criterion."""
        return min(sets, key=lambda runs: criterion(self.features[runs], self.known))

    def by_weight(self, weights: FloatArray) -> IntArray:
        """Greedy rounding: experiments by descending weight, as far as they fit the budget."""
        remaining, chosen = self.available, []
        for index in np.argsort(-weights, kind="stable"):
            if weights[index] < NEGLIGIBLE:
                break
            if self.costs[index] <= remaining:
                chosen.append(int(index))
                remaining -= self.costs[index]
        return np.asarray(sorted(chosen), dtype=np.int64)

    def backward_elimination(self, considered: IntArray) -> IntArray:
        """Backward elimination: removes the run of least loss per cost until the rest fits the
        budget. Where every remaining run is needed, the cheapest of them that fit."""
        kept = considered
        while float(self.costs[kept].sum()) > self.available:
            (removed,) = self._least_loss_removal(kept[None], np.ones(len(kept), dtype=bool))
            if removed < 0:
                return kept[cheapest_first(self.costs[kept], self.budget)]
            kept = np.delete(kept, removed)
        return kept

    @property
    def _least_tolerance(self) -> float:
        """At which some set identifies all coefficients whenever the candidates as a whole do."""
        return float(RANK_TOLERANCE / self.features.shape[1])

    def _cheapest(self, tolerance: float) -> IntArray | None:
        return cheapest_identifying(
            self.features, self.costs, known=self.known, tolerance=tolerance
        )

    def identifying(self) -> list[IntArray]:
        """The cheapest affordable sets that identify the coefficients, one for each tolerance."""
        affordable: dict[tuple[int, ...], IntArray] = {}
        for tolerance in (*_INDEPENDENCE_TOLERANCES, self._least_tolerance):
            runs = self._cheapest(tolerance)
            if runs is not None and float(self.costs[runs].sum()) <= self.available:
                affordable.setdefault(tuple(runs), runs)
        return list(affordable.values())

    def too_small(self, unit: str | None) -> BudgetTooSmall:
        """The error that no affordable set identifies the coefficients, with the least budget that
        does."""
        p = self.features.shape[1]
        cheapest = self._cheapest(self._least_tolerance)
        least = np.inf if cheapest is None else float(self.costs[cheapest].sum())
        advice = "" if cheapest is None else f": the cheapest {len(cheapest)} that do cost "
        return BudgetTooSmall(
            f"the budget of {amount(self.budget, unit)} buys no runs that tell all {p} "
            "coefficients apart" + (advice and advice + amount(least, unit)),
            least=least,
            remedy="raise the budget, allow smaller runs, or use fewer terms",
        )

    def improved_by_exchanges(self, chosen: IntArray, considered: IntArray) -> IntArray:
        """Fedorov exchange under a budget: the best addition or exchange of one run, and where none
        is left the best addition for which several are removed, until none lowers the criterion."""
        members = list(map(int, chosen))
        best = float(_traces(self.information(chosen))[()])
        for _ in range(_MOST_EXCHANGES):
            candidates = np.setdiff1d(considered, members)
            improvement = self._improvement(members, candidates, best)
            if improvement is None:
                break
            best, members = improvement
        return np.asarray(members, dtype=np.int64)

    def _improvement(
        self, members: list[int], candidates: IntArray, best: float
    ) -> _Improvement | None:
        """The best addition or exchange of one run; None if none lowers the criterion."""
        question = (*members, candidates.tobytes(), best)
        if question not in self._improvements:
            self._improvements[question] = self._best_exchange(
                members, candidates, best
            ) or self._best_addition_for_several(members, candidates, best)
        return self._improvements[question]

    def improved_without_each(self, chosen: IntArray, considered: IntArray) -> list[IntArray]:
        """For each of these runs, the exchange that starts without it and never takes it back: two
        cheaper runs may replace it where no single one does."""
        reduced_sets = (np.setdiff1d(chosen, run) for run in chosen)
        return [
            self.improved_by_exchanges(kept, np.setdiff1d(considered, np.setdiff1d(chosen, kept)))
            for kept in reduced_sets
        ]

    def _best_exchange(
        self, members: list[int], candidates: IntArray, best: float
    ) -> _Improvement | None:
        """The best addition of one run, with or without removing another; None if none lowers the
        criterion."""
        improvement: _Improvement | None = None
        spent = float(self.costs[members].sum())
        for removed in (None, *members):
            kept = [index for index in members if index != removed]
            freed = 0.0 if removed is None else float(self.costs[removed])
            affordable = candidates[self.costs[candidates] <= self.available - spent + freed]
            if not len(affordable):
                continue
            rows = self.features[affordable]
            traces = _traces(self.information(kept) + rows[:, :, None] * rows[:, None, :])
            index = int(np.argmin(traces))
            if traces[index] < best * (1.0 - _IMPROVES_BY) and (
                improvement is None or traces[index] < improvement[0]
            ):
                improvement = float(traces[index]), sorted([*kept, int(affordable[index])])
        return improvement

    def _best_addition_for_several(
        self, members: list[int], candidates: IntArray, best: float
    ) -> _Improvement | None:
        """The best addition of one run for which several others are removed, each time the one of
        least loss per cost; None if none lowers the criterion."""
        improvement: _Improvement | None = None
        best *= 1.0 - _IMPROVES_BY
        # One set for each candidate, which stands first in it: all lose one run at a time.
        repeated = np.broadcast_to(
            np.asarray(members, dtype=np.int64), (len(candidates), len(members))
        )
        sets = np.column_stack((candidates, repeated))
        while len(sets):
            affordable = self.costs[sets].sum(axis=1) <= self.available
            if affordable.any():
                traces = _traces(self.information(sets[affordable]))
                index = int(np.argmin(traces))
                if traces[index] < best:
                    best = float(traces[index])
                    improvement = best, sorted(map(int, sets[affordable][index]))
            sets = sets[~affordable]
            removed = self._least_loss_removal(sets, np.arange(sets.shape[1]) > 0)
            stays = np.arange(sets.shape[1]) != removed[:, None]
            removable = removed >= 0
            shape = (int(np.count_nonzero(removable)), sets.shape[1] - 1)
            sets = sets[removable][stays[removable]].reshape(shape)
        return improvement

    def _least_loss_removal(self, sets: IntArray, removable: BoolArray) -> IntArray:
        """(s,) which run of each set raises tr(M^-1) least per cost when it is removed.

        tr((M - a a^T)^-1) = tr(M^-1) + |M^-1 a|^2 / (1 - a^T M^-1 a).

        Args:
            sets: (s, c) indices of runs; removable: (c,) which of each set may be removed.

        Returns:
            Indices within the sets; -1 where all runs are needed, also where M of the whole set is
            numerically singular.
        """
        rows, costs, information = self.features[sets], self.costs[sets], self.information(sets)
        indices = np.full(len(sets), -1)
        identified = np.flatnonzero(~_is_singular(information))
        rows, costs = rows[identified], costs[identified]
        solved = np.swapaxes(
            np.linalg.solve(information[identified], np.swapaxes(rows, 1, 2)), 1, 2
        )
        leverage_left = 1.0 - np.einsum("scp,scp->sc", rows, solved)
        possible = removable & (leverage_left > _LEAST_LEVERAGE_LEFT) & (costs > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.square(solved).sum(axis=-1) / leverage_left / costs
        best = np.where(possible, rise, np.inf).argmin(axis=-1)
        indices[identified] = np.where(possible.any(axis=-1), best, -1)
        return indices


def amount(value: float, unit: str | None) -> str:
    """A cost as text, in the unit of the budget."""
    if unit == "usd":
        return format_usd(value)
    if unit == "seconds":
        return format_seconds(value)
    return f"{value:.4g}{f' {unit}' if unit else ''}"


def cheapest_identifying(
    features: FloatArray,
    costs: FloatArray,
    *,
    known: FloatArray | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> IntArray | None:
    """The cheapest set of experiments that identifies all coefficients; None where there is none.

    Exact: linearly independent rows form a matroid, so the greedy choice of the cheapest
    independent row is optimal.

    Args:
        tolerance: least norm, relative to the row, of the component of a row that is orthogonal to
            the rows chosen before.
    """
    norms = np.linalg.norm(features, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    scaled, chosen = features / norms, []
    basis = np.zeros((0, features.shape[1]))
    if known is not None:  # an orthonormal basis of the row space
        _, values, right = np.linalg.svd(known / norms, full_matrices=False)
        basis = right[values > RANK_TOLERANCE * max(float(values.max(initial=0.0)), 1e-300)]
    for index in np.argsort(costs, kind="stable"):
        if len(basis) == features.shape[1]:
            break
        residual = scaled[index]
        for _ in range(2):  # twice: the residual of nearly dependent rows is mostly rounding
            residual = residual - basis.T @ (basis @ residual)
        if (length := float(np.linalg.norm(residual))) > tolerance * float(
            np.linalg.norm(scaled[index])
        ):
            basis = np.vstack((basis, residual / length))
            chosen.append(int(index))
    return np.asarray(sorted(chosen), dtype=np.int64) if len(basis) == features.shape[1] else None


def cheapest_first(costs: FloatArray, budget: float) -> IntArray:
    """Ernest's baseline (6.5): the cheapest experiments, until the next exceeds the budget."""
    order = np.argsort(costs, kind="stable")
    count = int(np.searchsorted(np.cumsum(costs[order]), budget * _BUDGET_SLACK, side="right"))
    return np.sort(order[:count]).astype(np.int64)


_LEAST_LEVERAGE_LEFT = 1e-9


def _traces(information: FloatArray) -> FloatArray:
    """tr(M^-1) of (..., p, p) matrices from their eigenvalues, floored at `_SINGULAR_RATIO` of the
    largest: huge for singular matrices, and the more so the lower their rank."""
    values = np.linalg.eigvalsh(information)
    least = _SINGULAR_RATIO * values[..., -1:]
    with np.errstate(divide="ignore"):
        return np.asarray((1.0 / np.maximum(values, least)).sum(axis=-1))


def _is_singular(information: FloatArray) -> BoolArray:
    """(...) of (..., p, p) matrices."""
    values = np.linalg.eigvalsh(information)
    return np.asarray(values[..., 0] <= _SINGULAR_RATIO * values[..., -1])


_SINGULAR_RATIO = 1e-13


def efficiency(
    features: FloatArray, chosen: IntArray, bound: float, *, known: FloatArray | None = None
) -> float:
    """How near whole runs come to what any design within the budget can reach: bound / criterion,
    in [0, 1]; 0 where they do not identify the coefficients."""
    return bound / criterion(features[chosen], known)
