"""Advice on the next run for a decision: its price, its expected gain, and when to stop."""

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
from engine.experiments.belief import MIN_RUNS_FOR_GAUSSIAN_PROCESS, Belief
from engine.experiments.candidate_runs import RunAnalysis, analyse_runs
from engine.experiments.current_choice import CurrentChoice, current_choice
from engine.experiments.knowledge_gradient import is_opening, variance_reduction
from engine.experiments.priced_compositions import PricedCompositions, priced_compositions
from engine.forecast import FloatArray, Forecast
from engine.models.base import FittedModel
from engine.notices import Notice
from engine.optimiser import surface_of
from engine.units import format_probability, format_share

LEAST_CHANGE_PROBABILITY = 0.05
"""Another run is not worth making if it changes the recommendation with a smaller probability."""


@dataclass(frozen=True, slots=True)
class NextRun:
    """A run that could be made next.

    Args:
        usd, seconds: predicted time (median), and the price of it.
        low, high: central interval of `seconds` at the requested confidence.
        gain_usd: expected saving each time the job runs afterwards, penalties for a missed deadline
            or budget included; None where time is minimised, and `gain_seconds` are saved instead.
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
        """Price / `gain_usd`: runs of the job after which it has paid for itself, avoided penalties
        counted as money; None if it saves none."""
        return self.usd / self.gain_usd if self.gain_usd else None


@dataclass(frozen=True)
class Advice:
    """The current choice, and whether another run is worth making.

    Args:
        instance, nodes, seconds, usd: the choice, with its predicted time and cost.
        low, high: central interval of `seconds`; None, like `p_deadline`, if the model gives none.
        meets_goal: whether the choice meets deadline and budget; otherwise it is the nearest miss.
        next_runs: by expected saving per dollar, or in the `opening` by variance reduction per
            dollar.
        changes: largest probability that a single run changes the recommendation.
        stop: whether to stop; `reason` says why or why not.
        weighed: how many compositions were compared.
        by: the criteria of the decision, in words.
        spot: whether at spot prices, with the expected interruptions.
        opening: whether so little is known that the next runs are chosen by the variance that they
            remove alone.
        by_runs_too: whether the times of `next_runs` also rest on the runs alone (`belief`), and
            not on the model alone, as `seconds` does.
        notices: about the choice and the model, as in a recommendation.
    """

    instance: str | None
    nodes: int
    seconds: float
    low: float | None
    high: float | None
    usd: float
    p_deadline: float | None
    meets_goal: bool
    next_runs: tuple[NextRun, ...]
    changes: float
    stop: bool
    reason: str
    weighed: int
    by: str
    spot: bool
    opening: bool = False
    by_runs_too: bool = False
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
    """The next run for a decision, by expected saving per dollar (the knowledge gradient).

    The first runs of a job without a log are chosen by information about all compositions per
    dollar instead.

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
    planned = workload or fitted.profile.reference_workload
    goal = Goal(deadline_seconds, budget_usd, confidence, max(nodes))
    if surface is None and catalog is not None:
        surface = surface_of(
            fitted, catalog, workload=planned, instances=instances, max_nodes=max(nodes)
        )
    if surface is None and billing is not None and billing.spot:
        raise BadInput("spot prices need a catalog", remedy="name one with --catalog")
    priced = priced_compositions(
        fitted, surface=surface, instances=instances, nodes=nodes, workload=planned, goal=goal,
        billing=billing,
    )  # fmt: skip
    analysis = analyse_runs(fitted, priced, planned, fractions, goal)
    current = current_choice(fitted, analysis.points, priced, goal, surface)
    return _advice(analysis, priced, current, goal, shown=shown, opening=is_opening(fitted.profile))


def _advice(
    analysis: RunAnalysis,
    priced: PricedCompositions,
    current: CurrentChoice,
    goal: Goal,
    *,
    shown: int,
    opening: bool,
) -> Advice:
    """The advice, from the current choice and the analysis of candidate runs."""
    runs = _next_runs(analysis, priced, current=current, goal=goal, shown=shown, opening=opening)
    change_probability = float(analysis.gains.changes.max())
    stop, reason = _verdict(change_probability, runs, opening=opening)
    return Advice(
        instance=priced.clusters[current.composition].instance_name,
        nodes=int(priced.clusters[current.composition].nodes or 0),
        seconds=current.seconds,
        low=current.low,
        high=current.high,
        usd=current.usd,
        p_deadline=current.p_deadline,
        meets_goal=current.meets_goal,
        next_runs=runs,
        changes=change_probability,
        stop=stop,
        reason=reason,
        weighed=len(priced.clusters),
        by=analysis.criteria,
        spot=priced.billing.spot,
        opening=opening,
        by_runs_too=analysis.belief.by_runs_too,
        notices=current.notices,
    )


