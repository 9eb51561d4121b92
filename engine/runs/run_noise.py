"""Estimates the noise between runs of one configuration from repetitions, with a prior.

Without repetitions, run-to-run noise and the error of the model at each configuration look the
same. Then a prior decides, which a few repetitions outweigh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.profile import Profile
from engine.runs.configurations import scatter

RUN_NOISE, NOISE_DOF = 0.02, 4.0
"""Prior scale of log time between repetitions, and its weight in repetitions (degrees of freedom).
Published repetitions differ by 1 to 4 % (medians of a few, on public run tables, by 1.4 %): with so
few degrees of freedom nine of ten lie within 4 %."""

MODEL_SPREAD = 0.1
"""Standard deviation of log time of a model's error at single configurations of a run table, such
as the edge of a memory cliff: so much misfit does not imply noisy runs. The scale of `sparkplan` at
its own runs is 0.05 to 0.07 in the middle of designs of 6 and 10 runs of public tables, and at most
0.15 in nine of ten; with another 0.4 of noise it is 0.13 to 0.22."""

NOISE_SHARE_OF_LOG = 0.5
"""Share of the error variance of a model of logs that is attributed to the noise of runs; the rest
is model error. Without repetitions the two cannot be separated."""


@dataclass(frozen=True, slots=True)
class Noise:
    """Student's distribution of the log time of one run about the expected one.

    Args:
        scale: scale of log time.
        dof: degrees of freedom: how well the scale is known.
    """

    scale: float
    dof: float


def run_noise(profile: Profile, model_scale: FloatArray, *, fitted: float = 0.0) -> Noise:
    """The noise of a profile's runs: the posterior of a common scale of log time.

    The variance has a scaled inverse chi-square prior (Gelman et al., Bayesian Data Analysis, 3.2),
    which the scatter within each configuration updates; all configurations share it. The scale of
    the prior comes from the model's own scale at the observed runs. For logs, each of which is
    compared with its own replay, it is the share `NOISE_SHARE_OF_LOG` of that variance. For run
    times it is the variance beyond `MODEL_SPREAD`, without the scatter that counts already. A fit
    that separates noise from a smooth course may give a larger one.

    Args:
        model_scale: (r,) scale of log time that the model predicts for each run; NaN if it gives no
            interval.
        fitted: scale of the noise by a fit to the runs; 0 if there is none.
    """
    squares, repeated = scatter(profile.runs)
    dof = NOISE_DOF + repeated
    known = model_scale[np.isfinite(model_scale)]
    by_model = float(np.median(known)) ** 2 if len(known) else 0.0
    if profile.has_stages:
        by_model *= NOISE_SHARE_OF_LOG
    else:
        by_model -= MODEL_SPREAD**2 + squares / dof
    prior = max(RUN_NOISE**2, by_model, fitted**2)
    return Noise(math.sqrt((NOISE_DOF * prior + squares) / dof), dof)
