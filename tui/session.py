"""The engine's side of the planner: from a state to a plan (slow), from a plan to an answer (fast).

`Session` is what the app talks to; tests give it another one. Nothing here touches widgets.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Protocol

import engine
from tui import options
from tui.progress import Speedometer
from tui.state import MAX_NODES, PlanState, Terms, evidence_key

if TYPE_CHECKING:
    from engine import (
        Billing,
        Catalog,
        Choice,
        Cluster,
        Curve,
        FitOutcome,
        FittedModel,
        Goal,
        ModelAnswer,
        Plan,
        PlanReport,
        Prediction,
        Profile,
        Run,
        Workload,
    )

Say = Callable[[str], None]
"""Takes a few words on what is being done."""


@dataclass(frozen=True, eq=False)
class Built:
    """What was read and built for a state; answers every goal."""

    profile: Profile
    catalog: Catalog
    plan: Plan


@dataclass(frozen=True, eq=False)
class Answer:
    """All that a screen shows for a state.

    Args:
        compared: the curve of the selected type, where it is not the recommended one.
        explained: where the time of the best composition goes; None without any.
    """

    built: Built
    report: PlanReport
    compared: Curve | None
    explained: Prediction | None

    @property
    def best(self) -> Choice | None:
        """What is recommended, else the nearest miss."""
        found = self.report.recommendation
        return found.recommended or found.nearest


class Session(Protocol):
    """Builds plans and asks them."""

    def build(self, state: PlanState, say: Say) -> Built:
        """Reads and builds what `state` needs; slow. What `say` raises ends it.

        Raises:
            EngineError: what is wrong with the evidence, the catalog or the model.
        """

    def answer(self, state: PlanState, built: Built) -> Answer:
        """What a plan says about the goal of `state`; fast.

        Raises:
            EngineError: for a goal that cannot be asked.
        """

    @property
    def models(self) -> tuple[str, ...]:
        """The models that can be compared, by name."""

    def ask(
        self, model: str, profile: Profile, cluster: Cluster, workload: Workload
    ) -> ModelAnswer:
        """What a model says of one question, or why it does not answer; slow the first time, and
        only ever called by one thread."""


@dataclass
class EngineSession:
    """The session of the installed command; keeps what it read last."""

    _profile: Profile | None = None
    _profile_key: Hashable = None
    _fitted: FittedModel | None = None
    _catalogs: dict[tuple[str, Terms], Catalog] = field(default_factory=dict)
    _explained: tuple[Plan, Choice, Prediction] | None = None
    _outcomes: dict[str, FitOutcome] = field(default_factory=dict)
    _outcomes_of: tuple[tuple[Run, ...], str | None] = ((), None)

    def build(self, state: PlanState, say: Say) -> Built:
        """Reads what is not yet read, then fits the model and builds the surface."""
        profile = self._read(state, say)
        say("reading prices")
        catalog = self._catalog(state.catalog, state.terms)
        if state.category is not None and state.category != profile.category:
            profile = replace(profile, category=state.category)
        say("building the plan")
        plan = engine.prepare_fitted(
            self._fit(profile, state.model),
            engine.PlanRequest(
                profile=profile,
                catalog=catalog,
                model=state.model,
                workload=None if state.scale == 1.0 else profile.workload_at(state.scale),
                instances=state.instances or None,
                max_nodes=MAX_NODES,
            ),
        )
        # The first question imports and computes what all later ones share: not in the UI's thread.
        plan.report(_goal(state), billing=replace(catalog.billing, spot=state.spot))
        return Built(profile, catalog, plan)

    def answer(self, state: PlanState, built: Built) -> Answer:
        """The report on the goal, the curve of the selected type, and the explanation."""
        goal = _goal(state)
        billing = replace(built.catalog.billing, spot=state.spot)
        report = built.plan.report(goal, billing=billing, today=date.today())
        best = report.recommendation.recommended or report.recommendation.nearest
        compared = None
        if state.selected is not None and (best is None or best.instance != state.selected):
            compared = _curve(built.plan, state.selected, goal, billing)
        explained = None if best is None else self._explain(built.plan, best)
        return Answer(built, report, compared, explained)

    @property
    def models(self) -> tuple[str, ...]:
        """All of them."""
        return tuple(model.name for model in engine.MODELS)

    def ask(
        self, model: str, profile: Profile, cluster: Cluster, workload: Workload
    ) -> ModelAnswer:
        """Fits a model once per evidence. The plan's own fitted model is never asked here: what it
        keeps may not be touched by two threads."""
        runs, category = self._outcomes_of
        if profile.runs is not runs or profile.category != category:
            self._outcomes.clear()
            self._outcomes_of = (profile.runs, profile.category)
        if model not in self._outcomes:
            by_name = {entry.name: entry for entry in engine.MODELS}
            self._outcomes[model] = engine.fit_outcome(by_name[model], profile)
        return engine.ask(self._outcomes[model], cluster=cluster, workload=workload)

    def _explain(self, plan: Plan, choice: Choice) -> Prediction:
        """The explanation of a choice; the last one is kept, as most goals keep the choice."""
        kept = self._explained
        if kept and kept[0] is plan and kept[1].composition == choice.composition:
            return kept[2]
        explained = plan.explain(choice)
        self._explained = (plan, choice, explained)
        return explained

    def _read(self, state: PlanState, say: Say) -> Profile:
        key = evidence_key(state)
        if self._profile is None or key != self._profile_key:
            say("reading " + ", ".join(state.sources))
            origin = None
            if state.ran_on is not None:
                chosen = self._catalog(state.catalog, state.terms)
                _, origin = options.origin_of(state.ran_on, first=chosen)
            profile = engine.read(*state.sources, ran_on=origin, progress=Speedometer(say))
            say("reading prices")  # raises where nobody waits any more
            self._profile, self._profile_key = profile, key
        return self._profile

    def _fit(self, profile: Profile, model: str) -> FittedModel:
        """The fitted model; another size or filter asks the same one again."""
        kept = self._fitted
        if kept is None or kept.profile is not profile or kept.model != model:
            self._fitted = kept = engine.fit(profile, model=model)
        return kept

    def _catalog(self, name: str, terms: Terms) -> Catalog:
        if (name, terms) not in self._catalogs:
            self._catalogs[name, terms] = engine.load_catalog(name, region=terms.region).with_terms(
                discount_fraction=terms.discount_fraction, dbu=terms.dbu
            )
        return self._catalogs[name, terms]


def _goal(state: PlanState) -> Goal:
    return engine.Goal(
        deadline_seconds=state.deadline_seconds,
        budget_usd=state.budget_usd,
        confidence=state.confidence,
        max_nodes=state.max_nodes,
    )


def _curve(plan: Plan, instance: str, goal: Goal, billing: Billing) -> Curve | None:
    """The curve of a type; None when a new filter has left it out."""
    try:
        return plan.curve(instance, goal, billing)
    except engine.UnknownName:
        return None
