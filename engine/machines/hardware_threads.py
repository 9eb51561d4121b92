"""vCPUs that are threads of one core: how much of a core a task has on nodes that are more or less
full of tasks.

Most vCPUs are threads, two to a core: on a node that is half full each task has a core of its own,
on a full one it shares one. Speeds by CPU score are of nodes all of whose vCPUs were busy.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from engine.catalog import InstanceType
from engine.cluster import Layout
from engine.forecast import FloatArray
from engine.notices import Notice
from engine.profile import Profile, Run

SECOND_THREAD = 0.35
"""Prior: how much more work a core gets done when all of its threads are busy. A public Spark job
took 324 s on 4 and 273 s on 8 of a node's 8 vCPUs (0.19), Azure's compute units of two series on
one processor differ by 0.52, and 0.3 to 0.4 is what is mostly reported."""

USUAL_THREADS = 2
"""Of a core of x86_64 where nobody says."""

FULLER = 1.25
"""How much less of a core a task has than in the run from which on it is worth a warning: three
executors of 5 cores leave one of 16 vCPUs idle, which is none."""

WORTH_SAYING = 1.1
"""How much longer or shorter tasks have to be taken to last."""


def threads_per_core(instance: InstanceType) -> int:
    """How many vCPUs of a type are one core: as its catalog says; on arm64 each is one."""
    if instance.threads_per_core is not None:
        return max(1, instance.threads_per_core)
    return 1 if instance.arch == "arm64" else USUAL_THREADS


def tasks_per_vcpu(run: Run) -> float | None:
    """How many tasks ran at once per vCPU of the run's nodes. None where that is not known: nodes
    that nobody named, a `local` master, whose slots say nothing of a node, and pods, each of which
    counts as one."""
    cluster, master = run.cluster, run.config.get("spark.master", "")
    if cluster.instance is None or not cluster.nodes or master.startswith(("local", "k8s")):
        return None
    vcpus = cluster.nodes * cluster.instance.vcpus
    return cluster.slots / vcpus if cluster.slots and math.isfinite(vcpus) else None


def seconds_of_busy(busy: FloatArray, threads: FloatArray) -> FloatArray:
    """(n,) time that computing takes where a share `busy` of a node's vCPUs computes, relative to a
    node where all do. Tasks spread over the cores first; from then on each further one on a core
    adds its part of `SECOND_THREAD`.

    Args:
        busy: (n,) from 0 to 1.
        threads: (n,) vCPUs that are one core.
    """
    per_core = np.clip(busy * threads, 1.0, threads)
    share = (per_core - 1.0) / np.maximum(threads - 1.0, 1.0)
    alone = per_core / (1.0 + SECOND_THREAD * share)
    return np.asarray(np.where(threads > 1.0, alone * (1.0 + SECOND_THREAD) / threads, 1.0))


def with_filled_nodes(profile: Profile) -> Profile:
    """The profile of which executors are laid out on measured types as on others, with a task for
    each vCPU, in place of as they were measured."""
    return replace(profile, fills_nodes=True)


def layout_notice(
    profile: Profile, instance: InstanceType, measured: Layout | None
) -> Notice | None:
    """How executors are laid out on a measured type: anew on request, or as measured, on whatever
    master, with a quarter of its vCPUs or more left idle; None where these are filled.

    Args:
        measured: how the run sat whose layout is planned; None where none is, since that is not
            known or leaves no heap.
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
    slots_per_node = measured.executors_per_node * measured.executor_cores
    if FULLER * slots_per_node > instance.vcpus:
        return None
    return Notice(
        "idle-vcpus",
        f"{instance.name} is planned as it was measured, with {_tasks(slots_per_node)} at once on "
        f"{_vcpus(instance)}: other types get one for each vCPU",
        "--fill-nodes plans its nodes like theirs",
    )


def fuller_notice(run: Run, target: InstanceType, *, slots_per_node: float) -> Notice | None:
    """The warning, for laws that give each slot a whole vCPU, that nodes of `target` leave a task
    less of a core than those of the run did; None where they do not, where that is not known, and
    where a measured vCPU was a core."""
    source, before = run.cluster.instance, tasks_per_vcpu(run)
    if source is None or before is None or (threads := threads_per_core(source)) == 1:
        return None
    now = slots_per_node / target.vcpus
    less = max(now, 1.0 / threads) / max(before, 1.0 / threads)
    if not FULLER <= less < math.inf:
        return None
    return _notice(
        f"each {source.name} had {_tasks(before * source.vcpus)} at once on {_vcpus(source)}, each "
        f"{target.name} gets {slots_per_node:.3g} on {_vcpus(target)}: tasks take up to {less:.2g} "
        "times as long as foretold"
    )


def counted_notice(
    run: Run, target: InstanceType, *, slots_per_node: float, times: float
) -> Notice | None:
    """The warning that tasks are taken to last so many times as long on nodes of `target` as the
    CPU score alone says, since these are fuller or emptier; None where that is no matter."""
    source, before = run.cluster.instance, tasks_per_vcpu(run)
    if source is None or before is None or 1.0 / WORTH_SAYING < times < WORTH_SAYING:
        return None
    return _notice(
        f"each {source.name} had {_tasks(before * source.vcpus)} at once on {_vcpus(source)}, each "
        f"{target.name} gets {slots_per_node:.3g} on {_vcpus(target)}: for it, tasks are taken to "
        f"last {times:.2f} times as long"
    )


def _notice(text: str) -> Notice:
    return Notice("fuller-nodes", text, "add a run that fills such nodes")


def _tasks(count: float) -> str:
    said = f"{count:.3g}"
    return f"{said} task{'' if said == '1' else 's'}"


def _vcpus(instance: InstanceType) -> str:
    """How many vCPUs a node has, and how many of them are one core."""
    threads = threads_per_core(instance)
    return f"{instance.vcpus:g} vCPUs ({'each a core' if threads == 1 else f'{threads} to a core'})"
