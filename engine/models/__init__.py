"""The models. A new one is a file here and a line in `MODELS` (docs/adding_a_model.md)."""

from __future__ import annotations

from engine.errors import UnknownName, require_kind
from engine.models.base import FittedModel, Model
from engine.models.boe.model import Boe
from engine.models.ernest import Ernest, ErnestExtended
from engine.models.optex.model import Optex
from engine.models.peridot.model import Peridot
from engine.models.simcost.model import Simcost
from engine.models.sparkplan import Sparkplan
from engine.profile import Profile

MODELS: tuple[Model, ...] = (
    Sparkplan(),
    Optex(),
    Ernest(),
    ErnestExtended(),
    Peridot(),
    Simcost(),
    Boe(),
)

DEFAULT_MODEL = "sparkplan"


def fit(profile: Profile, *, model: str = DEFAULT_MODEL) -> FittedModel:
    """The named model fitted to a profile.

    Raises:
        UnknownName: for a model that is not in `MODELS`.
        ModelDoesNotFit: when the profile does not hold what the model needs.
        BadInput: for what is no profile.
    """
    require_kind(profile, Profile, "a profile", remedy='read it with engine.read("app.zstd")')
    by_name = {entry.name: entry for entry in MODELS}
    if model not in by_name:
        raise UnknownName("model", str(model), by_name)
    return by_name[model].fit(profile, models=by_name)
