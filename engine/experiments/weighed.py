"""The compositions that a decision is about, and what they cost: those that could be best."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np

from engine.catalog import Billing
from engine.choosing.recommendation import Goal
from engine.choosing.rented import cost_of
from engine.choosing.surface import Surface
from engine.cluster import Cluster, Workload
from engine.cost import EXACT_BILLING, billed_seconds
from engine.errors import BadInput
from engine.forecast import FloatArray, IntArray
from engine.models.base import FittedModel
from engine.units import SECONDS_PER_HOUR

MOST_COMPOSITIONS = 150
"""Compositions that are weighed against each other: those that could be the best one."""


@dataclass(frozen=True, eq=False)
class Weighed:
    """n compositions with their prices.

    Args:
        hourly_usd: (n,) USD per billed hour: paid nodes and the master, all included.
        longer, spread: (n,) log of how much longer interruptions are expected to make a run, and
            the standard deviation of log time that they add; 0 on demand.
    """

    clusters: tuple[Cluster, ...]
    hourly_usd: FloatArray
    billing: Billing
    longer: FloatArray
    spread: FloatArray

    @property
    def usd_per_second(self) -> FloatArray:
        """(n,) what each costs more for every second that it runs longer."""
        return self.hourly_usd / SECONDS_PER_HOUR

    def usd(self, seconds: FloatArray, places: IntArray) -> FloatArray:
        """(m,) cost of runs of so many seconds on the compositions at these places."""
        return np.asarray(billed_seconds(seconds, self.billing) * self.usd_per_second[places])

    def fixed_usd(self, seconds: FloatArray) -> FloatArray:
        """(n,) what does not grow with the time: start-up, and what rounding adds at (n,)
        `seconds`."""
        return self.usd(seconds, np.arange(len(seconds))) - self.usd_per_second * seconds


def weighed(
    fitted: FittedModel,
    *,
    surface: Surface | None,
    instances: Sequence[str] | None,
    nodes: Sequence[int],
    workload: Workload,
    goal: Goal,
    billing: Billing | None,
) -> Weighed:
    """The compositions that could be best for a goal.

    Args:
        surface: None for the priced types of the profile's own run table.
        billing: of the surface's catalog; None for what the catalog says.

    Raises:
        BadInput: without a priced composition, and for a type that no run is of.
    """
    if surface is None:
        found = _of_run_table(fitted, instances, nodes, workload, goal)
    else:
        found = _of_surface(surface, nodes, goal, billing or surface.candidates.catalog.billing)
    if not found.clusters:
        raise BadInput(
            "the cost of a wrong choice needs prices",
            remedy="name a price catalog with --catalog, or add instance_type and price_hourly_usd "
            "to the run table",
        )
    return found


def _of_surface(surface: Surface, nodes: Sequence[int], goal: Goal, billing: Billing) -> Weighed:
    """Whole clusters of one type; of spot nodes as far as its service allows, or none of them."""
    surface, billing = surface.rented(billing)
    low, _ = surface.outlook.interval(goal.confidence)
    seconds, costs = surface.seconds, surface.costs(billing)
    at_best = np.where(np.isnan(low), surface.outlook.seconds, low).reshape(surface.shape)
    wanted = np.isfinite(seconds) & np.isin(surface.nodes, np.asarray(nodes))

    def had(values: FloatArray) -> FloatArray:
        known = np.nan_to_num(values, nan=np.inf, posinf=np.inf)
        return np.asarray(np.where(wanted, known, np.inf).ravel())

    with np.errstate(invalid="ignore"):
        best_cost = costs * at_best / seconds
    by_time = goal.minimises == "time"
    kept = could_be_best(
        [
            Outlook(
                had(np.exp(surface.log_bounds(goal.confidence))), had(costs),
                had(seconds if by_time else costs),
            ),
            Outlook(had(at_best), had(best_cost), had(at_best if by_time else best_cost)),
        ],
        goal,
    )  # fmt: skip
    rows, columns = np.divmod(kept, surface.max_nodes)
    own, on_spot = surface.forecast, surface.outlook
    with np.errstate(invalid="ignore"):
        longer = np.log(on_spot.seconds[kept] / own.seconds[kept])
        added = np.square(on_spot.log_scale[kept]) - np.square(own.log_scale[kept])
    return Weighed(
        clusters=tuple(surface.cluster(int(place)) for place in kept),
        hourly_usd=surface.hourly_usd(billing, rows, columns + 1),
        billing=billing,
        longer=np.nan_to_num(longer),
        spread=np.sqrt(np.maximum(np.nan_to_num(added), 0.0)),
    )


def _of_run_table(
    fitted: FittedModel,
    instances: Sequence[str] | None,
    nodes: Sequence[int],
    workload: Workload,
    goal: Goal,
) -> Weighed:
    """Whole clusters of the types whose prices the runs tell, with nothing added to those."""
    every = [
        Cluster.of_nodes(instance_type=name, nodes=count)
        for name in _named(instances, fitted.profile.instance_types)
        for count in nodes
    ]
    if not every:
        return Weighed((), np.zeros(0), EXACT_BILLING, np.zeros(0), np.zeros(0))
    hourly = [cost_of(cluster, SECONDS_PER_HOUR, fitted.profile) for cluster in every]
    rates = np.asarray([np.inf if price is None else price for price in hourly])
    found = fitted.predict_many(clusters=every, workloads=[workload], confidence=goal.confidence)
    outlooks = []
    for bound in (found.high, found.low):
        seconds = np.where(np.isnan(bound), found.seconds, bound)
        seconds = np.where(np.isfinite(seconds), seconds, np.inf)
        expected = np.where(np.isfinite(found.seconds), found.seconds, np.inf)
        held = expected if bound is found.high else seconds
        cost = rates / SECONDS_PER_HOUR * held
        outlooks.append(Outlook(seconds, cost, held if goal.minimises == "time" else cost))
    kept = could_be_best(outlooks, goal)
    nothing = np.zeros(len(kept))
    clusters = tuple(every[place] for place in kept)
    return Weighed(clusters, rates[kept], EXACT_BILLING, nothing, nothing)


def _named(instances: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The known types that patterns name, all of them without any."""
    found: dict[str, None] = {}
    for pattern in known if instances is None else instances:
        matching = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
        if not matching:
            raise BadInput(
                f"no run is of a type {pattern!r}",
                where="instances",
                remedy="name a price catalog with --catalog to have it looked up",
                choices=known,
            )
        found.update(dict.fromkeys(matching))
    return list(found)


