"""What each candidate run of a design costs (Ernest 3.3), in the unit of its budget."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.cluster import is_finite
from engine.errors import BadInput
from engine.experiments.plans import (
    CostOfRun,
    Estimates,
    Experiment,
    Grid,
    experiment_at,
    smallest_runs,
)
from engine.forecast import FloatArray
from engine.units import format_count, format_share


def run_costs(
    grid: Grid,
    estimates: Estimates,
    unit: str,
    cost_of_run: CostOfRun | None,
    measured: Sequence[str] | None,
) -> FloatArray:
    """(n,) what each experiment costs in the budget's unit.

    Args:
        measured: types of the runs made so far of which prices are known; None without such runs.
    """
    if cost_of_run is not None:
        runs = (experiment_at(grid, index, estimates, None, "") for index in range(len(grid)))
        return np.asarray([_checked(run, cost_of_run(run)) for run in runs])
    if unit == "smallest runs":
        return smallest_runs(grid)
    costs = estimates.usd if unit == "usd" else estimates.seconds
    if not np.isfinite(costs).all():
        raise BadInput(
            "a budget in money needs a price and an expected time of every run"
            if unit == "usd"
            else "a budget in time needs an expected time of every run",
            where="--budget",
            remedy=_priced_by(unit, measured),
        )
    return costs


def _priced_by(unit: str, measured: Sequence[str] | None) -> str:
    """What to add so that runs have a time, and in money a price."""
    if measured is not None and unit == "usd":
        return "name their type: --instances " + (" or ".join(measured) or "TYPE")
    timed = "give the runs made so far as SOURCE, or --smallest-run T"
    return f"{timed} and --instances TYPE" if unit == "usd" else timed


def _checked(run: Experiment, cost: float) -> float:
    """The cost of a run by a given function.

    Raises:
        BadInput: for a cost that is no finite number of more than zero.
    """
    if not (is_finite(cost) and cost > 0.0):
        raise BadInput(
            f"the cost of {format_share(run.fraction)} of the input on "
            f"{format_count(run.nodes or 0, 'node')} must be a "
            f"number of more than zero, not {cost!r}",
            where="costs",
        )
    return float(cost)
