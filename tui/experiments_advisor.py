"""What to run next, worked out where nobody waits for it: when the experiments are looked at."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import engine
from tui.behaviours.plan_updates import MAX_REST_SECONDS, error_text
from tui.messages import ExperimentsReady
from tui.state import PlanState
from tui.views.sentences import in_planner
from tui.workers import LatestJobWorker

if TYPE_CHECKING:
    from tui.answers import Answer
    from tui.session import EngineSession

NODES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Node counts that training runs may have: up to twice those of the best composition, or
`MIN_REACH_NODES`, as far as the plan allows."""

MIN_REACH_NODES = 8

BUDGET_SHARE = 0.5
"""The budget that is suggested is the next round amount above what so much of a run of the best
composition costs; more where that tells no terms apart."""

BUDGET_MARGIN = 1.5
"""A suggested budget is at least so many times what the cheapest runs cost that tell the terms."""

MAX_BUDGET_RAISES = 4

NO_WORKFLOW = (
    "a workflow is estimated from the logs of its jobs: open one of them (o) to plan runs of it"
)


@dataclass(frozen=True, eq=False)
class ExperimentsReport:
    """What could be run, and what that would teach.

    Args:
        known: the runs at hand, by type.
        advice: the next run; None where there is none, and `no_advice` says why.
        plan: the training runs; None where there are none, and `no_plan` says why.
        narrowing: what these would do to the interval of the best composition; None for the plans
            of PERIDOT and SimCost, which are fitted by other laws.
        instance: the type that the training runs are for.
        method: whose rule chose them.
        amount, unit: their budget; `suggested` where nobody named one, None for a rule without.
        asked: the question that `advice` answers.
    """

    known: tuple[engine.KnownType, ...] = ()
    advice: engine.Advice | None = None
    no_advice: str = ""
    plan: engine.ExperimentPlan | None = None
    no_plan: str = ""
    narrowing: engine.Narrowing | None = None
    instance: str = ""
    amount: float | None = None
    unit: str = "usd"
    suggested: bool = False
    method: str = "ernest"
    asked: Hashable = None


class ExperimentsAdvisor:
    """Works out one question at a time, in a thread of its own, and keeps the last answer."""

    def __init__(self, session: EngineSession, post: Callable[[ExperimentsReady], object]) -> None:
        self._session = session
        self._post = post
        self._latest = LatestJobWorker("experiments")
        self._question: Hashable = None
        self._answered: Hashable = None
        self._found: ExperimentsReport | None = None
        self._evidence: object = None

    @property
    def waiting(self) -> bool:
        """Whether the last question is still being worked out."""
        return self._question != self._answered

    def of(self, state: PlanState, answer: Answer) -> ExperimentsReport | None:
        """The last answer; where the question is another one, that is asked."""
        question = question_key(state, answer)
        if question != self._question:
            evidence = answer.built.profile.runs
            if self._found is not None and evidence is not self._evidence:
                self._found = None
            self._evidence, self._question = evidence, question
            self._ask(question, state, answer)
        return self._found

    def _ask(self, question: Hashable, state: PlanState, answer: Answer) -> None:
        before = self._found

        def job() -> None:
            time.sleep(MAX_REST_SECONDS)
            if self._question == question:
                self._post(
                    ExperimentsReady(
                        question, experiments_report(self._session, state, answer, before)
                    )
                )

        self._latest.submit(job)

    def take(self, message: ExperimentsReady) -> bool:
        """Keep an answer; whether it is one to the question at hand."""
        if message.question != self._question:
            return False
        self._answered, self._found = message.question, message.found
        return True


def question_key(state: PlanState, answer: Answer) -> Hashable:
    """What the experiments depend on."""
    composition = tuple(answer.best.composition.items()) if answer.best else None
    return (_decision(state, answer), composition, state.training)


def _said(error: Exception) -> str:
    """Why nothing could be planned, with what is typed here in place of the command's options."""
    return in_planner(error_text(error))


def _decision(state: PlanState, answer: Answer) -> Hashable:
    """What the next run depends on."""
    goal = (state.deadline_seconds, state.budget_usd, state.confidence, state.max_nodes, state.spot)
    return (answer.built.plan, goal, state.training.fractions)


def experiments_report(
    session: EngineSession,
    state: PlanState,
    answer: Answer,
    before: ExperimentsReport | None = None,
) -> ExperimentsReport:
    """Everything about the experiments of a state; what fails is said in its place.

    Args:
        before: what was found last: its next run still holds where only the training runs change.
    """
    built, best = answer.built, answer.best
    found = ExperimentsReport(known=engine.lessons_of(built.profile), method=state.training.plan)
    if built.workflow is not None:
        return replace(found, no_advice=NO_WORKFLOW, no_plan=NO_WORKFLOW)
    if best is None:
        nothing = "there is no composition to be surer about; loosen the goal"
        return replace(found, no_advice=nothing, no_plan=nothing)
    try:
        fitted = session.separate_fit(state, built)
    except Exception as error:
        return replace(found, no_advice=_said(error), no_plan=_said(error))
    question = _Question(fitted, state, answer, best)
    asked = _decision(state, answer)
    if before is not None and before.asked == asked:
        found = replace(found, advice=before.advice, no_advice=before.no_advice, asked=asked)
    else:
        found = replace(question.with_advice(found), asked=asked)
    if state.training.plan != "ernest":
        return question.with_reference_runs(found)
    return question.with_plan(found)


