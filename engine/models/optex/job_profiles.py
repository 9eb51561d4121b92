"""OptEx job profiles from event logs: phases and unit operations are measured, coefficients fitted.

Sidhanta, Golab, Mukhopadhyay, "OptEx", CCGrid 2016, III. One profile per instance type; a
coefficient that a few runs do not identify takes a documented default, and a notice says so
(docs/models/optex.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.cluster import Workload
from engine.errors import ModelDoesNotFit
from engine.fitting import fit_nonnegative
from engine.forecast import FloatArray
from engine.given_profiles import Operation, OptexProfile
from engine.models.replay.censored_tasks import partial_stages_notice, with_all_tasks
from engine.models.stages.job_phases import (
    Phases,
    UnitOperations,
    is_iterative,
    phases_of,
    repetitions,
    unit_operations,
)
from engine.notices import Notice
from engine.profile import Profile, Run

PUBLISHED_COEFF = 0.004
"""Table II: growth of variable sharing per node and iteration, as a share of its baseline."""

PROPORTIONAL_COMMUNICATION = 1.0
"""cf_commn where only one size was measured: communication follows the size as Eq. 2 has it."""

SHORTEST_SHARE = 1e-3
"""Execution takes at least this share of a run's time: keeps relative errors finite."""


@dataclass(frozen=True, eq=False)
class MeasuredRuns:
    """r runs on one type of node, their phases as columns (r,) in seconds.

    Args:
        size: in the unit of the profile, 1 for all where no run says its size.
        iterations: 1 for jobs that have none.
    """

    runs: tuple[Run, ...]
    phases: tuple[Phases, ...]
    nodes: FloatArray
    size: FloatArray
    iterations: FloatArray

    @classmethod
    def of(cls, runs: Sequence[Run]) -> MeasuredRuns:
        """The runs as arrays; each has stages and nodes. Runs without a size are dropped where
        others have one."""
        sizes = [run.workload.input_bytes for run in runs]
        if not all(sizes) and any(sizes):
            runs = [run for run in runs if run.workload.input_bytes]
        return cls(
            tuple(runs),
            tuple(phases_of(run) for run in runs),
            nodes=np.asarray([float(run.cluster.nodes or 1) for run in runs]),
            size=np.asarray([run.workload.input_bytes or 1.0 for run in runs]),
            iterations=np.asarray([run.workload.iterations or 1.0 for run in runs]),
        )

    def column(self, name: str) -> FloatArray:
        """(r,) seconds of one phase."""
        return np.asarray([getattr(phases, name) for phases in self.phases])

    @property
    def baseline_index(self) -> int:
        """Index of the baseline run: the fewest nodes, then the largest input, then the most
        iterations."""
        return int(np.lexsort((-self.iterations, -self.size, self.nodes))[0])


def with_job_profiles(
    profile: Profile, *, iterations: float | None = None, category: str | None = None
) -> Profile:
    """The profile with a job profile for each type of node that its logs ran on.

    A job profile of the same type that it already holds stays.

    Args:
        iterations: what the runs were told to do, for those that do not say; None infers it.
        category: of the job profiles; None for that of the profile. Any word: how applications
            are divided is the user's choice (III-A).

    Raises:
        ModelDoesNotFit: when no run shows its stages and its nodes.
    """
    notices: list[Notice] = []
    runs = tuple(_with_iterations(run, iterations, notices) for run in profile.runs)
    groups: dict[str | None, list[Run]] = {}
    measurable = _measurable(runs)
    notices += _incomplete_log_notices(measurable)
    for run in measurable:
        groups.setdefault(run.cluster.instance_name, []).append(with_all_tasks(run))
    known = {job.instance_type for job in profile.optex}
    jobs = []
    for name, group in groups.items():
        if name in known:
            notices.append(_kept_profile_notice(name))
            continue
        job, assumptions = job_profile(group, instance_type=name)
        jobs.append(replace(job, category=category or profile.category))
        notices += assumptions
    return replace(
        profile,
        runs=runs,
        optex=(*profile.optex, *jobs),
        notices=tuple(dict.fromkeys((*profile.notices, *notices))),
    )


