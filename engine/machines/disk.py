"""Checks whether shuffle files and spills fit on the nodes' disks."""

from __future__ import annotations

from engine.catalog import Catalog, InstanceType
from engine.cluster import Workload
from engine.notices import Notice
from engine.profile import Run
from engine.units import format_bytes

GIGABYTE, GIBIBYTE = 1e9, 2.0**30

EMR_EBS_GIB_PER_VCPU, EMR_EBS_LEAST_GIB = 16.0, 32.0
"""Default EBS volumes that EMR attaches to a node without local disks: 32 GiB for a .large, 64 for
an .xlarge and so on with size. Assumed for all types."""

USABLE_SHARE = 0.9
"""YARN stops using a disk that is fuller (default of its disk health checker)."""


def disk_of(instance: InstanceType, catalog: Catalog | None) -> tuple[float, str] | None:
    """Disk bytes of one node for shuffle files and spills, and the kind of disk; None where the
    catalog does not state them."""
    if instance.local_disk_gb:
        return instance.local_disk_gb * GIGABYTE, "local disk"
    if catalog is not None and catalog.memory_rule.kind == "emr-yarn":
        volumes = max(EMR_EBS_LEAST_GIB, EMR_EBS_GIB_PER_VCPU * instance.vcpus)
        return volumes * GIBIBYTE, "EBS volumes (assumed: what EMR attaches by default)"
    return None


def needed_bytes(run: Run, workload: Workload) -> float | None:
    """Disk bytes that a job needs, scaled by its input: all shuffle files, since these may stay to
    the end, plus the largest spill, which ends with its stage. None where not logged."""
    shuffles = [x.shuffle_write_bytes.total for x in run.stages if x.shuffle_write_bytes]
    spills = [x.disk_spilled_bytes for x in run.stages if x.disk_spilled_bytes]
    if not shuffles and not spills:
        return None
    return (sum(shuffles) + max(spills, default=0.0)) * _ratio(run.workload, workload)


def _ratio(measured: Workload, requested: Workload) -> float:
    if measured.input_bytes and requested.input_bytes:
        return requested.input_bytes / measured.input_bytes
    return requested.scale or 1.0


def disk_notice(
    instance: InstanceType,
    nodes: float,
    catalog: Catalog | None,
    run: Run | None,
    workload: Workload,
) -> Notice | None:
    """The warning that shuffles and spills exceed the disks of `nodes` nodes; None where they fit,
    or where this is unknown."""
    disk = disk_of(instance, catalog)
    needed = needed_bytes(run, workload) if run is not None else None
    if disk is None or needed is None:
        return None
    disk_bytes, kind = disk
    bytes_per_node = needed / nodes
    if bytes_per_node <= USABLE_SHARE * disk_bytes:
        return None
    least_nodes = int(-(-needed // (USABLE_SHARE * disk_bytes)))
    return Notice(
        "disk-does-not-fit",
        f"shuffles and spills take up to {format_bytes(bytes_per_node)} on each node, and "
        f"{instance.name} has {format_bytes(disk_bytes)} of {kind}",
        f"use at least {least_nodes} such nodes, or attach "
        f"{format_bytes(bytes_per_node / USABLE_SHARE)} to each",
        subject=instance.name,
        severity=bytes_per_node,
    )
