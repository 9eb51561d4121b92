"""Checks whether measured executors fit a node's memory, and how much memory YARN should offer.

Planned layouts fit by construction. A measured type keeps its measured executors, and another
platform may leave them less of the node.
"""

from __future__ import annotations

import math

from engine.catalog import Catalog, InstanceType, MemoryRule
from engine.cluster import WHOLE, Layout
from engine.machines.services import service_of
from engine.memory import (
    CONTAINER_STEP_GIB,
    DAEMONS_GIB,
    YARN_MASTER_GIB,
    beside_heap_gib,
    usable_memory_gib,
)
from engine.notices import Notice

CODE = "executors-do-not-fit"

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
        CODE,
        f"{executors} that the log had on each {instance.name} take {executors_gib:.3g} GiB, more "
        f"than {offered}: unless something else is set, not all of them start",
        "check the type that --ran-on names and the --platform, or take a type that was not "
        "measured: its executors are made to fit",
    )
