"""Samples as they were read and fits of one command line, kept for the next: most tests of commands
ask about a few of the logs that the package brings."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import engine
from engine.caching import LruCache

KEPT = 12
"""Fits are kept with what they computed; more than these take more memory than time."""

ENGINE_FIT = engine.fit
"""The fit that is kept; a test may put another one in its place."""

ENGINE_READS: dict[str, Callable[..., Any]] = {
    "read": engine.read,
    "read_each": engine.read_each,
    "read_workflow": engine.read_workflow,
}
"""What reads the samples that are kept, and all other sources each time, by their names in
`engine`."""


class KeptFits:
    """Stands for `engine.fit`: evidence that is in all the same gets the model of the last time.
    The planner asks one fitted model all its questions too, from one thread as here."""

    def __init__(self) -> None:
        self._kept: LruCache[engine.FittedModel] = LruCache(KEPT)

    def fit(
        self, profile: engine.Profile, *, model: str = engine.DEFAULT_MODEL
    ) -> engine.FittedModel:
        """The kept model of equal evidence, else a new one."""
        key = (model, pickle.dumps(profile))
        return self._kept.get(key, lambda: ENGINE_FIT(profile, model=model))


class KeptReads:
    """Stands for what reads sources: of the samples that the package brings, which no test changes,
    each command gets a copy of its own. Only the first reading of one calls `progress`: a test of
    what is said meanwhile has to read a file of its own."""

    def __init__(self) -> None:
        self._kept: dict[bytes, bytes] = {}
        self._samples = {sample.name for sample in engine.list_samples()}

    def instead_of(self, name: str) -> Callable[..., Any]:
        """What is called in the place of the engine's function of this name: gives a copy of what
        the same samples said to the same options, else what is read now. A file of that name in the
        working folder goes before the sample."""

        def read(*sources: str | Path, **options: Any) -> Any:
            now = ENGINE_READS[name]
            if not self._samples.issuperset(sources) or any(Path(one).exists() for one in sources):
                return now(*sources, **options)
            told = {option: value for option, value in options.items() if option != "progress"}
            key = pickle.dumps((name, sources, sorted(told.items())))
            if key not in self._kept:
                self._kept[key] = pickle.dumps(now(*sources, **options))
            return pickle.loads(self._kept[key])

        return read
