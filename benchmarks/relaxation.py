"""OptEx's own way to a composition (V) on made laws: what it costs, to stand beside the best."""

from __future__ import annotations

import numpy as np

from engine.choosing.recommendation import Goal
from engine.mixing.market import Market, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.relaxation import relaxed_optimum


def relaxed_usd(law: MixLaw, market: Market, goal: Goal) -> float:
    """What the composition of all types of a law costs that OptEx's own method finds; inf where it
    misses the deadline or there is none."""
    rows = np.arange(len(law.slots))
    found = relaxed_optimum(
        lambda counts: law.forecast(np.broadcast_to(rows, counts.shape), counts), market, goal
    )
    if found is None:
        return float("inf")
    return float(values_of(law, market, goal, rows[None], found.whole(goal)[None])[0])
