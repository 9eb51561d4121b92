"""The random numbers with which laws follow the likelihood of runs: the same for every fit."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.laws import CLIFF, ONCE_FIXED

MOST_THROWS = 180
"""Moves whose random numbers are kept, 0.13 or 0.27 MB each: more than a fit of 100 runs of nine
types asks for, some of them doubted (166). With fewer its types would throw out what the next fit
begins with."""

REDRAWN, WHOLE_STEPS, JITTER = 0.3, 0.2, 0.02
"""Moves: the share that draws the cliff afresh, the share of steps of a whole difference (which
jump between modes), and the spread of what is added to each log share."""


@dataclass(frozen=True, eq=False)
class Throw:
    """The random numbers of one Metropolis step of d laws.

    Some draw their cliff afresh, as the prior says; the others move along the difference of two
    laws, in a random part of their shares, the cliff with its height and form: on 30 runs one in
    200 of those that are drawn afresh is taken, and what a cliff further on does is done by a lower
    one as well.

    Args:
        a, b: (d,) the two laws.
        redrawn, cliff: (d,) who draws a cliff afresh, and where.
        step: (d,) how much of the difference a law moves by; 0 where its cliff is drawn.
        steps: (18, d) the same for each number; 0 for shares that stay, and for the cliff, which
            goes round.
        jitter: (11, d) what is added to each share.
        log_needed: (d,) least gain of log density with which the move is made.
    """

    a: IntArray
    b: IntArray
    redrawn: BoolArray
    cliff: FloatArray
    step: FloatArray
    steps: FloatArray
    jitter: FloatArray
    log_needed: FloatArray

    @classmethod
    def of(cls, random: np.random.Generator, count: int) -> Throw:
        """For so many laws."""
        redrawn = random.random(count) < REDRAWN
        a, b = random.integers(0, count, count), random.integers(0, count, count)
        whole = random.random(count) < WHOLE_STEPS
        step = np.where(redrawn, 0.0, np.where(whole, 1.0, random.uniform(0.1, 0.9, count)))
        moving = (random.random((count, CLIFF)) > random.random(count)[:, None]).T & ~redrawn
        steps = np.empty((ONCE_FIXED + 1, count))
        steps[:CLIFF], steps[CLIFF], steps[CLIFF + 1 :] = step * moving, 0.0, step
        jitter = JITTER * random.normal(size=(count, CLIFF)).T * moving
        return cls(
            a=a,
            b=b,
            redrawn=redrawn,
            step=step,
            steps=steps,
            jitter=jitter,
            cliff=random.random(count),
            log_needed=np.log(random.random(count)),
        )


class Chance:
    """The random numbers of one fit, in the order in which they are asked for.

    They depend on that order alone, and fits of as many laws ask for the same at first: each is
    drawn once for all of them.
    """

    def __init__(self, seed: int, count: int) -> None:
        self.count = count
        self._seed, self._asked = seed, ""

    def offset(self) -> float:
        """Evenly from [0, 1)."""
        self._asked += "o"
        found = _numbers(self._seed, self.count, self._asked)[0]
        assert isinstance(found, float)
        return found

    def throw(self) -> Throw:
        """What the next move of all laws needs."""
        self._asked += "t"
        found = _numbers(self._seed, self.count, self._asked)[0]
        assert isinstance(found, Throw)
        return found


@lru_cache(maxsize=MOST_THROWS)
def _numbers(seed: int, count: int, asked: str) -> tuple[float | Throw, dict[str, object]]:
    """What was `asked` for last ("o" for an offset, "t" for a throw), and where the generator then
    is."""
    random = np.random.default_rng(seed)
    if len(asked) > 1:
        random.bit_generator.state = _numbers(seed, count, asked[:-1])[1]
    found = random.random() if asked[-1] == "o" else Throw.of(random, count)
    return found, dict(random.bit_generator.state)
