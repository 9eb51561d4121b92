"""Points of the Gaussian process of log time, and its prior covariance between them.

The prior is that of `engine.experiments.belief`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.batch import filled_nodes, on_whole_nodes
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray
from engine.machines.transfer import family_of
from engine.models.workloads import with_defaults
from engine.profile import Profile, Run

FAMILY_AMPLITUDE, TYPE_AMPLITUDE = 0.7, 0.3
"""Amplitudes of the residuals specific to a family and to a type, relative to the shared one."""


@dataclass(frozen=True, eq=False)
class Points:
    """n points of the Gaussian process: a cluster and a workload each.

    Args:
        types, families: (n,) names of the instance type and of its family. A type whose name
            follows no provider's rule is a family of its own.
        coordinates: (n, 3) logarithms of cores (nodes or slots where vCPUs are not known), of
            memory in GiB (NaN where not known) and of the input size.
    """

    clusters: tuple[Cluster, ...]
    workloads: tuple[Workload, ...]
    types: tuple[str, ...]
    families: tuple[str, ...]
    coordinates: FloatArray

    @classmethod
    def of(
        cls, clusters: Sequence[Cluster], workloads: Sequence[Workload], profile: Profile
    ) -> Points:
        """The points, one cluster and one workload each."""
        return cls._at(clusters, [cluster.nodes for cluster in clusters], workloads, profile)

    @classmethod
    def of_runs(cls, runs: Sequence[Run], profile: Profile) -> Points:
        """The points of runs. Pods that fill part of a node are beside it, not where it is."""
        clusters = [on_whole_nodes(run, profile) for run in runs]
        nodes = [filled_nodes(run, profile) for run in runs]
        return cls._at(clusters, nodes, [run.workload for run in runs], profile)

    @classmethod
    def _at(
        cls,
        clusters: Sequence[Cluster],
        nodes: Sequence[float | None],
        workloads: Sequence[Workload],
        profile: Profile,
    ) -> Points:
        completed_workloads = [with_defaults(workload, profile) for workload in workloads]
        names = [cluster.instance_name or "" for cluster in clusters]
        families = [family_of(name) or name for name in names]
        coordinates = [
            _coordinates(*each) for each in zip(clusters, nodes, completed_workloads, strict=True)
        ]
        return cls(
            tuple(clusters),
            tuple(completed_workloads),
            tuple(names),
            tuple(families),
            np.asarray(coordinates, dtype=float).reshape(-1, 3),
        )

    def __len__(self) -> int:
        return len(self.clusters)

    def joined(self, other: Points) -> Points:
        """These points followed by others."""
        return Points(
            self.clusters + other.clusters,
            self.workloads + other.workloads,
            self.types + other.types,
            self.families + other.families,
            np.concatenate((self.coordinates, other.coordinates)),
        )

    def residual_covariance(self, amplitude: float, length: float) -> FloatArray:
        """(n, n) prior covariance of the residual, without the nugget."""
        same_family = _equal_names(self.families)
        same_type = _equal_names(self.types)
        near = _matern_52(self.coordinates[:, [0, 2]], length)
        specific = FAMILY_AMPLITUDE**2 * same_family + TYPE_AMPLITUDE**2 * same_type
        shared = _matern_52(self._complete_coordinates, length)
        return np.asarray(amplitude**2 * (shared + specific * near))

    def same_point(self) -> FloatArray:
        """(n, n) 1 where type, cores, memory and size are the same, else 0."""
        places = self._complete_coordinates
        distance = np.abs(places[:, None, :] - places[None, :, :]).max(axis=-1)
        return np.asarray(_equal_names(self.types) * (distance < SAME_POINT_TOLERANCE))

    @cached_property
    def _complete_coordinates(self) -> FloatArray:
        """(n, 3) the coordinates, where memory is not known with as much per core as the others
        have in the mean: nothing tells such a cluster to have more of it or less. 0 for all where
        none is known."""
        cores, memory, size = self.coordinates.T
        known = np.isfinite(memory)
        if not known.any():
            return np.column_stack((cores, np.zeros(len(cores)), size))
        typical = cores + np.mean(memory[known] - cores[known])
        return np.column_stack((cores, np.where(known, memory, typical), size))


SAME_POINT_TOLERANCE = 1e-9
"""Coordinates that differ by less are the same but for rounding."""


def _coordinates(
    cluster: Cluster, filled: float | None, workload: Workload
) -> tuple[float, float, float]:
    nodes, instance = float(filled or cluster.slots or 1), cluster.instance
    cores = nodes * instance.vcpus if instance else nodes
    memory = nodes * instance.memory_gib if instance else math.nan
    size = workload.input_bytes or workload.scale or 1.0
    return (
        math.log(nodes if math.isnan(cores) else cores),
        math.log(memory),
        math.log(size),
    )


def _equal_names(names: Sequence[str]) -> FloatArray:
    array = np.asarray(names)
    return np.asarray(array[:, None] == array[None, :], dtype=np.float64)


def _matern_52(coordinates: FloatArray, length: float) -> FloatArray:
    """(n, n) Matern 5/2 correlation, (1 + r + r^2 / 3) exp(-r) with r = sqrt(5) d, for distances d
    in units of `length`.

    Times bend at edges (a cache that fits no longer). The squared exponential, whose functions have
    all derivatives, cannot follow one, and its posterior is then off by several times the noise at
    measured points beside it; this kernel is the usual one of such searches for that reason.
    """
    differences = coordinates[:, None, :] - coordinates[None, :, :]
    r = math.sqrt(5.0) * np.sqrt(np.square(differences / length).sum(axis=-1))
    return np.asarray((1.0 + r + np.square(r) / 3.0) * np.exp(-r))
