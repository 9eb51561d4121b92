"""Prior scales of the error of one log's prediction, and the input ratio of a workload to a log.

In: nothing, or a workload and a run. Out: scales of log time per doubling, and ratios. Explained in
docs/models/sparkplan_rules_logs.md#interval-of-logs.
"""

from __future__ import annotations

import math
from typing import TypeVar

import numpy as np

from engine.cluster import Workload
from engine.forecast import FloatArray, Forecast
from engine.models.workloads import input_ratio
from engine.profile import Run

PRIOR_DOF = 8.0
"""Degrees of freedom of the priors: they are no better known than from about ten logs."""

LOG_NOISE = 0.05
"""Prior: standard deviation of log time between two runs of the same job (notes of published
repetitions: 2 to 4 %), and of what a replay gets wrong where it was observed."""

NOISE_SECONDS = 1.5
"""Prior: standard deviation in seconds of starting executors, planning and writing between two
runs, however short."""

ERROR_PER_DOUBLING_SLOTS = 0.10
ERROR_PER_DOUBLING_INPUT = 0.10
"""Prior: standard deviation of the error of log time per doubling
(docs/models/sparkplan_rules_logs.md). They and `NOISE_SECONDS` are set by how many runs of
benchmarks/logs.py lie outside their intervals."""

MIN_CONFIGURATIONS_FOR_SPREAD = 4
"""Number of configurations of logs from which on leave-one-out errors alone give the interval, in
models that have no prior of them."""

SIZE_NOISE = 0.05
POWER_SPREAD = 0.3
"""Prior: standard deviations of log bytes (cached, or read by a stage) between two runs of a size,
and, around 1, of the power of the input with which they grow."""

DRIVER_SHARE_SURE = 0.3
"""Relative error of driver time, as a share of the error that task time would have."""

Share = TypeVar("Share", float, FloatArray)


def task_error_share(driver_share: Share) -> Share:
    """Share of a relative error of task time that shows in the run time, of which a share is driver
    time: 1 without driver time, `DRIVER_SHARE_SURE` where all of it is."""
    return DRIVER_SHARE_SURE + (1.0 - DRIVER_SHARE_SURE) * (1.0 - driver_share)


def size_ratio(wanted: Workload, run: Run) -> float:
    """`input_ratio`, exactly 1 for the same input."""
    ratio = input_ratio(wanted, run)
    return 1.0 if abs(ratio - 1.0) < SAME_INPUT else ratio


def with_least_scale(least: float, log_scale: float, dof: float) -> tuple[float, float]:
    """Scale and degrees of freedom, widened to the scale `least` of the noise that the logs show:
    logs of one hour meet the same machine, and agree better than the next run will. The added
    variance has no more degrees of freedom than a prior."""
    if least <= log_scale:
        return log_scale, dof
    wider = Forecast.of(np.ones(1), log_scale, dof).widened(math.sqrt(least**2 - log_scale**2))
    return least, min(float(wider.dof[0]), max(dof, PRIOR_DOF))


SAME_INPUT = 1e-3
"""Inputs that differ by less are the same: re-reads and metadata make as much."""
