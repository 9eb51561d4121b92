"""Points at which laws are evaluated, laws, and posteriors given runs at some of the points."""

from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.laws.averaging import LawPosterior, law_posterior
from engine.models.laws.laws import CLIFF, Laws
from engine.models.laws.observations import Observations
from engine.models.laws.prior_laws import PriorLaws, first_prior_laws
from engine.models.laws.reference_frame import ReferenceFrame
from engine.models.laws.terms import Points

MACHINES = np.asarray([2.0, 4.0, 8.0, 16.0, 32.0])


def points(machines: FloatArray, size: float | FloatArray = 1.0) -> Points:
    one = np.ones_like(machines)
    return Points(machines, one, one, one * size, one)


def grid() -> Points:
    machines = np.tile(MACHINES, 3)
    return points(machines, np.repeat([0.25, 0.5, 1.0], len(MACHINES)))


def first_in_double_precision(frame: ReferenceFrame, count: int, *, seed: int) -> PriorLaws:
    """`first_prior_laws` as 64-bit numbers."""
    drawn = first_prior_laws(frame, count, seed=seed)
    parameters = drawn.parameters.astype(np.float64)
    shares = np.exp(parameters[:CLIFF]).T
    return replace(drawn, parameters=parameters, unit_shares=shares, cliffs=parameters[CLIFF])


def prior_laws(frame: ReferenceFrame, count: int, *, seed: int) -> Laws:
    """The same with their shares at their scales, as plain `Laws`."""
    laws = first_in_double_precision(frame, count, seed=seed)
    return laws.take(np.arange(len(laws)))


def changed(laws: Laws, **parameters: FloatArray | float) -> Laws:
    """The laws with other `parameters`, by the names of their properties."""
    found = Laws(laws.frame, laws.parameters.copy())
    for name, values in parameters.items():
        getattr(found, name)[:] = values
    return found


def one_law(frame: ReferenceFrame, *, threshold_place: float = 0.0) -> Laws:
    """The law 1 + z / p in equal parts, with a cliff that makes the shared work four times as soon
    as not all data fits."""
    law = changed(prior_laws(frame, 1, seed=0), log_shares=-40.0, cliff=threshold_place)
    law.log_shares[0, :2] = 0.0
    return changed(
        law,
        log_height=np.log(3.0),
        logit_once=0.0,
        logit_once_fixed=0.0,
        logit_reading=0.0,
        logit_gradual=-40.0,
        stop=0.0,
    )


def fitted(at: Points, seconds: FloatArray) -> LawPosterior:
    level = np.full((len(at), 1), 3.0)
    logs = np.log(seconds)
    return law_posterior(Observations(at, logs - logs.mean(), level))


def mean_of(found: LawPosterior, at: Points) -> FloatArray:
    """(n,) mean log time, effects apart."""
    return found.moments(at, np.zeros((len(at), 1)))[0]


def few_runs(count: int, *, first: float = 2380.0) -> Observations:
    """Runs with a cliff that a few of them leave open; or without, where the first was faster."""
    at = points(
        np.asarray([4.0, 12.0, 12.0, 4.0, 10.0])[:count], np.asarray([2, 2, 1, 1, 1])[:count]
    )
    logs = np.log(np.asarray([first, 239.0, 157.0, 387.0, 170.0])[:count])
    return Observations(at, logs - logs.mean(), np.full((count, 1), 3.0))
