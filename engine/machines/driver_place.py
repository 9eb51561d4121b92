"""Room for a driver in cluster mode, which YARN places on a worker.

In cluster mode the driver runs in the application master. Layouts leave room for it on every node
(`engine.runs.cluster_mode.planned_master_gib`); executors of a measured type stay as they were, and
a driver larger than an executor would leave room for one too many on the other nodes, which YARN is
kept from placing. There the driver takes the place of executors.
"""

from __future__ import annotations

import math

from engine.catalog import Catalog, InstanceType, MemoryRule
from engine.cluster import WHOLE, Layout
from engine.machines.node_memory import executors_memory_gib, yarn_memory_gib
from engine.memory import CONTAINER_STEP_GIB, default_overhead_gib
from engine.notices import Notice

CODE = "driver-on-worker"


def driver_container_gib(heap_gib: float, rule: MemoryRule) -> float:
    """Memory [GiB] that YARN gives a driver in cluster mode: its heap and Spark's default overhead,
    in whole steps (`CONTAINER_STEP_GIB`)."""
    container_gib = heap_gib + default_overhead_gib(heap_gib)
    step = CONTAINER_STEP_GIB.get(rule.kind)
    return math.ceil(container_gib / step * (1.0 - WHOLE)) * step if step else container_gib


def driver_place_notice(
    instance: InstanceType, layout: Layout, catalog: Catalog, *, nodes: float, heap_gib: float
) -> Notice | None:
    """The warning that a driver in cluster mode keeps executors from starting; None where it fits
    beside them, where the platform is not YARN, where the executors' heap is unknown, or where
    these do not fit by themselves (`engine.machines.node_memory.memory_overcommit_notice`).

    Args:
        nodes: workers of this type.
        heap_gib: the driver's heap [GiB]; its overhead is Spark's default.
    """
    rule = catalog.memory_rule
    executors_gib = executors_memory_gib(layout, rule)
    if not rule.on_yarn or executors_gib is None:
        return None
    driver_gib = driver_container_gib(heap_gib, rule)
    offered_gib = yarn_memory_gib(
        instance, rule, layout, driver_gib=driver_gib, only_node=nodes == 1.0
    )
    missing_gib = driver_gib - (offered_gib - executors_gib)
    fits = missing_gib <= WHOLE * offered_gib
    if fits or executors_gib > offered_gib * (1.0 + WHOLE):
        return None
    driver = (
        f"the logs' driver ran in cluster mode, where it takes {driver_gib:.3g} GiB of a worker"
    )
    if driver_gib > offered_gib * (1.0 + WHOLE):
        return _notice(
            f"{driver}: {instance.name} has {offered_gib:.3g} GiB for YARN, which refuses the job",
            "or take nodes with more memory",
            math.inf,
        )
    each_gib = executors_gib / layout.executors_per_node
    lost = math.ceil(missing_gib / each_gib * (1.0 - WHOLE))
    planned = round(layout.executors_per_node * nodes)
    if lost >= planned:
        what = "no executor has room beside it, and the job would wait forever"
    else:
        what = f"it takes the place of {lost} of {planned} executors, which the time does not count"
    return _notice(f"{driver}: {what}", "or add a node", float(lost))


def _notice(text: str, other_remedy: str, severity: float) -> Notice:
    remedy = f"submit with --deploy-mode client, {other_remedy}"
    return Notice(CODE, text, remedy, subject=CODE, severity=severity)