class Outlook(NamedTuple):
    """(n,) times and costs of the compositions if things go in some way; inf for what is not to be
    had.

    Args:
        seconds: held against the deadline; cost_usd: held against the budget.
        least: what is to be the least.
    """

    seconds: FloatArray
    cost_usd: FloatArray
    least: FloatArray


def could_be_best(outlooks: Sequence[Outlook], goal: Goal) -> IntArray:
    """(m,) places of at most `MOST_COMPOSITIONS`: the best of each outlook in turn, so that neither
    what is safe nor what would be best if all went well is crowded out by the other."""
    orders = [_in_order(outlook, goal) for outlook in outlooks]
    turns = chain.from_iterable(zip_longest(*orders, fillvalue=-1))
    found = dict.fromkeys(place for place in turns if place >= 0)
    return np.asarray(list(found)[:MOST_COMPOSITIONS], dtype=np.int64)


def _in_order(outlook: Outlook, goal: Goal) -> list[int]:
    """Places that keep the promises of the goal, best first; where none does, those that come
    nearest to them: by the larger of the two ratios, as the optimiser's nearest miss."""
    seconds, cost, least = outlook
    possible = np.isfinite(cost) & np.isfinite(seconds)
    missed = np.full(cost.shape, -np.inf)
    if goal.budget_usd is not None:
        missed = cost / goal.most_usd
    if goal.deadline_seconds is not None:
        missed = np.maximum(missed, seconds / goal.deadline_seconds)
    kept = possible & (missed <= 1.0)
    possible, least = (kept, least) if kept.any() else (possible, missed)
    order = np.argsort(np.where(possible, least, np.inf), kind="stable")[:MOST_COMPOSITIONS]
    return [int(place) for place in order[possible[order]]]
