"""Extrapolation beyond the measured range of machines and sizes: its distance, its uncertainty
and its warnings."""

from __future__ import annotations

import numpy as np

from engine.fitting import Spread
from engine.forecast import FloatArray
from engine.models.curves.machines import MachineRuns
from engine.models.workloads import SAME
from engine.notices import Notice
from engine.units import format_number, format_seconds

SPREAD_PER_DOUBLING = 0.10
"""Prior: standard deviation of log time per doubling beyond the measured range, in machines or in
size (docs/models/ernest.md says where it comes from)."""

SPREAD_UNSCALED = 0.35
"""The same where only one number of machines (or one size) was measured: the time may then do
anything from nothing to following it, 0 to ln 2 = 0.69 per doubling, and this is the middle."""


def doublings_outside(values: FloatArray, measured: FloatArray) -> FloatArray:
    """(n,) doublings by which each value lies outside the measured range, 0 inside (and where
    nothing was measured: a published profile has no range)."""
    if not measured.size:
        return np.zeros_like(values)
    with np.errstate(invalid="ignore"):
        doublings = np.maximum(np.log2(values / measured.max()), np.log2(measured.min() / values))
    return np.asarray(np.where(doublings > SAME, doublings, 0.0))


def extrapolation_scale(values: FloatArray, measured: FloatArray) -> FloatArray:
    """(n,) prior standard deviation of log time for values outside the measured range."""
    one = measured.size > 0 and np.ptp(measured) == 0.0
    return doublings_outside(values, measured) * (SPREAD_UNSCALED if one else SPREAD_PER_DOUBLING)


def range_notices(
    machines: FloatArray, size: float, runs: MachineRuns, *, on: str = ""
) -> list[Notice]:
    """Warnings where a prediction lies outside what was measured.

    Args:
        on: " on TYPE" where other types were measured too, which may have gone further.
    """
    notices = []
    if np.any(doublings_outside(machines, runs.machines) > 0):
        low, high = runs.machines.min(), runs.machines.max()
        several = f"{runs.unit} were"
        one = f"{runs.unit.removesuffix('s')} was"
        text = f"only {span_of(runs.machines)} {one if low == high == 1 else several} measured{on}"
        if low == high:
            text += ": such runs do not tell how much of the time more of them share"
        remedy = "add a run nearer to the wanted size of cluster"
        notices.append(Notice("extrapolating-nodes", text, remedy))
    if doublings_outside(np.asarray([size]), runs.size)[0] > 0:
        larger = size > runs.size.max()
        times = size / (runs.size.max() if larger else runs.size.min())
        which = "largest" if larger else "smallest"
        text = f"the input is {format_number(times)} times the {which} measured{on}"
        if np.ptp(runs.size) == 0.0:
            text += ": runs of one size do not tell how much of the time grows with it"
        notices.append(Notice("extrapolating-size", text, "add a run nearer to the wanted size"))
    return notices


def iteration_notice(wanted: float, observed: FloatArray, *, ended: bool = False) -> Notice:
    """The warning that no run has the wanted iterations.

    Args:
        observed: (k,) the numbers of iterations that were run, ascending.
        ended: whether that many are predicted to take no longer than the most that were run.
    """
    seen = ", ".join(f"{count:g}" for count in observed[:6])
    scaled = f"is scaled from runs of {seen}"
    stays = f"stays that of {observed[-1]:g}, as if the loop had ended by then (inferred)"
    return Notice(
        "extrapolating-iterations",
        f"no run has {wanted:g} iterations: the time {stays if ended else scaled}",
        f"add runs of {wanted:g} iterations",
    )


def span_of(values: FloatArray) -> str:
    """The smallest and largest of some values in words: "2 to 8", or "4" where all are equal."""
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"


def unseen_seconds(runs: MachineRuns, spread: Spread) -> float:
    """How long a fixed time may be that the runs do not tell from none: as long as nine in ten runs
    are off by, of the shortest. 0 where either is not known."""
    unseen = NINE_IN_TEN * spread.log_scale * float(runs.seconds.min(initial=np.inf))
    return unseen if np.isfinite(unseen) else 0.0


def unseen_notice(model: str, unseen: float) -> Notice:
    """The warning about a time that is shorter than such a fixed time."""
    return Notice(
        "model-does-not-fit",
        f"{model} leaves out what its runs do not show, and a fixed time of "
        f"{format_seconds(unseen)} would not: the time holds none, and its interval need not",
        "add a run that is nearly as short",
    )


NINE_IN_TEN = 1.645
"""Standard deviations on either side that hold nine in ten."""
