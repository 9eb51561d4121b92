"""What logs tell about each other: laws of their stages, left-out errors, weights, doubt.

Errors are of log time, per doubling of slots and per doubling of input. The prior is no error
beyond the expected growth; its variance is how unsure a single log leaves us.
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
from engine.models.replay.broadcasts import other_plan
from engine.models.replay.memory.cliffs_of_logs import incomparable_readers
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.outcome import Replayed
from engine.models.replay.priors import (
    ERROR_PER_DOUBLING_INPUT,
    ERROR_PER_DOUBLING_SLOTS,
    NOISE,
    NOISE_SECONDS,
    ratio_of,
    sure_share,
)
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import PairFit, pair_fit, with_laws
from engine.models.replay.times import REACHED, Times
from engine.models.replay.unseen_tasks import seen_in_part
from engine.models.stages.one_machine import (
    SharedCores,
    crowding,
)
from engine.runs.configurations import configurations, pairs_between, times_run

PAIR_NOISE = 0.10
"""Prior: standard deviation of log time of a run around a law of its size and slots: noise, and
that no law is exact. Set, like `NOISE_SECONDS`, after runs of benchmarks/logs.py lay outside."""

PRIOR_ERRORS = 2.0
"""Errors that are as expected, for which the prior counts beside those of left-out logs."""


class LeftOutLogs(NamedTuple):
    """What logs foretell of each other.

    Args:
        validation: each from those of other configurations; None where there is one alone.
        factor: how many times as large these errors are as the prior expects (posterior mean,
            normal theory), at least 1: logs of one hour meet the same machine, and agree better
            than the next run will.
    """

    validation: LeaveOneOut | None
    factor: float


def doubt_per_doubling(doublings: FloatArray, logs: int) -> FloatArray:
    """(2, 2) covariance of the error of log time per doubling of slots and of input: that of the
    prior, narrowed by the directions in which logs differ (Bayesian least squares).

    Args:
        doublings: (p, 2) slots and input of one log relative to another, for p pairs.
        logs: how many logs (of one configuration each) the pairs come from: p pairs hold logs - 1
            independent ones.
    """
    prior = np.diag([ERROR_PER_DOUBLING_SLOTS**-2.0, ERROR_PER_DOUBLING_INPUT**-2.0])
    weight = (logs - 1) / max(1, len(doublings)) / (2.0 * PAIR_NOISE**2)
    return np.asarray(np.linalg.inv(prior + weight * doublings.T @ doublings), dtype=float)


@dataclass(frozen=True, eq=False)
class LogPairs:
    """What each of r logs tells of each other.

    Args:
        replays: without laws.
        bias: (r,) log of observed over replayed time, each where it was observed.
        fits: fits[i][j] is what log j says of the stages of log i; None for i = j.
        doublings: (r, r, 2) slots and input of j relative to i.
        groups: (r,) configuration of each log.
    """

    replays: tuple[Replay, ...]
    bias: FloatArray
    fits: tuple[tuple[PairFit | None, ...], ...]
    doublings: FloatArray
    groups: IntArray

    @classmethod
    def of(
        cls,
        replays: Sequence[Replay],
        cliffs: Sequence[MemoryCliff | None],
        bias: FloatArray,
    ) -> LogPairs:
        """Every log asked about every other.

        Args:
            cliffs: (r,) what each tells of its cache.
            bias: (r,) as in `LogPairs`.
        """
        r = len(replays)
        doublings = np.zeros((r, r, 2))
        for i, j in permutations(range(r), 2):
            ratio = ratio_of(replays[j].run.workload, replays[i].run)
            slots = replays[j].slots / replays[i].slots
            doublings[i, j] = math.log2(slots), math.log2(ratio)
        fits = tuple(
            tuple(
                None
                if i == j
                else pair_fit(one, other, unlike=incomparable_readers(cliffs[i], cliffs[j]))
                for j, other in enumerate(replays)
            )
            for i, one in enumerate(replays)
        )
        groups = configurations([replay.run for replay in replays])
        return cls(tuple(replays), bias, fits, doublings, groups)

    def learnt(self, kept: BoolArray) -> dict[int, Replay]:
        """The kept logs by place, each with what the other kept ones tell of its stages."""
        places = np.flatnonzero(kept).tolist()
        shares = dict(zip(places, 1.0 / times_run(self.groups[kept]), strict=True))
        found = {}
        for i in places:
            told = [(fit, shares[j]) for j in places if (fit := self.fits[i][j]) is not None]
            found[i] = with_laws(self.replays[i], told)
        return found

    def doubt(self, kept: BoolArray | None = None) -> FloatArray:
        """(2, 2) `doubt_per_doubling` of these logs, or of the kept ones; a repetition says nothing
        of growth."""
        places = np.arange(len(self.groups)) if kept is None else np.flatnonzero(kept)
        groups = self.groups[places]
        one, other = pairs_between(groups)
        apart = self.doublings[places[one], places[other]]
        return doubt_per_doubling(apart, len(np.unique(groups)))

    def left_out(self, observed_scale: float) -> LeftOutLogs:
        """Each log foretold from those of other configurations.

        Args:
            observed_scale: standard deviation of log time where a log was observed.
        """
        count = len(np.unique(self.groups))
        if count < 2:
            return LeftOutLogs(None, 1.0)
        foretold = [self._foretold(j, observed_scale) for j in range(len(self.replays))]
        predicted, scales = np.asarray(foretold).T
        seconds = np.asarray([self._whole_seconds(j) for j in range(len(self.replays))])
        square = (np.log(seconds / predicted) / scales) ** 2
        each = np.bincount(self.groups, square) / np.bincount(self.groups)
        factor = math.sqrt((PRIOR_ERRORS + float(each.sum())) / (PRIOR_ERRORS + count))
        validation = LeaveOneOut(tuple(predicted.tolist()), tuple(seconds.tolist()))
        return LeftOutLogs(validation, max(1.0, factor))

    def _whole_seconds(self, j: int) -> float:
        """The time of log j; of one that was seen in part, of all its tasks by its own replay."""
        replay = self.replays[j]
        if not seen_in_part(replay.run):
            return replay.run.seconds
        return replay.observed().seconds * math.exp(float(self.bias[j]))

    def _foretold(self, j: int, observed_scale: float) -> tuple[float, float]:
        """The time of log j from those of other configurations, and by what standard deviation of
        log time the prior expects that to be off."""
        kept = self.groups != self.groups[j]
        other, logs, away, doubts = self.replays[j], [], [], []
        runs = [self.replays[i].run for i in np.flatnonzero(kept)]
        cores = SharedCores.of(runs)
        for i, replay in self.learnt(kept).items():
            ratio = ratio_of(other.run.workload, replay.run)
            speed, unsure_speed = replay.nodes.speed_on(other.run)
            found = replay.replayed(other.slots, ratio=ratio, speed=speed)
            crowded = float(crowding(self.doublings[i, j, 0]))
            crowded *= 1.0 - found.driver_seconds / found.seconds
            plan, open_plan = _other_plan(replay, found, ratio, speed)
            logs.append(math.log(found.seconds) + self.bias[i] + cores.cost(crowded) + plan)
            away.append(self.doublings[i, j] * sure_share(found.driver_seconds / found.seconds))
            doubts.append(math.hypot(unsure_speed, cores.doubt(crowded), REACHED * open_plan))
        repeated = times_run(self.groups[kept])
        unsure, far = np.asarray(doubts), self.doublings[kept, j]
        weights = weights_of(far[:, None, :], unsure[:, None], repeated=repeated)[:, 0]
        seconds = math.exp(float(weights @ np.asarray(logs)))
        between = weights @ np.asarray(away)
        variance = observed_scale**2 + float(between @ self.doubt(kept) @ between)
        variance += (NOISE_SECONDS / seconds) ** 2 + float(weights @ unsure) ** 2
        return seconds, math.sqrt(variance)


def _other_plan(replay: Replay, found: Replayed, ratio: float, speed: float) -> tuple[float, float]:
    """`other_plan` on the slots of one answer."""
    times = Times(np.asarray([found.seconds]), np.asarray([found.driver_seconds]))
    slots = np.asarray([float(found.slots)])
    plan = other_plan(replay, ratio, slots, np.asarray([speed]), times)
    return float(plan.factor[0]), float(plan.open[0])


def weights_of(
    doublings: FloatArray, doubts: FloatArray | None = None, *, repeated: IntArray | None = None
) -> FloatArray:
    """(r, n) weights of r logs for n questions, in inverse proportion to the variance with which a
    single log would answer; they add up to 1. Repetitions differ in noise alone: what lies between
    them and the question is the same for all, so that together they count as their mean.

    Args:
        doublings: (r, n, 2) slots and input of each question relative to each log.
        doubts: (r, n) doubt about the speed of the question's machines relative to the log's.
        repeated: (r,) how often the configuration of each log was run; None: once.
    """
    per_doubling = np.asarray([ERROR_PER_DOUBLING_SLOTS, ERROR_PER_DOUBLING_INPUT])
    away = ((doublings * per_doubling) ** 2).sum(axis=2)
    if doubts is not None:
        away = away + doubts**2
    if repeated is not None:
        away = away * repeated[:, None]
    weights = 1.0 / (NOISE**2 + away)
    return np.asarray(weights / weights.sum(axis=0))
