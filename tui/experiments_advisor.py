"""The experiments of the Experiments view, computed in a worker thread: next run, training runs,
and what they would do to the interval."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import engine
from tui.behaviours.settling import MAX_REST_SECONDS
from tui.messages import ExperimentsReady, error_text
from tui.state import PlanState
from tui.views.planner_words import in_planner
from tui.workers import LatestJobWorker

if TYPE_CHECKING:
    from tui.answers import Answer
    from tui.session import EngineSession

NODES = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Node counts of training runs: up to twice those of the best composition, at least up to
`MIN_REACH_NODES`, as far as the plan allows."""

MIN_REACH_NODES = 8

BUDGET_SHARE = 0.5
"""The suggested budget is the next round amount above this share of the cost of one run of the best
composition; more where that cannot separate the model's terms."""

BUDGET_MARGIN = 1.5
"""A suggested budget is at least this multiple of the cost of the cheapest runs that separate the
terms."""

MAX_BUDGET_RAISES = 4

NO_WORKFLOW = (
    "a workflow is estimated from the logs of its jobs: open one of them (o) to plan runs of it"
)


@dataclass(frozen=True, eq=False)
class ExperimentsReport:
    """Possible experiments and what each would teach.

    Args:
        known: the runs in the evidence, by type.
        advice: the next run; None where there is none, with the reason in `no_advice`.
        plan: the training runs; None where there are none, with the reason in `no_plan`.
        narrowing: effect of the training runs on the interval of the best composition; None for the
            plans of PERIDOT and SimCost, which are for other models.
        instance: the type that the training runs are for.
        confidence: that of the intervals.
        spot: whether the answer that it is for is at spot prices.
        composition: the best composition, of one type where it is a mix that cannot be explained;
            `has_interval` whether the model gives its time an interval.
        method: whose design chose the training runs.
        amount, unit: budget of the training runs; `suggested` where the user named
            none, None for a design without a budget.
        decision_key: key of the decision that `advice` is for.
    """

    confidence: float
    spot: bool = False
    known: tuple[engine.KnownType, ...] = ()
    composition: Mapping[str, int] = field(default_factory=dict)
    has_interval: bool = False
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
    decision_key: Hashable = None


class ExperimentsAdvisor:
    """Computes one report at a time, in its own thread, and keeps the last one."""

    def __init__(self, session: EngineSession, post: Callable[[ExperimentsReady], object]) -> None:
        self._session = session
        self._post = post
        self._latest = LatestJobWorker("experiments")
        self._question: Hashable = None
        self._answered: Hashable = None
        self._report: ExperimentsReport | None = None
        self._evidence: object = None

    @property
    def waiting(self) -> bool:
        """Whether the report for the current question is still being computed."""
        return self._question != self._answered

    def report_for(self, state: PlanState, answer: Answer) -> ExperimentsReport | None:
        """The last report; where the question has changed, its computation is started. A report on
        other evidence is dropped."""
        question = question_key(state, answer)
        if question != self._question:
            evidence = answer.built.profile.runs
            if self._report is not None and evidence is not self._evidence:
                self._report = None
            self._evidence, self._question = evidence, question
            self._ask(question, state, answer)
        return self._report

    def _ask(self, question: Hashable, state: PlanState, answer: Answer) -> None:
        previous = self._report

        def job() -> None:
            time.sleep(MAX_REST_SECONDS)
            if self._question == question:
                self._post(
                    ExperimentsReady(
                        question, experiments_report(self._session, state, answer, previous)
                    )
                )

        self._latest.submit(job)

    def accept(self, message: ExperimentsReady) -> bool:
        """Keep a report; False where it is not for the current question."""
        if message.question != self._question:
            return False
        self._answered, self._report = message.question, message.report
        return True


def question_key(state: PlanState, answer: Answer) -> Hashable:
    """Everything that the report depends on."""
    composition = tuple(answer.best.composition.items()) if answer.best else None
    return (_decision_key(state, answer), composition, state.training)


def _planner_error(error: Exception) -> str:
    """Why nothing could be planned, with typed commands in place of command-line options."""
    return in_planner(error_text(error))


def _decision_key(state: PlanState, answer: Answer) -> Hashable:
    """Everything that the next run depends on."""
    goal = (state.deadline_seconds, state.budget_usd, state.confidence, state.max_nodes, state.spot)
    return (answer.built.plan, goal, state.training.fractions)


