"""`aws emr create-cluster` with instance groups: one type for the workers, one for the master."""

from __future__ import annotations

import json
import math
import shlex

from engine.errors import BadInput
from engine.exports.base import Export, Handover, comments, only_type, spark_properties

RELEASE = "emr-7.5.0"
"""Any release with Spark 3.5 reads this configuration; written so that it can be changed."""


class Emr(Export):
    name = "emr"
    summary = "aws emr create-cluster with instance groups"

    def render(self, handover: Handover) -> str:
        if handover.provider != "aws" or handover.region is None:
            raise BadInput(
                f"EMR runs on AWS, this recommendation is for {handover.provider or 'no provider'}",
                where="--to",
                remedy="choose spark-submit or spark-defaults",
            )
        worker = only_type(handover, "EMR's instance groups")
        groups = [
            ("MASTER", 1, handover.master or worker),
            ("CORE", handover.nodes, worker),
        ]
        words = [
            "aws emr create-cluster",
            f"--name {shlex.quote(_name(handover.application))}",
            f"--region {shlex.quote(handover.region)}",
            f"--release-label {RELEASE}",
            "--applications Name=Spark",
            "--use-default-roles",
            "--instance-groups "
            + " ".join(
                f"InstanceGroupType={kind},InstanceCount={count},InstanceType={shlex.quote(name)}"
                for kind, count, name in groups
            ),
            f"--configurations {shlex.quote(json.dumps(configurations(handover)))}",
            "--auto-terminate",
        ]
        return f"{comments(handover)}\n" + " \\\n  ".join(words) + "\n"


def configurations(handover: Handover) -> list[dict[str, object]]:
    """EMR's configuration list: what YARN may hand out, and Spark's settings."""
    found: list[dict[str, object]] = []
    if handover.node_memory_gib is not None:
        memory_mb = str(math.floor(handover.node_memory_gib * 1024.0))
        yarn = {
            "yarn.nodemanager.resource.memory-mb": memory_mb,
            "yarn.scheduler.maximum-allocation-mb": memory_mb,
        }
        found.append({"Classification": "yarn-site", "Properties": yarn})
    spark = spark_properties(handover)
    found.append({"Classification": "spark-defaults", "Properties": spark})
    return found


def _name(application: str) -> str:
    """A cluster name from an application's: printable, and no longer than EMR's 256 characters."""
    clean = "".join(char if char.isprintable() else "?" for char in application)
    return clean[:256] or "sparkplan"
