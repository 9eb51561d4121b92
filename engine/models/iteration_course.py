"""How answers from run times follow the iterations: through those for the numbers that were run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from engine.cluster import Workload
from engine.forecast import FloatArray
from engine.models.design import Rows
from engine.models.mixture import Candidates
from engine.models.rising import rising
from engine.models.run_times import along_laws
from engine.models.workloads import SAME

Means = Callable[[float], FloatArray]
"""Number of iterations that was run -> (n,) mean log time of its answer."""


def of_parameters(rows: Rows, wanted: Workload, names: Sequence[str]) -> NDArray[np.bool_]:
    """(r,) rows that have the wanted parameters, whatever their iterations."""
    goal = np.asarray([wanted.parameters[name] for name in names])
    return np.asarray(np.isclose(rows.parameters, goal, rtol=SAME, atol=SAME).all(axis=1))


def counts_run(rows: Rows, wanted: Workload, names: Sequence[str]) -> dict[float, int]:
    """The numbers of iterations that runs with the wanted parameters did, in rising order, and how
    many of these each had; none where the question has none."""
    if wanted.iterations is None:
        return {}
    own = rows.iterations[of_parameters(rows, wanted, names)]
    counts, runs = np.unique(own, return_counts=True)
    return dict(zip(counts.tolist(), runs.tolist(), strict=True))


def along_iterations(
    told: Means, laws: Candidates, asked: Rows, counts: dict[float, int], wanted: float
) -> FloatArray:
    """(n,) mean log time for the iterations of the rows asked: it never falls with them.

    Fits of one number of iterations answer where it was run, the fit of all numbers between them:
    from the one to the other the time fell for more iterations. So the answers for the numbers that
    were run are made not to fall, and the laws say how the time goes from one to the next; beyond
    them it follows the laws.

    Args:
        laws: after the runs of all numbers.
        asked: n rows.
        counts: two numbers of iterations or more that were run, and how many runs did each.
        wanted: the iterations of the rows.
    """
    course = rising(
        np.stack([told(count) for count in counts]), np.asarray([*counts.values()], dtype=float)
    )
    if wanted in counts:
        return np.asarray(course[[*counts].index(wanted)])
    at = [replace(asked, iterations=np.full(len(asked), count)) for count in counts]
    return along_laws(
        np.stack([laws.law_means(rows) for rows in at]), course, laws.law_means(asked)
    )
