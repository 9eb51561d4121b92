"""Run time of a replay as a function of slots: replayed for each number, or interpolated between
adaptively chosen ones.

For a few clusters each is replayed. For a grid of half a million clusters the replay is evaluated
at numbers of slots chosen where the time curves (the last wave of a stage makes steps), and
interpolated linearly in log time over log slots between them. In: a replay, an input, (n,) slots
and speeds. Out: (n,) times. Explained in
docs/models/sparkplan_rules_replay.md#the-curve-over-many-clusters.
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
from engine.models.replay.stages_by_slots import StagesAtInput

MAX_REPLAYED_SINGLY = 70
"""Largest number of distinct clusters that are replayed one by one."""

FIRST_POINTS = 17
MOST_POINTS = 100
MAX_INTERPOLATION_ERROR = 0.005
"""The adaptive interpolation starts with `FIRST_POINTS` and bisects the worst interval until the
interpolation error (log time) at the middle of each is below `MAX_INTERPOLATION_ERROR`, or there
are `MOST_POINTS`."""

WAVE_STEP_STAGES = 2
WAVE_STEPS = 3
"""It also starts with the points around the last `WAVE_STEPS` steps of the `WAVE_STEP_STAGES`
longest stages."""


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
        whole_slots, known_speed = self._whole_slots(slots[known]), speed[known]
        replayed = self._replayed_singly(whole_slots.astype(np.int64), known_speed)
        if replayed is not None:
            seconds[known], driver[known] = replayed
            return Times(seconds, driver)
        grid, times, drivers = self._interpolation_points(int(whole_slots.max()))
        at = np.log(whole_slots)
        driver_at = np.interp(at, grid, drivers)
        seconds[known] = driver_at + (np.exp(np.interp(at, grid, times)) - driver_at) / known_speed
        driver[known] = driver_at
        return Times(seconds, driver)

    @cached_property
    def stages(self) -> StagesAtInput:
        """The stages of the replay at this input."""
        return self.replay.stages_by_slots.at(self.ratio, self.shuffle_partitions)

    def _whole_slots(self, slots: FloatArray) -> FloatArray:
        """Slots rounded down to whole numbers, at most those that are ever busy."""
        return np.minimum(np.floor(slots + 1e-9), self.stages.most_useful_slots)

    def _replayed_singly(
        self, slots: IntArray, speed: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """(n,) run times and driver times by a replay of each distinct cluster; None where there
        are more than `MAX_REPLAYED_SINGLY`."""
        distinct_slots = np.flatnonzero(np.bincount(slots))
        if len(distinct_slots) > MAX_REPLAYED_SINGLY:
            return None
        distinct_speeds, speed_index = speed[:1], np.zeros(len(speed), dtype=np.int64)
        if (speed != speed[0]).any():
            distinct_speeds, speed_index = distinct(speed)
        row_of = np.zeros(int(distinct_slots[-1]) + 1, dtype=np.int64)
        row_of[distinct_slots] = np.arange(len(distinct_slots))
        code = row_of[slots] * len(distinct_speeds) + speed_index
        pairs = np.flatnonzero(np.bincount(code))
        if len(pairs) > MAX_REPLAYED_SINGLY:
            return None
        values = np.zeros((len(distinct_slots) * len(distinct_speeds), 2))
        for pair in pairs.tolist():
            slots_row, speed_row = divmod(pair, len(distinct_speeds))
            values[pair] = self._replayed_times(
                int(distinct_slots[slots_row]), float(distinct_speeds[speed_row])
            )
        return values[code, 0], values[code, 1]

    def _replayed_times(self, slots: int, speed: float) -> tuple[float, float]:
        key = (slots, speed)
        if key not in self._known:
            outcome = self.replay.replayed(
                slots, ratio=self.ratio, speed=speed, shuffle_partitions=self.shuffle_partitions
            )
            seconds = outcome.seconds
            if self.base is not None:
                most = self.base.stages.most_useful_slots
                bound = self.base._replayed_times(min(slots, most), speed)[0]
                seconds = max(seconds, bound) if self.ratio > 1.0 else min(seconds, bound)
            self._known[key] = (seconds, min(outcome.driver_seconds, seconds))
        return self._known[key]

    def _interpolation_points(self, max_slots: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Interpolation points up to `max_slots` slots: log slots, log seconds and driver
        seconds."""
        if max_slots not in self._curve:
            slots = np.asarray(self._interpolation_slots(max_slots))
            values = np.asarray([self._replayed_times(int(m), 1.0) for m in slots])
            self._curve[max_slots] = (np.log(slots), np.log(values[:, 0]), values[:, 1])
        return self._curve[max_slots]

    def _interpolation_slots(self, max_slots: int) -> list[int]:
        """Numbers of slots at which the replay is evaluated, ascending, by adaptive bisection."""
        slots = sorted(
            {*map(round, np.geomspace(1, max_slots, FIRST_POINTS)), *self._wave_steps(max_slots)}
        )
        intervals: list[tuple[float, int, int]] = []
        for low, high in pairwise(slots):
            self._push_if_curved(low, high, intervals)
        while intervals and len(slots) < MOST_POINTS:
            _, low, high = heapq.heappop(intervals)
            middle = _middle(low, high)
            slots.append(middle)
            self._push_if_curved(low, middle, intervals)
            self._push_if_curved(middle, high, intervals)
        return sorted(slots)

    def _wave_steps(self, max_slots: int) -> list[int]:
        """Both sides of the last steps of the longest stages: where one wave fewer is enough."""
        scaled = [s.scaled(self.ratio, self.shuffle_partitions) for s in self.replay.models]
        work = [
            stage.partitions * stage.work * model.mean_seconds
            for stage, model in zip(scaled, self.replay.models, strict=True)
        ]
        longest = sorted(range(len(work)), key=lambda index: -work[index])[:WAVE_STEP_STAGES]
        steps = {
            -(-scaled[index].tasks // waves) - fewer
            for index in longest
            for waves in range(1, WAVE_STEPS + 1)
            for fewer in (0, 1)
        }
        return [m for m in steps if 1 <= m <= max_slots]

    def _push_if_curved(self, low: int, high: int, intervals: list[tuple[float, int, int]]) -> None:
        """Pushes an interval on the heap if the error at its middle exceeds
        `MAX_INTERPOLATION_ERROR`."""
        middle = _middle(low, high)
        if middle in (low, high) or self._log_ratio(low, high) < MAX_INTERPOLATION_ERROR:
            return
        share = math.log(middle / low) / math.log(high / low)
        log_seconds = [math.log(self._replayed_times(m, 1.0)[0]) for m in (low, high)]
        interpolated = log_seconds[0] + (log_seconds[1] - log_seconds[0]) * share
        error = abs(interpolated - math.log(self._replayed_times(middle, 1.0)[0]))
        if error > MAX_INTERPOLATION_ERROR:
            heapq.heappush(intervals, (-error, low, high))

    def _log_ratio(self, low: int, high: int) -> float:
        return abs(math.log(self._replayed_times(low, 1.0)[0] / self._replayed_times(high, 1.0)[0]))


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

    @property
    def stages(self) -> StagesAtInput:
        """The stages at the input further from the log's."""
        return self.high.stages


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
    log_gain = replayed.stages.log_gain_of_core_partitions(slots)
    if not log_gain.any():
        return log_gain
    speeds, speed_index = distinct(speed)
    on_log_slots = np.full(len(speeds), float(own_slots))
    seconds_without_gain = replayed.at(on_log_slots, speeds).seconds[speed_index]
    return np.asarray(
        SCALE_PER_HALF_WIDTH_90
        * np.clip(np.log(seconds_without_gain / times.seconds), 0.0, log_gain)
    )


INPUT_STEP = 2.0
"""Factor between the inputs that are replayed; between them times are interpolated."""


def input_steps(ratio: float) -> tuple[list[float], float]:
    """The relative inputs to replay for `ratio` times the observed one, from 1 in steps of
    `INPUT_STEP` to the first at or beyond it, and the interpolation weight (0 ... 1) of the
    last."""
    if ratio == 1.0:
        return [1.0], 1.0
    distance = math.log(ratio) / math.log(INPUT_STEP)
    count = max(1, math.ceil(abs(distance) - 1e-9))
    steps = [INPUT_STEP ** math.copysign(k, distance) for k in range(count + 1)]
    return steps, abs(distance) - (count - 1)


def input_path(known: Sequence[float], wanted: float) -> tuple[list[float], float]:
    """The path of inputs from the smallest known one to the first at or beyond the wanted one, with
    all known ones between and no two further apart than `INPUT_STEP`; and the interpolation weight
    (0 ... 1) of the last."""
    ordered = sorted(set(known))
    if wanted <= ordered[0]:
        steps, share = input_steps(wanted / ordered[0])
        return [ordered[0] * step for step in steps], share
    path = ordered[:1]
    for low, high in pairwise(ordered):
        subdivisions = max(1, math.ceil(math.log(high / low) / math.log(INPUT_STEP) - 1e-9))
        path += [low * (high / low) ** (part / subdivisions) for part in range(1, subdivisions)] + [
            high
        ]
    while path[-1] < wanted:
        path.append(path[-1] * INPUT_STEP)
    path = path[: bisect_left(path, wanted) + 1]
    return path, math.log(wanted / path[-2]) / math.log(path[-1] / path[-2])
