"""The planner's use of the engine: state to plan (slow, in a worker thread), plan to answer (fast).

Nothing here touches widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from typing import Generic, TypeVar

import engine
from tui.answers import Answer, BuiltPlan, Evidence, ReportProgress, ShowEvidence, curve_of
from tui.input_text import job_text
from tui.mixing import max_types
from tui.plans_in_use import PlansInUse
from tui.read_progress import ReadProgress
from tui.state import MAX_NODES, PlanState, Terms, evidence_key, planned_nodes

_Question = tuple["engine.Plan", "engine.Goal", "engine.Billing", int]
"""Key of a search for mixes: plan, goal, billing, and the most types per cluster."""

T = TypeVar("T")


class _LastValue(Generic[T]):
    """A cache of one value. Its key has two parts: `owner` (evidence, a plan) is compared by
    identity, since comparing its contents takes longer than computing the value; `key` is compared
    by equality."""

    def __init__(self) -> None:
        self._kept: tuple[object, object, T] | None = None

    def get(self, owner: object, key: object, make: Callable[[], T]) -> T:
        """The cached value if `owner` and `key` match, else that of `make`, which is then
        cached."""
        cached = self._kept
        if cached is None or cached[0] is not owner or cached[1] != key:
            self._kept = cached = (owner, key, make())
        return cached[2]

    def known(self, owner: object, key: object, default: T) -> T:
        """The cached value if `owner` and `key` match, else `default`."""
        kept = self._kept
        return default if kept is None or kept[0] is not owner or kept[1] != key else kept[2]


@dataclass
class EngineSession:
    """Builds plans, answers questions about them, and caches what was read and fitted last.

    Methods raise EngineErrors for faulty evidence, catalogs or models, and for goals that
    contradict.
    """

    _profile: engine.Profile | None = None
    _profile_key: Hashable = None
    _matched_profile: _LastValue[engine.Profile] = field(default_factory=_LastValue)
    _fitted: engine.FittedModel | None = None
    _categorised: _LastValue[engine.Profile] = field(default_factory=_LastValue)
    _plans: PlansInUse = field(default_factory=PlansInUse)
    _separate_fit: _LastValue[engine.FittedModel] = field(default_factory=_LastValue)
    _origin: _LastValue[engine.WhereItRan] = field(default_factory=_LastValue)
    _catalogs: dict[tuple[str, int, Terms], engine.Catalog] = field(default_factory=dict)
    _noted_catalog: _LastValue[engine.Catalog] = field(default_factory=_LastValue)
    _explained: _LastValue[engine.Prediction] = field(default_factory=_LastValue)
    _workflow: engine.Workflow | None = None
    _fitted_states: _LastValue[engine.FittedStates] = field(default_factory=_LastValue)
    _course: _LastValue[engine.WorkflowReport] = field(default_factory=_LastValue)
    _limited: _LastValue[engine.Plan] = field(default_factory=_LastValue)
    _proven: _LastValue[engine.Plan] = field(default_factory=_LastValue)
    _mixed_reports: dict[_Question, engine.PlanReport] = field(default_factory=dict)
    _outcomes: dict[str, engine.FitOutcome] = field(default_factory=dict)
    _outcomes_of: tuple[tuple[engine.Run, ...], str | None] = ((), None)

    def build(
        self, state: PlanState, say: ReportProgress, show: ShowEvidence = lambda _: None
    ) -> BuiltPlan:
        """Read what is not read yet, fit the model and build the surface of the plan; slow.

        What is read for a plan that is refused is not cached: once the input is corrected, it has
        to be read again.
        """
        key_before, catalogs = self._profile_key, dict(self._catalogs)
        try:
            return self._build(state, say, show)
        except engine.EngineError:
            self._catalogs = catalogs
            if self._profile_key != key_before:
                self._profile_key = None
            raise

    def _build(self, state: PlanState, say: ReportProgress, show: ShowEvidence) -> BuiltPlan:
        read = self._read(state, say)
        say("reading prices")
        catalog = self._catalog(state)
        profile = self._matched_to_catalog(read, catalog, state)
        if state.category is not None and state.category != profile.category:
            named = partial(replace, profile, category=state.category)
            profile = self._categorised.get(profile, state.category, named)
        show(Evidence(profile, None if self._workflow is None else len(self._workflow.jobs)))
        say("fitting the model")
        fitted = self._fit(profile, state.model)
        say("building the plan" if self._workflow is None else "simulating the workflow's states")
        plan = self._plans.of(
            fitted,
            engine.PlanRequest(
                profile=profile,
                catalog=catalog,
                model=state.model,
                workload=job_text.workload_of(state, profile),
                instances=state.instances or None,
                max_nodes=_most_nodes(state, profile),
                limits=limits_of(state),
            ),
        )
        # The first report does the imports and computations that all later ones reuse: here, in the
        # worker thread, not in that of the user interface.
        plan.report(_goal(state), billing=replace(catalog.billing, spot=state.spot))
        return BuiltPlan(profile, catalog, plan, self._workflow)

    def answer(self, state: PlanState, built: BuiltPlan) -> Answer:
        """The report for the goal of the state, the curve of the selected type, and the explanation
        of the best composition."""
        goal = _goal(state)
        billing = limits_of(state).billed(replace(built.catalog.billing, spot=state.spot))
        plan = self._under_limits(built.plan, limits_of(state))
        plan = self._proven.known(plan, goal.max_nodes, plan)
        if plan is not built.plan:
            built = replace(built, plan=plan)
        settled = self._mixed_reports.get((plan, goal, billing, max_types(state, built.catalog)))
        report = settled or plan.report(goal, billing=billing, today=date.today())
        provisional = settled is None and not plan.surface.is_precise
        return replace(self._answer(state, built, report), provisional=provisional)

    def mixed(self, state: PlanState, answer: Answer) -> Answer:
        """The answer after the search for mixes of types; cached per goal, so that moving through a
        list starts no search.

        An answer of one type is re-evaluated exactly as well: the interpolated surface is off by up
        to a few per cent and lacks some warnings. That of a workflow is asked with every point
        exact where these are few, as `workflow recommend` asks it.
        """
        before, report = answer.built.plan, answer.report
        nodes, types = report.goal.max_nodes, max_types(state, answer.built.catalog)
        plan = before
        if not before.surface.is_precise:
            plan = self._proven.get(before, nodes, lambda: before.proven(nodes))
        built = answer.built if plan is before else replace(answer.built, plan=plan)
        key = (plan, report.goal, report.billing, types)
        report_after = self._mixed_reports.get(key)
        if report_after is None:
            report_after = plan.mixed(report, most_types=types, today=date.today())
            recent = list(self._mixed_reports.items())[1 - _MAX_MIXED_REPORTS :]
            self._mixed_reports = {
                **{old: mix for old, mix in recent if old[0] is plan},
                key: report_after,
            }
        return answer if report_after is report else self._answer(state, built, report_after)

    def _answer(self, state: PlanState, built: BuiltPlan, report: engine.PlanReport) -> Answer:
        """The answer for a report: with the curve to compare, and the explanation."""
        plan, best = built.plan, report.recommendation.recommended or report.recommendation.nearest
        if best is None:
            return Answer(built, report, None, None)
        others = [name for name in best.composition if name != next(iter(best.composition))]
        if state.selected is not None and best.instance != state.selected:
            others = [state.selected]
        compared = curve_of(plan, others[0], report.goal, report.billing) if others else None
        equivalent = plan.alike(best) if best.instance is None else None
        return Answer(built, report, compared, self._explain(plan, best), equivalent)

    def _under_limits(self, plan: engine.Plan, limits: engine.Limits) -> engine.Plan:
        """The plan under these limits; cached, as sliders leave the limits alone."""
        if limits == plan.request.limits:
            return plan
        return self._limited.get(plan, limits, lambda: plan.limited(limits))

    def workflow_report(self, state: PlanState, answer: Answer) -> engine.WorkflowReport | None:
        """The states of the best composition (of a mix: of its equivalent of one type); None where
        the evidence has no stages."""
        best, plan = answer.best, answer.built.plan
        if best is None:
            return None
        fitted = self._states_of(answer.built)
        if fitted is None:
            return None
        return self._course.get(
            plan,
            (tuple(best.composition.items()), state.confidence),
            lambda: fitted.course(
                cluster=_cluster_of(best, answer.built),
                workload=plan.surface.workload,
                confidence=state.confidence,
            ),
        )

    def _states_of(self, built: BuiltPlan) -> engine.FittedStates | None:
        """The model that estimates states: the plan's own, or one fitted to the same logs."""
        fitted = built.plan.fitted
        if isinstance(fitted, engine.FittedStates):
            return fitted
        if not built.profile.has_stages:
            return None
        return self._fitted_states.get(
            built.profile, None, lambda: engine.fit_states(built.profile)
        )

    def separate_fit(self, state: PlanState, built: BuiltPlan) -> engine.FittedModel:
        """A second fit of the plan's model, for experiments. They ask it about other clusters and
        sizes; the plan's own fit keeps the cached terms of its last inputs, to which sliders
        return."""
        profile, model = built.profile, state.model
        return self._separate_fit.get(profile, model, lambda: engine.fit(profile, model=model))

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(engine.MODELS_BY_NAME)

    def ask(
        self,
        model: str,
        profile: engine.Profile,
        cluster: engine.Cluster,
        workload: engine.Workload,
    ) -> engine.ModelAnswer:
        """The answer of a model, fitted once per evidence and separately from the plan's own fit:
        these fits cache state and belong to the one thread that calls this method; other threads
        use the plan's."""
        runs, category = self._outcomes_of
        if profile.runs is not runs or profile.category != category:
            self._outcomes.clear()
            self._outcomes_of = (profile.runs, profile.category)
        if model not in self._outcomes:
            self._outcomes[model] = engine.fit_outcome(engine.MODELS_BY_NAME[model], profile)
        return engine.ask(self._outcomes[model], cluster=cluster, workload=workload)

    def _explain(self, plan: engine.Plan, choice: engine.Choice) -> engine.Prediction:
        """The explanation of a choice, cached, as most goals keep the choice. On spot nodes the
        expected interruptions are one part of its time."""
        seconds_on_spot = choice.seconds if choice.spot else None
        return self._explained.get(
            plan, (choice.composition, choice.spot, seconds_on_spot), lambda: plan.explain(choice)
        )

    def _read(self, state: PlanState, say: ReportProgress) -> engine.Profile:
        key = evidence_key(state)
        if self._profile is None or key != self._profile_key:
            say("reading " + ", ".join(state.sources))
            origin = None
            if state.ran_on is not None:
                first = self._catalog(state) if state.catalog else engine.WhereItRan().catalog
                _, origin = engine.named_type(state.ran_on, first=first)
            if len(state.sources) == 1 and engine.is_workflow(state.sources[0]):
                workflow = engine.read_workflow(state.sources[0], ran_on=origin)
                fitted = engine.fit_workflow(workflow)
                say("reading prices")  # raises Cancelled where the read was cancelled
                self._workflow, self._fitted, self._profile = workflow, fitted, fitted.profile
            else:
                profile = engine.read(*state.sources, ran_on=origin, progress=ReadProgress(say))
                say("reading prices")  # raises Cancelled where the read was cancelled
                self._workflow, self._profile = None, profile
            self._profile_key = key
        return self._profile

    def _where_it_ran(self, state: PlanState) -> engine.WhereItRan:
        """The catalog whose prices hold: the one that the state names, else that of the provider
        where the evidence ran."""
        read = self._profile
        if state.catalog is not None or read is None:
            return engine.WhereItRan(state.catalog or engine.WhereItRan().catalog)
        limits = (*state.limits.owned, *state.limits.most)
        candidates = (*state.instances, *(name for name, _ in limits))
        platform = state.terms.platform
        return self._origin.get(
            read,
            (state.ran_on, platform, candidates),
            lambda: engine.where_it_ran(
                read, ran_on=state.ran_on, platform=platform, candidates=candidates
            ),
        )

    def _matched_to_catalog(
        self, read: engine.Profile, catalog: engine.Catalog, state: PlanState
    ) -> engine.Profile:
        """The profile with its types looked up in the catalog, and with the terms of the state.
        Cached: a discount leaves it, and so its fitted model, unchanged."""
        terms, overhead = state.terms, state.terms.overhead_per_core_gib
        if self._workflow is not None and (overhead is not None or terms.fill_nodes):
            term = "fill-nodes" if overhead is None else "overhead-per-core"
            raise engine.BadInput(
                "executors of a workflow are laid out as those of its logs",
                where=term,
                remedy=f"type :{term} off",
            )
        where = self._where_it_ran(state)

        def matched() -> engine.Profile:
            profile = read if self._workflow is not None else engine.held_against(read, catalog)
            service = (
                engine.another_service_notice(catalog, read) if terms.platform is None else None
            )
            if notices := [notice for notice in (where.notice, service) if notice is not None]:
                profile = replace(profile, notices=(*profile.notices, *notices))
            if terms.fill_nodes:
                profile = engine.with_filled_nodes(profile)
            if overhead is not None:
                profile = engine.with_overhead_per_core(profile, overhead)
            return profile

        key = (where, state.pricing, terms.region, terms.platform, overhead, terms.fill_nodes)
        return self._matched_profile.get(read, key, matched)

    def _fit(self, profile: engine.Profile, model: str) -> engine.FittedModel:
        """The fitted model; reused for another size or filter."""
        fitted = self._fitted
        if fitted is not None and self._workflow is not None:
            if model not in (engine.DEFAULT_MODEL, fitted.model):
                raise engine.BadInput(
                    f"workflows are estimated by {fitted.model} alone, not by {model}",
                    remedy=f"choose {fitted.model}",
                )
            if fitted.profile is not profile:
                self._fitted = fitted = replace(fitted, profile=profile)
            return fitted
        if fitted is None or fitted.profile is not profile or fitted.model != model:
            self._fitted = fitted = engine.fit(profile, model=model)
        return fitted

    def _catalog(self, state: PlanState) -> engine.Catalog:
        """The catalog that is named, or that of where the job ran, on the terms of the state."""
        where = self._where_it_ran(state)
        platform = state.terms.platform or where.platform
        terms = state.terms._replace(
            overhead_per_core_gib=None, fill_nodes=False, platform=platform
        )
        key = (where.catalog, state.pricing, terms)
        catalog = self._catalogs.get(key)
        if catalog is None:
            on_terms = engine.load_catalog(where.catalog, region=terms.region).with_terms(
                discount_fraction=terms.discount_fraction, dbu=terms.dbu
            )
            catalog = engine.on_platform(on_terms, terms.platform)
            while len(self._catalogs) >= _MAX_CATALOGS:
                del self._catalogs[next(iter(self._catalogs))]
            self._catalogs[key] = catalog
        if self._profile is None:
            return catalog
        noted = partial(engine.noting_missing_dbus, catalog, self._profile)
        return self._noted_catalog.get(self._profile, key, noted)


