"""The other models' answers, fitted where nobody waits for them: when the evidence is looked at."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

import engine
from tui.messages import Compared
from tui.workers import Latest

if TYPE_CHECKING:
    from engine import Choice, ModelAnswer, Plan, Run
    from tui.answers import Answer, Session


SIZES_EXECUTORS = "simcost"
"""The model that is asked even where it is the one in use: how many executors of what size take the
least resource time is worked out where nobody waits for it."""


class Comparing:
    """Asks every model the question at hand, in a thread of its own, and keeps what came.

    The model in use answers from the plan itself. While a new question is asked, the answers to the
    last one stay, as the plan does; those of other evidence go.
    """

    def __init__(self, session: Session, post: Callable[[Compared], object]) -> None:
        self._session = session
        self._post = post
        self._latest = Latest("models")
        self._question: Hashable = None
        self._runs: tuple[Run, ...] = ()
        self._answers: dict[str, ModelAnswer] = {}

    def rows(self, answer: Answer) -> list[tuple[str, ModelAnswer | None]]:
        """Every model with its answer, None for those that are still being fitted; asks them where
        the question is a new one."""
        best, plan = answer.best, answer.built.plan
        if best is None:
            return []
        question = (plan, tuple(best.composition.items()))
        if self._question != question:
            if answer.built.profile.runs is not self._runs:
                self._runs, self._answers = answer.built.profile.runs, {}
            self._question = question
            self._ask(question, plan, best)
        used = plan.fitted.model
        executors = self._answers[used].executors if used in self._answers else None
        outcome = engine.FitOutcome(used, plan.fitted)
        own = engine.ModelAnswer(outcome, answer.explained, executors=executors)
        return [
            (name, own if name == used else self._answers.get(name))
            for name in self._session.models
        ]

    def _ask(self, question: Hashable, plan: Plan, best: Choice) -> None:
        cluster, workload = plan.cluster(best), plan.surface.workload

        def job() -> None:
            for name in self._session.models:
                if name == plan.fitted.model and name != SIZES_EXECUTORS:
                    continue
                if self._question != question:
                    return
                found = self._session.ask(name, plan.request.profile, cluster, workload)
                self._post(Compared(question, found))

        self._latest.submit(job)

    def take(self, message: Compared) -> bool:
        """Keep an answer; whether it is one to the question at hand."""
        if message.question != self._question:
            return False
        self._answers[message.answer.model] = message.answer
        return True
