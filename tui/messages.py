"""Messages from the worker threads to the app; only message handlers touch widgets."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

import engine

if TYPE_CHECKING:
    from engine import ModelAnswer
    from tui.answers import Answer, BuiltPlan, Evidence
    from tui.experiments_advisor import ExperimentsReport


def error_text(error: Exception) -> str:
    """An error as one line for a notice; an unexpected one is shown too and leaves the last good
    plan."""
    if isinstance(error, engine.EngineError):
        return str(error)
    return f"{type(error).__name__}: {error}; please report this"


@dataclass(eq=False, repr=False)
class Progress(Message):
    """Progress of building a plan; a later one replaces all that are queued."""

    key: Hashable
    text: str

    def can_replace(self, message: Message) -> bool:
        """Only the latest progress matters."""
        return isinstance(message, Progress)


@dataclass(eq=False, repr=False)
class EvidenceReady(Message):
    """The evidence with this key is read; its plan is still being built."""

    key: Hashable
    evidence: Evidence


@dataclass(eq=False, repr=False)
class PlanReady(Message):
    """The plan for the state with this key is built."""

    key: Hashable
    built: BuiltPlan


@dataclass(eq=False, repr=False)
class MixReady(Message):
    """The search for mixes that started from answer `before` has ended with answer `after`; it took
    `seconds`."""

    before: Answer
    after: Answer
    seconds: float


@dataclass(eq=False, repr=False)
class MixFailed(Message):
    """The search for mixes failed; the answer of one type stays."""

    before: Answer
    text: str


@dataclass(eq=False, repr=False)
class PlanFailed(Message):
    """The plan for the state with this key could not be built; `text` says what, where and what to
    do; `where` is the file that was refused, None where that was something else."""

    key: Hashable
    text: str
    where: str | None = None


@dataclass(eq=False, repr=False)
class ModelAnswered(Message):
    """The answer of a model other than the plan's to the current question."""

    question: Hashable
    answer: ModelAnswer


@dataclass(eq=False, repr=False)
class ExperimentsReady(Message):
    """The report on possible experiments for the question with this key."""

    question: Hashable
    report: ExperimentsReport
