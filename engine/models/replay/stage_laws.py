"""Growth laws of stages fitted to several logs: of their work, their partitions, the driver's time.

Each stage of a log is compared with its counterpart in every other log
(`stages/stage_matching.py`), which shows how far the prior of a single log (`task_times.py` and
`warm_up.py` in `stages/durations`) is off. Two parameters are fitted per stage by a hierarchical
model with a common mean over the stages of a run: the share of its work that does not grow with the
input (or the power by which it grows faster), and the growth of task time per doubling of
concurrent tasks. Both are posterior means on a grid; where logs differ in neither slots nor input,
the prior stays. In: the replays of several logs. Out: a `StageLaw` for each stage of one of them.
Explained in docs/models/sparkplan_rules_logs.md#what-several-logs-show-of-each-stage.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.forecast import BoolArray, FloatArray
from engine.models.replay.priors import (
    ERROR_PER_DOUBLING_SLOTS,
    POWER_SPREAD,
    SIZE_NOISE,
    size_ratio,
)
from engine.models.replay.replayed_run import Replay
from engine.models.stages.closed_forms import StageBatch
from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.durations.warm_up import combined, warmed
from engine.models.stages.linked_stages import relinked
from engine.models.stages.outlines import outlines
from engine.models.stages.partitioning.derived_partitions import DerivedPartitions
from engine.models.stages.partitioning.factor_blocks import FactorBlocks
from engine.models.stages.partitioning.indexed_rows import rdd_partitions
from engine.models.stages.stage_law import StageLaw
from engine.models.stages.stage_matching import stage_counterparts
from engine.models.stages.stage_table import ScaledBatch
from engine.stage_run import StageRun

WORK_GRID = np.linspace(-1.0, 1.0, 33)
SLOTS_GRID = np.linspace(-0.3, 0.3, 13)
"""The grids of `StageLaw.work` and `StageLaw.slots`."""

WORK_SPREAD = 0.25
"""Prior: standard deviation of `StageLaw.work` of a run, and of a stage around its run."""

STAGE_NOISE = 0.12
STAGE_NOISE_SECONDS = 0.5
"""Prior: standard deviation of log task time of one stage between two runs, and the seconds whose
share of a stage's work is added in quadrature: short stages vary more."""

WINSORIZED_DEVIATIONS = 4.0
"""Errors are winsorized at so many standard deviations, so that one stage that met a busy disk does
not decide."""

MAX_EFFECTIVE_STAGES = 8.0
"""Effective number of independent stages of a run, at most: they share what disturbs the run."""

DRIVER_SPREAD = 0.3
DRIVER_NOISE = 0.2
"""Prior: standard deviation of the share of driver time that grows with the input, and of log
driver time between two runs."""

RULE_TOLERANCE = 0.1
"""Partitions of another log within one of what Spark's rules predict, or within this share, agree
with these."""

MIN_LOG_INPUT_RATIO = 0.2
"""Inputs closer than this (in log) say nothing of growth."""


@dataclass(frozen=True, eq=False)
class PairFit:
    """The comparison of the s stages of log i with their counterparts in log j.

    Args:
        likelihood: (s, work, slots) log-likelihood on the grid; 0 where a stage has no counterpart.
        partition_power: (s,) power of the input with which partitions grow; NaN where unknown or
            where Spark's partitioning rules predict the observed number.
        task_power: (s,) power of the input with which tasks grow, also where the rules predict it:
            that of the partitions, but where a task is left out (`indexed_rows.py`).
        data_power: (s,) power of the input with which the bytes grow that a stage reads; NaN if
            unknown.
        by_cores: (s,) whether both logs have one partition per core, on different numbers of cores,
            or as many blocks as `FactorBlocks` has in both.
        driver: (x - 1, y - 1) of the input x and the driver's time y of j relative to i.
        tasks: (s,) tasks in j; NaN where a power of the partitions cannot be learnt from j.
        slots, ratio: the slots of j, and its input relative to i.
    """

    likelihood: NDArray[np.float32]
    partition_power: FloatArray
    task_power: FloatArray
    data_power: FloatArray
    by_cores: BoolArray
    driver: tuple[float, float]
    tasks: FloatArray
    slots: int
    ratio: float