def experiments_report(
    session: EngineSession,
    state: PlanState,
    answer: Answer,
    previous: ExperimentsReport | None,
) -> ExperimentsReport:
    """The whole report for a state; a part that fails is replaced by the reason.

    Args:
        previous: the last report: its next run is reused where only the training runs change.
    """
    built, best = answer.built, answer.best
    report = ExperimentsReport(
        state.confidence,
        spot=answer.report.billing.spot,
        known=engine.lessons_of(built.profile),
        method=state.training.plan,
    )
    if built.workflow is not None:
        return replace(report, no_advice=NO_WORKFLOW, no_plan=NO_WORKFLOW)
    if best is None:
        nothing = "there is no composition to be surer about; loosen the goal"
        return replace(report, no_advice=nothing, no_plan=nothing)
    composition = answer.equivalent or best.composition
    report = replace(report, composition=composition, has_interval=best.low is not None)
    try:
        fitted = session.separate_fit(state, built)
    except Exception as error:
        return replace(report, no_advice=_planner_error(error), no_plan=_planner_error(error))
    question = _Question(fitted, state, answer, best)
    decision = _decision_key(state, answer)
    if previous is not None and previous.decision_key == decision:
        report = replace(
            report, advice=previous.advice, no_advice=previous.no_advice, decision_key=decision
        )
    else:
        report = replace(question.with_advice(report), decision_key=decision)
    if state.training.plan != "ernest":
        return question.with_reference_runs(report)
    return question.with_plan(report)


@dataclass(frozen=True, eq=False)
class _Question:
    """The question that experiments serve: `best`, the composition of an answer, by a separately
    fitted model."""

    fitted: engine.FittedModel
    state: PlanState
    answer: Answer
    best: engine.Choice

    def with_advice(self, report: ExperimentsReport) -> ExperimentsReport:
        """The report with the next run for the current decision."""
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
            return replace(report, no_advice=_planner_error(error))
        return replace(report, advice=advice)

    def with_reference_runs(self, report: ExperimentsReport) -> ExperimentsReport:
        """The report with the runs of PERIDOT's or SimCost's design, on the type of the best
        composition."""
        from tui.input_text.training_text import SAMPLES

        instance, max_nodes = self._type_and_most()
        training = self.state.training
        request = engine.TrainingRequest(
            nodes=tuple(range(1, max_nodes + 1)),
            fractions=training.fractions or (*SAMPLES, 1.0),
            method=training.plan,
            instances=(instance,),
            confidence=self.state.confidence,
        )
        report = replace(report, instance=instance)
        try:
            plan = self._planned(request)
        except Exception as error:
            return replace(report, no_plan=_planner_error(error))
        return replace(report, plan=plan)

    def with_plan(self, report: ExperimentsReport) -> ExperimentsReport:
        """The report with Ernest's training runs on the best composition's type, within the
        budget."""
        from tui.input_text.training_text import SAMPLES

        training, plan = self.state.training, self.answer.built.plan
        amount, unit = training.amount, training.unit
        if amount is None:
            amount, unit = suggested_budget(self.best)
        instance, max_nodes = self._type_and_most()
        report = replace(
            report, instance=instance, amount=amount, unit=unit, suggested=training.amount is None
        )
        request = engine.TrainingRequest(
            nodes=tuple(count for count in NODES if count <= max_nodes),
            fractions=training.fractions or SAMPLES,
            unit=unit,
            budget=amount,
            instances=(instance,),
            confidence=self.state.confidence,
        )
        try:
            design = self._planned(request, raises_left=MAX_BUDGET_RAISES * report.suggested)
            narrowing = engine.narrowed(
                self.fitted,
                cluster=plan.cluster(self.best),
                runs=design.runs,
                workload=plan.surface.workload,
                confidence=self.state.confidence,
            )
        except Exception as error:
            return replace(report, no_plan=_planner_error(error))
        return replace(report, plan=design, narrowing=narrowing, amount=design.budget)

    def _type_and_most(self) -> tuple[str, int]:
        """The type of the training runs, and their largest number of nodes."""
        instance = next(iter(self.answer.equivalent or self.best.composition))
        largest = self.answer.built.plan.alike(self.best)[instance]
        return instance, min(self.state.max_nodes, max(MIN_REACH_NODES, 2 * largest))

    def _planned(
        self, request: engine.TrainingRequest, *, raises_left: int = 0
    ) -> engine.ExperimentPlan:
        """The design. Where it fails because the budget is too small, and the budget was not the
        user's, it is raised up to `raises_left` times."""
        from tui.input_text.training_text import next_round_amount

        built = self.answer.built
        try:
            return engine.plan_experiments(
                request,
                fitted=self.fitted,
                workload=built.plan.surface.workload,
                catalog=built.catalog,
            )
        except engine.BudgetTooSmall as error:
            if raises_left < 1:
                raise
            enough = next_round_amount(BUDGET_MARGIN * error.least, request.unit, 1)
            return self._planned(replace(request, budget=enough), raises_left=raises_left - 1)


def suggested_budget(best: engine.Choice) -> tuple[float, str]:
    """A round budget and its unit: money for a few runs of the best composition, or time where it
    has no price."""
    from tui.input_text.training_text import next_round_amount

    if best.cost_usd:
        return next_round_amount(best.cost_usd * BUDGET_SHARE, "usd", 1), "usd"
    return next_round_amount(best.seconds * BUDGET_SHARE, "seconds", 1), "seconds"
