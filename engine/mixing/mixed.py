"""From the best cluster of one type to the best composition of several: the optimiser's last step.

The search (`engine.mixing.search`) works on the surface, over which a model may interpolate. The
points behind a winning mix are therefore evaluated exactly. If the mix no longer wins, the search
starts again.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import date

import numpy as np

from engine.catalog import Billing
from engine.choosing.answer_notices import with_interval_notice
from engine.choosing.differences import more_usd, takes_longer
from engine.choosing.recommendation import Choice, Goal, Recommendation
from engine.choosing.surface import Surface
from engine.errors import BadInput
from engine.forecast import FloatArray
from engine.lazy import Lazy
from engine.mixing.effort import MOST_BOUNDS, Effort
from engine.mixing.market import Market, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.notices import not_mixed
from engine.mixing.purchase_options import PurchaseOptions, behind, splits
from engine.mixing.search import Search
from engine.mixing.shown_mix import Mix
from engine.notices import in_order
from engine.units import SECONDS_PER_HOUR

_ROUNDS = 8
"""The most exact re-evaluations; a mix that has not been confirmed by then is not recommended."""


def apart(surface: Surface) -> dict[int, int]:
    """Rows of measured types that are left out of mixes -> cores of the others' executors. An
    application has executors of one shape, and a measured type keeps its own.
    """
    measured = set(surface.fitted.profile.instance_types)
    candidates = surface.candidates
    cores = [layout.executor_cores for layout in candidates.layouts]
    others = Counter(c for n, c in zip(candidates.names, cores, strict=True) if n not in measured)
    if not others:
        return {}
    common = others.most_common(1)[0][0]
    return {
        row: common
        for row, (name, own) in enumerate(zip(candidates.names, cores, strict=True))
        if name in measured - candidates.barred(surface.limits)
        and own != common
        and others[own] == 0
    }


def with_mixes(
    answer: Recommendation,
    surface: Surface,
    billing: Billing,
    *,
    most_types: int,
    most_bounds: float = MOST_BOUNDS,
    today: date | None = None,
) -> Recommendation:
    """The answer, or a better mix of up to `most_types` types.

    Where a type may be rented both ways (`splits`), the better cluster may also be of one type.
    """
    goal, evaluated = answer.goal, answer.evaluated
    split = splits(surface, billing, most_types)
    surface, _ = surface.rented(replace(billing, spot=billing.spot and not split))
    options = PurchaseOptions.of(surface, billing, goal.max_nodes, split=split)
    priced, searched = _searched(options.market, goal, surface.vcores[options.base])
    for _ in range(_ROUNDS):
        law = options.law(surface)
        found = Search(
            law, priced, searched, most_types, value=_value(answer), effort=Effort(most_bounds)
        ).run()
        evaluated += found.evaluated
        if found.rows is None:
            break
        refined = surface.refined(behind(found, law, options, surface))
        rows, counts = np.asarray([found.rows]), np.asarray([found.counts])
        value = float(values_of(options.law(refined), priced, searched, rows, counts)[0])
        surface = refined
        if value < _value(answer):
            mix = Mix(surface, options, goal, found, today)
            answer = _won(answer, mix, evaluated, optimal=found.optimal)
            return _said(answer, options, law, surface, most_types)
    # A mix that has not stood by now says nothing of those behind it.
    optimal = found.optimal and found.rows is None
    answer = replace(answer, evaluated=evaluated, optimal=optimal)
    return _said(answer, options, law, surface, most_types)


def _said(
    answer: Recommendation, options: PurchaseOptions, law: MixLaw, surface: Surface, most_types: int
) -> Recommendation:
    """The answer with notices about types left out of mixes and what that may cost: the search runs
    again as if they were as fast with executors like the others'."""
    left_out = apart(surface) if most_types > 1 else {}
    if not left_out:
        return answer
    cores = law.executor_cores.copy()
    for row, common in left_out.items():
        cores[options.base == row] = common
    priced, searched = _searched(options.market, answer.goal, surface.vcores[options.base])
    value, alike = _value(answer), replace(law, executor_cores=cores)
    bound = Search(alike, priced, searched, most_types, value=value).run().bound
    share = 1.0 - bound / value if 0.0 < value < math.inf else float(bound < value)
    said = [not_mixed(surface, row, common, share) for row, common in left_out.items()]
    return replace(answer, warnings=in_order([*answer.warnings, *said]))


def _searched(market: Market, goal: Goal, vcores: FloatArray) -> tuple[Market, Goal]:
    """The market and goal for the search.

    Vcore-seconds are searched as a price: a node of s vcores "costs" s per hour, with nothing owned
    and nothing rounded.

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


def _value(answer: Recommendation) -> float:
    """The value that the search has to beat."""
    best = answer.recommended
    if best is None:
        return math.inf
    value = best.seconds if answer.goal.by_time else best.cost_usd
    if answer.goal.by_resource:
        value = None if best.vcore_seconds is None else best.vcore_seconds / SECONDS_PER_HOUR
    return math.inf if value is None else value


def _won(answer: Recommendation, mix: Mix, evaluated: int, *, optimal: bool) -> Recommendation:
    """The answer with a mix in first place, and the best of one type as first runner-up."""
    choice = mix.choice()
    before = answer.recommended
    choice = replace(choice, why=(_why(choice, before, answer),))
    others = answer.alternatives

    def runner_up(place: int) -> Choice:
        return others[place] if before is None or place >= 0 else before

    return replace(
        answer,
        recommended=choice,
        alternatives=Lazy(range(-1 if before else 0, len(others)), runner_up),
        nearest=None,
        compromises=(),
        optimal=optimal,
        evaluated=evaluated,
        warnings=with_interval_notice(answer.warnings, answer.goal, choice),
    )


def _why(choice: Choice, before: Choice | None, answer: Recommendation) -> str:
    """Why the best cluster of one type is worse."""
    if before is None:
        nearest = answer.nearest
        if nearest is None:
            return "no cluster of one type satisfies the goal"
        return f"no cluster of one type satisfies the goal; {_name(nearest)} comes closest"
    more = (before.cost_usd or 0.0) - (choice.cost_usd or 0.0)
    if answer.goal.by_time:
        slower = takes_longer(seconds=before.seconds, than_seconds=choice.seconds, less_usd=-more)
        return f"the fastest of one type, {_name(before)}, {slower}"
    if answer.goal.by_resource:
        work = (before.vcore_seconds or 0.0) - (choice.vcore_seconds or 0.0)
        return f"the best of one type, {_name(before)}, takes {work:,.0f} vcore-s more"
    return f"the cheapest of one type, {_name(before)}, costs {more_usd(more)}"


def _name(choice: Choice) -> str:
    return " + ".join(f"{count} × {name}" for name, count in choice.composition.items())
