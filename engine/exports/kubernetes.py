"""A `SparkApplication` of the Kubernetes operator: the executors, on nodes of one type."""

from __future__ import annotations

from typing import Any

from engine.exports.base import (
    SPARK_OF_RELEASES,
    Export,
    Handover,
    beside_properties,
    comments,
    cpu_request,
    heap_mib,
    only_type,
    overhead_mib,
    resource_name,
)
from engine.runs.carried_settings import DRIVER_MEMORY
from engine.text.lists import printable
from engine.units import format_count

SPARK_VERSION = "3.5.3"
IMAGE = "spark:3.5.3"

_EXAMPLES = "# type, image, sparkVersion and mainApplicationFile are examples: put your own"
"""Fields to fill in, since the evidence has neither the language nor the image."""

_OVERHEAD = "spark.executor.memoryOverhead"
"""The only setting of memory beside the heap with a field in the resource."""

DEFAULT_DRIVER_MEMORY = "4g"
"""Of the driver where the logs ask for none."""

_YOURS = "local:///opt/spark/app/YOUR_APPLICATION.py"


class Kubernetes(Export):
    name = "kubernetes"
    summary = "SparkApplication for the Kubernetes operator"
    suffix = ".yaml"
    spark = SPARK_OF_RELEASES

    def render(self, handover: Handover) -> str:
        import yaml

        text = yaml.safe_dump(application_of(handover), sort_keys=False, default_flow_style=False)
        return f"{comments(handover)}\n{_nodes(handover)}{_EXAMPLES}\n{text}"


def _nodes(handover: Handover) -> str:
    """The comment on the number of nodes, which an application cannot request."""
    if not handover.composition:
        return ""
    count = format_count(handover.nodes, "node")
    comment = f"# needs a node pool of {count} of this type; the driver finds its place elsewhere\n"
    if 0 < handover.spot_nodes < handover.nodes:
        comment += (
            f"# of these at most {handover.spot_nodes} spot nodes: an application cannot say\n"
        )
    return comment


def _dynamic(handover: Handover) -> dict[str, Any]:
    if handover.dynamic_allocation is None:
        return {"enabled": False}
    fewest, most = handover.dynamic_allocation
    return {
        "enabled": True,
        "initialExecutors": handover.executors,
        "minExecutors": fewest,
        "maxExecutors": most,
    }


def _executor(handover: Handover) -> tuple[dict[str, Any], dict[str, str]]:
    """The `executor` section, and the memory settings that it has no field for."""
    executor: dict[str, Any] = {
        "instances": handover.executors,
        "cores": handover.layout.executor_cores,
    }
    settings: dict[str, str] = {}
    heap = heap_mib(handover.layout)
    requested = cpu_request(handover)
    if requested is not None:
        executor["coreRequest"] = requested
    if heap is not None:
        executor["memory"] = f"{heap}m"
        beside = beside_properties(handover.layout)
        executor["memoryOverhead"] = beside.pop(_OVERHEAD, f"{overhead_mib(heap)}m")
        settings.update(beside)
    if handover.composition:
        worker = only_type(handover, "SparkApplications")
        executor["nodeSelector"] = {"node.kubernetes.io/instance-type": worker}
    return executor, settings


def application_of(handover: Handover) -> dict[str, Any]:
    """The resource as plain data.

    Raises:
        BadInput: for a mix: an application has executors of one shape, on nodes of one type.
    """
    executor, settings = _executor(handover)
    settings |= handover.settings
    driver_memory = settings.pop(DRIVER_MEMORY, DEFAULT_DRIVER_MEMORY)
    spec: dict[str, Any] = {
        "type": "Python",
        "mode": "cluster",
        "image": IMAGE,
        "sparkVersion": SPARK_VERSION,
        "mainApplicationFile": _YOURS,
        "restartPolicy": {"type": "Never"},
        "driver": {"cores": 1, "memory": driver_memory, "serviceAccount": "spark"},
        "executor": executor,
        "dynamicAllocation": _dynamic(handover),
    }
    if settings:
        spec["sparkConf"] = settings
    return {
        "apiVersion": "sparkoperator.k8s.io/v1beta2",
        "kind": "SparkApplication",
        "metadata": {
            "name": resource_name(handover.application),
            "annotations": {"sparkplan/application": printable(handover.application)},
        },
        "spec": spec,
    }
