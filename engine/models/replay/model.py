"""The fitted model of one or several logs: a weighted mean of bias-corrected replays, with a
Student's t distribution of log time around it.

Each log predicts by its replay, corrected by its bias where the log was observed; its stages grow
by what the other logs show (`stage_laws.py`). Several logs are averaged in log time, with larger
weights for nearer ones. The interval of a single log is the prior variance of the error per
doubling of slots and of input; that of several is its posterior.
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
from engine.models.replay.alternatives import alternatives_of, other_cuts, reaching
from engine.models.replay.broadcasts import (
    broadcast_notice,
    conversion_notice,
    converted_plan,
    most_shared,
    other_plan,
)
from engine.models.replay.driver_rows import result_notice, rows_notice
from engine.models.replay.iterations import iteration_notice, log_iterations
from engine.models.replay.log_forecasts import LogForecasts, log2_distances
from engine.models.replay.mean_times_cache import MeanTimes, MeanTimesCache
from engine.models.replay.memory.memory_cliff import MemoryCliff
from engine.models.replay.memory.memory_report import (
    cache_notices,
    not_fitting_share,
    spill_notices,
)
from engine.models.replay.memory.settled_memory import settled_memory
from engine.models.replay.memory.spilling import SpillingStage, TaskMemory, spill_seconds
from engine.models.replay.monotone_times import monotone_with_memory
from engine.models.replay.notices import (
    groups_notice,
    scan_notice,
    small_tables_notice,
)
from engine.models.replay.outcome import Replayed
from engine.models.replay.priors import LOG_NOISE, NOISE_SECONDS, PRIOR_DOF, size_ratio, sure_share
from engine.models.replay.replayed_run import Replay
from engine.models.replay.report import (
    Useful,
    explanation,
    skewed_stages,
    too_few_tasks,
    useful_slots,
)
from engine.models.replay.times import (
    REACHED,
    BetweenInputs,
    ReplayTimes,
    Times,
    doubt_of_asked,
    inputs_to,
    steps_to,
)
from engine.models.stages.one_machine import SharedCores, crowding_of_batch, one_machine_notice
from engine.models.stages.partitioning.stage_growth import partitions_notice
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
    _times: LruCache[ReplayTimes] = field(default_factory=lambda: LruCache(KEPT_TIMES), repr=False)
    _mean_times: MeanTimesCache = field(default_factory=MeanTimesCache, repr=False)
    _explained: LruCache[Replayed] = field(default_factory=lambda: LruCache(1), repr=False)

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = with_defaults(workload, self.profile)
        slots, workloads = self._most_useful(wanted), [wanted, *self._path_workloads(wanted)]
        runs = [replay.run for replay in self.replays]
        settled = settled_memory(self.cliffs, self.spilling, runs, batch, workloads, slots=slots)
        own, like = batch.alike(slots, settled)
        return self._forecast(batch.take(own), wanted).take(like)

    def runs_used(self, workload: Workload) -> int:
        return len(self.replays)

    def _forecast(self, batch: ClusterBatch, wanted: Workload) -> Forecast:
        """The forecast of every cluster of the batch, without sharing between equivalent ones."""
        by_log = self._log_forecasts(batch, wanted)
        seconds = np.exp(self._monotone(batch, wanted, by_log))
        error_share = by_log.mean(by_log.error_shares)
        away = [
            by_log.mean(by_log.doublings[:, :, k]) * error_share
            for k in range(len(self.covariance))
        ]
        variance = sum(
            self.covariance[j, k] * x * y for j, x in enumerate(away) for k, y in enumerate(away)
        )
        transfer = by_log.mean(by_log.log_scales)
        memory = MEMORY_DOUBT * by_log.mean(np.abs(by_log.memory))
        away_and_start = self.factor**2 * (variance + (NOISE_SECONDS / seconds) ** 2)
        at_work = 1.0 - np.minimum(1.0, by_log.mean(self._paused_seconds) / seconds)
        near = self.log_scale**2 - self.machine_scale**2 * (1.0 - at_work**2)
        log_scale = np.sqrt(near + away_and_start + transfer**2 + memory**2)
        log_scale = np.maximum(log_scale, by_log.mean(by_log.least_scales))
        known = np.isfinite(seconds)
        return Forecast.of(seconds, np.where(known, log_scale, np.nan), self.dof)

    def _log_forecasts(self, batch: ClusterBatch, wanted: Workload) -> LogForecasts:
        """The forecast of each log by itself."""
        slots, log_seconds, memory, away, error_shares = batch.slots, [], [], [], []
        log_scales, least_scales = [], []
        for index, replay in enumerate(self.replays):
            ratio, partitions = size_ratio(wanted, replay.run), wanted.shuffle_partitions
            replayed = self._replayed(replay, wanted)
            relative, speed_scale = replay.nodes.speeds(batch)
            times = replayed.at(slots, relative)
            away.append(log2_distances(replayed.slots_in_doubt(slots) / replay.slots, ratio))
            task_share = 1.0 - times.driver_seconds / times.seconds
            crowded = crowding_of_batch(replay.run, batch, away[-1][:, 0], ratio)
            scale = np.hypot(speed_scale, task_share * self._shared_cores.doubt(crowded))
            requested = doubt_of_asked(replayed, times, slots, relative, replay.slots)
            log_scales.append(np.hypot(scale, requested))
            others = (self._alternatives if ratio != 1.0 else self._other_cuts)[index]
            other_times = [self._replayed(other, wanted).at(slots, relative) for other in others]
            plan = other_plan(replay, ratio, slots, relative, times, partitions)
            reach = plan.open - converted_plan(replay, ratio, slots, relative, times, partitions)
            least_scales.append(np.maximum(reaching(times, other_times), REACHED * reach))
            memory.append(self._memory_factor(index, batch, wanted, times, relative) + plan.factor)
            corrected = (
                np.log(times.seconds) + log_iterations(replay.run, wanted) + self.bias[index]
            )
            log_seconds.append(corrected + task_share * self._shared_cores.cost(crowded))
            error_shares.append(sure_share(times.driver_seconds / times.seconds))
        columns = log_seconds, memory, away, error_shares, log_scales, least_scales
        return LogForecasts.of(*columns, self._repeated)

    @cached_property
    def _paused_seconds(self) -> FloatArray:
        """(r, 1) seconds of long pauses of each log, which do not depend on the machine's load."""
        return np.asarray([[sum(long_pauses(replay.run))] for replay in self.replays])

    @cached_property
    def _alternatives(self) -> tuple[tuple[Replay, ...], ...]:
        """(r,) alternative replays: what each log leaves open."""
        return tuple(map(alternatives_of, self.replays))

    @cached_property
    def _other_cuts(self) -> tuple[tuple[Replay, ...], ...]:
        """(r,) the alternative replays that differ at the observed input too."""
        return tuple(map(other_cuts, self.replays))

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
            max(replay.most_useful_slots(step, partitions), most_shared(replay, step, partitions))
            for replay in self.replays
            for at in self._path_workloads(wanted)
            for step in steps_to(size_ratio(at, replay.run))[0]
        )
        return float(max(*useful, *(replay.slots for replay in self.replays)))

    def _path(self, wanted: Workload) -> tuple[list[float], float]:
        """The path of inputs to the wanted one, over which times are made monotone, and the
        interpolation weight of the last; an empty path where an input is not known."""
        inputs = [replay.run.workload.input_bytes for replay in self.replays]
        known = [size for size in inputs if size is not None]
        if wanted.input_bytes is None or len(known) < len(inputs):
            return [], 1.0
        return inputs_to(known, wanted.input_bytes)

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

    def _memory_factor(
        self, place: int, batch: ClusterBatch, wanted: Workload, times: Times, speed: FloatArray
    ) -> FloatArray:
        """(n,) log of the factor by which cache misses and spills, more or fewer than in the log,
        change a replay's time."""
        cliff, spilling = self.cliffs[place], self.spilling[place]
        run, shuffle_partitions = self.replays[place].run, wanted.shuffle_partitions
        ratio, added = size_ratio(wanted, run), np.zeros(len(batch))
        hit_factor = np.ones(len(batch))
        if cliff is not None:
            share = cliff.fitting_share(batch, ratio, shuffle_partitions)
            left = cliff.left_share(batch, ratio, shuffle_partitions)
            added += cliff.added_seconds(batch.slots, share, ratio, shuffle_partitions, left)
            saved = cliff.recovered_share(share, left)
            if saved.any():
                hits = self._replayed(cliff.full_cache_replay, wanted).at(batch.slots, speed)
                hit_factor += saved * (np.minimum(1.0, hits.seconds / times.seconds) - 1.0)
        if spilling:
            added += spill_seconds(spilling, TaskMemory.of(run, batch), ratio, shuffle_partitions)
        changed = np.maximum(1.0 + added / speed / times.seconds, LEAST_OF_REPLAY)
        return np.asarray(np.log(changed * hit_factor))

    def _replayed(self, replay: Replay, wanted: Workload) -> ReplayTimes | BetweenInputs:
        """The times of a replay for an input, cached; interpolated between two replayed inputs."""
        steps, share = steps_to(size_ratio(wanted, replay.run))
        times: ReplayTimes | None = None
        for ratio in steps:
            before, times = times, self._step(replay, ratio, wanted.shuffle_partitions, times)
        assert times is not None
        return times if before is None or share >= 1.0 else BetweenInputs(before, times, share)

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
    ) -> tuple[Replay, Replayed, int] | None:
        """The nearest log replayed on the one cluster of the batch; None for unknown slots."""
        if not batch.slots[0] >= 1.0:
            return None
        slots = int(batch.slots[0])
        replay = self._nearest(slots, wanted)
        ratio, shuffle_partitions = (size_ratio(wanted, replay.run), wanted.shuffle_partitions)
        busy = min(slots, replay.most_useful_slots(ratio, shuffle_partitions))
        speed = float(replay.nodes.speeds(batch)[0][0])
        found = self._explained.get(
            (id(replay), busy, ratio, speed, shuffle_partitions),
            lambda: replay.replayed(
                busy, ratio=ratio, speed=speed, shuffle_partitions=shuffle_partitions
            ),
        )
        return replay, found, slots

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        at = self._replay_at(batch, with_defaults(workload, self.profile))
        if at is None:
            return Explanation()
        replay, found, slots = at
        seconds = float(self.forecast(batch, workload).seconds[0])
        cliff, again = self.cliffs[self.replays.index(replay)], 0.0
        if cliff is not None:
            wanted = with_defaults(workload, self.profile)
            ratio, partitions = size_ratio(wanted, replay.run), wanted.shuffle_partitions
            again = seconds * not_fitting_share(cliff, batch, ratio, found.seconds, partitions)
        return explanation(replay, found, slots=slots, seconds=seconds, cache_miss_seconds=again)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = with_defaults(workload, self.profile)
        notices: list[Notice | None] = [self._speed_notice(t, batch.catalog) for t in batch.types]
        notices += self._range_notices(batch.slots, wanted)
        notices.append(one_machine_notice([replay.run for replay in self.replays], batch))
        at = self._replay_at(batch, wanted) if len(batch) == 1 else None
        if at is not None:
            replay, found, slots = at
            ratio, partitions = size_ratio(wanted, replay.run), wanted.shuffle_partitions
            useful = partial(self._useful_slots, replay, wanted, slots)
            notices += [
                too_few_tasks(
                    replay, found, batch, slots=slots, useful=useful, shuffle_partitions=partitions
                ),
                *skewed_stages(replay, found, slots=slots),
            ]
            notices += self._memory_notices(self.replays.index(replay), batch, wanted)
            driver = result_notice(replay, ratio), rows_notice(replay, ratio, found.seconds)
            notices += [iteration_notice(replay.run, wanted), *driver]
            notices += self._broadcast_notices(replay, batch, wanted, slots)
            notices += [scan_notice(replay, ratio, slots, partitions), groups_notice(replay, ratio)]
            notices += [small_tables_notice(replay, ratio), partitions_notice([replay.run], wanted)]
        return in_order(notices)

    def _broadcast_notices(
        self, replay: Replay, batch: ClusterBatch, wanted: Workload, slots: float
    ) -> list[Notice | None]:
        ratio, partitions = size_ratio(wanted, replay.run), wanted.shuffle_partitions
        speed = float(replay.nodes.speeds(batch)[0][0])
        return [
            say(replay, ratio, slots, speed=speed, shuffle_partitions=partitions)
            for say in (broadcast_notice, conversion_notice)
        ]

    def _memory_notices(self, place: int, batch: ClusterBatch, wanted: Workload) -> list[Notice]:
        run, cliff = self.replays[place].run, self.cliffs[place]
        ratio = size_ratio(wanted, run)
        offered, shuffle_partitions = TaskMemory.of(run, batch), wanted.shuffle_partitions
        notices = spill_notices(self.spilling[place], offered, ratio, shuffle_partitions)
        return notices + (cache_notices(cliff, batch, ratio, shuffle_partitions) if cliff else [])

    def fuller_notice(self, batch: ClusterBatch, workload: Workload) -> Notice | None:
        slots = float(batch.slots[0])
        if not slots >= 1.0:
            return None
        nearest = self._nearest(slots, with_defaults(workload, self.profile))
        said = nearest.nodes.notice(batch)
        if said is None or len({replay.nodes.before for replay in self.replays}) == 1:
            return said
        name = nearest.run.source.rsplit("/", 1)[-1]
        which = f"in the nearest log ({name})" if name else "in the nearest log"
        return replace(said, text=f"{which} {said.text}; others filled their nodes otherwise")

    def slot_speeds(self, batch: ClusterBatch) -> FloatArray:
        largest = max(self.replays, key=lambda replay: (replay.slots, replay.run.seconds))
        return largest.nodes.speeds(batch)[0]

    def _speed_notice(self, target: InstanceType | None, catalog: Catalog | None) -> Notice | None:
        """The warning of the log whose machines say most about the target's."""
        speeds = [speed_of(target, r.run.cluster.instance, catalog) for r in self.replays]
        speed = min(speeds, key=lambda speed: (speed.log_scale, speed.relative))
        return transfer_notice(speed, target)

    def _useful_slots(self, replay: Replay, wanted: Workload, slots: int, most: int) -> Useful:
        """`useful_slots` of a replay, and no fewer than hold one task of each stage."""
        times = self._replayed(replay, wanted)

        def seconds(m: int) -> float:
            return float(times.at(np.asarray([float(m)]), np.ones(1)).seconds[0])

        least = max(shape.stage.task_cpus for shape in replay.shapes)
        return useful_slots(seconds, slots, most, least=min(least, slots))

    def _range_notices(self, slots: FloatArray, wanted: Workload) -> list[Notice | None]:
        observed = np.asarray([float(replay.slots) for replay in self.replays])
        ratios = np.asarray([size_ratio(wanted, replay.run) for replay in self.replays])
        return range_notices(slots, observed, ratios)


MEMORY_DOUBT = 0.4
"""Prior: standard deviation of the log of the memory factor, as a share of it."""

LEAST_OF_REPLAY = 0.2
"""Least share of a replay's time that remains, however much memory is saved."""

KEPT_TIMES = 128
"""Inputs whose replayed times are kept."""
