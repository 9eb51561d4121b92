"""SimCost: costs of compute, read, write and shuffle per stage, learnt from small runs.

"SimCost: cost-effective resource provision prediction and recommendation for Spark workloads". The
cost model (Eqs. 8 to 12) is in `costs` and over all stages in `stages`, what is learnt from a log
in `learning` and `rates`, sampling in `sampling`, memory assurance in `memory`, the recommendation
in closed form and by range search in `search`. Runs without stages get the transformed model of 4.3
(`curve`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.batch import ClusterBatch
from engine.cluster import Workload
from engine.forecast import FloatArray, Forecast, IntArray
from engine.machines.transfer import speed_of, transfer_notice
from engine.models.assured_memory import AssuredMemory
from engine.models.base import Explanation, FittedModel
from engine.models.log_notices import chosen_notice, range_notices
from engine.models.logs_by_parameters import ModelByParameters
from engine.models.model import Model
from engine.models.replay.censored_tasks import (
    censored_log_scale,
    partial_stages_notice,
    with_all_tasks,
)
from engine.models.replay.log_forecasts import log2_distances
from engine.models.replay.log_pairs import inverse_variance_weights
from engine.models.replay.monotone_times import monotone_mean
from engine.models.replay.priors import LOG_NOISE, PRIOR_DOF, size_ratio, with_least_scale
from engine.models.replay.run_selection import replayable_runs, representative_runs
from engine.models.simcost import costs, report
from engine.models.simcost.corrections import Corrections, RunPairs
from engine.models.simcost.curve import fitted_curve
from engine.models.simcost.learning import RunCosts
from engine.models.simcost.memory import assured_by_cache, assured_by_peak, assured_by_runs
from engine.models.simcost.rates import resources_of_shape, seconds_per_byte
from engine.models.simcost.sampling import (
    CONFIDENCE,
    Estimate,
    estimate,
    simulated,
    training_cost_ratio,
)
from engine.models.simcost.search import optima
from engine.models.simcost.stages import Clusters, Stages, predicted_seconds, transformed
from engine.models.stages.disturbance import with_disturbance
from engine.models.stages.one_machine import one_machine_notice, shared_cores_scale
from engine.models.stages.partitioning.stage_growth import partitions_notice
from engine.models.workloads import logs_of, sharing_parameters, unused_logs_notices, with_defaults
from engine.notices import Notice, in_order
from engine.profile import Profile, Run
from engine.runs.configurations import configurations, repetition_spread, times_run


class Simcost(Model):
    """SimCost, from logs; from run tables its transformed model."""

    name = "simcost"

    def fit(self, profile: Profile, *, models: Mapping[str, Model]) -> FittedModel:
        """Needs a log with stages and executors, or runs in three configurations of machines and
        size."""
        logs = [run for run in logs_of(profile.runs) if any(s.tasks for s in run.stages)]
        if not logs:
            return fitted_curve(self.name, profile)
        fit_of = partial(_fit_parameters, profile, logs)
        if any(run.workload.parameters for run in profile.runs):
            return ModelByParameters.of(self.name, profile, fit_of)
        return fit_of({})


def _fit_parameters(
    profile: Profile, logs: Sequence[Run], wanted: Mapping[str, float]
) -> SimcostModel:
    """The costs of the logs that have these parameters: nothing here says what others do.

    Raises:
        ModelDoesNotFit: when no log has them.
    """
    sharing = sharing_parameters(logs, wanted)
    runs = replayable_runs(sharing)
    chosen_runs = representative_runs(runs)
    learnt = tuple(RunCosts.of(with_all_tasks(run), profile.resources) for run in chosen_runs)
    pairs = _pairs(learnt)
    validation, log_scale, dof = pairs.left_out()
    tested = not math.isnan(log_scale)
    if not tested:
        drawn = [simulated(run) for run in learnt]
        sampling = max(estimate.deviation / estimate.mean for estimate in drawn)
        log_scale, dof = math.hypot(LOG_NOISE, sampling), PRIOR_DOF
    disturbed = with_disturbance(log_scale, [run.run for run in learnt], measured=tested)
    log_scale, dof = with_least_scale(max(disturbed, repetition_spread(runs)), log_scale, dof)
    log_scale = math.hypot(log_scale, max(map(censored_log_scale, chosen_runs)))
    chosen = chosen_notice(logs, wanted, len(sharing))
    notices = [chosen, partial_stages_notice(chosen_runs), *unused_logs_notices(sharing)]
    return SimcostModel(
        Simcost.name,
        profile,
        learnt,
        pairs.corrections(np.ones(len(learnt), dtype=bool)),
        log_scale,
        dof,
        fit_notices=in_order([*notices, *report.fit_notices(learnt)]),
        validation=validation,
    )


@dataclass(frozen=True, eq=False, repr=False)
class SimcostModel(FittedModel):
    """SimCost fitted to logs.

    Args:
        learnt: the costs of r runs.
        corrections: what they get wrong about each other, per doubling of slots and of input.
        log_scale, dof: spread where the logs were observed.
    """

    learnt: tuple[RunCosts, ...]
    corrections: Corrections
    log_scale: float
    dof: float

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        wanted = with_defaults(workload, self.profile)
        useful, runs = max(run.most_useful_slots for run in self.learnt), self._runs
        mean = monotone_mean(lambda other: self._mean_log(batch, other), runs, wanted)
        seconds = np.exp(mean)
        crowded = shared_cores_scale(runs, batch, seconds, useful_slots=useful)
        log_scale = np.sqrt(self.log_scale**2 + self._variance(batch, wanted) + crowded**2)
        return Forecast.of(seconds, np.where(np.isfinite(seconds), log_scale, np.nan), self.dof)

    def _mean_log(self, batch: ClusterBatch, wanted: Workload) -> FloatArray:
        """(n,) mean log time of the logs, the nearer ones more."""
        weights, far, _ = self._weights(batch, wanted)
        logs = [
            np.log(self._seconds(run, batch, wanted)) + away @ self.corrections.mean
            for run, away in zip(self.learnt, far, strict=True)
        ]
        return np.asarray(np.einsum("rn,rn->n", weights, np.asarray(logs)))

    def _variance(self, batch: ClusterBatch, wanted: Workload) -> FloatArray:
        """(n,) variance that what lies between the logs and the question adds."""
        weights, far, doubts = self._weights(batch, wanted)
        away = np.einsum("rn,rnk->nk", weights, far)
        variance = np.einsum("nj,jk,nk->n", away, self.corrections.covariance, away)
        doubt = np.einsum("rn,rn->n", weights, doubts)
        return np.asarray(variance + doubt**2)

    def _weights(
        self, batch: ClusterBatch, wanted: Workload
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(r, n) weights of the logs, (r, n, 2) their distances in doublings of slots and of
        input, and (r, n) the doubt about the machines' speed."""
        far, doubts = [], []
        for run in self.learnt:
            busy = np.minimum(batch.slots, max(run.most_useful_slots, run.slots))
            far.append(log2_distances(busy / run.slots, size_ratio(wanted, run.run)))
            doubts.append(batch.speeds(run.run.cluster.instance)[1])
        distances, doubt = np.asarray(far), np.asarray(doubts)
        return inverse_variance_weights(distances, doubt, repeated=self._repeated), distances, doubt

    def runs_used(self, workload: Workload) -> int:
        return len(self.learnt)

    @property
    def _runs(self) -> list[Run]:
        return [run.run for run in self.learnt]

    @cached_property
    def _repeated(self) -> IntArray:
        """(r,) how often the configuration of each log was run."""
        return times_run(configurations(self._runs))

    def _seconds(self, run: RunCosts, batch: ClusterBatch, wanted: Workload) -> FloatArray:
        """(n,) seconds by the costs of one run."""
        stages, overhead = _stages_of(run, wanted)
        at = clusters_of(run, batch)
        rows = np.column_stack((at.vcores, at.vcores_per_node, batch.type_index))
        _, distinct_rows, index = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        few = at.take(distinct_rows)
        seconds = predicted_seconds(stages, few, overhead_seconds=overhead)
        return seconds[index.reshape(-1)]

    def _heaviest(self, batch: ClusterBatch, wanted: Workload) -> RunCosts:
        """The run of the configuration that weighs most in the answer for the first cluster."""
        weights, _, _ = self._weights(batch, wanted)
        return self.learnt[int(np.argmax(weights[:, 0] * self._repeated))]

    def explain(self, batch: ClusterBatch, workload: Workload) -> Explanation:
        wanted = with_defaults(workload, self.profile)
        if not batch.slots[0] >= 1.0:
            return Explanation()
        run = self._heaviest(batch, wanted)
        stages, overhead = _stages_of(run, wanted)
        seconds = float(self.forecast(batch, workload).seconds[0])
        phases = report.phases(stages, clusters_of(run, batch), overhead, seconds=seconds)
        return Explanation(
            phases=phases,
            bottleneck=report.bottleneck(phases),
            job_profile=self._job_profile(run, batch, wanted, seconds),
        )

    def _job_profile(
        self, run: RunCosts, batch: ClusterBatch, wanted: Workload, seconds: float
    ) -> dict[str, float]:
        """A row of Table 3, and what the samples cost and tell."""
        figures: dict[str, float] = {}
        if wanted.input_bytes is not None and self.profile.input_unit == "bytes":
            figures["input_bytes"] = wanted.input_bytes
            figures["throughput_bytes_per_second"] = float(
                costs.throughput(data_bytes=wanted.input_bytes, seconds=seconds)
            )
        figures |= run.sizes(size_ratio(wanted, run.run))
        vcores = float(batch.vcores[0])
        memory = self._memory_gib(batch, wanted)
        own = costs.resource_time(seconds=seconds, vcores=vcores, memory_gib=memory)
        figures["resource_time_vcore_seconds"] = float(own)
        figures |= self._optima(run, batch, wanted, memory)
        samples = self._samples(batch, wanted)
        figures["simulations"] = float(samples.count)
        figures["mean_half_width_seconds"] = samples.half_width
        sampled = self._training_resource_times(with_memory=memory > 0.0)
        if sampled is not None:
            figures["training_cost_ratio"] = training_cost_ratio(
                sample_resource_times=sampled, resource_time=float(own)
            )
        return figures

    def _optima(
        self, run: RunCosts, batch: ClusterBatch, wanted: Workload, memory_gib: float
    ) -> dict[str, float]:
        """What the transformed model of 4.3 says of any number of vcores."""
        stages, overhead = _stages_of(run, wanted)
        law = transformed(stages, clusters_of(run, batch), overhead_seconds=overhead)
        return optima(law, gamma_3=costs.THETA * memory_gib)

    def _memory_gib(self, batch: ClusterBatch, wanted: Workload) -> float:
        """Heap of all executors of the one cluster: its own, else the assured one; 0 where neither
        is known, so that resource time counts vcores alone."""
        executors, heap = float(batch.executors[0]), float(batch.executor_memory_gib[0])
        if not math.isnan(heap):
            return executors * heap
        assured = self.assured_memory(wanted)
        if assured is None:
            return 0.0
        cores = int(batch.executor_cores[0])
        return executors * assured.executor_gib(executors=int(executors), executor_cores=cores)

    def _training_resource_times(self, *, with_memory: bool) -> list[float] | None:
        """Resource time of each log, of its vcores alone where the question's memory is not known;
        None where that is known and a log's is not, which would be memory at no price."""
        found = []
        for run in self.learnt:
            cluster, memory = run.run.cluster, 0.0
            if with_memory:
                if not cluster.executors or cluster.executor_memory_gib is None:
                    return None
                memory = cluster.executors * cluster.executor_memory_gib
            time = costs.resource_time(
                seconds=run.run.seconds, vcores=cluster.vcores or run.slots, memory_gib=memory
            )
            found.append(float(time))
        return found

    def _samples(self, batch: ClusterBatch, wanted: Workload) -> Estimate:
        """The logs as simulations of the question (Eqs. 4 to 6); of a single log, its tasks drawn
        again."""
        if len(self.learnt) > 1:
            seconds = [float(self._seconds(run, batch, wanted)[0]) for run in self.learnt]
            return estimate(seconds, confidence=CONFIDENCE)
        return self._simulated

    @cached_property
    def _simulated(self) -> Estimate:
        return simulated(self.learnt[0])

    def assured_memory(self, workload: Workload) -> AssuredMemory | None:
        """4.2.1: by elbows where runs tried several memory sizes, else by what the log cached, else
        by the peak of its tasks."""
        wanted = with_defaults(workload, self.profile)
        runs = sharing_parameters(self.profile.runs, wanted.parameters)
        by_runs = assured_by_runs(runs, input_bytes=wanted.input_bytes)
        if by_runs is not None:
            return by_runs
        run = min(self.learnt, key=lambda run: abs(math.log2(size_ratio(wanted, run.run))))
        ratio = size_ratio(wanted, run.run)
        in_bytes = self.profile.input_unit == "bytes"
        sample = run.run.workload.input_bytes if in_bytes else None
        if run.run.cached_bytes:
            return assured_by_cache(run.run.cached_bytes * ratio, sample_bytes=sample)
        peak = run.peak_bytes(ratio, wanted.shuffle_partitions)
        return None if peak is None else assured_by_peak(peak, sample_bytes=sample)

    def notices(self, batch: ClusterBatch, workload: Workload) -> tuple[Notice, ...]:
        wanted = with_defaults(workload, self.profile)
        places = range(len(batch.types))
        notices: list[Notice | None] = [self._speed_notice(batch, index) for index in places]
        ratios = np.asarray([size_ratio(wanted, run.run) for run in self.learnt])
        slots = np.asarray([float(run.slots) for run in self.learnt])
        notices += range_notices(batch.slots, slots, ratios)
        notices.append(one_machine_notice(self._runs, batch, law=Simcost.name))
        notices.append(partitions_notice(self._runs, wanted))
        if len(batch) == 1 and batch.slots[0] >= 1.0:
            run = self._heaviest(batch, wanted)
            notices.append(
                report.idle_notice(run, float(batch.slots[0]), size_ratio(wanted, run.run))
            )
            if len(self.learnt) > 1:
                notices.append(report.samples_notice(self._samples(batch, wanted)))
        return in_order(notices)

    def _speed_notice(self, batch: ClusterBatch, index: int) -> Notice | None:
        target = batch.types[index]
        speeds = [speed_of(target, r.run.cluster.instance, batch.catalog) for r in self.learnt]
        return transfer_notice(min(speeds, key=lambda speed: speed.log_scale), target)


