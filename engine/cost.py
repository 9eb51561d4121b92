"""The cost of a run: granularity, minimum, start-up, master, surcharge, discount, DBUs.

A node that runs for T seconds is billed for

    billed(T) = max(minimum, granularity * ceil((startup + T) / granularity))

(a granularity of 0 bills exactly what ran)
and a cluster of n workers of a type costs

    C(n, T) = billed(T) / 3600 * (n * w + m)
    w = p * (1 - discount) + surcharge * p_on_demand + surcharge_per_vcpu * vCPUs + p_dbu * dbu,
    m the same for the master node. A type with a fee of its own has that in place of
    surcharge * p_on_demand.

With granularity 0, no minimum, start-up, master, surcharge or discount this is OptEx Eq. 9,
C = sum_t c_t n_t T. Prices are USD per node-hour; `p` is the spot price where spot is rented (the
master never is), while the surcharge is the same for spot nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from engine.catalog import Billing, Catalog, Exchange, Offer, Price
from engine.forecast import FloatArray
from engine.units import SECONDS_PER_HOUR

EXACT_BILLING = Billing(granularity_seconds=0.0)
"""OptEx Eq. 9: price x nodes x time, nothing added and nothing rounded."""

_ROUNDING_SLACK = 1e-9
"""A time this close (relatively) above a whole multiple is that multiple, not one more."""

OWNED_MASTER_LINE = "the master is that of the owned nodes and costs nothing here"
"""The assumption behind a cost without the master that the catalog bills."""

OLD_PRICE_DAYS = 180
"""A price of which the day lies further back is old; a fee, where it does so beside its price."""

_NEGLIGIBLE_ROUNDING = 1e-14
"""Rounding seconds below this share of the billed time are floating-point error."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a run in USD, part by part; the parts add up to `total_usd`.

    Args:
        workers_usd, master_usd: running time x price, before anything else.
        startup_usd: all nodes, from the request to the first task.
        rounding_usd: what the granularity and the minimum add.
        discount_usd: zero or negative.
        surcharge_usd: the managed service, by type, as a share of the price and per vCPU.
        dbu_usd: the managed service, by DBUs.
        assumptions: each assumption or estimate behind it, in one line.
        owned: type -> nodes that cost nothing.
    """

    workers_usd: float
    master_usd: float
    startup_usd: float
    rounding_usd: float
    discount_usd: float
    surcharge_usd: float
    dbu_usd: float
    billed_seconds: float
    assumptions: tuple[str, ...] = ()
    owned: Mapping[str, int] = field(default_factory=dict)

    @property
    def master_owned(self) -> bool:
        """Whether the master that the catalog bills is that of nodes that cost nothing."""
        return OWNED_MASTER_LINE in self.assumptions

    @property
    def total_usd(self) -> float:
        return sum(self.parts.values())

    @property
    def parts(self) -> dict[str, float]:
        """Name -> USD of every part, including those that are zero."""
        return {
            "workers": self.workers_usd,
            "master": self.master_usd,
            "startup": self.startup_usd,
            "rounding": self.rounding_usd,
            "discount": self.discount_usd,
            "surcharge": self.surcharge_usd,
            "dbu": self.dbu_usd,
        }


def billed_seconds(seconds: ArrayLike, billing: Billing) -> FloatArray:
    """Seconds billed for each node of a run of `seconds`; any shape, NaN stays NaN."""
    granularity = billing.granularity_seconds
    billed: FloatArray = np.array(seconds, dtype=float)
    billed += billing.startup_seconds
    if granularity > 0.0:
        billed *= (1.0 - _ROUNDING_SLACK) / granularity
        np.ceil(billed, out=billed)
        if granularity != 1.0:
            billed *= granularity
    if billing.minimum_seconds > billing.startup_seconds:
        np.maximum(billed, billing.minimum_seconds, out=billed)
    return billed


def node_rate(
    price_usd_per_hour: ArrayLike, billing: Billing, *, service_usd_per_hour: ArrayLike
) -> FloatArray:
    """USD per billed hour of one node, with the discount and its `service_rate`; arguments
    broadcast."""
    paid = np.asarray(price_usd_per_hour, dtype=float) * (1.0 - billing.discount_fraction)
    return np.asarray(paid + np.asarray(service_usd_per_hour, dtype=float))


def service_rate(offer: Offer, billing: Billing) -> float:
    """USD that the managed service charges for an hour of one node, on demand or spot: surcharge
    and DBUs. Inf where DBUs are metered and the type's are unknown."""
    return surcharge_rate(offer, billing) + dbu_rate(offer, billing)


