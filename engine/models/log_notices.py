"""What models of event logs warn of alike: a single log, questions far from all of them, and other
job parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from engine.forecast import FloatArray
from engine.models.workloads import in_words, same_parameters
from engine.notices import Notice
from engine.profile import Run
from engine.runs.configurations import configurations
from engine.text.lists import in_a_row
from engine.units import format_number, format_share

FAR = 2.0
"""Slots or input beyond this factor from the nearest log are extrapolation."""


def single_run(runs: Sequence[Run]) -> Notice | None:
    """The warning that the runs, if several, repeat one configuration; None where they do not."""
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
"""A model that misses its own log by more (in log time) has not understood it: no further
correction, but a notice."""


def corrections(own: FloatArray) -> FloatArray:
    """(r,) log time that is added to answers from logs which a model misses by (r,) their own."""
    return np.clip(own, -LARGEST_CORRECTION, LARGEST_CORRECTION)


def misses_itself(own: FloatArray, *, what: str, remedy: str) -> Notice | None:
    """The warning that a model is far off on a log's own cluster; None where it is on none.

    Args:
        own: (r,) log of observed over predicted time of each log.
        what: is off, as the subject of a sentence.
    """
    most = np.abs(own).max()
    if most <= LARGEST_CORRECTION:
        return None
    said = f"{what} off by {format_share(np.expm1(most))} on its own cluster"
    return Notice("model-does-not-fit", said, remedy)


TRANSFERRED_PARAMETERS, THESE_PARAMETERS = "transferred-parameters", "these parameters"
"""The warning that runs of other parameters answer, and what to add: of run tables and of logs."""

MOST_SETS = 4
"""Sets of parameters that are listed in a warning; of more, how many there are."""


def chosen_notice(logs: Sequence[Run], taken: Mapping[str, float], answering: int) -> Notice | None:
    """Which of the logs answer, where their parameters differ: whoever did not say any is told what
    was taken. None where they do not differ.

    Args:
        taken: the parameters of the `answering` ones.
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
    """No run has the wanted parameters: those that have the nearest, `taken`, answer."""
    changed = [name for name in wanted if not same_parameters(taken, {name: wanted[name]})]
    return Notice(
        TRANSFERRED_PARAMETERS,
        f"{what} with {in_words(wanted)}: 0 of {len(runs)} (they have {_listed(_sets(runs))}); the "
        f"nearest answer, with {in_words(taken)}: what {in_a_row(changed)} would change is not "
        f"known from them, so the time is theirs, and the interval wider for {doublings:.2g} "
        "doublings",
        f"add {what} with {THESE_PARAMETERS}",
    )


def table_notice(logs: Sequence[Run], wanted: Mapping[str, float]) -> Notice:
    """Runs without stages answer although there are logs, for want of the parameters."""
    return Notice(
        "several-parameters",
        f"logs with {in_words(wanted)}: 0 of {len(logs)} (they have {_listed(_sets(logs))}); run "
        "times without stages answer",
        f"add logs with {THESE_PARAMETERS}",
    )


def _sets(logs: Sequence[Run]) -> list[str]:
    """The sets of parameters that logs have, in words, by name and value."""
    known = sorted({tuple(sorted(log.workload.parameters.items())) for log in logs})
    return [in_words(dict(each)) or "none" for each in known]


def _listed(sets: Sequence[str]) -> str:
    more = len(sets) - MOST_SETS
    return "; ".join([*sets[:MOST_SETS], *([f"{more} more"] if more > 0 else [])])


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
                f"the input is {format_number(nearest)} times that of the nearest log",
                "add a log of a run nearer to that size",
            )
        )
    return found


def listed(values: FloatArray) -> str:
    """One whole number, or from which to which."""
    low, high = float(values.min()), float(values.max())
    return f"{low:,.0f}" if round(low) == round(high) else f"{low:,.0f} to {high:,.0f}"
