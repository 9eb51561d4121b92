"""SimCost's simulation: samples drawn with replacement, when to stop, and what the training costs.

SimCost 4.1, Eqs. 3 to 7.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from engine.errors import BadInput
from engine.forecast import FloatArray, IntArray, student_quantile
from engine.models.simcost.learning import RunCosts

CONFIDENCE = 0.80
EPSILON = 0.10
"""The paper's example of the stopping rule (Eq. 6); its epsilon is taken as a share of the mean."""

FEWEST_ROUNDS = 20
MOST_ROUNDS = 640
"""The paper's example stops at 20 simulations; a mean that is not settled after so many more is
reported as it is."""


def expected_sample_size(*, size: float, probability: float) -> float:
    """4.1 Eq. 3: E[X'] = X p."""
    return size * probability


def estimated_size(*, sample_size: float, probability: float) -> float:
    """4.1 Eq. 3: X-hat = X' / p. The text of 4.2.2 writes D = D' p, which must read D' / p."""
    return sample_size / probability


def draw(
    *, partitions: int, probability: float, seed: int | tuple[int, ...], rounds: int = 1
) -> IntArray:
    """Samples of partitions: (rounds, k) places, k = round(p x partitions) and at least one, drawn
    with replacement, each equally likely every time (4.1). The seed makes them the same again.

    Raises:
        BadInput: for no partitions or a probability outside (0, 1].
    """
    if partitions < 1 or not 0.0 < probability <= 1.0:
        raise BadInput(
            f"{partitions} partitions cannot be sampled with probability {probability:g}",
            remedy="give at least one partition and 0 < p <= 1",
        )
    size = max(1, round(expected_sample_size(size=partitions, probability=probability)))
    return np.random.default_rng(seed).integers(0, partitions, size=(rounds, size))


@dataclass(frozen=True, slots=True)
class Estimate:
    """Mean and spread of n simulated values, and the interval of the mean.

    Args:
        deviation: sigma, with n - 1 in the denominator (Eq. 5's text).
        half_width: t* sigma / sqrt(n) (Eq. 6's left side).
    """

    mean: float
    deviation: float
    half_width: float
    count: int

    @property
    def interval(self) -> tuple[float, float]:
        """4.1: [mean - t* sigma / sqrt(n), mean + t* sigma / sqrt(n)]."""
        return self.mean - self.half_width, self.mean + self.half_width


def critical_value(*, confidence: float, count: int) -> float:
    """t*: Student's two-sided critical value for n simulations, at n - 1 degrees of freedom.

    The paper's 1.325 for n = 20 at 80 % is that of 20 degrees of freedom; 19 give 1.328.
    """
    return float(student_quantile((1.0 + confidence) / 2.0, np.asarray([count - 1.0]))[0])


def estimate(values: FloatArray | Sequence[float], *, confidence: float) -> Estimate:
    """4.1 Eqs. 4 and 5: mean, sigma and interval of the mean of (n,) estimates.

    Raises:
        BadInput: with fewer than two values, of which no spread is known.
    """
    known = np.asarray(values, dtype=float)
    if len(known) < 2:
        raise BadInput("an interval of the mean needs two simulations", remedy="run another sample")
    deviation = float(np.std(known, ddof=1))
    t_star = critical_value(confidence=confidence, count=len(known))
    half_width = t_star * deviation / math.sqrt(len(known))
    return Estimate(float(np.mean(known)), deviation, half_width, len(known))


def is_enough(samples: Estimate, *, epsilon: float) -> bool:
    """4.1 Eq. 6: t* sigma / sqrt(n) < epsilon, in the unit of the values."""
    return samples.half_width < epsilon


def rounds_needed(samples: Estimate, *, epsilon: float, confidence: float) -> int:
    """The least n at which Eq. 6 would hold with the deviation seen so far."""
    count = 2
    while critical_value(confidence=confidence, count=count) * samples.deviation >= (
        epsilon * math.sqrt(count)
    ):
        count = max(count + 1, math.floor(count * 1.05))
        if count > LARGEST_COUNT:
            return LARGEST_COUNT
    return count


LARGEST_COUNT = 100_000
"""No one makes more sample runs than this."""


def simulate(
    rounds: Callable[[int, int], FloatArray], *, epsilon: float, confidence: float
) -> Estimate:
    """4.1: rounds of simulation until Eq. 6 holds, `FEWEST_ROUNDS` at first, then twice as many.

    Args:
        rounds: (how many more, seed) -> their (k,) estimates.
        epsilon: as a share of the mean: the paper does not say in what unit its 0.1 is.
    """
    values = rounds(FEWEST_ROUNDS, 0)
    samples = estimate(values, confidence=confidence)
    while not is_enough(samples, epsilon=epsilon * samples.mean) and len(values) < MOST_ROUNDS:
        values = np.concatenate((values, rounds(len(values), len(values))))
        samples = estimate(values, confidence=confidence)
    return samples


def training_cost_ratio(
    *, sample_resource_times: Sequence[float] | FloatArray, resource_time: float
) -> float:
    """4.1 Eq. 7: C_training = sum of T_R,i over the n simulations / T_R of the actual run."""
    return float(np.sum(sample_resource_times)) / resource_time


MOST_DRAWN = 201
"""Tasks that are drawn per stage and round; the spread of the mean of more follows from theirs."""


def simulated(
    run: RunCosts, *, epsilon: float = EPSILON, confidence: float = CONFIDENCE
) -> Estimate:
    """4.1: a run's time when its tasks are drawn again from those observed, with replacement, until
    the stopping rule holds, in at most `MOST_ROUNDS` rounds.

    Args:
        epsilon: as a share of the mean.
        confidence: of the interval of the mean; the paper's Table 6 has 80 and 90 %.

    Raises:
        BadInput: unless epsilon is positive and the confidence lies between 0 and 1.
    """
    if not (epsilon > 0.0 and 0.0 < confidence < 1.0):
        raise BadInput(
            f"no stopping rule has epsilon {epsilon:g} and confidence {confidence:g}",
            remedy="give an epsilon above 0 and a confidence between 0 and 1",
        )
    estimate = simulate(partial(_redrawn, run), epsilon=epsilon, confidence=confidence)
    return replace(estimate, mean=max(estimate.mean, 1e-9))


def _redrawn(run: RunCosts, rounds: int, seed: int) -> FloatArray:
    """(rounds,) seconds of the run, each with the tasks of every stage drawn anew."""
    seconds = np.full(rounds, run.run.seconds)
    for pool in run.pools:
        tasks = sum(shape.stage.tasks * shape.stage.task_cpus for shape in pool)
        waves = math.ceil(tasks / run.slots)
        for shape in pool:
            stage = shape.stage
            values = np.asarray(stage.task_seconds.quantiles)
            if not len(values):
                continue
            size = min(stage.tasks, MOST_DRAWN)
            places = draw(
                partitions=len(values), probability=min(1.0, size / len(values)),
                seed=(seed, stage.stage_id), rounds=rounds,
            )  # fmt: skip
            off = values[places].mean(axis=1) - values.mean()
            seconds += (
                waves
                * off
                * (stage.tasks * stage.task_cpus / tasks)
                * math.sqrt(size / stage.tasks)
            )
    return np.asarray(np.maximum(seconds, run.overhead_seconds + 1e-3))
