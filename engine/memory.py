"""How executors sit on a node, and how much memory each of them gets."""

from __future__ import annotations

import numpy as np

from engine.catalog import InstanceType, MemoryRule
from engine.cluster import Layout
from engine.forecast import FloatArray

EXECUTOR_CORES = 4
"""Cores per executor by default: fewer repeat the JVM's overhead, more than five share one heap's
garbage collection (the field's common advice)."""

OVERHEAD_FRACTION = 0.10
OVERHEAD_MINIMUM_GIB = 384.0 / 1024.0
"""`spark.executor.memoryOverhead`: max(10 %, 384 MiB) of the heap."""

HEAP_MINIMUM_GIB = 450.0 / 1024.0
"""Spark refuses to start an executor with less (1.5 times its reserved 300 MiB)."""

EMR_YARN_SHARE = 0.75
EMR_YARN_RESERVED_GIB = 8.0

YARN_MASTER_GIB = 896.0 / 1024.0
"""YARN puts the application master (512 MiB and its overhead, in client mode) on one of the worker
nodes. Executors that filled the node to the last MiB would lose one of them there."""


def usable_memory_gib(memory_gib: float, rule: MemoryRule) -> float:
    """Memory of a node that the executors' containers may take, in GiB.

    "emr-yarn" is EMR's `yarn.nodemanager.resource.memory-mb` = max(0.75 m, m - 8192 MB), which
    holds exactly for 106 of 201 published types; "share" is a provider's fixed share.
    """
    if rule.kind == "emr-yarn":
        return max(EMR_YARN_SHARE * memory_gib, memory_gib - EMR_YARN_RESERVED_GIB)
    return rule.share * memory_gib


def heap_gib(container_gib: float) -> float:
    """The heap that fits a container beside its overhead, in GiB (0 or less when none does)."""
    return min(container_gib / (1.0 + OVERHEAD_FRACTION), container_gib - OVERHEAD_MINIMUM_GIB)


def layout_of(
    instance: InstanceType, rule: MemoryRule, *, executor_cores: int = EXECUTOR_CORES
) -> Layout | None:
    """The default layout on one node: executors of min(`executor_cores`, vCPUs) cores that share
    the usable memory evenly. None where the node cannot hold even one executor.
    """
    cores = min(executor_cores, int(instance.vcpus))
    if cores < 1:
        return None
    most = int(instance.vcpus) // cores
    usable = usable_memory_gib(instance.memory_gib, rule)
    if rule.kind == "emr-yarn":
        usable -= YARN_MASTER_GIB
    for executors in range(most, 0, -1):
        heap = heap_gib(usable / executors)
        if heap >= HEAP_MINIMUM_GIB:
            return Layout(executors, cores, heap)
    return None


RESERVED_GIB = 300.0 / 1024.0
"""What Spark keeps of a heap before it divides it (`RESERVED_SYSTEM_MEMORY_BYTES`)."""

MEMORY_FRACTION = 0.6
STORAGE_FRACTION = 0.5
"""Defaults of `spark.memory.fraction` and `spark.memory.storageFraction`: execution cannot drive
cached blocks below this share of the two's common memory."""

HEAP_SEEN = 0.95
"""Share of `spark.executor.memory` that the JVM reports as its heap: all of it with the G1
collector, 0.92 to 0.97 with others, which hold back a survivor space."""


def unified_memory_gib(
    heap_gib: FloatArray, *, fraction: float = MEMORY_FRACTION, heap_seen: float = HEAP_SEEN
) -> FloatArray:
    """(n,) memory of executors that cached blocks and execution share, in GiB (Spark 1.6 and
    later): fraction x (heap - 300 MiB)."""
    return np.maximum(0.0, heap_gib * heap_seen - RESERVED_GIB) * fraction
