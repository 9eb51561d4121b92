"""How much two runs of the same thing differ, learnt from repetitions.

Where nothing was repeated, a scatter of runs and what is peculiar to each place look the same; then
a prior decides, which a few repetitions outweigh.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.profile import Profile
from engine.runs.configurations import scatter

RUN_NOISE, NOISE_DOF = 0.02, 4.0
"""Prior: scale of log time between repetitions of one run, and for how many repetitions it counts.
Published repetitions differ by 1 to 4 % (medians of a few, on public run tables, by 1.4 %): with so
few degrees of freedom nine of ten lie within 4 %."""

PECULIAR = 0.1
"""Standard deviation of log time of what a place has of its own, such as the edge of a memory
cliff: so far a model may be off where a run table was measured without its runs being noisy. The
scale of `sparkplan` at its own runs is 0.05 to 0.07 in the middle of designs of 6 and 10 runs of
public tables, and at most 0.15 in nine of ten; with another 0.4 of noise it is 0.13 to 0.22."""

OF_A_LOG = 0.5
"""Share of the variance with which a model of logs misses them that is the noise of runs: it misses
by that and by what it gets wrong there, and without repetitions the two look the same."""


@dataclass(frozen=True, slots=True)
class Noise:
    """A Student law of what one run differs by.

    Args:
        scale: of log time.
        dof: degrees of freedom: how well the scale is known.
    """

    scale: float
    dof: float


def run_noise(profile: Profile, model_scale: FloatArray, *, fitted: float = 0.0) -> Noise:
    """The noise of a profile's runs.

    The variance has an inverse chi-square prior (Gelman et al., Bayesian Data Analysis, 3.2), which
    the scatter within each configuration updates; all configurations share it. The prior is what
    the model says of places where it has seen a run: `OF_A_LOG` of that for logs, each of which is
    held against its own replay; for run times what is beyond `PECULIAR`, and not the scatter again,
    or what a fit that tells noise from a smooth course took for noise.

    Args:
        model_scale: (r,) scale of log time that the model foretells for each of the runs; NaN where
            it gives no interval.
        fitted: scale of the noise that a fit to the runs found; 0 where none did.
    """
    squares, repeated = scatter(profile.runs)
    dof = NOISE_DOF + repeated
    known = model_scale[np.isfinite(model_scale)]
    by_model = float(np.median(known)) ** 2 if len(known) else 0.0
    if profile.has_stages:
        by_model *= OF_A_LOG
    else:
        by_model -= PECULIAR**2 + squares / dof
    prior = max(RUN_NOISE**2, by_model, fitted**2)
    return Noise(math.sqrt((NOISE_DOF * prior + squares) / dof), dof)
