"""What runs leave of the prior over physical laws: sequential Monte Carlo.

Draws from the prior follow the likelihood of the runs as its power rises; what they then say of
times is in `averaging.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.frame import Frame, Seen
from engine.models.laws.laws import CLIFF, SPARSEST, STOP, Laws, first_drawn
from engine.models.laws.terms import Points
from engine.models.laws.throws import Chance, Throw

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
        first_times: (r, .) the runs' log times by the draws from the prior, in several parts: the
            same however much each run counts.
    """

    flattened: Laws
    power: float
    to_the_end: Callable[[], Laws]
    first_times: Sequence[FloatArray]

    @cached_property
    def laws(self) -> Laws:
        """After all of the likelihood."""
        return self.to_the_end()


def posterior(evidence: Evidence, *, before: Followed | None = None, seed: int = 0) -> Followed:
    """Draws of laws after the runs; `before` are those where the same runs counted otherwise.

    Draws from the prior follow the likelihood as its power rises, in steps that leave them enough
    different laws, and move by differential evolution between the steps (Del Moral, Doucet and
    Jasra, J. R. Stat. Soc. B 2006; ter Braak, Statistics and Computing 2006): so that many runs
    find their laws too.
    """
    runs = len(evidence)
    kept = int(np.clip(KEPT // runs, FEWEST_KEPT, MOST_KEPT))
    frame = Frame.of(evidence.at)
    likelihood = Likelihood(evidence, frame.seen(evidence.at))
    first = first_drawn(frame, max(FIRST_DRAWS // runs, kept), seed=seed)
    times = before.first_times if before else likelihood.times(first)
    weighed = likelihood.weighed(first, times)
    chance, flat = Chance(seed, kept), max(0.5, 1.0 - 3.0 / runs)
    flattened = likelihood.raised(weighed, 0.0, flat, chance)
    return Followed(
        flattened.laws,
        flat,
        lambda: likelihood.raised(flattened, flat, 1.0, chance).laws,
        times,
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

    def times(self, laws: Laws) -> list[FloatArray]:
        """The log times (r, .) of all laws, a few of them at a time, which stay in the cache."""
        at_once = max(1, TIMES_AT_ONCE // len(self.evidence))
        starts = range(0, len(laws), at_once)
        return [laws.taken(slice(at, at + at_once)).log_times_at(self.seen) for at in starts]

    def weighed(self, laws: Laws, times: Sequence[FloatArray]) -> WeighedLaws:
        """The laws whose log times these are."""
        density = np.concatenate([self.of_times(part) for part in times])
        return WeighedLaws(laws, density, np.empty(0))

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
        return self.of_times(laws.log_times_at(self.seen))

    def of_times(self, times: FloatArray) -> FloatArray:
        """(d,) log likelihood of laws by which the runs' log times are (r, d)."""
        residuals = self.evidence.log_seconds[:, None] - times
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


def _moved(weighed: WeighedLaws, likelihood: Likelihood, power: float, throw: Throw) -> WeighedLaws:
    """Every law after one Metropolis step."""
    laws, proposal = weighed.laws, _proposed(weighed.laws, throw)
    density, prior = likelihood.log_density(proposal), proposal.log_prior
    gain = power * (density - weighed.density) + prior - weighed.prior
    accepted = throw.log_needed < gain
    return WeighedLaws(
        Laws(laws.frame, np.where(accepted, proposal.numbers, laws.numbers)),
        np.where(accepted, density, weighed.density),
        np.where(accepted, prior, weighed.prior),
    )


def _proposed(laws: Laws, throw: Throw) -> Laws:
    """The laws where the random numbers want them."""
    numbers = laws.numbers
    moved = numbers.take(throw.a, axis=1) - numbers.take(throw.b, axis=1)
    moved *= throw.steps
    moved += numbers
    shares = moved[:CLIFF]
    shares += throw.jitter
    np.maximum(shares, SPARSEST, out=shares)
    moved[CLIFF] = np.where(throw.redrawn, throw.cliff, along_difference(laws, throw))
    if laws.frame.iteration_range == 0.0:  # runs that were all told as many show nothing of it
        moved[STOP:] = numbers[STOP:]
    return Laws(laws.frame, moved)


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
