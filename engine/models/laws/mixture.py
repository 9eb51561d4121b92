"""The candidates that explain run times, and how much weight each gets by what was left out.

The first is the laws with linear effects, the second the same with a smooth remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.averaging import AveragedLaws, averaged
from engine.models.laws.design import Encoding, Rows, at_least_as_hard
from engine.models.laws.left_out_spread import LeftOutSpread, studentised
from engine.models.laws.outlier_runs import outlier_posterior
from engine.models.laws.residual import Process, linear, smooth
from engine.models.laws.sampling import NOISE_DOF, Observations

MINIMUM_FOR_SMOOTH = 5
"""Configurations from which on a smooth remainder is considered."""

PENALTY = 1.0
"""Log weight that a candidate has to make up for: the first (the laws; all runs) is the default."""

SCORE_NOISE, SCORE_RUNS = 0.02, 4.0
"""Prior of the left-out error of a candidate, and how many runs it counts for: so that of two
candidates that are right to a hair none wins by a hair's breadth."""

SCORE_SCALES = np.geomspace(0.003, 3.0, 24)
"""Scales of log time that left-out errors of a candidate may have, evenly in their logarithm."""

DRAWN_AGAIN = 200
"""How often left-out runs are drawn anew for the weights."""

HYPERPARAMETERS = 3.0
"""Kinds of hyperparameters of the smooth remainder (amplitudes, lengths, noise), which were sought
with the run in sight that is then left out: errors are that much too small."""


@dataclass(frozen=True, eq=False)
class Variances:
    """Foretold variances of log time by c candidates at n places.

    Args:
        about: (c, n) of runs about a law, by each candidate: noise, and what its process leaves.
        among: (n,) of the laws that the runs leave.
        sides: (2, n) what of the latter counts below and above the answer.
    """

    about: FloatArray
    among: FloatArray
    sides: FloatArray

    @classmethod
    def joined(cls, parts: Sequence[Variances]) -> Variances:
        """Those of several sets of places, one after the other."""
        about = np.concatenate([part.about for part in parts], axis=1)
        among = np.concatenate([part.among for part in parts])
        return cls(about, among, np.concatenate([part.sides for part in parts], axis=1))

    def taken(self, places: IntArray) -> Variances:
        return Variances(self.about[:, places], self.among[places], self.sides[:, places])

    def mixed(self, weights: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) variance about a law and (n,) among laws of candidates with weights (c,) and means
        (c, n); what these differ by is doubt about the law."""
        apart = weights @ (means - weights @ means) ** 2
        return weights @ self.about, self.among + apart

    def on_sides(self, weights: FloatArray, means: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The same with (2, n) variances among laws, below and above the answer."""
        about, among = self.mixed(weights, means)
        return about, among + self.among * (self.sides - 1.0)


