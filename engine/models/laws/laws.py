"""Physical laws of run time as a prior, and what runs leave of it: Bayesian model averaging.

A law says how time depends on machines, cores, size, iterations and memory, up to a level:

    T = level * sum_j w_j f_j(m, p, z) / f_j(reference) * (1 + cliff) * (g_j + (1 - g_j) i / i0)

with the terms f_j of `terms` in machines m, their cores p and the relative size z; non-negative
shares w_j; iterations i, no more than the loop does before it has converged, of which a share g_j
is done once: one for the terms that grow with the size, one for the others; and a memory cliff:
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

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.cliff_states import states_shift
from engine.models.laws.frame import Frame, Seen
from engine.models.laws.terms import (
    BY_CORES,
    BY_MACHINES,
    DONE_AGAIN,
    GROWING,
    Points,
)

SHARES = np.asarray([0.2, 0.7, 0.02, 0.02, 0.02, 0.35, 0.2, 0.05, 0.1, 0.05, 0.05])
"""Concentration of each term's share of the time (Gamma, together Dirichlet), in the order of
`terms`; their scales are those of `frame.scales_of_shares`. Below 1 they favour few terms. Shared
computation is the likeliest, then data read serially. The three forms of communication share one
small weight: costs that grow with machines, whatever the data, are rare. Work on remote data has
its weight from shared computation."""

CLIFF_HEIGHT, CLIFF_HEIGHT_SPREAD = 10.0, 1.0
"""Median and log spread of the extra work if no data fitted: reading and parsing or computing data
again takes a few to some tens of times as long as what is then done with it."""

CLIFF, STOP, ONCE_FIXED = len(SHARES), len(SHARES) + 5, len(SHARES) + 6
"""Places among the numbers of a law: its shares come first, then its cliff. Of the last two only
runs of several numbers of iterations tell: where its loop has converged, and what is done once of
the time that does not grow with the size."""

SPARSEST = -30.0
"""Logarithm of a share that is nothing."""

DENSE = 0.5
"""If at least this share of neighbouring laws is needed, all of them are computed, none picked."""


@dataclass(frozen=True, eq=False)
class Laws:
    """d laws drawn from the prior or from what runs left of it.

    Args:
        numbers: (18, d) what each consists of, a row for each of the properties below: all in one
            array, so that a move of many laws takes few calls.
    """

    frame: Frame
    numbers: FloatArray

    def __len__(self) -> int:
        return int(self.numbers.shape[1])

    def taken(self, places: IntArray | slice) -> Laws:
        if isinstance(places, slice):
            return Laws(self.frame, self.numbers[:, places])
        return Laws(self.frame, self.numbers.take(places, axis=1))

    @property
    def log_shares(self) -> FloatArray:
        """(d, 11) of the terms on the fewest machines, of those of remote data as if all of it were
        remote there; up to a common factor."""
        return self.numbers[:CLIFF].T

    @property
    def cliff(self) -> FloatArray:
        """(d,) place of the threshold as a probability of its prior, in [0, 1)."""
        return np.asarray(self.numbers[CLIFF])

    @property
    def log_height(self) -> FloatArray:
        """(d,) of the cliff."""
        return np.asarray(self.numbers[CLIFF + 1])

    @property
    def logit_once(self) -> FloatArray:
        """(d,) share of the time that does not grow with the iterations: of what grows with the
        size, where runs of several numbers of iterations tell it apart."""
        return np.asarray(self.numbers[CLIFF + 2])

    @property
    def logit_reading(self) -> FloatArray:
        """(d,) share of what is done again that waits for the disks or the network of each machine,
        not for its cores."""
        return np.asarray(self.numbers[CLIFF + 3])

    @property
    def logit_gradual(self) -> FloatArray:
        """(d,) share of it that goes with the share of the data that does not fit; the rest is done
        again as soon as not all fits."""
        return np.asarray(self.numbers[CLIFF + 4])

    @property
    def stop(self) -> FloatArray:
        """(d,) where the loop has converged, as a standard normal number (`converged`)."""
        return np.asarray(self.numbers[STOP])

    @property
    def logit_once_fixed(self) -> FloatArray:
        """(d,) the share that does not grow with the iterations of what does not with the size."""
        return np.asarray(self.numbers[ONCE_FIXED])

    @cached_property
    def shares(self) -> FloatArray:
        """(d, 11) of the terms on the fewest machines, up to a common factor."""
        return np.exp(self.log_shares)

    @cached_property
    def again(self) -> FloatArray:
        """(d, 3) extra work of the terms `DONE_AGAIN` if no data fits. Reading evicted data again
        waits for the disks or the network of each machine, computing it again for the cores."""
        return self._again(slice(None))

    def _again(self, laws: IntArray | slice) -> FloatArray:
        cores, squared, machines = (self.shares[:, place][laws] for place in DONE_AGAIN)
        height = np.exp(self.log_height[laws])
        moved = (cores + machines) * height
        read = moved / (1.0 + np.exp(-self.logit_reading[laws]))
        return np.stack((moved - read, squared * height, read)).T

    @cached_property
    def gradual(self) -> FloatArray:
        """(d,) share of what is done again that goes with the data that does not fit."""
        return np.asarray(1.0 / (1.0 + np.exp(-self.logit_gradual)))

    def missed(self, memory_per_input: FloatArray, laws: IntArray | slice) -> FloatArray:
        """(n, d) share of `again` that some laws have at (n,) log memory per input. Spark keeps
        what fits of one RDD and computes the rest again; where several compete, or tasks have too
        little, more is lost at once."""
        missed = np.multiply.outer(np.exp(memory_per_input - self.frame.high), self._kept[laws])
        np.subtract(1.0, missed, out=missed)
        missed *= memory_per_input[:, None] < self.threshold[laws]
        return missed

    @cached_property
    def _kept(self) -> FloatArray:
        """(d,) what a unit of memory per input, relative to the most of any run, saves of what is
        done again; 0 without a cliff."""
        above = np.where(np.isneginf(self.threshold), np.inf, self.threshold)
        return np.asarray(self.gradual * np.exp(self.frame.high - above))

    @cached_property
    def threshold(self) -> FloatArray:
        """(d,) log memory per input below which data does not fit; -inf for none."""
        edges, start, slope = self.frame.thresholds
        found, some = np.full(len(self), -np.inf), (self.cliff >= edges[1]).nonzero()[0]
        cliff = self.cliff.take(some)
        piece = np.searchsorted(edges, cliff, side="right") - 1
        found[some] = start.take(piece) + slope.take(piece) * (cliff - edges.take(piece))
        return found

    def log_times(self, at: Points) -> FloatArray:
        """(n, d) log time of every law at every point, up to the level."""
        return self.log_times_at(self.frame.seen(at))

    def log_times_at(self, seen: Seen) -> FloatArray:
        """(n, d) `log_times` of points that the frame has seen."""
        sums = seen.terms @ self.shares.T
        met = (self.threshold > seen.memory_per_input.min(initial=np.inf)).nonzero()[0]
        if len(met):
            # A slice, where not many are reckoned with in vain: picking them takes longer.
            first, last = int(met[0]), int(met[-1]) + 1
            laws = slice(first, last) if len(met) > DENSE * (last - first) else met
            again = seen.terms[:, DONE_AGAIN] @ self._again(laws).T
            again *= self.missed(seen.memory_per_input, laws)
            sums[:, laws] += again
        if seen.iterations is not None:
            grown, fixed = self.repeated(seen.iterations)
            sums *= grown.take(seen.which, axis=0)
            if self.frame.iteration_range > 0.0:
                sums += seen.of_fixed(self.shares.T[~GROWING], fixed - grown)
        np.log(sums, out=sums)
        return sums

    def mean_log_times(
        self, at: Points, effects: FloatArray, sizes: FloatArray, iterations: FloatArray
    ) -> FloatArray:
        """(k, s, n) mean of the laws' log times with each of k numbers of iterations, (k, 1) or
        (k, n), and of s sizes in place of the points' own: terms per unit of size serve all. It is
        less where it is open whether data fits; how much less also depends on each law's `effects`
        (n, d)."""
        # By law, then by point: some of the laws lie side by side.
        unit = self.frame.seen(at.sized(1.0))
        fixed, grown = (self.shares @ (unit.terms * of).T for of in (~GROWING, GROWING))
        again = self.again @ unit.terms[:, DONE_AGAIN].T
        saved = np.multiply.outer(self._kept, np.exp(unit.memory_per_input - self.frame.high))
        saved *= again
        found = np.empty((len(iterations), len(sizes), len(at)))
        sized, sums, more = np.empty_like(grown), np.empty_like(grown), saved.copy()
        usual, told = effects.mean(axis=1), [self._told(fixed, count) for count in iterations]
        for place, size in enumerate(sizes):
            per_input = unit.memory_per_input - np.log(size)
            laws = self._first_met(per_input)
            missed = np.multiply(again[laws], size, out=more[laws])
            missed -= saved[laws]
            missed *= per_input < self.threshold[laws, None]
            np.multiply(grown, size, out=sized)
            sized[laws] += missed
            rows, slipped = self.slipped(per_input)
            for mean, (apart, often) in zip(found[:, place], told, strict=True):
                np.add(apart, sized, out=sums)
                mean[:] = mean_log(sums) + often.mean(axis=0)
                if len(rows):
                    times = np.log(sums.T[rows]) + (effects + often.T)[rows]
                    mean[rows] += states_shift(slipped / len(self), times, (mean + usual)[rows])
        return found

    def _told(self, fixed: FloatArray, iterations: FloatArray) -> tuple[FloatArray, FloatArray]:
        """For (m,) iterations, as many as the points or one: (d, n) what is `fixed` for the size,
        relative to how often the rest is done, and (d, m) the logarithm of how often that is."""
        known, which = np.unique(iterations, return_inverse=True)
        often, begun = self.repeated(known[:, None] / self.frame.iterations)
        return fixed * (begun / often)[which].T, np.log(often)[which].T

    def slipped(self, memory_per_input: FloatArray) -> tuple[IntArray, BoolArray]:
        """(m,) places among (n,) log memories per input where it is open whether data fits, and
        (m, d) the laws by which it does not there although that of a run did."""
        threshold, ascending = self._between_runs
        unfit = len(self) - np.searchsorted(ascending, memory_per_input, side="right")
        rows = ((unfit > 0) & (unfit < len(self))).nonzero()[0]
        return rows, memory_per_input[rows, None] < threshold

    @cached_property
    def _between_runs(self) -> tuple[FloatArray, FloatArray]:
        """(d,) thresholds that the data of a run did not slip below, -inf for others; the same
        ascending."""
        threshold = np.where(self.threshold <= self.frame.high, self.threshold, -np.inf)
        return threshold, np.sort(threshold)

    def _first_met(self, per_input: FloatArray) -> slice:
        """The laws up to the last one whose cliff any of the points meets: a slice, since computing
        some laws in vain is quicker than picking them."""
        met = (self.threshold > per_input.min(initial=np.inf)).nonzero()[0]
        return slice(0, int(met[-1]) + 1 if len(met) else 0)

    def repeated(self, relative: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(u, d) how many times as long what grows with the size takes at (u, 1) iterations
        relative to those of the run with most as it does in that run, and (u, d) what does not."""
        once = self.logit_once
        if self.frame.iteration_range == 0.0:
            found = with_once(once, relative)
            return found, found
        done, most = self.converged
        relative = np.minimum(relative / done, most)
        return with_once(once, relative), with_once(self.logit_once_fixed, relative)

    @cached_property
    def converged(self) -> tuple[FloatArray, FloatArray]:
        """(d,) iterations that the loop does before it has converged, relative to those of the run
        with most, and (d,) how many times these it may do at most: 1, or without limit where it
        does not converge before that run ends."""
        beyond = self.stop + CONVERGING
        done = np.exp(self.frame.iteration_range * np.minimum(beyond, 0.0))
        return done, np.where(beyond < 0.0, 1.0, np.inf)

    def phases(self, at: Points) -> FloatArray:
        """(d, 12) shares of the terms of the time at one point, then of what memory costs."""
        grown, fixed = self.repeated(at.iterations[:1, None] / self.frame.iterations)
        here = self.frame.relative(at)[0]
        missed = self.missed(at.memory_per_input[:1], slice(None))[0]
        again = missed * (self.again @ here[DONE_AGAIN])
        parts = np.column_stack((here * self.shares, again))
        parts *= np.where([*GROWING, True], grown.T, fixed.T)
        if not self.frame.cores_differ:
            parts[:, BY_CORES] += parts[:, BY_MACHINES]
            parts[:, BY_MACHINES] = 0.0
        return np.asarray(parts / parts.sum(axis=1)[:, None])

    @property
    def log_prior(self) -> FloatArray:
        """(d,) log density of the prior; that of `cliff` is uniform."""
        standard = (self.numbers[CLIFF + 1 :] - MEDIANS[:, None]) / SPREADS[:, None]
        gamma = self.log_shares @ SHARES - self.shares @ (1.0 / self.frame.scales)
        return np.asarray(gamma - 0.5 * np.einsum("kd,kd->d", standard, standard))