def _incomplete_log_notices(runs: Sequence[Run]) -> list[Notice]:
    """Notices about runs whose end was not seen, where a job profile is measured on them."""
    incomplete = [
        notice for run in runs for notice in run.notices if notice.code == "incomplete-log"
    ]
    return [*incomplete, *filter(None, [partial_stages_notice(runs)])]


def _kept_profile_notice(name: str | None) -> Notice:
    return Notice(
        "job-profile-kept",
        f"the sources hold a job profile of {name or 'nodes of unknown type'} already: it stays "
        "as it is",
        "give the logs alone to measure it anew",
    )


def _measurable(runs: Sequence[Run]) -> list[Run]:
    with_stages = [run for run in runs if run.stages and run.cluster.nodes]
    usable = [run for run in with_stages if run.complete] or with_stages
    if not usable:
        raise ModelDoesNotFit(
            "a job profile is measured from event logs, and here is no run that shows its stages "
            "and its nodes",
            remedy="give one or more logs of a representative job, best on a single node",
        )
    applications = dict.fromkeys(run.application for run in usable if run.application)
    if len(applications) > 1:
        raise ModelDoesNotFit(
            f"a job profile is of one representative job, not of {len(applications)} applications "
            f"({', '.join(list(applications)[:3])})",
            remedy="make one profile of each",
        )
    return usable


def _with_iterations(run: Run, iterations: float | None, notices: list[Notice]) -> Run:
    """The run with its iterations: its own, those said, or those that its stages show."""
    if run.workload.iterations is not None or not run.stages:
        return run
    count = iterations
    if count is None and is_iterative(run):
        count = float(repetitions(run))
        notices.append(
            Notice(
                "iterations-inferred",
                f"{run.source or 'a log'} does not say its iterations: its most repeated stage ran "
                f"{count:g} times, which counts as the iterations",
                "say how many it did: sparkplan profile --optex --iterations K",
            )
        )
    if count is None:
        return run
    workload = run.workload
    return replace(
        run, workload=Workload(workload.input_bytes, count, workload.parameters, workload.scale)
    )


def job_profile(
    runs: Sequence[Run], *, instance_type: str | None
) -> tuple[OptexProfile, tuple[Notice, ...]]:
    """The job profile of runs on one type of node (III-C), and notices about what is assumed in
    it."""
    measured = MeasuredRuns.of(runs)
    baseline = measured.baseline_index
    size, nodes = measured.size[baseline], measured.nodes[baseline]
    t_vs, coeff, coeff_fitted = sharing_coefficients(measured)
    t_commn, cf_commn = communication_coefficients(measured)
    operations = unit_operations(measured.runs)
    per_set, units = _unit_sets(measured, operations)
    each = float(np.sum(operations.mean_seconds * per_set))
    work = execution_baseline(measured, sharing=coeff * t_vs)
    first = measured.runs[baseline]
    job = OptexProfile(
        instance_type=instance_type,
        t_init_seconds=_six_digits(measured.column("init").mean()),
        t_prep_seconds=_six_digits(measured.column("prep").mean()),
        t_vs_baseline_seconds=_six_digits(t_vs),
        coeff=_six_digits(coeff),
        t_commn_baseline_seconds=_six_digits(t_commn),
        cf_commn=_six_digits(cf_commn),
        s_baseline=float(size),
        n_unit_baseline=_six_digits(work / each if each > 0.0 else units),
        operations=tuple(
            Operation(name, _six_digits(seconds), _six_digits(count))
            for name, seconds, count in zip(
                operations.names, operations.mean_seconds, per_set, strict=True
            )
            if count > 0.0
        ),
        iterative=any(is_iterative(run) for run in measured.runs),
        application=first.application,
        source=", ".join(dict.fromkeys(run.source for run in measured.runs if run.source)) or None,
        slots_per_node=first.cluster.slots / nodes if first.cluster.slots else None,
    )
    return job, tuple(_assumption_notices(measured, coeff_fitted=coeff_fitted))


def _six_digits(value: float) -> float:
    """Rounded to six digits: so the file and the prediction have the same numbers."""
    return float(f"{value:.6g}")


