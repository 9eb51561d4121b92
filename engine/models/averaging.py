"""What runs leave of the prior over physical laws: importance sampling, then moves.

The posterior is a set of laws with weights. The same set answers what the laws would have said
without any one of the runs, by other weights: leave-one-out costs one product of matrices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.forecast import FloatArray
from engine.models.laws import (
    CLIFF_HEIGHT,
    CLIFF_HEIGHT_SPREAD,
    SHARED_TERMS,
    SHARES,
    SPARSEST,
    Frame,
    Laws,
    Points,
    drawn,
)

RUN_NOISE, NOISE_DOF = 0.04, 4.0
"""Prior of the noise of log time about a law: scale and degrees of freedom. Repetitions differ by
1 to 4 %, and no law is exact."""

FIRST_DRAWS, MOST_FIRST_DRAWS = 480_000, 24_000
"""Draws from the prior: the former shared by the runs, at most the latter."""

KEPT, MOVES = 500, 32
"""Draws that are kept and moved, and how often each is moved."""

ANSWERING = 200
"""Draws that answer questions."""

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
    """

    at: Points
    log_seconds: FloatArray
    effects: FloatArray

    def __len__(self) -> int:
        return len(self.log_seconds)

    @property
    def precision(self) -> FloatArray:
        """(r, r) inverse covariance of effects and noise, relative to the noise's variance."""
        x = self.effects / RUN_NOISE
        return np.asarray(np.linalg.inv(np.eye(len(self)) + x @ x.T))

    def coefficients(self, residuals: FloatArray) -> FloatArray:
        """(e, d) expected effects behind residuals (r, d), each relative to its prior spread."""
        x = self.effects / RUN_NOISE
        return np.asarray(
            np.linalg.solve(np.eye(x.shape[1]) + x.T @ x, x.T @ residuals) / RUN_NOISE
        )

    def misfit(self, residuals: FloatArray) -> FloatArray:
        """(d,) sum of squares of residuals (r, d), less what the effects explain."""
        explained = np.einsum("ed,ed->d", self.effects.T @ residuals, self.coefficients(residuals))
        squares = np.einsum("rd,rd->d", residuals, residuals)
        return np.asarray(np.maximum(squares - explained, 0.0))


def log_density(misfit: FloatArray, runs: int) -> FloatArray:
    """(...) log likelihood of laws up to a constant, the variance of the noise integrated out of an
    inverse chi-square prior (Gelman et al., Bayesian Data Analysis, 3.2)."""
    return np.asarray(-0.5 * (runs - 1 + NOISE_DOF) * np.log(NOISE_DOF * RUN_NOISE**2 + misfit))