def with_once(logit_once: FloatArray, relative: FloatArray) -> FloatArray:
    """(u, d) how many times as long what is done once to a share takes with so many iterations."""
    once = 1.0 / (1.0 + np.exp(-logit_once))
    return np.asarray(once + (1.0 - once) * relative)


def mean_log(values: FloatArray) -> FloatArray:
    """(n,) mean logarithm of columns (d, n), by products of `AT_ONCE` values: a logarithm takes as
    long as about ten products."""
    width = len(values) // AT_ONCE
    products = values[: width * AT_ONCE].reshape(AT_ONCE, width, values.shape[1]).prod(axis=0)
    sums = np.log(products).sum(axis=0) + np.log(values[width * AT_ONCE :]).sum(axis=0)
    return np.asarray(sums / len(values))


AT_ONCE = 8
"""Values that are multiplied before a logarithm is taken: they lie within ten powers of ten of each
other, so that no product overflows."""

MOST_DRAWN = 50_000
"""Laws that are drawn from the prior."""

ONCE_SPREAD = 1.5
"""Prior spread of the logit of what is done once whatever the iterations, of either part."""

READING_SPREAD = 2.0
"""The same of the share of repeated work that machines bound: mostly all or nothing, neither
likelier."""

GRADUAL_SPREAD = 2.0
"""The same of the share that goes with the data that does not fit."""


