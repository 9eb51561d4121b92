"""How answers from run times follow the iterations: through those for the numbers that were run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.forecast import FloatArray
from engine.models.curves.rising import rising
from engine.models.laws.design import Rows
from engine.models.laws.laws import Laws
from engine.models.laws.run_times import along_laws

MOST_COUNTS = 8
"""Numbers of iterations through which the course goes; of more, some evenly."""


def counts_run(rows: Rows) -> dict[float, int]:
    """The numbers of iterations that runs did, in rising order, and how many runs did each: with
    any parameters, since what runs of others say of a number counts for the wanted ones too."""
    counts, runs = np.unique(rows.iterations, return_counts=True)
    places = np.linspace(0, len(counts) - 1, min(len(counts), MOST_COUNTS)).round().astype(int)
    return dict(zip(counts[places].tolist(), runs[places].tolist(), strict=True))


def along_iterations(
    told: Mapping[float, FloatArray], laws: Laws, counts: dict[float, int], wanted: float
) -> FloatArray:
    """(n,) mean log time for the wanted iterations: it never falls with them.

    Fits of one number of iterations answer where it was run, the fit of all numbers between them:
    from the one to the other the time fell for more iterations. So the answers for the numbers that
    were run are made not to fall, and the laws say how the time goes from one to the next; beyond
    them it follows the laws.

    Args:
        told: (n,) mean log time of the answer for each number of iterations that was run.
        laws: after the runs of all numbers.
        counts: two numbers of iterations or more that were run, and how many runs did each.
    """
    runs = np.asarray([*counts.values()], dtype=float)
    course = rising(np.stack([told[count] for count in counts]), runs)
    if wanted in counts:
        return np.asarray(course[[*counts].index(wanted)])
    means = laws.mean_log_iterations(np.asarray([*counts, wanted]))
    return along_laws(means[:-1, None], course, means[-1:])
