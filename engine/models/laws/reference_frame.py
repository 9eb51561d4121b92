"""The reference point of the laws' priors: the fewest machines that were run, and the measured
range of memory.

The prior of a law's shares is about the time on the fewest machines that were run, that of its
memory cliff about the memory per input that was measured.

In: the points of the runs. Out: scales of the priors, and the terms of other points relative to the
reference. Explained in docs/models/sparkplan_rules_run_tables.md#how-much-is-shared.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import DTypeLike

from engine.forecast import FloatArray, IntArray
from engine.models.laws.terms import (
    BY_CORES,
    BY_CORES_SQUARED,
    BY_MACHINES,
    DONE_AGAIN,
    GROWING,
    Points,
    reference_terms,
    terms,
)

UNIT_SCALE_CORES = 100.0
"""Where runs that begin on so many cores have shares of scale 1. So half of the jobs whose runs
begin on p cores spend as long on what is not shared as on what is from some 20 sqrt(p) cores on: a
round number for the 110 that fits of fourteen collections say (any thirteen: 63 to 135)."""

INSIDE, OUTSIDE = 0.2, 0.05
"""Prior probabilities that a memory cliff lies within the memory per input that was measured, and
on either side of it; else there is none."""

CLIFF_REACH = 1.4
"""A cliff outside the measured range lies within a factor exp(1.4) = 4 of it."""


@dataclass(frozen=True, eq=False)
class ReferenceFrame:
    """What the priors of laws are relative to: the runs' fewest machines and their measured ranges.

    Args:
        reference: (11,) the terms on the fewest machines of the runs, at their mean size; those of
            remote data as if all of it were remote (`reference_terms`).
        scales: (11,) scale of each term's share there; its concentration is that of `SHARES`.
        low, high: range of log memory per input.
        cliff_inside: whether a cliff may lie between the runs.
        iterations: those of the run with the most.
        iteration_range: log of these over those of the run with the fewest.
        cores_differ: whether the machines of some runs had more cores than those of others. Else
            the runs cannot tell what waits for machines from what waits for cores, and a machine of
            more cores is taken to have as much more disk and network, as in a provider's family.
    """

    reference: FloatArray
    scales: FloatArray
    low: float
    high: float
    cliff_inside: bool
    iterations: float
    iteration_range: float
    cores_differ: bool

    @classmethod
    def of(cls, runs: Points) -> ReferenceFrame:
        cores, sized = runs.machines * runs.cores, runs.with_size(float(runs.size.mean()))
        fewest = sized.take(cores <= (1.0 + SAME_CORES) * cores.min())
        per_input = runs.memory_per_input
        return cls(
            reference=reference_terms(fewest),
            scales=share_scales(fewest),
            low=float(per_input.min()),
            high=float(per_input.max()),
            cliff_inside=bool(np.ptp(per_input) > SAME_MEMORY),
            iterations=float(runs.iterations.max()),
            iteration_range=float(np.log(runs.iterations.max() / runs.iterations.min())),
            cores_differ=bool(np.ptp(runs.cores) > SAME_CORES * runs.cores.max()),
        )

    @cached_property
    def thresholds(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The prior of the threshold as a piecewise linear quantile function of four pieces (none;
        within the measured range, below it, above it): where each begins, its first value and its
        slope."""
        inside = INSIDE if self.cliff_inside else 0.0
        outside_slope = CLIFF_REACH / OUTSIDE
        inside_slope = (self.high - self.low) / max(inside, OUTSIDE)
        return (
            np.asarray([0.0, 1.0 - 2.0 * OUTSIDE - inside, 1.0 - 2.0 * OUTSIDE, 1.0 - OUTSIDE]),
            np.asarray([-np.inf, self.low, self.low, self.high]),
            np.asarray([0.0, inside_slope, -outside_slope, outside_slope]),
        )

    @cached_property
    def cliff_pieces(self) -> tuple[FloatArray, FloatArray]:
        """Where each of these pieces begins, and how wide it is, as probabilities."""
        edges = self.thresholds[0]
        return edges, np.diff(edges, append=1.0)

    def relative(self, at: Points) -> FloatArray:
        """(n, 11) the terms relative to those on the fewest machines."""
        relative = terms(at) / self.reference
        if not self.cores_differ:
            relative[:, BY_MACHINES] = relative[:, BY_CORES]
        return np.asarray(relative)

    def features(self, at: Points) -> LawFeatures:
        iterations = at.iterations
        if len(iterations) > 0 and bool((iterations == iterations[0]).all()):
            distinct, iteration_index = iterations[:1], np.zeros(1, dtype=np.int64)
        else:
            distinct, iteration_index = np.unique(iterations, return_inverse=True)
        as_reference = len(distinct) == 1 and distinct[0] == self.iterations
        relative = self.relative(at)
        fixed = relative[:, ~GROWING]
        if len(distinct) <= MOST_ITERATION_COLUMNS:
            one_hot = iteration_index[:, None] == np.arange(len(distinct))
            columns = len(distinct) * fixed.shape[1]
            fixed = (one_hot[:, :, None] * fixed[:, None]).reshape(len(at), columns)
        per_input = at.memory_per_input
        again = relative[:, DONE_AGAIN]
        saved = again * np.exp(per_input - self.high)[:, None]
        return LawFeatures(
            terms=relative,
            fixed=fixed,
            cliff_terms=np.concatenate((again, saved), axis=1),
            memory_per_input=per_input,
            least_memory_per_input=float(per_input.min(initial=np.inf)),
            iterations=None if as_reference else distinct[:, None] / self.iterations,
            iteration_index=iteration_index,
        )