@dataclass(frozen=True, eq=False)
class CandidateLaws:
    """The laws and the processes about them after some runs; `level` is the runs' mean log time,
    which both are relative to."""

    encoding: Encoding
    level: float
    law: AveragedLaws
    processes: tuple[Process, ...]

    @classmethod
    def of(
        cls,
        rows: Rows,
        log_seconds: FloatArray,
        run_weights: FloatArray,
        *,
        may: BoolArray | None = None,
    ) -> tuple[CandidateLaws, FloatArray]:
        """Fitted to rows, one per configuration, and (r,) how much each counts.

        Args:
            counts: (r,) as far as it is known.
            may: (r,) of which it is sought; None for none.
        """
        encoding = Encoding.of(rows)
        inputs = encoding.inputs(rows)
        level = float(log_seconds.mean())
        less = run_weights if (run_weights < 1.0).any() else None
        observations = Observations(
            encoding.points(rows), log_seconds - level, inputs.effects, less
        )
        followed = None
        if may is not None:
            observations, followed = outlier_posterior(observations, may, at_least_as_hard(rows))
        run_weights = (
            np.ones(len(rows)) if observations.run_weights is None else observations.run_weights
        )
        law = averaged(observations, followed)
        processes = [linear(inputs, law.noise, run_weights)]
        if len(rows) >= MINIMUM_FOR_SMOOTH:
            processes.append(smooth(inputs, law.residuals, encoding.lengths, run_weights))
        return cls(encoding, level, law, tuple(processes)), run_weights

    def moments(self, rows: Rows) -> tuple[FloatArray, FloatArray, Variances]:
        """(n,) mean of the laws, effects apart; (c, n) mean and variances of log time by each
        candidate."""
        inputs = self.encoding.inputs(rows)
        mean, *variances = self.law.moments(self.encoding.points(rows), inputs.effects)
        parts = [process.moments(inputs, self.law.residuals) for process in self.processes]
        return (
            mean,
            np.stack([self.level + mean + part for part, _ in parts]),
            Variances(np.stack([part for _, part in parts]), *variances),
        )

    def means(
        self, rows: Rows, sizes: FloatArray, iterations: FloatArray | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """(k, s, n) mean of the laws, effects apart, and (k, s, c, n) mean of log time by each
        candidate, with each of k numbers of iterations and s sizes in place of the rows' own; their
        own iterations (k = 1) for None. What does not hang on these is worked out once."""
        encoding, law = self.encoding, self.law
        inputs, moved = encoding.inputs(rows), encoding.moved(sizes, iterations)
        relative = sizes / encoding.largest
        laws = law.means(encoding.points(rows), inputs.effects, relative, iterations)
        parts = [process.means(inputs, law.residuals, moved) for process in self.processes]
        apart = np.stack(parts, axis=1).reshape(*laws.shape[:2], len(parts), len(rows))
        return laws, self.level + laws[:, :, None] + apart

    def law_means(self, rows: Rows, iterations: FloatArray) -> FloatArray:
        """(k, n) mean of the laws, effects apart, of n rows of one size with each of k numbers of
        iterations in place of their own."""
        points, effects = self.encoding.points(rows), self.encoding.inputs(rows).effects
        return self.law.means(points, effects, points.size[:1], iterations)[:, 0]

    @property
    def free(self) -> FloatArray:
        """(c, r) how far each run's error without it is a number of its own, by each candidate.

        Runs that a law with p numbers was fitted to say r - p of its errors, though r are left out.
        With leverages h the likelihood of its residuals is the product of those of the left-out
        errors, each to the power 1 - h (exact where the law is linear and its errors are normal).
        """
        less = 1.0 - self.processes[0].run_weights * self.law.variance / self.law.noise**2
        return np.maximum(less, 0.0) * np.stack([process.free for process in self.processes])

    def left_out(self) -> tuple[FloatArray, Variances]:
        """(c, r) error and variances of log time of each run without it."""
        parts = [process.left_out(self.law.residuals_left_out) for process in self.processes]
        among = self.law.variance_left_out
        return (
            np.stack([error for error, _ in parts]),
            Variances(np.stack([part for _, part in parts]), among, np.ones((2, len(among)))),
        )


@dataclass(frozen=True, eq=False)
class Validated:
    """Weights (c,) of the candidates, the spread of studentised errors, and (r,) errors of log time
    of the runs that were left out."""

    weights: FloatArray
    spread: LeftOutSpread
    errors: FloatArray


def validated(
    errors: FloatArray,
    variances: Variances,
    run_weights: FloatArray,
    free: FloatArray | None = None,
) -> Validated:
    """Weights by left-out errors (c, r) of runs that count (r,), and what the errors of the
    weighted mean say about its variances: both sides together, since how far an error lies beyond
    the bounds of one side depends on what those bounds leave out. `free` (c, r): how far each is a
    number of its own; None for all."""
    weights = weights_of(errors, run_weights)
    mean = weights @ errors
    about, among = variances.mixed(weights, errors)
    runs = float(run_weights.sum())
    freedom = max(runs - HYPERPARAMETERS * (1.0 - weights[0]), 1.0)
    larger = mean * np.sqrt(runs / freedom)
    told = run_weights if free is None else run_weights * (weights @ free)
    return Validated(
        weights, studentised(larger, about, among, dof=NOISE_DOF, run_weights=told), mean
    )


def weights_of(errors: FloatArray, run_weights: FloatArray) -> FloatArray:
    """(c,) weights of candidates by their errors (c, r) on runs left out, which count (r,).

    What a Student law of the errors makes likely, as intervals are of one: a normal law takes the
    largest error for the scale of all. And on average over which runs these were, by the Bayesian
    bootstrap (Yao, Vehtari, Simpson and Gelman, Bayesian Analysis 2018, 3.4: pseudo-BMA+): else one
    error of thirty decides.
    """
    runs = run_weights.sum()
    again = drawn_again(len(run_weights)) * run_weights
    again *= (runs / again.sum(axis=1))[:, None]
    density = np.stack([again @ _of_scales(own[:, None]) for own in errors], axis=1)
    density += SCORE_RUNS * _of_scales(SCORE_NOISE)
    likely = np.exp(density - density.max(axis=(1, 2), keepdims=True)).sum(axis=2)
    likely *= np.exp(-PENALTY * np.arange(len(errors)))
    return np.asarray((likely / likely.sum(axis=1, keepdims=True)).mean(axis=0))


def _of_scales(errors: FloatArray | float) -> FloatArray:
    """(.., s) log density of errors (.., 1) by a Student law of each of `SCORE_SCALES`."""
    beyond = np.log1p((errors / SCORE_SCALES) ** 2 / NOISE_DOF)
    return np.asarray(-0.5 * (NOISE_DOF + 1.0) * beyond - np.log(SCORE_SCALES))


@lru_cache(maxsize=16)
def drawn_again(runs: int) -> FloatArray:
    """(b, r) how often each run is there when they are drawn anew: the Bayesian bootstrap (Rubin,
    Annals of Statistics 1981)."""
    return np.random.default_rng(0).dirichlet(np.ones(runs), DRAWN_AGAIN)
