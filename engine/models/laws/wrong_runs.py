"""Which runs something went wrong in, by what the others say of them, and what the laws then are.

A mixture: each run follows a law, with noise, or (`engine/runs/slow_runs.py`) something went wrong
in it and it took longer, evenly in log time. Each hypothesis is a set of wrong runs; its evidence
is that of the other runs, averaged over laws, effects and noise, times the density of the wrong
ones. If a memory cliff explains a slow run, laws with that cliff do so. A run then counts for the
probability that nothing went wrong in it, as the power of its likelihood (expectation maximisation:
Dempster, Laird and Rubin, J. R. Stat. Soc. B 1977).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.laws.sampling import (
    NOISE_DOF,
    RUN_NOISE,
    Evidence,
    Followed,
    log_density,
    normalised,
    posterior,
)
from engine.runs.slow_runs import LEAST, MOST, ODDS, WENT_WRONG

DOUBTED = ODDS / (1.0 + ODDS)
"""A run counts for less if something went wrong in it with at least this probability. Tables
without such a run are fitted once."""

FEWEST_OTHERS = 6
"""Configurations without which none can stand out."""

LEAST_COUNT = 1e-3
"""The least that a run counts for, so that its left-out error is defined like the others'."""

SUSPECTS = 6
"""The most runs that are tried as wrong, alone and in pairs."""

PASSES, SETTLED = 4, 0.1
"""The most refits of the laws, and the change of counts that calls for another."""

SLOW = math.log(WENT_WRONG / (1.0 - WENT_WRONG)) - math.log(math.log(MOST / LEAST))
"""Log prior odds that something went wrong in a run, times the density of its log time then. Runs
that were too fast are left alone: their data may just fit, beside a cliff."""


def followed_by(
    evidence: Evidence, may: BoolArray, as_hard: BoolArray
) -> tuple[Evidence, Followed]:
    """The evidence with how much each run counts, and the laws after it.

    Args:
        evidence: r runs; those that already count for less than one stay so.
        may: (r,) runs that something may have gone wrong in.
        as_hard: (r, r) whether run j (columns) had no more cores and memory than i (rows) for no
            less input. Unless such a run took as long as predicted, a slow run may be right: a
            memory cliff shows first in the hardest run.
    """
    followed, known = posterior(evidence), evidence
    if known.runs < FEWEST_OTHERS:
        return evidence, followed
    before = np.ones(len(known)) if known.counts is None else known.counts
    counts, may = before, may & (before == 1.0)
    after = {counts.tobytes(): (evidence, followed)}
    for _ in range(PASSES):
        sought = _Sought.of(known, evidence, followed, as_hard & (before == 1.0))
        doubt = sought.doubt(may, np.flatnonzero(counts < before))
        found = np.where(doubt > DOUBTED, np.maximum(1.0 - doubt, LEAST_COUNT), before)
        if np.abs(found - counts).max() < SETTLED:
            break
        counts = found
        if counts.tobytes() not in after:  # else doubt goes to and fro, and so would the laws
            evidence = replace(evidence, counts=counts)
            after[counts.tobytes()] = evidence, posterior(evidence, before=followed)
        evidence, followed = after[counts.tobytes()]
    return evidence, followed


@dataclass(frozen=True, eq=False)
class _Sought:
    """What d draws of laws say of hypotheses about r runs.

    Args:
        runs: how many they count as when nothing went wrong in any.
        precision: (r, r) of them then.
        weighed: (r, d) `precision` times their residuals.
        misfit: (d,) of all of them.
        drawn: (d,) log density that the draws follow, that of the prior apart.
        errors: (r,) left-out error of log time of each, as they count now.
    """

    runs: float
    precision: FloatArray
    weighed: FloatArray
    misfit: FloatArray
    drawn: FloatArray
    errors: FloatArray
    as_hard: BoolArray

    @classmethod
    def of(
        cls, known: Evidence, evidence: Evidence, followed: Followed, as_hard: BoolArray
    ) -> _Sought:
        """By draws that followed the evidence, about runs that count as they are known to."""
        residuals = evidence.log_seconds[:, None] - followed.flattened.log_times(evidence.at)
        drawn = followed.power * log_density(evidence.misfit(residuals), evidence.runs)
        return cls(
            runs=known.runs,
            precision=known.precision,
            weighed=known.precision @ residuals,
            misfit=known.misfit(residuals),
            drawn=drawn,
            errors=_left_out(evidence, residuals, drawn),
            as_hard=as_hard,
        )

    def doubt(self, may: BoolArray, judged: IntArray) -> FloatArray:
        """(r,) probability that something went wrong in each run.

        Args:
            may: (r,) in which it may have.
            judged: those in which it did by the pass before: each is asked about again.
        """
        apart = np.where(may, self.errors, 0.0)
        apart[judged] = 0.0
        suspects = np.argsort(-apart)[:SUSPECTS]
        suspects = suspects[apart[suspects] >= math.log(LEAST)]
        doubt = np.zeros(len(may))
        if not len(suspects) and not len(judged):
            return doubt
        sets = list(_hypotheses(judged.tolist(), suspects.tolist()))
        evidence = np.asarray([self.log_evidence(wrong) for wrong in sets])
        for wrong, probability in zip(sets, normalised(evidence).tolist(), strict=True):
            doubt[list(wrong)] += probability
        return doubt

    def log_evidence(self, wrong: tuple[int, ...]) -> float:
        """Log evidence, up to a constant, that something went wrong in just these runs."""
        at, others = list(wrong), np.ones(len(self.errors), dtype=bool)
        others[at] = False
        if not self.as_hard[at][:, others].any(axis=1).all():
            return -math.inf
        dof = NOISE_DOF + self.runs - 1.0 - len(at)
        part = self.precision[np.ix_(at, at)]
        errors = np.linalg.solve(part, self.weighed[at])
        misfit = self.misfit - np.einsum("kd,kd->d", errors, self.weighed[at])
        spread = NOISE_DOF * RUN_NOISE**2 + np.maximum(misfit, 0.0)
        density = -0.5 * dof * np.log(spread) - self.drawn
        density[(errors < math.log(LEAST)).any(axis=0)] = -math.inf
        most = float(density.max())
        if most == -math.inf:
            return most
        found = most + math.log(float(np.exp(density - most).sum()))
        found += math.lgamma(0.5 * dof) + 0.5 * len(at) * math.log(math.pi)
        found -= 0.5 * float(np.linalg.slogdet(part)[1])
        return found + len(at) * SLOW


def _left_out(evidence: Evidence, residuals: FloatArray, drawn: FloatArray) -> FloatArray:
    """(r,) error of log time of each run by the laws without it, effects included."""
    weighed = evidence.precision @ residuals
    diagonal = np.diag(evidence.precision)[:, None]
    without = np.maximum(evidence.misfit(residuals) - weighed**2 / diagonal, 0.0)
    counts = 1.0 if evidence.counts is None else evidence.counts[:, None]
    own = normalised(log_density(without, evidence.runs - counts) - drawn)
    return np.asarray(np.einsum("rd,rd->r", weighed / diagonal, own))


def _hypotheses(judged: list[int], suspects: list[int]) -> Iterator[tuple[int, ...]]:
    """Which runs went wrong: those judged, all but one of them or none, and up to two suspects."""
    but_one = (tuple(other for other in judged if other != one) for one in judged)
    for kept in dict.fromkeys((tuple(judged), *but_one, ())):
        for more in range(3):
            for added in combinations(suspects, more):
                yield (*kept, *added)
