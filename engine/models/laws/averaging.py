"""What the laws that runs left say of times: their mean, and what it would be without any run.

The posterior is a set of laws with weights. The same set answers what the laws would have said
without any one of the runs, by other weights: leave-one-out costs one product of matrices.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.cliff_states import side_shares, states_shift
from engine.models.laws.laws import Laws
from engine.models.laws.sampling import (
    NOISE_DOF,
    RUN_NOISE,
    Evidence,
    Followed,
    evenly,
    log_density,
    normalised,
    posterior,
)
from engine.models.laws.terms import DONE_AGAIN, Points

ANSWERING = 300
"""Draws that answer questions."""

FAR = 4.0
"""Times the most machines of a run: where draws are told apart."""

SHOWN = 0.2
"""Runs that all lie on a cliff show it if the log of the extra work it causes them varies by at
least this standard deviation."""

BLOCK = 256
"""Points that are answered at once."""


@dataclass(frozen=True, eq=False)
class Averaged:
    """d equally probable laws after r runs.

    Args:
        effects: (e, d) each law's own effects.
        residuals: (r,) log time less the mean law's, effects apart.
        variance: (r,) of the laws' answers for the runs.
        residuals_left_out: (r, r) the same by the mean law without run i (rows).
        variance_left_out: (r,) of the laws' answers for run i without it.
        noise: scale of log time about the laws.
    """

    laws: Laws
    effects: FloatArray
    residuals: FloatArray
    variance: FloatArray
    residuals_left_out: FloatArray
    variance_left_out: FloatArray
    noise: float

    def moments(self, at: Points, effects: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(n,) mean log time, effects apart, (n,) variance of the laws about it, effects included,
        and (2, n) what of that counts below and above it. Where it is open whether data fits, the
        mean is less, and the sides differ (`cliff_states`)."""
        mean, variance, sides = np.empty(len(at)), np.empty(len(at)), np.empty((2, len(at)))
        for rows in _blocks(at):
            own = effects[rows] @ self.effects
            part = at.taken(rows)
            mean[rows], variance[rows], sides[:, rows] = _moments(self.laws, part, own)
        return mean, variance, sides

    def means(
        self, at: Points, effects: FloatArray, sizes: FloatArray, iterations: FloatArray | None
    ) -> FloatArray:
        """(k, s, n) mean log time, effects apart, with each of k numbers of iterations and s sizes
        in place of the points' own; their own iterations (k = 1) for None."""
        counts = at.iterations[None] if iterations is None else iterations[:, None]
        means = np.empty((len(counts), len(sizes), len(at)))
        for rows in _blocks(at):
            own = effects[rows] @ self.effects
            told = counts if counts.shape[1] == 1 else counts[:, rows]
            means[:, :, rows] = self.laws.mean_log_times(at.taken(rows), own, sizes, told)
        return means

    def cliff_at(self, memory_per_input: float, runs: FloatArray) -> Cliff:
        """Whether data fits at a log memory per input, by the laws whose cliff the runs, at (r,)
        log memory per input, show. A cliff that affects all runs alike cannot be told from other
        work, and nobody knows how to get off it."""
        unfit = (memory_per_input < self.laws.threshold) & self._shown_by(runs)
        probability = float(unfit.mean())
        if probability == 0.0:
            return Cliff(0.0, 1.0)
        shares = np.exp(self.laws.log_shares[unfit])
        again = (
            shares[:, DONE_AGAIN].sum(axis=1)
            * np.exp(self.laws.log_height[unfit])
            * self.laws.missed(np.asarray([memory_per_input]), unfit.nonzero()[0])[0]
            / shares.sum(axis=1)
        )
        return Cliff(probability, float(np.exp(np.log1p(again).mean())))

    def _shown_by(self, runs: FloatArray) -> BoolArray:
        """(d,) whether runs lie on both sides of the threshold, or on such different parts of the
        cliff that its course is seen."""
        threshold, height = self.laws.threshold, np.exp(self.laws.log_height)
        differing = np.log1p(height * self.laws.missed(runs, slice(None))).std(axis=0) > SHOWN
        return np.asarray(((runs.min() < threshold) & (threshold < runs.max())) | differing)


