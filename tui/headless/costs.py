"""The cost of a named cluster, as JSON and as text, the same for each command.

Nodes of a catalog come as the engine's `Choice`, with every part of the cost. Nodes as they were
measured have no such parts: their cost is the time at their known price.
"""

from __future__ import annotations

from typing import Any

import engine
from tui import format as text
from tui.headless import choice_words, output

KEYS = ("cost_usd", "cost_low_usd", "cost_high_usd")
"""Cost of the predicted time, and of both ends of its interval."""

OF_CHOICE = ("composition", "spot", "executors", "layout", "vcore_seconds", "cost", *KEYS)
"""JSON keys of nodes of a catalog, beside their time."""


def choice_dict(choice: engine.Choice, catalog: engine.Catalog) -> dict[str, Any]:
    """JSON fields of nodes of a catalog."""
    fields = choice.to_dict()
    return {**{name: fields[name] for name in OF_CHOICE}, "catalog": output.catalog_dict(catalog)}


def choice_lines(choice: engine.Choice, catalog: engine.Catalog) -> list[str]:
    """Lines of text for them: the cost, its parts, its assumptions."""
    usd = _in_words(choice.cost_usd, choice.cost_low_usd, choice.cost_high_usd)
    return [f"{usd}, {text.priced_by(catalog)}", *choice_words.cost_lines(choice)]


def measured_dict(
    paid: engine.Cluster | None, prediction: engine.Prediction, profile: engine.Profile
) -> dict[str, Any]:
    """JSON fields of nodes as they were measured; null where no price is known.

    Args:
        paid: the cluster, with the catalog that has its price; None where nothing has a price.
    """
    times = (prediction.seconds, prediction.low, prediction.high)
    costs = [None if paid is None else engine.cost_of(paid, x, profile) for x in times]
    named = dict(zip(KEYS, costs, strict=True))
    return {**named, "catalog": output.catalog_dict(paid.catalog if paid else None)}


def measured_lines(
    paid: engine.Cluster, prediction: engine.Prediction, profile: engine.Profile
) -> list[str]:
    """Lines of text for them; where no price is known, why there is no cost."""
    usd, low, high = (measured_dict(paid, prediction, profile)[name] for name in KEYS)
    if usd is None:
        return [no_cost(paid)]
    cost = f"{_in_words(usd, low, high)}, {text.priced_by(paid.catalog)}"
    return [cost, *(f"  {text.escaped(line)}" for line in engine.cost_assumptions(paid))]


def no_cost(cluster: engine.Cluster) -> str:
    """Why a cluster has no cost, and how to get one."""
    if cluster.instance is not None:
        name = text.escaped(cluster.instance.name)
        return f"no cost: no price of {name} is known here; name a catalog that has it (--catalog)"
    if not cluster.groups:
        return "no cost: executors have no price; name nodes (--nodes N --instance TYPE)"
    return "no cost: the type of these nodes is not known; name it (--ran-on TYPE)"


def _in_words(usd: float | None, low: float | None, high: float | None) -> str:
    """ "$0.0567 ($0.0524 to $0.0646)"."""
    return f"{text.usd(usd)}{text.usd_interval(low, high)}"