@dataclass(frozen=True, eq=False)
class _Question:
    """What experiments are for: `best`, the composition of an answer, by a model that was fitted
    apart."""

    fitted: engine.FittedModel
    state: PlanState
    answer: Answer
    best: engine.Choice

    def with_advice(self, found: ExperimentsReport) -> ExperimentsReport:
        """With the next run for the decision at hand."""
        state, plan = self.state, self.answer.built.plan
        sizes = {1.0, min(1.0, 1.0 / state.scale), *state.training.fractions}
        try:
            advice = engine.advise(
                self.fitted,
                catalog=self.answer.built.catalog,
                surface=plan.surface,
                nodes=range(1, state.max_nodes + 1),
                fractions=tuple(sorted(sizes)),
                workload=plan.surface.workload,
                deadline_seconds=state.deadline_seconds,
                confidence=state.confidence,
                budget_usd=state.budget_usd,
                billing=self.answer.report.billing,
            )
        except Exception as error:
            return replace(found, no_advice=_said(error))
        return replace(found, advice=advice)

    def with_reference_runs(self, found: ExperimentsReport) -> ExperimentsReport:
        """With the runs that PERIDOT's or SimCost's rule asks for, on the best composition's
        type."""
        from tui.input_text.training_text import SAMPLES

        instance, most = self._type_and_most()
        training = self.state.training
        request = engine.TrainingRequest(
            nodes=tuple(range(1, most + 1)),
            fractions=training.fractions or (*SAMPLES, 1.0),
            method=training.plan,
            instances=(instance,),
            confidence=self.state.confidence,
        )
        found = replace(found, instance=instance)
        try:
            plan = self._planned(request)
        except Exception as error:
            return replace(found, no_plan=_said(error))
        return replace(found, plan=plan)

    def with_plan(self, found: ExperimentsReport) -> ExperimentsReport:
        """With the training runs of the best composition's type within the budget."""
        from tui.input_text.training_text import SAMPLES

        training, plan = self.state.training, self.answer.built.plan
        amount, unit = training.amount, training.unit
        if amount is None:
            amount, unit = suggested(self.best)
        instance, most = self._type_and_most()
        found = replace(
            found, instance=instance, amount=amount, unit=unit, suggested=training.amount is None
        )
        request = engine.TrainingRequest(
            nodes=tuple(count for count in NODES if count <= most),
            fractions=training.fractions or SAMPLES,
            unit=unit,
            budget=amount,
            instances=(instance,),
            confidence=self.state.confidence,
        )
        try:
            runs = self._planned(request, tries=MAX_BUDGET_RAISES * found.suggested)
            narrowing = engine.narrowed(
                self.fitted,
                cluster=plan.cluster(self.best),
                runs=runs.runs,
                workload=plan.surface.workload,
                confidence=self.state.confidence,
            )
        except Exception as error:
            return replace(found, no_plan=_said(error))
        return replace(found, plan=runs, narrowing=narrowing, amount=runs.budget)

    def _type_and_most(self) -> tuple[str, int]:
        """The type that training runs are for, and the most nodes that they may have."""
        instance = next(iter(self.answer.alike or self.best.composition))
        largest = self.answer.built.plan.alike(self.best)[instance]
        return instance, min(self.state.max_nodes, max(MIN_REACH_NODES, 2 * largest))

    def _planned(self, request: engine.TrainingRequest, *, tries: int = 0) -> engine.ExperimentPlan:
        """The design; one that nobody named the budget of may raise it so many times."""
        from tui.input_text.training_text import stepped

        built = self.answer.built
        try:
            return engine.plan_experiments(
                request,
                fitted=self.fitted,
                workload=built.plan.surface.workload,
                catalog=built.catalog,
            )
        except engine.BudgetTooSmall as error:
            if tries < 1:
                raise
            enough = stepped(BUDGET_MARGIN * error.least, request.unit, 1)
            return self._planned(replace(request, budget=enough), tries=tries - 1)


def suggested(best: engine.Choice) -> tuple[float, str]:
    """A round budget: what a few runs of the best composition cost, or take where that has no
    price."""
    from tui.input_text.training_text import stepped

    if best.cost_usd:
        return stepped(best.cost_usd * BUDGET_SHARE, "usd", 1), "usd"
    return stepped(best.seconds * BUDGET_SHARE, "seconds", 1), "seconds"