def pair_fit(one: Replay, other: Replay, *, incomparable: Collection[int] = ()) -> PairFit:
    """Compares log `one` with log `other`. On different instance types the effects of machine and
    growth cannot be separated, and nothing is learnt.

    Args:
        incomparable: indices of stages of `one` that did different work in `other` (read a cache
            that had not fitted).
    """
    stages, ratio = len(one.models), size_ratio(other.run.workload, one.run)
    likelihood = np.zeros((stages, len(WORK_GRID), len(SLOTS_GRID)), dtype=np.float32)
    partition_power, task_power, data_power, tasks = np.full((4, stages), np.nan)
    by_cores = np.zeros(stages, dtype=bool)
    if _machine(one) != _machine(other):
        return PairFit(
            likelihood, partition_power, task_power, data_power, by_cores, (0.0, 0.0), tasks,
            other.slots, ratio,
        )  # fmt: skip
    log_ratio, (speed, _) = math.log(ratio), one.node_load.speed_on(other.run)
    inputs_differ = abs(log_ratio) > MIN_LOG_INPUT_RATIO
    for index, counterpart_index in enumerate(stage_counterparts(one.run, other.run)):
        if counterpart_index is None or index in incomparable:
            continue
        model, counterpart = one.models[index], other.models[counterpart_index]
        both_per_core = _may_follow_cores(model) and _may_follow_cores(counterpart)
        by_cores[index] = both_per_core and model.stage.tasks != counterpart.stage.tasks
        if inputs_differ:
            tasks[index] = counterpart.stage.tasks
            task_power[index] = math.log(counterpart.stage.tasks / model.stage.tasks) / log_ratio
            if not _follows_rules(model, counterpart.stage.tasks, other.slots, ratio):
                there, here = rdd_partitions(counterpart.stage), rdd_partitions(model.stage)
                partition_power[index] = math.log(there / here) / log_ratio
            data_power[index] = _data_power(model, counterpart.stage, other.slots, ratio)
        likelihood[index] = _likelihood(one, index, counterpart, other.slots, ratio, speed)
    driver = _driver_growth_point(one, other, ratio) if inputs_differ else (0.0, 0.0)
    return PairFit(
        likelihood, partition_power, task_power, data_power, by_cores, driver, tasks, other.slots,
        ratio,
    )  # fmt: skip


def _may_follow_cores(model: StageModel) -> bool:
    """Whether a stage has one partition per core, or derived ones that have it on enough cores."""
    return model.follows_cores or isinstance(model.root, FactorBlocks)


def _driver_growth_point(one: Replay, other: Replay, ratio: float) -> tuple[float, float]:
    """`PairFit.driver`; zeros where log `one` shows no driver time that may grow, or where the
    other had other iterations, each with driver time of its own."""
    seconds = one.driver.growing_seconds
    if seconds <= 0.0 or one.run.workload.iterations != other.run.workload.iterations:
        return 0.0, 0.0
    return ratio - 1.0, other.driver.growing_seconds / seconds - 1.0


def _follows_rules(model: StageModel, tasks: int, slots: int, ratio: float) -> bool:
    """Whether Spark's partitioning rules predict so many tasks; then they extrapolate better to
    other inputs and clusters than any power of the input."""
    return abs(model.scaled(ratio, None, slots).tasks - tasks) <= max(1.0, RULE_TOLERANCE * tasks)


def _data_power(model: StageModel, other: StageRun, slots: int, ratio: float) -> float:
    """Power of the input with which the bytes grow that a stage reads on its own cluster, by ridge
    regression (least squares with a prior) towards the power that its own log predicts; NaN where
    either log reads none.

    Args:
        other: the counterpart, in a run on `slots` slots with `ratio` times the input.
    """
    observed_bytes, log_ratio = model.stage.read_bytes, math.log(ratio)
    if min(observed_bytes, other.read_bytes) <= 0.0:
        return math.nan
    prior = (SIZE_NOISE / POWER_SPREAD) ** 2
    own_growth = model.read_growth(ratio)
    other_growth = model.read_growth(ratio, slots * model.partitioning.cores_per_slot)
    expected = math.log(own_growth) / log_ratio
    grown = math.log(other.read_bytes / observed_bytes * own_growth / other_growth)
    return (log_ratio * grown + prior * expected) / (log_ratio**2 + prior)


def _machine(replay: Replay) -> str | None:
    instance = replay.run.cluster.instance
    return instance.name if instance else None


