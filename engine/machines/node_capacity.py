"""Checks whether nodes hold what runs on them: executors in memory, shuffles and spills on disks.

Planned layouts fit in memory by construction. A measured type keeps its measured executors, and
another platform may leave them less of the node.
"""

from __future__ import annotations

import math

from engine.catalog import Catalog, InstanceType, MemoryRule
from engine.cluster import WHOLE, Layout, Workload
from engine.machines.services import service_of
from engine.memory import (
    CONTAINER_STEP_GIB,
    DAEMONS_GIB,
    YARN_MASTER_GIB,
    beside_heap_gib,
    usable_memory_gib,
)
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


EXECUTORS_DO_NOT_FIT = "executors-do-not-fit"

_LEAST_STEP_GIB = 1.0 / 1024.0
"""YARN and Databricks count in whole MiB."""


def executors_memory_gib(layout: Layout, rule: MemoryRule) -> float | None:
    """Memory [GiB] that the executors of one node take, as the platform counts it; None where their
    heap is unknown.

    A standalone worker counts heaps alone, YARN whole steps (`CONTAINER_STEP_GIB`).
    """
    heap = layout.executor_memory_gib
    if heap is None:
        return None
    container = heap
    if rule.kind != "standalone":
        container += beside_heap_gib(heap, layout.beside)
    if step := CONTAINER_STEP_GIB.get(rule.kind):
        container = math.ceil(container / step * (1.0 - WHOLE)) * step
    return layout.executors_per_node * container


def yarn_memory_gib(instance: InstanceType, rule: MemoryRule, layout: Layout) -> float:
    """Memory [GiB] that YARN should offer on a node (`yarn.nodemanager.resource.memory-mb`).

    Normally the usual amount; more where measured executors and the application master (which may
    run on another node) need it and the machine has it. Less where one executor more than planned
    would fit: YARN schedules by memory alone, so that executor would share the cores of the others
    while another node stays idle. The limit is just low enough to prevent that, since a driver on
    the cluster may need memory.
    """
    usual_gib, available_gib = usable_memory_gib(instance, rule), instance.memory_gib - DAEMONS_GIB
    executors_gib = executors_memory_gib(layout, rule)
    if executors_gib is None or executors_gib > available_gib:
        return usual_gib
    step = CONTAINER_STEP_GIB.get(rule.kind, _LEAST_STEP_GIB)
    needed_gib = executors_gib + math.ceil(YARN_MASTER_GIB / step) * step
    one_more = executors_gib * (1.0 + 1.0 / layout.executors_per_node)
    return min(max(usual_gib, min(available_gib, needed_gib)), max(needed_gib, one_more - step))


def memory_overcommit_notice(
    instance: InstanceType, layout: Layout, catalog: Catalog
) -> Notice | None:
    """The warning that the executors of a layout exceed a node's memory; None where they fit, or
    where this is unknown.

    A memory rule by share of the node is approximate: there only more than the whole machine counts
    as too much. Databricks rounds heaps to whole MiB, some of them up.
    """
    rule = catalog.memory_rule
    available_gib = (
        instance.memory_gib if rule.kind == "share" else usable_memory_gib(instance, rule)
    )
    if rule.kind == "databricks":
        available_gib += 2.0 * _LEAST_STEP_GIB
    executors_gib = executors_memory_gib(layout, rule)
    if executors_gib is None or executors_gib <= available_gib * (1.0 + WHOLE):
        return None
    count, offered = layout.executors_per_node, f"its {available_gib:.3g} GiB"
    executors = "the executor" if count == 1 else f"the {count} executors"
    if available_gib < instance.memory_gib:
        offered = f"the {available_gib:.3g} GiB that {service_of(catalog)} leaves to executors"
    return Notice(
        EXECUTORS_DO_NOT_FIT,
        f"{executors} that the log had on each {instance.name} take {executors_gib:.3g} GiB, more "
        f"than {offered}: unless something else is set, not all of them start",
        "check the type that --ran-on names and the --platform, or take a type that was not "
        "measured: its executors are made to fit",
    )