def _cluster_of(best: engine.Choice, built: BuiltPlan) -> engine.Cluster:
    """The cluster of a choice of a plan; of a mix its stand-in of one type."""
    if best.instance is None or best.nodes is None:
        return built.plan.cluster(best)
    return engine.Cluster.of_nodes(
        instance_type=best.instance, nodes=best.nodes, catalog=built.catalog, layout=best.layout
    )


_MAX_CATALOGS = 8
"""Cached catalogs, each with its terms: a discount is tried at many values."""

_MAX_MIXED_REPORTS = 64
"""Cached reports with mixes: enough to step a slider back and forth."""


def _most_nodes(state: PlanState, profile: engine.Profile) -> int:
    """Up to how many nodes a plan is built. Of stages the first nodes take most of the time, so
    that more of them are predicted at once; of run times alone it grows with the nodes."""
    has_stages = not profile.runs or any(run.stages for run in profile.runs)
    return MAX_NODES if has_stages else planned_nodes(state)


def limits_of(state: PlanState) -> engine.Limits:
    """The limits of a state as the engine takes them.

    Raises:
        BadInput: for limits without meaning, or that the other inputs contradict.
    """
    limits = engine.Limits(**state.limits._asdict())
    if limits.min_nodes > state.max_nodes:
        raise engine.BadInput(
            f"at least {limits.min_nodes} nodes, but at most {state.max_nodes}: a contradiction",
            remedy=f"raise Max nodes, or type :min-nodes {state.max_nodes}",
        )
    return limits


def _goal(state: PlanState) -> engine.Goal:
    return engine.Goal(
        deadline_seconds=state.deadline_seconds,
        budget_usd=state.budget_usd,
        confidence=state.confidence,
        max_nodes=state.max_nodes,
    )