def share_scales(fewest: Points) -> FloatArray:
    """(11,) scale of the prior of each term's share of the time where the runs begin.

    Jobs differ widely in how many cores it takes until what is not shared takes as long as what is,
    and whoever ran them began where cores still help. If the first were all, what is not shared
    would be to what is as p, the cores the runs begin on; if the second, the same for all p. Both
    are about as uncertain: so the scales are 1 on the geometric mean of p and `UNIT_SCALE_CORES`,
    and go from there to p as the terms do. The odds of what is not shared go with the square root
    of p.
    """
    cores = float((fewest.machines * fewest.cores).mean())
    between = fewest.with_machines_times(float(np.sqrt(UNIT_SCALE_CORES / cores)))
    scales = reference_terms(fewest) / reference_terms(between)
    # That memory makes the first cores slow says nothing of how much slower yet fewer would be.
    scales[BY_CORES_SQUARED] = scales[BY_CORES]
    return scales


@dataclass(frozen=True, eq=False)
class LawFeatures:
    """The part of the time of n points that is the same for all laws of a frame.

    Args:
        terms: (n, 11) relative to those on the fewest machines of the runs.
        fixed: (n, 4 u) those that do not grow with the size, one-hot by number of iterations (a
            block of columns for each, 0 in the others); (n, 4) where there are many numbers of
            iterations.
        memory_per_input: (n,) its logarithm.
        least_memory_per_input: the least of these; infinite for no points.
        iterations: (u, 1) the distinct numbers of iterations, relative to those of the run with the
            most; None where all points have as many as that run.
        iteration_index: (n,) which of these each point has, (1,) where there is but one: few
            numbers of iterations take fewer logarithms than many points.
    """

    terms: FloatArray
    fixed: FloatArray
    cliff_terms: FloatArray
    memory_per_input: FloatArray
    least_memory_per_input: float
    iterations: FloatArray | None
    iteration_index: IntArray

    def take(self, points: slice) -> LawFeatures:
        """Those of some of the points."""
        per_input, several = self.memory_per_input[points], len(self.iteration_index) > 1
        return replace(
            self,
            terms=self.terms[points],
            fixed=self.fixed[points],
            cliff_terms=self.cliff_terms[points],
            memory_per_input=per_input,
            least_memory_per_input=float(per_input.min(initial=np.inf)),
            iteration_index=self.iteration_index[points] if several else self.iteration_index,
        )

    @property
    def in_single_precision(self) -> LawFeatures:
        """The same as 32-bit numbers."""
        iterations = self.iterations
        return replace(
            self,
            terms=as_single(self.terms),
            fixed=as_single(self.fixed),
            cliff_terms=as_single(self.cliff_terms),
            memory_per_input=as_single(self.memory_per_input),
            iterations=None if iterations is None else as_single(iterations),
        )

    def fixed_time(self, shares: FloatArray, factors: FloatArray) -> FloatArray:
        """(n, d) time of what does not grow with the size, by laws with shares (4, d) of it, times
        their iteration factors (u, d). The one-hot columns make it one matrix product, which is
        quicker than indexing by point, up to some columns."""
        if len(factors) > MOST_ITERATION_COLUMNS:
            return np.asarray((self.fixed @ shares) * factors.take(self.iteration_index, axis=0))
        return np.asarray(self.fixed @ (factors[:, None] * shares).reshape(-1, shares.shape[1]))


def as_single(values: FloatArray) -> FloatArray:
    """The values as 32-bit numbers."""
    return np.asarray(values, dtype=SINGLE)


SINGLE: DTypeLike = np.float32
"""The laws are drawn and moved as 32-bit numbers, whose logarithms take less than half the time.
Their log times are then off by about a millionth; sums over the runs are 64-bit numbers."""

MOST_ITERATION_COLUMNS = 8
"""The most numbers of iterations that have one-hot columns."""

SAME_CORES = 1e-9
"""Relative difference below which machines have as many cores."""

SAME_MEMORY = 1e-4
"""Difference of log memory per input below which it is the same: sizes that are rounded differ by
less, a cliff between runs that are so near to each other is found by no run, and 32-bit numbers
could not tell on which side of it a run is."""
