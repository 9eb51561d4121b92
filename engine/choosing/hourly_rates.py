"""Hourly rates of the candidate types and of the master."""

from __future__ import annotations

import numpy as np

from engine.catalog import Billing
from engine.choosing.candidates import Candidates
from engine.cost import master_offer, master_rate, node_rate, service_rate
from engine.forecast import FloatArray


def hourly_rates(candidates: Candidates, billing: Billing) -> tuple[FloatArray, float]:
    """USD per billed hour: (k,) of a worker, inf without a spot price, and of the master.

    Raises:
        UnknownName: when the catalog does not hold the master's type.
    """
    listed, spot = candidates.prices
    paid = spot if billing.spot else listed
    service = [service_rate(offer, billing) for offer in candidates.offers]
    rates = node_rate(paid, billing, service_usd_per_hour=service)
    return rates, master_rate(master_offer(candidates.catalog, billing), billing)


def on_demand_premium(listed: FloatArray, spot: FloatArray) -> FloatArray:
    """(k,) USD per billed hour by which a node is dearer on demand than as a spot node; 0 without a
    spot price."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isfinite(spot), listed - spot, 0.0))
