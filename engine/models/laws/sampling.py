"""What runs leave of the prior over physical laws: sequential Monte Carlo.

Draws from the prior follow the likelihood of the runs as its power rises; what they then say of
times is in `averaging.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.frame import Frame, Seen
from engine.models.laws.laws import SHARES, SPARSEST, Laws, drawn
from engine.models.laws.terms import Points

RUN_NOISE, NOISE_DOF = 0.04, 4.0
"""Prior of the noise of log time about a law: scale and degrees of freedom. Repetitions differ by
1 to 4 %, and no law is exact."""

FIRST_DRAWS = 600_000
"""Draws from the prior, shared by the runs. Few runs need many: they leave laws of different kinds,
and how likely each kind is must not hang on chance."""

KEPT, FEWEST_KEPT, MOST_KEPT = 50_000, 500, 1_000
"""Draws that are kept and moved: the first shared by the runs, within the other two."""

MOVES, LAST_MOVES = 4, 8
"""How often each is moved after a step, and after one that reaches its goal."""

LEFT = 0.5
"""Effective draws that a step leaves, as a share of those that are kept."""

STEPS = 2**30
"""Parts of the longest step, of which a step takes some."""

TIMES_AT_ONCE = 131_072
"""Times of laws, of all runs, that are worked out at once."""

MOST_THROWS = 160
"""Moves whose random numbers are kept, 0.07 or 0.15 MB each: as many as a fit of nine types asks
for. With fewer its types would throw out what the next fit begins with."""

REDRAWN, WHOLE_STEPS, JITTER = 0.3, 0.2, 0.02
"""Moves: the share that draws the cliff afresh, the share of steps of a whole difference (which
jump between modes), and the spread of what is added to each log share."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """r runs and the linear effects on log time that are integrated out beside the noise.

    Args:
        at: where they were made.
        log_seconds: (r,).
        effects: (r, e) columns (the level, types, parameters), each times its prior spread.
        counts: (r,) the power to which each run's likelihood is raised; None for 1.
    """

    at: Points
    log_seconds: FloatArray
    effects: FloatArray
    counts: FloatArray | None = None

    def __len__(self) -> int:
        return len(self.log_seconds)

    @cached_property
    def runs(self) -> float:
        """How many the runs count as together."""
        return float(len(self)) if self.counts is None else float(self.counts.sum())

    @cached_property
    def precision(self) -> FloatArray:
        """(r, r) inverse covariance of effects and noise, relative to the noise's variance."""
        x = self.effects / RUN_NOISE
        noise = np.ones(len(self)) if self.counts is None else 1.0 / self.counts
        return np.asarray(np.linalg.inv(np.diag(noise) + x @ x.T))

    def coefficients(self, residuals: FloatArray) -> FloatArray:
        """(e, d) expected effects behind residuals (r, d), each relative to its prior spread."""
        x = self._scaled(self.effects / RUN_NOISE)
        explained = x.T @ self._scaled(residuals)
        return np.asarray(np.linalg.solve(np.eye(x.shape[1]) + x.T @ x, explained) / RUN_NOISE)

    def misfit(self, residuals: FloatArray) -> FloatArray:
        """(d,) sum of squares of residuals (r, d), less what the effects explain."""
        explained = self._explaining @ residuals
        if self.counts is None:
            squares = np.einsum("rd,rd->d", residuals, residuals)
        else:
            squares = self.counts @ residuals**2
        squares -= np.einsum("ed,ed->d", explained, explained)
        return np.asarray(np.maximum(squares, 0.0))

    @cached_property
    def _explaining(self) -> FloatArray:
        """(e, r) what takes residuals to as many numbers whose squares add up to the sum that the
        effects explain: found once, where solving for the effects takes every law its time."""
        x = self._scaled(self.effects / RUN_NOISE)
        factor = np.linalg.cholesky(np.eye(x.shape[1]) + x.T @ x)
        return np.asarray(np.linalg.solve(factor, self._scaled(x).T))

    def _scaled(self, rows: FloatArray) -> FloatArray:
        """(r, .) rows whose squares count as their runs do."""
        return rows if self.counts is None else np.sqrt(self.counts)[:, None] * rows


