"""The optimiser's last step: from the best cluster of one type to the best mix of several.

The search (`engine.mixing.search`) works on the surface, over which a model may interpolate. The
surface points that a winning mix depends on are therefore evaluated exactly. If the mix no longer
wins, the search starts again.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import numpy as np

from engine.catalog import Billing
from engine.choosing.answer_notices import with_interval_notice
from engine.choosing.difference_texts import more_usd, takes_longer
from engine.choosing.outlines import Outline, OutlinedChoices, outlines
from engine.choosing.recommendation import Choice, Goal, Recommendation
from engine.choosing.surface import Surface
from engine.errors import BadInput
from engine.forecast import FloatArray
from engine.mixing.beyond_surface import is_precise_for_mixes
from engine.mixing.effort import MAX_BOUNDS, Effort
from engine.mixing.market import Market, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.notices import not_mixed
from engine.mixing.promised_time import PromisedTimeGoal, search_limit_seconds
from engine.mixing.purchase_options import PurchaseOptions, rents_both_ways, supporting_points
from engine.mixing.search import Search
from engine.mixing.shown_mix import Mix
from engine.notices import in_order
from engine.units import SECONDS_PER_HOUR

_MAX_ROUNDS = 8
"""The most searches with exact re-evaluation; a mix not confirmed by then is not recommended."""


def unmixable_types(surface: Surface) -> dict[int, int]:
    """Row -> cores of the other types' executors, for measured types that cannot be mixed. An
    application has executors of one shape, and a measured type keeps its own.
    """
    measured = set(surface.fitted.profile.instance_types)
    candidates = surface.candidates
    barred = candidates.barred(surface.limits)
    cores = [layout.executor_cores for layout in candidates.layouts]
    others = Counter(
        executor_cores
        for name, executor_cores in zip(candidates.names, cores, strict=True)
        if name not in measured | barred
    )
    if not others:
        return {}
    common = others.most_common(1)[0][0]
    return {
        row: common
        for row, (name, executor_cores) in enumerate(zip(candidates.names, cores, strict=True))
        if name in measured - barred and executor_cores != common and others[executor_cores] == 0
    }


def with_mixes(
    answer: Recommendation,
    surface: Surface,
    billing: Billing,
    *,
    most_types: int,
    most_bounds: float = MAX_BOUNDS,
    today: date | None,
    with_notices: bool = True,
) -> Recommendation:
    """The answer, or a better mix of up to `most_types` types.

    Where a type may be rented both ways (`rents_both_ways`), the better cluster may also be of one
    type.

    Args:
        with_notices: whether to say what types left out of mixes may cost, which is one more
            search.
    """
    goal, evaluated = answer.goal, answer.evaluated
    split = rents_both_ways(surface, billing, most_types)
    surface, _ = surface.for_purchase_option(replace(billing, spot=billing.spot and not split))
    options = PurchaseOptions.of(surface, billing, goal.max_nodes, split=split)
    search_market, search_goal = _search_problem(options.market, goal, surface.vcores[options.base])
    for _ in range(_MAX_ROUNDS):
        law = options.law(surface)
        result = Search(
            law,
            search_market,
            search_goal,
            most_types,
            value=_incumbent_value(answer),
            effort=Effort(most_bounds),
        ).run()
        evaluated += result.evaluated
        if result.rows is None:
            optimal = result.optimal and _is_precise(surface, options, most_types)
            answer = replace(answer, evaluated=evaluated, optimal=optimal)
            break
        refined = surface.refined(supporting_points(result, law, options, surface))
        rows, counts = np.asarray([result.rows]), np.asarray([result.counts])
        value = float(values_of(options.law(refined), search_market, search_goal, rows, counts)[0])
        surface = refined
        if value < _incumbent_value(answer):
            mix = Mix(surface, options, goal, result, today)
            optimal = result.optimal and _is_precise(surface, options, most_types)
            answer = _with_mix_first(answer, mix, evaluated, optimal=optimal)
            break
    else:
        # A mix that is still unconfirmed proves nothing about the next best ones.
        answer = replace(answer, evaluated=evaluated, optimal=False)
    if not with_notices:
        return answer
    return _with_unmixed_notices(answer, options, law, surface, most_types)


def _is_precise(surface: Surface, options: PurchaseOptions, most_types: int) -> bool:
    """Whether the times tell which cluster is best. Of one type a cluster is a point of the
    surface; a mix depends on points beside it."""
    return surface.is_precise if most_types == 1 else is_precise_for_mixes(surface, options.beyond)


def _with_unmixed_notices(
    answer: Recommendation, options: PurchaseOptions, law: MixLaw, surface: Surface, most_types: int
) -> Recommendation:
    """The answer with notices about types left out of mixes and the most that this may cost: a
    bound from a search in which they are as fast with executors like the others'."""
    left_out = unmixable_types(surface) if most_types > 1 else {}
    if not left_out:
        return answer
    cores = law.executor_cores.copy()
    for row, common in left_out.items():
        cores[options.base == row] = common
    search_market, search_goal = _search_problem(
        options.market, answer.goal, surface.vcores[options.base]
    )
    value, relaxed_law = _incumbent_value(answer), replace(law, executor_cores=cores)
    bound = Search(relaxed_law, search_market, search_goal, most_types, value=value).run().bound
    largest_gain = 1.0 - bound / value if 0.0 < value < math.inf else float(bound < value)
    notices = [not_mixed(surface, row, common, largest_gain) for row, common in left_out.items()]
    return replace(answer, warnings=in_order([*answer.warnings, *notices]))


