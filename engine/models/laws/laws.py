"""Parametric laws of run time and their prior, for Bayesian model averaging.

A law says how time depends on machines, cores, size, iterations and memory, up to a level:

    T = level * sum_j w_j f_j(m, p, z) / f_j(reference) * (1 + cliff) * (g_j + (1 - g_j) i / i0)

with the terms f_j of `terms` in machines m, their cores p and the relative size z; non-negative
shares w_j; iterations i, no more than the loop does until it converges, of which a share g_j is
done once: one share for the terms that grow with the size, one for the others; and a memory cliff:
where memory per input falls below a threshold, the shared work (z / p, z / p^2) is done again, up
to `height` times: part of it as soon as not all data fits, the rest in proportion to the data that
does not. Few runs fit many laws. So laws are drawn from a prior and weighted by their likelihood,
and a prediction is the mean of log T over them (less where it is open whether data fits,
`cliff_states`): with three runs the prior fills the gaps, with thirty the runs decide. Every law
grows with the size, and so does the mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import DTypeLike

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.cliff_states import harmonic_mean_shift
from engine.models.laws.reference_frame import LawFeatures, ReferenceFrame
from engine.models.laws.terms import (
    BY_CORES,
    BY_MACHINES,
    DONE_AGAIN,
    GROWING,
    Points,
)

SHARES = np.asarray([0.2, 0.7, 0.02, 0.02, 0.02, 0.35, 0.2, 0.05, 0.1, 0.05, 0.05])
"""Concentration of each term's share of the time (gamma variables, together Dirichlet), in the
order of `terms`; their scales are those of `reference_frame.share_scales`. Below 1 they favour few
terms. Shared computation is the likeliest, then data read serially. The three forms of
communication share one small weight: costs that grow with machines, whatever the data, are rare.
Work on remote data has its weight from shared computation."""

CLIFF_HEIGHT, CLIFF_HEIGHT_SPREAD = 10.0, 1.0
"""Median and log standard deviation of the extra work if no data fits: reading and parsing or
computing data again takes a few to some tens of times as long as what is then done with it."""

CLIFF, STOP, ONCE_FIXED = len(SHARES), len(SHARES) + 5, len(SHARES) + 6
"""Row indices among the parameters of a law: its shares come first, then its cliff. The last two
depend on runs of several numbers of iterations: where the loop converges, and what is done once of
the time that does not grow with the size."""

SPARSEST = -30.0
"""Logarithm of a share that counts as zero."""

CONTIGUOUS_SHARE = 0.25
"""If at least this share of a slice of laws is needed, the slice is computed, else its laws are
indexed."""


@dataclass(frozen=True, eq=False)
class Laws:
    """d laws, drawn from the prior or from the posterior.

    Args:
        parameters: (18, d) of each law, a row for each of the properties below: in one array, so
            that a Metropolis step of many laws takes few calls.
    """

    frame: ReferenceFrame
    parameters: FloatArray

    def __len__(self) -> int:
        return int(self.parameters.shape[1])

    def take(self, indices: IntArray | slice) -> Laws:
        if isinstance(indices, slice):
            return Laws(self.frame, self.parameters[:, indices])
        return Laws(self.frame, self.parameters.take(indices, axis=1))

    @property
    def in_double_precision(self) -> Laws:
        """The same as 64-bit numbers."""
        return Laws(self.frame, self.parameters.astype(np.float64))

    @property
    def log_shares(self) -> FloatArray:
        """(d, 11) log shares of the terms on the fewest machines, those of remote data as if all of
        it were remote there; up to a common factor."""
        return self.parameters[:CLIFF].T

    @property
    def cliff(self) -> FloatArray:
        """(d,) threshold of the cliff as a probability of its prior, in [0, 1)."""
        return np.asarray(self.parameters[CLIFF])

    @property
    def log_height(self) -> FloatArray:
        """(d,) log height of the cliff: the extra work if no data fits."""
        return np.asarray(self.parameters[CLIFF + 1])

    @property
    def logit_once(self) -> FloatArray:
        """(d,) share of the time that does not grow with the iterations: of what grows with the
        size, where runs of several numbers of iterations tell it apart."""
        return np.asarray(self.parameters[CLIFF + 2])

    @property
    def logit_reading(self) -> FloatArray:
        """(d,) share of the extra work that waits for the disks or the network of each machine, not
        for its cores."""
        return np.asarray(self.parameters[CLIFF + 3])

    @property
    def logit_gradual(self) -> FloatArray:
        """(d,) share of the extra work in proportion to the data that does not fit; the rest is
        done as soon as not all data fits."""
        return np.asarray(self.parameters[CLIFF + 4])

    @property
    def stop(self) -> FloatArray:
        """(d,) where the loop converges, as a standard normal number (`convergence`)."""
        return np.asarray(self.parameters[STOP])

    @property
    def logit_once_fixed(self) -> FloatArray:
        """(d,) share of the time that does not grow with the iterations: of what does not grow with
        the size."""
        return np.asarray(self.parameters[ONCE_FIXED])

    @cached_property
    def shares(self) -> FloatArray:
        """(d, 11) shares of the terms on the fewest machines, up to a common factor."""
        return np.exp(self.log_shares)

    @property
    def extra_work(self) -> FloatArray:
        """(d, 3) extra work of the terms `DONE_AGAIN` if no data fits."""
        return self._cliff_work(slice(None))[: len(DONE_AGAIN)].T

    def _cliff_work(self, laws: IntArray | slice) -> FloatArray:
        """(6, d) extra work of the terms `DONE_AGAIN` if no data fits, and minus what one unit of
        memory per input saves of each: the work at a point is their product with `cliff_terms`.
        Reading evicted data again waits for the disks or the network of each machine, computing it
        again for the cores."""
        cores, squared, machines = (self.shares[:, index][laws] for index in DONE_AGAIN)
        height = np.exp(self.log_height[laws])
        moved = (cores + machines) * height
        cliff_work = np.empty((2, len(DONE_AGAIN), len(height)), dtype=height.dtype)
        extra_work = cliff_work[0]
        extra_work[2] = moved / (1.0 + np.exp(-self.logit_reading[laws]))
        extra_work[0] = moved - extra_work[2]
        extra_work[1] = squared * height
        np.multiply(extra_work, -self._saved_share[laws], out=cliff_work[1])
        return cliff_work.reshape(-1, len(height))

    @cached_property
    def gradual_share(self) -> FloatArray:
        """(d,) share of the extra work in proportion to the data that does not fit."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.logit_gradual)))

    def extra_share(self, memory_per_input: FloatArray, laws: IntArray | slice) -> FloatArray:
        """(n, d) share of `extra_work` that is done at (n,) log memory per input, by some laws.
        Spark keeps what fits of one RDD and computes the rest again; where several compete, or
        tasks have too little, more is lost at once."""
        extra_share = np.multiply.outer(
            np.exp(memory_per_input - self.frame.high), self._saved_share[laws]
        )
        np.subtract(1.0, extra_share, out=extra_share)
        extra_share *= memory_per_input[:, None] < self.threshold[laws]
        return extra_share

    @cached_property
    def _saved_share(self) -> FloatArray:
        """(d,) share of the extra work saved per unit of memory per input, relative to the most of
        any run; 0 without a cliff."""
        above = np.where(self.threshold == -np.inf, np.inf, self.threshold)
        return np.asarray(self.gradual_share * np.exp(self.frame.high - above))

    @cached_property
    def threshold(self) -> FloatArray:
        """(d,) log memory per input below which data does not fit; -inf for none."""
        edges, start, slope = self.frame.thresholds
        threshold = np.full(len(self), -np.inf, dtype=self.parameters.dtype)
        with_cliff = (self.cliff >= edges[1]).nonzero()[0]
        cliff = self.cliff.take(with_cliff)
        piece = edges.searchsorted(cliff, side="right") - 1
        threshold[with_cliff] = start.take(piece) + slope.take(piece) * (cliff - edges.take(piece))
        return threshold

    def log_times(self, at: Points) -> FloatArray:
        """(n, d) log time of every law at every point, up to the level."""
        return self.log_times_from(self.frame.features(at))

    def log_times_from(self, features: LawFeatures) -> FloatArray:
        """(n, d) `log_times` of the points with these features."""
        sums = features.terms @ self.shares.T
        meeting = (self.threshold > features.least_memory_per_input).nonzero()[0]
        if len(meeting):
            # A slice if few of its laws are computed in vain: indexing takes longer.
            first, last = int(meeting[0]), int(meeting[-1]) + 1
            laws = (
                slice(first, last) if len(meeting) > CONTIGUOUS_SHARE * (last - first) else meeting
            )
            extra_work = features.cliff_terms @ self._cliff_work(laws)
            extra_work *= features.memory_per_input[:, None] < self.threshold[laws]
            sums[:, laws] += extra_work
        if features.iterations is not None:
            grown, fixed = self.iteration_factors(features.iterations)
            sums *= grown.take(features.iteration_index, axis=0)
            if self.frame.iteration_range > 0.0:
                sums += features.fixed_time(self.shares.T[~GROWING], fixed - grown)
        np.log(sums, out=sums)
        return sums

    def mean_log_times(
        self, unit: LawFeatures, effects: FloatArray, sizes: FloatArray, iterations: FloatArray
    ) -> FloatArray:
        """(k, s, n) mean of the laws' log times with each of k numbers of iterations, (k, 1) or (k,
        n), and of s sizes, each computed once, from the features `unit` of the points at size 1.
        The mean is less where it is open whether data fits; how much less also depends on each
        law's `effects` (n, d)."""
        sizes, size_index = np.unique(sizes, return_inverse=True)
        # Indexed by law, then by point: the laws that meet a cliff are contiguous.
        fixed, grown = (self.shares @ (unit.terms * of).T for of in (~GROWING, GROWING))
        largest = np.log(sizes[-1:]).max(initial=-np.inf)
        meeting = self._meeting_cliff(unit.memory_per_input - largest)
        extra_work = self.extra_work[meeting] @ unit.terms[:, DONE_AGAIN].T
        saved = np.multiply.outer(
            self._saved_share[meeting], np.exp(unit.memory_per_input - self.frame.high)
        )
        saved *= extra_work
        means = np.empty((len(iterations), len(sizes), len(effects)))
        sized, sums, buffer = np.empty_like(grown), np.empty_like(grown), saved.copy()
        mean_effect = effects.mean(axis=1)
        by_iterations = [self._iteration_terms(fixed, count) for count in iterations]
        for index, size in enumerate(sizes):
            per_input = unit.memory_per_input - np.log(size)
            laws = self._meeting_cliff(per_input)
            extra = np.multiply(extra_work[laws], size, out=buffer[laws])
            extra -= saved[laws]
            extra *= per_input < self.threshold[laws, None]
            np.multiply(grown, size, out=sized)
            sized[laws] += extra
            rows, newly_unfit = self.newly_unfit(per_input)
            for mean, (fixed_terms, log_factor) in zip(means[:, index], by_iterations, strict=True):
                np.add(fixed_terms, sized, out=sums)
                mean[:] = mean_log(sums) + log_factor.mean(axis=0)
                if len(rows):
                    times = np.log(sums.T[rows]) + (effects + log_factor.T)[rows]
                    mean[rows] += harmonic_mean_shift(
                        newly_unfit / len(self), times, (mean + mean_effect)[rows]
                    )
        return means[:, size_index]

    def _iteration_terms(
        self, fixed: FloatArray, iterations: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """For (m,) iterations, as many as the points or one: (d, n) the terms `fixed` for the size,
        times their iteration factor over that of the terms that grow with it, and (d, m) the log of
        the latter factor."""
        known, iteration_index = np.unique(iterations, return_inverse=True)
        growing_factor, fixed_factor = self.iteration_factors(
            known[:, None] / self.frame.iterations
        )
        ratio = (fixed_factor / growing_factor)[iteration_index]
        return fixed * ratio.T, np.log(growing_factor)[iteration_index].T

    def newly_unfit(self, memory_per_input: FloatArray) -> tuple[IntArray, BoolArray]:
        """(m,) indices among (n,) log memories per input where it is open whether data fits, and
        (m, d) the laws by which it does not fit there although that of a run did."""
        threshold, ascending = self._open_thresholds
        unfit = len(self) - np.searchsorted(ascending, memory_per_input, side="right")
        rows = ((unfit > 0) & (unfit < len(self))).nonzero()[0]
        return rows, memory_per_input[rows, None] < threshold

    @cached_property
    def _open_thresholds(self) -> tuple[FloatArray, FloatArray]:
        """(d,) thresholds that lie below the memory per input of a run, -inf for others; the same
        ascending."""
        threshold = np.where(self.threshold <= self.frame.high, self.threshold, -np.inf)
        return threshold, np.sort(threshold)

    def _meeting_cliff(self, per_input: FloatArray) -> slice:
        """The laws up to the last one whose cliff any of the points meets. A slice, since computing
        some laws in vain is quicker than indexing."""
        meeting = (self.threshold > per_input.min(initial=np.inf)).nonzero()[0]
        return slice(0, int(meeting[-1]) + 1 if len(meeting) else 0)

    def iteration_factors(self, relative: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(u, d) time of what grows with the size at (u, 1) iterations, which are relative to those
        of the run with the most, over its time in that run; and (u, d) the same of what does not
        grow with the size."""
        once = self.logit_once
        if self.frame.iteration_range == 0.0:
            factor = iteration_factor(once, relative)
            return factor, factor
        until_convergence, most = self.convergence
        relative = np.minimum(relative / until_convergence, most)
        return iteration_factor(once, relative), iteration_factor(self.logit_once_fixed, relative)

    @cached_property
    def convergence(self) -> tuple[FloatArray, FloatArray]:
        """(d,) iterations that the loop does until it converges, relative to those of the run with
        the most, and (d,) how many times as many it may do at most: 1, or without limit where it
        does not converge before that run ends."""
        beyond = self.stop + CONVERGENCE_QUANTILE
        log_least = np.maximum(self.frame.iteration_range * np.minimum(beyond, 0.0), LOG_LEAST)
        until_convergence = np.exp(log_least)
        most = np.ones_like(beyond)
        most[beyond >= 0.0] = np.inf
        return until_convergence, most

    def phases(self, at: Points) -> FloatArray:
        """(d, 12) shares of each term in the time at one point, then of the extra work beyond the
        cliff."""
        grown, fixed = self.iteration_factors(at.iterations[:1, None] / self.frame.iterations)
        here = self.frame.relative(at)[0]
        extra_share = self.extra_share(at.memory_per_input[:1], slice(None))[0]
        extra_work = extra_share * (self.extra_work @ here[DONE_AGAIN])
        parts = np.column_stack((here * self.shares, extra_work))
        parts *= np.where([*GROWING, True], grown.T, fixed.T)
        if not self.frame.cores_differ:
            parts[:, BY_CORES] += parts[:, BY_MACHINES]
            parts[:, BY_MACHINES] = 0.0
        return np.asarray(parts / parts.sum(axis=1)[:, None])

    @property
    def log_prior(self) -> FloatArray:
        """(d,) log density of the prior; that of `cliff` is uniform."""
        medians, half_precisions, concentrations = _prior_constants(self.parameters.dtype)
        rates = np.asarray(1.0 / self.frame.scales, dtype=self.parameters.dtype)
        squares = self.parameters[CLIFF + 1 :] - medians
        squares *= squares
        return np.asarray(
            self.log_shares @ concentrations - self.shares @ rates - half_precisions @ squares
        )


@lru_cache(maxsize=2)
def _prior_constants(dtype: DTypeLike) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(6, 1) medians of the parameters after the cliff, (6,) halves of their prior precisions, and
    (11,) concentrations of the shares, as numbers of one precision."""
    constants = MEDIANS[:, None], 0.5 / SPREADS**2, SHARES
    medians, half_precisions, concentrations = (np.asarray(of, dtype=dtype) for of in constants)
    return medians, half_precisions, concentrations


def iteration_factor(logit_once: FloatArray, relative: FloatArray) -> FloatArray:
    """(u, d) time at (u, 1) relative iterations of work of which a share is done once, relative to
    one."""
    once = 1.0 / (1.0 + np.exp(-logit_once))
    return np.asarray(once + (1.0 - once) * relative)


def mean_log(values: FloatArray) -> FloatArray:
    """(n,) mean logarithm of columns (d, n), from products of `FACTORS_PER_LOG` values: a logarithm
    takes as long as about ten products."""
    width = len(values) // FACTORS_PER_LOG
    products = (
        values[: width * FACTORS_PER_LOG]
        .reshape(FACTORS_PER_LOG, width, values.shape[1])
        .prod(axis=0)
    )
    sums = np.log(products).sum(axis=0) + np.log(values[width * FACTORS_PER_LOG :]).sum(axis=0)
    return np.asarray(sums / len(values))


FACTORS_PER_LOG = 8
"""Values that are multiplied before a logarithm is taken: they lie within ten powers of ten of each
other, so that no product overflows."""

ONCE_SPREAD = 1.5
"""Prior standard deviation of the logit of the share done once whatever the iterations, of either
part."""

READING_SPREAD = 2.0
"""The same of the share of the extra work that machines bound: mostly all or nothing, neither
likelier."""

GRADUAL_SPREAD = 2.0
"""The same of the share in proportion to the data that does not fit."""


MEDIANS = np.asarray([np.log(CLIFF_HEIGHT), 0.0, 0.0, 0.0, 0.0, 0.0])
SPREADS = np.asarray(
    [CLIFF_HEIGHT_SPREAD, ONCE_SPREAD, READING_SPREAD, GRADUAL_SPREAD, 1.0, ONCE_SPREAD]
)
"""Medians and standard deviations of the normal priors of the parameters after the cliff."""

CONVERGENCE_QUANTILE = 1.28
"""Standard deviations below the median from which on a loop converges within the iterations that
were run: one law in ten. Loops that end at a tolerance (gradient descent, k-means) are given a
maximum number of iterations, and may do fewer; but whoever varies that number has seen that it
matters."""

LOG_LEAST = -80.0
"""Least log of the iterations until convergence relative to those of the longest run: the quotient
of iterations over it stays within 32-bit numbers."""
