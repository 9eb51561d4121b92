"""What laws are relative to: where the runs begin, and the range of memory they had.

The prior of a law's shares is about the fewest machines that were run, that of its memory cliff
about the memory per input that was measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.laws.terms import (
    BY_CORES,
    BY_CORES_SQUARED,
    BY_MACHINES,
    GROWING,
    Points,
    mean_terms,
    terms,
)

USUAL_CORES = 100.0
"""Where runs that begin on so many cores have shares of scale 1. So half of the jobs whose runs
begin on p cores spend as long on what is not shared as on what is from some 20 sqrt(p) cores on:
a round number for the 110 that fits of fourteen collections say (any thirteen: 63 to 135)."""

INSIDE, BESIDE = 0.2, 0.05
"""Prior probabilities that a memory cliff lies within the memory per input that was measured, and
on either side of it; else there is none."""

CLIFF_REACH = 1.4
"""A cliff outside the measured range lies within a factor exp(1.4) = 4 of it."""


@dataclass(frozen=True, eq=False)
class Frame:
    """What laws are relative to: the runs' fewest machines and range.

    Args:
        reference: (11,) the terms on the fewest machines of the runs, at their mean size; those of
            remote data as if all of it were remote (`mean_terms`).
        scales: (11,) of each term's share there: its concentration is that of `SHARES`.
        low, high: range of log memory per input.
        cliff_inside: whether a cliff may lie between the runs.
        iterations: those of the run with the most.
        iteration_range: log of these over those of the run with the fewest.
        cores_differ: whether the machines of some runs had more cores than those of others. Else
            the runs cannot tell what waits for machines from what waits for cores, and a machine
            of more cores is taken to have as much more disk and network, as in a provider's family.
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
    def of(cls, runs: Points) -> Frame:
        cores, sized = runs.machines * runs.cores, runs.sized(float(runs.size.mean()))
        fewest = sized.taken(cores <= (1.0 + SAME_CORES) * cores.min())
        per_input = runs.memory_per_input
        return cls(
            reference=mean_terms(fewest),
            scales=scales_of_shares(fewest),
            low=float(per_input.min()),
            high=float(per_input.max()),
            cliff_inside=bool(np.ptp(per_input) > SAME_MEMORY),
            iterations=float(runs.iterations.max()),
            iteration_range=float(np.log(runs.iterations.max() / runs.iterations.min())),
            cores_differ=bool(np.ptp(runs.cores) > SAME_CORES * runs.cores.max()),
        )

    @cached_property
    def thresholds(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The prior of the threshold in four straight pieces of its probability (none; within the
        measured range, below it, above it): where each begins, its first value and its slope."""
        inside = INSIDE if self.cliff_inside else 0.0
        beside = CLIFF_REACH / BESIDE
        within = (self.high - self.low) / max(inside, BESIDE)
        return (
            np.asarray([0.0, 1.0 - 2.0 * BESIDE - inside, 1.0 - 2.0 * BESIDE, 1.0 - BESIDE]),
            np.asarray([-np.inf, self.low, self.low, self.high]),
            np.asarray([0.0, within, -beside, beside]),
        )

    def relative(self, at: Points) -> FloatArray:
        """(n, 11) the terms relative to those on the fewest machines."""
        found = terms(at) / self.reference
        if not self.cores_differ:
            found[:, BY_MACHINES] = found[:, BY_CORES]
        return np.asarray(found)

    def seen(self, at: Points) -> Seen:
        known = at.iterations
        if len(known) > 0 and bool((known == known[0]).all()):
            told, which = known[:1], np.zeros(1, dtype=np.int64)
        else:
            told, which = np.unique(known, return_inverse=True)
        same = len(told) == 1 and told[0] == self.iterations
        found = self.relative(at)
        apart = found[:, ~GROWING]
        if len(told) <= FEW_COUNTS:
            own = which[:, None] == np.arange(len(told))
            apart = (own[:, :, None] * apart[:, None]).reshape(len(at), -1)
        return Seen(
            terms=found,
            fixed=apart,
            memory_per_input=at.memory_per_input,
            iterations=None if same else told[:, None] / self.iterations,
            which=which,
        )


def scales_of_shares(fewest: Points) -> FloatArray:
    """(11,) scale of the prior of each term's share of the time where the runs begin.

    Jobs differ widely in how many cores it takes until what is not shared takes as long as what is,
    and whoever ran them began where cores still help. If the first were all, what is not shared
    would be to what is as p, the cores the runs begin on; if the second, the same for all p. Both
    are about as uncertain: so the scales are 1 on the geometric mean of p and `USUAL_CORES`, and
    go from there to p as the terms do. The odds of what is not shared go with the square root of p.
    """
    cores = float((fewest.machines * fewest.cores).mean())
    between = fewest.times(float(np.sqrt(USUAL_CORES / cores)))
    scales = mean_terms(fewest) / mean_terms(between)
    # That memory makes the first cores slow says nothing of how much slower yet fewer would be.
    scales[BY_CORES_SQUARED] = scales[BY_CORES]
    return scales


@dataclass(frozen=True, eq=False)
class Seen:
    """n points as the laws of a frame see them: all of their time that no law has a say in.

    Args:
        terms: (n, 11) relative to those on the fewest machines of the runs.
        fixed: (n, 4 u) those that do not grow with the size, in columns of their own for each of
            few numbers of iterations, nothing in those of others; (n, 4) where there are many.
        memory_per_input: (n,) its logarithm.
        iterations: (u, 1) the different ones relative to those of the run with the most; None where
            all points have as many as that run.
        which: (n,) of these each point has, (1,) where there is but one: few numbers of iterations
            take fewer logarithms than many points.
    """

    terms: FloatArray
    fixed: FloatArray
    memory_per_input: FloatArray
    iterations: FloatArray | None
    which: IntArray

    def of_fixed(self, shares: FloatArray, often: FloatArray) -> FloatArray:
        """(n, d) time that does not grow with the size, by laws with its shares (4, d), done so
        often (u, d). Columns for each number of iterations make one product of matrices of it,
        which is quicker than picking a number for each point, up to some columns."""
        if len(often) > FEW_COUNTS:
            return np.asarray((self.fixed @ shares) * often.take(self.which, axis=0))
        return np.asarray(self.fixed @ (often[:, None] * shares).reshape(-1, shares.shape[1]))


FEW_COUNTS = 8
"""Numbers of iterations that have columns of their own."""

SAME_CORES = 1e-9
"""Relative difference below which machines have as many cores."""

SAME_MEMORY = 1e-9
"""Difference of log memory per input below which it is the same."""
