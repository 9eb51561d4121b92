"""Spark version, local mode, CPUs per task, memory and machine type, from a log's properties."""

from __future__ import annotations

import re

from engine.cluster import MOST_HEAP_GIB, Cluster
from engine.errors import BadInput
from engine.notices import Notice
from engine.sources.distilling.engines import TAGS
from engine.sources.distilling.services import cloud_service
from engine.sources.logs.application import Application
from engine.sources.logs.entities import Stage
from engine.sources.logs.task_rows import task_cpus_of
from engine.text.quantities import parse_memory_gib

MIB_PER_GIB = 1024.0
"""Amounts of memory in resource profiles are MiB."""

_TYPE_NAME = re.compile(r"[A-Za-z][\w.-]{1,63}\Z", re.ASCII)
_LOCAL = re.compile(r"local(?:\[(\d{1,9}|\*)(?:,\s*\d+)?\])?$")


def is_local(application: Application) -> bool:
    """Whether the driver ran the tasks itself (a `local` master)."""
    return _local_master(application) is not None


def local_cores(application: Application) -> int | None:
    """N for `local[N]`, 1 for `local`; None for `local[*]` and for other masters."""
    master = _local_master(application)
    if master is None or master[1] == "*":
        return None
    return int(master[1] or 1)


def _local_master(application: Application) -> re.Match[str] | None:
    return _LOCAL.match(application.properties.get("spark.master", ""))


def memory_gib(text: str | None) -> float | None:
    """GiB of a memory setting of an executor; None where it is missing, invalid or implausible."""
    try:
        return plausible_gib(parse_memory_gib(text)) if text else None
    except BadInput:
        return None


def plausible_gib(amount_gib: float) -> float | None:
    """The amount, or None where it is not positive or more than any machine has (damage)."""
    return amount_gib if 0.0 < amount_gib <= MOST_HEAP_GIB else None


def task_cpus(application: Application, stage: Stage) -> int:
    """CPUs per task of a stage: its resource profile's, else `spark.task.cpus`, else 1."""
    return task_cpus_of(application.resource_profiles.get(stage.profile), application.properties)


EARLIEST = "1.2"
"""Spark before 1.3 does not log its version; all such versions divided memory in the same way."""


def spark_version(application: Application, *, early: bool = False) -> str | None:
    """The Spark version as logged, with the Databricks runtime or the managed service in brackets.

    A log of Spark 1.x (`early`) that has its beginning but no version is of 1.2 or older.
    """
    tags = application.properties.get(f"{TAGS}sparkVersion")
    beside = f"Databricks {tags}" if tags else cloud_service(application.properties)
    if application.version and beside:
        return f"{application.version} ({beside})"
    if early and application.name is not None and not application.version:
        return EARLIEST
    return application.version or (f"Databricks {tags}" if tags else None)


_TYPE_KEYS = (
    f"{TAGS}clusterNodeType",
    "spark.databricks.workerNodeTypeId",
    "spark.kubernetes.executor.node.selector.node.kubernetes.io/instance-type",
    "spark.kubernetes.node.selector.node.kubernetes.io/instance-type",
    "spark.kubernetes.executor.node.selector.beta.kubernetes.io/instance-type",
    "spark.kubernetes.node.selector.beta.kubernetes.io/instance-type",
)


def worker_type(properties: dict[str, str]) -> str | None:
    """The machine type of the workers, where the properties name it: Databricks does, and a
    Kubernetes node selector may."""
    for key in _TYPE_KEYS:
        name = properties.get(key, "")
        if _TYPE_NAME.match(name):
            return name
    return None


def type_notice(application: Application, cluster: Cluster) -> Notice | None:
    """The notice with the machine type that the log names, for the user to confirm or correct."""
    name = worker_type(application.properties)
    if name is None or [group.instance and group.instance.name for group in cluster.groups] != [
        name
    ]:
        return None
    driver = application.properties.get(f"{TAGS}driverNodeType", "")
    other = f", its driver on {driver}" if _TYPE_NAME.match(driver) and driver != name else ""
    return Notice(
        "ran-on-from-log",
        f"the log says that it ran on {name}{other}",
        "say --ran-on TYPE if that is not so",
    )


def old_version_notice(application: Application, *, early: bool) -> Notice | None:
    """The notice that a log of Spark 1.4 or older lacks the parents of stages, and that its version
    was inferred (`early` as for `spark_version`)."""
    described = [stage for stage in application.stages.values() if stage.attempts]
    if not described or any(stage.parents is not None for stage in described):
        return None
    name = f"Spark {application.version}" if application.version else "a Spark this old"
    if not application.version and spark_version(application, early=early) == EARLIEST:
        name = f"a Spark this old ({EARLIEST} or older: its log names no version)"
    return Notice(
        "old-log",
        f"{name} does not log which stage reads which: that is inferred from which had ended "
        "before; CPU time and peak memory are not known",
        "log a run with Spark 2 or later for sharper answers",
    )
