"""Random numbers of the Metropolis proposals of the sampler, cached: they are the same for every
fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.laws import CLIFF, ONCE_FIXED
from engine.models.laws.reference_frame import as_single

CACHED_STEPS = 180
"""Metropolis steps whose random numbers are cached, 0.13 or 0.27 MB each: more than a fit of 100
runs of nine types asks for, with some runs taken for outliers (166). With a smaller cache, the
later types of such a table would evict what the next fit begins with."""

REDRAW_SHARE, WHOLE_STEP_SHARE, JITTER = 0.3, 0.2, 0.02
"""Of a proposal: the probability that the cliff is drawn afresh from the prior, the probability of
a step by the whole difference (which jumps between modes), and the standard deviation of the jitter
added to each log share."""


@dataclass(frozen=True, eq=False)
class Proposals:
    """The random numbers of one Metropolis step of d laws, a proposal for each.

    Some draw their cliff afresh from the prior. The others move by differential evolution: along
    the difference of two other laws, in a random subset of their shares, the cliff together with
    its height and form. On 30 runs one in 200 cliffs drawn afresh is accepted, and the effect of a
    cliff further on is also that of a lower one.

    Args:
        first, second: (d,) the two laws whose difference each law moves along.
        redraws_cliff: (d,) whether the cliff is drawn afresh.
        redrawn_cliff: (d,) the fresh cliff, as a probability of its prior.
        step: (d,) share of the difference that the law moves by; 0 where its cliff is drawn afresh.
        step_by_parameter: (18, d) the same for each parameter of the law; 0 for shares that stay,
            and for the cliff, which wraps round (`sampling.proposed_cliffs`).
        jitter: (11, d) added to each log share.
        log_uniform: (d,) log of a uniform number: the proposal is accepted if the gain of log
            density exceeds it.
    """

    first: IntArray
    second: IntArray
    redraws_cliff: BoolArray
    redrawn_cliff: FloatArray
    step: FloatArray
    step_by_parameter: FloatArray
    jitter: FloatArray
    log_uniform: FloatArray

    @classmethod
    def of(cls, random: np.random.Generator, count: int) -> Proposals:
        """The random numbers for `count` laws."""
        redraws = random.random(count) < REDRAW_SHARE
        first, second = random.integers(0, count, count), random.integers(0, count, count)
        whole = random.random(count) < WHOLE_STEP_SHARE
        step = np.where(redraws, 0.0, np.where(whole, 1.0, random.uniform(0.1, 0.9, count)))
        moving = (random.random((count, CLIFF)) > random.random(count)[:, None]).T & ~redraws
        step_by_parameter = np.empty((ONCE_FIXED + 1, count))
        step_by_parameter[:CLIFF] = step * moving
        step_by_parameter[CLIFF] = 0.0
        step_by_parameter[CLIFF + 1 :] = step
        jitter = JITTER * random.normal(size=(count, CLIFF)).T * moving
        return cls(
            first=first,
            second=second,
            redraws_cliff=redraws,
            step=as_single(step),
            step_by_parameter=as_single(step_by_parameter),
            jitter=as_single(jitter),
            redrawn_cliff=as_single(random.random(count)),
            log_uniform=np.log(random.random(count)),
        )


class ProposalStream:
    """The random numbers of one fit, in the order of the requests.

    They depend on that order and the number of laws alone, and fits of equally many laws begin with
    the same requests: each number is drawn once for all fits.
    """

    def __init__(self, seed: int, count: int) -> None:
        self.count = count
        self._seed, self._requests = seed, ""

    def copy(self) -> ProposalStream:
        """Another stream that goes on from here."""
        stream = ProposalStream(self._seed, self.count)
        stream._requests = self._requests
        return stream

    def offset(self) -> float:
        """A uniform number from [0, 1), the offset of systematic resampling."""
        self._requests += "o"
        drawn = _cached_draw(self._seed, self.count, self._requests)[0]
        assert isinstance(drawn, float)
        return drawn

    def proposals(self) -> Proposals:
        """The random numbers of the next Metropolis step."""
        self._requests += "t"
        drawn = _cached_draw(self._seed, self.count, self._requests)[0]
        assert isinstance(drawn, Proposals)
        return drawn


@lru_cache(maxsize=CACHED_STEPS)
def _cached_draw(
    seed: int, count: int, requests: str
) -> tuple[float | Proposals, dict[str, object]]:
    """The result of the last of the `requests` ("o" for an offset, "t" for proposals), and the
    state of the generator after it."""
    random = np.random.default_rng(seed)
    if len(requests) > 1:
        random.bit_generator.state = _cached_draw(seed, count, requests[:-1])[1]
    drawn = random.random() if requests[-1] == "o" else Proposals.of(random, count)
    return drawn, dict(random.bit_generator.state)