def _stages_of(run: RunCosts, wanted: Workload) -> tuple[Stages, float]:
    """The (merged) stages of a run and O_J, for the wanted workload."""
    return run.at(
        ratio=size_ratio(wanted, run.run),
        shuffle_partitions=wanted.shuffle_partitions,
        iterations=wanted.iterations,
    )


def clusters_of(run: RunCosts, batch: ClusterBatch) -> Clusters:
    """The clusters of a batch as the costs of a run see them: the types' own network and disks
    where both they and the run's are known from the catalog, else the run's."""
    own = seconds_per_byte(run.rates)
    speed, _ = batch.speeds(run.run.cluster.instance)
    rates = np.tile(own, (len(batch.types), 1))
    if run.rates_from_shape:
        for index, kind in enumerate(batch.types):
            shape = None if kind is None else resources_of_shape(kind)
            if shape is not None:
                rates[index] = seconds_per_byte(costs.Rates.of(shape))
    with np.errstate(invalid="ignore"):
        per_node = np.where(np.isnan(batch.nodes), batch.cores_held, batch.slots / batch.nodes)
    return Clusters(
        vcores=batch.slots,
        vcores_per_node=per_node,
        speed=speed,
        rates=rates[batch.type_index],
        shared=run.rates.shared,
    )


def _pairs(learnt: Sequence[RunCosts]) -> RunPairs:
    """What each run's costs predict for each other run."""
    r = len(learnt)
    predicted, away = np.zeros((r, r)), np.zeros((r, r, 2))
    for i, source in enumerate(learnt):
        for j, target in enumerate(learnt):
            ratio = size_ratio(target.run.workload, source.run)
            stages, overhead = source.at(
                ratio=ratio, shuffle_partitions=None, iterations=target.run.workload.iterations
            )
            speed = speed_of(target.run.cluster.instance, source.run.cluster.instance, None)
            from_shapes = source.rates_from_shape and target.rates_from_shape
            rates = target.rates if from_shapes else source.rates
            at = target.cluster_with(rates, speed=speed.relative)
            seconds = predicted_seconds(stages, at, overhead_seconds=overhead)
            predicted[i, j] = math.log(float(seconds[0]))
            away[i, j] = math.log2(target.slots / source.slots), math.log2(ratio)
    runs = [run.run for run in learnt]
    seconds = np.asarray([run.seconds for run in runs])
    return RunPairs(predicted, away, seconds, configurations(runs))
