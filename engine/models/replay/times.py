"""Run time of a replay as a function of slots: replayed for each number, or interpolated between
adaptively chosen ones.

For a few clusters each is replayed. For a grid of half a million clusters the replay is evaluated
at numbers of slots chosen where the time bends (the last wave of a stage makes steps), and
interpolated linearly in log time over log slots between them.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

import numpy as np

from engine.distinct import distinct
from engine.forecast import FloatArray, IntArray
from engine.models.replay.replayed_run import Replay

MAX_REPLAYED_SINGLY = 70
"""Largest number of distinct clusters that are replayed one by one."""

FIRST_POINTS = 17
MOST_POINTS = 100
MAX_INTERPOLATION_ERROR = 0.005
"""The adaptive interpolation starts with `FIRST_POINTS` and bisects the worst interval until the
interpolation error (log time) at the middle of each is below `MAX_INTERPOLATION_ERROR`, or there
are `MOST_POINTS`."""


STEPPED_STAGES = 2
STEPS = 3
"""It also starts with the points around the last `STEPS` steps of the `STEPPED_STAGES` longest
stages."""


@dataclass(frozen=True, eq=False)
class Times:
    """(n,) run times, and the driver time in them, in which no stage ran."""

    seconds: FloatArray
    driver_seconds: FloatArray


@dataclass(frozen=True, eq=False)
class ReplayTimes:
    """Run times of one replay over slots, for one input and one number of shuffle partitions.

    They are monotone in the input: bounded by `base`, the times for the next input towards the
    observed one. Without that a larger input could take less, where the random order of its tasks
    happens to pack better.
    """

    replay: Replay
    ratio: float
    shuffle_partitions: int | None
    base: ReplayTimes | None = None
    _known: dict[tuple[int, float], tuple[float, float]] = field(default_factory=dict, repr=False)
    _curve: dict[int, tuple[FloatArray, FloatArray, FloatArray]] = field(
        default_factory=dict, repr=False
    )

    def at(self, slots: FloatArray, speed: FloatArray) -> Times:
        """Times on (n,) numbers of slots of (n,) relative speeds; NaN where slots are unknown."""
        seconds, driver = np.full(len(slots), np.nan), np.full(len(slots), np.nan)
        known = np.flatnonzero(slots >= 1.0)
        if not known.size:
            return Times(seconds, driver)
        whole, fast = self._whole(slots[known]), speed[known]
        alone = self._alone(whole.astype(np.int64), fast)
        if alone is not None:
            seconds[known], driver[known] = alone
            return Times(seconds, driver)
        grid, times, drivers = self._curve_to(int(whole.max()))
        at = np.log(whole)
        idle = np.interp(at, grid, drivers)
        seconds[known] = idle + (np.exp(np.interp(at, grid, times)) - idle) / fast
        driver[known] = idle
        return Times(seconds, driver)

    @cached_property
    def most_useful_slots(self) -> int:
        """Maximum number of slots that are ever busy at once."""
        return self.replay.most_useful_slots(self.ratio, self.shuffle_partitions)

    def uncertain_slots(self, slots: FloatArray) -> FloatArray:
        """(n,) `Replay.uncertain_slots`."""
        return self.replay.uncertain_slots(slots, self.ratio, self.shuffle_partitions)

    def log_gain_of_core_partitions(self, slots: FloatArray) -> FloatArray:
        """(n,) `Replay.log_gain_of_core_partitions`."""
        return self.replay.log_gain_of_core_partitions(slots, self.ratio, self.shuffle_partitions)

    def _whole(self, slots: FloatArray) -> FloatArray:
        """Slots rounded down to whole numbers, at most `most_useful_slots`."""
        return np.minimum(np.floor(slots + 1e-9), self.most_useful_slots)

    def _alone(self, whole: IntArray, speed: FloatArray) -> tuple[FloatArray, FloatArray] | None:
        """(n,) run times and driver times by a replay of each distinct cluster; None where there
        are more than `MAX_REPLAYED_SINGLY`."""
        seen = np.flatnonzero(np.bincount(whole))
        if len(seen) > MAX_REPLAYED_SINGLY:
            return None
        speeds, of_speed = speed[:1], np.zeros(len(speed), dtype=np.int64)
        if (speed != speed[0]).any():
            speeds, of_speed = distinct(speed)
        index = np.zeros(int(seen[-1]) + 1, dtype=np.int64)
        index[seen] = np.arange(len(seen))
        code = index[whole] * len(speeds) + of_speed
        pairs = np.flatnonzero(np.bincount(code))
        if len(pairs) > MAX_REPLAYED_SINGLY:
            return None
        found = np.zeros((len(seen) * len(speeds), 2))
        for pair in pairs.tolist():
            slots, fast = divmod(pair, len(speeds))
            found[pair] = self._one(int(seen[slots]), float(speeds[fast]))
        return found[code, 0], found[code, 1]

    def _one(self, slots: int, speed: float) -> tuple[float, float]:
        key = (slots, speed)
        if key not in self._known:
            found = self.replay.replayed(
                slots, ratio=self.ratio, speed=speed, shuffle_partitions=self.shuffle_partitions
            )
            seconds = found.seconds
            if self.base is not None:
                observed = self.base._one(min(slots, self.base.most_useful_slots), speed)[0]
                seconds = max(seconds, observed) if self.ratio > 1.0 else min(seconds, observed)
            self._known[key] = (seconds, min(found.driver_seconds, seconds))
        return self._known[key]

    def _curve_to(self, most: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Interpolation points up to `most` slots: log slots, log seconds and driver seconds."""
        if most not in self._curve:
            slots = np.asarray(self._chosen(most))
            found = np.asarray([self._one(int(m), 1.0) for m in slots])
            self._curve[most] = (np.log(slots), np.log(found[:, 0]), found[:, 1])
        return self._curve[most]

    def _chosen(self, most: int) -> list[int]:
        """Numbers of slots at which the replay is evaluated, ascending, by adaptive bisection."""
        points = sorted({*map(round, np.geomspace(1, most, FIRST_POINTS)), *self._steps(most)})
        intervals: list[tuple[float, int, int]] = []
        for low, high in pairwise(points):
            self._consider(low, high, intervals)
        while intervals and len(points) < MOST_POINTS:
            _, low, high = heapq.heappop(intervals)
            middle = _middle(low, high)
            points.append(middle)
            self._consider(low, middle, intervals)
            self._consider(middle, high, intervals)
        return sorted(points)

    def _steps(self, most: int) -> list[int]:
        """Both sides of the last steps of the longest stages: where one wave fewer is enough."""
        scaled = [s.scaled(self.ratio, self.shuffle_partitions) for s in self.replay.models]
        work = [
            many.partitions * many.work * model.mean_seconds
            for many, model in zip(scaled, self.replay.models, strict=True)
        ]
        longest = sorted(range(len(work)), key=lambda index: -work[index])[:STEPPED_STAGES]
        last = {
            -(-scaled[index].tasks // waves) - before
            for index in longest
            for waves in range(1, STEPS + 1)
            for before in (0, 1)
        }
        return [m for m in last if 1 <= m <= most]

    def _consider(self, low: int, high: int, intervals: list[tuple[float, int, int]]) -> None:
        """Pushes an interval on the heap if the error at its middle exceeds
        `MAX_INTERPOLATION_ERROR`."""
        middle = _middle(low, high)
        if middle in (low, high) or self._span(low, high) < MAX_INTERPOLATION_ERROR:
            return
        share = math.log(middle / low) / math.log(high / low)
        ends = [math.log(self._one(m, 1.0)[0]) for m in (low, high)]
        straight = ends[0] + (ends[1] - ends[0]) * share
        off = abs(straight - math.log(self._one(middle, 1.0)[0]))
        if off > MAX_INTERPOLATION_ERROR:
            heapq.heappush(intervals, (-off, low, high))

    def _span(self, low: int, high: int) -> float:
        return abs(math.log(self._one(low, 1.0)[0] / self._one(high, 1.0)[0]))


def _middle(low: int, high: int) -> int:
    return round(math.sqrt(low * high))


@dataclass(frozen=True, eq=False)
class BetweenInputs:
    """Run times of one replay for an input between two others, interpolated linearly in log time
    over log input.

    Both are monotone in the input (`ReplayTimes`), and so is the interpolation.
    """

    low: ReplayTimes
    high: ReplayTimes
    share: float

    def at(self, slots: FloatArray, speed: FloatArray) -> Times:
        """As `ReplayTimes.at`."""
        low, high = self.low.at(slots, speed), self.high.at(slots, speed)
        seconds = np.exp(
            (1.0 - self.share) * np.log(low.seconds) + self.share * np.log(high.seconds)
        )
        driver = (1.0 - self.share) * low.driver_seconds + self.share * high.driver_seconds
        return Times(seconds, np.minimum(driver, seconds))

    def uncertain_slots(self, slots: FloatArray) -> FloatArray:
        """As `ReplayTimes.uncertain_slots`."""
        return self.high.uncertain_slots(slots)

    def log_gain_of_core_partitions(self, slots: FloatArray) -> FloatArray:
        """As `ReplayTimes.log_gain_of_core_partitions`."""
        return self.high.log_gain_of_core_partitions(slots)


SCALE_PER_HALF_WIDTH_90 = 0.61
"""Standard deviation, as a share of a difference in log time, with which the end of a 90 % interval
just reaches that difference."""


def requested_partitions_scale(
    replayed: ReplayTimes | BetweenInputs,
    times: Times,
    slots: FloatArray,
    speed: FloatArray,
    own_slots: int,
) -> FloatArray:
    """(n,) standard deviation of log time because the program may itself have requested as many
    partitions as the log has cores.

    The 90 % interval then reaches the time with that fixed number, but no more than is gained over
    the log's `own_slots`.

    Args:
        times: (n,) predicted times on (n,) slots of (n,) relative speeds.
    """
    gained = replayed.log_gain_of_core_partitions(slots)
    if not gained.any():
        return gained
    speeds, of_speed = distinct(speed)
    on_log_slots = np.full(len(speeds), float(own_slots))
    without_gain = replayed.at(on_log_slots, speeds).seconds[of_speed]
    return np.asarray(
        SCALE_PER_HALF_WIDTH_90 * np.clip(np.log(without_gain / times.seconds), 0.0, gained)
    )


STEP = 2.0
"""Factor between the inputs that are replayed; between them times are interpolated."""


def input_steps(ratio: float) -> tuple[list[float], float]:
    """The relative inputs to replay for `ratio` times the observed one, from 1 in steps of `STEP`
    to the first at or beyond it, and the interpolation weight (0 ... 1) of the last."""
    if ratio == 1.0:
        return [1.0], 1.0
    away = math.log(ratio) / math.log(STEP)
    count = max(1, math.ceil(abs(away) - 1e-9))
    steps = [STEP ** math.copysign(k, away) for k in range(count + 1)]
    return steps, abs(away) - (count - 1)


def input_path(known: Sequence[float], wanted: float) -> tuple[list[float], float]:
    """The path of inputs from the smallest known one to the first at or beyond the wanted one, with
    all known ones between and no two further apart than `STEP`; and the interpolation weight
    (0 ... 1) of the last."""
    ordered = sorted(set(known))
    if wanted <= ordered[0]:
        steps, share = input_steps(wanted / ordered[0])
        return [ordered[0] * step for step in steps], share
    path = ordered[:1]
    for low, high in pairwise(ordered):
        parts = max(1, math.ceil(math.log(high / low) / math.log(STEP) - 1e-9))
        path += [low * (high / low) ** (part / parts) for part in range(1, parts)] + [high]
    while path[-1] < wanted:
        path.append(path[-1] * STEP)
    path = path[: bisect_left(path, wanted) + 1]
    return path, math.log(wanted / path[-2]) / math.log(path[-1] / path[-2])
