"""How much of a task's run time has nothing to do with its data.

Readers, writers and connections take so long however little there is to read. A log tells the two
apart by no number of its own, but by how much a task read: of 50 ms in which it read 10 kB hardly
anything can have been work on these.
"""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray
from engine.stage_run import StageRun

SET_UP_SECONDS = 0.2
SET_UP_SHARE = 0.5
"""Prior: so much of a task's run time, or this share of it if that is less, goes to readers,
writers, connections and code that is not compiled yet, however much data it has."""

MOST_SET_UP = 0.9
"""The share is more where a task is very short or read next to nothing, and never more than this:
what it read next to nothing of may be what it waits for."""

TYPICAL_SECONDS, LOG_SCALE = 0.05, 1.0
"""Prior of the part that is fixed: a log-normal."""

BYTES_PER_SECOND, RECORDS_PER_SECOND, LOG_SCALE_OF_RATES = 10e6, 1e6, 2.0
"""Prior of how fast a core goes through what it reads: log-normal too, and so wide that functions
in Python and rows that become many are in it."""

SHARES = (np.arange(100) + 0.5) / 100
"""Where the posterior is taken: inner points of [0, 1]."""


def set_up_share(stage: StageRun, seconds: float) -> float:
    """Share of so many seconds of run time that does not grow with the task's data, as far as they
    are within `SET_UP_SECONDS`: its posterior mean, with the two priors above, given their sum.
    Where a log does not say what was read it is `SET_UP_SHARE`."""
    on_data = reading_seconds(stage)
    if on_data <= 0.0 or seconds <= 0.0:
        return SET_UP_SHARE
    return min(MOST_SET_UP, max(SET_UP_SHARE, 1.0 - share_of_data(seconds, on_data)))


def share_of_reading(stage: StageRun) -> float:
    """Posterior mean share of a task's time that goes to what it reads; all of it where a log does
    not say what was read."""
    on_data, seconds = reading_seconds(stage), stage.task_seconds.mean or 0.0
    return share_of_data(seconds, on_data) if on_data > 0.0 and seconds > 0.0 else 1.0


def reading_seconds(stage: StageRun) -> float:
    """How long the prior expects a task of a stage to take for what it reads."""
    records = (stage.input_records or 0.0) + (stage.shuffle_read_records or 0.0)
    on_data = max(stage.read_bytes / BYTES_PER_SECOND, records / RECORDS_PER_SECOND)
    return on_data / max(1, stage.task_seconds.count)  # of a log that breaks off: those that ended


def stretched(
    seconds: FloatArray,
    work: FloatArray | float,
    *,
    overhead_seconds: FloatArray | float,
    share: FloatArray | float,
) -> FloatArray:
    """(...) times of tasks whose data is `work` times as much: what is outside their run time
    stays, and so does the `share` of that, up to `SET_UP_SECONDS`. All broadcast."""
    outside = np.minimum(seconds, overhead_seconds)
    fixed = outside + np.minimum(share * (seconds - outside), SET_UP_SECONDS)
    return np.asarray(fixed + (seconds - fixed) * work)


def share_of_data(seconds: float, on_data: float) -> float:
    """Posterior mean share of `seconds` that went to data which the prior expects to take
    `on_data` seconds."""
    return float(posterior_of_shares(seconds, on_data) @ SHARES)


def posterior_of_shares(
    seconds: float,
    on_data: float,
    *,
    typical_seconds: float = TYPICAL_SECONDS,
    log_scale: float = LOG_SCALE,
) -> FloatArray:
    """(100,) how likely each of `SHARES` of `seconds` went to data which the prior expects to take
    `on_data` seconds, where the part that is fixed has the given log-normal prior."""
    fixed = np.log((1.0 - SHARES) * seconds / typical_seconds) / log_scale
    data = np.log(SHARES * seconds / on_data) / LOG_SCALE_OF_RATES
    log_density = -0.5 * (fixed**2 + data**2) - np.log(SHARES * (1.0 - SHARES))
    density = np.exp(log_density - log_density.max())
    return np.asarray(density / density.sum())
