"""A Terraform resource: `aws_emr_cluster`, `google_dataproc_cluster` or `databricks_cluster`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from engine.errors import BadInput
from engine.exports import databricks, dataproc, emr
from engine.exports.base import (
    IDLE_MINUTES,
    SPARK_OF_RELEASES,
    Export,
    Handover,
    only_type,
    rented_comments,
    require_provider,
    resource_name,
)
from engine.machines.platforms import OWN_SERVICE

Block = Mapping[str, Any]
"""Argument -> value: a text or number, a list, a `Map`, or a nested block (a dict)."""


class Map(dict[str, str]):
    """A map argument (`name = { ... }`); a plain dict is a nested block instead."""


class Reference(str):
    """An HCL expression, written without quotes."""


class Resource(NamedTuple):
    """A resource: its type, its label, its arguments."""

    kind: str
    label: str
    arguments: Block


class Terraform(Export):
    name = "terraform"
    summary = "Terraform: EMR, Dataproc, Databricks"
    suffix = ".tf"
    spark = SPARK_OF_RELEASES

    def platform(self, handover: Handover) -> str | None:
        return _service(handover)

    def decides(self, handover: Handover) -> tuple[str, ...]:
        on_databricks = _service(handover) == databricks.Databricks.name
        return databricks.DECIDED if on_databricks else ()

    def render(self, handover: Handover) -> str:
        service = _service(handover)
        if service is None:
            raise BadInput(
                "Terraform needs a provider's cluster, this recommendation is for "
                f"{handover.provider or 'no provider'}",
                where="--to",
                remedy="choose spark-submit, spark-defaults or kubernetes",
            )
        texts = [
            "\n".join([f'resource "{kind}" "{name}" {{', *hcl_lines(arguments, 1), "}"])
            for kind, name, arguments in _RESOURCES[service](handover)
        ]
        return f"{_comments(handover, service)}\n" + "\n\n".join(texts) + "\n"


def _comments(handover: Handover, service: str) -> str:
    """The comments above the resources of a service."""
    if service == databricks.Databricks.name:
        return databricks.comments(handover)
    head = rented_comments(handover)
    in_spot_fleets = service == emr.Emr.name and handover.spot_nodes
    return f"{head}\n{emr.FALLBACK}" if in_spot_fleets else head


def _service(handover: Handover) -> str | None:
    """The managed service of the resource: Databricks if planned for it, else the provider's own;
    None without a provider."""
    own = OWN_SERVICE.get(handover.provider or "")
    planned = databricks.Databricks.name
    return planned if own is not None and handover.platform == planned else own


def label(handover: Handover) -> str:
    """The resource's name within the configuration."""
    return resource_name(handover.application).replace("-", "_")


def hcl_lines(block: Block, depth: int) -> list[str]:
    """The lines of a block's body in HCL, laid out as by `terraform fmt`."""
    indent, lines = "  " * depth, []
    for is_nested, arguments in groupby(block.items(), lambda entry: isinstance(entry[1], dict)):
        if not is_nested:
            lines += _aligned({name: _expression(value) for name, value in arguments}, depth)
            continue
        for name, value in arguments:
            if isinstance(value, Map):
                entries = {quoted(key): quoted(text) for key, text in value.items()}
                head, body = f"{name} =", _aligned(entries, depth + 1)
            else:
                head, body = name, hcl_lines(value, depth + 1)
            lines += [f"{indent}{head} {{", *body, f"{indent}}}"]
    return lines


def _aligned(arguments: Mapping[str, str], depth: int) -> list[str]:
    """Arguments of one line each, their equals signs in one column."""
    width = max(map(len, arguments), default=0)
    return [f"{'  ' * depth}{name.ljust(width)} = {value}" for name, value in arguments.items()]


def _expression(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(quoted, value))}]"
    return value if isinstance(value, Reference) else quoted(value)


