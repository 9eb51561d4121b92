"""Weights of draws: normalised, tempered by as much as leaves enough draws effective, and
resampling by them.

In: log likelihoods or weights of draws. Out: normalised weights, a tempering step, and resampled
indices. Explained in docs/models/sparkplan_rules_run_tables.md#averaged-not-selected.
"""

from __future__ import annotations

import math

import numpy as np

from engine.forecast import FloatArray, IntArray

STEP_PARTS = 2**30
"""Resolution of a step: parts into which the longest possible step is divided."""


def normalised_weights(log_weights: FloatArray) -> FloatArray:
    """Weights that add up to 1 along the last axis."""
    weights = np.exp(log_weights - log_weights.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def tempering_step(log_likelihood: FloatArray, longest: float, effective: float) -> float:
    """The largest rise of the likelihood's power, at most `longest`, that leaves the weights an
    effective sample size (Kish) of at least `effective`."""

    above = log_likelihood - log_likelihood.max()
    weights = np.empty_like(above)

    def effective_size(step: float) -> float:
        np.exp(np.multiply(above, step, out=weights), out=weights)
        return float(weights.sum() ** 2 / (weights @ weights))

    def log_excess(parts: int) -> float:
        return math.log(effective_size(longest * parts / STEP_PARTS) / effective)

    low, high, before = 0, STEP_PARTS, 0
    excess_low, excess_high = math.log(len(log_likelihood) / effective), log_excess(STEP_PARTS)
    if excess_high >= 0.0:
        return longest
    while high - low > 1:  # regula falsi, with the end that stays halved: the Illinois algorithm
        middle = low + int((high - low) * excess_low / (excess_low - excess_high))
        middle = min(max(middle, low + 1), high - 1)
        excess = log_excess(middle)
        if excess >= 0.0:
            excess_high *= 0.5 if before > 0 else 1.0
            low, excess_low, before = middle, excess, 1
        else:
            excess_low *= 0.5 if before < 0 else 1.0
            high, excess_high, before = middle, excess, -1
    return longest * high / STEP_PARTS


def systematic_resample(weights: FloatArray, count: int, offset: float) -> IntArray:
    """(count,) indices drawn by systematic resampling: each as often as its weight says, to within
    one."""
    sums = np.cumsum(weights)
    picked = np.searchsorted(sums, (np.arange(count) + offset) / count * sums[-1])
    return np.asarray(np.minimum(picked, len(weights) - 1))
