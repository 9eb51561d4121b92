"""Configurations that were measured: which runs repeat one another, which are outliers, and the
interval of a time where a run was made.

A model's interval is about points that it has not seen. Where a run was made, the next one differs
from it by the noise of two runs, and the model's mean by its residual there.

In: the runs, their fits, and wanted rows. Out: leave-one-out predictions, outliers, and log times
narrowed where a run was made. Explained in
docs/models/sparkplan_rules_run_tables.md#interval-of-run-times.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.base import LeaveOneOut
from engine.models.curves.machines import MachineRuns
from engine.models.laws.encoding import Rows
from engine.models.laws.run_times import LogTimes, RunTimeFit
from engine.models.laws.weighted_fits import WeightedFit
from engine.profile import Run
from engine.runs.configurations import SAME_SIZE, size_levels
from engine.runs.run_noise import Noise
from engine.runs.slow_runs import SuspectedOutlier


def with_shared_sizes(rows: Rows) -> Rows:
    """The rows, with repetitions (`engine.runs.configurations`) at their mean size.

    The same input is seldom read to the same byte: with their own sizes, repetitions would count as
    different configurations, and a left-out one be predicted by the others.
    """
    keys = np.column_stack((_without_size(rows), size_levels(rows.size)))
    _, first, group = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    # By differences from one of them: the mean of equal numbers is that number to the last digit.
    base = rows.size[first]
    apart = np.bincount(group, rows.size - base[group]) / np.bincount(group)
    return replace(rows, size=(base + apart)[group])


def observed_runs(tables: Sequence[MachineRuns]) -> list[Run]:
    """(n,) all runs, in the order of their rows."""
    return [run for table in tables for run in table.observed]


def unrepeated_runs(
    tables: Sequence[MachineRuns], configuration_index: IntArray
) -> tuple[Run | None, ...]:
    """(r,) the run of each configuration, from the configurations (n,) of all runs; None where
    there are several."""
    run_of = dict(zip(configuration_index.tolist(), observed_runs(tables), strict=True))
    repeated = np.bincount(configuration_index) > 1
    return tuple(None if repeated[index] else run_of[index] for index in range(len(repeated)))


def unusual_runs(fits: Sequence[RunTimeFit], runs: Sequence[Run | None]) -> list[SuspectedOutlier]:
    """The outliers, each with the least weight that any of the fits gives it.

    Args:
        fits: that of all runs first, then those of some of them.
        runs: (r,) of each configuration of the first; None where there are several.
    """
    unusual: dict[int, SuspectedOutlier] = {}
    for fit in fits:
        for index, configuration in enumerate(fits[0].indices_of(fit.rows).tolist()):
            run, run_weight = runs[configuration], float(fit.run_weights[index])
            least = unusual[configuration].count if configuration in unusual else 1.0
            if run is not None and fit.leave_one_out is not None and run_weight < least:
                unusual[configuration] = SuspectedOutlier(
                    run, math.exp(fit.leave_one_out.errors[index]), run_weight
                )
    return [unusual[configuration] for configuration in sorted(unusual)]


def leave_one_out_record(
    fits: Sequence[Sequence[WeightedFit]],
    tables: Sequence[MachineRuns],
    configuration_index: IntArray,
) -> LeaveOneOut | None:
    """Predictions for runs of the wanted parameters, each without all runs of its configuration;
    for all runs where no type has enough of them. An outlier is no error of a model that says so:
    runs named as unusual take no part.

    Args:
        fits: the weighted fits of each type, that of all runs first.
        configuration_index: (n,) configuration of each run in the first, in the tables' order.
    """
    joint = fits[0][0].fit
    if joint.leave_one_out is None:
        return None
    errors, outliers = np.full(len(joint.rows), np.nan), joint.run_weights < 1.0
    for type_fits in fits:
        if len(type_fits) == 2 and type_fits[1].fit.leave_one_out is not None:
            at = joint.indices_of(type_fits[1].fit.rows)
            both = joint.leave_one_out.errors[at], type_fits[1].fit.leave_one_out.errors
            errors[at] = type_fits[0].weight * both[0] + type_fits[1].weight * both[1]
            outliers[at] |= type_fits[1].fit.run_weights < 1.0
    if np.isnan(errors).all():
        errors = joint.leave_one_out.errors
    predicted = np.exp(joint.log_seconds - np.where(outliers, np.nan, errors))[configuration_index]
    actual = np.asarray([run.seconds for run in observed_runs(tables)])
    known = ~np.isnan(predicted)
    if not known.any():
        return None
    return LeaveOneOut(tuple(predicted[known].tolist()), tuple(actual[known].tolist()))


def narrowed_where_measured(
    fit: RunTimeFit, noise: Noise, rows: Rows, predicted: LogTimes
) -> LogTimes:
    """Log times as `predicted`, with a scale no wider than that of a repetition where they were
    measured.

    Log T there is the measured one plus the noise of both runs; the mean's distance from it is
    added to the scale. The mean itself stays, so that it remains monotone in the size.

    Args:
        fit: to the runs.
        noise: scale of log time among repetitions.
        rows: n points.
        predicted: their log times by a model.
    """
    mean, scale, dof = predicted
    measured = _measured(fit, rows)
    repetition_scale = np.hypot(np.sqrt(2.0) * noise.scale, measured - mean)
    narrower = repetition_scale < scale
    dof = np.where(narrower[1], noise.dof, dof)
    return LogTimes(mean, np.where(narrower, repetition_scale, scale), dof)


def _measured(fit: RunTimeFit, rows: Rows) -> FloatArray:
    """(n,) log time measured at each row's configuration, at the nearest size that is the same;
    else NaN."""
    by_configuration: dict[bytes, list[tuple[float, float]]] = {}
    runs = zip(_without_size(fit.rows), fit.rows.size.tolist(), fit.log_seconds, strict=True)
    for row, size, log_seconds in runs:
        by_configuration.setdefault(bytes(row), []).append((size, float(log_seconds)))
    measured = np.full(len(rows), np.nan)
    indices = np.flatnonzero(rows.type_index >= 0)
    for index, row in zip(indices, _without_size(rows)[indices], strict=True):
        size = float(rows.size[index])
        near = [
            (max(size / seen, seen / size), log)
            for seen, log in by_configuration.get(bytes(row), ())
        ]
        factor, log_seconds = min(near, default=(np.inf, np.nan))
        if factor <= SAME_SIZE:
            measured[index] = log_seconds
    return measured


def _without_size(rows: Rows) -> FloatArray:
    """(n, .) all numbers of each row but its size."""
    return replace(rows, size=np.zeros(len(rows))).configurations
