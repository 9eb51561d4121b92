"""The answer of OptEx's own method (V), beside that of the exact search."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch
from engine.catalog import Billing
from engine.choosing.choices import ChoiceBuilder
from engine.choosing.difference_texts import more_usd, takes_longer
from engine.choosing.outlines import Outline, OutlinedChoices, outlines
from engine.choosing.recommendation import Choice, Goal, Recommendation
from engine.choosing.surface import Surface
from engine.errors import BadInput
from engine.forecast import FloatArray, Forecast, IntArray
from engine.mixing.compromises import missed
from engine.mixing.market import MixResult, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.purchase_options import PurchaseOptions, supporting_points
from engine.mixing.relaxation import RelaxedOptimum, Times, relaxed_optimum
from engine.mixing.shown_mix import Mix
from engine.models.curves.model import CurvesModel
from engine.notices import Notice, in_order
from engine.units import format_count, format_number, format_usd

MOST_SETS = 60
"""Sets of types that are relaxed: each takes some hundred evaluations of the model."""


class _Relaxed(NamedTuple):
    """The types of a relaxation, as rows of the surface, and its optimum."""

    rows: tuple[int, ...]
    optimum: RelaxedOptimum


def with_relaxed(
    exact: Recommendation,
    surface: Surface,
    billing: Billing,
    *,
    most_types: int,
    today: date | None,
) -> Recommendation:
    """The composition that the interior point finds, and the exact answer as first runner-up.

    Every set of `most_types` types is relaxed, and the best optimum of all is made whole. Nothing
    is recommended where there is none, or where it misses the goal in whole nodes. The answer is
    `optimal` where that of the exact search is, and says the same.

    Args:
        exact: the answer of the exact search to the same goal.

    Raises:
        BadInput: for spot nodes, for a goal of resource time, and for more than `MOST_SETS` sets.
    """
    if billing.spot:
        raise BadInput(
            "the interior-point method rents on demand: OptEx knows one price of each type",
            where="--method",
            remedy="leave out the spot prices, or ask for --method exact",
        )
    goal = exact.goal
    options = PurchaseOptions.of(surface, billing, goal.max_nodes)
    best = _best_relaxed(surface, options, goal, most_types)
    if best is None:
        return _without_answer(exact, "finds no real numbers of nodes that satisfy the goal")
    counts = best.optimum.whole(goal)
    choice, met = _whole_choice(best.rows, counts, surface, options, goal, today)
    found = _found(best, surface)
    if met:
        return _with_exact_beside(exact, choice, f"{found} before rounding")
    if not _within_limits(choice, surface, goal):
        nodes = format_count(choice.nodes or 0, "node")
        return _without_answer(exact, f"{found} and breaks the limits in whole nodes ({nodes})")
    miss = missed(choice, goal, surface)
    answer = _without_answer(exact, f"{found} and misses the goal in whole nodes: {miss.reason}")
    return replace(answer, nearest=choice, miss_of_nearest=miss)


def _best_relaxed(
    surface: Surface, options: PurchaseOptions, goal: Goal, most_types: int
) -> _Relaxed | None:
    """The set of types with the best real optimum; None where none satisfies the goal."""
    law, market = options.law(surface), options.market
    rented = np.isfinite(market.rates) & (market.most > 0)
    usable = np.flatnonzero(rented & np.isfinite(surface.seconds).any(axis=1))
    found = []
    for rows in _sets(usable, law.executor_cores, most_types):
        index = np.asarray(rows)
        fewest = float(surface.constraints.fewest()[index].min())
        times = real_times(surface, law, index)
        optimum = relaxed_optimum(times, market.take(index), goal, fewest=max(1.0, fewest))
        if optimum is not None:
            found.append(_Relaxed(rows, optimum))

    def value(relaxed: _Relaxed) -> float:
        return relaxed.optimum.seconds if goal.by_time else relaxed.optimum.usd

    return min(found, key=value, default=None)


def _sets(usable: IntArray, executor_cores: IntArray, most_types: int) -> list[tuple[int, ...]]:
    """Sets of types that are relaxed together: as many as may be in one cluster, with executors of
    one shape; a type that is in none of these alone.

    Raises:
        BadInput: for more than `MOST_SETS`.
    """
    size = min(most_types, len(usable))
    count = math.comb(len(usable), size)
    if count > MOST_SETS:
        raise BadInput(
            f"the interior-point method relaxes each of {count:,} sets of types by itself, at most "
            f"{MOST_SETS}",
            where="--method",
            remedy="name fewer types with --instances, or ask for --method exact",
        )
    together = [
        rows
        for rows in combinations(usable.tolist(), size)
        if len({int(executor_cores[row]) for row in rows}) == 1
    ]
    known = set(chain.from_iterable(together))
    return together + [(row,) for row in usable.tolist() if row not in known]


def real_times(surface: Surface, law: MixLaw, rows: IntArray) -> Times:
    """Times at real node counts of some types: T = sum w_t T_t(x_t) as in `engine.mixing.mix_law`.

    A closed form says each T_t at a real x_t >= 1, and the widest interval decides. Other models
    mean whole nodes; between these the law interpolates.
    """
    if not isinstance(surface.fitted, CurvesModel):
        return lambda counts: law.forecast(np.broadcast_to(rows, counts.shape), counts)
    candidates, capacity, q = surface.candidates, law.capacity[rows], len(rows)
    one_node = ClusterBatch.grid(
        [candidates.instances[row] for row in rows],
        [candidates.layouts[row] for row in rows],
        [1],
        candidates.catalog,
        task_cpus=candidates.task_cpus,
    )

    def times(counts: FloatArray) -> Forecast:
        total = counts @ capacity
        alone = counts if q == 1 else np.maximum(total[:, None] / capacity, 1.0)
        batch = one_node.take(np.tile(np.arange(q), len(counts)))
        batch = replace(batch, nodes=alone.ravel(), executors=batch.executors * alone.ravel())
        forecast = surface.fitted.forecast(batch, surface.workload)
        if q == 1:
            return forecast
        share = counts * capacity / total[:, None]
        seconds = (share * forecast.seconds.reshape(-1, q)).sum(axis=1)
        scales = np.nan_to_num(forecast.log_scale, nan=np.inf).reshape(-1, q)
        widest = np.arange(len(counts)) * q + scales.argmax(axis=1)
        return replace(forecast.take(widest), seconds=seconds)

    return times


def _whole_choice(
    rows: Sequence[int],
    counts: IntArray,
    surface: Surface,
    options: PurchaseOptions,
    goal: Goal,
    today: date | None,
) -> tuple[Choice, bool]:
    """The rounded composition with its exact time and cost, and whether it satisfies the goal."""
    members = [(row, int(n)) for row, n in zip(rows, counts, strict=True) if n]
    chosen, whole = tuple(row for row, _ in members), tuple(n for _, n in members)
    result = MixResult(chosen, whole, math.nan, 0.0, optimal=False, evaluated=1)
    law = options.law(surface)
    refined = surface.refined(supporting_points(result, law, options, surface))
    value = values_of(
        options.law(refined), options.market, goal, np.asarray([chosen]), np.asarray([whole])
    )
    met = bool(np.isfinite(value[0]))
    if len(members) > 1:
        return Mix(refined, options, goal, result, today).choice(), met
    choices = ChoiceBuilder(refined, goal, options.billing, today)
    choice = choices.choice(refined.index(refined.candidates.names[chosen[0]], whole[0]))
    return choices.with_model_warnings(choice), met


def _within_limits(choice: Choice, surface: Surface, goal: Goal) -> bool:
    """Whether a composition keeps the limits on nodes; rounding may break them."""
    rows = [surface.candidates.names.index(name) for name in choice.composition]
    counts = np.asarray([list(choice.composition.values())])
    allowed = surface.constraints.allowed(np.asarray([rows]), counts)
    return bool(allowed[0] and counts.sum() <= goal.max_nodes)


def _without_answer(exact: Recommendation, told: str) -> Recommendation:
    """The answer without a recommendation; what the exact search finds stays, as the first
    runner-up and as the nearest."""
    answer = _with_notice(exact, told)
    if exact.recommended is None:
        return answer
    return replace(
        answer,
        recommended=None,
        alternatives=_behind_exact(exact.recommended, exact.alternatives),
        nearest=exact.recommended,
        optimal=False,
    )


def _with_exact_beside(exact: Recommendation, choice: Choice, told: str) -> Recommendation:
    """The answer with a composition as the recommendation, and the exact one as first runner-up
    where that is another."""
    best, answer = exact.recommended, _with_notice(exact, told, choice)
    if best is not None and dict(best.composition) == dict(choice.composition):
        return replace(answer, recommended=choice, nearest=None, likeliest=None)
    others = exact.alternatives if best is None else _behind_exact(best, exact.alternatives)
    return replace(
        answer, recommended=choice, alternatives=others, nearest=None, likeliest=None,
        optimal=False,
    )  # fmt: skip


def _behind_exact(best: Choice, others: Sequence[Choice]) -> OutlinedChoices:
    """The runners-up, led by the best of the exact search."""

    def runner_up(index: int) -> Choice:
        return best if index < 0 else others[index]

    def outlined() -> Sequence[Outline]:
        return [Outline.of(best), *outlines(others)]

    return OutlinedChoices(range(-1, len(others)), runner_up, outlined)


def _found(best: _Relaxed, surface: Surface) -> str:
    """What the interior point found."""
    names = surface.candidates.names
    parts = [
        f"{format_number(float(nodes), figures=4)} × {names[row]}"
        for row, nodes in zip(best.rows, best.optimum.counts, strict=True)
        if nodes >= 0.01
    ]
    return f"finds {' + '.join(parts)} ({format_usd(best.optimum.usd)})"


def _with_notice(exact: Recommendation, told: str, choice: Choice | None = None) -> Recommendation:
    """The exact answer with the notice about the method, and with what the exact search has beside
    a composition that is recommended."""
    search = "the exact search" + (
        "" if exact.optimal else ", which did not compare all there are,"
    )
    notice = Notice(
        "rounded-optimum",
        f"OptEx's interior point {told}; {search} {_compared(exact, choice)}",
        "leave out --method for the exact search",
    )
    return replace(exact, method="interior-point", warnings=in_order([*exact.warnings, notice]))


def _compared(exact: Recommendation, choice: Choice | None) -> str:
    best = exact.recommended
    if best is None:
        return "finds none either" if choice is None else "finds none"
    name = " + ".join(f"{count} × {kind}" for kind, count in best.composition.items())
    if choice is None:
        return f"finds {name}, which satisfies the goal"
    if dict(best.composition) == dict(choice.composition):
        return "finds the same"
    more = (choice.cost_usd or 0.0) - (best.cost_usd or 0.0)
    slower = choice.seconds - best.seconds
    if (slower if exact.goal.by_time else more) <= 0.0:
        return f"finds {name}"
    if exact.goal.by_time:
        longer = takes_longer(seconds=choice.seconds, than_seconds=best.seconds, less_usd=-more)
        return f"finds {name}, beside which this {longer}"
    return f"finds {name}, beside which this costs {more_usd(more)}"
