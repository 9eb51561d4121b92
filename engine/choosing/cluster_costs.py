"""Costs, and times on spot nodes, of clusters of one type that the caller names.

The recommender compares whole grids (`engine.choosing.surface`); here a few clusters are priced by
the same rules, one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.catalog import Billing, Offer
from engine.choosing.interruptions import LostWork, interruption_rate, with_interruption_delays
from engine.cluster import Cluster, Workload
from engine.cost import EXACT_BILLING, assumptions, cost_usd, master_offer, service_rate
from engine.errors import BadInput
from engine.machines.services import least_on_demand, on_demand_line, spot_nodes
from engine.models.base import FittedModel, Predictions
from engine.profile import Profile


def predict_on_spot(
    fitted: FittedModel,
    *,
    clusters: Sequence[Cluster],
    workloads: Sequence[Workload] | None = None,
    confidence: float = 0.9,
) -> Predictions:
    """`FittedModel.predict_many` on spot nodes, as many as the service allows: what interruptions
    are expected to cost is in the times and intervals, as in those of `recommend`.

    Raises:
        BadInput: for a cluster that is not of one type of a catalog, or whose type has no spot
            price, and as `predict_many`.
    """
    predictions = fitted.predict_many(clusters=clusters, workloads=workloads, confidence=confidence)
    rates = [interruption_rate(_spot_offer(cluster)) * _spot_share(cluster) for cluster in clusters]
    rate = np.broadcast_to(np.asarray(rates), predictions.seconds.shape)
    nodes = np.broadcast_to([float(cluster.nodes or 1) for cluster in clusters], rate.shape)
    work = LostWork.of(fitted.profile.largest_run)
    delayed = with_interruption_delays(predictions.forecast, work, rate=rate, square=rate / nodes)
    return Predictions.of(predictions.model, delayed, confidence)


def _spot_share(cluster: Cluster) -> float:
    """Spot nodes / nodes, where spot nodes are asked for."""
    if cluster.catalog is None:
        return 1.0
    nodes = cluster.nodes or 1
    return spot_nodes(cluster.catalog, nodes) / nodes


def _spot_offer(cluster: Cluster) -> Offer:
    """The offer of a cluster's type, which must have a spot price."""
    if cluster.catalog is None or cluster.instance is None:
        raise BadInput("these nodes have no prices of a catalog", remedy="name a type of a catalog")
    offer = cluster.catalog.offer(cluster.instance.name)
    if offer.spot is None:
        raise BadInput(
            f"{cluster.instance.name} has no spot price in catalog {cluster.catalog.name}",
            remedy="leave spot out, or name another type",
        )
    return offer


def cost_of(
    cluster: Cluster, seconds: float | None, profile: Profile, *, spot: bool = False
) -> float | None:
    """What running a cluster for `seconds` costs in USD, by its catalog's billing rules.

    Nodes without a catalog cost what the profile's run table says, with nothing added (OptEx
    Eq. 9). None where the price or the time is unknown, for clusters of executors, and for mixes.

    Raises:
        BadInput: for a time below zero.
    """
    if seconds is not None and seconds < 0.0:
        raise BadInput(f"a time must be at least zero, not {seconds:g} s")
    tariff = _tariff(cluster, profile, spot=spot)
    if tariff is None or seconds is None or not np.isfinite(seconds):
        return None
    usd = cost_usd(
        nodes=cluster.groups[0].nodes,
        seconds=seconds,
        price_usd_per_hour=tariff.price_usd_per_hour,
        service_usd_per_hour=tariff.service_usd_per_hour,
        master=tariff.master,
        billing=tariff.billing,
    )
    return float(usd) if np.isfinite(usd) else None


def cost_assumptions(cluster: Cluster, *, spot: bool = False) -> tuple[str, ...]:
    """What of the costs of nodes by a catalog's rules rests on an assumption or an estimate, one
    line each; nothing for others."""
    catalog, instance = cluster.catalog, cluster.instance
    if catalog is None or instance is None:
        return ()
    billing, offer = replace(catalog.billing, spot=spot), catalog.offers.get(instance.name)
    master = master_offer(catalog, billing)
    on_demand_lines = [on_demand_line(catalog)] if spot and least_on_demand(catalog) else []
    return (
        *on_demand_lines,
        *assumptions(
            offer,
            billing,
            catalog.exchange,
            master=master,
        ),
    )


def observed_price(profile: Profile, instance: str | None) -> float | None:
    """USD per hour of a type in the profile's own run table; None where it tells none. Where its
    runs paid several prices, that of the largest (of equal ones the longest, then the cheapest).

    Args:
        instance: None for nodes of unknown type: their price, if all of them have the same.
    """
    paid = [
        (run, group.price_usd_per_hour)
        for run in profile.runs
        for group in run.cluster.groups
        if (group.instance.name if group.instance else None) == instance
    ]
    if instance is None:
        prices = [price for _, price in paid]
        return prices[0] if len(set(prices)) == 1 else None
    known = [
        (run.workload.input_bytes or 0.0, run.seconds, -price)
        for run, price in paid
        if price is not None
    ]
    return -max(known)[2] if known else None


@dataclass(frozen=True, slots=True)
class _Tariff:
    """What a node of a cluster costs per hour on average, and the rules that it is billed by."""

    price_usd_per_hour: float
    service_usd_per_hour: float
    master: Offer | None
    billing: Billing


def _tariff(cluster: Cluster, profile: Profile, *, spot: bool) -> _Tariff | None:
    """None where no price is known."""
    if len(cluster.groups) != 1:
        return None
    catalog, name = cluster.catalog, cluster.instance_name
    listed = cluster.groups[0].price_usd_per_hour or observed_price(profile, name)
    if catalog is None or name is None:
        return None if listed is None else _Tariff(listed, 0.0, None, EXACT_BILLING)
    billing, offer = replace(catalog.billing, spot=spot), catalog.offers.get(name)
    if listed is None and offer is not None:
        listed = offer.on_demand.usd_per_hour
    paid = offer.spot if spot and offer is not None else None
    price = listed if not spot else None if paid is None else paid.usd_per_hour
    if price is None or listed is None:
        return None
    if spot:  # cost is linear in the price, so that the mean of all nodes tells it
        price = listed + _spot_share(cluster) * (price - listed)
    service = _service_rate(offer, billing, listed)
    return _Tariff(price, service, master_offer(catalog, billing), billing)


def _service_rate(offer: Offer | None, billing: Billing, listed: float) -> float:
    """The `service_rate` of a node whose on-demand price is `listed`; of a type that the catalog
    does not have the share of that price alone."""
    if offer is None:
        return billing.surcharge_fraction * listed
    at_price = replace(offer, on_demand=replace(offer.on_demand, usd_per_hour=listed))
    return service_rate(at_price, billing)
