"""Whether shuffles and spills fit the disks of the nodes that hold them."""

from __future__ import annotations

from engine.catalog import Catalog, InstanceType
from engine.cluster import Workload
from engine.notices import Notice
from engine.profile import Run
from engine.units import format_bytes

GIGABYTE, GIBIBYTE = 1e9, 2.0**30

EMR_EBS_GIB_PER_VCPU, EMR_EBS_LEAST_GIB = 16.0, 32.0
"""What EMR attaches to a node without local disks where nothing is asked for: 32 GiB to a .large,
64 to an .xlarge and so on with its size. It is taken to be so for all types."""

USABLE_SHARE = 0.9
"""YARN takes no more work for a disk that is fuller (its disk health checker's default)."""


def disk_of(instance: InstanceType, catalog: Catalog | None) -> tuple[float, str] | None:
    """Bytes on one node for shuffle files and spills, and what they are on; None where the catalog
    does not tell."""
    if instance.local_disk_gb:
        return instance.local_disk_gb * GIGABYTE, "local disk"
    if catalog is not None and catalog.memory_rule.kind == "emr-yarn":
        volumes = max(EMR_EBS_LEAST_GIB, EMR_EBS_GIB_PER_VCPU * instance.vcpus)
        return volumes * GIBIBYTE, "EBS volumes (assumed: what EMR attaches by default)"
    return None


def needed_bytes(run: Run, workload: Workload) -> float | None:
    """Bytes of shuffle files and spills of a job that grows with its input: all shuffles, since
    their files may stay to the end, and the largest spill, which goes with its stage. None where
    the run says nothing of them."""
    shuffles = [x.shuffle_write_bytes.total for x in run.stages if x.shuffle_write_bytes]
    spills = [x.disk_spilled_bytes for x in run.stages if x.disk_spilled_bytes]
    if not shuffles and not spills:
        return None
    return (sum(shuffles) + max(spills, default=0.0)) * _ratio(run.workload, workload)


def _ratio(measured: Workload, asked: Workload) -> float:
    if measured.input_bytes and asked.input_bytes:
        return asked.input_bytes / measured.input_bytes
    return asked.scale or 1.0


def disk_notice(
    instance: InstanceType,
    nodes: float,
    catalog: Catalog | None,
    run: Run | None,
    workload: Workload,
) -> Notice | None:
    """The warning that shuffle and spill fill the disks of so many nodes; None where they fit, or
    where it is not known."""
    disk = disk_of(instance, catalog)
    needed = needed_bytes(run, workload) if run is not None else None
    if disk is None or needed is None:
        return None
    held, kind = disk
    each = needed / nodes
    if each <= USABLE_SHARE * held:
        return None
    least = int(-(-needed // (USABLE_SHARE * held)))
    return Notice(
        "disk-does-not-fit",
        f"shuffles and spills take up to {format_bytes(each)} on each node, and {instance.name} "
        f"has {format_bytes(held)} of {kind}",
        f"use at least {least} such nodes, or attach {format_bytes(each / USABLE_SHARE)} to each",
        subject=instance.name,
        severity=each,
    )
