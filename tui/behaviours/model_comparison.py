"""The other models' answers, fitted where nobody waits for them: when the evidence is looked at."""

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
"""The model that is asked even where it is the one in use: how many executors of what size take the
least resource time is worked out where nobody waits for it."""


class ModelComparison:
    """Asks every model the question at hand, in a thread of its own, and keeps what came.

    The model in use answers from the plan itself. While a new question is asked, of the answers to
    the last one only the fits stay, and those where they are the same: a time is of one cluster.
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
        """Whether a model has yet to answer the question at hand."""
        return bool(self._asked)

    def rows(self, answer: Answer) -> list[tuple[str, ModelAnswer | None]]:
        """Every model with its answer; asks them where the question is a new one.

        Returns:
            None for models that are still being fitted; for those that were asked something else
            last an answer without prediction and without a reason for that.
        """
        best, plan = answer.best, answer.built.plan
        if best is None:
            return []
        question = (plan, tuple(best.composition.items()))
        if self._question != question:
            self._answers = _fits(self._answers) if self._fitted_alike(answer.built) else {}
            self._question = question
            self._ask(question, plan, best)
        used = plan.fitted.model
        executors = self._answers[used].executors if used in self._answers else None
        own = engine.ModelAnswer(self._outcome(plan), answer.explained, executors=executors)
        return [
            (name, own if name == used else self._answers.get(name))
            for name in self._session.models
        ]

    def _outcome(self, plan: Plan) -> FitOutcome:
        """The model in use; the same as long as its fit is, whose left-out runs it has sought."""
        if self._own is None or self._own.fitted is not plan.fitted:
            self._own = engine.FitOutcome(plan.fitted.model, plan.fitted)
        return self._own

    def _fitted_alike(self, built: BuiltPlan) -> bool:
        """Whether the last answers came of fits to this evidence that answer for this workload."""
        profile, workload, before = built.profile, built.plan.surface.workload, self._evidence
        self._evidence = (profile.runs, profile.category, workload)
        if before is None or before[0] is not profile.runs:
            return False
        return before[1:] == self._evidence[1:]

    def _ask(self, question: tuple[Plan, Hashable], plan: Plan, best: Choice) -> None:
        cluster, workload = plan.cluster(best), plan.surface.workload
        used = plan.fitted.model
        names = [name for name in self._session.models if name == SIZES_EXECUTORS or name != used]
        self._asked = frozenset(names)

        def job() -> None:
            for name in names:
                if self._question != question:
                    return
                found = self._session.ask(name, plan.request.profile, cluster, workload)
                self._post(ModelAnswered(question, found))

        self._latest.submit(job)

    def take(self, message: ModelAnswered) -> bool:
        """Keep an answer; whether it is one to the question at hand."""
        if message.question != self._question:
            return False
        self._answers[message.answer.model] = message.answer
        self._asked -= {message.answer.model}
        return True


def _fits(answers: Mapping[str, ModelAnswer]) -> dict[str, ModelAnswer]:
    """What holds whatever cluster is asked about: the fit, or why there is none."""
    return {
        name: found if found.outcome.fitted is None else engine.ModelAnswer(found.outcome, None)
        for name, found in answers.items()
        if not found.why_not or found.outcome.fitted is None
    }
