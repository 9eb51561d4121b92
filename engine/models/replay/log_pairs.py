"""Pairs of logs: growth laws of their stages, leave-one-out errors, weights, and the posterior
covariance of the error.

Errors are of log time, per doubling of slots and per doubling of input. The prior mean is no error
beyond the expected growth; the prior variance is the uncertainty of a single log. In: the replays
of several logs. Out: replays with fitted laws, weights, and leave-one-out errors. Explained in
docs/models/sparkplan_rules_logs.md#several-logs and #interval-of-logs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import NamedTuple

import numpy as np

from engine.forecast import BoolArray, FloatArray, IntArray
from engine.models.base import LeaveOneOut
from engine.models.replay.broadcasts import ChangedJoins
from engine.models.replay.censored_tasks import censored_stages
from engine.models.replay.iterations import log_iterations
from engine.models.replay.memory.cliffs_of_logs import incomparable_readers
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.outcome import ReplayOutcome
from engine.models.replay.priors import (
    ERROR_PER_DOUBLING_INPUT,
    ERROR_PER_DOUBLING_SLOTS,
    LOG_NOISE,
    NOISE_SECONDS,
    size_ratio,
    task_error_share,
)
from engine.models.replay.replayed_run import Replay
from engine.models.replay.shared_code import shared_code_scale_of_run
from engine.models.replay.stage_laws import PairFit, pair_fit, with_laws
from engine.models.replay.times import SCALE_PER_HALF_WIDTH_90, Times
from engine.models.stages.one_machine import SharedCores, crowding_between
from engine.runs.configurations import configurations, pairs_between, times_run

PAIR_NOISE = 0.10
"""Prior: standard deviation of log time of a run around a law of its size and slots: noise and the
error of the law. Set, like `NOISE_SECONDS`, after runs of benchmarks/logs.py lay outside."""

PRIOR_ERRORS = 2.0
"""Weight of the prior on the error factor, as a number of left-out errors of the expected size."""


class LeftOutLogs(NamedTuple):
    """Leave-one-out validation over the configurations of the logs.

    Args:
        validation: each log predicted from those of other configurations; None where there is a
            single configuration.
        factor: ratio of these errors to those that the prior expects (posterior mean, normal
            theory), at least 1: logs of one hour meet the same machine, and agree better than the
            next run will.
    """

    validation: LeaveOneOut | None
    factor: float


def covariance_per_doubling(doublings: FloatArray, logs: int) -> FloatArray:
    """(2, 2) posterior covariance of the error of log time per doubling of slots and of input, by
    Bayesian least squares: the prior, narrowed in the directions in which logs differ.

    Args:
        doublings: (p, 2) slots and input of one log relative to another, for p pairs.
        logs: how many logs (of one configuration each) the pairs come from: p pairs hold logs - 1
            independent ones.
    """
    prior_precision = np.diag([ERROR_PER_DOUBLING_SLOTS**-2.0, ERROR_PER_DOUBLING_INPUT**-2.0])
    weight = (logs - 1) / max(1, len(doublings)) / (2.0 * PAIR_NOISE**2)
    return np.asarray(
        np.linalg.inv(prior_precision + weight * doublings.T @ doublings), dtype=float
    )


@dataclass(frozen=True, eq=False)
class LogPairs:
    """All pairs of r logs.

    Args:
        replays: of the logs, without growth laws learnt from other logs.
        bias: (r,) log of observed over replayed time, each on its own cluster and input.
        fits: fits[i][j] holds the growth of the stages of log i as seen by log j; None for i = j.
        doublings: (r, r, 2) doublings of slots and input from log i to log j.
        groups: (r,) index of the configuration of each log.
    """

    replays: tuple[Replay, ...]
    bias: FloatArray
    fits: tuple[tuple[PairFit | None, ...], ...]
    doublings: FloatArray
    groups: IntArray

    @classmethod
    def of(
        cls, replays: Sequence[Replay], cliffs: Sequence[MemoryCliff | None], bias: FloatArray
    ) -> LogPairs:
        """Fits the stages of every ordered pair of logs.

        Args:
            cliffs: (r,) memory cliff of each log.
            bias: (r,) as in `LogPairs`.
        """
        r = len(replays)
        doublings = np.zeros((r, r, 2))
        for i, j in permutations(range(r), 2):
            ratio = size_ratio(replays[j].run.workload, replays[i].run)
            slots = replays[j].slots / replays[i].slots
            doublings[i, j] = math.log2(slots), math.log2(ratio)
        fits = tuple(
            tuple(
                None
                if i == j
                else pair_fit(one, other, incomparable=incomparable_readers(cliffs[i], cliffs[j]))
                for j, other in enumerate(replays)
            )
            for i, one in enumerate(replays)
        )
        groups = configurations([replay.run for replay in replays])
        return cls(tuple(replays), bias, fits, doublings, groups)

    def trained(self, training: BoolArray) -> dict[int, Replay]:
        """The replays of the training logs by index, each with the growth laws of its stages fitted
        to the other training logs; repetitions of a configuration share its weight.

        Args:
            training: (r,) mask of the logs to learn from.
        """
        indices = np.flatnonzero(training).tolist()
        weights = dict(zip(indices, 1.0 / times_run(self.groups[training]), strict=True))
        replays = {}
        for i in indices:
            fits = [(fit, weights[j]) for j in indices if (fit := self.fits[i][j]) is not None]
            replays[i] = with_laws(self.replays[i], fits)
        return replays

    def covariance(self, training: BoolArray | None = None) -> FloatArray:
        """(2, 2) posterior covariance per doubling (`covariance_per_doubling`) given these logs, or
        the training logs among them; repetitions of a configuration add no pairs."""
        every = np.arange(len(self.groups))
        indices = every if training is None else np.flatnonzero(training)
        groups = self.groups[indices]
        one, other = pairs_between(groups)
        apart = self.doublings[indices[one], indices[other]]
        return covariance_per_doubling(apart, len(np.unique(groups)))

    def left_out(self, observed_scale: float) -> LeftOutLogs:
        """Leave-one-out: predicts each log from those of other configurations.

        Args:
            observed_scale: standard deviation of log time where a log was observed.
        """
        count = len(np.unique(self.groups))
        if count < 2:
            return LeftOutLogs(None, 1.0)
        predictions = [self._predicted(j, observed_scale) for j in range(len(self.replays))]
        predicted, scales = np.asarray(predictions).T
        seconds = np.asarray([self._seconds_of_all_tasks(j) for j in range(len(self.replays))])
        squares = (np.log(seconds / predicted) / scales) ** 2
        by_group = np.bincount(self.groups, squares) / np.bincount(self.groups)
        factor = math.sqrt((PRIOR_ERRORS + float(by_group.sum())) / (PRIOR_ERRORS + count))
        validation = LeaveOneOut(tuple(predicted.tolist()), tuple(seconds.tolist()))
        return LeftOutLogs(validation, max(1.0, factor))

    def _seconds_of_all_tasks(self, j: int) -> float:
        """The run time of log j; where some of its tasks are censored, that of its own replay with
        all of them, corrected by its bias."""
        replay = self.replays[j]
        if not censored_stages(replay.run):
            return replay.run.seconds
        return replay.observed().seconds * math.exp(float(self.bias[j]))

    def _predicted(self, j: int, observed_scale: float) -> tuple[float, float]:
        """The run time of log j predicted from the logs of other configurations, and the standard
        deviation of log time that the prior expects of this prediction."""
        training = self.groups != self.groups[j]
        cores = SharedCores.of([self.replays[i].run for i in np.flatnonzero(training)])
        predictions = [
            self._predicted_by(i, replay, j, cores) for i, replay in self.trained(training).items()
        ]
        log_scales = np.asarray([prediction.log_scale for prediction in predictions])
        weights = inverse_variance_weights(
            self.doublings[training, j][:, None, :],
            log_scales[:, None],
            repeated=times_run(self.groups[training]),
        )[:, 0]
        log_seconds = np.asarray([prediction.log_seconds for prediction in predictions])
        seconds = math.exp(float(weights @ log_seconds))
        distance = weights @ np.asarray([prediction.distance for prediction in predictions])
        variance = observed_scale**2 + float(distance @ self.covariance(training) @ distance)
        variance += (NOISE_SECONDS / seconds) ** 2 + float(weights @ log_scales) ** 2
        return seconds, math.sqrt(variance)

    def _predicted_by(
        self, i: int, replay: Replay, j: int, cores: SharedCores
    ) -> _SingleLogPrediction:
        """The run time of log j predicted from log i, of whose stages `replay` has the laws."""
        left_out = self.replays[j]
        ratio = size_ratio(left_out.run.workload, replay.run)
        speed, speed_scale = replay.node_load.speed_on(left_out.run)
        outcome = replay.replayed(left_out.slots, ratio=ratio, speed=speed)
        driver_share = outcome.driver_seconds / outcome.seconds
        crowding = crowding_between(replay.run, left_out.run, ratio)
        crowding_mean = float(cores.expected(crowding)[0]) * (1.0 - driver_share)
        crowding_scale = math.hypot(
            float(cores.log_scale(crowding)[0]) * (1.0 - driver_share),
            float(cores.driver_log_scale(crowding)[0]) * driver_share,
        )
        sharing_scale = shared_code_scale_of_run(replay, outcome, left_out.run, speed)
        join_factor, join_reach = _join_effect(replay, outcome, ratio, speed)
        corrected = math.log(outcome.seconds) + self.bias[i]
        corrected += log_iterations(replay.run, left_out.run.workload)
        return _SingleLogPrediction(
            log_seconds=corrected + crowding_mean + join_factor,
            distance=self.doublings[i, j] * task_error_share(driver_share),
            log_scale=math.hypot(
                speed_scale, crowding_scale, sharing_scale, SCALE_PER_HALF_WIDTH_90 * join_reach
            ),
        )


class _SingleLogPrediction(NamedTuple):
    """The prediction of one log from another.

    Args:
        log_seconds: log run time.
        distance: (2,) doublings of slots and of input, as far as their errors show in the run time.
        log_scale: standard deviation of log time that does not depend on the distance.
    """

    log_seconds: float
    distance: FloatArray
    log_scale: float


def _join_effect(
    replay: Replay, outcome: ReplayOutcome, ratio: float, speed: float
) -> tuple[float, float]:
    """`ChangedJoins.effect` on the slots of one outcome: its log factor and its
    reach."""
    times = Times(np.asarray([outcome.seconds]), np.asarray([outcome.driver_seconds]))
    slots = np.asarray([float(outcome.slots)])
    plan = ChangedJoins(replay, ratio).effect(slots, np.asarray([speed]), times)
    return float(plan.log_factor[0]), float(plan.reach[0])


def inverse_variance_weights(
    doublings: FloatArray, log_scales: FloatArray | None = None, *, repeated: IntArray | None
) -> FloatArray:
    """(r, n) inverse-variance weights of r logs for n targets; they add up to 1 over the logs.

    The variance is that of a prediction from the single log. Repetitions of a configuration differ
    in noise alone: the error by distance is the same for all, so that together they count as their
    mean.

    Args:
        doublings: (r, n, 2) doublings of slots and of input from each log to each target.
        log_scales: (r, n) standard deviation of log time by the speed of the target's machines
            relative to the log's.
        repeated: (r,) number of runs of each log's configuration; None: one.
    """
    per_doubling = np.asarray([ERROR_PER_DOUBLING_SLOTS, ERROR_PER_DOUBLING_INPUT])
    variance = ((doublings * per_doubling) ** 2).sum(axis=2)
    if log_scales is not None:
        variance = variance + log_scales**2
    if repeated is not None:
        variance = variance * repeated[:, None]
    weights = 1.0 / (LOG_NOISE**2 + variance)
    return np.asarray(weights / weights.sum(axis=0))
