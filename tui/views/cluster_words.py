"""A cluster in words: what it consists of, what it costs, how long it takes, what of it is a spot
node."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import format as text
from tui.views.prose import Line

if TYPE_CHECKING:
    from engine import Choice, Outline
    from tui.answers import Answer


def composition(choice: Choice | Outline) -> str:
    """ "14 × r5.2xlarge"."""
    return text.rented_nodes(choice) or choice.note


def cost(choice: Choice) -> Line:
    """ " for $2.60 at spot prices ($2.10 to $3.40)"; nothing where no cost is known."""
    if choice.cost_usd is None:
        return []
    between = text.usd_interval(choice.cost_low_usd, choice.cost_high_usd)
    return [
        (" for ", "base"),
        (text.usd(choice.cost_usd), "strong"),
        (f"{at_spot(choice)}{between}", "base"),
    ]


def priced(choice: Choice) -> str:
    """ "$2.60 at spot prices ($2.10 to $3.40)"."""
    between = text.usd_interval(choice.cost_low_usd, choice.cost_high_usd)
    return f"{text.usd(choice.cost_usd)}{at_spot(choice)}{between}"


def interval_in_words(choice: Choice, confidence: float) -> str:
    """ "9 in 10 runs: 38 to 44 min"."""
    if choice.low is None:
        return "no interval: how sure is not known"
    return f"{text.odds(confidence)} runs: {text.span(choice.low, choice.high)}"


def at_spot(choice: Choice) -> str:
    """ " at spot prices" where all nodes are spot nodes; where some are, the composition says
    which."""
    every = choice.spot and dict(choice.spot) == dict(choice.composition)
    return " at spot prices" if every else ""


def spot_share(answer: Answer) -> float | None:
    """The maximum share of spot nodes in the answer; None without one. How many nodes of each
    cluster would be spot nodes is searched for the recommended one alone: all others are of nodes
    on demand."""
    return answer.built.plan.surface.limits.max_spot if answer.report.billing.spot else None


def what_is_on_demand(answer: Answer, others: str = "others") -> str:
    """ "others on demand" in a list of the recommended cluster and `others`, "all on demand" where
    that one has no spot node either; "" where no maximum share is set."""
    if spot_share(answer) is None:
        return ""
    best = answer.report.recommendation.recommended
    return f"{others if best and best.spot else 'all'} on demand"


def on_demand_title(answer: Answer) -> str:
    """Addition to the title of a chart of clusters on demand (`spot_share`)."""
    return "" if spot_share(answer) is None else ", on demand"
