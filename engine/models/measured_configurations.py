"""How sure a time is at a configuration that was measured: as sure as a repetition would be.

A model's interval is about places that it has not seen. Where a run was made, the next one differs
from it by the noise of two runs, and what the model says by as much as it misses that run.
"""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray
from engine.models.design import Rows
from engine.models.run_times import RunTimes
from engine.run_noise import Noise


def where_measured(
    fit: RunTimes, noise: Noise, asked: Rows, told: tuple[FloatArray, FloatArray, FloatArray]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """(n,) log time, its scale and degrees of freedom as `told`, no wider where it was measured.

    Log T there is the measured one plus the noise of both runs, about which the mean lies so far
    off as it misses it; the mean stays, so that more input is never less time.

    Args:
        fit: to the runs.
        noise: what a run differs by from another of the same.
        asked: n places.
        told: what a model says of them.
    """
    mean, scale, dof = told
    own = dict(zip(map(bytes, fit.rows.configurations), fit.log_seconds.tolist(), strict=True))
    measured = np.full(len(asked), np.nan)
    places = np.flatnonzero(asked.kind >= 0)
    for place, row in zip(places, asked.configurations[places], strict=True):
        measured[place] = own.get(bytes(row), np.nan)
    repeated = np.hypot(np.sqrt(2.0) * noise.scale, measured - mean)
    surer = repeated < scale
    return mean, np.where(surer, repeated, scale), np.where(surer, noise.dof, dof)
