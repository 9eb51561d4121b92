"""From design weights to whole runs, and the plain choices that a design is compared with.

Ernest 3.3 runs every experiment whose weight is not zero, which may cost more than the budget. Here
a set of whole runs stays within it: the experiments of the largest weights, then exchanges
(Fedorov) until no single run added or replaced lowers tr(M^-1). Its distance to the continuous
optimum, which no set of whole runs can beat, is known and reported.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.errors import BudgetTooSmall
from engine.experiments.design import RANK_TOLERANCE, criterion
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.units import format_seconds, format_usd

NEGLIGIBLE = 1e-3
"""Weights below this are zero up to the solver's precision."""

_CONSIDERED = 160
_CHEAPEST_CONSIDERED = 40
"""Experiments that take part in exchanges: those of the largest weights, and the cheapest, which
fill what a small budget leaves."""

_SMALL = 1000
"""Runs times experiments within the budget, up to which a search begins in several ways: few runs
are hard to round, and of many there is always one to exchange."""

_MOST_EXCHANGES = 200
_IMPROVES_BY = 1e-9
_ROOM = 1.0 + 1e-9


def whole_runs(
    features: FloatArray,
    costs: FloatArray,
    budget: float,
    *,
    weights: FloatArray,
    known: FloatArray | None = None,
    unit: str | None = None,
) -> IntArray:
    """The experiments to make, each once, in ascending order of their place.

    Args:
        features: (n, p); costs: (n,); budget: as of `a_optimal`.
        weights: (n,) the continuous optimum.
        known: (k, p) features of runs that were made already.
        unit: of costs and budget, for messages.

    Raises:
        BudgetTooSmall: for a budget below the cheapest experiment, or below the cheapest set of
            whole runs that identifies the coefficients.
    """
    offered = _Offered(features, costs, budget, known)
    if offered.room < float(costs.min()):
        raise BudgetTooSmall(
            f"the budget of {amount(budget, unit)} is below the cheapest run "
            f"({amount(float(costs.min()), unit)})",
            least=float(costs.min()),
            remedy="raise the budget, or allow smaller runs",
        )
    starts = [chosen := offered.by_weight(weights)]
    is_small = len(chosen) * int(np.count_nonzero(costs <= offered.room)) <= _SMALL
    if is_small or _is_singular(offered.information(chosen)).any():
        starts += offered.identifying()
    heaviest = np.argsort(-weights, kind="stable")[:_CONSIDERED]
    cheapest = np.argsort(costs, kind="stable")[:_CHEAPEST_CONSIDERED]
    considered = np.unique(np.concatenate((heaviest, cheapest, *starts)))
    if is_small:
        starts.append(offered.left_over(considered))
    found = [offered.exchanged(start, considered) for start in starts]
    best = offered.best(found)
    if is_small:
        best = offered.best([best, *offered.without_each(best, considered)])
    if not np.isfinite(criterion(features[best], known)):
        raise offered.too_small(unit)
    return best


