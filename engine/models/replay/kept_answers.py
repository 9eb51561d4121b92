"""What logs said of a grid of clusters, kept for the next step of a slider.

The answer to an input hangs on inputs on the way to it (`held_answers.py`), and those of the last
step mostly come again: half a million clusters need not be asked about them once more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.models.stages.kept_inputs import kept

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


@dataclass
class KeptAnswers:
    """The answers about the grids that were asked about last; threads may ask at once."""

    _held: tuple[tuple[ClusterBatch, OrderedDict[Hashable, MeanTimes]], ...] = field(
        default=(), repr=False
    )

    def of(
        self, batch: ClusterBatch, question: Hashable, make: Callable[[], MeanTimes]
    ) -> MeanTimes:
        """The answer to a question about a batch, made where it is not kept."""
        if len(batch) < FEWEST_CLUSTERS:
            return make()
        held = [entry for entry in self._held if entry[0].same_as(batch)]
        found = held[0] if held else (batch, OrderedDict())
        others = tuple(entry for entry in self._held if entry is not found)
        self._held = (found, *others)[:KEPT_GRIDS]
        return kept(found[1], question, make, most=KEPT_ANSWERS)