FIRST_RUNS = (
    f"fewer than {MIN_RUNS_FOR_GAUSSIAN_PROCESS} run times: "
    "the first runs are those that tell most of all compositions for their price"
)

LEAST_PRICE_USD = 0.01
"""The least price of a run when savings per dollar are compared: owned nodes are free."""


def _next_runs(
    analysis: RunAnalysis,
    priced: PricedCompositions,
    *,
    current: CurrentChoice,
    goal: Goal,
    shown: int,
    opening: bool,
) -> tuple[NextRun, ...]:
    """The best run of each type, by saving per dollar or, in the `opening`, by variance reduction
    per dollar."""
    n, candidates, gains = len(priced.clusters), analysis.runs, analysis.gains
    value = variance_reduction(analysis.belief, n) if opening else gains.gain
    run_belief = analysis.belief.take(slice(n, None))
    mean = run_belief.mean + priced.log_slowdown[candidates.composition]
    deviation = np.hypot(run_belief.deviation, priced.slowdown_log_scale[candidates.composition])
    prices = priced.usd(np.exp(mean), candidates.composition)
    low, high = Forecast.of(np.exp(mean), deviation, run_belief.dof).interval(goal.confidence)
    runs = []
    for run in _best_of_each_type(
        value / np.maximum(prices, LEAST_PRICE_USD), candidates.points.types
    )[:shown]:
        width_factor = _width_factor(analysis.belief, priced, current.composition, n + run)
        cluster, gain = candidates.points.clusters[run], float(gains.gain[run])
        runs.append(
            NextRun(
                instance=cluster.instance_name,
                nodes=int(cluster.nodes or 0),
                fraction=float(candidates.fractions[run]),
                seconds=math.exp(mean[run]),
                low=float(low[run]),
                high=float(high[run]),
                usd=float(prices[run]),
                gain_usd=None if goal.minimises == "time" else gain,
                gain_seconds=gain if goal.minimises == "time" else None,
                changes=float(gains.changes[run]),
                then_low=_scaled_bound(current.low, current.seconds, width_factor),
                then_high=_scaled_bound(current.high, current.seconds, width_factor),
            )
        )
    return tuple(runs)


def _scaled_bound(bound: float | None, seconds: float, width_factor: float) -> float | None:
    """A bound of an interval, after its width in log time is scaled by `width_factor`."""
    return None if bound is None else seconds * (bound / seconds) ** width_factor


def _best_of_each_type(values: FloatArray, types: Sequence[str]) -> list[int]:
    """The index of the largest value of each type, largest first."""
    first: dict[str, int] = {}
    for index in np.argsort(-values, kind="stable"):
        first.setdefault(types[index], int(index))
    return list(first.values())


def _verdict(
    change_probability: float, runs: Sequence[NextRun], *, opening: bool
) -> tuple[bool, str]:
    """Whether to stop, and why or why not."""
    if opening:
        return False, FIRST_RUNS
    if change_probability < LEAST_CHANGE_PROBABILITY:
        return True, (
            "stop: no single run would change the recommendation with a chance of "
            f"{format_share(LEAST_CHANGE_PROBABILITY)} or more"
        )
    if not runs or (runs[0].gain_usd or runs[0].gain_seconds or 0.0) <= 0.0:
        return True, "stop: no single run is expected to save anything"
    chance = format_probability(change_probability)
    return False, f"a run may change the recommendation (greatest chance: {chance})"


def _width_factor(belief: Belief, priced: PricedCompositions, composition: int, run: int) -> float:
    """Predictive scale of the log time of a composition after a run, relative to the one before.

    For a normal belief it does not depend on the outcome of that run: the posterior variance is
    var - c^2 / (K + noise^2).
    """
    across = belief.covariance[run, composition]
    run_variance = belief.covariance[run, run] + np.square(belief.noise[run])
    variance = belief.covariance[composition, composition] - across * (across / run_variance)
    before = float(belief.deviation[composition])
    after = float(belief.scale_at(variance)[composition])
    added = priced.slowdown_log_scale[composition]
    return math.hypot(after, added) / math.hypot(before, added)
