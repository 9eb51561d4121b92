"""Checks whether the runs look like what a model can express (Ernest 3.4), and the warnings if
not."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from engine.distinct import distinct_few_rows
from engine.fitting import Fit
from engine.forecast import FloatArray, IntArray
from engine.models.curves.machines import MachineRuns
from engine.models.workloads import SAME
from engine.notices import Notice
from engine.units import format_share

ERROR_LIMIT = 0.20
"""Left-out error above which a model says that it does not fit: Ernest's own bound (6.1: "less
than 20 % error on most of the workloads")."""

SIGNIFICANT_FALL = 1.25
"""Machine-time that falls by this factor and more while machines are added is more than noise."""


def applicability(
    runs: MachineRuns, fit: Fit, *, model: str, steepest: float
) -> tuple[Notice, ...]:
    """Whether the runs look like what the model can express (Ernest 3.4).

    Args:
        steepest: the largest power of machines that divides a term of the model: time that falls
            faster than that is a cliff (data that fits in memory only from some size on).
    """
    notices = []
    error = fit.left_out_error
    if error > ERROR_LIMIT:
        notices.append(
            Notice(
                "model-does-not-fit",
                f"{model} is off by {format_share(error)} on average on runs it has not seen",
                "add runs near the wanted cluster, or compare the other models",
            )
        )
    cliff = _cliff(runs, steepest)
    if cliff is not None:
        low, high = cliff
        notices.append(
            Notice(
                "model-does-not-fit",
                f"from {low:g} to {high:g} {runs.unit} the time falls faster than {model} can "
                "express: cached data may fit in memory only from there on",
                f"trust predictions only well beyond {high:g} {runs.unit}",
            )
        )
    return (*notices, *size_notices(runs))


def _cliff(runs: MachineRuns, steepest: float) -> tuple[float, float] | None:
    """Neighbouring machine counts (same size and iterations) between which time falls faster than
    machines^-steepest; the steepest such pair."""
    work = runs.seconds * runs.machines**steepest
    steepest_fall, counts = SIGNIFICANT_FALL, None
    for group in _equal_groups(runs.size, np.nan_to_num(runs.iterations)):
        order = group[np.argsort(runs.machines[group], kind="stable")]
        for low, high in pairwise(order):
            fall = work[low] / work[high]
            if runs.machines[low] < runs.machines[high] and fall > steepest_fall:
                steepest_fall = fall
                counts = (float(runs.machines[low]), float(runs.machines[high]))
    return counts


def size_notices(runs: MachineRuns) -> tuple[Notice, ...]:
    """A warning that more input took clearly less time on as many machines, about the first such
    runs."""
    for group in _equal_groups(
        runs.machines, np.nan_to_num(runs.iterations), _parameter_index(runs)
    ):
        order = group[np.argsort(runs.size[group], kind="stable")]
        for low, high in pairwise(order):
            larger = runs.size[high] > runs.size[low] * (1.0 + SAME)
            if larger and runs.seconds[low] > SIGNIFICANT_FALL * runs.seconds[high]:
                return (_shrinking_time_notice(runs, int(low), int(high)),)
    return ()


def _shrinking_time_notice(runs: MachineRuns, low: int, high: int) -> Notice:
    """The warning about two such runs, by name where they have one."""
    observed = runs.observed
    of_logs = bool(observed and observed[low].stages)
    where = "under `parameters` of their profile" if of_logs else "as a column"
    named = [run.source.rsplit("/", 1)[-1] for run in observed if run.source]
    pair = f" ({named[low]}, then {named[high]})" if len(named) == len(runs) else ""
    return Notice(
        "model-does-not-fit",
        f"more input took less time in some runs{pair}: the size does not measure the work",
        f"look for what disturbed them, or add what else differed {where}",
    )


def _parameter_index(runs: MachineRuns) -> FloatArray:
    """(r,) index of each run's job parameters; 0 for all where they are not known."""
    if not runs.observed:
        return np.zeros(len(runs))
    parameters = [run.workload.sorted_parameters for run in runs.observed]
    index = {values: float(number) for number, values in enumerate(dict.fromkeys(parameters))}
    return np.asarray([index[values] for values in parameters])


def _equal_groups(*columns: FloatArray) -> list[IntArray]:
    """Indices of the runs that agree in all columns with another one, group by group, in the order
    of the columns."""
    rows = np.column_stack(columns)
    first, kind_of = distinct_few_rows(rows)
    order, count = np.lexsort(rows[first].T[::-1]), np.bincount(kind_of)
    return [np.flatnonzero(kind_of == kind) for kind in order if count[kind] > 1]