def _search_problem(market: Market, goal: Goal, vcores: FloatArray) -> tuple[Market, Goal]:
    """The market and goal of the search, for any objective.

    Vcore-seconds are minimised as a price: a node of s vcores "costs" s per hour, with no owned
    nodes and exact billing.

    Raises:
        BadInput: for vcore-seconds under a budget, since the search knows only one price.
    """
    if not goal.by_resource:
        return market, goal
    if goal.budget_usd is not None:
        raise BadInput(
            "the least resource time within a budget is searched among clusters of one type only",
            where="--objective",
            remedy="leave out the budget, or ask for one type with --mix 1",
        )
    rates = np.where(np.isfinite(market.rates), vcores, np.inf)
    exact = Billing(granularity_seconds=0.0)
    priced = Market(rates, 0.0, exact, market.most, market.constraints, share=market.share)
    return priced, replace(goal, objective="cost")


def _incumbent_value(answer: Recommendation) -> float:
    """The value of the incumbent, which the search has to beat."""
    best = answer.recommended
    if best is None or isinstance(answer.goal, PromisedTimeGoal):
        return search_limit_seconds(answer.goal)
    value = best.seconds if answer.goal.by_time else best.cost_usd
    if answer.goal.by_resource:
        value = None if best.vcore_seconds is None else best.vcore_seconds / SECONDS_PER_HOUR
    return math.inf if value is None else value


def _with_mix_first(
    answer: Recommendation, mix: Mix, evaluated: int, *, optimal: bool
) -> Recommendation:
    """The answer with a mix as the recommendation, and the best of one type as first runner-up."""
    choice = mix.choice()
    best_of_one_type = answer.recommended
    # Under a maximum share of spot nodes those of one type are on demand (`for_purchase_option`).
    shared = mix.options.billing.spot and mix.surface.limits.max_spot is not None
    kind = "of one type on demand" if shared else "of one type"
    choice = replace(choice, why=(_why(choice, best_of_one_type, answer, kind),))
    others = answer.alternatives

    def runner_up(index: int) -> Choice:
        return others[index] if best_of_one_type is None or index >= 0 else best_of_one_type

    def outlined() -> Sequence[Outline]:
        first = [] if best_of_one_type is None else [Outline.of(best_of_one_type)]
        return [*first, *outlines(others)]

    first = 0 if best_of_one_type is None else -1
    return replace(
        answer,
        recommended=choice,
        alternatives=OutlinedChoices(range(first, len(others)), runner_up, outlined),
        nearest=None,
        likeliest=None,
        compromises=(),
        optimal=optimal,
        evaluated=evaluated,
        warnings=with_interval_notice(answer.warnings, answer.goal, choice, answer.model),
    )


def _why(choice: Choice, best_of_one_type: Choice | None, answer: Recommendation, kind: str) -> str:
    """Why the best cluster of one type is worse; `kind` says what these are."""
    if best_of_one_type is None:
        nearest = answer.nearest
        if nearest is None:
            return f"no cluster {kind} satisfies the goal"
        return f"no cluster {kind} satisfies the goal; {_name(nearest)} comes closest"
    more = (best_of_one_type.cost_usd or 0.0) - (choice.cost_usd or 0.0)
    if answer.goal.by_time:
        slower = takes_longer(
            seconds=best_of_one_type.seconds, than_seconds=choice.seconds, less_usd=-more
        )
        return f"the fastest {kind}, {_name(best_of_one_type)}, {slower}"
    if answer.goal.by_resource:
        work = (best_of_one_type.vcore_seconds or 0.0) - (choice.vcore_seconds or 0.0)
        return f"the best {kind}, {_name(best_of_one_type)}, takes {work:,.0f} vcore-s more"
    return f"the cheapest {kind}, {_name(best_of_one_type)}, costs {more_usd(more)}"


def _name(choice: Choice) -> str:
    return " + ".join(f"{count} × {name}" for name, count in choice.composition.items())
