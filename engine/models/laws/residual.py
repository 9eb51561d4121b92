"""A Gaussian process on what physical laws leave unexplained of log time.

Rasmussen and Williams, Gaussian Processes for Machine Learning (MIT Press 2006): prediction by
Eqs. 2.25 and 2.26, marginal likelihood 5.8 with its gradient 5.9, leave-one-out 5.12. The kernel
is

    k(x, x') = sum_e effect_e(x) effect_e(x') + a^2 exp(-1/2 sum_c (x_c - x'_c)^2 / l_c^2)
               + b^2 exp(-1/2 (p - p')^2 / w^2) + c^2 exp(-1/2 ((p - p')^2 + (z - z')^2) / w^2)

plus noise: linear effects (the level, types, parameters) with fixed prior spreads, a smooth
remainder with one length per coordinate, and how partitions fall into waves: what is peculiar to a
number of cores p (log) whatever else is asked, and to p together with an input z (log), since
partitions follow the input. The last is left out where no two runs share both: it would be noise by
another name. The hyperparameters are the most probable ones under log-normal priors: few runs leave
them where the priors are. Away from the runs the remainder fades: the mean goes back to the
physical law, the variance to the prior's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.hyperparameters import KnownParts, Posterior

WAVES_LENGTH = 0.1
"""The length w: neighbouring numbers of cores, and inputs, hardly share what is peculiar to one."""

MOST_FOR_LENGTHS = 120
"""Runs that the hyperparameters are sought with: of more, a random part (always the same)."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """n points as the process sees them.

    Args:
        effects: (n, e) columns of the linear effects, each times its prior spread.
        coordinates: (n, c) of the smooth remainder.
        cores: (n,) log of the cores in all.
        sizes: (n,) log of the input.
    """

    effects: FloatArray
    coordinates: FloatArray
    cores: FloatArray
    sizes: FloatArray

    def __len__(self) -> int:
        return len(self.effects)


@dataclass(frozen=True, eq=False)
class Moved:
    """Points asked for with other sizes, and iterations, than their own: s times.

    Args:
        columns: (q,) the coordinates that change.
        values: (s, q) what these become, the same for all points.
        sizes: (s,) log of the input.
    """

    columns: IntArray
    values: FloatArray
    sizes: FloatArray


@dataclass(frozen=True, eq=False)
class Process:
    """The process after r runs.

    Args:
        runs: where they were made.
        amplitude: of the smooth remainder; 0 for none.
        waves: (k,) amplitudes of what is peculiar to a number of cores, and to that and an input.
        lengths: (c,).
        noise: scale of log time.
        inverse: (r, r) of the covariance of the runs.
        counts: (r,) what the variance of each run's noise is divided by.
    """

    runs: Inputs
    amplitude: float
    waves: FloatArray
    lengths: FloatArray
    noise: float
    inverse: FloatArray
    run_weights: FloatArray

    def means(self, at: Inputs, residuals: FloatArray, moved: Moved) -> FloatArray:
        """(s, n) mean of log time about the law, after residuals (r,) of the runs, at the points as
        they are `moved`. What the kernel says of all else is worked out once."""
        behind, runs = self.inverse @ residuals, self.runs
        found = np.tile(at.effects @ (runs.effects.T @ behind), (len(moved.sizes), 1))
        if len(self.waves):
            found += self._waves_after(behind, moved.sizes) @ _alike(self._cores[0], at.cores)
        if self.amplitude > 0.0:
            columns = moved.columns
            apart = (moved.values[:, None] - runs.coordinates[:, columns]) / self.lengths[columns]
            weights = behind * np.exp(-0.5 * (apart**2).sum(axis=2))
            x = np.delete(at.coordinates / self.lengths, columns, axis=1)
            y = np.delete(runs.coordinates / self.lengths, columns, axis=1)
            found += self.amplitude**2 * weights @ np.exp(-0.5 * _distances(y, x))
        return found

    def _waves_after(self, behind: FloatArray, sizes: FloatArray) -> FloatArray:
        """(s, u) what each number of cores that runs had is weighed by at s sizes."""
        known, back = self._cores
        if len(self.waves) == 1:
            own = np.bincount(back, self.waves[0] ** 2 * behind)
            return np.broadcast_to(own, (len(sizes), len(known)))
        weights = self.waves[0] ** 2 + self.waves[1] ** 2 * _alike(sizes, self.runs.sizes)
        return np.asarray((weights * behind) @ (back[:, None] == np.arange(len(known))))

    def moments(self, at: Inputs, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(n,) the mean, and (n,) its variance, noise included."""
        effects, behind = at.effects, self.inverse @ residuals
        if self.amplitude == 0.0 and not len(self.waves):
            variance = np.einsum("ne,ne->n", effects @ self._effects, effects)
            return effects @ (self.runs.effects.T @ behind), self.noise**2 + variance
        cross = self._cross(at)
        prior = np.einsum("ne,ne->n", effects, effects)
        prior += self.amplitude**2 + self.waves @ self.waves + self.noise**2
        variance = prior - np.einsum("nr,nr->n", cross @ self.inverse, cross)
        return cross @ behind, np.maximum(variance, self.noise**2)

    @cached_property
    def _effects(self) -> FloatArray:
        """(e, e) covariance that the runs leave of the effects where these are all there is, each
        relative to its prior spread (Rasmussen and Williams 2.8): far smaller than `inverse`, and
        no difference of large numbers."""
        x = self.runs.effects * (np.sqrt(self.run_weights) / self.noise)[:, None]
        return np.asarray(np.linalg.inv(np.eye(x.shape[1]) + x.T @ x))

    def _cross(self, at: Inputs) -> FloatArray:
        """(n, r) covariance with the runs."""
        cross = at.effects @ self.runs.effects.T
        if self.amplitude > 0.0:
            apart = _distances(at.coordinates / self.lengths, self.runs.coordinates / self.lengths)
            cross += self.amplitude**2 * np.exp(-0.5 * apart)
        if len(self.waves):
            known, back = self._cores
            alike = _alike(at.cores, known)[:, back]
            cross += self.waves[0] ** 2 * alike
            if len(self.waves) > 1:
                alike *= _alike(at.sizes, self.runs.sizes)
                cross += self.waves[1] ** 2 * alike
        return np.asarray(cross)

    @cached_property
    def _cores(self) -> tuple[FloatArray, IntArray]:
        """(u,) the numbers of cores that runs had, as logarithms, and (r,) which of them each."""
        return np.unique(self.runs.cores, return_inverse=True)

    @property
    def free(self) -> FloatArray:
        """(r,) one less how far each run draws its own answer to itself (its leverage)."""
        return np.asarray(self.noise**2 / self.run_weights * np.diag(self.inverse))

    def left_out(self, residuals: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(r,) error of log time and (r,) variance for each run without it; the noise in it is that
        of a run that counts as one.

        Args:
            residuals: (r, r) of all runs (columns) about the law without run i (rows).
        """
        diagonal = np.diag(self.inverse)
        more = self.noise**2 * (1.0 / self.run_weights - 1.0)
        return np.einsum("ij,ij->i", residuals, self.inverse) / diagonal, 1.0 / diagonal - more


def _distances(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, r) squared distances of rows (n, c) and (r, c)."""
    apart = -2.0 * (x @ y.T)
    apart += np.einsum("nc,nc->n", x, x)[:, None]
    apart += np.einsum("rc,rc->r", y, y)
    return np.maximum(apart, 0.0, out=apart)


def _alike(x: FloatArray, y: FloatArray) -> FloatArray:
    """(n, r) correlation of what is peculiar to numbers of cores, or to inputs, (n,) and (r,)."""
    return np.asarray(np.exp(-0.5 * ((x[:, None] - y) / WAVES_LENGTH) ** 2))


def _waves(runs: Inputs) -> FloatArray:
    """(k, r, r) correlations by numbers of cores, and by these and inputs where some runs share
    both."""
    by_cores = _alike(runs.cores, runs.cores)
    places = np.column_stack((runs.cores, runs.sizes))
    if np.ptp(runs.sizes) == 0.0 or len(np.unique(places, axis=0)) == len(runs):
        return by_cores[None]
    return np.stack((by_cores, by_cores * _alike(runs.sizes, runs.sizes)))


def linear(runs: Inputs, noise: float, run_weights: FloatArray) -> Process:
    """The process of linear effects and noise alone."""
    covariance = runs.effects @ runs.effects.T + np.diag(noise**2 / run_weights)
    lengths = np.ones(runs.coordinates.shape[1])
    return Process(
        runs, 0.0, np.empty(0), lengths, noise, np.asarray(np.linalg.inv(covariance)), run_weights
    )


def smooth(
    runs: Inputs, residuals: FloatArray, lengths: FloatArray, run_weights: FloatArray
) -> Process:
    """The process with the most probable hyperparameters after residuals (r,). Runs that count for
    less than half take no part in these.

    Args:
        lengths: (c,) prior medians.
        counts: (r,) how much each run counts.
    """
    order = np.random.default_rng(0).permutation(len(runs))
    few = order[run_weights[order] >= 0.5][:MOST_FOR_LENGTHS]
    parts = KnownParts(runs.effects @ runs.effects.T, _waves(runs), runs.coordinates, lengths)
    found = Posterior(parts.taken(few), residuals[few]).most_probable()
    covariance = parts.covariance(found)[0] + np.diag(found.noise**2 * (1.0 / run_weights - 1.0))
    inverse = np.asarray(np.linalg.inv(covariance))
    return Process(
        runs, found.amplitude, found.waves, found.lengths, found.noise, inverse, run_weights
    )
