"""What the worker tells the app; only message handlers touch widgets."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.message import Message

if TYPE_CHECKING:
    from engine import ModelAnswer
    from tui.answers import Answer, BuiltPlan
    from tui.experiments_advisor import ExperimentsReport


@dataclass(eq=False, repr=False)
class Progress(Message):
    """How far a plan is; a later one stands for all queued ones."""

    key: Hashable
    text: str

    def can_replace(self, message: Message) -> bool:
        """Only the latest progress matters."""
        return isinstance(message, Progress)


@dataclass(eq=False, repr=False)
class PlanReady(Message):
    """A plan was built for the state with this key."""

    key: Hashable
    built: BuiltPlan


@dataclass(eq=False, repr=False)
class MixReady(Message):
    """The mixes for the question that `before` answers were searched, in so many seconds; `after`
    holds the best."""

    before: Answer
    after: Answer
    seconds: float


@dataclass(eq=False, repr=False)
class MixFailed(Message):
    """They could not be searched; the answer of one type stays."""

    before: Answer
    text: str


@dataclass(eq=False, repr=False)
class PlanFailed(Message):
    """No plan for the state with this key; `text` says what, where and what to do."""

    key: Hashable
    text: str


@dataclass(eq=False, repr=False)
class ModelAnswered(Message):
    """What a model that is not in use says of the question at hand."""

    question: Hashable
    answer: ModelAnswer


@dataclass(eq=False, repr=False)
class ExperimentsReady(Message):
    """What could be run next, for the question at hand."""

    question: Hashable
    found: ExperimentsReport
