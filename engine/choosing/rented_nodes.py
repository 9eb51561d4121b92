"""Which nodes of clusters are rented, how many of them at spot prices, and their hourly rates.

Arguments broadcast: rows of types, and numbers of nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from engine.caching import LruCache
from engine.catalog import Billing
from engine.choosing.candidates import Candidates
from engine.choosing.limits import Limits
from engine.choosing.sweeps import CACHED_ARRAYS
from engine.cost import master_offer, master_rate, node_rate, service_rate
from engine.forecast import FloatArray, IntArray
from engine.machines.services import least_on_demand


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


@dataclass(frozen=True, eq=False)
class RentedNodes:
    """The rented nodes of clusters of k candidate types under limits.

    It refers to no surface, whose arrays are freed as soon as nothing else does.
    """

    candidates: Candidates
    limits: Limits

    @cached_property
    def owned(self) -> IntArray:
        """(k,) owned nodes of each type, which cost nothing."""
        return self.limits.owned_of(self.candidates.instances)

    def paid(self, rows: IntArray, nodes: FloatArray | IntArray) -> FloatArray:
        """Number of paid nodes of some types; arguments broadcast."""
        if not self.limits.owned:
            return np.asarray(nodes)
        return np.asarray(np.maximum(nodes - self.owned[rows], 0), dtype=float)

    def on_spot(self, rows: IntArray, nodes: FloatArray | IntArray) -> FloatArray:
        """Number of spot nodes among the paid ones, on a spot surface: all but the on-demand nodes
        that the service requires, in place of which owned nodes count; arguments broadcast."""
        paid, least = self.paid(rows, nodes), least_on_demand(self.candidates.catalog)
        return np.minimum(paid, np.maximum(nodes - least, 0)) if least else paid

    def workers_hourly_usd(
        self, billing: Billing, rows: IntArray, nodes: FloatArray | IntArray
    ) -> FloatArray:
        """USD per billed hour of the workers; arguments broadcast."""
        rates, paid = self.rates(billing)[0], self.paid(rows, nodes)
        with np.errstate(invalid="ignore"):
            hourly = np.take(rates, rows, mode="clip") * paid
        if billing.spot and least_on_demand(self.candidates.catalog):
            more = on_demand_premium(self.rates(replace(billing, spot=False))[0], rates)
            hourly += np.take(more, rows, mode="clip") * (paid - self.on_spot(rows, nodes))
        if self.limits.owned:  # no price is needed for what is owned: inf * 0 is 0
            np.nan_to_num(hourly, copy=False, nan=0.0, posinf=np.inf)
        return hourly

    def hourly_usd(
        self, billing: Billing, rows: IntArray, nodes: FloatArray | IntArray
    ) -> FloatArray:
        """USD per billed hour of clusters, the master included; arguments broadcast."""
        return self.workers_hourly_usd(billing, rows, nodes) + self.rates(billing)[1]

    def rates(self, billing: Billing) -> tuple[FloatArray, float]:
        """USD per billed hour of a worker of each type, and of the master (`hourly_rates`)."""
        return self._rates.get(billing, lambda: hourly_rates(self.candidates, billing))

    @cached_property
    def _rates(self) -> LruCache[tuple[FloatArray, float]]:
        return LruCache(CACHED_ARRAYS)
