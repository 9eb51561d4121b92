"""From design weights to whole runs, and the plain choices that a design is compared with.

Ernest 3.3 runs every experiment whose weight is not zero, which may cost more than the budget. Here
a set of whole runs stays within it: the experiments of the largest weights, then exchanges
(Fedorov) until no single run added or replaced lowers tr(M^-1). Its distance to the continuous
optimum, which no set of whole runs can beat, is known and reported.
"""

from __future__ import annotations

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
    if budget * _ROOM < float(costs.min()):
        raise BudgetTooSmall(
            f"the budget of {amount(budget, unit)} is below the cheapest run "
            f"({amount(float(costs.min()), unit)})",
            least=float(costs.min()),
            remedy="raise the budget, or allow smaller runs",
        )
    p = features.shape[1]
    nothing = np.zeros((0, p)) if known is None else known
    chosen, prior = _by_weight(weights, costs, budget), nothing.T @ nothing
    starts = [chosen]
    if _is_singular(prior + features[chosen].T @ features[chosen]):
        starts += _identifying(features, costs, budget, known)
    heaviest = np.argsort(-weights, kind="stable")[:_CONSIDERED]
    cheapest = np.argsort(costs, kind="stable")[:_CHEAPEST_CONSIDERED]
    considered = np.unique(np.concatenate((heaviest, cheapest, *starts)))
    found = [_exchanged(features, costs, budget, start, considered, prior) for start in starts]
    best = min(found, key=lambda runs: criterion(features[runs], known))
    if not np.isfinite(criterion(features[best], known)):
        raise _too_small(features, costs, budget, known, unit)
    return best


