"""Laws drawn from their prior (`Laws.log_prior` is its density)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.laws import CLIFF, MEDIANS, SHARES, SPARSEST, SPREADS, Laws
from engine.models.laws.reference_frame import ReferenceFrame, as_single

MOST_PRIOR_DRAWS = 50_000
"""Laws that are drawn from the prior."""


@dataclass(frozen=True, eq=False)
class PriorLaws(Laws):
    """Laws from the prior. There are many, of which few are selected: until then their parameters
    are not copied, and have shares of scale 1.

    Args:
        unit_shares: (d, 11) these shares.
        cliffs: (d,) their cliffs.
    """

    unit_shares: FloatArray
    cliffs: FloatArray

    @property
    def cliff(self) -> FloatArray:
        return self.cliffs

    @cached_property
    def shares(self) -> FloatArray:
        scales = np.asarray(self.frame.scales, dtype=self.unit_shares.dtype)
        return self.unit_shares * scales

    def take(self, indices: IntArray | slice) -> Laws:
        if isinstance(indices, slice):
            return PriorLaws(
                self.frame,
                self.parameters[:, indices],
                self.unit_shares[indices],
                self.cliffs[indices],
            )
        # `take` would first copy all parameters, which are a part of a wider array.
        parameters = np.ascontiguousarray(self.parameters[:, indices])
        parameters[:CLIFF] += np.log(self.frame.scales)[:, None]
        parameters[CLIFF] = self.cliffs[indices]
        return Laws(self.frame, parameters)


def first_prior_laws(frame: ReferenceFrame, count: int, *, seed: int) -> PriorLaws:
    """The first `count` laws, at most `MOST_PRIOR_DRAWS`, drawn from the prior, as 32-bit
    numbers."""
    parameters, unit_shares = _prior_parameters(seed)
    parameters, unit_shares = parameters[:, :count], unit_shares[:count]
    return PriorLaws(frame, parameters, unit_shares, parameters[CLIFF])


def stratified_prior_laws(frame: ReferenceFrame, count: int, *, seed: int) -> PriorLaws:
    """The same laws with one cliff in each `count`-th part of its prior, descending: chance decides
    less of how many laws have one where, and those that meet a cliff are next to each other."""
    drawn = first_prior_laws(frame, count, seed=seed)
    cliffs = (np.arange(len(drawn) - 1, -1, -1) + drawn.cliffs) / len(drawn)
    return replace(drawn, cliffs=as_single(cliffs))


@lru_cache(maxsize=1)
def _prior_parameters(seed: int) -> tuple[FloatArray, FloatArray]:
    """(18, `MOST_PRIOR_DRAWS`) parameters of laws with shares of scale 1, and (`MOST_PRIOR_DRAWS`,
    11) these shares. Drawn once: it takes longer than fitting them."""
    random = np.random.default_rng(seed)
    with np.errstate(divide="ignore"):
        log_shares = np.log(random.gamma(np.broadcast_to(SHARES, (MOST_PRIOR_DRAWS, len(SHARES)))))
    cliff = random.random(MOST_PRIOR_DRAWS)
    others = (
        random.normal(median, spread, MOST_PRIOR_DRAWS)
        for median, spread in zip(MEDIANS, SPREADS, strict=True)
    )
    parameters = as_single(np.stack((*np.maximum(log_shares, SPARSEST).T, cliff, *others)))
    return parameters, np.exp(parameters[:CLIFF]).T
