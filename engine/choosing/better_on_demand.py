"""Whether a type on demand beats the best spot cluster, where it has no lower spot price."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import replace
from itertools import chain

from engine.catalog import Billing, Offer
from engine.choosing.difference_texts import LEAST_USD
from engine.choosing.recommendation import HARDLY_SLOWER, Choice, Recommendation
from engine.choosing.surface import Surface
from engine.notices import Notice, in_order
from engine.text.time_differences import format_time_difference
from engine.units import format_usd


def with_better_on_demand(
    answer: Recommendation,
    surface: Surface,
    billing: Billing,
    ask: Callable[[Billing], Recommendation],
) -> Recommendation:
    """The answer among spot nodes, with a notice where a type without a spot price, which takes no
    part, or with one that saves nothing, serves the goal better on demand.

    Args:
        ask: the best cluster of one type under other rules of billing.
    """
    offers = surface.candidates.offers
    out = {offer.instance.name for offer in offers if not _spot_saves(offer)}
    if not out or not billing.spot or surface.limits.max_spot is not None:
        return answer
    if answer.goal.by_resource:
        return answer  # vcore-seconds know no price
    better = _first_better(ask(replace(billing, spot=False)), answer, out)
    if better is None:
        return answer
    other, why = better
    name = surface.candidates.catalog.name
    reason = (
        f"types that have no spot price in catalog {name} take no part"
        if surface.candidates.catalog.offer(str(other.instance)).spot is None
        else f"its spot price in catalog {name} is no lower"
    )
    notice = Notice(
        "better-on-demand",
        f"{other.nodes} × {other.instance} on demand {why}: {reason}",
        "leave --spot out to compare them too",
    )
    return replace(answer, warnings=in_order([*answer.warnings, notice]))


def _spot_saves(offer: Offer) -> bool:
    """Whether a type has a spot price below its price on demand: the two have different dates."""
    return offer.spot is not None and offer.spot.usd_per_hour < offer.on_demand.usd_per_hour


def _first_better(
    on_demand: Recommendation, answer: Recommendation, out: Set[str]
) -> tuple[Choice, str] | None:
    """The best cluster of a type in `out` that is better than the answer, and in what. It need not
    be the best on demand: that may be of a type that has a spot price too."""
    if on_demand.recommended is None:
        return None
    for choice in chain([on_demand.recommended], on_demand.alternatives):
        why = _better(choice, answer.recommended, by_time=answer.goal.by_time)
        if why is None:  # nor is any that comes after it
            return None
        if choice.instance in out:
            return choice, why
    return None


def _better(other: Choice, best: Choice | None, *, by_time: bool) -> str | None:
    """In what another cluster is better than the best one, in words; None where it is not."""
    if best is None:
        return "satisfies the goal"
    saves = (best.cost_usd or 0.0) - (other.cost_usd or 0.0)
    if by_time and best.seconds > (1.0 + HARDLY_SLOWER) * other.seconds:
        apart = format_time_difference(best.seconds - other.seconds, of_seconds=best.seconds)
        return f"is {apart} faster"
    if not by_time and saves >= LEAST_USD:
        return f"costs {format_usd(saves, figures=2)} less"
    return None
