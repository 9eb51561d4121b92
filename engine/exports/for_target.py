"""A handover as one target needs it: settings that its platform reads, notes on what differs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from engine.exports.base import Export, Handover
from engine.memory import YARN_MASTER_HEAP_MIB, default_overhead_gib
from engine.runs.carried_settings import DRIVER_MEMORY, driver_gib

DATABRICKS, DATAPROC = "databricks", "dataproc"

ONLY_DATABRICKS = "auto"
"""A number of shuffle partitions that Databricks alone reads; elsewhere each query would end with
an error."""

ON_YARN = ("emr", "dataproc", "yarn")
"""Platforms on which YARN places the executors, and in cluster mode the driver."""

YARN_MASTER = {"spark.yarn.am.memory": f"{YARN_MASTER_HEAP_MIB}m"}
"""The application master as the layout leaves room for it. Dataproc's own default is 640m (seen in
the settings of its clusters of 2018 and 2023): it would displace an executor."""

OWN_DRIVERS = (DATABRICKS, "kubernetes")
"""Platforms whose driver does not share the master of a catalog: Kubernetes looks for a node for
it, Databricks gives it the heap of a node of its own."""


def for_target(handover: Handover, target: Export) -> Handover:
    """The handover with the settings that the target sets, and its statement with these and with
    notes on another platform, another Spark version, settings left out, and a master too small for
    the driver or unlike the workers."""
    platform = target.platform(handover)
    there = platform or handover.platform
    only_databricks = [key for key, value in handover.settings.items() if value == ONLY_DATABRICKS]
    unread = [] if platform == DATABRICKS else only_databricks
    left_out = (*unread, *target.decides(handover))
    settings = {
        key: value for key, value in handover.settings.items() if not key.startswith(left_out)
    }
    assumed = ", ".join(f"{key}={value}" for key, value in settings.items())
    lines = [
        *([f"assumes: {assumed} (as in the logs or as asked for)"] if assumed else []),
        *_deploy_mode(handover, there),
        *handover.setting_notes,
        *_large_driver(handover, settings, there),
        *_unlike_master(handover, there),
        *_other_platform(handover, platform),
        *(
            f"note: only Databricks reads {key}={ONLY_DATABRICKS}: left out, so that Spark's "
            "default holds [databricks-setting]"
            for key in unread
        ),
        *_other_spark(handover, target.spark),
    ]
    if there == DATAPROC:
        settings = YARN_MASTER | settings
    return replace(handover, settings=settings, statement=(*handover.statement, *lines))


def _deploy_mode(handover: Handover, platform: str | None) -> list[str]:
    """The line about the mode that the layout is for, where YARN places drivers in cluster mode.
    One driver takes the place of executors on one node, and room for it on each would be wasted."""
    if platform not in ON_YARN or not handover.composition:
        return []
    logs = ", though the logs ran in cluster mode" if handover.cluster_mode else ""
    only = ", the only one, and the job waits forever if none is left"
    return [
        f"client mode assumed{logs}: in cluster mode the driver may take the place of executors on "
        f"one node{only if handover.nodes == 1 else ''}"
    ]


def _large_driver(
    handover: Handover, settings: Mapping[str, str], platform: str | None
) -> list[str]:
    """The line that the driver's heap does not fit the master, where the driver runs on one."""
    heap, has_gib = driver_gib(settings), handover.master_memory_gib
    if heap is None or has_gib is None or platform in OWN_DRIVERS:
        return []
    needed_gib = heap + default_overhead_gib(heap)
    if needed_gib <= has_gib:
        return []
    return [
        f"note: with {DRIVER_MEMORY}={settings[DRIVER_MEMORY]} the driver takes {needed_gib:.3g} "
        f"GiB, the master {handover.master} has {has_gib:.3g} GiB: take a larger one "
        "[driver-does-not-fit]"
    ]


def _unlike_master(handover: Handover, platform: str | None) -> list[str]:
    """The line that the master runs other machine code than the workers. In client mode the driver
    runs there; Databricks' master is its driver."""
    arch = handover.architectures.get(handover.master or "")
    others = {
        other: name
        for name in handover.composition
        if (other := handover.architectures.get(name)) not in (None, arch)
    }
    if arch is None or not others or platform == "kubernetes":
        return []
    unlike = " and ".join(f"{name} is {other}" for other, name in others.items())
    return [
        f"note: the master {handover.master} is {arch}, {unlike}: what driver and executors load "
        "(native libraries, compiled Python packages) is needed for both; or take a master like "
        "the workers [mixed-architectures]"
    ]


def _other_platform(handover: Handover, platform: str | None) -> list[str]:
    """The note that the target is for another platform than the one whose executor sizes and prices
    were planned."""
    if platform is None or not handover.composition or platform == handover.platform:
        return []
    return [
        f"note: executors and price are for {handover.platform or 'another platform'}, this is for "
        f"{platform}: plan with --platform {platform} [other-platform]"
    ]


def _other_spark(handover: Handover, spark: str | None) -> list[str]:
    """The note that the release named in the target has another Spark version than the job ran
    with. The matching release is not named, since only the provider's list has it."""
    ran = re.match(r"\d+\.\d+", handover.spark_version or "")
    if spark is None or ran is None or ran[0] == spark:
        return []
    return [
        f"note: the job ran with Spark {handover.spark_version}, the release named here has Spark "
        f"{spark}: put one that has yours [other-spark]"
    ]
