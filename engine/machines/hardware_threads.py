"""Simultaneous multithreading (SMT): how task speed depends on the share of busy vCPUs of a node.

Most vCPUs are hardware threads, two per core: on a half-full node each task has a core of its own,
on a full one it shares one. CPU scores are measured with all vCPUs busy.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from engine.catalog import InstanceType
from engine.cluster import Layout, cores_held
from engine.forecast import FloatArray
from engine.notices import Notice
from engine.profile import Profile, Run, configured_task_cpus

SECOND_THREAD = 0.35
"""Prior: throughput gain of a core when all of its threads are busy. A public Spark job took 324 s
on 4 and 273 s on 8 of a node's 8 vCPUs (0.19), Azure's compute units of two series on one processor
differ by 0.52, and most reports give 0.3 to 0.4."""

USUAL_THREADS = 2
"""Threads per x86_64 core where the catalog does not state them."""

DENSER = 1.25
"""Ratio of tasks per core, target to measured, at which a warning is given: below it lies, for
example, one idle vCPU of 16 with three executors of 5 cores."""

NOTABLE_FACTOR = 1.1
"""Factor on task times, up or down, at which the scaling is reported."""


def threads_per_core(instance: InstanceType) -> int:
    """vCPUs per physical core of a type: as in its catalog, else 1 on arm64 and 2 on x86_64."""
    if instance.threads_per_core is not None:
        return max(1, instance.threads_per_core)
    return 1 if instance.arch == "arm64" else USUAL_THREADS


def tasks_per_vcpu(run: Run) -> float | None:
    """Slots per vCPU of the run's nodes. None where unknown: without an instance type, with a
    `local` master, whose slots say nothing of a node, and on Kubernetes, where each pod counts as a
    node."""
    cluster, master = run.cluster, run.config.get("spark.master", "")
    if cluster.instance is None or not cluster.nodes or master.startswith("local"):
        return None
    if run.counts_pods:
        return None
    vcpus = cluster.nodes * cluster.instance.vcpus
    return cluster.slots / vcpus if cluster.slots and math.isfinite(vcpus) else None


def relative_time_at_load(busy: FloatArray, threads: FloatArray) -> FloatArray:
    """Compute time at a given share of busy vCPUs, relative to a node with all vCPUs busy, (n,).

    Tasks are spread over the cores first; each further thread on a core then adds its part of
    `SECOND_THREAD` to the core's throughput.

    Args:
        busy: (n,) share of busy vCPUs, 0 to 1.
        threads: (n,) vCPUs per core.
    """
    per_core = np.clip(busy * threads, 1.0, threads)
    share = (per_core - 1.0) / np.maximum(threads - 1.0, 1.0)
    alone = per_core / (1.0 + SECOND_THREAD * share)
    return np.asarray(np.where(threads > 1.0, alone * (1.0 + SECOND_THREAD) / threads, 1.0))


def with_filled_nodes(profile: Profile) -> Profile:
    """The profile with executors laid out on measured types as on others, one task per vCPU,
    instead of as measured."""
    return replace(profile, fills_nodes=True)


def layout_notice(
    profile: Profile, instance: InstanceType, measured: Layout | None
) -> Notice | None:
    """The notice that a measured type gets a new layout on request, or keeps the measured one with
    room for a quarter more tasks (`DENSER`); None where its vCPUs are filled.

    Args:
        measured: the measured layout that is planned; None where it is unknown or leaves no heap.
    """
    if profile.fills_nodes:
        return Notice(
            "filled-nodes",
            f"executors are laid out anew on {instance.name}, with a task for each vCPU, and not "
            "as they were measured",
            "leave out --fill-nodes for the measured layout",
        )
    if measured is None:
        return None
    cores_per_node = measured.executors_per_node * measured.executor_cores
    if DENSER * cores_per_node > instance.vcpus:
        return None
    run = profile.largest_run
    task_cpus = configured_task_cpus(run.config if run else {})
    held = cores_held(measured.executor_cores, task_cpus)
    at_once = measured.executors_per_node * max(1, held // task_cpus)
    return Notice(
        "idle-vcpus",
        f"{instance.name} is planned as it was measured, with {_tasks(at_once)} at once on "
        f"{_vcpus(instance)}: other types get one for each vCPU",
        "--fill-nodes plans its nodes like theirs",
    )


def denser_nodes_notice(run: Run, target: InstanceType, *, slots_per_node: float) -> Notice | None:
    """The warning, for laws without SMT scaling, that a task gets less of a core on `target` than
    in the run. None where it does not, where unknown, and where measured vCPUs were whole cores."""
    source, before = run.cluster.instance, tasks_per_vcpu(run)
    if source is None or before is None or (threads := threads_per_core(source)) == 1:
        return None
    now = slots_per_node / target.vcpus
    less = max(now, 1.0 / threads) / max(before, 1.0 / threads)
    if not DENSER <= less < math.inf:
        return None
    return _notice(
        f"each {source.name} had {_tasks(before * source.vcpus)} at once on {_vcpus(source)}, each "
        f"{target.name} gets {slots_per_node:.3g} on {_vcpus(target)}: tasks take up to {less:.2g} "
        "times as long as predicted"
    )


def density_factor_notice(
    run: Run, target: InstanceType, *, slots_per_node: float, times: float
) -> Notice | None:
    """The warning that task times on `target` are scaled by `times` beyond the CPU score, since its
    nodes are more or less full of tasks; None for a small factor."""
    source, before = run.cluster.instance, tasks_per_vcpu(run)
    if source is None or before is None or 1.0 / NOTABLE_FACTOR < times < NOTABLE_FACTOR:
        return None
    return _notice(
        f"each {source.name} had {_tasks(before * source.vcpus)} at once on {_vcpus(source)}, each "
        f"{target.name} gets {slots_per_node:.3g} on {_vcpus(target)}: for it, tasks are taken to "
        f"last {times:.2f} times as long"
    )


def _notice(text: str) -> Notice:
    return Notice("fuller-nodes", text, "add a run that fills such nodes")


def _tasks(count: float) -> str:
    number = f"{count:.3g}"
    return f"{number} task{'' if number == '1' else 's'}"


def _vcpus(instance: InstanceType) -> str:
    """vCPUs of a node and threads per core, as text."""
    threads = threads_per_core(instance)
    return f"{instance.vcpus:g} vCPUs ({'each a core' if threads == 1 else f'{threads} to a core'})"
