"""Warnings shared by models of event logs: a single log, questions far from all logs, and other job
parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from engine.forecast import FloatArray
from engine.models.workloads import in_words, same_parameters
from engine.notices import Notice
from engine.profile import Run
from engine.runs.configurations import configurations
from engine.text.lists import abbreviated_list
from engine.units import format_number, format_share

FAR = 2.0
"""Slots or input further than this factor from the nearest log are extrapolation."""


def single_run_notice(runs: Sequence[Run]) -> Notice | None:
    """The warning that there is one run, or one configuration repeated; None otherwise."""
    if configurations(runs).max() > 0:
        return None
    return Notice(
        "single-run",
        f"{'only one run' if len(runs) == 1 else f'{len(runs)} runs of one configuration'}: how "
        "the time changes with cores and input is inferred from its stages and a prior, not "
        "measured",
        "add a log of a run with other cores or input",
    )


LARGEST_CORRECTION = 0.35
"""A model that misses its own log by more (in log time) has not understood it: it is corrected no
further, and a notice says so."""


def damped_bias(own: FloatArray) -> FloatArray:
    """(r,) bias correction of log time for logs whose own run a model misses by (r,) `own` in log
    time, limited to `LARGEST_CORRECTION`."""
    return np.clip(own, -LARGEST_CORRECTION, LARGEST_CORRECTION)


def self_error_notice(own: FloatArray, *, what: str, remedy: str) -> Notice | None:
    """The warning that a model is far off on a log's own cluster; None if on none.

    Args:
        own: (r,) log of observed over predicted time of each log.
        what: the subject of the sentence "... off by".
    """
    most = np.abs(own).max()
    if most <= LARGEST_CORRECTION:
        return None
    said = f"{what} off by {format_share(np.expm1(most))} on its own cluster"
    return Notice("model-does-not-fit", said, remedy)


TRANSFERRED_PARAMETERS, THESE_PARAMETERS = "transferred-parameters", "these parameters"
"""Code of the warning that runs of other parameters answer, and what to add to tables or logs."""

MOST_SETS = 4
"""The most sets of parameters listed in a warning."""


def chosen_notice(logs: Sequence[Run], taken: Mapping[str, float], answering: int) -> Notice | None:
    """Which of the logs answer if their parameters differ, so that a user who gave none knows; None
    if they do not differ.

    Args:
        taken: the parameters of the `answering` logs.
    """
    sets = _sets(logs)
    if len(sets) == 1:
        return None
    count = f"{answering} of {len(logs)} logs {'answers' if answering == 1 else 'answer'}"
    which = f"with {in_words(taken)}" if taken else "whatever their parameters"
    return Notice(
        "several-parameters",
        f"{count}, {which}: the logs have {_listed(sets)}",
        f"ask for others with --param NAME=VALUE, or add logs with {THESE_PARAMETERS}",
    )


def transferred_notice(
    runs: Sequence[Run],
    wanted: Mapping[str, float],
    taken: Mapping[str, float],
    doublings: float,
    *,
    what: str = "logs",
) -> Notice:
    """The notice that no run has the wanted parameters and that those with the nearest, `taken`,
    answer."""
    changed = [name for name in wanted if not same_parameters(taken, {name: wanted[name]})]
    shown = f"{doublings:.2g}"
    return Notice(
        TRANSFERRED_PARAMETERS,
        f"{what} with {in_words(wanted)}: 0 of {len(runs)} (they have {_listed(_sets(runs))}); the "
        f"nearest answer, with {in_words(taken)}: how {abbreviated_list(changed)} changes the time "
        "is not known, so the time is theirs and the interval is wider for "
        f"{shown} doubling{'' if shown == '1' else 's'}",
        f"add {what} with {THESE_PARAMETERS}",
    )


def table_notice(logs: Sequence[Run], wanted: Mapping[str, float]) -> Notice:
    """The notice that runs without stages answer, because no log has the parameters."""
    return Notice(
        "several-parameters",
        f"logs with {in_words(wanted)}: 0 of {len(logs)} (they have {_listed(_sets(logs))}); run "
        "times without stages answer",
        f"add logs with {THESE_PARAMETERS}",
    )


def _sets(logs: Sequence[Run]) -> list[str]:
    """The sets of parameters of the logs in words, sorted by name and value."""
    known = sorted({log.workload.sorted_parameters for log in logs})
    return [in_words(dict(each)) or "none" for each in known]


def _listed(sets: Sequence[str]) -> str:
    more = len(sets) - MOST_SETS
    return "; ".join([*sets[:MOST_SETS], *([f"{more} more"] if more > 0 else [])])


def range_notices(
    slots: FloatArray, observed: FloatArray, ratios: FloatArray
) -> list[Notice | None]:
    """Warnings about clusters or inputs further than `FAR` from the nearest log.

    Args:
        slots: of the requested clusters; observed: (r,) of the logs.
        ratios: (r,) the requested input relative to that of each log.
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
                f"the input is {format_number(nearest)} times that of the nearest log",
                "add a log of a run nearer to that size",
            )
        )
    return found


def listed(values: FloatArray) -> str:
    """A range of whole numbers in words: "8", or "2 to 8"."""
    low, high = float(values.min()), float(values.max())
    return f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}"