_APART = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""How far apart runs are that a search begins with, from the clearest to what can just be told: the
cheapest runs are alike, and those of consecutive node counts differ in the tenth digit alone."""

_JUST = RANK_TOLERANCE
"""As far as the candidates as a whole are told apart, of each coefficient: then some set is."""


def _identifying(
    features: FloatArray, costs: FloatArray, budget: float, known: FloatArray | None
) -> list[IntArray]:
    """The cheapest runs within the budget that tell the coefficients apart, by how clearly."""
    fitting: dict[tuple[int, ...], IntArray] = {}
    for apart in (*_APART, _JUST / features.shape[1]):
        found = cheapest_identifying(features, costs, known=known, apart=apart)
        if found is not None and float(costs[found].sum()) <= budget * _ROOM:
            fitting.setdefault(tuple(found), found)
    return list(fitting.values())


def _too_small(
    features: FloatArray,
    costs: FloatArray,
    budget: float,
    known: FloatArray | None,
    unit: str | None,
) -> BudgetTooSmall:
    """That a budget buys no runs that tell the coefficients apart, and what would."""
    p = features.shape[1]
    cheapest = cheapest_identifying(features, costs, known=known, apart=_JUST / p)
    least = np.inf if cheapest is None else float(costs[cheapest].sum())
    would = "" if cheapest is None else f": the cheapest {len(cheapest)} that do cost "
    return BudgetTooSmall(
        f"the budget of {amount(budget, unit)} buys no runs that tell all {p} coefficients apart"
        + (would and would + amount(least, unit)),
        least=least,
        remedy="raise the budget, allow smaller runs, or use fewer terms",
    )


def amount(value: float, unit: str | None) -> str:
    """A cost in words, in the unit of a budget."""
    if unit == "usd":
        return format_usd(value)
    if unit == "seconds":
        return format_seconds(value)
    return f"{value:.4g}{f' {unit}' if unit else ''}"


def _by_weight(weights: FloatArray, costs: FloatArray, budget: float) -> IntArray:
    """Experiments in the order of their weights, as long as they fit the budget."""
    left, chosen = budget * _ROOM, []
    for place in np.argsort(-weights, kind="stable"):
        if weights[place] < NEGLIGIBLE:
            break
        if costs[place] <= left:
            chosen.append(int(place))
            left -= costs[place]
    return np.asarray(sorted(chosen), dtype=np.int64)


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


def _exchanged(
    features: FloatArray,
    costs: FloatArray,
    budget: float,
    chosen: IntArray,
    considered: IntArray,
    prior: FloatArray,
) -> IntArray:
    """The best single addition or exchange, over and over, until none lowers the criterion."""
    members, best = list(map(int, chosen)), _trace(prior, features[chosen])
    for _ in range(_MOST_EXCHANGES):
        found: tuple[float, list[int]] | None = None
        spent = float(costs[members].sum())
        joining = np.setdiff1d(considered, members)
        for leaving in (None, *members):
            kept = [place for place in members if place != leaving]
            freed = 0.0 if leaving is None else float(costs[leaving])
            fitting = joining[costs[joining] <= budget * _ROOM - spent + freed]
            if not len(fitting):
                continue
            traces = _traces_with(prior + features[kept].T @ features[kept], features[fitting])
            place = int(np.argmin(traces))
            if traces[place] < best * (1.0 - _IMPROVES_BY) and (
                found is None or traces[place] < found[0]
            ):
                found = float(traces[place]), sorted([*kept, int(fitting[place])])
        if found is None:
            found = _made_room(features, costs, budget, members, joining, prior, best)
        if found is None:
            break
        best, members = found
    return np.asarray(members, dtype=np.int64)


def _made_room(
    features: FloatArray,
    costs: FloatArray,
    budget: float,
    members: list[int],
    joining: IntArray,
    prior: FloatArray,
    best: float,
) -> tuple[float, list[int]] | None:
    """The best addition of one run for which several others leave, each time the one that is
    missed least for its cost; None where none lowers the criterion."""
    found: tuple[float, list[int]] | None = None
    for place in joining:
        kept = np.asarray([*members, int(place)])
        information = prior + features[kept].T @ features[kept]
        spent = float(costs[kept].sum())
        while spent > budget * _ROOM:
            leaving = _missed_least(information, features[kept], costs[kept], kept != place)
            if leaving is None:
                break
            row = features[kept[leaving]]
            information = information - np.outer(row, row)
            spent -= float(costs[kept[leaving]])
            kept = np.delete(kept, leaving)
        trace = float(_traces(information)[()])
        better = found[0] if found else best * (1.0 - _IMPROVES_BY)
        if spent <= budget * _ROOM and trace < better:
            found = trace, sorted(map(int, kept))
    return found


def _missed_least(
    information: FloatArray, rows: FloatArray, costs: FloatArray, free: BoolArray
) -> int | None:
    """Which run raises tr(M^-1) least for what it costs when it leaves; None where all are needed,
    as they are where even all of them tell the coefficients apart in name only.

    tr((M - a a^T)^-1) = tr(M^-1) + |M^-1 a|^2 / (1 - a^T M^-1 a).
    """
    if _is_singular(information):
        return None
    solved = np.linalg.solve(information, rows.T).T
    left = 1.0 - np.einsum("ij,ij->i", rows, solved)
    possible = free & (left > _NEEDED) & (costs > 0.0)
    if not possible.any():
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        rise = np.square(solved).sum(axis=1) / left / costs
    return int(np.argmin(np.where(possible, rise, np.inf)))


_NEEDED = 1e-9


def _trace(prior: FloatArray, rows: FloatArray) -> float:
    return float(_traces(prior + rows.T @ rows)[()])


def _traces_with(information: FloatArray, rows: FloatArray) -> FloatArray:
    """(n,) tr((M + a a^T)^-1) for each of n rows."""
    return _traces(information + rows[:, :, None] * rows[:, None, :])


def _traces(information: FloatArray) -> FloatArray:
    """tr(M^-1) of (..., p, p) matrices by their eigenvalues, each at least as large as rounding
    leaves it: of singular ones it is huge, and the less so the fewer directions are not told."""
    values = np.linalg.eigvalsh(information)
    least = _SINGULAR * values[..., -1:]
    with np.errstate(divide="ignore"):
        return np.asarray((1.0 / np.maximum(values, least)).sum(axis=-1))


def _is_singular(information: FloatArray) -> bool:
    values = np.linalg.eigvalsh(information)
    return bool(values[0] <= _SINGULAR * values[-1])


_SINGULAR = 1e-13


def efficiency(
    features: FloatArray, chosen: IntArray, bound: float, *, known: FloatArray | None = None
) -> float:
    """How near whole runs come to what any design within the budget can reach: bound / criterion,
    in [0, 1]; 0 where they do not identify the coefficients."""
    return bound / criterion(features[chosen], known)
