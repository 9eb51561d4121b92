"""How executors sit on a node, and how much memory each of them gets."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from engine.catalog import InstanceType, MemoryRule
from engine.cluster import LEAST_HEAP_GIB, BesideHeap, Layout

if TYPE_CHECKING:
    from engine.forecast import FloatArray

EXECUTOR_CORES = 4
"""Cores per executor by default: fewer repeat the JVM's overhead, more than five share one heap's
garbage collection (the field's common advice)."""

OVERHEAD_FRACTION = 0.10
OVERHEAD_MINIMUM_GIB = 384.0 / 1024.0
"""`spark.executor.memoryOverhead`: max(10 %, 384 MiB) of the heap."""

EMR_YARN_SHARE = 0.75
EMR_YARN_RESERVED_GIB = 8.0

EMR_COUNTED_SHARE = 61.0 / 64.0
"""Share of a type's memory that EMR counts with on newer types: there its published figures follow
the same rule from this much."""

_EMR_COUNTED_LESS = frozenset({"c5a", "d3", "r5b", "r5dn"})
"""Families of the fifth generation that are newer in this sense; all from the sixth on are."""

DATABRICKS_SEEN_SHARE = 0.97
DATABRICKS_SERVICES_GIB = 4800.0 / 1024.0
DATABRICKS_HEAP_SHARE = 0.8
"""The heap that Databricks gives the executor of a node, and refuses to exceed: 0.8 of what its
kernel (3 %) and the services on it (4800 MB) leave, by its published formula. Executors of a
Standard_E8s_v3 (64 GiB) had 47016m in a log, those of a Standard_D4ds_v5 (16 GiB) have 8874m."""

DAEMONS_GIB = 1.0
"""What is left to the system and its daemons where nothing else is known: Spark's own default for a
standalone worker is the machine's memory without it, and so is the advice for YARN."""

KUBELET_TIERS = ((4.0, 0.25), (4.0, 0.20), (8.0, 0.10), (112.0, 0.06), (math.inf, 0.02))
"""(GiB, share) of a node's memory that GKE reserves, as AKS did before 1.29; EKS reserves less."""

EVICTION_GIB = 100.0 / 1024.0
"""Pods are evicted when less than this is free: GKE and EKS; not allocatable."""

KUBELET_CORES = ((1.0, 0.06), (1.0, 0.01), (2.0, 0.005), (math.inf, 0.0025))
"""(cores, share) of a node that EKS and GKE reserve, from the first core on."""

AKS_CORES = ((1.0, 0.06), (1.0, 0.04), (2.0, 0.02), (math.inf, 0.01))
"""The same of AKS, from its table for up to 64 cores; beyond that its last share is assumed."""

DAEMON_PODS_CORES = 0.2
DAEMON_PODS_GIB = 0.25
"""Requests of the pods that every node runs (network, proxy, logs): assumed."""

YARN_MASTER_HEAP_MIB = 512
"""Spark's default of `spark.yarn.am.memory`: the heap of the application master in client mode."""

YARN_MASTER_GIB = YARN_MASTER_HEAP_MIB / 1024.0 + OVERHEAD_MINIMUM_GIB
"""YARN puts the application master on one of the worker nodes. Executors that filled the node to
the last MiB would lose one of them there. In cluster mode it is larger: the driver runs in it."""

CONTAINER_STEP_GIB = {"emr-yarn": 32.0 / 1024.0, "yarn": 1.0}
"""YARN rounds the memory of a container up to a multiple of `yarn.scheduler.minimum-allocation-mb`:
EMR's default for nearly all types, and YARN's own. Dataproc's is 1 MiB. Executors that shared out a
node evenly would be a little larger than their share, and one of them would not be placed."""


def usable_memory_gib(instance: InstanceType, rule: MemoryRule) -> float:
    """Memory of a node that the executors' containers may take, in GiB.

    - "emr-yarn": EMR's `yarn.nodemanager.resource.memory-mb` = max(0.75 m, m - 8192 MB), m being
      all of the memory or, on newer types, 61/64 of it: 106 and 75 of 201 published types exactly;
    - "databricks": its published heap and Spark's default overhead of that;
    - "yarn", "standalone": without what the system's daemons need;
    - "kubernetes": allocatable by the published tiers, without the pods that every node runs;
    - "share": a provider's fixed share.
    """
    memory_gib = instance.memory_gib
    if rule.kind == "emr-yarn":
        counted_gib = memory_gib * (EMR_COUNTED_SHARE if _counts_less_memory(instance) else 1.0)
        return max(EMR_YARN_SHARE * counted_gib, counted_gib - EMR_YARN_RESERVED_GIB)
    if rule.kind == "databricks":
        left_gib = max(0.0, DATABRICKS_SEEN_SHARE * memory_gib - DATABRICKS_SERVICES_GIB)
        heaps_gib = DATABRICKS_HEAP_SHARE * left_gib
        return heaps_gib + default_overhead_gib(heaps_gib)
    if rule.kind in ("yarn", "standalone"):
        return memory_gib - DAEMONS_GIB
    if rule.kind == "kubernetes":
        reserved = tiered(memory_gib, KUBELET_TIERS) + EVICTION_GIB + DAEMON_PODS_GIB
        return memory_gib - reserved
    return rule.share * memory_gib


def _counts_less_memory(instance: InstanceType) -> bool:
    newer = instance.generation is not None and instance.generation >= 6
    return newer or instance.name.partition(".")[0] in _EMR_COUNTED_LESS


def tiered(amount: float, tiers: tuple[tuple[float, float], ...]) -> float:
    """The sum of the shares of an amount, each of its own slice: ((size, share), ...)."""
    total = 0.0
    for size, share in tiers:
        total += share * min(amount, size)
        amount = max(amount - size, 0.0)
    return total


def requested_cores(vcpus: float, executors: int) -> float:
    """CPUs that each of so many pods on one Kubernetes node may request, so that all of them are
    placed wherever the cluster is: what the largest reservation and daemons leave, divided."""
    reserved = max(tiered(vcpus, tiers) for tiers in (KUBELET_CORES, AKS_CORES))
    return (vcpus - reserved - DAEMON_PODS_CORES) / executors


def default_overhead_gib(heap_gib: float) -> float:
    """Spark's default of `spark.executor.memoryOverhead` for a heap, in GiB."""
    return max(OVERHEAD_FRACTION * heap_gib, OVERHEAD_MINIMUM_GIB)


def beside_heap_gib(heap_gib: float, beside: BesideHeap | None) -> float:
    """All that a container holds beside a heap, in GiB."""
    beside = beside or BesideHeap()
    overhead = beside.overhead_gib
    return (default_overhead_gib(heap_gib) if overhead is None else overhead) + beside.apart_gib


def heap_gib(container_gib: float, beside: BesideHeap | None = None) -> float:
    """The heap that fits a container beside its overhead and what else it holds, in GiB (0 or less
    when none does).

    The largest h with h + max(10 % h, 384 MiB, `overhead_gib`) + Python + off-heap <= container.
    """
    beside = beside or BesideHeap()
    left = container_gib - beside.apart_gib
    least = max(OVERHEAD_MINIMUM_GIB, beside.overhead_gib or 0.0)
    return min(left / (1.0 + OVERHEAD_FRACTION), left - least)


def planned_beside_heap(heap_gib: float, beside: BesideHeap | None) -> BesideHeap | None:
    """The memory planned beside a heap: at least Spark's default overhead, which None stands
    for."""
    if beside is not None and (beside.overhead_gib or 0.0) <= default_overhead_gib(heap_gib):
        beside = replace(beside, overhead_gib=None)
    return beside or None


def container_gib(instance: InstanceType, rule: MemoryRule, executors: int) -> float:
    """The largest container of which a node holds so many beside YARN's application master, in GiB:
    an even share, on YARN in whole steps (see `CONTAINER_STEP_GIB`)."""
    usable = usable_memory_gib(instance, rule)
    if not rule.on_yarn:
        return usable / executors
    step = CONTAINER_STEP_GIB.get(rule.kind)
    if step is None:
        return (usable - YARN_MASTER_GIB) / executors
    steps = math.floor(usable / step) - math.ceil(YARN_MASTER_GIB / step)
    return steps // executors * step


def executor_cores_for(task_cpus: int) -> int:
    """Cores of an executor by default where each task holds so many (`spark.task.cpus`): no more
    than its tasks fill, for the rest would idle, and enough for one."""
    return max(task_cpus, EXECUTOR_CORES // task_cpus * task_cpus)


def layout_of(
    instance: InstanceType,
    rule: MemoryRule,
    *,
    executor_cores: int = EXECUTOR_CORES,
    beside_per_core: BesideHeap | None = None,
) -> Layout | None:
    """The default layout on one node: executors of min(`executor_cores`, vCPUs) cores that share
    the usable memory evenly. None where the node cannot hold even one executor.

    Args:
        beside_per_core: what each core of an executor needs beside the heap, where that may be more
            than Spark's default.
    """
    cores = min(executor_cores, int(instance.vcpus))
    if cores < 1:
        return None
    most = int(instance.vcpus) // cores
    beside = beside_per_core.times(cores) if beside_per_core else None
    for executors in range(most, 0, -1):
        heap = heap_gib(container_gib(instance, rule, executors), beside)
        if heap >= LEAST_HEAP_GIB:
            return Layout(executors, cores, heap, planned_beside_heap(heap, beside))
    return None


def no_executor_reason(instance: InstanceType, more: str = "") -> str:
    """The reason why a node holds no executor (`layout_of`): too little memory or none that is
    known, or less than one vCPU, which runs no task whatever the memory.

    Args:
        more: what else takes its memory, in words.
    """
    if instance.vcpus < 1.0:
        return f"holds no executor ({instance.vcpus:g} vCPUs)"
    if math.isnan(instance.memory_gib):
        return "has no known memory, so that its executors are not known either"
    return f"holds no executor ({instance.memory_gib:g} GiB{more})"


def no_executor_remedy(instance: InstanceType) -> str:
    """The remedy for a type that `no_executor_reason`."""
    if instance.vcpus < 1.0:
        return "name a type with at least one vCPU"
    if math.isnan(instance.memory_gib):
        return "say its memory (memory_gib), or executors in place of nodes"
    return "name a type with more memory, or plan less beside the heap (--overhead-per-core)"


RESERVED_GIB = 300.0 / 1024.0
"""What Spark keeps of a heap before it divides it (`RESERVED_SYSTEM_MEMORY_BYTES`)."""

MEMORY_FRACTION = 0.6
STORAGE_FRACTION = 0.5
"""Defaults of `spark.memory.fraction` and `spark.memory.storageFraction`: execution cannot drive
cached blocks below this share of the two's common memory."""

REPORTED_HEAP_SHARE = 0.95
"""Share of `spark.executor.memory` that the JVM reports as its heap: all of it with the G1
collector, 0.92 to 0.97 with others, which hold back a survivor space."""


def unified_memory_gib(
    heap_gib: FloatArray,
    *,
    fraction: float = MEMORY_FRACTION,
    heap_seen: float = REPORTED_HEAP_SHARE,
) -> FloatArray:
    """(n,) memory of executors that cached blocks and execution share, in GiB (Spark 1.6 and
    later): fraction x (heap - 300 MiB)."""
    return (heap_gib * heap_seen - RESERVED_GIB).clip(min=0.0) * fraction
