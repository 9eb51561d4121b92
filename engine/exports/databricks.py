"""`databricks clusters create`: a cluster of one worker type, as the clusters API takes it."""

from __future__ import annotations

import json
import shlex
from typing import Any

from engine.errors import BadInput
from engine.exports.base import (
    IDLE_MINUTES,
    SPARK_OF_RELEASES,
    Export,
    Handover,
    only_type,
    rented_comments,
    spark_properties,
)
from engine.runs.carried_settings import DRIVER_MEMORY
from engine.text.lists import printable

RUNTIME = "15.4.x-scala2.12"
"""A runtime with Spark 3.5 and long support; written so that it can be changed."""

_AVAILABILITY = {
    "aws": ("aws_attributes", "ON_DEMAND", "SPOT"),
    "azure": ("azure_attributes", "ON_DEMAND_AZURE", "SPOT_AZURE"),
    "gcp": ("gcp_attributes", "ON_DEMAND_GCP", "PREEMPTIBLE_GCP"),
}
"""Provider -> (the object that names it, the words for ordinary and for spot nodes)."""

VOLUME_GB = 100
"""Of the volume that a node without a disk of its own gets on AWS."""

_VOLUMES = {
    "ebs_volume_type": "GENERAL_PURPOSE_SSD",
    "ebs_volume_count": 1,
    "ebs_volume_size": VOLUME_GB,
}
"""Databricks refuses nodes on AWS that have neither a disk nor a volume; all nodes get the same."""

DECIDED = ("spark.executor.instances", "spark.dynamicAllocation.", DRIVER_MEMORY)
"""Databricks decides these itself: the number of executors follows from the workers, the driver's
heap from its node."""


class Databricks(Export):
    name = "databricks"
    summary = "databricks clusters create, with its JSON"
    suffix = ".sh"
    spark = SPARK_OF_RELEASES

    def decides(self, handover: Handover) -> tuple[str, ...]:
        return DECIDED

    def render(self, handover: Handover) -> str:
        cluster = json.dumps(cluster_of(handover), indent=2)
        return f"{comments(handover)}\ndatabricks clusters create --json {shlex.quote(cluster)}\n"


def comments(handover: Handover) -> str:
    """The comments above a Databricks cluster: assumptions, and what the cost leaves out."""
    lines = [rented_comments(handover), "# the price of DBUs is in the cost only where it says so"]
    if handover.dynamic_allocation is not None:
        lines.append("# bounds of executors are not set: Databricks counts workers")
    if _needs_volumes(handover):
        bare = printable(", ".join(handover.diskless))
        lines.append(
            f"# {bare}: no disk known, so each node gets a volume of {VOLUME_GB} GB, whose price "
            "is not in the cost"
        )
    return "\n".join(lines)


def _needs_volumes(handover: Handover) -> bool:
    return handover.provider == "aws" and bool(handover.diskless)


def cluster_of(handover: Handover) -> dict[str, Any]:
    """The cluster's specification.

    Raises:
        BadInput: for a mix, and for a provider that Databricks does not run on.
    """
    if handover.provider not in _AVAILABILITY:
        raise BadInput(
            f"Databricks does not run on {handover.provider or 'a cluster one owns'}",
            where="--to",
            remedy="choose spark-submit or spark-defaults",
        )
    worker = only_type(handover, "Databricks clusters")
    attributes, ordinary, spot = _AVAILABILITY[handover.provider]
    # The driver is the first node and is never rented at spot prices; workers follow it.
    renting: dict[str, Any] = {"availability": ordinary, "first_on_demand": 1}
    if handover.spot_nodes:
        on_demand = handover.nodes - handover.spot_nodes
        renting = {"availability": spot, "first_on_demand": 1 + on_demand}
    if _needs_volumes(handover):
        renting |= _VOLUMES
    return {
        "cluster_name": printable(handover.application)[:100] or "sparkplan",
        "spark_version": RUNTIME,
        "node_type_id": worker,
        "driver_node_type_id": handover.master or worker,
        "num_workers": handover.nodes,
        "autotermination_minutes": IDLE_MINUTES,
        "runtime_engine": "STANDARD",
        "spark_conf": {
            key: value
            for key, value in spark_properties(handover).items()
            if not key.startswith(DECIDED)
        },
        attributes: renting,
    }
