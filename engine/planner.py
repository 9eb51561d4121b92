"""The planner: the one place where profile, model, prices and goal meet.

`prepare` does the slow part: it fits the model and predicts every candidate type at every node
count. `Plan.report` then answers a goal in a few milliseconds, as often as a slider moves; `plan`
does both. `export` renders a recommendation as text to paste.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date

import numpy as np

from engine import exports
from engine.catalog import Billing, Catalog
from engine.choosing.choices import ChoiceBuilder
from engine.choosing.interruptions import with_interruptions
from engine.choosing.limits import NO_LIMITS, Limits
from engine.choosing.recommendation import Choice, Goal, Recommendation
from engine.choosing.selection import exact_up_to, select, select_exact
from engine.choosing.surface import Surface
from engine.cluster import Cluster, Workload
from engine.cost import billed_seconds, usd_along
from engine.errors import BadInput, require_kind
from engine.forecast import BoolArray, FloatArray, IntArray
from engine.handovers import handover_of
from engine.machines.platforms import NOT_SUPPORTED
from engine.machines.services import NOT_STARTED
from engine.mixing.composition import PlacedComposition
from engine.mixing.mix_law import MixLaw
from engine.models import DEFAULT_MODEL, fit
from engine.models.base import FittedModel, Prediction
from engine.optimiser import recommend_for_goal, surface_of, with_on_demand_notice
from engine.profile import Profile
from engine.text.reachable import promised_seconds, reachable_seconds


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """What a plan is made from.

    Args:
        workload: None for that of the profile's largest run.
        instances: names or globs of candidate types; None for the default candidates.
        max_nodes: the largest node count that a goal may ask of this plan.
        limits: what may be rented, and what is owned.
    """

    profile: Profile
    catalog: Catalog
    model: str = DEFAULT_MODEL
    workload: Workload | None = None
    instances: tuple[str, ...] | None = None
    max_nodes: int = 512
    limits: Limits = NO_LIMITS


@dataclass(frozen=True, eq=False)
class Curve:
    """Time and cost of one instance type over its node counts: (m,) arrays, NaN where unknown.

    Args:
        low, high: the interval of `seconds` at the goal's confidence.
        cost_low_usd, cost_high_usd: the costs at these times.
        feasible: whether a node count satisfies the goal.
        p_deadline: P(T <= deadline), 0 where the job never ends; NaN without a deadline or an
            interval.
        unpriced: why some or all points have no cost; "" where all have one.
        started: whether Spark starts every stage of the job; where it does not, no time is known.
    """

    instance: str
    nodes: IntArray
    seconds: FloatArray
    low: FloatArray
    high: FloatArray
    cost_usd: FloatArray
    cost_low_usd: FloatArray
    cost_high_usd: FloatArray
    feasible: BoolArray
    p_deadline: FloatArray
    started: BoolArray
    unpriced: str = ""


@dataclass(frozen=True, eq=False)
class PlanReport:
    """The answer to a goal: the recommendation, and the curve of its type (None if no type is
    shown)."""

    goal: Goal
    billing: Billing
    recommendation: Recommendation
    curve: Curve | None = field(repr=False)


@dataclass(frozen=True, eq=False)
class Plan:
    """A fitted model and its predictions for all candidates, ready to answer any goal."""

    request: PlanRequest
    fitted: FittedModel
    surface: Surface

    def report(
        self, goal: Goal, *, billing: Billing | None = None, today: date | None = None
    ) -> PlanReport:
        """The best composition for a goal, and the curve of its type.

        Raises:
            BadInput: when the goal asks for more nodes than the plan holds.
        """
        billing = self.surface.limits.billed(billing or self.request.catalog.billing)
        recommendation = select(self.surface, goal, billing, today=today)
        return self._report(recommendation, goal, billing)

    def settled(self, goal: Goal, billing: Billing) -> PlanReport:
        """As `report`, with the points that decide evaluated exactly."""
        billing = self.surface.limits.billed(billing)
        recommendation = select_exact(self.surface, goal, billing)
        return self._report(
            with_on_demand_notice(recommendation, self.surface, billing), goal, billing
        )

    def mixed(
        self, report: PlanReport, *, most_types: int, today: date | None = None
    ) -> PlanReport:
        """As `settled`, with the best cluster of up to `most_types` types if it beats every cluster
        of one type. The curve is then that of the type with the most nodes. Takes up to seconds.
        """
        recommendation = recommend_for_goal(
            self.surface, report.goal, report.billing, mix=most_types, today=today
        )
        return self._report(recommendation, report.goal, report.billing)

    def proven(self, max_nodes: int) -> Plan:
        """The plan of up to `max_nodes` with every point evaluated exactly, as `engine.recommend`
        evaluates them to prove an answer; this one where its model is precise on grids, or does not
        evaluate so many. Takes up to seconds."""
        surface = exact_up_to(self.surface, max_nodes)
        if surface is self.surface:
            return self
        return replace(self, request=replace(self.request, max_nodes=max_nodes), surface=surface)

    def _report(self, recommendation: Recommendation, goal: Goal, billing: Billing) -> PlanReport:
        shown = recommendation.recommended or recommendation.nearest
        curve = self.curve(next(iter(shown.composition)), goal, billing) if shown else None
        return PlanReport(goal, billing, recommendation, curve)

    def limited(self, limits: Limits) -> Plan:
        """The same candidates under other limits, without asking the model again.

        Raises:
            UnknownName: for a type that is not in the catalog.
            BadInput: for limits that contradict each other or change the candidates.
        """
        limits.validated(self.request.catalog, self.request.max_nodes)
        present, rows = self.request.limits, self.surface.rows
        changed = (limits.arch, limits.exclude) != (present.arch, present.exclude)
        if changed or any(name not in rows for name, _ in limits.owned):
            raise BadInput("these limits change the candidates", remedy="prepare another plan")
        self.surface.candidates.require_feasible(limits, self.request.max_nodes)
        surface = replace(self.surface, limits=limits)
        return replace(self, request=replace(self.request, limits=limits), surface=surface)

    def curve(self, instance: str, goal: Goal, billing: Billing) -> Curve:
        """Time and cost of one type from one node to the goal's maximum."""
        surface, billing = self.surface.for_purchase_option(billing)
        start = surface.index(instance, 1)
        row = surface.rows[instance]
        points = range(start, start + goal.max_nodes)
        forecast = surface.at(points)
        low, high = forecast.interval(goal.confidence)
        costs = surface.costs(billing)[row, : goal.max_nodes]
        cost = np.where(np.isfinite(costs), costs, np.nan)
        log_least_deadline = surface.log_least_deadlines(goal.confidence)[row, : goal.max_nodes]
        feasible = np.isfinite(cost)
        p_deadline = np.full(len(points), np.nan)
        if goal.deadline_seconds is not None:
            feasible = feasible & (log_least_deadline <= np.log(goal.deadline_seconds))
            p_deadline = surface.p_within(points, goal.deadline_seconds)
        if goal.budget_usd is not None:
            feasible = feasible & (cost <= goal.most_usd)
        nodes = np.arange(1, goal.max_nodes + 1)
        billed = billed_seconds(forecast.seconds, billing)
        unpriced = "" if np.isfinite(cost).all() else _unpriced(surface, instance, billing)
        started = ~surface.candidates.not_started(surface.limits, nodes)[row]

        def where_started(values: FloatArray) -> FloatArray:
            return np.where(started, values, np.nan)

        return Curve(
            instance=instance,
            nodes=nodes,
            seconds=where_started(forecast.seconds),
            low=where_started(low),
            high=where_started(high),
            cost_usd=where_started(cost),
            cost_low_usd=where_started(usd_along(cost, billed, low, billing)),
            cost_high_usd=where_started(usd_along(cost, billed, high, billing)),
            feasible=feasible,
            p_deadline=p_deadline,
            started=started,
            unpriced=unpriced,
        )

    def explain(self, choice: Choice, *, confidence: float = 0.9) -> Prediction:
        """The prediction behind a choice, with phases, stages, bottleneck and warnings; for a mix,
        that of `alike`."""
        prediction = self.fitted.predict(
            cluster=self.cluster(choice), workload=self.surface.workload, confidence=confidence
        )
        if choice.instance is None:  # which nodes its service starts is said of the mix itself
            warnings = (notice for notice in prediction.warnings if notice.code != NOT_STARTED)
            return replace(prediction, warnings=tuple(warnings))
        if not choice.spot or prediction.phases is None:
            return prediction
        if not self.surface.interruption_rates[self.surface.rows[choice.instance]]:
            return prediction  # never interrupted, or not known how often: the rest is rounding
        phases = with_interruptions(prediction.phases, choice.seconds - prediction.seconds)
        return replace(prediction, phases=phases)

    def promised(self, choice: Choice, *, confidence: float) -> float:
        """The shortest deadline in seconds that a choice of one type meets with probability
        `confidence`, rounded up to a presentable one (`reachable_seconds`).

        Raises:
            UnknownName: for a mix.
        """
        surface = self.surface
        point = surface.index(str(choice.instance), int(choice.nodes or 1))
        if choice.spot:
            placed = PlacedComposition.on(surface, choice.composition, spot=choice.spot)
            forecast = placed.forecast(surface.workload)
            seconds = float(promised_seconds(forecast, confidence)[0])
        else:
            seconds = surface.promised_seconds(point, confidence)
        return reachable_seconds(seconds)

    def alike(self, choice: Choice) -> dict[str, int]:
        """Type -> nodes of a cluster of one type with about the capacity of a choice: for a mix,
        nodes of its most frequent type (x_t = C / g_t of `engine.mixing.mix_law`, rounded)."""
        if choice.instance is not None:
            return {choice.instance: int(choice.nodes or 1)}
        rows = np.asarray([self.surface.rows[name] for name in choice.composition])
        capacity = MixLaw.of(self.surface).capacity[rows]
        counts = np.asarray(list(choice.composition.values()))
        nodes = round(float((counts * capacity).sum() / capacity[0]))
        return {next(iter(choice.composition)): min(max(1, nodes), self.surface.max_nodes)}

    def cluster(self, choice: Choice) -> Cluster:
        """The cluster of a choice; for a mix, that of `alike`."""
        ((instance, nodes),) = self.alike(choice).items()
        return self.surface.cluster(self.surface.index(instance, nodes))

    def export(
        self,
        recommendation: Recommendation,
        *,
        to: str,
        choice: Choice | None = None,
        spot: bool = False,
    ) -> str:
        """A choice, by default the recommended one, as text to paste. A runner-up carries the
        warnings that it would have if it were recommended."""
        if (
            choice is not None
            and choice is not recommendation.recommended
            and choice.instance is not None
        ):
            rules = self.surface.limits.billed(replace(self.request.catalog.billing, spot=spot))
            surface, rented = self.surface.for_purchase_option(rules)
            choice = ChoiceBuilder(surface, recommendation.goal, rented).with_model_warnings(choice)
        return export(
            recommendation, to=to, choice=choice, profile=self.request.profile,
            catalog=self.request.catalog, workload=self.surface.workload, spot=spot,
        )  # fmt: skip


