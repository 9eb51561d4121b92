"""The runs made so far: as known points of a design, and summarised by type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.cluster import Workload
from engine.experiments.plans import Grid, KnownRuns
from engine.models.simcost.sampling import CONFIDENCE, EPSILON, estimate, is_enough
from engine.models.workloads import same_parameters, with_defaults
from engine.profile import Profile, Run
from engine.runs.configurations import repetitions
from engine.runs.slow_runs import without_outliers


def known_runs(profile: Profile, grid: Grid, workload: Workload | None = None) -> KnownRuns:
    """The profile's runs on the grid's types, as known points of the design: those that succeeded
    with the planned job parameters and whose nodes and share of the whole input are known."""
    planned = with_defaults(workload or profile.reference_workload, profile)
    typed = grid.instances != (None,)
    runs = [
        run
        for run in profile.runs
        if run.complete
        and not run.has_failed
        and same_parameters(run.workload.parameters, planned.parameters)
        and run.cluster.nodes is not None
        # How many nodes of a type pods took is not known.
        and (not typed or (run.cluster.instance_name in grid.instances and not run.counts_pods))
        and run.workload.input_bytes is not None
        and planned.input_bytes is not None
    ]
    names = [run.cluster.instance_name if typed else None for run in runs]
    return KnownRuns(
        np.asarray([run.cluster.nodes for run in runs], dtype=float),
        np.asarray([run.workload.input_bytes for run in runs], dtype=float)
        / (planned.input_bytes or np.nan),
        np.asarray([grid.instances.index(name) for name in names], dtype=np.int64),
        np.asarray([run.seconds for run in runs]),
    )


@dataclass(frozen=True, slots=True)
class KnownType:
    """The runs on one instance type.

    Args:
        repeated: the most repetitions of one configuration, without slow runs.
        settled: whether SimCost's rule (Eq. 6, a tenth of the mean at 80 %) would stop repeating
            it; None if nothing was repeated.
    """

    instance: str | None
    runs: int
    nodes: tuple[int, ...]
    sizes: tuple[float, ...]
    repeated: int
    settled: bool | None


def lessons_of(profile: Profile) -> tuple[KnownType, ...]:
    """The runs of a profile, summarised for each type."""
    groups: dict[str | None, list[Run]] = {}
    for run in profile.runs:
        groups.setdefault(run.cluster.instance_name, []).append(run)
    not_slow = {id(run) for run in without_outliers(profile).runs}
    return tuple(
        _known_type(name, runs, [run for run in runs if id(run) in not_slow])
        for name, runs in groups.items()
    )


def _known_type(name: str | None, runs: Sequence[Run], not_slow: Sequence[Run]) -> KnownType:
    """The summary of one type, from all of its runs and those of them that are not slow."""
    repeated_seconds = [run.seconds for run in max(repetitions(not_slow), key=len)]
    settled = None
    if len(repeated_seconds) > 1:
        mean_estimate = estimate(repeated_seconds, confidence=CONFIDENCE)
        settled = is_enough(mean_estimate, epsilon=EPSILON * mean_estimate.mean)
    return KnownType(
        instance=name,
        runs=len(runs),
        nodes=tuple(sorted({run.cluster.nodes for run in runs if run.cluster.nodes})),
        sizes=tuple(sorted({run.workload.input_bytes for run in runs if run.workload.input_bytes})),
        repeated=len(repeated_seconds),
        settled=settled,
    )
