"""Which run to make next for a decision, what it costs, saves and teaches, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.belief import (
    RUN_NOISE,
    RUNS_FOR_PROCESS,
    SMALLEST_SPREAD,
    Belief,
    Points,
    believe,
    p_within,
)
from engine.candidates import select_candidates
from engine.catalog import Billing, Catalog
from engine.cluster import Cluster, Workload
from engine.design import IntArray
from engine.errors import BadInput
from engine.forecast import FloatArray
from engine.models.base import FittedModel
from engine.recommendation import Goal
from engine.sequential import Decision, Gains, gains, is_opening, told
from engine.surface import Surface
from engine.training import share_of
from engine.weighed import Weighed, weighed

SURE = 0.05
"""Chance of a changed recommendation below which another run is not worth making."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that could be made next.

    Args:
        usd, seconds: its price and time, expected; the time's central interval at the confidence
            asked for.
        gain_usd: what it is expected to save each time the job then runs; None where the time is
            to be the least, and `gain_seconds` of it are saved.
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
    gain_usd: float | None
    gain_seconds: float | None
    changes: float
    then_low: float
    then_high: float

    @property
    def pays_after(self) -> float | None:
        """Runs of the job after which it has paid for itself; None where it never does, or saves
        no money."""
        return self.usd / self.gain_usd if self.gain_usd else None


