"""The candidate compositions of a decision with their prices: those that could be the best one.

A belief is a joint distribution over all compositions, so few of them can take part. Ranked by the
predicted times and by optimistic ones, the best of both rankings are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import chain, zip_longest
from typing import NamedTuple

import numpy as np

from engine.catalog import Billing
from engine.choosing.cluster_costs import cost_of
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.cluster import Cluster, Workload
from engine.cost import EXACT_BILLING, billed_seconds
from engine.errors import BadInput
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.base import FittedModel
from engine.units import SECONDS_PER_HOUR

MAX_COMPOSITIONS = 150
"""The most compositions that are compared: those that could be the best one."""


@dataclass(frozen=True, eq=False)
class PricedCompositions:
    """n compositions with their prices.

    Args:
        hourly_usd: (n,) USD per billed hour: paid nodes and the master, all included.
        log_slowdown: (n,) log of the factor by which interruptions of spot nodes are expected to
            lengthen a run; 0 on demand.
        slowdown_log_scale: (n,) standard deviation of log time that they add; 0 on demand.
    """

    clusters: tuple[Cluster, ...]
    hourly_usd: FloatArray
    billing: Billing
    log_slowdown: FloatArray
    slowdown_log_scale: FloatArray

    @property
    def usd_per_second(self) -> FloatArray:
        """(n,) marginal cost in USD of each second of a run."""
        return self.hourly_usd / SECONDS_PER_HOUR

    def usd(self, seconds: FloatArray, indices: IntArray) -> FloatArray:
        """(m,) cost in USD of runs of (m,) `seconds` on the compositions at (m,) `indices`."""
        return np.asarray(billed_seconds(seconds, self.billing) * self.usd_per_second[indices])

    def fixed_usd(self, seconds: FloatArray) -> FloatArray:
        """(n,) cost in USD that does not grow with the time: start-up, and what rounding adds at
        (n,) `seconds`."""
        return self.usd(seconds, np.arange(len(seconds))) - self.usd_per_second * seconds


def priced_compositions(
    fitted: FittedModel,
    *,
    surface: Surface | None,
    instances: Sequence[str] | None,
    nodes: Sequence[int],
    workload: Workload,
    goal: Goal,
    billing: Billing | None,
) -> PricedCompositions:
    """The compositions that could be best for a goal.

    Args:
        surface: None for the priced types of the profile's own run table.
        billing: of the surface's catalog; None for what the catalog says.

    Raises:
        BadInput: without a priced composition, and for a type that no run is of.
    """
    if surface is None:
        priced = _of_run_table(fitted, instances, nodes, workload, goal)
    else:
        priced = _of_surface(surface, nodes, goal, billing or surface.candidates.catalog.billing)
    if not priced.clusters:
        raise BadInput(
            "the cost of a wrong choice needs prices",
            remedy="name a price catalog with --catalog, or add instance_type and price_hourly_usd "
            "to the run table",
        )
    return priced


def _of_surface(
    surface: Surface, nodes: Sequence[int], goal: Goal, billing: Billing
) -> PricedCompositions:
    """Clusters of one type from a surface: all on demand, or as many spot nodes as the managed
    service allows."""
    surface, billing = surface.for_purchase_option(billing)
    eligible = np.isfinite(surface.seconds) & np.isin(surface.nodes, np.asarray(nodes))
    kept = could_be_best(_scenarios(surface, billing, goal, eligible), goal)
    rows, columns = np.divmod(kept, surface.max_nodes)
    log_slowdown, slowdown_log_scale = _slowdown_by_interruptions(surface, kept)
    return PricedCompositions(
        clusters=tuple(surface.cluster(int(index)) for index in kept),
        hourly_usd=surface.rented.hourly_usd(billing, rows, columns + 1),
        billing=billing,
        log_slowdown=log_slowdown,
        slowdown_log_scale=slowdown_log_scale,
    )


def _scenarios(
    surface: Surface, billing: Billing, goal: Goal, eligible: BoolArray
) -> list[Scenario]:
    """The eligible points of a surface as predicted, and at the lower ends of their intervals."""
    low, _ = surface.interrupted_forecast.interval(goal.confidence)
    seconds, costs = surface.seconds, surface.costs(billing)
    lowest_seconds = np.where(np.isnan(low), surface.interrupted_forecast.seconds, low).reshape(
        surface.shape
    )

    def or_inf(values: FloatArray) -> FloatArray:
        known = np.nan_to_num(values, nan=np.inf, posinf=np.inf)
        return np.asarray(np.where(eligible, known, np.inf).ravel())

    with np.errstate(invalid="ignore"):
        lowest_costs = costs * lowest_seconds / seconds
    by_time = goal.minimises == "time"
    as_predicted = Scenario(
        or_inf(np.exp(surface.log_least_deadlines(goal.confidence))),
        or_inf(costs),
        or_inf(seconds if by_time else costs),
    )
    optimistic = Scenario(
        or_inf(lowest_seconds),
        or_inf(lowest_costs),
        or_inf(lowest_seconds if by_time else lowest_costs),
    )
    return [as_predicted, optimistic]


def _slowdown_by_interruptions(surface: Surface, points: IntArray) -> tuple[FloatArray, FloatArray]:
    """(m,) log of the factor on the time, and the scale that it adds to the log time; 0 where
    unknown."""
    uninterrupted, interrupted = surface.forecast, surface.interrupted_forecast
    with np.errstate(invalid="ignore"):
        log_slowdown = np.log(interrupted.seconds[points] / uninterrupted.seconds[points])
        scales = interrupted.log_scale[points], uninterrupted.log_scale[points]
        added_variance = np.square(scales[0]) - np.square(scales[1])
    return np.nan_to_num(log_slowdown), np.sqrt(np.maximum(np.nan_to_num(added_variance), 0.0))


def _of_run_table(
    fitted: FittedModel,
    instances: Sequence[str] | None,
    nodes: Sequence[int],
    workload: Workload,
    goal: Goal,
) -> PricedCompositions:
    """Clusters of the types whose prices the run table gives, at exactly these prices."""
    clusters = [
        Cluster.of_nodes(instance_type=name, nodes=count)
        for name in _matching_types(instances, fitted.profile.instance_types)
        for count in nodes
    ]
    if not clusters:
        return PricedCompositions((), np.zeros(0), EXACT_BILLING, np.zeros(0), np.zeros(0))
    hourly = [cost_of(cluster, SECONDS_PER_HOUR, fitted.profile) for cluster in clusters]
    rates = np.asarray([np.inf if price is None else price for price in hourly])
    predictions = fitted.predict_many(
        clusters=clusters, workloads=[workload], confidence=goal.confidence
    )
    scenarios = []
    for bound in (predictions.high, predictions.low):
        seconds = np.where(np.isnan(bound), predictions.seconds, bound)
        seconds = np.where(np.isfinite(seconds), seconds, np.inf)
        expected_seconds = np.where(np.isfinite(predictions.seconds), predictions.seconds, np.inf)
        bounding_seconds = expected_seconds if bound is predictions.high else seconds
        cost = rates / SECONDS_PER_HOUR * bounding_seconds
        scenarios.append(
            Scenario(seconds, cost, bounding_seconds if goal.minimises == "time" else cost)
        )
    kept = could_be_best(scenarios, goal)
    zeros = np.zeros(len(kept))
    kept_clusters = tuple(clusters[index] for index in kept)
    return PricedCompositions(kept_clusters, rates[kept], EXACT_BILLING, zeros, zeros)


def _matching_types(instances: Sequence[str] | None, known: Sequence[str]) -> list[str]:
    """The known types that match any of the patterns; all of them without patterns."""
    names: dict[str, None] = {}
    for pattern in known if instances is None else instances:
        matches = [name for name in known if name == pattern or fnmatchcase(name, pattern)]
        if not matches:
            raise BadInput(
                f"no run is of a type {pattern!r}",
                where="instances",
                remedy="name a price catalog with --catalog to have it looked up",
                choices=known,
            )
        names.update(dict.fromkeys(matches))
    return list(names)


class Scenario(NamedTuple):
    """One assumption about the times of n compositions: (n,) arrays, inf where unavailable.

    Args:
        seconds: compared with the deadline.
        cost_usd: compared with the budget.
        objective: what the goal minimises: cost in USD or time in seconds.
    """

    seconds: FloatArray
    cost_usd: FloatArray
    objective: FloatArray


def could_be_best(scenarios: Sequence[Scenario], goal: Goal) -> IntArray:
    """(m,) indices of at most `MAX_COMPOSITIONS` compositions: the best of each scenario in turn,
    so that neither the safe ones nor the optimistic ones crowd out the other."""
    rankings = [_ranking(scenario, goal) for scenario in scenarios]
    interleaved = chain.from_iterable(zip_longest(*rankings, fillvalue=-1))
    indices = dict.fromkeys(index for index in interleaved if index >= 0)
    return np.asarray(list(indices)[:MAX_COMPOSITIONS], dtype=np.int64)


def _ranking(scenario: Scenario, goal: Goal) -> list[int]:
    """Indices of the compositions that satisfy the goal, best first. Where none does, of all by
    the larger ratio to a limit, closest first, as the optimiser's nearest miss."""
    seconds, cost, objective = scenario
    possible = np.isfinite(cost) & np.isfinite(seconds)
    violation = np.full(cost.shape, -np.inf)
    if goal.budget_usd is not None:
        violation = cost / goal.most_usd
    if goal.deadline_seconds is not None:
        violation = np.maximum(violation, seconds / goal.deadline_seconds)
    kept = possible & (violation <= 1.0)
    possible, objective = (kept, objective) if kept.any() else (possible, violation)
    order = np.argsort(np.where(possible, objective, np.inf), kind="stable")[:MAX_COMPOSITIONS]
    return [int(index) for index in order[possible[order]]]
