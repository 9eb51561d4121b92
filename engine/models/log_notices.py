"""What models of event logs warn of alike: a single log, and questions far from all of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from engine.forecast import FloatArray
from engine.models.configurations import configurations
from engine.profile import Notice, Run

FAR = 2.0
"""Slots or input beyond this factor from the nearest log are extrapolation."""


def single_run(runs: Sequence[Run]) -> Notice | None:
    """The warning that the runs, if several, repeat one configuration; None where they do not."""
    if configurations(runs).max() > 0:
        return None
    return Notice(
        "single-run",
        f"{'one run only' if len(runs) == 1 else f'{len(runs)} runs of one configuration'}: how "
        "time changes with cores and input follows from its stages and a prior, not from "
        "measurement",
        "add a log of a run with other cores or input",
    )


def range_notices(
    slots: FloatArray, observed: FloatArray, ratios: FloatArray
) -> list[Notice | None]:
    """Warnings of clusters or inputs beyond `FAR` times the nearest log.

    Args:
        slots: of the clusters asked for; observed: (r,) of the logs.
        ratios: (r,) the input asked for relative to each log's.
    """
    known = slots[slots >= 1.0]
    found: list[Notice | None] = []
    away = np.abs(np.log2(known[:, None] / observed)).min(axis=1, initial=math.inf)
    if known.size and away.max() >= math.log2(FAR):
        found.append(
            Notice(
                "extrapolating-nodes",
                f"observed on {listed(observed)} {'slots' if observed.max() > 1 else 'slot'}, "
                f"asked for {listed(known)}",
                "add a log from a cluster nearer to that size",
            )
        )
    nearest = float(ratios[np.argmin(np.abs(np.log2(ratios)))])
    if abs(math.log2(nearest)) >= math.log2(FAR):
        found.append(
            Notice(
                "extrapolating-size",
                f"the input is {nearest:.3g} times that of the nearest log",
                "add a log of a run nearer to that size",
            )
        )
    return found


def listed(values: FloatArray) -> str:
    """One whole number, or from which to which."""
    low, high = float(values.min()), float(values.max())
    return f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}"
