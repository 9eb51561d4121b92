"""Detection of outlier runs by a mixture model, and the posterior of the laws with outliers
down-weighted.

Each run either follows a law, with noise, or is an outlier (`engine/runs/slow_runs.py`): something
went wrong and it took longer, log-uniformly. Each hypothesis is a set of outliers. Its evidence
(marginal likelihood) is that of the other runs, averaged over laws, effects and noise, times the
density of the outliers. If a memory cliff explains a slow run, laws with that cliff do so. A run is
then weighted by the probability that it is no outlier, as the power of its likelihood (expectation
maximisation: Dempster, Laird and Rubin, J. R. Stat. Soc. B 1977).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.draw_weights import normalised_weights
from engine.models.laws.observations import NOISE_DOF, NOISE_SCALE, Observations
from engine.models.laws.sampling import PosteriorDraws, posterior
from engine.runs.slow_runs import LEAST_FACTOR, LEAST_ODDS, MOST_FACTOR, OUTLIER_PROBABILITY

OUTLIER_THRESHOLD = LEAST_ODDS / (1.0 + LEAST_ODDS)
"""A run is down-weighted if it is an outlier with more than this probability. Tables without
such a run are fitted once."""

MINIMUM_CONFIGURATIONS = 6
"""The fewest configurations in which an outlier can be identified."""

LEAST_WEIGHT = 1e-3
"""The least weight of a down-weighted run, so that its left-out error is defined like the
others'."""

SUSPECTS = 6
"""The most runs that are tried as outliers, alone and in pairs."""

PASSES, WEIGHT_TOLERANCE = 4, 0.1
"""The most refits of the laws, and the change of a run weight that calls for another."""

ROUNDS = 4
"""The most rounds of hypotheses about the draws of one pass. A round adds two outliers at most, and
costs about a tenth of a refit."""

OUTLIER_LOG_FACTOR = math.log(OUTLIER_PROBABILITY / (1.0 - OUTLIER_PROBABILITY)) - math.log(
    math.log(MOST_FACTOR / LEAST_FACTOR)
)
"""Log prior odds that a run is an outlier, times the density of its log time then. Runs that were
too fast are left alone: their data may just fit, beside a cliff."""


def outlier_posterior(
    observations: Observations, may_be_outlier: BoolArray, at_least_as_hard: BoolArray
) -> tuple[Observations, PosteriorDraws]:
    """The observations with the weight of each run, and the posterior draws of the laws given them.

    Args:
        observations: r runs; those that already have a weight below one keep it.
        may_be_outlier: (r,) runs that are tested.
        at_least_as_hard: (r, r) whether run j (columns) had no more cores and memory than i (rows)
            for no less input. Unless such a run took as long as predicted, a slow run may be right:
            a memory cliff shows first in the hardest run.
    """
    draws, initial = posterior(observations), observations
    if initial.runs < MINIMUM_CONFIGURATIONS:
        return observations, draws
    initial_weights = np.ones(len(initial)) if initial.run_weights is None else initial.run_weights
    run_weights, may_be_outlier = initial_weights, may_be_outlier & (initial_weights == 1.0)
    fits = {run_weights.tobytes(): (observations, draws)}
    for _ in range(PASSES):
        hypotheses = _OutlierHypotheses.of(
            initial, draws, at_least_as_hard & (initial_weights == 1.0)
        )
        probabilities = hypotheses.searched(
            may_be_outlier, np.flatnonzero(run_weights < initial_weights)
        )
        updated_weights = np.where(
            probabilities > OUTLIER_THRESHOLD,
            np.maximum(1.0 - probabilities, LEAST_WEIGHT),
            initial_weights,
        )
        if np.abs(updated_weights - run_weights).max() < WEIGHT_TOLERANCE:
            break
        run_weights = updated_weights
        if run_weights.tobytes() not in fits:  # else the weights alternate
            observations = replace(observations, run_weights=run_weights)
            continued = replace(draws, may_continue=True)
            fits[run_weights.tobytes()] = observations, posterior(observations, before=continued)
        observations, draws = fits[run_weights.tobytes()]
    return observations, draws


