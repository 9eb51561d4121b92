"""The models. A new one is a file here and a line in `HOMES` (docs/adding_a_model.md).

A model's module is imported when the model is first asked for: those of all models take some
hundred milliseconds, and most questions are to one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from engine.errors import UnknownName, require_kind
from engine.models.base import FittedModel, Model
from engine.profile import Profile

if TYPE_CHECKING:
    MODELS: tuple[Model, ...]
    """The models, in the order in which they are listed."""

HOMES = {
    "sparkplan": ("engine.models.sparkplan", "Sparkplan"),
    "optex": ("engine.models.optex.model", "Optex"),
    "ernest": ("engine.models.ernest", "Ernest"),
    "ernest-extended": ("engine.models.ernest", "ErnestExtended"),
    "peridot": ("engine.models.peridot.model", "Peridot"),
    "simcost": ("engine.models.simcost.model", "Simcost"),
    "boe": ("engine.models.boe.model", "Boe"),
}
"""Name of each model -> its module and class, in the order in which they are listed."""

DEFAULT_MODEL = "sparkplan"


class _ModelsByName(Mapping[str, Model]):
    """Name -> model; a model is made when it is first looked up."""

    def __init__(self) -> None:
        self._made: dict[str, Model] = {}

    def __getitem__(self, name: str) -> Model:
        if name not in self._made:
            module, kind = HOMES[name]
            # Of threads that ask at once, all get the one that is kept.
            return self._made.setdefault(name, getattr(import_module(module), kind)())
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(HOMES)

    def __len__(self) -> int:
        return len(HOMES)


MODELS_BY_NAME: Mapping[str, Model] = _ModelsByName()
"""The same by name; a model is imported when it is looked up, for the names alone none is."""


def __getattr__(name: str) -> Any:
    if name != "MODELS":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return tuple(MODELS_BY_NAME.values())


def fit(profile: Profile, *, model: str = DEFAULT_MODEL) -> FittedModel:
    """The named model fitted to a profile.

    Raises:
        UnknownName: for a model that is not in `MODELS`.
        ModelDoesNotFit: when the profile does not hold what the model needs.
        BadInput: for what is no profile.
    """
    require_kind(profile, Profile, "a profile", remedy='read it with engine.read("app.zstd")')
    if model not in HOMES:
        raise UnknownName("model", str(model), HOMES)
    return MODELS_BY_NAME[model].fit(profile, models=MODELS_BY_NAME)
