"""What to say about a prediction from run times: what was assumed, what lies outside the runs."""

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
from engine.text.lists import in_a_row, listed
from engine.units import format_number, format_share

FEW_RUNS, PRIOR_RUNS = 4, 10
"""Configurations below which the course of time, and the width of the interval, is mostly a prior.
A distribution-free 90 % interval would need 19."""

LIKELY = 0.5
"""Weight of a fit, or probability of a memory cliff, from which it is spoken of."""

CLIFF_MATTERS = 1.25
"""Times longer by less, where data does not fit, are not worth a word."""


def run_notices(runs: int, fit: RunTimeFit) -> list[Notice]:
    """Whether there are enough runs."""
    configurations = len(fit.rows)
    if runs == 1 or configurations < FEW_RUNS:
        what = "one run" if runs == 1 else f"{configurations} configurations"
        if runs > 1 and configurations == 1:
            what = f"{runs} runs of one configuration"
        return [
            Notice(
                "single-run" if runs == 1 else "few-runs",
                f"{what}: how time changes with machines and size is mostly a prior",
                "add runs on three or more numbers of nodes, or an event log",
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
    """Whether runs of other parameters answer; `names` are those that vary."""
    if same == runs or own_weight >= LIKELY:
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
    """Whether the iterations lie outside those that were run.

    Args:
        ended: whether more of them are foretold to take no more time.
    """
    observed, count = np.unique(rows.iterations), wanted.iterations
    if count is None or observed[0] * 0.999 <= count <= observed[-1] * 1.001:
        return []
    return [iteration_notice(count, observed, ended=ended)]


def range_warnings(size: float, tables: Sequence[MachineRuns], at: Equivalents) -> list[Notice]:
    """Machines or size outside what was measured on the types that answer."""
    found: list[Notice] = []
    for family in np.unique(at.family):
        table = tables[int(family)]
        kind = table.instance if len(tables) > 1 else None
        on = f" on {kind.name}" if kind else ""
        found += range_notices(at.machines[at.family == family], size, table, on=on)
    return found


def fit_notices(validation: LeaveOneOut | None, tables: Sequence[MachineRuns]) -> list[Notice]:
    """Whether the fit can be believed."""
    found = []
    if validation is not None and len(validation.actual_seconds) >= FEW_RUNS:
        error = validation.mean_relative_error
        if error > ERROR_LIMIT:
            found.append(
                Notice(
                    "model-does-not-fit",
                    f"off by {format_share(error)} on average on runs it has not seen",
                    "add runs near the wanted cluster, or columns for what else differed",
                )
            )
    shown = (notice for table in tables for notice in size_notices(table))
    return [*found, *islice(shown, 1)]


def shape_notices(tables: Sequence[MachineRuns], catalog: Catalog | None) -> list[Notice]:
    """That the vCPUs of some measured types are not known, so that those of none count."""
    if len(tables) < 2 or tables[0].unit == "slots":
        return []
    known = [not np.isnan(vcpus_of(table.instance, catalog)) for table in tables]
    if all(known):
        return []
    unknown = [table.instance for table, told in zip(tables, known, strict=True) if not told]
    names = [kind.name for kind in unknown if kind]
    names += ["the runs without an instance type"] if None in unknown else []
    these = in_a_row(names)
    has = "has" if len(names) == 1 and None not in unknown else "have"
    return [
        Notice(
            "unknown-shape",
            f"how many vCPUs {these} {has} is not known: machines of all types count as equally "
            "large",
            "add the columns vcpus and memory_gib, or read it with a catalog that has the types",
        )
    ]


def memory_notices(fit: RunTimeFit, asked: Rows, *, unit: str, in_gib: bool) -> list[Notice]:
    """Whether the runs show that data stops fitting into memory, and where; or whether the input
    per memory exceeds all that was run."""
    law, encoding = fit.candidates.law, fit.candidates.encoding
    point = encoding.points(asked)
    here = float(point.memory_per_input[0])
    runs = encoding.points(fit.rows).memory_per_input
    lowest, cliff = float(runs.min()), law.cliff_at(here, runs)
    if _matters(cliff):
        machines = float(asked.machines[0])
        nodes = _enough(
            lambda count: not _matters(law.cliff_at(here + math.log(count / machines), runs)),
            more_than=int(machines),
        )
        held = asked.memory[0] * asked.machines[0]
        here_gib, needed_gib = (
            format_number(float(gib), figures=4) for gib in (held, asked.memory[0] * nodes)
        )
        amounts = f" ({here_gib} GiB here, about {needed_gib} GiB needed)"
        return [
            Notice(
                "cache-does-not-fit",
                f"runs with less memory per input took about "
                f"{format_number(cliff.times, figures=2)} times as long, and "
                f"this cluster is one of these{amounts if in_gib else ''}",
                f"take {nodes:,} {unit} or more, or nodes with more memory",
                subject="cached data",
                severity=cliff.times,
            )
        ]
    if in_gib and here < lowest - MORE_INPUT and len(fit.rows) >= 2:
        times = math.exp(lowest - here)
        return [
            Notice(
                "memory-not-proven",
                f"no run had so much input for its memory ({format_number(times, figures=2)} times "
                "the most): whether cached data still fits is not known",
                "add a run with as much input per memory, or take more nodes",
                subject="cached data",
                severity=times,
            )
        ]
    return []


def _matters(cliff: Cliff) -> bool:
    return cliff.probability >= LIKELY and cliff.times >= CLIFF_MATTERS


def _enough(holds: Callable[[int], bool], *, more_than: int) -> int:
    """The least number of nodes that holds the data: there the warning ends."""
    low, high = more_than, more_than + 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


MORE_INPUT = 0.1
"""Log ratio of input per memory beyond which no run speaks for it."""