def prepare(request: PlanRequest) -> Plan:
    """Fits the model and builds the surface of all candidates.

    Raises:
        EngineError: for whatever is wrong with the evidence, the filters or the limits.
    """
    return prepare_fitted(fit(request.profile, model=request.model), request)


def prepare_fitted(fitted: FittedModel, request: PlanRequest) -> Plan:
    """As `prepare`, for a model that is already fitted: another size or filter, same evidence."""
    surface = surface_of(
        fitted,
        request.catalog,
        workload=request.workload,
        instances=request.instances,
        max_nodes=request.max_nodes,
        limits=request.limits,
    )
    return Plan(request, fitted, surface)


def plan(request: PlanRequest, goal: Goal, *, billing: Billing | None = None) -> PlanReport:
    """The answer to one question, with the points that decide evaluated exactly.

    Raises:
        EngineError: as `prepare`, and for an impossible goal.
    """
    prepared = prepare(replace(request, max_nodes=goal.max_nodes))
    return prepared.proven(goal.max_nodes).settled(goal, billing or request.catalog.billing)


def export(
    recommendation: Recommendation,
    *,
    to: str,
    profile: Profile,
    catalog: Catalog | None,
    workload: Workload | None = None,
    choice: Choice | None = None,
    spot: bool = False,
) -> str:
    """A recommendation as text to paste into `to` (see `EXPORTS`).

    Args:
        choice: exported instead of the recommended one.
        spot: whether it was priced with spot workers.

    Raises:
        BadInput: when nothing is recommended, or the target cannot express the choice.
        UnknownName: for an unknown target.
    """
    require_kind(
        recommendation, Recommendation, "a recommendation",
        remedy="give what engine.recommend returned, whole; one of its choices is `choice`",
    )  # fmt: skip
    chosen = choice or recommendation.recommended
    if chosen is None:
        raise BadInput("there is no recommendation to export", remedy="loosen the goal")
    handover = handover_of(chosen, recommendation, profile, catalog, workload, spot=spot)
    return exports.render(handover, to=to)


def _unpriced(surface: Surface, instance: str, billing: Billing) -> str:
    """Why points of a predicted type have no cost."""
    if instance in surface.candidates.not_rented(surface.limits):
        return f"no price ({NOT_SUPPORTED})"
    if instance in surface.candidates.without_room:
        return "no price (its executors have no room for a task)"
    if np.isinf(surface.rented.rates(billing)[0][surface.rows[instance]]):
        return "no spot price"
    return "not within the limits"
