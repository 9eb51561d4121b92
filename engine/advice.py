"""Which run to make next for a decision, what it costs, saves and teaches, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.belief import RUN_NOISE, SMALLEST_SPREAD, Belief, Points, believe
from engine.candidates import select_candidates
from engine.catalog import Catalog
from engine.cluster import Cluster, Workload
from engine.errors import BadInput
from engine.forecast import FloatArray
from engine.models.base import FittedModel
from engine.planner import cost_of
from engine.sequential import Decision, gains
from engine.surface import Surface
from engine.training import share_of

MOST_COMPOSITIONS = 150
"""Compositions that are weighed against each other: those that could be the best one."""

SURE = 0.05
"""Chance of a changed recommendation below which another run is not worth making."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that could be made next.

    Args:
        usd, seconds: its price and time, expected; the time's central interval at the confidence
            asked for.
        gain_usd: what it is expected to save each time the job then runs.
        changes: probability that the recommendation changes.
        then_low, then_high: the interval of what would be chosen now, expected after this run.
    """

    instance: str | None
    nodes: int
    fraction: float
    seconds: float
    low: float
    high: float
    usd: float
    gain_usd: float
    changes: float
    then_low: float
    then_high: float

    @property
    def pays_after(self) -> float | None:
        """Runs of the job after which it has paid for itself; None where it never does."""
        return self.usd / self.gain_usd if self.gain_usd > 0.0 else None


@dataclass(frozen=True)
class Advice:
    """What would be chosen now, and whether another run is worth making.

    Args:
        next_runs: most saving per dollar first.
        changes: largest probability that a single run changes the recommendation.
        stop: whether to stop; `reason` says why, or why not.
        weighed: compositions that were compared.
    """

    instance: str | None
    nodes: int
    seconds: float
    low: float
    high: float
    usd: float
    p_deadline: float | None
    next_runs: tuple[NextRun, ...]
    changes: float
    stop: bool
    reason: str
    weighed: int


def advise(
    fitted: FittedModel,
    *,
    catalog: Catalog | None,
    instances: Sequence[str] | None = None,
    nodes: Sequence[int] = range(1, 65),
    fractions: Sequence[float] = (1.0,),
    workload: Workload | None = None,
    deadline_seconds: float | None = None,
    confidence: float = 0.9,
    shown: int = 5,
    surface: Surface | None = None,
) -> Advice:
    """The next run for a decision, by its expected saving per dollar.

    Of each type only its best run is named.

    Args:
        catalog: None for the priced types of the profile's own run table.
        fractions: sizes that a run may have, as shares of the workload that is planned for.
        surface: of the same evidence and workload, where there is one already; its candidates and
            limits then hold in place of `catalog` and `instances`.

    Raises:
        BadInput: without a priced composition, or where the model predicts none.
    """
    whole = workload or fitted.profile.reference_workload
    if catalog is not None and surface is None:
        candidates = select_candidates(catalog, profile=fitted.profile, instances=instances)
        surface = Surface.build(fitted, candidates, workload=whole, max_nodes=max(nodes))
    clusters, usd_per_second = _compositions(
        fitted, surface, instances, nodes, whole, deadline_seconds, confidence
    )
    n = len(clusters)
    points = Points.of(clusters, [whole] * n, fitted.profile)
    places = [(place, fraction) for fraction in fractions for place in range(n)]
    trials = Points.of(
        [clusters[place] for place, _ in places],
        [share_of(points.workloads[0], fraction) for _, fraction in places],
        fitted.profile,
    )
    belief = believe(fitted, points.joined(trials))
    decision = Decision(usd_per_second, deadline_seconds, confidence)
    found = gains(decision, belief, n)
    now, then = belief.part(slice(0, n)), belief.part(slice(n, None))
    paid = np.asarray(
        [_usd(trials.clusters[at], then.seconds[at], fitted) for at in range(len(then.mean))]
    )
    order = _best_of_each_type(found.gain_usd / paid, trials.types)[:shown]
    low, high = _interval(then, confidence)
    best = decision.best(now)
    deviation = {at: float(_deviation_after(belief, best, [n + at])) for at in order}
    after = {at: interval_of(belief.mean[best], deviation[at], confidence) for at in order}
    runs = tuple(
        NextRun(
            instance=_name(trials.clusters[at]),
            nodes=int(trials.clusters[at].nodes or 0),
            fraction=float(places[at][1]),
            seconds=float(then.seconds[at]),
            low=float(low[at]),
            high=float(high[at]),
            usd=float(paid[at]),
            gain_usd=float(found.gain_usd[at]),
            changes=float(found.changes[at]),
            then_low=after[at][0],
            then_high=after[at][1],
        )
        for at in order
    )
    p = None if deadline_seconds is None else float(now.p_within(deadline_seconds)[best])
    low, high = _interval(now, confidence)
    stop, reason = _verdict(float(found.changes.max()), runs)
    return Advice(
        instance=_name(clusters[best]),
        nodes=int(clusters[best].nodes or 0),
        seconds=float(now.seconds[best]),
        low=float(low[best]),
        high=float(high[best]),
        usd=_usd(clusters[best], float(now.seconds[best]), fitted),
        p_deadline=p,
        next_runs=runs,
        changes=float(found.changes.max()),
        stop=stop,
        reason=reason,
        weighed=n,
    )


def _best_of_each_type(value: FloatArray, types: Sequence[str]) -> list[int]:
    """Places by value, the best first; of each type the best one."""
    first: dict[str, int] = {}
    for place in np.argsort(-value, kind="stable"):
        first.setdefault(types[place], int(place))
    return list(first.values())


def _verdict(most_likely_change: float, runs: Sequence[NextRun]) -> tuple[bool, str]:
    if most_likely_change < SURE:
        return True, (
            "stop: no single run would change the recommendation with a chance of "
            f"{SURE:.0%} or more"
        )
    if not runs or runs[0].gain_usd <= 0.0:
        return True, "stop: no single run is expected to save anything"
    return False, (f"a run may change the recommendation (chance up to {most_likely_change:.0%})")


def _interval(belief: Belief, confidence: float) -> tuple[FloatArray, FloatArray]:
    from scipy.special import ndtri

    reach = float(ndtri(0.5 + 0.5 * confidence)) * belief.deviation
    return np.exp(belief.mean - reach), np.exp(belief.mean + reach)


def interval_of(mean: float, deviation: float, confidence: float) -> tuple[float, float]:
    """The central interval of one log-normal time, of the mean and deviation of its logarithm."""
    one = Belief(np.asarray([mean]), np.asarray([[deviation**2]]))
    low, high = _interval(one, confidence)
    return float(low[0]), float(high[0])


def _deviation_after(belief: Belief, place: int, runs: Sequence[int]) -> float:
    """Standard deviation of log time at one place once runs at others have been made.

    Under a normal law it does not depend on how they turn out: var - c' (K + noise I)^-1 c.
    """
    across = belief.covariance[runs, place]
    among = belief.covariance[np.ix_(runs, runs)] + RUN_NOISE**2 * np.eye(len(runs))
    left = belief.covariance[place, place] - across @ np.linalg.solve(among, across)
    return math.sqrt(max(float(left), SMALLEST_SPREAD**2))


def _usd(cluster: Cluster, seconds: float, fitted: FittedModel) -> float:
    price = cost_of(cluster, seconds, fitted.profile)
    return math.nan if price is None else price


def _name(cluster: Cluster) -> str | None:
    return cluster.instance.name if cluster.instance else None


def _compositions(
    fitted: FittedModel,
    surface: Surface | None,
    instances: Sequence[str] | None,
    nodes: Sequence[int],
    workload: Workload,
    deadline_seconds: float | None,
    confidence: float,
) -> tuple[list[Cluster], FloatArray]:
    """The compositions that could be best, and what each costs per second in USD."""
    if surface is not None:
        clusters = _from_surface(surface, nodes, deadline_seconds, confidence)
    else:
        clusters = [
            Cluster.of_nodes(instance_type=name, nodes=count)
            for name in instances or fitted.profile.instance_types
            for count in nodes
        ]
        clusters = _promising(fitted, clusters, workload, deadline_seconds)
    hourly = [cost_of(cluster, 3600.0, fitted.profile) for cluster in clusters]
    if not clusters or any(price is None for price in hourly):
        raise BadInput(
            "the cost of a wrong choice needs prices",
            remedy="name a price catalog with --catalog, or add price_hourly_usd to the run table",
        )
    return clusters, np.asarray(hourly, dtype=float) / 3600.0


def _from_surface(
    surface: Surface, nodes: Sequence[int], deadline_seconds: float | None, confidence: float
) -> list[Cluster]:
    low, _ = surface.forecast.interval(confidence)
    cost = surface.costs(surface.candidates.catalog.billing)
    at_best = (np.where(np.isnan(low), surface.forecast.seconds, low)).reshape(surface.shape)
    with np.errstate(invalid="ignore"):
        optimistic = np.nan_to_num(cost * at_best / surface.seconds, nan=np.inf, posinf=np.inf)
    allowed = np.isin(surface.nodes, np.asarray(nodes))
    optimistic = np.where(allowed, optimistic, np.inf)
    if deadline_seconds is not None:
        optimistic = np.where(at_best <= deadline_seconds, optimistic, np.inf)
    order = np.argsort(optimistic, axis=None, kind="stable")[:MOST_COMPOSITIONS]
    kept = [int(place) for place in order if np.isfinite(optimistic.ravel()[place])]
    if not kept:
        fastest = np.where(allowed, surface.seconds, np.inf).ravel()
        kept = [int(place) for place in np.argsort(fastest, kind="stable")[:MOST_COMPOSITIONS]]
        kept = [place for place in kept if np.isfinite(fastest[place])]
    return [surface.cluster(place) for place in kept]


def _promising(
    fitted: FittedModel,
    clusters: Sequence[Cluster],
    workload: Workload,
    deadline_seconds: float | None,
) -> list[Cluster]:
    """The compositions that would be cheapest if all went well."""
    found = fitted.predict_many(clusters=list(clusters), workloads=[workload], confidence=0.9)
    low = np.where(np.isnan(found.low), found.seconds, found.low)
    costs = [
        cost_of(cluster, float(at), fitted.profile)
        for cluster, at in zip(clusters, low, strict=True)
    ]
    optimistic = np.asarray([np.inf if cost is None else cost for cost in costs])
    if deadline_seconds is not None:
        late = low > deadline_seconds
        optimistic = np.where(late, np.inf, optimistic) if not late.all() else low
    order = np.argsort(optimistic, kind="stable")[:MOST_COMPOSITIONS]
    return [clusters[place] for place in order if np.isfinite(optimistic[place])]
