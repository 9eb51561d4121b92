"""How far machine types differ at equal cores: the spread of their effects, learnt from the runs.

Types of one job may take all but the same time, or a third more. Which it is decides how much one
run of a type says of its other clusters. A spread that is too large takes what is peculiar to that
run for the type, and a type that was run once is predicted worse than one that never was.

The spread is the posterior mean of its logarithm under a log-normal prior, given the residuals that
the mean law leaves, with the noise integrated out (empirical Bayes: Rasmussen and Williams,
Gaussian Processes for Machine Learning, 5.2 and 2.7).
"""

from __future__ import annotations

import numpy as np

from engine.forecast import FloatArray
from engine.models.laws.observations import NOISE_DOF, NOISE_SCALE

TYPE_SD, TYPE_SD_LOG_SPREAD = 0.1, 0.7
"""Prior median of the standard deviation of log time among machine types at equal cores, and the
standard deviation of its log: nine jobs in ten lie between 0.03 and 0.3. Measured types of one
family differ by 0.07 to 0.16, those of two by 0.24 and more, of which memory is a part."""

_STANDARD_LOGS = np.linspace(-2.5, 2.5, 11)
"""Grid of the log of the spread, in prior standard deviations about the prior median."""

_NOISE_FACTORS = np.exp(np.linspace(-0.9, 0.9, 9))
"""Grid of the noise over its estimate."""


def posterior_type_sd(
    effects: FloatArray,
    types: slice,
    residuals: FloatArray,
    noise: float,
    run_weights: FloatArray,
) -> float:
    """The spread of the effects of types, given r residuals about the mean law.

    Args:
        effects: (r, e) columns of the linear effects, each times its prior standard deviation,
            those of types times `TYPE_SD`.
        types: which columns are effects of types.
        residuals: (r,) log time less the law's.
        noise: estimate of the standard deviation of log time about effects.
        run_weights: (r,) what the variance of each run's noise is divided by.
    """
    scales = np.ones((len(_STANDARD_LOGS), effects.shape[1]))
    scales[:, types] = np.exp(TYPE_SD_LOG_SPREAD * _STANDARD_LOGS)[:, None]
    log_evidence = _log_evidence(
        effects, scales, residuals, noise * _NOISE_FACTORS, run_weights
    ) - 0.5 * (_STANDARD_LOGS**2)
    probability = np.exp(log_evidence - log_evidence.max())
    mean = probability @ _STANDARD_LOGS / probability.sum()
    return float(TYPE_SD * np.exp(TYPE_SD_LOG_SPREAD * mean))


def _log_evidence(
    effects: FloatArray,
    scales: FloatArray,
    residuals: FloatArray,
    noise: FloatArray,
    run_weights: FloatArray,
) -> FloatArray:
    """(s,) log marginal likelihood, up to a constant, of residuals (r,) with effects (r, e) times
    each of s scales (s, e), averaged over k noises (k,) by their inverse chi-square prior.

    With as many effects as types, and many more runs, the matrix inversion and determinant lemmas
    (Rasmussen and Williams, A.9 and A.10) leave matrices (e, e) in place of (r, r).
    """
    weighted = effects.T * run_weights
    gram = scales[:, :, None] * (weighted @ effects) * scales[:, None, :]
    explained = scales * (weighted @ residuals)
    variance = noise**2
    inner = np.eye(effects.shape[1]) + gram[:, None] / variance[:, None, None]
    solved = np.linalg.solve(
        inner, np.broadcast_to(explained[:, None, :, None], (*inner.shape[:3], 1))
    )
    squares = (
        run_weights @ residuals**2 - (explained[:, None] * solved[..., 0]).sum(-1) / variance
    ) / variance
    log_density = -0.5 * (squares + np.linalg.slogdet(inner)[1]) - len(residuals) * np.log(noise)
    log_density -= NOISE_DOF * (np.log(noise) + 0.5 * NOISE_SCALE**2 / variance)
    most = log_density.max(axis=1, keepdims=True)
    return np.asarray(most[:, 0] + np.log(np.exp(log_density - most).sum(axis=1)))