def _likelihood(
    one: Replay, index: int, counterpart: StageModel, slots: int, ratio: float, speed: float
) -> NDArray[np.float32]:
    """(work, slots) log-likelihood of the stage's law at each grid point, given its task time in
    another log on slots of a relative `speed` (slots of denser nodes are slower)."""
    model, stage, count = one.models[index], one.models[index].stage, counterpart.stage.tasks
    cores = slots * model.partitioning.cores_per_slot
    base = model.prior_work_growth(ratio, count / stage.tasks, cores)
    own_seconds, seconds = stage.task_seconds.total, counterpart.stage.task_seconds.total
    if min(own_seconds, seconds, model.mean_seconds) <= 0.0:
        return np.zeros((len(WORK_GRID), len(SLOTS_GRID)), dtype=np.float32)
    work = (
        np.asarray([StageLaw(law).work_growth(ratio, base) for law in WORK_GRID])
        * stage.tasks
        / count
    )
    tasks_in_log = model.scaled(ratio, None).tasks if model.depends_on_cluster else count
    expected = expected_task_seconds(
        one, index, work, tasks=count, slots=slots, tasks_in_log=tasks_in_log
    )
    doublings = math.log2(
        model.concurrent_tasks(slots, count) / model.concurrent_tasks(model.ran_on)
    )
    log_growth = np.log(expected * count / (model.mean_seconds * stage.tasks))
    residual = math.log(seconds * speed / own_seconds) - log_growth[:, None]
    residual = residual - SLOTS_GRID * doublings
    noise = math.hypot(STAGE_NOISE, STAGE_NOISE_SECONDS / min(own_seconds, seconds))
    deviations = np.minimum(np.abs(residual / noise), WINSORIZED_DEVIATIONS)
    return np.asarray(-0.5 * deviations**2, dtype=np.float32)


def expected_task_seconds(
    replay: Replay, index: int, work: FloatArray, *, tasks: int, slots: int, tasks_in_log: int
) -> FloatArray:
    """(n,) mean task time of a stage with so many tasks, each with (n,) `work`, predicted from this
    log alone: as `StageModel.tasks` and `StageBatch`.

    Args:
        tasks_in_log: number of tasks that the same work has on the log's own slots.
    """
    model = replay.models[index]
    doublings = math.log2(
        model.concurrent_tasks(slots, tasks) / model.concurrent_tasks(model.ran_on)
    )
    warm = np.zeros_like(work)
    if model.warm_up is not None:
        in_log = _observed_size(replay, index, tasks_in_log).in_log[:, 0]
        task_work_in_log = work * tasks / tasks_in_log
        factor = warmed(
            model.warm_up.mean,
            in_log[0] * task_work_in_log,
            busiest=_observed_size(replay, index, tasks).busiest(slots) * work,
            busiest_in_log=in_log[1] * task_work_in_log,
            work=work,
            mean_seconds=model.mean_seconds,
            fixed_seconds=model.fixed_seconds,
            late_fixed_seconds=model.late_fixed_seconds,
        )
        warm = np.log(factor)
    log_contention = np.full_like(work, replay.contention_growth[index] * doublings)
    seconds = model.fixed_seconds + (model.mean_seconds - model.fixed_seconds) * work
    contention, warm = (np.exp(logs) for logs in combined(log_contention, warm))
    times = model.scaled_quantiles(work)
    beside_others = np.minimum(times, seconds[:, None]).mean(axis=1) / times.mean(axis=1)
    return np.asarray(seconds * (1.0 + (contention - 1.0) * beside_others) * warm)


def _observed_size(replay: Replay, index: int, tasks: int) -> StageBatch:
    """The closed form of so many tasks of a stage, each with the observed mean work."""
    table, stage = replay.table_without_idle_time, np.asarray([index])
    batch = ScaledBatch(*np.asarray([[float(tasks)], [1.0], [1.0]]))
    return StageBatch.of(table, stage, batch, outlines(table, stage, batch))


def with_laws(replay: Replay, weighted_pairs: Sequence[tuple[PairFit, float]]) -> Replay:
    """The replay with the growth laws of its stages fitted to comparisons with other logs.

    Args:
        weighted_pairs: comparisons and their weights (powers of their likelihoods): logs of one
            configuration share a weight of 1.
    """
    if not weighted_pairs:
        return replay
    pairs = [pair for pair, _ in weighted_pairs]
    weighted = [weight * pair.likelihood for pair, weight in weighted_pairs]
    likelihood = np.sum(weighted, axis=0, dtype=float)
    work = np.asarray([model.stage.task_seconds.total for model in replay.models])
    share = work / work.sum() if work.sum() > 0.0 else np.full(len(work), 1.0 / len(work))
    effective_stages = min(MAX_EFFECTIVE_STAGES, 1.0 / float((share**2).sum()))
    prior_work = np.asarray([model.law.work for model in replay.models])
    prior = _log_prior(float(share @ prior_work), 0.0)
    run_law_mean = _posterior_mean(
        np.einsum("s,swm->wm", share * effective_stages, likelihood) + prior
    )
    stage_prior = _log_prior(*run_law_mean)
    partition_powers = _clipped_median(np.stack([pair.partition_power for pair in pairs]))
    task_powers = _clipped_median(np.stack([pair.task_power for pair in pairs]))
    data_powers = _clipped_median(np.stack([pair.data_power for pair in pairs]))
    by_cores = np.any([pair.by_cores for pair in pairs], axis=0)
    powers = zip(partition_powers, task_powers, data_powers, strict=True)
    laws = [
        _law(stage_likelihood + stage_prior, *stage_powers)
        for stage_likelihood, stage_powers in zip(likelihood, powers, strict=True)
    ]
    models = relinked(
        replace(model, law=replace(law, by_cores=bool(per_core)))
        for model, law, per_core in zip(replay.models, laws, by_cores, strict=True)
    )
    models = _by_derived_partitions(models, pairs)
    expected_share = replay.driver.mean_rows_share
    points = [(*pair.driver, weight) for pair, weight in weighted_pairs]
    return replace(
        replay,
        models=tuple(models),
        driver_growth=_driver_growth_share(points, expected_share) - expected_share,
    ).with_empty_cache()


