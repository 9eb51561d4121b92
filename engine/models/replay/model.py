"""The fitted model of one or several logs: a weighted mean of bias-corrected replays, with a
Student's t distribution of log time around it.

Each log predicts by its replay, corrected by its bias where the log was observed; its stages grow
by what the other logs show (`stage_laws.py`). Several logs are averaged in log time, with larger
weights for nearer ones. The interval of a single log is the prior variance of the error per
doubling of slots and of input; that of several is its posterior.

In: clusters and a workload. Out: forecasts, explanations and warnings. Explained in
docs/models/sparkplan_rules_logs.md#several-logs and #interval-of-logs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from engine.batch import ClusterBatch
from engine.caching import LruCache
from engine.catalog import Catalog, InstanceType
from engine.cluster import Workload
from engine.forecast import FloatArray, Forecast, IntArray
from engine.machines.transfer import speed_of, transfer_notice
from engine.models.base import Explanation, FittedModel
from engine.models.log_notices import range_notices
from engine.models.replay.alternatives import (
    alternatives_at_log_input,
    alternatives_of,
    least_scale_reaching,
)
from engine.models.replay.broadcasts import ChangedJoins
from engine.models.replay.iterations import log_iterations
from engine.models.replay.log_forecasts import LogForecast, LogForecasts, log2_distances
from engine.models.replay.memory.cliffs_of_logs import saturated_memory
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.memory_factor import log_memory_factor
from engine.models.replay.memory.memory_report import not_fitting_share
from engine.models.replay.memory.spilling import SpillingStage
from engine.models.replay.monotone_times import MeanTimes, MeanTimesCache, monotone_with_memory
from engine.models.replay.outcome import ReplayOutcome
from engine.models.replay.priors import (
    LOG_NOISE,
    NOISE_SECONDS,
    PRIOR_DOF,
    size_ratio,
    task_error_share,
)
from engine.models.replay.replay_notices import replay_notices
from engine.models.replay.replayed_run import Replay
from engine.models.replay.report import UsefulSlots, explanation, useful_slots
from engine.models.replay.shared_code import shared_code_scale
from engine.models.replay.times import (
    SCALE_PER_HALF_WIDTH_90,
    BetweenInputs,
    ReplayTimes,
    Times,
    input_path,
    input_steps,
    requested_partitions_scale,
)
from engine.models.stages.one_machine import SharedCores, crowding_of_batch, one_machine_notice
from engine.models.stages.pauses import long_pauses
from engine.models.workloads import with_defaults
from engine.notices import Notice, in_order
from engine.runs.configurations import configurations, times_run


@dataclass(frozen=True, eq=False, repr=False)
class ReplayModel(FittedModel):
    """sparkplan fitted to logs.

    Args:
        replays: r logs, ready to be replayed.
        cliffs: (r,) memory cliff of each log; None where it caches nothing.
        spilling: (r,) the stages of each log that may spill.
        bias: (r,) log of observed over replayed time, each on its own cluster and input.
        covariance: (2, 2) covariance of the error of log time per doubling of slots and of input.
        log_scale: standard deviation of log time where the logs were observed.
        factor: ratio of the left-out errors of the logs to those that the prior expects.
        dof: degrees of freedom of the distribution.
        machine_scale: part of `log_scale` by other load on machines (`stages/disturbance.py`).
    """

    replays: tuple[Replay, ...]
    cliffs: tuple[MemoryCliff | None, ...]
    spilling: tuple[tuple[SpillingStage, ...], ...]
    bias: FloatArray
    covariance: FloatArray
    log_scale: float = LOG_NOISE
    factor: float = 1.0
    dof: float = PRIOR_DOF
    machine_scale: float = 0.0
    _times: LruCache[ReplayTimes] = field(
        default_factory=lambda: LruCache(CACHED_TIMES), repr=False
    )
    _mean_times: MeanTimesCache = field(default_factory=MeanTimesCache, repr=False)
    _explained: LruCache[ReplayOutcome] = field(default_factory=lambda: LruCache(1), repr=False)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = with_defaults(workload, self.profile)
        slots, workloads = self._most_useful(wanted), [wanted, *self._path_workloads(wanted)]
        logs = self.cliffs, self.spilling, [replay.run for replay in self.replays]
        saturated = saturated_memory(*logs, batch, workloads, slots=slots)
        if self._shared_cores.shared:
            saturated &= ~np.isnan(batch.nodes) | (batch.executors >= slots)
        own, like = batch.alike(slots, saturated)
        return self._forecast(batch.take(own), wanted).take(like)

    def runs_used(self, workload: Workload) -> int:
        return len(self.replays)

    def _forecast(self, batch: ClusterBatch, wanted: Workload) -> Forecast:
        """The forecast of every cluster of the batch, without sharing between equivalent ones."""
        by_log = self._log_forecasts(batch, wanted)
        seconds = np.exp(self._monotone(batch, wanted, by_log))
        each = by_log.each
        error_share = by_log.mean(each.error_share)
        distance = [
            by_log.mean(each.doublings[:, :, k]) * error_share for k in range(len(self.covariance))
        ]
        variance = sum(
            self.covariance[j, k] * x * y
            for j, x in enumerate(distance)
            for k, y in enumerate(distance)
        )
        speed_scale = by_log.mean(each.log_scale)
        memory_scale = MEMORY_FACTOR_SCALE * by_log.mean(np.abs(each.memory))
        distance_variance = self.factor**2 * (variance + (NOISE_SECONDS / seconds) ** 2)
        busy_share = 1.0 - np.minimum(1.0, by_log.mean(self._paused_seconds) / seconds)
        log_variance = self.log_scale**2 - self.machine_scale**2 * (1.0 - busy_share**2)
        log_scale = np.sqrt(log_variance + distance_variance + speed_scale**2 + memory_scale**2)
        log_scale = np.maximum(log_scale, by_log.mean(each.least_scale))
        known = np.isfinite(seconds)
        return Forecast.of(seconds, np.where(known, log_scale, np.nan), self.dof)

    def _log_forecasts(self, batch: ClusterBatch, wanted: Workload) -> LogForecasts:
        """The forecast of each log by itself."""
        indices = range(len(self.replays))
        forecasts = [self._log_forecast(index, batch, wanted) for index in indices]
        return LogForecasts.of(forecasts, self._repeated)

    def _log_forecast(self, index: int, batch: ClusterBatch, wanted: Workload) -> LogForecast:
        """The forecast of one log by itself."""
        replay, slots = self.replays[index], batch.slots
        ratio, replayed = size_ratio(wanted, replay.run), self._replayed(replay, wanted)
        speed, speed_scale = replay.node_load.speeds(batch)

        def times_of(other: Replay) -> Times:
            return self._replayed(other, wanted).at(slots, speed)

        times = replayed.at(slots, speed)
        doublings = log2_distances(replayed.stages.uncertain_slots(slots) / replay.slots, ratio)
        task_share = 1.0 - times.driver_seconds / times.seconds
        crowding = crowding_of_batch(replay.run, batch, doublings[:, 0], ratio)
        scales = (
            speed_scale,
            task_share * self._shared_cores.log_scale(crowding),
            (1.0 - task_share) * self._shared_cores.driver_log_scale(crowding),
            requested_partitions_scale(replayed, times, slots, speed, replay.slots),
            shared_code_scale(replay, batch, times, speed),
        )
        others = self._alternatives if ratio != 1.0 else self._alternatives_at_log_input
        other_times = [times_of(other) for other in others[index]]
        changed = ChangedJoins(replay, ratio, wanted.shuffle_partitions)
        joins = changed.effect(slots, speed, times)
        memory = log_memory_factor(
            replay.run,
            self.cliffs[index],
            self.spilling[index],
            batch,
            wanted,
            times=times,
            speed=speed,
            times_of=times_of,
        )
        corrected = np.log(times.seconds) + log_iterations(replay.run, wanted) + self.bias[index]
        return LogForecast(
            log_seconds=corrected + task_share * self._shared_cores.expected(crowding),
            memory=memory + joins.log_factor,
            doublings=doublings,
            error_share=task_error_share(times.driver_seconds / times.seconds),
            log_scale=np.sqrt(sum(scale**2 for scale in scales)),
            least_scale=np.maximum(
                least_scale_reaching(times, other_times), SCALE_PER_HALF_WIDTH_90 * joins.reach
            ),
        )

    @cached_property
    def _paused_seconds(self) -> FloatArray:
        """(r, 1) seconds of long pauses of each log, which do not depend on the machine's load."""
        return np.asarray([[sum(long_pauses(replay.run))] for replay in self.replays])

    @cached_property
    def _alternatives(self) -> tuple[tuple[Replay, ...], ...]:
        """(r,) alternative replays: what each log leaves open."""
        return tuple(map(alternatives_of, self.replays))

    @cached_property
    def _alternatives_at_log_input(self) -> tuple[tuple[Replay, ...], ...]:
        """(r,) the alternative replays that differ at the observed input too."""
        return tuple(map(alternatives_at_log_input, self.replays))

    @cached_property
    def _shared_cores(self) -> SharedCores:
        return SharedCores.of([replay.run for replay in self.replays])

    @cached_property
    def _repeated(self) -> IntArray:
        """(r,) number of runs of each log's configuration."""
        return times_run(configurations([replay.run for replay in self.replays]))

    def _path_workloads(self, wanted: Workload) -> list[Workload]:
        """The workloads at the inputs of the path to the wanted input."""
        return [replace(wanted, input_bytes=size) for size in self._path(wanted)[0]] or [wanted]

    def _most_useful(self, wanted: Workload) -> float:
        """Slots beyond which no log's forecast changes."""
        partitions = wanted.shuffle_partitions
        useful = (
            max(
                replay.stages_by_slots.at(step, partitions).most_useful_slots,
                ChangedJoins(replay, step, partitions).most_useful_slots,
            )
            for replay in self.replays
            for at in self._path_workloads(wanted)
            for step in input_steps(size_ratio(at, replay.run))[0]
        )
        return float(max(*useful, *(replay.slots for replay in self.replays)))

    def _path(self, wanted: Workload) -> tuple[list[float], float]:
        """The path of inputs to the wanted one, over which times are made monotone, and the
        interpolation weight of the last; an empty path where an input is not known."""
        inputs = [replay.run.workload.input_bytes for replay in self.replays]
        known = [size for size in inputs if size is not None]
        if wanted.input_bytes is None or len(known) < len(inputs):
            return [], 1.0
        return input_path(known, wanted.input_bytes)

    def _monotone(self, batch: ClusterBatch, wanted: Workload, by_log: LogForecasts) -> FloatArray:
        """(n,) mean log time over the logs, made monotone in the input."""
        path, share = self._path(wanted)
        if not path:
            return by_log.times.without_memory + by_log.times.memory

        def mean_times(size: float) -> MeanTimes:
            if size == wanted.input_bytes:
                return by_log.times
            at = replace(wanted, input_bytes=size)
            return self._mean_times.get(batch, at.key, lambda: self._log_forecasts(batch, at).times)

        return monotone_with_memory(mean_times, path, share)

    def _replayed(self, replay: Replay, wanted: Workload) -> ReplayTimes | BetweenInputs:
        """The times of a replay for an input, cached; interpolated between two replayed inputs."""
        steps, share = input_steps(size_ratio(wanted, replay.run))
        times: ReplayTimes | None = None
        for ratio in steps:
            previous, times = times, self._step(replay, ratio, wanted.shuffle_partitions, times)
        assert times is not None
        return times if previous is None or share >= 1.0 else BetweenInputs(previous, times, share)

    def _step(
        self, replay: Replay, ratio: float, shuffle_partitions: int | None, base: ReplayTimes | None
    ) -> ReplayTimes:
        return self._times.get(
            (id(replay), ratio, shuffle_partitions),
            lambda: ReplayTimes(replay, ratio, shuffle_partitions, base),
        )

    def _nearest(self, slots: float, wanted: Workload) -> Replay:
        """The log nearest to the question in doublings; of equally near ones the longest."""

        def distance(replay: Replay) -> tuple[float, float]:
            ratio = size_ratio(wanted, replay.run)
            by_iterations = log_iterations(replay.run, wanted) / math.log(2.0)
            doublings = math.log2(slots / replay.slots), math.log2(ratio), by_iterations
            return sum(map(abs, doublings)), -replay.run.seconds

        return min(self.replays, key=distance)

    def _replay_at(
        self, batch: ClusterBatch, wanted: Workload
    ) -> tuple[Replay, ReplayOutcome, int] | None:
        """The nearest log replayed on the one cluster of the batch; None for unknown slots."""
        if not batch.slots[0] >= 1.0:
            return None
        slots = int(batch.slots[0])
        replay = self._nearest(slots, wanted)
        ratio, shuffle_partitions = (size_ratio(wanted, replay.run), wanted.shuffle_partitions)
        stages = replay.stages_by_slots.at(ratio, shuffle_partitions)
        busy = min(slots, stages.most_useful_slots)
        speed = float(replay.node_load.speeds(batch)[0][0])
        outcome = self._explained.get(
            (id(replay), busy, ratio, speed, shuffle_partitions),
            lambda: replay.replayed(
                busy, ratio=ratio, speed=speed, shuffle_partitions=shuffle_partitions
            ),
        )
        return replay, outcome, slots

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        nearest = self._replay_at(batch, with_defaults(workload, self.profile))
        if nearest is None:
            return Explanation()
        replay, outcome, slots = nearest
        seconds = float(self.forecast(batch, workload).seconds[0])
        cliff, cache_miss_seconds = self.cliffs[self.replays.index(replay)], 0.0
        if cliff is not None:
            wanted = with_defaults(workload, self.profile)
            ratio, partitions = size_ratio(wanted, replay.run), wanted.shuffle_partitions
            cache_miss_seconds = seconds * not_fitting_share(
                cliff, batch, ratio, outcome.seconds, partitions
            )
        return explanation(
            replay, outcome, slots=slots, seconds=seconds, cache_miss_seconds=cache_miss_seconds
        )

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = with_defaults(workload, self.profile)
        notices: list[Notice | None] = [self._speed_notice(t, batch.catalog) for t in batch.types]
        notices += self._range_notices(batch.slots, wanted)
        notices.append(one_machine_notice([replay.run for replay in self.replays], batch))
        nearest = self._replay_at(batch, wanted) if len(batch) == 1 else None
        if nearest is not None:
            replay, outcome, slots = nearest
            index = self.replays.index(replay)
            notices += replay_notices(
                replay,
                outcome,
                batch,
                wanted,
                slots=slots,
                useful=partial(self._useful_slots, replay, wanted, slots),
                cliff=self.cliffs[index],
                spilling=self.spilling[index],
            )
        return in_order(notices)

    def fuller_notice(self, batch: ClusterBatch, workload: Workload) -> Notice | None:
        slots = float(batch.slots[0])
        if not slots >= 1.0:
            return None
        nearest = self._nearest(slots, with_defaults(workload, self.profile))
        notice = nearest.node_load.notice(batch)
        if notice is None or len({replay.node_load.tasks_per_vcpu for replay in self.replays}) == 1:
            return notice
        name = nearest.run.source.rsplit("/", 1)[-1]
        log_name = f"in the nearest log ({name})" if name else "in the nearest log"
        return replace(
            notice, text=f"{log_name} {notice.text}; others filled their nodes otherwise"
        )

    def slot_speeds(self, batch: ClusterBatch) -> FloatArray:
        largest = max(self.replays, key=lambda replay: (replay.slots, replay.run.seconds))
        return largest.node_load.speeds(batch)[0]

    def _speed_notice(self, target: InstanceType | None, catalog: Catalog | None) -> Notice | None:
        """The warning of the log whose machines say most about the target's."""
        speeds = [speed_of(target, r.run.cluster.instance, catalog) for r in self.replays]
        speed = min(speeds, key=lambda speed: (speed.log_scale, speed.relative))
        return transfer_notice(speed, target)

    def _useful_slots(self, replay: Replay, wanted: Workload, slots: int, most: int) -> UsefulSlots:
        """`useful_slots` of a replay, and no fewer than hold one task of each stage."""
        times = self._replayed(replay, wanted)

        def seconds(m: int) -> float:
            return float(times.at(np.asarray([float(m)]), np.ones(1)).seconds[0])

        least = max(model.stage.task_cpus for model in replay.models)
        return useful_slots(seconds, slots, most, least=min(least, slots))

    def _range_notices(self, slots: FloatArray, wanted: Workload) -> list[Notice | None]:
        observed = np.asarray([float(replay.slots) for replay in self.replays])
        ratios = np.asarray([size_ratio(wanted, replay.run) for replay in self.replays])
        return range_notices(slots, observed, ratios)


MEMORY_FACTOR_SCALE = 0.4
"""Prior: standard deviation of the log of the memory factor, as a share of it."""

CACHED_TIMES = 128
"""Inputs whose replayed times are kept."""
