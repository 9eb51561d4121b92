"""A way to predict, and how it is listed: by name and summary, without what fitting it needs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.models.base import FittedModel
    from engine.profile import Profile


class Model(ABC):
    """A way to predict: its name, and how it is fitted. Only the entries of
    `engine.MODELS` have a summary too (`ListedModel`)."""

    name: str

    @abstractmethod
    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """The model fitted to the profile; `models` are the others, by name.

        Raises:
            ModelDoesNotFit: when this model needs other evidence; the message says what is missing.
        """


@dataclass(frozen=True)
class ListedModel(Model):
    """A model of the list, which imports its module when it is fitted: those of all models take
    some hundred milliseconds, and most questions are to one.

    Args:
        summary: one line on what it is.
        module, kind: where its class is, and the name of this.
    """

    name: str
    summary: str
    module: str
    kind: str

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        model: Model = getattr(import_module(self.module), self.kind)()
        return model.fit(profile, models=models)