def dbu_rate(offer: Offer, billing: Billing) -> float:
    """USD per hour for the DBUs of one node; 0 where none are metered."""
    if not billing.usd_per_dbu:
        return 0.0
    return billing.usd_per_dbu * (math.inf if offer.dbu_per_hour is None else offer.dbu_per_hour)


def cost_usd(
    *,
    nodes: ArrayLike,
    seconds: ArrayLike,
    price_usd_per_hour: ArrayLike,
    billing: Billing,
    service_usd_per_hour: ArrayLike,
    master: Offer | None = None,
) -> FloatArray:
    """The cost of runs (OptEx Eq. 9 where billing adds nothing); arguments broadcast.

    Args:
        service_usd_per_hour: the `service_rate` of a worker.
        master: the master node, billed on demand; None where none is billed.
    """
    rate = node_rate(price_usd_per_hour, billing, service_usd_per_hour=service_usd_per_hour)
    with np.errstate(invalid="ignore"):
        workers = np.asarray(nodes) * rate
    # The rate of nodes that are not paid for may be unknown: inf * 0 is 0 here.
    hourly = np.where(np.equal(nodes, 0), 0.0, workers) + master_rate(master, billing)
    return np.asarray(billed_seconds(seconds, billing) / SECONDS_PER_HOUR * hourly)


def master_rate(master: Offer | None, billing: Billing) -> float:
    """USD per billed hour of the master node, everything included; 0 where none is billed."""
    if master is None:
        return 0.0
    price, service = master.on_demand.usd_per_hour, service_rate(master, billing)
    return float(node_rate(price, billing, service_usd_per_hour=service))


def price_of(offer: Offer, billing: Billing) -> Price | None:
    """The price at which a worker is rented, spot or on demand; None without a spot price."""
    return offer.spot if billing.spot else offer.on_demand


def master_offer(catalog: Catalog, billing: Billing) -> Offer | None:
    """The master node, which is billed on demand; None where none is billed.

    Raises:
        UnknownName: when the catalog does not hold the master's type.
    """
    return None if billing.master is None else catalog.offer(billing.master)


def itemised(
    *, nodes: int, seconds: float, offer: Offer, billing: Billing, catalog: Catalog, owned: int = 0
) -> Cost:
    """The cost of one run, part by part.

    Args:
        nodes: workers that are paid for.
        owned: workers that cost nothing.

    Raises:
        UnknownName: when the catalog does not hold the master's type.
        ValueError: for spot billing of a type without a spot price.
    """
    price, name = price_of(offer, billing), offer.instance.name
    if price is None:
        raise ValueError(f"{name} has no spot price")
    billed = float(billed_seconds(seconds, billing))
    workers_usd_per_second = nodes * price.usd_per_hour / SECONDS_PER_HOUR
    master = master_offer(catalog, billing)
    master_usd_per_second = (master.on_demand.usd_per_hour if master else 0.0) / SECONDS_PER_HOUR
    run_seconds, rounding_seconds = _run_and_rounding_seconds(seconds, billed, billing)
    billed_nodes = [*([(nodes, offer)] if nodes else []), *([(1, master)] if master else [])]
    return Cost(
        workers_usd=workers_usd_per_second * run_seconds,
        master_usd=master_usd_per_second * run_seconds,
        startup_usd=(workers_usd_per_second + master_usd_per_second) * billing.startup_seconds,
        rounding_usd=(workers_usd_per_second + master_usd_per_second) * rounding_seconds,
        discount_usd=0.0
        - billing.discount_fraction * (workers_usd_per_second + master_usd_per_second) * billed,
        surcharge_usd=_hourly(surcharge_rate, billed_nodes, billing) * billed / SECONDS_PER_HOUR,
        dbu_usd=_hourly(dbu_rate, billed_nodes, billing) * billed / SECONDS_PER_HOUR,
        billed_seconds=billed,
        assumptions=(
            *owned_lines(owned, name),
            *assumptions(offer if nodes else None, billing, catalog.exchange, master=master),
        ),
        owned={name: owned} if owned else {},
    )


