"""The next run for a decision: what it costs, saves and teaches, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.catalog import Billing, Catalog
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.cluster import Workload
from engine.errors import BadInput
from engine.experiments.belief import RUNS_FOR_PROCESS, Belief
from engine.experiments.chosen_now import ChosenNow, chosen_now
from engine.experiments.prospects import Prospects, prospects_of
from engine.experiments.sequential import is_opening, told
from engine.experiments.weighed import Weighed, weighed
from engine.forecast import FloatArray, Forecast
from engine.models.base import FittedModel
from engine.notices import Notice
from engine.optimiser import surface_of
from engine.units import format_share

SURE = 0.05
"""Another run is not worth making if its chance of changing the recommendation is smaller."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that could be made next.

    Args:
        usd, seconds: expected price and time.
        low, high: central interval of `seconds` at the requested confidence.
        gain_usd: expected saving each time the job runs afterwards; None where time is minimised,
            and `gain_seconds` are saved instead.
        changes: probability that the recommendation changes.
        then_low, then_high: the interval of the current choice as expected after this run; None if
            it has none now.
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
    then_low: float | None
    then_high: float | None

    @property
    def pays_after(self) -> float | None:
        """Runs of the job after which it has paid for itself; None if it saves no money."""
        return self.usd / self.gain_usd if self.gain_usd else None


@dataclass(frozen=True)
class Advice:
    """The current choice, and whether another run is worth making.

    Args:
        instance, nodes, seconds, usd: the choice, with its expected time and cost.
        low, high: central interval of `seconds`; None, like `p_deadline`, if the model gives none.
        next_runs: by saving per dollar, or in the `opening` by information per dollar.
        changes: largest probability that a single run changes the recommendation.
        stop: whether to stop; `reason` says why or why not.
        weighed: how many compositions were compared.
        by: what was weighed, in words.
        spot: whether at spot prices, with the expected interruptions.
        opening: whether so little is known that the next runs are chosen for information.
        notices: about the choice and the model, as in a recommendation.
    """

    instance: str | None
    nodes: int
    seconds: float
    low: float | None
    high: float | None
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
    notices: tuple[Notice, ...] = ()


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
    """The next run for a decision, by expected saving per dollar; for the first runs of a job
    without a log, by information about all compositions per dollar.

    The decision is the optimiser's: least cost within deadline and budget, or least time with only
    a budget. It is among clusters of one type, all on demand or all spot. For each type only its
    best run is named.

    Args:
        catalog: None for the priced types of the profile's own run table.
        instances: names or globs of types; None for the default candidates.
        nodes: node counts to compare.
        fractions: sizes that a run may have, as shares of the planned workload.
        workload: None for that of the profile's largest run.
        shown: the most runs to name.
        surface: of the same evidence and workload, if already made; its candidates and limits then
            replace `catalog` and `instances`.
        budget_usd: limit on the expected cost of a run of the job.
        billing: for instance at spot prices; None for the catalog's own.

    Raises:
        BadInput: without a priced composition, for spot prices without a catalog, or if the model
            predicts none.
    """
    whole = workload or fitted.profile.reference_workload
    goal = Goal(deadline_seconds, budget_usd, confidence, max(nodes))
    if surface is None and catalog is not None:
        surface = surface_of(
            fitted, catalog, workload=whole, instances=instances, max_nodes=max(nodes)
        )
    if surface is None and billing is not None and billing.spot:
        raise BadInput("spot prices need a catalog", remedy="name one with --catalog")
    found = weighed(
        fitted, surface=surface, instances=instances, nodes=nodes, workload=whole, goal=goal,
        billing=billing,
    )  # fmt: skip
    prospects = prospects_of(fitted, found, whole, fractions, goal)
    now = chosen_now(fitted, prospects.points, found, goal, surface)
    return _advice(prospects, found, now, goal, shown=shown, opening=is_opening(fitted.profile))