def _moments(
    laws: Laws, at: Points, effects: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """`Averaged.moments` of a few points with each law's effects (n, d) there."""
    seen = laws.frame.seen(at)
    times = laws.log_times_at(seen)
    mean = times.mean(axis=1)
    times += effects
    usual = times.mean(axis=1)
    rows, slipped = laws.slipped(at.memory_per_input)
    shift = np.zeros(len(at))
    shift[rows] = states_shift(slipped / len(laws), times[rows], usual[rows])
    times -= (usual + shift)[:, None]
    sides = np.ones((2, len(at)))
    sides[:, rows] = side_shares(times[rows])
    return mean + shift, np.einsum("nd,nd->n", times, times) / len(laws), sides


def _blocks(at: Points) -> Iterator[IntArray]:
    """Blocks of points small enough for the CPU's cache. Points of similar memory are together:
    where all data fits, nothing is done again."""
    order = np.argsort(at.memory_per_input, kind="stable")
    return (order[start : start + BLOCK] for start in range(0, len(at), BLOCK))


@dataclass(frozen=True, slots=True)
class Cliff:
    """Whether data fits in memory at some memory per input.

    Args:
        probability: that it does not.
        times: how many times as long the job then takes, on the fewest machines of the runs.
    """

    probability: float
    times: float


def averaged(evidence: Evidence, followed: Followed | None = None, *, seed: int = 0) -> Averaged:
    """The laws after these runs; `followed` are the draws after them, where these were made."""
    followed = followed or posterior(evidence, seed=seed)
    left_out, variance_left_out = _without_each(evidence, followed)
    laws = _representatives(followed.laws, evidence.at)
    residuals = evidence.log_seconds[:, None] - laws.log_times(evidence.at)
    effects = evidence.coefficients(residuals)
    mean, variance, _ = _moments(laws, evidence.at, evidence.effects @ effects)
    spread = NOISE_DOF * RUN_NOISE**2 + evidence.misfit(residuals).mean()
    return Averaged(
        laws=laws,
        effects=effects,
        residuals=evidence.log_seconds - mean,
        variance=variance,
        residuals_left_out=left_out,
        variance_left_out=variance_left_out,
        noise=float(np.sqrt(spread / (NOISE_DOF + evidence.runs - 1.0))),
    )


def _representatives(laws: Laws, runs: Points) -> Laws:
    """A few laws that stand for all: taken evenly from their order at more machines than any run
    had, where they differ most. Sorted by cliff, so that a slice holds those that an input
    meets."""
    far = Points(*(getattr(runs, entry.name).max(keepdims=True) for entry in fields(runs)))
    order = np.argsort(laws.log_times(replace(far, machines=FAR * far.machines))[0])
    few = laws.taken(order[evenly(np.ones(len(laws)), ANSWERING, 0.5)])
    return few.taken(np.argsort(-few.threshold, kind="stable"))


def _without_each(evidence: Evidence, followed: Followed) -> tuple[FloatArray, FloatArray]:
    """(r, r) residuals about the mean law without run i (rows), and (r,) variance of the answers
    for it (Rasmussen and Williams 5.12)."""
    residuals = evidence.log_seconds[:, None] - followed.flattened.log_times(evidence.at)
    misfit = evidence.misfit(residuals)
    precision = evidence.precision
    errors = precision @ residuals / np.diag(precision)[:, None]
    without = np.maximum(misfit - errors**2 * np.diag(precision)[:, None], 0.0)
    counts = 1.0 if evidence.counts is None else evidence.counts[:, None]
    tempered = followed.power * log_density(misfit, evidence.runs)
    own = normalised(log_density(without, evidence.runs - counts) - tempered)
    mean = np.einsum("rd,rd->r", errors, own)
    rows, slipped = followed.flattened.slipped(evidence.at.memory_per_input)
    shift = np.zeros(len(evidence))
    shift[rows] = states_shift(own[rows] * slipped, -errors[rows], -mean[rows])
    centred = errors - (mean - shift)[:, None]
    return own @ residuals.T - np.diag(shift), np.einsum("rd,rd->r", centred**2, own)
