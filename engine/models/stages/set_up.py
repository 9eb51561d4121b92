"""The set-up time of tasks: the part of their run time that does not depend on their data.

Readers, writers and connections take time however little there is to read. A log does not report
this part. It is inferred from how much a task read: of 50 ms in which it read 10 kB hardly anything
can have been work on these.

In: a stage, or seconds and the work of tasks. Out: the share of set-up, and scaled times. Explained
in docs/models/sparkplan_rules_replay.md#set-up.
"""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray
from engine.stage_run import StageRun

SET_UP_SECONDS = 0.2
SET_UP_SHARE = 0.5
"""Prior of the set-up time: so many seconds, or this share of a task's run time if that is less, go
to readers, writers, connections and code that is not compiled yet, whatever the data."""

MOST_SET_UP = 0.9
"""Largest share of set-up. The share is larger for tasks that are very short or read next to
nothing, but these may wait for what they read."""

TYPICAL_SECONDS, LOG_SCALE = 0.05, 1.0
"""Log-normal prior of the set-up time: median and standard deviation of the logarithm."""

BYTES_PER_SECOND, RECORDS_PER_SECOND, LOG_SCALE_OF_RATES = 10e6, 1e6, 2.0
"""Log-normal prior of the rates at which a core processes what it reads, so wide that it covers
Python functions and rows that are multiplied."""

SHARES = (np.arange(100) + 0.5) / 100
"""Grid of the posterior: inner points of [0, 1]."""


def set_up_share(stage: StageRun, seconds: float) -> float:
    """Share of a run time of `seconds` that does not grow with the task's data, up to
    `SET_UP_SECONDS`: the posterior mean under the two priors above, given their sum. `SET_UP_SHARE`
    if the log does not say what was read."""
    data_seconds = reading_seconds(stage)
    if data_seconds <= 0.0 or seconds <= 0.0:
        return SET_UP_SHARE
    return min(MOST_SET_UP, max(SET_UP_SHARE, 1.0 - share_of_data(seconds, data_seconds)))


def share_of_reading(stage: StageRun) -> float:
    """Posterior mean share of a task's time that goes to what it reads; 1 if the log does not say
    what was read."""
    data_seconds, seconds = reading_seconds(stage), stage.task_seconds.mean or 0.0
    return share_of_data(seconds, data_seconds) if data_seconds > 0.0 and seconds > 0.0 else 1.0


def reading_seconds(stage: StageRun) -> float:
    """Prior median of the time that a task of a stage takes for what it reads."""
    data_seconds = max(stage.read_bytes / BYTES_PER_SECOND, stage.read_records / RECORDS_PER_SECOND)
    # Of a log that breaks off, the tasks that ended are those that read.
    return data_seconds / max(1, stage.task_seconds.count)


def scaled_seconds(
    seconds: FloatArray,
    work: FloatArray | float,
    *,
    overhead_seconds: FloatArray | float,
    share: FloatArray | float,
) -> FloatArray:
    """(...) times of tasks with `work` times the data. The overhead outside their run time stays,
    and so does their set-up: the `share` of their run time, up to `SET_UP_SECONDS`. All arguments
    broadcast."""
    overhead = np.minimum(seconds, overhead_seconds)
    fixed = overhead + np.minimum(share * (seconds - overhead), SET_UP_SECONDS)
    return np.asarray(fixed + (seconds - fixed) * work)


def share_of_data(
    seconds: float, data_seconds: float, *, typical_seconds: float = TYPICAL_SECONDS
) -> float:
    """Posterior mean share of `seconds` that went to data, for which the prior median is
    `data_seconds` seconds, and for the rest `typical_seconds`."""
    shares = posterior_of_shares(seconds, data_seconds, typical_seconds=typical_seconds)
    return float(shares @ SHARES)


def posterior_of_shares(
    seconds: float,
    data_seconds: float,
    *,
    typical_seconds: float,
    log_scale: float = LOG_SCALE,
) -> FloatArray:
    """(100,) posterior probability of each of `SHARES`, the share of `seconds` that went to data.

    Both parts have a log-normal prior: the data part with median `data_seconds` and the scale
    `LOG_SCALE_OF_RATES`, the fixed part with the given median and scale. Their sum is known.
    """
    fixed = np.log((1.0 - SHARES) * seconds / typical_seconds) / log_scale
    data = np.log(SHARES * seconds / data_seconds) / LOG_SCALE_OF_RATES
    log_density = -0.5 * (fixed**2 + data**2) - np.log(SHARES * (1.0 - SHARES))
    density = np.exp(log_density - log_density.max())
    return np.asarray(density / density.sum())
