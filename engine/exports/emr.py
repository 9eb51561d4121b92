"""`aws emr create-cluster`: instance groups for one worker type, instance fleets for a mix of two.

A fleet holds a number of units, not of nodes of each type. So that a mix comes out as recommended
and not as EMR finds capacity, every type has a fleet of its own: the core fleet holds the type with
the most nodes, the task fleet the other one. EMR has one task fleet; three and more types are
therefore instance groups again, of which there may be many.
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
"""Without steps EMR would end such a cluster before a job can be submitted to it."""

RELEASE = "emr-7.5.0"
"""Any release with Spark 3.5 reads this configuration; written so that it can be changed."""

REFUSED = "<>$|`"
"""In the name of a cluster."""

SPOT_TIMEOUT_MINUTES = 20


class Emr(Export):
    name = "emr"
    summary = "aws emr create-cluster: groups, fleets for a mix"
    suffix = ".sh"
    spark = SPARK_OF_RELEASES

    def render(self, handover: Handover) -> str:
        region = require_provider(handover, "aws", "EMR runs on AWS")
        if len(handover.composition) == 2 or partly_spot(handover):
            nodes = f"--instance-fleets {shlex.quote(json.dumps(fleets(handover)))}"
        else:
            nodes = f"--instance-groups {shlex.quote(json.dumps(groups(handover)))}"
        words = [
            "aws emr create-cluster",
            f"--name={shlex.quote(_no_address(cluster_name(handover.application)))}",
            f"--region {shlex.quote(region)}",
            f"--release-label {RELEASE}",
            "--applications Name=Spark",
            "--use-default-roles",
            nodes,
            f"--configurations {shlex.quote(json.dumps(configurations(handover)))}",
            f"--auto-termination-policy IdleTimeout={60 * IDLE_MINUTES}",
        ]
        head = f"{rented_comments(handover)}\n# {WITH_STEPS}"
        return f"{head}\n" + " \\\n  ".join(words) + "\n"


def by_count(handover: Handover) -> list[tuple[str, int]]:
    """The worker types, the one with the most nodes first.

    Raises:
        BadInput: for types that EMR does not support: it would refuse them only when the text is
            run.
    """
    if handover.unsupported:
        near = dict.fromkeys(name for names in handover.unsupported.values() for name in names)
        raise BadInput(
            f"EMR does not support {' and '.join(handover.unsupported)}",
            where="--to",
            remedy=f"take the nearest that it does with --instances {','.join(near)}, or choose "
            "spark-submit or kubernetes"
            if near
            else "choose spark-submit or kubernetes",
        )
    return sorted(handover.composition.items(), key=lambda entry: (-entry[1], entry[0]))


def groups(handover: Handover) -> list[dict[str, Any]]:
    """One instance group per type, two where it is spot in part: the first is the core group, on
    demand where any is, and the others are task groups."""
    workers = by_count(handover)
    found: list[dict[str, Any]] = [_group("MASTER", handover.master or workers[0][0], 1)]
    rented = [(name, count - handover.on_spot(name), False) for name, count in workers]
    rented += [(name, handover.on_spot(name), True) for name, _ in workers]
    for name, count, spot in rented:
        if not count:
            continue
        group = _group("CORE" if len(found) == 1 else "TASK", name, count)
        group.update(_own_yarn(handover, name))
        if spot:
            # The AWS CLI takes no market of a group, unlike the service: a bid makes it spot, and
            # this one says that the on-demand price is the most that is paid.
            group["BidPrice"] = "OnDemandPrice"
        found.append(group)
    return found


def partly_spot(handover: Handover) -> bool:
    """Whether one type is rented both ways, which one instance fleet can hold."""
    return len(handover.composition) == 1 and 0 < handover.spot_nodes < handover.nodes


def _group(kind: str, name: str, count: int) -> dict[str, Any]:
    return {"InstanceGroupType": kind, "InstanceCount": count, "InstanceType": name}


def fleets(handover: Handover) -> list[dict[str, Any]]:
    """A master fleet, and a fleet for each of one or two worker types."""
    workers = by_count(handover)
    found = [_fleet("MASTER", handover.master or workers[0][0], 1, spot=0)]
    for kind, (name, count) in zip(("CORE", "TASK"), workers, strict=False):
        fleet = _fleet(kind, name, count, spot=handover.on_spot(name))
        fleet["InstanceTypeConfigs"][0].update(_own_yarn(handover, name))
        found.append(fleet)
    return found


def _own_yarn(handover: Handover, name: str) -> dict[str, Any]:
    """In a mix, the configuration of one type's nodes; nothing where one holds for the cluster."""
    properties = own_memory(handover, name)
    if not properties:
        return {}
    return {"Configurations": [{"Classification": "yarn-site", "Properties": properties}]}


def own_memory(handover: Handover, name: str) -> dict[str, str]:
    """What YARN may hand out on one type's nodes, where the types of a mix differ in it."""
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
    """EMR's configuration list: what YARN may hand out, and Spark's settings."""
    found: list[dict[str, object]] = []
    yarn = yarn_memory(handover) if len(handover.composition) == 1 else {}
    if not yarn and handover.memories_gib:
        yarn = {LARGEST_CONTAINER: mib(max(handover.memories_gib.values()))}
    if yarn:
        found.append({"Classification": "yarn-site", "Properties": yarn})
    spark = spark_properties_of(handover)
    found.append({"Classification": "spark-defaults", "Properties": spark})
    return found


def _no_address(text: str) -> str:
    """A value that the AWS CLI takes as it is: in place of one that begins with `file://` or
    `http://` it takes what lies there."""
    return re.sub(":/+", ":/", text)


def cluster_name(application: str) -> str:
    """A cluster name from an application's: printable, without the characters that EMR refuses in
    names (its API's `Cluster.Name`), and no longer than its 256 characters."""
    named = "".join("-" if char in REFUSED else char for char in printable(application))
    return named[:256] or "sparkplan"
