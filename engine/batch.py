"""A batch of clusters as arrays, the input of the models' vectorised forecasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np

from engine.catalog import Catalog, InstanceType, MemoryRule
from engine.cluster import WHOLE, Cluster, Layout
from engine.errors import BadInput, require_kind
from engine.forecast import BoolArray, FloatArray, IntArray, take_rows
from engine.machines.beside_heap import observed_layout, planned_beside
from engine.machines.transfer import speed_of
from engine.memory import container_gib, executor_cores_for, heap_gib, layout_of
from engine.profile import Profile, Run
from engine.runs.carried_settings import held_cores, task_cpus

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class ClusterBatch:
    """n clusters, each of one node type, or of executors without nodes.

    Args:
        types: the k distinct types; None for executors, and for observed nodes of unknown type.
        type_index: (n,) index into `types`.
        nodes: (n,) worker nodes; NaN for a cluster of executors.
        executors, executor_cores: (n,) NaN where the shape of the node is unknown.
        executor_memory_gib: (n,) heap per executor in GiB; NaN where unknown.
        catalog: where the types come from; None for types known only from the profile.
        task_cpus: cores that each task of the application holds.
    """

    types: tuple[InstanceType | None, ...]
    type_index: IntArray
    nodes: FloatArray
    executors: FloatArray
    executor_cores: FloatArray
    executor_memory_gib: FloatArray
    catalog: Catalog | None = None
    task_cpus: int = 1

    def __len__(self) -> int:
        return len(self.type_index)

    @property
    def slots(self) -> FloatArray:
        """(n,) cores that tasks can hold at once, as `Cluster.slots`; NaN where the layout is
        unknown."""
        return self.executors * self.cores_held

    @property
    def vcores(self) -> FloatArray:
        """(n,) cores of all executors, as `Cluster.vcores`; NaN as `slots`."""
        return self.executors * self.executor_cores

    @property
    def cores_held(self) -> FloatArray:
        """(n,) cores of each executor that tasks can hold (`engine.cluster.cores_held`)."""
        if self.task_cpus == 1:
            return self.executor_cores
        held = self.executor_cores // self.task_cpus * self.task_cpus
        return np.asarray(np.where(held == 0.0, self.executor_cores, held))

    def speeds(self, source: InstanceType | None) -> tuple[FloatArray, FloatArray]:
        """(n,) speed of a core relative to one of the measured type `source`, and (n,) spread of
        its logarithm (`engine.machines.transfer`)."""
        speeds = [speed_of(kind, source, self.catalog) for kind in self.types]
        relative = np.asarray([speed.relative for speed in speeds])
        log_scale = np.asarray([speed.log_scale for speed in speeds])
        return relative[self.type_index], log_scale[self.type_index]

    def take(self, rows: IntArray) -> ClusterBatch:
        names = ("type_index", "nodes", "executors", "executor_cores", "executor_memory_gib")
        return take_rows(self, rows, *names)

    def equals(self, other: ClusterBatch) -> bool:
        """Whether the other batch holds the same clusters in the same order."""
        if self.catalog is not other.catalog or self.types != other.types:
            return False
        if self.task_cpus != other.task_cpus:
            return False
        return len(self) == len(other) and all(
            np.array_equal(mine.view(np.int64), others.view(np.int64))  # NaN is like NaN
            for mine, others in zip(self._columns, other._columns, strict=True)
        )

    @property
    def _columns(self) -> tuple[IntArray | FloatArray, ...]:
        """The columns that tell clusters apart."""
        shape = (self.executors, self.executor_cores, self.executor_memory_gib)
        return (self.type_index, self.nodes, *shape)

    def alike(
        self, slots: float, memory_saturated: BoolArray | None = None
    ) -> tuple[IntArray, IntArray]:
        """Representative rows for an application that never runs more than `slots` tasks at once,
        and (n,) the index of the representative of each row.

        The first of neighbouring rows of one type and layout, with as many executors per node and
        at least `slots` slots, represents the others. On a grid of node counts that is most rows.

        Args:
            memory_saturated: (n,) whether the memory of more nodes changes nothing either; None for
                all.
        """
        enough = self.slots >= slots
        if memory_saturated is not None:
            enough &= memory_saturated
        same_as_previous = enough[1:] & enough[:-1] & (self.type_index[1:] == self.type_index[:-1])
        per_node = self.executors / self.nodes
        for column in (per_node, self.executor_cores, self.executor_memory_gib):
            same_as_previous &= (column[1:] == column[:-1]) | (
                np.isnan(column[1:]) & np.isnan(column[:-1])
            )
        is_representative = np.concatenate((np.full(min(1, len(self)), True), ~same_as_previous))
        return np.flatnonzero(is_representative), np.cumsum(is_representative) - 1

    @classmethod
    def of(cls, clusters: Sequence[Cluster], profile: Profile) -> ClusterBatch:
        """The given clusters, with shapes and layouts completed from the profile.

        Raises:
            BadInput: for a type whose shape is unknown even to the profile, and for anything that
                is no `Cluster`.
        """
        remedy = "make it with engine.Cluster.of_nodes(...) or .of_executors(...)"
        for cluster in clusters:
            require_kind(cluster, Cluster, "a cluster", remedy=remedy)
        resolved = [with_shape_and_layout(cluster, profile) for cluster in clusters]
        types: dict[InstanceType | None, int] = {}
        index = [types.setdefault(cluster.instance, len(types)) for cluster in resolved]
        catalogs = [cluster.catalog for cluster in resolved if cluster.catalog is not None]
        return cls(
            types=tuple(types),
            type_index=np.asarray(index, dtype=np.int64),
            nodes=_column(cluster.nodes for cluster in resolved),
            executors=_column(cluster.executors for cluster in resolved),
            executor_cores=_column(cluster.executor_cores for cluster in resolved),
            executor_memory_gib=_column(cluster.executor_memory_gib for cluster in resolved),
            catalog=catalogs[0] if catalogs else None,
            task_cpus=task_cpus(profile),
        )

    @classmethod
    def grid(
        cls,
        types: Sequence[InstanceType],
        layouts: Sequence[Layout | None],
        node_counts: Sequence[int],
        catalog: Catalog | None,
        *,
        task_cpus: int = 1,
    ) -> ClusterBatch:
        """Every type at every node count, types outermost: n = len(types) * len(node_counts)."""
        k, m = len(types), len(node_counts)
        nodes = np.tile(np.asarray(node_counts, dtype=float), k)
        per_node = np.repeat(_column(x.executors_per_node if x else None for x in layouts), m)
        return cls(
            types=tuple(types),
            type_index=np.repeat(np.arange(k, dtype=np.int64), m),
            nodes=nodes,
            executors=per_node * nodes,
            executor_cores=np.repeat(_column(x.executor_cores if x else None for x in layouts), m),
            executor_memory_gib=np.repeat(
                _column(x.executor_memory_gib if x else None for x in layouts), m
            ),
            catalog=catalog,
            task_cpus=task_cpus,
        )


def _column(values: Iterable[float | None]) -> FloatArray:
    known = [math.nan if value is None else float(value) for value in values]
    return np.asarray(known, dtype=np.float64)


def with_shape_and_layout(cluster: Cluster, profile: Profile) -> Cluster:
    """The cluster with its node shape and layout filled in, for tasks like those of the profile.

    A missing shape comes from the profile. The layout is the cluster's own, else that of the
    profile's runs on the same type (unless nodes are to be filled; `_measured_layout`), else the
    catalog's default.

    Raises:
        BadInput: if the type of the nodes or its vCPUs are known from neither the cluster nor a
            run.
    """
    cores_per_task = task_cpus(profile)
    if cluster.task_cpus != cores_per_task:
        cluster = replace(cluster, task_cpus=cores_per_task)
    if not cluster.groups or cluster.executors is not None:
        return cluster
    group = cluster.groups[0]
    run = _observed(profile, group.instance.name if group.instance else None)
    instance = _with_shape(group.instance, run.cluster if run else None, profile)
    named = Cluster(
        groups=(type(group)(group.nodes, instance, group.price_usd_per_hour),),
        catalog=cluster.catalog,
        task_cpus=cores_per_task,
    )
    layout = None
    if run is not None and not profile.fills_nodes:
        layout = _measured_layout(run, instance, cluster.catalog, profile)
    layout = layout or _default_layout(instance, cluster.catalog, profile)
    return named.with_layout(layout) if layout else named


def _with_shape(
    instance: InstanceType | None, observed: Cluster | None, profile: Profile
) -> InstanceType | None:
    """The type of some nodes with its shape; None for that of measured nodes of unknown type.

    Args:
        observed: the cluster of a run on that type; None without one.

    Raises:
        BadInput: as `with_shape_and_layout`.
    """
    if observed is None and instance is None:
        raise BadInput(
            "the node type is not known",
            remedy="name it with --instance, or say executors with --executors",
            choices=profile.instance_types,
        )
    if instance is not None and math.isnan(instance.vcpus):
        if instance.name not in profile.instance_types:
            raise BadInput(
                f"the profile does not know the instance type {instance.name!r}",
                remedy="look it up in a catalog, or give its vCPUs and memory",
                choices=profile.instance_types,
            )
        instance = observed.instance if observed else instance
    if profile.fills_nodes and instance is None:
        return _measured_instance(observed)
    return instance


def _measured_instance(observed: Cluster | None) -> InstanceType:
    """The type of the measured nodes, whose nodes are to be filled with a task for each vCPU."""
    if observed is None or observed.instance is None:
        raise BadInput(
            "how many vCPUs the measured nodes had is not known: they cannot be filled",
            where="--fill-nodes",
            remedy="name their type with --ran-on, or leave it out",
        )
    return observed.instance


def measured_layout(
    profile: Profile, instance: InstanceType, catalog: Catalog | None
) -> Layout | None:
    """The layout of the largest run on a type, which `with_shape_and_layout` reuses; None if
    unknown."""
    run = _observed(profile, instance.name)
    return None if run is None else _measured_layout(run, instance, catalog, profile)


def _measured_layout(
    run: Run, instance: InstanceType | None, catalog: Catalog | None, profile: Profile
) -> Layout | None:
    """The layout of a run's executors on nodes of its type. Where each pod counts as a node, as
    many of them share one as fit: planned with one on each, the type would cost a multiple."""
    layout = observed_layout(run.cluster, profile)
    if layout is None or instance is None or not run.counts_pods:
        return layout
    return replace(layout, executors_per_node=_most_that_fit(layout, instance, catalog))


def _most_that_fit(layout: Layout, instance: InstanceType, catalog: Catalog | None) -> int:
    """How many executors of a layout a node of a type holds, by vCPUs and memory; at least one."""
    if math.isnan(instance.vcpus):
        return layout.executors_per_node
    heap, rule = layout.executor_memory_gib, catalog.memory_rule if catalog else MemoryRule()
    for executors in range(int(instance.vcpus) // layout.executor_cores, 1, -1):
        if heap is None or math.isnan(instance.memory_gib):
            return executors
        if heap_gib(container_gib(instance, rule, executors), layout.beside) >= heap * (
            1.0 - WHOLE
        ):
            return executors
    return 1


def on_whole_nodes(run: Run, profile: Profile) -> Cluster:
    """The cluster of a run. Where each pod counts as a node of a named type, with the fewest nodes
    that hold all of them."""
    cluster = run.cluster
    layout = _measured_layout(run, cluster.instance, cluster.catalog, profile)
    if not run.counts_pods or cluster.instance is None or layout is None:
        return cluster
    nodes = math.ceil((cluster.executors or 1) / layout.executors_per_node)
    return replace(cluster, groups=(replace(cluster.groups[0], nodes=nodes),))


def filled_nodes(run: Run, profile: Profile) -> float | None:
    """How many nodes of its type, as they are planned, have as many slots as a run: for pods a
    fraction where they fill part of a node only. None where nodes are not known."""
    cluster = run.cluster
    if not run.counts_pods or cluster.instance is None or not cluster.slots:
        return cluster.nodes
    group = replace(cluster.groups[0], nodes=1)
    planned = Cluster(groups=(group,), catalog=cluster.catalog)
    slots = with_shape_and_layout(planned, profile).slots
    return cluster.slots / slots if slots else cluster.nodes


def _observed(profile: Profile, name: str | None) -> Run | None:
    """The largest run on a type or, without a name, on any nodes."""
    runs = [
        run
        for run in profile.runs
        if run.cluster.nodes and (name is None or name in run.cluster.composition)
    ]
    return max(runs, key=lambda run: (run.workload.input_bytes or 0.0, run.seconds), default=None)


def _default_layout(
    instance: InstanceType | None, catalog: Catalog | None, profile: Profile
) -> Layout | None:
    if instance is None or math.isnan(instance.vcpus) or math.isnan(instance.memory_gib):
        return None
    rule = catalog.memory_rule if catalog else MemoryRule()
    return layout_of(
        instance,
        rule,
        executor_cores=executor_cores_for(held_cores(profile)),
        beside_per_core=planned_beside(profile),
    )


FEWEST_CLUSTERS = 2_048
"""Smaller batches are no grids: single clusters come in between, and are to push none out. Of them
the last is cached, which is asked about other inputs where it is to be told how far it holds."""

CACHED_GRIDS = 2
"""All candidates, and those of them that may be among the best."""


class GridCache(Generic[T]):
    """A value for each of the most recently used grids of clusters. Thread-safe; a copy in another
    process starts empty."""

    def __init__(self) -> None:
        self._grids: tuple[tuple[ClusterBatch, T], ...] = ()
        self._few: tuple[tuple[ClusterBatch, T], ...] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), ()

    def get(self, batch: ClusterBatch, make: Callable[[], T]) -> T:
        """The value of a batch, made where it is not cached."""
        few = len(batch) < FEWEST_CLUSTERS
        cached = self._few if few else self._grids
        same = [entry for entry in cached if entry[0].equals(batch)]
        entry = same[0] if same else (batch, make())
        if few:
            self._few = (entry,)
        else:
            others = tuple(other for other in self._grids if other is not entry)
            self._grids = (entry, *others)[:CACHED_GRIDS]
        return entry[1]