MEDIANS = np.asarray([np.log(CLIFF_HEIGHT), 0.0, 0.0, 0.0, 0.0, 0.0])
SPREADS = np.asarray(
    [CLIFF_HEIGHT_SPREAD, ONCE_SPREAD, READING_SPREAD, GRADUAL_SPREAD, 1.0, ONCE_SPREAD]
)
"""Of the normal priors of the numbers after the cliff."""

CONVERGING = 1.28
"""Spreads below the middle from which on a loop converges within the iterations that were run: one
law in ten. Loops that end at a tolerance (gradient descent, k-means) are told a most number of
iterations, and may do fewer; but whoever varies that number has seen that it matters."""


@dataclass(frozen=True, eq=False)
class Drawn(Laws):
    """Laws from the prior. There are many, of which few are taken: their numbers are not copied,
    and have shares of scale 1 until then.

    Args:
        unit: (d, 11) these shares.
    """

    unit: FloatArray

    @cached_property
    def shares(self) -> FloatArray:
        return self.unit * self.frame.scales

    def taken(self, places: IntArray | slice) -> Laws:
        if isinstance(places, slice):
            return Drawn(self.frame, self.numbers[:, places], self.unit[places])
        numbers = self.numbers.take(places, axis=1)
        numbers[:CLIFF] += np.log(self.frame.scales)[:, None]
        return Laws(self.frame, numbers)


