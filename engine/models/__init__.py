"""The models. A new one is a file here and a line in `MODELS` (docs/adding_a_model.md)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.errors import UnknownName, require_kind
from engine.models.model import ListedModel
from engine.read_only import ReadOnly

if TYPE_CHECKING:
    from engine.models.base import FittedModel
    from engine.profile import Profile

MODELS = (
    ListedModel(
        "sparkplan",
        "replays the stages of logs, averages physical laws over run times",
        "engine.models.sparkplan",
        "Sparkplan",
    ),
    ListedModel(
        "optex",
        "closed-form phases from a job profile per application category (OptEx)",
        "engine.models.optex.model",
        "Optex",
    ),
    ListedModel(
        "ernest",
        "non-negative least squares over machines and scale (Ernest)",
        "engine.models.ernest",
        "Ernest",
    ),
    ListedModel(
        "ernest-extended",
        "Ernest with further terms chosen by leave-one-out, on relative error",
        "engine.models.ernest",
        "ErnestExtended",
    ),
    ListedModel(
        "peridot",
        "stage groups and waves from two small runs at equal cores (PERIDOT)",
        "engine.models.peridot.model",
        "Peridot",
    ),
    ListedModel(
        "simcost",
        "compute, read, write and shuffle cost per stage, from small sample runs (SimCost)",
        "engine.models.simcost.model",
        "Simcost",
    ),
    ListedModel(
        "boe",
        "bottlenecks of tasks (cpu, disk, network), states of parallel stages (BOE paper)",
        "engine.models.boe.model",
        "Boe",
    ),
)
"""The models, in the order in which they are listed."""

MODELS_BY_NAME: Mapping[str, ListedModel] = ReadOnly({model.name: model for model in MODELS})
"""The same by name."""

DEFAULT_MODEL = "sparkplan"


def fit(profile: Profile, *, model: str = DEFAULT_MODEL) -> FittedModel:
    """The named model fitted to a profile.

    Raises:
        UnknownName: for a model that is not in `MODELS`.
        ModelDoesNotFit: when the profile does not hold what the model needs.
        BadInput: for what is no profile.
    """
    from engine.profile import Profile  # with arrays: a list of models needs none

    require_kind(profile, Profile, "a profile", remedy='read it with engine.read("app.zstd")')
    if model not in MODELS_BY_NAME:
        raise UnknownName("model", str(model), MODELS_BY_NAME)
    return MODELS_BY_NAME[model].fit(profile, models=MODELS_BY_NAME)
