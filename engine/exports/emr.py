"""`aws emr create-cluster`: instance groups for one worker type, instance fleets for a mix of two.

The size of a fleet is a number of capacity units, not of nodes per type. To get a mix exactly as
recommended rather than as EMR finds capacity, each type has its own fleet: the core fleet for the
type with the most nodes, the task fleet for the other. EMR allows one task fleet; three or more
types therefore use instance groups, whose number is not limited to two.
"""

from __future__ import annotations

import json
import re
import shlex
from typing import Any

from engine.errors import BadInput
from engine.exports.base import (
    IDLE_MINUTES,
    LARGEST_CONTAINER,
    NODE_MEMORY,
    SPARK_OF_RELEASES,
    Export,
    Handover,
    mib,
    rented_comments,
    require_provider,
    yarn_memory,
)
from engine.exports.base import spark_properties as spark_properties_of
from engine.text.lists import printable

WITH_STEPS = "with --steps, --auto-terminate ends it right after the last one instead"
"""Without steps EMR would terminate such a cluster before a job can be submitted to it."""

RELEASE = "emr-7.5.0"
"""An example: any release with Spark 3.5 accepts this configuration."""

REFUSED_IN_NAMES = "<>$|`"
"""Characters that EMR refuses in the name of a cluster."""

SPOT_TIMEOUT_MINUTES = 20

FALLBACK = (
    f"# spot nodes that EMR does not get within {SPOT_TIMEOUT_MINUTES} minutes are rented on "
    "demand: that price is not in the cost"
)
"""What instance fleets do without spot capacity; instance groups wait for it."""


class Emr(Export):
    name = "emr"
    summary = "aws emr create-cluster: groups, fleets for a mix"
    suffix = ".sh"
    spark = SPARK_OF_RELEASES

    def render(self, handover: Handover) -> str:
        region = require_provider(handover, "aws", "EMR runs on AWS")
        in_fleets = len(handover.composition) == 2 or partly_spot(handover)
        if in_fleets:
            nodes = f"--instance-fleets {shlex.quote(json.dumps(fleets(handover)))}"
        else:
            nodes = f"--instance-groups {shlex.quote(json.dumps(groups(handover)))}"
        arguments = [
            "aws emr create-cluster",
            f"--name={shlex.quote(_literal_value(cluster_name(handover.application)))}",
            f"--region {shlex.quote(region)}",
            f"--release-label {RELEASE}",
            "--applications Name=Spark",
            "--use-default-roles",
            nodes,
            f"--configurations {shlex.quote(json.dumps(configurations(handover)))}",
            f"--auto-termination-policy IdleTimeout={60 * IDLE_MINUTES}",
        ]
        lines = [rented_comments(handover), f"# {WITH_STEPS}"]
        if in_fleets and handover.spot_nodes:
            lines.append(FALLBACK)
        return "\n".join([*lines, " \\\n  ".join(arguments)]) + "\n"


def by_count(handover: Handover) -> list[tuple[str, int]]:
    """The worker types, the one with the most nodes first.

    Raises:
        BadInput: for types that EMR does not support, which it would refuse only at run time.
    """
    if handover.unsupported:
        near = dict.fromkeys(name for names in handover.unsupported.values() for name in names)
        ways = [
            "plan for EMR with --platform emr" if handover.platform != Emr.name else "",
            f"take the nearest that it does with --instances {','.join(near)}" if near else "",
            "choose spark-submit or kubernetes",
        ]
        raise BadInput(
            f"EMR does not support {' and '.join(handover.unsupported)}",
            where="--to",
            remedy=", or ".join(filter(None, ways)),
        )
    return sorted(handover.composition.items(), key=lambda entry: (-entry[1], entry[0]))


