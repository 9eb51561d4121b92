"""Notices about a prediction from run times: assumptions, too few runs, and extrapolation.

In: a fit, the wanted workload and rows. Out: notices, whose codes are listed in
docs/models/sparkplan.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np

from engine.catalog import Catalog
from engine.cluster import Workload
from engine.models.base import LeaveOneOut
from engine.models.curves.applicability import ERROR_LIMIT, size_notices
from engine.models.curves.equivalents import Equivalents
from engine.models.curves.machines import MachineRuns, vcpus_of
from engine.models.curves.measured_range import iteration_notice, range_notices
from engine.models.laws.averaging import Cliff
from engine.models.laws.encoding import Rows
from engine.models.laws.run_times import RunTimeFit
from engine.models.log_notices import THESE_PARAMETERS, TRANSFERRED_PARAMETERS
from engine.models.workloads import in_words
from engine.notices import Notice
from engine.text.lists import abbreviated_list, listed
from engine.units import format_number, format_share

FEW_RUNS, PRIOR_RUNS = 4, 10
"""Configurations below which the dependence of the time on machines and size, and the width of
the interval, is mostly a prior. A distribution-free 90 % interval would need 19."""

PROBABLE = 0.5
"""Weight of a fit, or probability of a memory cliff, from which a notice names it."""

RELEVANT_SLOWDOWN = 1.25
"""A smaller slowdown than this factor, where data does not fit, gets no notice."""


def run_notices(runs: int, fit: RunTimeFit) -> list[Notice]:
    """Notices where there are too few runs."""
    configurations = len(fit.rows)
    if runs == 1 or configurations < FEW_RUNS:
        what = "one run" if runs == 1 else f"{configurations} configurations"
        if runs > 1 and configurations == 1:
            what = f"{runs} runs of one configuration"
        return [
            Notice(
                "single-run" if runs == 1 else "few-runs",
                f"{what}: how time changes with machines and size is mostly a prior",
                f"add runs on other numbers of nodes or of other input until there are {FEW_RUNS} "
                "configurations, or an event log",
            )
        ]
    if configurations < PRIOR_RUNS:
        return [
            Notice(
                "prior-interval",
                f"{configurations} configurations are too few to measure how sure the time is: "
                "the interval rests on a prior as well",
                f"add runs: from {PRIOR_RUNS} on it is mostly measured",
            )
        ]
    return []


def parameter_notices(
    wanted: Workload, names: Sequence[str], same: int, runs: int, own_weight: float
) -> list[Notice]:
    """A notice where runs of other parameters are used; `names` are the parameters that vary."""
    if same == runs or own_weight >= PROBABLE:
        return []
    parts = [in_words({name: wanted.parameters[name]}) for name in names]
    if wanted.iterations is not None:
        parts.append(f"{wanted.iterations:g} iterations")
    return [
        Notice(
            TRANSFERRED_PARAMETERS,
            f"runs with {listed(parts)}: {same} of {runs}; the others answer too, through what "
            "their parameters have in common",
            f"add runs with {THESE_PARAMETERS}",
        )
    ]


def iteration_notices(wanted: Workload, rows: Rows, *, ended: bool) -> list[Notice]:
    """A notice where the iterations lie outside those that were run.

    Args:
        ended: whether more of them are predicted to take no more time.
    """
    observed, count = np.unique(rows.iterations), wanted.iterations
    if count is None or observed[0] * 0.999 <= count <= observed[-1] * 1.001:
        return []
    return [iteration_notice(count, observed, ended=ended)]


def range_warnings(size: float, tables: Sequence[MachineRuns], at: Equivalents) -> list[Notice]:
    """Notices about machines or size outside the measured range of the types that are used."""
    notices: list[Notice] = []
    for family in np.unique(at.family):
        table = tables[int(family)]
        kind = table.instance if len(tables) > 1 else None
        on = f" on {kind.name}" if kind else ""
        notices += range_notices(at.machines[at.family == family], size, table, on=on)
    return notices


def fit_notices(validation: LeaveOneOut | None, tables: Sequence[MachineRuns]) -> list[Notice]:
    """Notices about a fit with large leave-one-out errors, and about runs that contradict each
    other."""
    notices = []
    if validation is not None and len(validation.actual_seconds) >= FEW_RUNS:
        error = validation.mean_relative_error
        if error > ERROR_LIMIT:
            notices.append(
                Notice(
                    "model-does-not-fit",
                    f"off by {format_share(error)} on average on runs it has not seen",
                    "add runs near the wanted cluster, or columns for what else differed",
                )
            )
    shown = (notice for table in tables for notice in size_notices(table))
    return [*notices, *islice(shown, 1)]


def shape_notices(tables: Sequence[MachineRuns], catalog: Catalog | None) -> list[Notice]:
    """A notice that the vCPUs of some measured types are not known, so that those of none count."""
    if len(tables) < 2 or tables[0].unit == "slots":
        return []
    known = [not np.isnan(vcpus_of(table.instance, catalog)) for table in tables]
    if all(known):
        return []
    unknown = [
        table.instance for table, is_known in zip(tables, known, strict=True) if not is_known
    ]
    names = [kind.name for kind in unknown if kind]
    names += ["the runs without an instance type"] if None in unknown else []
    these = abbreviated_list(names)
    has = "has" if len(names) == 1 and None not in unknown else "have"
    return [
        Notice(
            "unknown-shape",
            f"how many vCPUs {these} {has} is not known: machines of all types count as equally "
            "large",
            "add the columns vcpus and memory_gib, or read it with a catalog that has the types",
        )
    ]


def memory_notices(fit: RunTimeFit, rows: Rows, *, unit: str, in_gib: bool) -> list[Notice]:
    """A notice that data stops fitting into memory, by the runs, and from how many nodes it
    fits; or that the input per memory exceeds all that was run."""
    law, encoding = fit.candidates.law, fit.candidates.encoding
    here = float(encoding.points(rows).memory_per_input[0])
    runs = encoding.points(fit.rows).memory_per_input
    cliff, least = law.cliff_at(here, runs), float(runs.min())
    if _is_relevant(cliff):
        machines = float(rows.machines[0])
        nodes = _least_nodes(
            lambda count: not _is_relevant(law.cliff_at(here + math.log(count / machines), runs)),
            more_than=int(machines),
        )
        return [_cliff_notice(cliff, rows, nodes, unit=unit, in_gib=in_gib)]
    if in_gib and here < least - UNPROVEN_LOG_RATIO and len(fit.rows) >= 2:
        return [_unproven_notice(math.exp(least - here))]
    return []


def _cliff_notice(cliff: Cliff, rows: Rows, nodes: int, *, unit: str, in_gib: bool) -> Notice:
    """That data does not fit on the one cluster of `rows`, and would on so many nodes."""
    memory_here = rows.memory[0] * rows.machines[0]
    here_gib, needed_gib = (
        format_number(float(gib), figures=4) for gib in (memory_here, rows.memory[0] * nodes)
    )
    amounts = f" ({here_gib} GiB here, about {needed_gib} GiB needed)"
    return Notice(
        "cache-does-not-fit",
        f"runs with less memory per input took about "
        f"{format_number(cliff.slowdown, figures=2)} times as long, and "
        f"this cluster has as little{amounts if in_gib else ''}",
        f"take {nodes:,} {unit} or more, or nodes with more memory",
        subject="cached data",
        severity=cliff.slowdown,
    )


def _unproven_notice(ratio: float) -> Notice:
    """That the input per memory is so many times the most of any run."""
    return Notice(
        "memory-not-proven",
        f"no run had so much input for its memory ({format_number(ratio, figures=2)} times "
        "the most): whether cached data still fits is not known",
        "add a run with as much input per memory, or take more nodes",
        subject="cached data",
        severity=ratio,
    )


def _is_relevant(cliff: Cliff) -> bool:
    return cliff.probability >= PROBABLE and cliff.slowdown >= RELEVANT_SLOWDOWN


def _least_nodes(fits: Callable[[int], bool], *, more_than: int) -> int:
    """The smallest number of nodes on which the data fits and the notice ends."""
    low, high = more_than, more_than + 1
    while not fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    return high


UNPROVEN_LOG_RATIO = 0.1
"""Log ratio of input per memory beyond the most of any run from which on it counts as not
proven."""