@dataclass(frozen=True, eq=False)
class Averaged:
    """d laws with weights after r runs.

    Args:
        weights: (d,) adding up to 1.
        effects: (e, d) each law's own effects.
        residuals: (r,) log time less the mean law's, effects apart.
        residuals_left_out: (r, r) the same by the mean law without run i (rows).
        variance_left_out: (r,) of the laws' answers for run i without it.
        noise: scale of log time about the laws.
    """

    laws: Laws
    weights: FloatArray
    effects: FloatArray
    residuals: FloatArray
    residuals_left_out: FloatArray
    variance_left_out: FloatArray
    noise: float

    def moments(self, at: Points, effects: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) mean log time, effects apart, and (n,) variance among the laws, effects included."""
        times = self.laws.log_times(at)
        mean = times @ self.weights
        whole = times + effects @ self.effects
        return mean, _variance(whole, self.weights)

    def cliff_at(self, memory_per_input: float) -> Cliff:
        """What the laws say of data that does not fit at a log memory per input."""
        unfit = memory_per_input < self.laws.threshold
        probability = float(self.weights[unfit].sum())
        if probability == 0.0:
            return Cliff(0.0, 1.0, memory_per_input)
        shares = np.exp(self.laws.log_shares[unfit])
        again = shares @ SHARED_TERMS * np.exp(self.laws.log_height[unfit]) / shares.sum(axis=1)
        share = self.weights[unfit] / probability
        return Cliff(
            probability,
            float(np.exp(share @ np.log1p(again))),
            float(share @ self.laws.threshold[unfit]),
        )

    def mean(self, at: Points) -> FloatArray:
        """(n,) mean log time, effects apart."""
        return np.asarray(self.laws.log_times(at) @ self.weights)


@dataclass(frozen=True, slots=True)
class Cliff:
    """Whether data fits in memory at some memory per input.

    Args:
        probability: that it does not.
        times: how many times as long the job then takes, at the centre of the runs.
        threshold: log memory per input from which on it would.
    """

    probability: float
    times: float
    threshold: float


def _variance(values: FloatArray, weights: FloatArray) -> FloatArray:
    return np.asarray((values - (values @ weights)[:, None]) ** 2 @ weights)


def averaged(evidence: Evidence, *, seed: int = 0) -> Averaged:
    """The laws after these runs."""
    r = len(evidence)
    laws, due = posterior(evidence, seed=seed)
    residuals = evidence.log_seconds[:, None] - laws.log_times(evidence.at)
    misfit = evidence.misfit(residuals)
    density = log_density(misfit, r)
    weights = _normalised(due * density)
    # A Gaussian model without run i (Rasmussen and Williams 5.12): its error and the misfit left.
    precision = evidence.precision
    errors = precision @ residuals / np.diag(precision)[:, None]
    without = np.maximum(misfit - errors**2 * np.diag(precision)[:, None], 0.0)
    own = _normalised(log_density(without, r - 1) - (1.0 - due) * density)
    centred = errors - np.einsum("rd,rd->r", errors, own)[:, None]
    spread = NOISE_DOF * RUN_NOISE**2 + misfit @ weights
    # Equally probable laws, in the order of the weights' running sum: few, since answers are many.
    picked = np.searchsorted(np.cumsum(weights), (np.arange(ANSWERING) + 0.5) / ANSWERING)
    picked = np.minimum(picked, len(laws) - 1)
    return Averaged(
        laws=laws.pick(picked),
        weights=np.full(ANSWERING, 1.0 / ANSWERING),
        effects=evidence.coefficients(residuals[:, picked]),
        residuals=residuals[:, picked].mean(axis=1),
        residuals_left_out=own @ residuals.T,
        variance_left_out=np.einsum("rd,rd->r", centred**2, own),
        noise=float(np.sqrt(spread / (NOISE_DOF + r - 1))),
    )


def _normalised(log_weights: FloatArray) -> FloatArray:
    """Weights that add up to 1 along the last axis."""
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def posterior(evidence: Evidence, *, seed: int = 0) -> tuple[Laws, float]:
    """Draws of laws after the runs, and the power of the likelihood that is still due to them.

    Importance sampling from the prior; then the draws move by differential evolution (ter Braak,
    Statistics and Computing 2006), so that many runs find their laws too. The likelihood is
    flattened to the power 1 - 3 / r meanwhile: so the same draws serve with any one run left out.
    """
    random = np.random.default_rng(seed)
    count = int(min(MOST_FIRST_DRAWS, FIRST_DRAWS // len(evidence)))
    power = max(0.5, 1.0 - 3.0 / len(evidence))
    laws = drawn(Frame.of(evidence.at), max(count, KEPT), random)
    density = power * _log_density(laws, evidence)
    places = random.choice(len(laws), size=KEPT, p=_normalised(density))
    laws, density = laws.pick(places), density[places]
    for _ in range(MOVES):
        laws, density = _moved(laws, density, evidence, power, random)
    return laws, 1.0 - power


def _log_density(laws: Laws, evidence: Evidence) -> FloatArray:
    residuals = evidence.log_seconds[:, None] - laws.log_times(evidence.at)
    return log_density(evidence.misfit(residuals), len(evidence))


def _moved(
    laws: Laws,
    density: FloatArray,
    evidence: Evidence,
    power: float,
    random: np.random.Generator,
) -> tuple[Laws, FloatArray]:
    """Every law after one Metropolis step."""
    redrawn = random.random(len(laws)) < REDRAWN
    proposal = _proposed(laws, redrawn, random)
    proposed_density = power * _log_density(proposal, evidence)
    gain = proposed_density - density + proposal.log_prior - laws.log_prior
    # A height that is drawn from its prior comes as often as the prior says, without the step.
    gain += np.where(redrawn, _height_cost(proposal) - _height_cost(laws), 0.0)
    accepted = np.log(random.random(len(laws))) < gain
    return laws.where(accepted, proposal), np.where(accepted, proposed_density, density)


def _height_cost(laws: Laws) -> FloatArray:
    return np.asarray(0.5 * ((laws.log_height - np.log(CLIFF_HEIGHT)) / CLIFF_HEIGHT_SPREAD) ** 2)


def _proposed(laws: Laws, redrawn: NDArray[np.bool_], random: np.random.Generator) -> Laws:
    """Laws with a new cliff where `redrawn`; else moved along the difference of two others, in a
    random part of their shares."""
    count = len(laws)
    a, b = random.integers(0, count, count), random.integers(0, count, count)
    whole = random.random(count) < WHOLE_STEPS
    step = np.where(redrawn, 0.0, np.where(whole, 1.0, random.uniform(0.1, 0.9, count)))
    moving = random.random((count, len(SHARES))) > random.random(count)[:, None]
    jump = step[:, None] * (laws.log_shares[a] - laws.log_shares[b])
    jump += JITTER * random.normal(size=jump.shape) * ~redrawn[:, None]
    fresh = drawn(laws.frame, count, random)
    height = laws.log_height + step * (laws.log_height[a] - laws.log_height[b])
    return replace(
        laws,
        log_shares=np.maximum(laws.log_shares + moving * jump, SPARSEST),
        cliff=np.where(redrawn, fresh.cliff, laws.cliff),
        log_height=np.where(redrawn, fresh.log_height, height),
        logit_once=laws.logit_once + step * (laws.logit_once[a] - laws.logit_once[b]),
    )
