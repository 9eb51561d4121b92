"""Purchase options: the types of a surface, on demand or as spot nodes, with their prices."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from engine.catalog import Billing
from engine.choosing.surface import Surface
from engine.forecast import BoolArray, IntArray
from engine.machines.services import least_on_demand
from engine.mixing.beyond_surface import BeyondSurface
from engine.mixing.market import Market, MixResult, SpotShare
from engine.mixing.mix_law import MixLaw, beyond_of


def rents_both_ways(surface: Surface, billing: Billing, most_types: int) -> bool:
    """Whether a search rents a type both on demand and as spot nodes: under a maximum share of
    these, and for mixes where the service rents some nodes on demand whatever is asked. (Of one
    type alone the surface knows how many these are.)"""
    least = least_on_demand(surface.candidates.catalog) if most_types > 1 else 0
    return billing.spot and (surface.limits.max_spot is not None or least > 0)


@dataclass(frozen=True, eq=False)
class PurchaseOptions:
    """The rows of a search: the types of a surface, and how each is rented.

    Args:
        base: (r,) row of the surface.
        spot: (r,) whether the nodes are spot nodes.
        market: prices and limits of the rows.
        beyond: forecasts beyond the surface; None for none.
    """

    billing: Billing
    base: IntArray
    spot: BoolArray
    market: Market
    beyond: BeyondSurface | None = None

    @classmethod
    def of(
        cls, surface: Surface, billing: Billing, max_nodes: int, *, split: bool = False
    ) -> PurchaseOptions:
        """All types rented one way, or both ways (`rents_both_ways`).

        Without a maximum share of spot nodes all are such nodes, as in clusters of one type, but
        for those that the service rents on demand beside them.

        Raises:
            BadInput: for such a share where no type has a spot price.
        """
        constraints, k = surface.constraints, surface.shape[0]
        all_rows, beyond = np.arange(k), beyond_of(surface)
        if not split:
            rates, head = surface.rented.rates(billing)
            most = constraints.most(max_nodes)
            market = Market.of(rates, head, billing, most, constraints, surface.rented.owned)
            return cls(billing, all_rows, np.full(k, billing.spot), market, beyond)
        max_spot, least = surface.limits.max_spot, least_on_demand(surface.candidates.catalog)
        if max_spot is not None:
            surface.candidates.require_spot_price("max-spot", "leave the share and spot out")
        rates, head = surface.rented.rates(replace(billing, spot=False))
        spot_rates, _ = surface.rented.rates(billing)
        most = on_demand = constraints.most(max_nodes)
        rows = np.flatnonzero(spot_rates < rates)
        if max_spot is None:  # on demand only where the service requires it
            rows = np.flatnonzero(np.isfinite(spot_rates))
            rates = np.where(np.isfinite(spot_rates), rates, np.inf)
            on_demand = np.minimum(most, np.maximum(surface.rented.owned, least))
        base = np.append(all_rows, rows)
        spot = np.append(np.zeros(k, dtype=bool), np.ones(len(rows), dtype=bool))
        owned = np.where(spot, 0, surface.rented.owned[base])
        market = Market.of(
            np.append(rates, spot_rates[rows]), head, billing, np.append(on_demand, most[rows]),
            constraints.take(base), owned if owned.any() else None,
        )  # fmt: skip
        largest_share, only_owned = (1.0, owned) if max_spot is None else (max_spot, None)
        share = SpotShare(base, spot, largest_share, least, only_owned)
        return cls(billing, base, spot, replace(market, share=share), beyond)

    def law(self, surface: Surface) -> MixLaw:
        law = MixLaw.of(surface, self.beyond)
        if len(self.base) == len(law.slots) and self.market.share is None:
            return law
        rows = self.base[self.spot]
        return law.with_spot(rows, surface.interruption_rates[rows])


def supporting_points(
    mix: MixResult, law: MixLaw, options: PurchaseOptions, surface: Surface
) -> list[int]:
    """Flat indices of the surface points from which the time of a mix is computed."""
    rows, counts = np.asarray(mix.rows), np.asarray(mix.counts)
    equivalent_nodes = (counts * law.capacity[rows]).sum() / law.capacity[rows]
    slowest_nodes = law.slowest_equivalents(rows[None], counts[None])[0]
    slowest = np.flatnonzero(np.isfinite(slowest_nodes))
    points: list[int] = []
    for row, count in zip(
        np.append(rows, rows[slowest]),
        np.append(equivalent_nodes, slowest_nodes[slowest]),
        strict=True,
    ):
        columns = [
            min(nodes, surface.max_nodes) - 1 for nodes in law.node_counts.neighbours(float(count))
        ]
        points += [int(options.base[row]) * surface.max_nodes + column for column in columns]
    return list(dict.fromkeys(points))