def _by_derived_partitions(
    models: Sequence[StageModel], pairs: Sequence[PairFit]
) -> list[StageModel]:
    """The stages, of which those of derived partitions follow the rule for these if it predicts all
    logs (`_follows_rules`) from what was learnt of the stage that they derive from; otherwise the
    fitted power of their tasks."""
    derived = [isinstance(model.root, DerivedPartitions) for model in models]
    if not any(derived):
        return list(models)
    by_rule = relinked(
        _with_partition_power(model, None) if is_derived else model
        for model, is_derived in zip(models, derived, strict=True)
    )
    return relinked(
        model
        if not is_derived or all(_agrees(model, index, pair) for pair in pairs)
        else _with_partition_power(model, model.law.task_power)
        for index, (model, is_derived) in enumerate(zip(by_rule, derived, strict=True))
    )


def _with_partition_power(model: StageModel, power: float | None) -> StageModel:
    return replace(model, law=replace(model.law, partition_power=power))


def _agrees(model: StageModel, index: int, pair: PairFit) -> bool:
    """Whether a log has so many tasks as a stage is predicted to have there, or does not tell."""
    tasks = pair.tasks[index]
    return math.isnan(tasks) or _follows_rules(model, int(tasks), pair.slots, pair.ratio)


def _log_prior(work: float, slots: float) -> FloatArray:
    """(work, slots) log density of the normal prior of a law around the given mean."""
    work_square = ((WORK_GRID - work) / WORK_SPREAD) ** 2
    slots_square = ((SLOTS_GRID - slots) / ERROR_PER_DOUBLING_SLOTS) ** 2
    return np.asarray(-0.5 * (work_square[:, None] + slots_square))


def _posterior_mean(log_density: FloatArray) -> tuple[float, float]:
    """Mean (work, slots) of an unnormalised log density on the grid."""
    density = np.exp(log_density - log_density.max())
    density /= density.sum()
    return float(density.sum(axis=1) @ WORK_GRID), float(density.sum(axis=0) @ SLOTS_GRID)


def _law(log_density: FloatArray, *powers: float) -> StageLaw:
    """The law of a stage with this posterior, and its powers of partitions, tasks and data (NaN
    where unknown)."""
    work, slots = _posterior_mean(log_density)
    partition_power, task_power, data_power = (
        None if math.isnan(power) else float(power) for power in powers
    )
    return StageLaw(work, partition_power, slots, data_power, task_power)


def _clipped_median(values: FloatArray) -> FloatArray:
    """(s,) median over the known of (p, s) values, clipped to [0, 1.5]; NaN where none is known."""
    known = ~np.isnan(values).all(axis=0)
    medians = np.full(values.shape[1], np.nan)
    if known.any():
        medians[known] = np.clip(np.nanmedian(values[:, known], axis=0), 0.0, 1.5)
    return medians


def _driver_growth_share(points: Sequence[tuple[float, float, float]], expected: float) -> float:
    """Share of the driver's time that grows with the input, by ridge regression towards `expected`.

    Args:
        points: (x - 1, y - 1, weight) of relative inputs x and driver times y.
        expected: the share that the log itself suggests.
    """
    x, y, share = np.asarray(points).T
    if not x.any():
        return expected
    noise = (DRIVER_NOISE / DRIVER_SPREAD) ** 2
    weight = share / (1.0 + np.maximum(x, y)) ** 2
    slope = float(((weight * x * y).sum() + noise * expected) / ((weight * x * x).sum() + noise))
    return min(1.0, max(0.0, slope))
