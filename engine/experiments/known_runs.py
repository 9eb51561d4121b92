"""The runs made so far: as places of a design, and type by type."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.cluster import Workload
from engine.experiments.plans import Grid, Known
from engine.models.simcost.sampling import CONFIDENCE, EPSILON, estimate, is_enough
from engine.models.workloads import completed, same_parameters
from engine.profile import Profile, Run
from engine.runs.configurations import repetitions
from engine.runs.slow_runs import calm


def known_of(profile: Profile, grid: Grid, workload: Workload | None = None) -> Known:
    """The profile's runs on the grid's types, as places of the design: those that succeeded with
    the wanted job parameters and tell their nodes and their share of the whole input."""
    wanted = completed(workload or profile.reference_workload, profile)
    whole, rows = wanted.input_bytes, []
    for run in profile.runs:
        if not run.complete or run.has_failed:
            continue
        if not same_parameters(run.workload.parameters, wanted.parameters):
            continue
        name = None if grid.instances == (None,) else run.cluster.instance_name
        if run.cluster.nodes is None or name not in grid.instances:
            continue
        if whole is None or run.workload.input_bytes is None:
            continue
        fraction = run.workload.input_bytes / whole
        rows.append((run.cluster.nodes, fraction, name, run.seconds))
    return Known(
        np.asarray([float(nodes) for nodes, _, _, _ in rows]),
        np.asarray([fraction for _, fraction, _, _ in rows]),
        np.asarray([grid.instances.index(name) for _, _, name, _ in rows], dtype=np.int64),
        np.asarray([seconds for _, _, _, seconds in rows]),
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
    """The runs of a profile, type by type."""
    groups: dict[str | None, list[Run]] = {}
    for run in profile.runs:
        groups.setdefault(run.cluster.instance_name, []).append(run)
    usual = {id(run) for run in calm(profile).runs}
    return tuple(
        _known_type(name, runs, [run for run in runs if id(run) in usual])
        for name, runs in groups.items()
    )


def _known_type(name: str | None, runs: Sequence[Run], usual: Sequence[Run]) -> KnownType:
    """A type by its runs; `usual` are those that are not slow."""
    most = [run.seconds for run in max(repetitions(usual), key=len)]
    return KnownType(
        instance=name,
        runs=len(runs),
        nodes=tuple(sorted({run.cluster.nodes for run in runs if run.cluster.nodes})),
        sizes=tuple(sorted({run.workload.input_bytes for run in runs if run.workload.input_bytes})),
        repeated=len(most),
        settled=_settled(most) if len(most) > 1 else None,
    )


def _settled(seconds: Sequence[float]) -> bool:
    """Whether SimCost's rule (Eq. 6) would make no further repetition."""
    found = estimate(seconds, confidence=CONFIDENCE)
    return is_enough(found, epsilon=EPSILON * found.mean)