def total_cost(costs: Sequence[Cost]) -> Cost:
    """The total of the costs of the members of one cluster, part by part."""
    first = costs[0]
    totals = {f"{name}_usd": sum(cost.parts[name] for cost in costs) for name in first.parts}
    lines = dict.fromkeys(line for cost in costs for line in cost.assumptions)
    owned = {name: count for cost in costs for name, count in cost.owned.items()}
    return replace(first, **totals, assumptions=tuple(lines), owned=owned)


def _run_and_rounding_seconds(
    seconds: float, billed: float, billing: Billing
) -> tuple[float, float]:
    """The billed seconds without start-up: those of the run itself, and those added by rounding."""
    run_seconds = min(seconds, billed - billing.startup_seconds)  # within the slack less is billed
    rounding_seconds = billed - billing.startup_seconds - run_seconds
    return (
        run_seconds,
        rounding_seconds if rounding_seconds > _NEGLIGIBLE_ROUNDING * billed else 0.0,
    )


def _hourly(
    rate: Callable[[Offer, Billing], float], nodes: Sequence[tuple[int, Offer]], billing: Billing
) -> float:
    """USD per hour at a rate, summed over (nodes, offer)."""
    return sum(number * rate(offer, billing) for number, offer in nodes)


def usd_at(cost: Cost, seconds: float | None, billing: Billing) -> float | None:
    """USD for the nodes of `cost` if they ran for `seconds`; None for None. Scaling the total keeps
    it monotonic in time, where summing the parts may err in the last digit.

    Args:
        billing: the rules by which `cost` was itemised.
    """
    if seconds is None:
        return None
    return float(usd_along(cost.total_usd, cost.billed_seconds, seconds, billing))


def usd_along(
    usd: FloatArray | float,
    billed: FloatArray | float,
    seconds: FloatArray | float,
    billing: Billing,
) -> FloatArray:
    """USD for clusters that cost `usd` for `billed` seconds, if they ran for `seconds`; any shape,
    NaN where one of them is unknown."""
    billed, now = np.broadcast_arrays(np.asarray(billed, float), billed_seconds(seconds, billing))
    share = np.divide(now, billed, out=np.ones_like(billed), where=billed != 0.0)
    return np.asarray(usd * share)


def owned_lines(nodes: int, name: str) -> tuple[str, ...]:
    """The line about nodes that are not paid for; none without such nodes."""
    if not nodes:
        return ()
    statement = "1 node is owned and costs" if nodes == 1 else f"{nodes} nodes are owned and cost"
    return (f"{name}: {statement} nothing here, neither price nor the managed service",)


def surcharge_rate(offer: Offer, billing: Billing) -> float:
    """USD that the managed service charges for an hour of one node, without DBUs: the type's own
    fee, or else the share of its on-demand price, and the fee per vCPU."""
    per_vcpu = billing.surcharge_usd_per_vcpu_hour * offer.instance.vcpus
    if billing.surcharge_fraction and offer.surcharge is not None:
        return offer.surcharge.usd_per_hour + per_vcpu
    return billing.surcharge_fraction * offer.on_demand.usd_per_hour + per_vcpu


def assumptions(
    worker: Offer | None,
    billing: Billing,
    exchange: Exchange | None = None,
    *,
    master: Offer | None = None,
) -> tuple[str, ...]:
    """Every assumption, estimate and custom term behind a cost, one line each.

    Args:
        worker: None where no worker is paid for.
        master: None where none is billed.
    """
    if worker is None and master is None:  # nothing is billed
        return (OWNED_MASTER_LINE,) if billing.master_owned else ()
    lines: list[str] = []
    price = None if worker is None else price_of(worker, billing)
    head = None if master is None else master.on_demand
    if price is not None and price.estimated:
        lines.append(f"price estimated ({price.date}): {price.source}")
    if head is not None and head.estimated and head != price:
        lines.append(f"master's price estimated ({head.date}): {head.source}")
    if exchange is not None:
        lines.append(
            f"prices converted from {exchange.currency} at {exchange.usd:g} USD "
            f"({exchange.date}): {exchange.source}"
        )
    lines += billing_notes(billing, [offer for offer in (worker, master) if offer is not None])
    if billing.discount_fraction:
        lines.append(f"discount of {100 * billing.discount_fraction:.3g} % off the instance prices")
    return tuple(lines)


