"""vCPUs that the measured run left idle and a plan fills: how much slower tasks may get.

A slot is taken to be as fast as the measured ones. Most vCPUs are threads, two to a core: on a node
that is half full each task has a core of its own, on a full one half of one.
"""

from __future__ import annotations

import math

from engine.catalog import InstanceType
from engine.notices import Notice
from engine.profile import Run

WHOLE_CORES = 0.5
"""Share of a node's vCPUs up to which each task has a core of its own, two vCPUs to a core."""

FULLER = 1.25
"""How much less of a core a task has than in the run from which on it is worth a warning: three
executors of 5 cores leave one of 16 vCPUs idle, which is none."""


def tasks_per_vcpu(run: Run) -> float | None:
    """How many tasks ran at once per vCPU of the run's nodes. None where that is not known: nodes
    that nobody named, a `local` master, whose slots say nothing of a node, and pods, each of which
    counts as one."""
    cluster, master = run.cluster, run.config.get("spark.master", "")
    if cluster.instance is None or not cluster.nodes or master.startswith(("local", "k8s")):
        return None
    vcpus = cluster.nodes * cluster.instance.vcpus
    return cluster.slots / vcpus if cluster.slots and math.isfinite(vcpus) else None


def fuller_notice(run: Run, target: InstanceType, *, slots_per_node: float) -> Notice | None:
    """The warning that nodes of `target` leave a task less of a core than those of the run did;
    None where they do not, where that is not known, and where a vCPU is a core (arm64)."""
    source, before = run.cluster.instance, tasks_per_vcpu(run)
    if source is None or before is None or source.arch == "arm64":
        return None
    now = slots_per_node / target.vcpus
    less = max(now, WHOLE_CORES) / max(before, WHOLE_CORES)
    if not FULLER <= less < math.inf:
        return None
    had = f"{before * source.vcpus:.3g}"
    return Notice(
        "fuller-nodes",
        f"each {source.name} had {had} task{'' if had == '1' else 's'} at once on {source.vcpus:g} "
        f"vCPUs, each {target.name} gets {slots_per_node:.3g} on {target.vcpus:g}: where two vCPUs "
        f"are one core, tasks take up to {less:.2g} times as long as foretold",
        "add a run that filled its nodes",
    )
