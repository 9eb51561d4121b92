"""What is to be said of a cluster whichever model is asked: does it hold the job, and start it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from engine.batch import ClusterBatch, with_shape_and_layout
from engine.cluster import Cluster, Layout, Workload
from engine.machines.hardware_threads import denser_nodes_notice
from engine.machines.node_capacity import disk_notice, memory_overcommit_notice
from engine.machines.platforms import support_notice
from engine.machines.services import service_refusals
from engine.notices import Notice
from engine.profile import Profile
from engine.runs.barrier_stages import BarrierStage, barrier_notice
from engine.runs.carried_settings import (
    idle_cores_notice,
    stage_without_room_notice,
    too_few_cores_notice,
)


def service_notices(cluster: Cluster) -> list[Notice]:
    """Why the service of a catalog would not start a cluster of its types, rented on demand."""
    catalog, composition = cluster.catalog, cluster.composition
    return [] if catalog is None or not composition else [*service_refusals(catalog, composition)]


def support_notices(batch: ClusterBatch) -> list[Notice]:
    """Which types of some clusters the service that would run them does not support."""
    catalog = batch.catalog
    if catalog is None:
        return []
    names = dict.fromkeys(kind.name for kind in batch.types if kind is not None)
    found = (support_notice(catalog, name) for name in names if name in catalog.offers)
    return [notice for notice in found if notice is not None]


def capacity_notices(
    batch: ClusterBatch,
    workload: Workload,
    profile: Profile,
    barrier_stages: Sequence[BarrierStage],
) -> list[Notice]:
    """Whether the nodes of the one cluster of `batch` hold the executors that were measured on
    them, start the job's tasks and barrier stages, leave no core without tasks, and have disks for
    its shuffles and spills."""
    executors, cores = float(batch.executors[0]), float(batch.executor_cores[0])
    found = (
        _crowded_notice(batch, profile),
        too_few_cores_notice(cores, profile),
        idle_cores_notice(cores, profile),
        stage_without_room_notice(cores, profile),
        barrier_notice(barrier_stages, executors, cores),
        _disk_notice(batch, workload, profile),
    )
    return [notice for notice in found if notice is not None]


def fuller_nodes_notice(batch: ClusterBatch, profile: Profile) -> Notice | None:
    """Whether the nodes of the one cluster of `batch` are fuller of tasks than the measured ones;
    those of a measured type keep their layout."""
    run, instance = profile.largest_run, batch.types[int(batch.type_index[0])]
    if run is None or instance is None:
        return None
    if instance.name in profile.instance_types and not profile.fills_nodes:
        return None
    slots_per_node = float(batch.slots[0] / batch.nodes[0])
    return denser_nodes_notice(run, instance, slots_per_node=slots_per_node)


def _disk_notice(batch: ClusterBatch, workload: Workload, profile: Profile) -> Notice | None:
    """Whether the disks of its nodes, where these are known, hold what the job writes."""
    nodes, instance = float(batch.nodes[0]), batch.types[int(batch.type_index[0])]
    if instance is None or np.isnan(nodes):
        return None
    return disk_notice(instance, nodes, batch.catalog, profile.largest_run, workload)


def _crowded_notice(batch: ClusterBatch, profile: Profile) -> Notice | None:
    """Of a measured type, which keeps the layout of its executors."""
    kind, catalog = batch.types[int(batch.type_index[0])], batch.catalog
    if kind is None or catalog is None or kind.name not in profile.instance_types:
        return None
    one = Cluster.of_nodes(instance_type=kind.name, nodes=1, catalog=catalog)
    laid = with_shape_and_layout(one, profile)
    if laid.executors is None or laid.executor_cores is None:
        return None
    layout = Layout(laid.executors, laid.executor_cores, laid.executor_memory_gib, laid.beside)
    return memory_overcommit_notice(kind, layout, catalog)