@dataclass(frozen=True, eq=False)
class _OutlierHypotheses:
    """The evidence of hypotheses about outliers among r runs, from d draws of laws.

    Args:
        runs: effective number of runs without any outlier.
        precision: (r, r) of the runs without any outlier.
        weighted_residuals: (r, d) `precision` times the residuals.
        misfit: (d,) of all runs.
        draw_log_density: (d,) log density of the draws relative to the prior.
        errors: (r,) left-out error of log time of each run, with the current weights.
        at_least_as_hard: (r, r) see `outlier_posterior`.
    """

    runs: float
    precision: FloatArray
    weighted_residuals: FloatArray
    misfit: FloatArray
    draw_log_density: FloatArray
    errors: FloatArray
    at_least_as_hard: BoolArray

    @classmethod
    def of(
        cls, initial: Observations, draws: PosteriorDraws, at_least_as_hard: BoolArray
    ) -> _OutlierHypotheses:
        """From draws given the current observations; `initial` are the same before any run was
        down-weighted."""
        residuals, unchanged = draws.tempered_residuals, initial is draws.observations
        return cls(
            runs=initial.runs,
            precision=initial.precision,
            weighted_residuals=(
                draws.weighted_residuals if unchanged else initial.weighted_by_precision(residuals)
            ),
            misfit=draws.tempered_misfit if unchanged else initial.misfit(residuals),
            draw_log_density=draws.tempered_log_density,
            errors=np.einsum("rd,rd->r", *draws.left_out),
            at_least_as_hard=at_least_as_hard,
        )

    def searched(self, may_be_outlier: BoolArray, judged: IntArray) -> FloatArray:
        """(r,) probability that each run is an outlier, after rounds of hypotheses that each go on
        from the outliers of the round before, until a round adds none. The arguments are those of
        `outlier_probabilities`."""
        for _ in range(ROUNDS):
            probabilities = self.outlier_probabilities(may_be_outlier, judged)
            found = np.flatnonzero(probabilities > OUTLIER_THRESHOLD)
            if len(found) <= len(judged):
                break
            judged = found
        return probabilities

    def outlier_probabilities(self, may_be_outlier: BoolArray, judged: IntArray) -> FloatArray:
        """(r,) probability that each run is an outlier.

        Args:
            may_be_outlier: (r,) runs that are tested.
            judged: the outliers found before, each of which is tested again.
        """
        excess = np.where(may_be_outlier, self.errors, 0.0)
        excess[judged] = 0.0
        suspects = np.argsort(-excess)[:SUSPECTS]
        suspects = suspects[excess[suspects] >= math.log(LEAST_FACTOR)]
        probabilities = np.zeros(len(may_be_outlier))
        if not len(suspects) and not len(judged):
            return probabilities
        outlier_sets = list(_outlier_sets(judged.tolist(), suspects.tolist()))
        weights = normalised_weights(self.log_evidences(outlier_sets)).tolist()
        for outliers, probability in zip(outlier_sets, weights, strict=True):
            probabilities[list(outliers)] += probability
        return probabilities

    def log_evidences(self, outlier_sets: Sequence[tuple[int, ...]]) -> FloatArray:
        """(s,) log evidence, up to a constant, that just the runs of each of s sets are outliers;
        -inf for a set without any weight. Sets of one size are taken together."""
        log_evidences = np.full(len(outlier_sets), -math.inf)
        sizes = np.asarray([len(outliers) for outliers in outlier_sets])
        for size in np.unique(sizes):
            alike = np.flatnonzero(sizes == size)
            outliers = np.asarray([outlier_sets[at] for at in alike.tolist()], dtype=np.int64)
            possible = self._each_has_a_harder_run(outliers)
            if possible.any():
                log_evidences[alike[possible]] = self._possible_log_evidences(outliers[possible])
        return log_evidences

    def _each_has_a_harder_run(self, outliers: IntArray) -> BoolArray:
        """(s,) whether for each run of a set (s, k) another one, outside of the set, was at least
        as hard."""
        harder = self.at_least_as_hard[outliers]
        np.put_along_axis(harder, outliers[:, None, :], False, axis=2)
        return np.asarray(np.all(np.any(harder, axis=2), axis=1))

    def _possible_log_evidences(self, outliers: IntArray) -> FloatArray:
        """(s,) `log_evidences` of sets that the loads of the other runs do not rule out."""
        count = outliers.shape[1]
        dof = NOISE_DOF + self.runs - 1.0 - count
        precision = self.precision[outliers[:, :, None], outliers[:, None, :]]
        weighted_residuals = self.weighted_residuals[outliers]
        errors = np.linalg.inv(precision) @ weighted_residuals
        misfit = self.misfit - np.einsum("skd,skd->sd", errors, weighted_residuals)
        spread = NOISE_DOF * NOISE_SCALE**2 + np.maximum(misfit, 0.0)
        density = -0.5 * dof * np.log(spread) - self.draw_log_density
        density[errors.min(axis=1, initial=math.inf) < math.log(LEAST_FACTOR)] = -math.inf
        largest = density.max(axis=1)
        found = np.flatnonzero(largest > -math.inf)
        sums = np.exp(density[found] - largest[found, None]).sum(axis=1)
        log_evidences = np.full(len(outliers), -math.inf)
        log_evidences[found] = (
            largest[found]
            + np.log(sums)
            + (math.lgamma(0.5 * dof) + 0.5 * count * math.log(math.pi))
            - 0.5 * np.linalg.slogdet(precision[found])[1]
            + count * OUTLIER_LOG_FACTOR
        )
        return log_evidences


def _outlier_sets(judged: list[int], suspects: list[int]) -> Iterator[tuple[int, ...]]:
    """The hypotheses: all runs judged outliers, all but one of them, or none, and up to two
    suspects."""
    but_one = (tuple(other for other in judged if other != one) for one in judged)
    for kept in dict.fromkeys((tuple(judged), *but_one, ())):
        for more in range(3):
            for added in combinations(suspects, more):
                yield (*kept, *added)
