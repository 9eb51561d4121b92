"""The comparison of all models in the Evidence view; the other models are fitted in a worker
thread."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import TYPE_CHECKING

import engine
from tui.messages import ModelAnswered
from tui.workers import LatestJobWorker

if TYPE_CHECKING:
    from engine import Choice, FitOutcome, ModelAnswer, Plan, Run, Workload
    from tui.answers import Answer, BuiltPlan
    from tui.session import EngineSession


SIZES_EXECUTORS = "simcost"
"""The model that is asked even where it is the plan's: its search for the executors of least
resource time is too slow for the user interface's thread."""

ONE_JOB = "for one job, not several on one cluster"
"""Why no other model answers for a workflow. What they say to its profile, which has no runs, is
what to add to an ordinary one, and that another of them be used."""


class ModelComparison:
    """Asks every model the current question, in a thread of its own, and keeps the answers.

    The plan's model answers from the plan itself. When the question changes, only the fits of the
    last answers are kept, and only while evidence and workload are the same: a predicted time is
    for one cluster.
    """

    def __init__(self, session: EngineSession, post: Callable[[ModelAnswered], object]) -> None:
        self._session = session
        self._post = post
        self._latest = LatestJobWorker("models")
        self._question: tuple[Plan, Hashable] | None = None
        self._answers: dict[str, ModelAnswer] = {}
        self._own: FitOutcome | None = None
        self._asked: frozenset[str] = frozenset()
        self._evidence: tuple[tuple[Run, ...], str | None, Workload] | None = None

    @property
    def waiting(self) -> bool:
        """Whether a model has not answered the current question yet."""
        return bool(self._asked)

    def rows(self, answer: Answer) -> list[tuple[str, ModelAnswer | None]]:
        """Every model with its answer; a new question is put to all of them.

        Returns:
            None for models that are still being fitted; for those that were asked something else
            last an answer without prediction and without a reason for that.
        """
        best, plan = answer.best, answer.built.plan
        if best is None:
            return []
        question = (plan, tuple(best.composition.items()))
        if answer.built.workflow is not None:
            self._question, self._answers, self._asked = question, {}, frozenset()
            return [
                (name, self._used(answer) if name == plan.fitted.model else _one_job(name))
                for name in self._session.models
            ]
        if self._question != question:
            self._answers = _fits(self._answers) if self._fitted_alike(answer.built) else {}
            self._question = question
            self._ask(question, plan, best)
        used_model, used_answer = plan.fitted.model, self._used(answer)
        return [
            (name, used_answer if name == used_model else self._answers.get(name))
            for name in self._session.models
        ]

    def _used(self, answer: Answer) -> ModelAnswer:
        """What the plan's own model says."""
        plan = answer.built.plan
        asked = self._answers.get(plan.fitted.model)
        executors = asked.executors if asked else None
        return engine.ModelAnswer(self._outcome(plan), answer.explained, executors=executors)

    def _outcome(self, plan: Plan) -> FitOutcome:
        """The outcome of the plan's model; the same object as long as its fit is, since it caches
        the left-out runs."""
        if self._own is None or self._own.fitted is not plan.fitted:
            self._own = engine.FitOutcome(plan.fitted.model, plan.fitted)
        return self._own

    def _fitted_alike(self, built: BuiltPlan) -> bool:
        """Whether the last answers came from fits to this evidence, for this workload."""
        profile, workload, before = built.profile, built.plan.surface.workload, self._evidence
        self._evidence = (profile.runs, profile.category, workload)
        if before is None or before[0] is not profile.runs:
            return False
        return before[1:] == self._evidence[1:]

    def _ask(self, question: tuple[Plan, Hashable], plan: Plan, best: Choice) -> None:
        cluster, workload = plan.cluster(best), plan.surface.workload
        used_model = plan.fitted.model
        names = [
            name for name in self._session.models if name == SIZES_EXECUTORS or name != used_model
        ]
        self._asked = frozenset(names)

        def job() -> None:
            for name in names:
                if self._question != question:
                    return
                answer = self._session.ask(name, plan.request.profile, cluster, workload)
                self._post(ModelAnswered(question, answer))

        self._latest.submit(job)

    def accept(self, message: ModelAnswered) -> bool:
        """Keep an answer; False where it is not for the current question."""
        if message.question != self._question:
            return False
        self._answers[message.answer.model] = message.answer
        self._asked -= {message.answer.model}
        return True


def _one_job(model: str) -> ModelAnswer:
    """The answer of a model of one job about a workflow: none."""
    return engine.ModelAnswer(engine.FitOutcome(model, None, ONE_JOB), None, ONE_JOB)


def _fits(answers: Mapping[str, ModelAnswer]) -> dict[str, ModelAnswer]:
    """What holds for any cluster of the last answers: the fit, or why there is none."""
    return {
        name: answer if answer.outcome.fitted is None else engine.ModelAnswer(answer.outcome, None)
        for name, answer in answers.items()
        if not answer.why_not or answer.outcome.fitted is None
    }