def sharing_coefficients(measured: MeasuredRuns) -> tuple[float, float, bool]:
    """T_vs_baseline, coeff of Eq. 1 fitted over the runs (else `PUBLISHED_COEFF`), and whether it
    was fitted.

    The fit has an intercept: Eq. 1 says how variable sharing *grows*. What does not grow with nodes
    and iterations is part of the unit tasks (`execution_baseline`).
    """
    seconds, growth = measured.column("sharing"), measured.nodes * measured.iterations
    baseline = float(seconds[measured.baseline_index]) or float(seconds.mean())
    if np.ptp(growth) == 0.0 or baseline <= 0.0:
        return baseline, PUBLISHED_COEFF, False
    rows = np.column_stack((np.ones_like(growth), growth * baseline))
    fit = fit_nonnegative(rows, seconds, relative=False)
    return baseline, float(fit.coefficients[1]), True


def communication_coefficients(measured: MeasuredRuns) -> tuple[float, float]:
    """T_commn_baseline on a single node, and cf_commn of Eq. 2 fitted over the runs."""
    ratio = measured.size / measured.size[measured.baseline_index]
    single = measured.column("communication") * measured.nodes
    baseline = float(single[measured.baseline_index]) or float((single / ratio).mean())
    if baseline <= 0.0:
        return 0.0, PROPORTIONAL_COMMUNICATION
    rows = (baseline * ratio / measured.nodes)[:, None]
    fit = fit_nonnegative(rows, measured.column("communication"), relative=False)
    return baseline, float(fit.coefficients[0])


def execution_baseline(measured: MeasuredRuns, *, sharing: float) -> float:
    """B of Eq. 8: seconds of all unit tasks of one iteration on one node at the baseline size,
    fitted over the runs on relative error.

    Args:
        sharing: coeff x T_vs_baseline; the part of sharing beyond Eq. 1 is counted as unit tasks,
            so that the phases still add up.
    """
    sharing_by_model = sharing * measured.iterations * measured.nodes
    unit_task_seconds = measured.column("sharing") + measured.column("execution") - sharing_by_model
    total = np.asarray([run.seconds for run in measured.runs])
    ratio = measured.size / measured.size[measured.baseline_index]
    rows = (measured.iterations * ratio / measured.nodes)[:, None]
    fit = fit_nonnegative(
        rows, np.maximum(unit_task_seconds, SHORTEST_SHARE * total), relative=True
    )
    return float(fit.coefficients[0])


def _unit_sets(measured: MeasuredRuns, operations: UnitOperations) -> tuple[FloatArray, float]:
    """(k,) occurrences of each operation in one set of unit tasks, and the number of sets that the
    baseline run does one after another.

    A set is what is done for one partition of the input (IV-B: n_unit_baseline "directly
    corresponds to the number of partitions") in one iteration; a node does as many at once as its
    slots are busy.
    """
    baseline = measured.baseline_index
    partitions = input_partitions(measured.runs[baseline])
    per_set = operations.counts[baseline] / (partitions * measured.iterations[baseline])
    busy = measured.phases[baseline].busy_slots / measured.nodes[baseline]
    return per_set, partitions / max(busy, 1e-9)


def input_partitions(run: Run) -> int:
    """Partitions of the input: tasks of the widest stage that reads from outside."""
    reading = [stage for stage in run.stages if stage.outside_bytes > 0.0]
    return max((stage.tasks for stage in reading or run.stages), default=1)


def _assumption_notices(measured: MeasuredRuns, *, coeff_fitted: bool) -> Iterator[Notice]:
    """Notices about the coefficients that the runs do not identify."""
    if not coeff_fitted and measured.column("sharing").any():
        yield Notice(
            "default-coefficients",
            f"how variable sharing grows with nodes and iterations is not measured: coeff is "
            f"{PUBLISHED_COEFF:g}, as published (OptEx Table II)",
            "add logs of runs on other numbers of nodes, or with other iterations",
        )
    if np.ptp(measured.size) == 0.0:
        yield Notice(
            "default-coefficients",
            "how execution and communication grow with the input is not measured: they follow "
            "it in proportion (OptEx Eqs. 2 and 4)",
            "add the log of a run with an input of another size",
        )
    if measured.nodes.min() > 1.0:
        yield Notice(
            "not-single-node",
            f"OptEx measures a job profile on one node; these runs had "
            f"{measured.nodes.min():g} or more, and are scaled down by Eq. 6",
            "add the log of a run on a single node",
        )