def quoted(text: str | int) -> str:
    """A text or number as HCL literal: like JSON, but without escaping non-ASCII letters (HCL
    rejects JSON's surrogate pairs), and with template markers escaped."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")


def _emr(handover: Handover) -> list[Resource]:
    """Instance groups for one type; for spot nodes and for a mix of two, instance fleets (see
    `engine.exports.emr`). The task fleet is a resource of its own."""
    workers = emr.by_count(handover)
    if len(workers) > 2:
        only_type(handover, "Terraform's EMR resources, more than two types apart,")
    name = label(handover)
    master = {"instance_type": handover.master or workers[0][0]}
    cluster: dict[str, Any] = {
        "name": emr.cluster_name(handover.application),
        "release_label": emr.RELEASE,
        "applications": ["Spark"],
        "service_role": "EMR_DefaultRole",
        "ec2_attributes": {"instance_profile": "EMR_EC2_DefaultRole"},
        "configurations_json": json.dumps(emr.configurations(handover)),
        "auto_termination_policy": {"idle_timeout": 60 * IDLE_MINUTES},
    }
    resources = [Resource("aws_emr_cluster", name, cluster)]
    if len(workers) == 1 and not handover.spot_nodes:
        (core, count) = workers[0]
        cluster["master_instance_group"] = master
        cluster["core_instance_group"] = {"instance_type": core, "instance_count": count}
        return resources
    cluster["master_instance_fleet"] = {
        "target_on_demand_capacity": 1,
        "instance_type_configs": master,
    }
    core, nodes = workers[0]
    cluster["core_instance_fleet"] = _fleet(handover, core, nodes)
    for other, count in workers[1:]:
        task = _fleet(handover, other, count)
        cluster_id = Reference(f"aws_emr_cluster.{name}.id")
        resources.append(
            Resource("aws_emr_instance_fleet", name, {"cluster_id": cluster_id, **task})
        )
    return resources


def _fleet(handover: Handover, instance: str, count: int) -> dict[str, Any]:
    """A fleet in which one capacity unit is one node, some of them spot nodes."""
    spot = handover.on_spot(instance)
    capacity = {"target_on_demand_capacity": count - spot, "target_spot_capacity": spot}
    fleet: dict[str, Any] = {
        **{name: units for name, units in capacity.items() if units},
        "instance_type_configs": {"instance_type": instance, "weighted_capacity": 1},
    }
    if own := emr.own_memory(handover, instance):
        yarn = {"classification": "yarn-site", "properties": Map(own)}
        fleet["instance_type_configs"]["configurations"] = yarn
    if spot:
        fleet["launch_specifications"] = {
            "spot_specification": {
                "allocation_strategy": "capacity-optimized",
                "timeout_action": "SWITCH_TO_ON_DEMAND",
                "timeout_duration_minutes": emr.SPOT_TIMEOUT_MINUTES,
            }
        }
    return fleet


def _dataproc(handover: Handover) -> list[Resource]:
    region = require_provider(handover, "gcp", "Dataproc runs on Google Cloud")
    dataproc.check_workers(handover)
    worker = only_type(handover, "Dataproc clusters")
    spot = {"num_instances": handover.spot_nodes, "preemptibility": "SPOT"}
    cluster = {
        "name": resource_name(handover.application),
        "region": region,
        "cluster_config": {
            "master_config": {"num_instances": 1, "machine_type": handover.master or worker},
            "worker_config": {
                "num_instances": handover.nodes - handover.spot_nodes,
                "machine_type": worker,
            },
            **({"preemptible_worker_config": spot} if handover.spot_nodes else {}),
            "software_config": {
                "image_version": dataproc.IMAGE,
                "override_properties": Map(dataproc.properties_of(handover)),
            },
            "lifecycle_config": {"idle_delete_ttl": f"{60 * IDLE_MINUTES}s"},
        },
    }
    return [Resource("google_dataproc_cluster", label(handover), cluster)]


def _databricks(handover: Handover) -> list[Resource]:
    spec = databricks.cluster_of(handover)
    cluster = {key: Map(value) if key == "spark_conf" else value for key, value in spec.items()}
    return [Resource("databricks_cluster", label(handover), cluster)]


_RESOURCES: dict[str, Callable[[Handover], list[Resource]]] = {
    "emr": _emr,
    "dataproc": _dataproc,
    "databricks": _databricks,
}
"""Managed service -> function that builds the resources of a cluster."""
