"""Whether the driver of the logs ran on a worker: on YARN in cluster mode."""

from __future__ import annotations

from engine.memory import YARN_MASTER_GIB, default_overhead_gib
from engine.profile import Profile, Run
from engine.runs.carried_settings import DRIVER_MEMORY_GIB, driver_gib

DEPLOY_MODE = "spark.submit.deployMode"
CLUSTER = "cluster"
"""The value of `DEPLOY_MODE` with which YARN places the driver on a worker, as part of the
application master. The default is client mode."""


def worker_driver_gib(profile: Profile) -> float | None:
    """Heap [GiB] of a driver that ran on a worker of YARN, the largest of the logs; None if any log
    ran otherwise, or if there are only run times. Kubernetes and standalone masters have a cluster
    mode too, but their driver takes nothing from executors that YARN would place."""
    logs = [run for run in profile.runs if run.stages]
    if not logs or not all(_on_yarn_worker(run) for run in logs):
        return None
    return max(driver_gib(run.config) or DRIVER_MEMORY_GIB for run in logs)


def planned_master_gib(profile: Profile) -> float:
    """Container of YARN's application master [GiB] for which every node has room: with the driver
    of the logs, where that ran on a worker (one node will have it, and which is not known)."""
    heap_gib = worker_driver_gib(profile)
    if heap_gib is None:
        return YARN_MASTER_GIB
    return max(YARN_MASTER_GIB, heap_gib + default_overhead_gib(heap_gib))


def driver_text(profile: Profile) -> str:
    """What a driver in cluster mode takes of a node, behind its memory; "" where none does."""
    if worker_driver_gib(profile) is None:
        return ""
    return f", {planned_master_gib(profile):.3g} GiB for the driver in cluster mode"


def _on_yarn_worker(run: Run) -> bool:
    master = run.config.get("spark.master", "")
    # Spark 1.x names the mode in the master.
    in_cluster_mode = run.config.get(DEPLOY_MODE) == CLUSTER
    return master == "yarn-cluster" or (master == "yarn" and in_cluster_mode)
