"""Managed Spark services that rent workers, or nodes by size, and log no machine type."""

from __future__ import annotations

from collections.abc import Mapping

from engine.cluster import Cluster
from engine.machines.services import NO_MACHINE_TYPES
from engine.notices import Notice

_WORKERS, _NODES = "workers", "nodes by size"

_SERVICES = (
    ("AWS Glue", ("spark.glue.GLUE_VERSION", "spark.glue.JOB_NAME", "spark.glue.JOB_RUN_ID")),
    ("EMR Serverless", ("spark.emr-serverless.",)),
    (
        "Dataproc Serverless",
        (
            *("spark.dataproc.driver.compute.tier", "spark.dataproc.executor.compute.tier"),
            *("spark.dataproc.driver.disk.", "spark.dataproc.executor.disk."),
        ),
    ),
)
"""Service -> prefixes of properties that only it sets or accepts."""

_CLUSTER_TYPES = {"synapse": "Azure Synapse", "trident": "Microsoft Fabric"}
"""`spark.cluster.type` -> service."""


def service_of(properties: Mapping[str, str]) -> tuple[str, str] | None:
    """The service that an application ran on and what it rents, if it logs no machine type."""
    for service, beginnings in _SERVICES:
        if any(key.startswith(beginnings) for key in properties):
            return service, _WORKERS
    cluster_type = properties.get("spark.cluster.type", "")
    return (_CLUSTER_TYPES[cluster_type], _NODES) if cluster_type in _CLUSTER_TYPES else None


def cloud_service(properties: Mapping[str, str]) -> str | None:
    """The managed Spark service of one provider that the settings show, with or without machine
    types. Databricks, which runs on several providers, is not among them."""
    service = service_of(properties)
    if service is not None:
        return service[0]
    dataproc = any(key.startswith("spark.dataproc.") for key in properties)
    return "Dataproc" if dataproc else None


def service_notice(properties: Mapping[str, str], cluster: Cluster) -> Notice | None:
    """The notice that a service's nodes are in no catalog, and which speed is assumed for them. It
    replaces `unknown-source-type` (`engine.notices`)."""
    service_and_rental = service_of(properties)
    if service_and_rental is None:
        return None
    service, rented = service_and_rental
    nearest = "name the machine that is nearest to them with --ran-on TYPE; "
    compared = f"costs are of the catalog's machines: compare them with what {service} billed"
    return Notice(
        NO_MACHINE_TYPES,
        f"the run was on {service}, which rents {rented} and names no machine: they count as "
        "nodes; the catalogs have neither their price nor their speed: where no machine is "
        "named, their median per vCPU is taken",
        compared if cluster.instance else nearest + compared,
    )
