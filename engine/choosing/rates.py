"""What the nodes of the candidate types cost per billed hour."""

from __future__ import annotations

import numpy as np

from engine.catalog import Billing
from engine.choosing.candidates import Candidates
from engine.cost import master_offer, master_rate, node_rate, service_rate
from engine.forecast import FloatArray


def rates_of(candidates: Candidates, billing: Billing) -> tuple[FloatArray, float]:
    """USD per billed hour: (k,) of a worker, inf without a spot price, and of the master.

    Raises:
        UnknownName: when the catalog does not hold the master's type.
    """
    listed, spot = candidates.prices
    paid = spot if billing.spot else listed
    service = [service_rate(offer, billing) for offer in candidates.offers]
    rates = node_rate(paid, listed, billing, service_usd_per_hour=service)
    return rates, master_rate(master_offer(candidates.catalog, billing), billing)


def dearer_by(listed: FloatArray, spot: FloatArray) -> FloatArray:
    """(k,) USD per billed hour that a node costs more on demand than as a spot node; 0 where it has
    no spot price."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(np.isfinite(spot), listed - spot, 0.0))