@dataclass(frozen=True)
class Advice:
    """What would be chosen now, and whether another run is worth making.

    Args:
        next_runs: most saving per dollar first (of the first runs: most told).
        changes: largest probability that a single run changes the recommendation.
        stop: whether to stop; `reason` says why, or why not.
        weighed: compositions that were compared.
        by: what was weighed, in words.
        spot: whether at spot prices, with the interruptions that are expected.
        opening: whether so little is known that the next runs are those that tell most.
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
    by: str
    spot: bool
    opening: bool = False


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
    budget_usd: float | None = None,
    billing: Billing | None = None,
) -> Advice:
    """The next run for a decision, by its expected saving per dollar; the first runs of a job that
    has no log, by what they tell of all compositions per dollar.

    The decision is the one that the optimiser makes: least cost within the deadline and the budget,
    or with a budget alone least time. It is among whole clusters of one type, all on demand or all
    of spot nodes. Of each type only its best run is named.

    Args:
        catalog: None for the priced types of the profile's own run table.
        fractions: sizes that a run may have, as shares of the workload that is planned for.
        surface: of the same evidence and workload, where there is one already; its candidates and
            limits then hold in place of `catalog` and `instances`.
        budget_usd: the expected cost of a run of the job may not exceed it.
        billing: of the catalog, such as at spot prices; None for what the catalog says.

    Raises:
        BadInput: without a priced composition, for spot prices without a catalog, or where the
            model predicts none.
    """
    whole = workload or fitted.profile.reference_workload
    goal = Goal(deadline_seconds, budget_usd, confidence, max(nodes))
    if catalog is not None and surface is None:
        candidates = select_candidates(catalog, profile=fitted.profile, instances=instances)
        surface = Surface.build(fitted, candidates, workload=whole, max_nodes=max(nodes))
    if surface is None and billing is not None and billing.spot:
        raise BadInput("spot prices need a catalog", remedy="name one with --catalog")
    found = weighed(
        fitted, surface=surface, instances=instances, nodes=nodes, workload=whole, goal=goal,
        billing=billing,
    )  # fmt: skip
    n = len(found.clusters)
    points = Points.of(found.clusters, [whole] * n, fitted.profile)
    places = [(place, fraction) for fraction in fractions for place in range(n)]
    trials = Points.of(
        [found.clusters[place] for place, _ in places],
        [share_of(points.workloads[0], fraction) for _, fraction in places],
        fitted.profile,
    )
    belief = believe(fitted, points.joined(trials))
    decision = _decision(found, belief.part(slice(0, n)), goal)
    learnt = gains(decision, belief, n)
    best = decision.best(belief.part(slice(0, n)))
    opening = is_opening(fitted.profile)
    runs = _next_runs(
        Trials(trials, np.asarray([place for place, _ in places]), [f for _, f in places]),
        learnt, belief, found, best=best, goal=goal, shown=shown,
        worth=told(belief, n) if opening else learnt.gain,
    )  # fmt: skip
    mean, deviation = decision.held_up(belief.mean[:n], belief.deviation[:n])
    seconds = np.exp(mean)
    low, high = interval_of(mean[best], deviation[best], confidence)
    most_likely_change = float(learnt.changes.max())
    stop, reason = (False, FIRST_RUNS) if opening else _verdict(most_likely_change, runs)
    return Advice(
        instance=_name(found.clusters[best]),
        nodes=int(found.clusters[best].nodes or 0),
        seconds=float(seconds[best]),
        low=low,
        high=high,
        usd=float(found.usd(seconds, np.arange(n))[best]),
        p_deadline=None
        if deadline_seconds is None
        else float(p_within(mean, deviation, deadline_seconds)[best]),
        next_runs=runs,
        changes=most_likely_change,
        stop=stop,
        reason=reason,
        weighed=n,
        by=decision.weighs,
        spot=found.billing.spot,
        opening=opening,
    )


FIRST_RUNS = (
    f"fewer than {RUNS_FOR_PROCESS} run times: the first runs are those that tell most of all "
    "compositions for their price"
)

CENT = 0.01
"""A run that costs less, such as one on nodes that are owned, counts as so much where savings are
compared per dollar."""


def _decision(found: Weighed, now: Belief, goal: Goal) -> Decision:
    """The decision among compositions whose times are believed so."""
    return Decision(
        found.usd_per_second,
        goal.deadline_seconds,
        goal.confidence,
        fixed_usd=found.fixed_usd(np.exp(now.mean + found.longer)),
        budget_usd=None if goal.budget_usd is None else goal.most_usd,
        least=goal.minimises,
        longer=found.longer,
        spread=found.spread,
    )


class Trials(NamedTuple):
    """m possible runs: where, (m,) on which of the compositions, and on what share of the input."""

    points: Points
    owner: IntArray
    fractions: Sequence[float]


def _next_runs(
    trials: Trials,
    learnt: Gains,
    belief: Belief,
    found: Weighed,
    *,
    best: int,
    goal: Goal,
    shown: int,
    worth: FloatArray,
) -> tuple[NextRun, ...]:
    """The best run of each type, most worth per dollar first.

    Args:
        belief: over the n compositions, followed by the places of the runs.
        best: the composition that would be chosen now.
        worth: (m,) what each run is worth: what it saves, or tells.
    """
    n = len(found.clusters)
    then = belief.part(slice(n, None))
    mean = then.mean + found.longer[trials.owner]
    deviation = np.hypot(then.deviation, found.spread[trials.owner])
    paid = found.usd(np.exp(mean), trials.owner)
    runs = []
    for at in _best_of_each_type(worth / np.maximum(paid, CENT), trials.points.types)[:shown]:
        low, high = interval_of(mean[at], deviation[at], goal.confidence)
        after = math.hypot(_deviation_after(belief, best, [n + at]), found.spread[best])
        middle = belief.mean[best] + found.longer[best]
        then_low, then_high = interval_of(middle, after, goal.confidence)
        cluster, gain = trials.points.clusters[at], float(learnt.gain[at])
        runs.append(
            NextRun(
                instance=_name(cluster),
                nodes=int(cluster.nodes or 0),
                fraction=float(trials.fractions[at]),
                seconds=math.exp(mean[at]),
                low=low,
                high=high,
                usd=float(paid[at]),
                gain_usd=None if goal.minimises == "time" else gain,
                gain_seconds=gain if goal.minimises == "time" else None,
                changes=float(learnt.changes[at]),
                then_low=then_low,
                then_high=then_high,
            )
        )
    return tuple(runs)


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
    if not runs or (runs[0].gain_usd or runs[0].gain_seconds or 0.0) <= 0.0:
        return True, "stop: no single run is expected to save anything"
    return False, (f"a run may change the recommendation (chance up to {most_likely_change:.0%})")


def interval_of(mean: float, deviation: float, confidence: float) -> tuple[float, float]:
    """The central interval of one log-normal time, of the mean and deviation of its logarithm."""
    from scipy.special import ndtri

    reach = float(ndtri(0.5 + 0.5 * confidence)) * deviation
    return math.exp(mean - reach), math.exp(mean + reach)


def _deviation_after(belief: Belief, place: int, runs: Sequence[int]) -> float:
    """Standard deviation of log time at one place once runs at others have been made.

    Under a normal law it does not depend on how they turn out: var - c' (K + noise I)^-1 c.
    """
    across = belief.covariance[runs, place]
    among = belief.covariance[np.ix_(runs, runs)] + RUN_NOISE**2 * np.eye(len(runs))
    left = belief.covariance[place, place] - across @ np.linalg.solve(among, across)
    return math.sqrt(max(float(left), SMALLEST_SPREAD**2))


def _name(cluster: Cluster) -> str | None:
    return cluster.instance.name if cluster.instance else None
