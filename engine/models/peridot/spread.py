"""How sure PERIDOT is: a documented prior, and what runs that were left out make of it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.curves.measured_range import SPREAD_PER_DOUBLING, SPREAD_UNSCALED

PUBLISHED_SPREAD = 0.083
"""Prior: standard deviation of log time near the references. The mean relative error over the
paper's applications is 6.6 % (VI-B), and a normal law of mean absolute error e has sigma
e sqrt(pi / 2)."""

PRIOR_DOF = 8.0
"""The prior counts as so many left-out runs: as many as the applications that it comes from."""


@dataclass(frozen=True, eq=False)
class Doubt:
    """The spread of log time: a prior that grows with the distance from the references, scaled by
    how far left-out references were off.

    The scale has the inverse-chi-squared law that is conjugate to normal errors: `PRIOR_DOF`
    runs' worth of the prior, then each left-out configuration by its error relative to the prior's.

    Args:
        near: spread where the references ran: the published one, and by how much their own times
            do not come out again (the means of IV-B are no fit).
    """

    near: float = PUBLISHED_SPREAD
    factor: float = 1.0
    dof: float = PRIOR_DOF

    def learnt(self, errors: FloatArray, expected: FloatArray, groups: IntArray) -> Doubt:
        """From (k,) errors of log time of left-out runs, (k,) what the prior expected, and the (k,)
        configuration of each: repetitions count once, at their mean square."""
        each = np.bincount(groups, (errors / expected) ** 2) / np.bincount(groups)
        dof = PRIOR_DOF + len(each)
        return Doubt(self.near, float(np.sqrt((PRIOR_DOF + float(each.sum())) / dof)), dof)


def prior_spread(
    *, near: float, doublings_cores: FloatArray, doublings_size: float, parallel_share: FloatArray
) -> FloatArray:
    """(n,) standard deviation of log time before any run was left out.

    Args:
        near: at no distance (see `Doubt`).
        doublings_cores: (n,) from the references' cores.
        doublings_size: from the nearest reference's size.
        parallel_share: (n,) share of the time that is taken as constant though it came from
            parallel work: it may do anything between nothing and following cores and input.
    """
    per_doubling = np.hypot(SPREAD_PER_DOUBLING, parallel_share * SPREAD_UNSCALED)
    return np.asarray(np.hypot(near, per_doubling * np.hypot(doublings_cores, doublings_size)))
