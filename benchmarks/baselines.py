"""Predictors that published work compares with, fitted to the same runs and asked the same.

Published figures were measured on other splits and other choices of runs than
`benchmarks/accuracy.py` makes; these are measured on its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import minimize

from engine.forecast import FloatArray
from engine.profile import Run

STARTS = ((0.0, 0.0, -3.0), (0.0, 1.5, -2.0))
"""Logs of amplitude, lengths and noise where the search begins, in standard deviations."""

BOUNDS = ((-5.0, 5.0), (-4.6, 6.9), (-6.9, 0.0))


def ideal_scaling(training: Sequence[Run], asked: Sequence[Run]) -> FloatArray:
    """The time of the nearest run in cores and size, in proportion to size over cores."""
    known, wanted = _loads(training), _loads(asked)
    seconds = np.asarray([run.seconds for run in training])
    nearest = np.abs(known[None] - wanted[:, None]).argmin(axis=1)
    return np.asarray(seconds[nearest] * np.exp(wanted - known[nearest]))


def _loads(runs: Sequence[Run]) -> FloatArray:
    """(r,) log of size over cores."""
    return np.asarray([np.log((run.workload.input_bytes or 1.0) / _cores(run)) for run in runs])


def _cores(run: Run) -> float:
    group = run.cluster.groups[0]
    assert group.instance is not None
    return group.nodes * group.instance.vcpus


def gaussian_process(training: Sequence[Run], asked: Sequence[Run]) -> FloatArray:
    """A process on log features of log time: one length per feature, noise, most likely
    hyperparameters."""
    features = _features([*training, *asked])
    known, wanted = features[: len(training)], features[len(training) :]
    varies = np.ptp(known, axis=0) > 0.0
    known, wanted = known[:, varies], wanted[:, varies]
    centre, scale = known.mean(axis=0), known.std(axis=0)
    known, wanted = (known - centre) / scale, (wanted - centre) / scale
    logs = np.log([run.seconds for run in training])
    level, spread = float(logs.mean()), float(logs.std()) or 1.0
    fit = _Likelihood(known, (logs - level) / spread)
    lengths = known.shape[1]
    found = [
        minimize(
            fit,
            np.concatenate(([amplitude], np.full(lengths, length), [noise])),
            jac=True,
            method="L-BFGS-B",
            bounds=(BOUNDS[0], *(BOUNDS[1],) * lengths, BOUNDS[2]),
        )
        for amplitude, length, noise in STARTS
    ]
    best = min(found, key=lambda result: float(result.fun)).x
    scaled = (wanted[:, None] - known[None]) * np.exp(-best[1:-1])
    cross = np.exp(2.0 * best[0] - 0.5 * (scaled**2).sum(axis=-1))
    weights = cho_solve(cho_factor(fit.covariance(best)[0], lower=True), fit.values)
    return np.asarray(np.exp(level + spread * (cross @ weights)))


def _features(runs: Sequence[Run]) -> FloatArray:
    """(r, f) logs of nodes, size, cores and memory of a node, and of parameters (over their largest
    value where one may be zero)."""
    columns = []
    for run in runs:
        kind = run.cluster.groups[0].instance
        assert kind is not None
        columns.append(
            (
                run.cluster.nodes or 0, run.workload.input_bytes or 1.0, kind.vcpus,
                kind.memory_gib, run.workload.iterations or 1.0,
                *(value for _, value in sorted(run.workload.parameters.items())),
            )
        )  # fmt: skip
    table = np.asarray(columns, dtype=float)
    largest = np.maximum(table.max(axis=0), 1e-12)
    positive = (table > 0.0).all(axis=0)
    return np.where(positive, np.log(np.where(positive, table, 1.0)), table / largest)


@dataclass(frozen=True, eq=False)
class _Likelihood:
    """Minus the log marginal likelihood and its gradient (Rasmussen and Williams, 5.8 and 5.9)."""

    at: FloatArray
    values: FloatArray

    def covariance(self, logs: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(r, r) with noise, (r, r) without, (r, r, f) squared distances over lengths."""
        apart = ((self.at[:, None] - self.at[None]) * np.exp(-logs[1:-1])) ** 2
        smooth = np.exp(2.0 * logs[0] - 0.5 * apart.sum(axis=-1))
        noise = (np.exp(2.0 * logs[-1]) + 1e-8) * np.eye(len(self.at))
        return smooth + noise, smooth, apart

    def __call__(self, logs: FloatArray) -> tuple[float, FloatArray]:
        covariance, smooth, apart = self.covariance(logs)
        factor = cho_factor(covariance, lower=True)
        weights = cho_solve(factor, self.values)
        inverse = cho_solve(factor, np.eye(len(self.at)))
        value = 0.5 * self.values @ weights + np.log(np.diag(factor[0])).sum()
        slope = 0.5 * (inverse - np.outer(weights, weights))
        by_smooth = slope * smooth
        gradient = np.empty_like(logs)
        gradient[0] = 2.0 * by_smooth.sum()
        gradient[1:-1] = np.einsum("ij,ijf->f", by_smooth, apart)
        gradient[-1] = 2.0 * np.exp(2.0 * logs[-1]) * np.trace(slope)
        return float(value), gradient


BASELINES: Mapping[str, Callable[[Sequence[Run], Sequence[Run]], FloatArray]] = {
    "ideal scaling": ideal_scaling,
    "gaussian process": gaussian_process,
}
"""By the name that `--model` takes."""