def billing_notes(billing: Billing, offers: Sequence[Offer] = ()) -> list[str]:
    """The assumptions behind the billing rules, one line each.

    Args:
        offers: the nodes that are billed; without any, what holds for types without a fee of their
            own.
    """
    lines = _service_lines(billing, offers)
    if billing.startup_note:
        startup = (
            f"{billing.startup_seconds:.0f} s assumed (not in the time)"
            if billing.startup_seconds
            else "not billed (nor in the time)"
        )
        lines.append(f"start-up {startup}: {billing.startup_note}")
    if billing.master_owned:
        lines.append(OWNED_MASTER_LINE)
    if billing.master and billing.master_note:
        lines.append(f"master {billing.master} assumed: {billing.master_note}")
    if billing.platform_note:
        lines.append(billing.platform_note)
    return lines


def _service_lines(billing: Billing, offers: Sequence[Offer]) -> list[str]:
    """The assumptions behind the managed service's price, one line each."""
    lines, note = [], billing.surcharge_note or "no price list tells it"
    verb = " assumed" if billing.surcharge_assumed else ""
    if billing.surcharge_fraction > 0:
        by_share = not offers or any(offer.surcharge is None for offer in offers)
        if by_share and billing.surcharge_assumed:
            lines.append(f"surcharge {100 * billing.surcharge_fraction:.3g} % assumed: {note}")
        own_lines = (_own_surcharge_line(offer, billing.surcharge_fraction) for offer in offers)
        lines += dict.fromkeys(filter(None, own_lines))
    if billing.surcharge_usd_per_vcpu_hour > 0:
        fee = billing.surcharge_usd_per_vcpu_hour
        lines.append(f"surcharge ${fee:g} per vCPU and hour{verb}: {note}")
    if billing.usd_per_dbu is not None:
        lines.append(f"DBU at ${billing.usd_per_dbu:g}: {billing.dbu_note or 'not said by whom'}")
    return lines


def _own_surcharge_line(offer: Offer, share: float) -> str:
    """What is to be said of a type's own fee; "" where it is known. An old one that is the share of
    the price of today has not changed, as the price has not."""
    own, on_demand = offer.surcharge, offer.on_demand
    if own is None:
        return ""
    line = f"surcharge ${own.usd_per_hour:g} per hour of {offer.instance.name}"
    if own.estimated:
        return f"{line} assumed ({own.date}): {own.source}"
    is_old = (on_demand.date - own.date).days > OLD_PRICE_DAYS
    is_share = math.isclose(own.usd_per_hour, share * on_demand.usd_per_hour, rel_tol=1e-6)
    return f"{line} as published {own.date}" if is_old and not is_share else ""


def rate_ratio_terms(billing: Billing, offers: Iterable[Offer]) -> Billing:
    """The part of a billing on which the ratios of the types' hourly rates depend.

    Cost rises with time and with the hourly rate, whatever the granularity, minimum, start-up and
    master, and discount and surcharge scale all on-demand rates alike. Spot rates and fees by type,
    per vCPU or by DBUs affect some types more than others.
    """
    by_share = billing.surcharge_fraction > 0.0
    if not (
        billing.spot
        or billing.surcharge_usd_per_vcpu_hour
        or billing.usd_per_dbu is not None
        or (by_share and any(offer.surcharge is not None for offer in offers))
    ):
        return Billing()
    return Billing(
        spot=billing.spot,
        discount_fraction=billing.discount_fraction,
        surcharge_fraction=billing.surcharge_fraction,
        surcharge_usd_per_vcpu_hour=billing.surcharge_usd_per_vcpu_hour,
        usd_per_dbu=billing.usd_per_dbu,
    )