def groups(handover: Handover) -> list[dict[str, Any]]:
    """One instance group per type, two where a type is partly spot. The first is the core group, on
    demand if any is; the others are task groups."""
    workers = by_count(handover)
    instance_groups: list[dict[str, Any]] = [_group("MASTER", handover.master or workers[0][0], 1)]
    rented = [(name, count - handover.on_spot(name), False) for name, count in workers]
    rented += [(name, handover.on_spot(name), True) for name, _ in workers]
    for name, count, spot in rented:
        if not count:
            continue
        group = _group("CORE" if len(instance_groups) == 1 else "TASK", name, count)
        group.update(_own_yarn(handover, name))
        if spot:
            # The AWS CLI takes no market of a group, unlike the service: a bid makes it spot, and
            # this one says that the on-demand price is the most that is paid.
            group["BidPrice"] = "OnDemandPrice"
        instance_groups.append(group)
    return instance_groups


def partly_spot(handover: Handover) -> bool:
    """Whether a single type is rented both on demand and spot, which one instance fleet allows."""
    return len(handover.composition) == 1 and 0 < handover.spot_nodes < handover.nodes


def _group(kind: str, name: str, count: int) -> dict[str, Any]:
    return {"InstanceGroupType": kind, "InstanceCount": count, "InstanceType": name}


def fleets(handover: Handover) -> list[dict[str, Any]]:
    """A master fleet, and a fleet for each of one or two worker types."""
    workers = by_count(handover)
    instance_fleets = [_fleet("MASTER", handover.master or workers[0][0], 1, spot=0)]
    for kind, (name, count) in zip(("CORE", "TASK"), workers, strict=False):
        fleet = _fleet(kind, name, count, spot=handover.on_spot(name))
        fleet["InstanceTypeConfigs"][0].update(_own_yarn(handover, name))
        instance_fleets.append(fleet)
    return instance_fleets


def _own_yarn(handover: Handover, name: str) -> dict[str, Any]:
    """YARN configuration of one type's nodes in a mix; empty where one applies to the cluster."""
    properties = own_memory(handover, name)
    if not properties:
        return {}
    return {"Configurations": [{"Classification": "yarn-site", "Properties": properties}]}


def own_memory(handover: Handover, name: str) -> dict[str, str]:
    """YARN memory of one type's nodes, where the types of a mix differ in it."""
    if len(handover.composition) == 1 or name not in handover.memories_gib:
        return {}
    return {NODE_MEMORY: mib(handover.memories_gib[name])}


def _fleet(kind: str, name: str, count: int, *, spot: int) -> dict[str, Any]:
    """One unit of capacity is one node; `spot` of them are spot nodes."""
    capacity = {"TargetOnDemandCapacity": count - spot, "TargetSpotCapacity": spot}
    fleet: dict[str, Any] = {
        "Name": kind.lower(),
        "InstanceFleetType": kind,
        **{name: units for name, units in capacity.items() if units},
        "InstanceTypeConfigs": [{"InstanceType": name, "WeightedCapacity": 1}],
    }
    if spot:
        fleet["LaunchSpecifications"] = {
            "SpotSpecification": {
                "AllocationStrategy": "capacity-optimized",
                "TimeoutDurationMinutes": SPOT_TIMEOUT_MINUTES,
                "TimeoutAction": "SWITCH_TO_ON_DEMAND",
            }
        }
    return fleet


def configurations(handover: Handover) -> list[dict[str, object]]:
    """EMR's configuration list: YARN memory and Spark's settings."""
    entries: list[dict[str, object]] = []
    yarn = yarn_memory(handover) if len(handover.composition) == 1 else {}
    if not yarn and handover.memories_gib:
        yarn = {LARGEST_CONTAINER: mib(max(handover.memories_gib.values()))}
    if yarn:
        entries.append({"Classification": "yarn-site", "Properties": yarn})
    spark = spark_properties_of(handover)
    entries.append({"Classification": "spark-defaults", "Properties": spark})
    return entries


def _literal_value(text: str) -> str:
    """A value that the AWS CLI takes literally; it replaces values that begin with `file://` or
    `http://` by the content at that address."""
    return re.sub(":/+", ":/", text)


def cluster_name(application: str) -> str:
    """A cluster name from the application's: printable, without the characters that EMR refuses in
    `Cluster.Name`, at most 256 characters."""
    named = "".join("-" if char in REFUSED_IN_NAMES else char for char in printable(application))
    return named[:256] or "sparkplan"
