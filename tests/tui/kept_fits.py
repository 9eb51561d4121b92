"""Fits of one command line, kept for the next: most tests of commands ask about a few of the logs
that the package brings."""

import pickle
from collections import OrderedDict

import engine

KEPT = 12
"""Fits are kept with what they computed; more than these take more memory than time."""

ENGINE_FIT = engine.fit
"""The fit that is kept; a test may put another one in its place."""


class KeptFits:
    """Stands for `engine.fit`: evidence that is in all the same gets the model of the last time.
    The planner asks one fitted model all its questions too, from one thread as here."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, bytes], engine.FittedModel] = OrderedDict()

    def fit(
        self, profile: engine.Profile, *, model: str = engine.DEFAULT_MODEL
    ) -> engine.FittedModel:
        """The kept model of equal evidence, else a new one."""
        key = (model, pickle.dumps(profile))
        if key not in self._kept:
            self._kept[key] = ENGINE_FIT(profile, model=model)
        self._kept.move_to_end(key)
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)
        return self._kept[key]
