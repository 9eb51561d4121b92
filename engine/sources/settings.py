"""What a log's properties say that matters to a prediction, and nothing else of them.

Properties hold secrets, paths and hosts: only the settings listed here are kept, and only with
values that look like settings.
"""

from __future__ import annotations

import re

from engine.profile import Notice
from engine.sources.application import Application, Stage

KEPT_CONFIG = frozenset(
    {
        "spark.default.parallelism",
        "spark.driver.cores",
        "spark.driver.memory",
        "spark.executor.cores",
        "spark.executor.instances",
        "spark.executor.memory",
        "spark.executor.memoryOverhead",
        "spark.executor.memoryOverheadFactor",
        "spark.executor.pyspark.memory",
        "spark.io.compression.codec",
        "spark.locality.wait",
        "spark.rdd.compress",
        "spark.scheduler.mode",
        "spark.serializer",
        "spark.shuffle.compress",
        "spark.shuffle.service.enabled",
        "spark.sql.autoBroadcastJoinThreshold",
        "spark.sql.files.maxPartitionBytes",
        "spark.sql.files.openCostInBytes",
        "spark.sql.shuffle.partitions",
        "spark.storage.memoryFraction",
        "spark.task.cpus",
    }
)
KEPT_PREFIXES = (
    "spark.dynamicAllocation.",
    "spark.memory.",
    "spark.speculation",
    "spark.sql.adaptive.",
)
_HARMLESS = re.compile(r"[\w.,*\[\] %+-]{1,64}\Z")


def task_cpus(application: Application, stage: Stage) -> int:
    """CPUs that a task of a stage holds: its resource profile's, else spark.task.cpus, else 1."""
    profile = application.profiles.get(stage.profile)
    asked = profile.task.get("cpus") if profile else None
    if asked is not None and 1 <= asked.amount <= 1024:
        return int(asked.amount)
    text = application.properties.get("spark.task.cpus", "")
    return int(text) if text.isascii() and text.isdigit() and 0 < int(text) <= 1024 else 1


def spark_version(application: Application) -> str | None:
    """As the log begins with it; Databricks names its runtime beside it."""
    tags = application.properties.get("spark.databricks.clusterUsageTags.sparkVersion")
    if application.version and tags:
        return f"{application.version} (Databricks {tags})"
    return application.version or (f"Databricks {tags}" if tags else None)


def other_engine(application: Application) -> Notice | None:
    """Native engines: their task times do not carry over to plain Spark."""
    properties = application.properties
    photon = properties.get("spark.databricks.clusterUsageTags.runtimeEngine", "") == "PHOTON"
    rapids = "com.nvidia.spark.SQLPlugin" in properties.get("spark.plugins", "")
    if not photon and not rapids:
        return None
    name = "Photon" if photon else "the RAPIDS accelerator"
    return Notice(
        "different-engine",
        f"the run used {name}: its task times hold for that engine alone",
        "compare with clusters of the same engine only",
    )


def kept_config(properties: dict[str, str]) -> dict[str, str]:
    """The settings worth keeping (`KEPT_CONFIG`), and what kind of master ran it."""
    kept = {
        key: value
        for key, value in sorted(properties.items())
        if (key in KEPT_CONFIG or key.startswith(KEPT_PREFIXES)) and _HARMLESS.match(value)
    }
    master = properties.get("spark.master", "").partition("://")[0]
    if _HARMLESS.match(master) and "redacted" not in master:
        kept["spark.master"] = master
    return kept