def first_drawn(frame: Frame, count: int, *, seed: int) -> Drawn:
    """The first `count` laws, at most `MOST_DRAWN`, drawn from the prior."""
    numbers, unit = _prior(seed)
    return Drawn(frame, numbers[:, :count], unit[:count])


def drawn(frame: Frame, count: int, *, seed: int) -> Laws:
    """The same taken, all of them."""
    found = first_drawn(frame, count, seed=seed)
    return found.taken(np.arange(len(found)))


@lru_cache(maxsize=2)
def _prior(seed: int) -> tuple[FloatArray, FloatArray]:
    """(18, `MOST_DRAWN`) what laws consist of besides their frame, with shares of scale 1, and
    these (`MOST_DRAWN`, 11). Drawn once: it takes longer than fitting them."""
    random = np.random.default_rng(seed)
    with np.errstate(divide="ignore"):
        log_shares = np.log(random.gamma(np.broadcast_to(SHARES, (MOST_DRAWN, len(SHARES)))))
    cliff = random.random(MOST_DRAWN)
    others = (
        random.normal(median, spread, MOST_DRAWN)
        for median, spread in zip(MEDIANS, SPREADS, strict=True)
    )
    numbers = np.stack((*np.maximum(log_shares, SPARSEST).T, cliff, *others))
    return numbers, np.exp(numbers[:CLIFF]).T