def log_density(misfit: FloatArray, runs: FloatArray | float) -> FloatArray:
    """(...) log likelihood of laws up to a constant, the variance of the noise integrated out of an
    inverse chi-square prior (Gelman et al., Bayesian Data Analysis, 3.2)."""
    return np.asarray(-0.5 * (runs - 1 + NOISE_DOF) * np.log(NOISE_DOF * RUN_NOISE**2 + misfit))


def normalised(log_weights: FloatArray) -> FloatArray:
    """Weights that add up to 1 along the last axis."""
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Followed:
    """Equally probable laws after the runs.

    Args:
        flattened: after the likelihood to some `power`: so wide that the same draws serve with any
            one run left out.
        to_the_end: what takes these to all of the likelihood: whoever doubts runs needs no more
            than the flattened ones.
    """

    flattened: Laws
    power: float
    to_the_end: Callable[[], Laws]

    @cached_property
    def laws(self) -> Laws:
        """After all of the likelihood."""
        return self.to_the_end()


def posterior(evidence: Evidence, *, seed: int = 0) -> Followed:
    """Draws of laws after the runs.

    Draws from the prior follow the likelihood as its power rises, in steps that leave them enough
    different laws, and move by differential evolution between the steps (Del Moral, Doucet and
    Jasra, J. R. Stat. Soc. B 2006; ter Braak, Statistics and Computing 2006): so that many runs
    find their laws too.
    """
    runs = len(evidence)
    kept = int(np.clip(KEPT // runs, FEWEST_KEPT, MOST_KEPT))
    frame = Frame.of(evidence.at)
    likelihood = Likelihood(evidence, frame.seen(evidence.at))
    weighed = likelihood.of(drawn(frame, max(FIRST_DRAWS // runs, kept), seed=seed))
    chance, flat = Chance(seed, kept), max(0.5, 1.0 - 3.0 / runs)
    flattened = likelihood.raised(weighed, 0.0, flat, chance)
    return Followed(
        flattened.laws, flat, lambda: likelihood.raised(flattened, flat, 1.0, chance).laws
    )


@dataclass(frozen=True, eq=False)
class WeighedLaws:
    """d laws with their log likelihood and the log density of their prior, both (d,)."""

    laws: Laws
    density: FloatArray
    prior: FloatArray

    def taken(self, places: IntArray) -> WeighedLaws:
        laws = self.laws.taken(places)
        return WeighedLaws(laws, self.density[places], laws.log_prior)


@dataclass(frozen=True, eq=False)
class Likelihood:
    """What runs say about laws: `seen` is where they were made, in the frame of the laws."""

    evidence: Evidence
    seen: Seen

    def of(self, laws: Laws) -> WeighedLaws:
        """The laws weighed: a few at a time, so that their times stay in the cache."""
        at_once = max(1, TIMES_AT_ONCE // len(self.evidence))
        parts = [
            self.log_density(laws.taken(slice(start, start + at_once)))
            for start in range(0, len(laws), at_once)
        ]
        return WeighedLaws(laws, np.concatenate(parts), np.empty(0))

    def raised(
        self, weighed: WeighedLaws, power: float, goal: float, chance: Chance
    ) -> WeighedLaws:
        """Laws after this likelihood to some power, from there to a higher one."""
        kept = chance.count
        while power < goal:
            step = tempering_step(weighed.density, goal - power, LEFT * kept)
            power = goal if step == goal - power else power + step
            weights = normalised(step * weighed.density)
            weighed = weighed.taken(evenly(weights, kept, chance.offset()))
            for _ in range(LAST_MOVES if power == goal else MOVES):
                weighed = _moved(weighed, self, power, chance.throw())
        return weighed

    def log_density(self, laws: Laws) -> FloatArray:
        """(d,) log likelihood."""
        times = laws.log_times_at(self.seen)
        residuals = np.subtract(self.evidence.log_seconds[:, None], times, out=times)
        return log_density(self.evidence.misfit(residuals), self.evidence.runs)


def tempering_step(density: FloatArray, longest: float, effective: float) -> float:
    """How far the power of the likelihood may rise so that the weights are worth `effective` equal
    ones (Kish's sample size)."""

    above = density - density.max()
    weights = np.empty_like(above)

    def left(step: float) -> float:
        np.exp(np.multiply(above, step, out=weights), out=weights)
        return float(weights.sum() ** 2 / (weights @ weights))

    def more(parts: int) -> float:
        return math.log(left(longest * parts / STEPS) / effective)

    low, high, before = 0, STEPS, 0
    at_low, at_high = math.log(len(density) / effective), more(STEPS)
    if at_high >= 0.0:
        return longest
    while high - low > 1:  # regula falsi, with the end that stays halved: the Illinois algorithm
        middle = low + int((high - low) * at_low / (at_low - at_high))
        middle = min(max(middle, low + 1), high - 1)
        found = more(middle)
        if found >= 0.0:
            at_high *= 0.5 if before > 0 else 1.0
            low, at_low, before = middle, found, 1
        else:
            at_low *= 0.5 if before < 0 else 1.0
            high, at_high, before = middle, found, -1
    return longest * high / STEPS


def evenly(weights: FloatArray, count: int, offset: float) -> IntArray:
    """(count,) places in the order of the weights' running sum, at even distances: each place as
    often as its weight says, to within one."""
    sums = np.cumsum(weights)
    picked = np.searchsorted(sums, (np.arange(count) + offset) / count * sums[-1])
    return np.asarray(np.minimum(picked, len(weights) - 1))


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
        steps, jitter: (d, 11) the same for each share, and what is added; 0 where it stays.
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
        moving = random.random((count, len(SHARES))) > random.random(count)[:, None]
        jitter = JITTER * random.normal(size=moving.shape)
        return cls(
            a=a,
            b=b,
            redrawn=redrawn,
            step=step,
            steps=step[:, None] * moving,
            jitter=jitter * (moving & ~redrawn[:, None]),
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


def _moved(weighed: WeighedLaws, likelihood: Likelihood, power: float, throw: Throw) -> WeighedLaws:
    """Every law after one Metropolis step."""
    proposal = _proposed(weighed.laws, throw)
    density, prior = likelihood.log_density(proposal), proposal.log_prior
    gain = power * (density - weighed.density) + prior - weighed.prior
    accepted = throw.log_needed < gain
    return WeighedLaws(
        weighed.laws.where(accepted, proposal),
        np.where(accepted, density, weighed.density),
        np.where(accepted, prior, weighed.prior),
    )


def _proposed(laws: Laws, throw: Throw) -> Laws:
    """The laws where the random numbers want them."""

    def apart(values: FloatArray) -> FloatArray:
        return np.asarray(values.take(throw.a, axis=0) - values.take(throw.b, axis=0))

    shares = throw.steps * apart(laws.log_shares)
    shares += laws.log_shares + throw.jitter
    return replace(
        laws,
        log_shares=np.maximum(shares, SPARSEST, out=shares),
        cliff=np.where(throw.redrawn, throw.cliff, along_difference(laws, throw)),
        log_height=laws.log_height + throw.step * apart(laws.log_height),
        logit_once=laws.logit_once + throw.step * apart(laws.logit_once),
        logit_reading=laws.logit_reading + throw.step * apart(laws.logit_reading),
        logit_gradual=laws.logit_gradual + throw.step * apart(laws.logit_gradual),
        stop=_stops(laws, throw),
    )


def _stops(laws: Laws, throw: Throw) -> FloatArray:
    """(d,) where each loop has converged, moved as the rest; as it was where all runs were told as
    many iterations, which show nothing of it."""
    if laws.frame.iteration_range == 0.0:
        return laws.stop
    return np.asarray(laws.stop + throw.step * (laws.stop[throw.a] - laws.stop[throw.b]))


def along_difference(laws: Laws, throw: Throw) -> FloatArray:
    """(d,) place of each cliff, moved along the difference of two laws where both have theirs in
    the same piece of the prior, and round within that piece: so the way back is as likely."""
    edges, found = laws.frame.thresholds[0], laws.cliff.copy()
    some = ((laws.cliff >= edges[1]) & (throw.step > 0.0)).nonzero()[0]
    here, one, other = (
        laws.cliff.take(of) for of in (some, throw.a.take(some), throw.b.take(some))
    )
    piece = np.searchsorted(edges, here, side="right") - 1
    start, end = edges.take(piece), np.append(edges, 1.0).take(piece + 1)
    alike = (np.minimum(one, other) >= start) & (np.maximum(one, other) < end)
    moved = (here - start + alike * throw.step.take(some) * (one - other)) % (end - start)
    found[some] = start + moved
    return found
