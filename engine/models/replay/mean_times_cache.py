"""What logs said of a grid of clusters, kept for the next step of a slider.

The answer to an input hangs on inputs on the way to it (`held_answers.py`), and those of the last
step mostly come again: half a million clusters need not be asked about them once more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.lazy import Recent

FEWEST_CLUSTERS = 2_048
"""Of fewer clusters nothing is kept: single ones are asked about in between, and are quick."""

KEPT_GRIDS = 2
"""All candidates, and those of them that may be among the best."""

KEPT_ANSWERS = 8
"""Inputs whose answers are kept: the ends of the way, the parts of its last step, and some more."""


class MeanTimes(NamedTuple):
    """Means over logs for n clusters.

    Attributes:
        alone: (n,) log time, memory apart.
        memory: (n,) log of the factor by which memory changes it.
    """

    alone: FloatArray
    memory: FloatArray


class KeptAnswers:
    """The answers about the grids that were asked about last; threads may ask at once. A copy in
    another process begins with none."""

    def __init__(self) -> None:
        self._held: tuple[tuple[ClusterBatch, Recent[MeanTimes]], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def of(
        self, batch: ClusterBatch, question: Hashable, make: Callable[[], MeanTimes]
    ) -> MeanTimes:
        """The answer to a question about a batch, made where it is not kept."""
        if len(batch) < FEWEST_CLUSTERS:
            return make()
        held = [entry for entry in self._held if entry[0].same_as(batch)]
        found = held[0] if held else (batch, Recent[MeanTimes](KEPT_ANSWERS))
        others = tuple(entry for entry in self._held if entry is not found)
        self._held = (found, *others)[:KEPT_GRIDS]
        return found[1].get(question, make)