_APART = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""How far apart runs are that a search begins with, from the clearest to what can just be told: the
cheapest runs are alike, and those of consecutive node counts differ in the tenth digit alone."""

_JUST = RANK_TOLERANCE
"""As far as the candidates as a whole are told apart, of each coefficient: then some set is."""


@dataclass(frozen=True, eq=False)
class _Offered:
    """Experiments of which whole runs within a budget are chosen; arguments as of `whole_runs`."""

    features: FloatArray
    costs: FloatArray
    budget: float
    known: FloatArray | None

    @property
    def room(self) -> float:
        """The budget, and what rounding takes of it."""
        return self.budget * _ROOM

    @cached_property
    def _prior(self) -> FloatArray:
        """(p, p) what the runs that were made already tell."""
        nothing = np.zeros((0, self.features.shape[1])) if self.known is None else self.known
        return np.asarray(nothing.T @ nothing)

    def information(self, runs: Sequence[int] | IntArray) -> FloatArray:
        """(..., p, p) M, what (..., r) runs tell with those that were made already."""
        rows = self.features[runs]
        return np.asarray(self._prior + np.swapaxes(rows, -1, -2) @ rows)

    def best(self, found: Sequence[IntArray]) -> IntArray:
        """Of several sets of runs that with the least criterion."""
        return min(found, key=lambda runs: criterion(self.features[runs], self.known))

    def by_weight(self, weights: FloatArray) -> IntArray:
        """Experiments in the order of their weights, as long as they fit the budget."""
        left, chosen = self.room, []
        for place in np.argsort(-weights, kind="stable"):
            if weights[place] < NEGLIGIBLE:
                break
            if self.costs[place] <= left:
                chosen.append(int(place))
                left -= self.costs[place]
        return np.asarray(sorted(chosen), dtype=np.int64)

    def left_over(self, considered: IntArray) -> IntArray:
        """What fits the budget when of all these the one that is missed least for its cost leaves,
        one after the other; the cheapest of those that are left where each is needed."""
        kept = considered
        while float(self.costs[kept].sum()) > self.room:
            (leaving,) = self._missed_least(kept[None], np.ones(len(kept), dtype=bool))
            if leaving < 0:
                return kept[cheapest_first(self.costs[kept], self.budget)]
            kept = np.delete(kept, leaving)
        return kept

    def _cheapest(self, apart: float) -> IntArray | None:
        return cheapest_identifying(self.features, self.costs, known=self.known, apart=apart)

    def identifying(self) -> list[IntArray]:
        """The cheapest runs within the budget that tell the coefficients apart, by how clearly."""
        fitting: dict[tuple[int, ...], IntArray] = {}
        for apart in (*_APART, _JUST / self.features.shape[1]):
            found = self._cheapest(apart)
            if found is not None and float(self.costs[found].sum()) <= self.room:
                fitting.setdefault(tuple(found), found)
        return list(fitting.values())

    def too_small(self, unit: str | None) -> BudgetTooSmall:
        """That the budget buys no runs that tell the coefficients apart, and what would."""
        p = self.features.shape[1]
        cheapest = self._cheapest(_JUST / p)
        least = np.inf if cheapest is None else float(self.costs[cheapest].sum())
        would = "" if cheapest is None else f": the cheapest {len(cheapest)} that do cost "
        return BudgetTooSmall(
            f"the budget of {amount(self.budget, unit)} buys no runs that tell all {p} "
            "coefficients apart" + (would and would + amount(least, unit)),
            least=least,
            remedy="raise the budget, allow smaller runs, or use fewer terms",
        )

    def exchanged(self, chosen: IntArray, considered: IntArray) -> IntArray:
        """The best single addition or exchange, over and over, until none lowers the criterion."""
        members = list(map(int, chosen))
        best = float(_traces(self.information(chosen))[()])
        for _ in range(_MOST_EXCHANGES):
            joining = np.setdiff1d(considered, members)
            found = self._best_exchange(members, joining, best)
            if found is None:
                found = self._made_room(members, joining, best)
            if found is None:
                break
            best, members = found
        return np.asarray(members, dtype=np.int64)

    def without_each(self, chosen: IntArray, considered: IntArray) -> list[IntArray]:
        """The exchanges that begin without one of these runs, and do without it: two cheaper ones
        in its place may be better, where no single one is."""
        rest = (np.setdiff1d(chosen, place) for place in chosen)
        return [
            self.exchanged(kept, np.setdiff1d(considered, np.setdiff1d(chosen, kept)))
            for kept in rest
        ]

    def _best_exchange(
        self, members: list[int], joining: IntArray, best: float
    ) -> tuple[float, list[int]] | None:
        """The best addition of one run, in place of another or of none; None where none lowers the
        criterion."""
        found: tuple[float, list[int]] | None = None
        spent = float(self.costs[members].sum())
        for leaving in (None, *members):
            kept = [place for place in members if place != leaving]
            freed = 0.0 if leaving is None else float(self.costs[leaving])
            fitting = joining[self.costs[joining] <= self.room - spent + freed]
            if not len(fitting):
                continue
            rows = self.features[fitting]
            traces = _traces(self.information(kept) + rows[:, :, None] * rows[:, None, :])
            place = int(np.argmin(traces))
            if traces[place] < best * (1.0 - _IMPROVES_BY) and (
                found is None or traces[place] < found[0]
            ):
                found = float(traces[place]), sorted([*kept, int(fitting[place])])
        return found

    def _made_room(
        self, members: list[int], joining: IntArray, best: float
    ) -> tuple[float, list[int]] | None:
        """The best addition of one run for which several others leave, each time the one that is
        missed least for its cost; None where none lowers the criterion."""
        found: tuple[float, list[int]] | None = None
        best *= 1.0 - _IMPROVES_BY
        # A set for each run that joins, which stands first in it: all lose one run at a time.
        each = np.broadcast_to(np.asarray(members, dtype=np.int64), (len(joining), len(members)))
        sets = np.column_stack((joining, each))
        while len(sets):
            fits = self.costs[sets].sum(axis=1) <= self.room
            if fits.any():
                traces = _traces(self.information(sets[fits]))
                place = int(np.argmin(traces))
                if traces[place] < best:
                    best = float(traces[place])
                    found = best, sorted(map(int, sets[fits][place]))
            sets = sets[~fits]
            leaving = self._missed_least(sets, np.arange(sets.shape[1]) > 0)
            stays = np.arange(sets.shape[1]) != leaving[:, None]
            some = leaving >= 0
            shape = (int(np.count_nonzero(some)), sets.shape[1] - 1)
            sets = sets[some][stays[some]].reshape(shape)
        return found

    def _missed_least(self, sets: IntArray, free: BoolArray) -> IntArray:
        """(s,) which run of each set raises tr(M^-1) least for what it costs when it leaves.

        tr((M - a a^T)^-1) = tr(M^-1) + |M^-1 a|^2 / (1 - a^T M^-1 a).

        Args:
            sets: (s, c) places of runs; free: (c,) which of each set may leave.

        Returns:
            Places within the sets; -1 where all runs are needed, as they are where even all of them
            tell the coefficients apart in name only.
        """
        rows, costs, information = self.features[sets], self.costs[sets], self.information(sets)
        found = np.full(len(sets), -1)
        told = np.flatnonzero(~_is_singular(information))
        rows, costs = rows[told], costs[told]
        solved = np.swapaxes(np.linalg.solve(information[told], np.swapaxes(rows, 1, 2)), 1, 2)
        left = 1.0 - np.einsum("scp,scp->sc", rows, solved)
        possible = free & (left > _NEEDED) & (costs > 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            rise = np.square(solved).sum(axis=-1) / left / costs
        least = np.where(possible, rise, np.inf).argmin(axis=-1)
        found[told] = np.where(possible.any(axis=-1), least, -1)
        return found


def amount(value: float, unit: str | None) -> str:
    """A cost in words, in the unit of a budget."""
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
    apart: float = RANK_TOLERANCE,
) -> IntArray | None:
    """The cheapest set of experiments that tells all coefficients apart; None where there is none.

    Exact: independent rows are a matroid, so taking the cheapest independent one each time is best.

    Args:
        apart: share of a run that no combination of those taken before may explain.
    """
    norms = np.linalg.norm(features, axis=0)
    norms = np.where(norms > 0.0, norms, 1.0)
    unit, chosen = features / norms, []
    told = _directions(known / norms) if known is not None else np.zeros((0, features.shape[1]))
    for place in np.argsort(costs, kind="stable"):
        if len(told) == features.shape[1]:
            break
        left = unit[place]
        for _ in range(2):  # twice: what is left of nearly dependent rows is mostly rounding
            left = left - told.T @ (told @ left)
        if (length := float(np.linalg.norm(left))) > apart * float(np.linalg.norm(unit[place])):
            told = np.vstack((told, left / length))
            chosen.append(int(place))
    return np.asarray(sorted(chosen), dtype=np.int64) if len(told) == features.shape[1] else None


def _directions(rows: FloatArray) -> FloatArray:
    """(k, p) orthonormal directions that (r, p) rows tell."""
    _, values, right = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(right[values > RANK_TOLERANCE * max(float(values.max(initial=0.0)), 1e-300)])


def cheapest_first(costs: FloatArray, budget: float) -> IntArray:
    """Ernest's baseline (6.5): the cheapest experiments, until the next exceeds the budget."""
    order = np.argsort(costs, kind="stable")
    count = int(np.searchsorted(np.cumsum(costs[order]), budget * _ROOM, side="right"))
    return np.sort(order[:count]).astype(np.int64)


_NEEDED = 1e-9


def _traces(information: FloatArray) -> FloatArray:
    """tr(M^-1) of (..., p, p) matrices by their eigenvalues, each at least as large as rounding
    leaves it: of singular ones it is huge, and the less so the fewer directions are not told."""
    values = np.linalg.eigvalsh(information)
    least = _SINGULAR * values[..., -1:]
    with np.errstate(divide="ignore"):
        return np.asarray((1.0 / np.maximum(values, least)).sum(axis=-1))


def _is_singular(information: FloatArray) -> BoolArray:
    """(...) of (..., p, p) matrices."""
    values = np.linalg.eigvalsh(information)
    return np.asarray(values[..., 0] <= _SINGULAR * values[..., -1])


_SINGULAR = 1e-13


def efficiency(
    features: FloatArray, chosen: IntArray, bound: float, *, known: FloatArray | None = None
) -> float:
    """How near whole runs come to what any design within the budget can reach: bound / criterion,
    in [0, 1]; 0 where they do not identify the coefficients."""
    return bound / criterion(features[chosen], known)