def _advice(
    prospects: Prospects, found: Weighed, now: ChosenNow, goal: Goal, *, shown: int, opening: bool
) -> Advice:
    """The current choice, and the next runs by the belief about all compositions."""
    runs = _next_runs(prospects, found, now=now, goal=goal, shown=shown, opening=opening)
    most_likely_change = float(prospects.gains.changes.max())
    stop, reason = _verdict(most_likely_change, runs, opening=opening)
    return Advice(
        instance=found.clusters[now.place].instance_name,
        nodes=int(found.clusters[now.place].nodes or 0),
        seconds=now.seconds,
        low=now.low,
        high=now.high,
        usd=now.usd,
        p_deadline=now.p_deadline,
        next_runs=runs,
        changes=most_likely_change,
        stop=stop,
        reason=reason,
        weighed=len(found.clusters),
        by=prospects.by,
        spot=found.billing.spot,
        opening=opening,
        notices=now.notices,
    )


FIRST_RUNS = (
    f"fewer than {RUNS_FOR_PROCESS} run times: the first runs are those that tell most of all "
    "compositions for their price"
)

CENT = 0.01
"""The least cost of a run when savings per dollar are compared: owned nodes are free."""


def _next_runs(
    prospects: Prospects, found: Weighed, *, now: ChosenNow, goal: Goal, shown: int, opening: bool
) -> tuple[NextRun, ...]:
    """The best run of each type, by saving per dollar or, in the `opening`, by information per
    dollar."""
    n, trials, learnt = len(found.clusters), prospects.trials, prospects.gains
    worth = told(prospects.belief, n) if opening else learnt.gain
    then = prospects.belief.taken(slice(n, None))
    mean = then.mean + found.longer[trials.owner]
    deviation = np.hypot(then.deviation, found.spread[trials.owner])
    paid = found.usd(np.exp(mean), trials.owner)
    low, high = Forecast.of(np.exp(mean), deviation, then.dof).interval(goal.confidence)
    runs = []
    for at in _best_of_each_type(worth / np.maximum(paid, CENT), trials.points.types)[:shown]:
        narrower = _narrower(prospects.belief, found, now.place, n + at)
        cluster, gain = trials.points.clusters[at], float(learnt.gain[at])
        runs.append(
            NextRun(
                instance=cluster.instance_name,
                nodes=int(cluster.nodes or 0),
                fraction=float(trials.fractions[at]),
                seconds=math.exp(mean[at]),
                low=float(low[at]),
                high=float(high[at]),
                usd=float(paid[at]),
                gain_usd=None if goal.minimises == "time" else gain,
                gain_seconds=gain if goal.minimises == "time" else None,
                changes=float(learnt.changes[at]),
                then_low=_nearer(now.low, now.seconds, narrower),
                then_high=_nearer(now.high, now.seconds, narrower),
            )
        )
    return tuple(runs)


def _nearer(end: float | None, seconds: float, narrower: float) -> float | None:
    """The end of an interval whose width in log time shrinks by the factor `narrower`."""
    return None if end is None else seconds * (end / seconds) ** narrower


def _best_of_each_type(value: FloatArray, types: Sequence[str]) -> list[int]:
    """The place of the largest value of each type, largest first."""
    first: dict[str, int] = {}
    for place in np.argsort(-value, kind="stable"):
        first.setdefault(types[place], int(place))
    return list(first.values())


def _verdict(
    most_likely_change: float, runs: Sequence[NextRun], *, opening: bool
) -> tuple[bool, str]:
    """Whether to stop, and why or why not."""
    if opening:
        return False, FIRST_RUNS
    if most_likely_change < SURE:
        return True, (
            "stop: no single run would change the recommendation with a chance of "
            f"{format_share(SURE)} or more"
        )
    if not runs or (runs[0].gain_usd or runs[0].gain_seconds or 0.0) <= 0.0:
        return True, "stop: no single run is expected to save anything"
    chance = format_share(most_likely_change)
    return False, f"a run may change the recommendation (chance up to {chance})"


def _narrower(belief: Belief, found: Weighed, place: int, run: int) -> float:
    """Scale of the next run's log time at `place` after a run at `run`, relative to now.

    For normal beliefs it does not depend on the outcome of that run: var - c^2 / (K + noise).
    """
    across = belief.covariance[run, place]
    told = belief.covariance[run, run] + np.square(belief.noise[run])
    left = belief.covariance[place, place] - across * (across / told)
    now, then = float(belief.deviation[place]), float(belief.scale_at(left)[place])
    return math.hypot(then, found.spread[place]) / math.hypot(now, found.spread[place])
