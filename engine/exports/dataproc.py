"""`gcloud dataproc clusters create`: one machine type for the workers, one for the master."""

from __future__ import annotations

import shlex

from engine.errors import BadInput
from engine.exports.base import (
    IDLE_MINUTES,
    SPARK_OF_RELEASES,
    Export,
    Handover,
    only_type,
    rented_comments,
    require_provider,
    resource_name,
    spark_properties,
    yarn_memory,
)
from engine.machines.services import LEAST_WORKERS

IMAGE = "2.2-debian12"
"""An example: any image with Spark 3.5 accepts these properties."""

BY_MEMORY = {
    "capacity-scheduler:yarn.scheduler.capacity.resource-calculator": (
        "org.apache.hadoop.yarn.util.resource.DefaultResourceCalculator"
    )
}
"""YARN counts memory alone, as the layout assumes: the default up to image 2.2. Images from 3.0 on
(Spark 4) count cores too: executors with all cores of a node leave none to the application
master."""


class Dataproc(Export):
    name = "dataproc"
    summary = "gcloud dataproc clusters create"
    suffix = ".sh"
    spark = SPARK_OF_RELEASES

    def render(self, handover: Handover) -> str:
        region = require_provider(handover, "gcp", "Dataproc runs on Google Cloud")
        worker = only_type(handover, "Dataproc clusters")
        check_workers(handover)
        properties = ",".join(f"{key}={value}" for key, value in properties_of(handover).items())
        arguments = [
            f"gcloud dataproc clusters create {resource_name(handover.application)}",
            f"--region {shlex.quote(region)}",
            f"--image-version {IMAGE}",
            f"--master-machine-type {shlex.quote(handover.master or worker)}",
            f"--num-workers {handover.nodes - handover.spot_nodes}",
            f"--worker-machine-type {shlex.quote(worker)}",
            *secondary(handover),
            f"--properties {shlex.quote(properties)}",
            f"--max-idle {IDLE_MINUTES}m",
        ]
        return f"{rented_comments(handover)}\n" + " \\\n  ".join(arguments) + "\n"


def properties_of(handover: Handover) -> dict[str, str]:
    """Cluster properties, with the prefix of their file: Spark's settings, how YARN counts and, as
    on EMR, the memory that it may allocate on a node, which could otherwise run more executors than
    planned."""
    yarn = {f"yarn:{key}": value for key, value in yarn_memory(handover).items()}
    spark = {f"spark:{key}": value for key, value in spark_properties(handover).items()}
    return BY_MEMORY | yarn | spark


def secondary(handover: Handover) -> list[str]:
    """The arguments for spot nodes, which are secondary workers of the same machine type."""
    spot = handover.spot_nodes
    return [f"--num-secondary-workers {spot}", "--secondary-worker-type spot"] if spot else []


def check_workers(handover: Handover) -> None:
    """Refuses clusters that Dataproc does not start.

    Raises:
        BadInput: for one worker, and for fewer than two on-demand workers.
    """
    if handover.nodes < LEAST_WORKERS["dataproc"]:
        raise BadInput(
            "Dataproc needs at least 2 workers, this recommendation has 1",
            where="--to",
            remedy="ask for 2 with --min-nodes 2, or choose spark-submit or kubernetes",
        )
    ordinary = handover.nodes - handover.spot_nodes
    if ordinary < LEAST_WORKERS["dataproc"]:
        raise BadInput(
            "Dataproc rents only secondary workers at spot prices, beside 2 or more ordinary ones; "
            f"this recommendation has {ordinary or 'none'} of these",
            where="--to",
            remedy="leave out --spot, or limit it with --max-spot",
        )
