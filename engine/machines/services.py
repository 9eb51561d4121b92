"""Managed services: their constraints on clusters, and prices of another one than the runs' own.

Constraints are the minimum of workers, worker types and on-demand nodes. Other platforms (YARN,
Kubernetes, standalone) accept any cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from engine.catalog import Catalog
from engine.machines.platforms import platform_of
from engine.notices import Notice
from engine.profile import Profile, with_jobs_of_workflows

NAMES = {"emr": "EMR", "dataproc": "Dataproc", "databricks": "Databricks"}
"""Display names of the services."""

LEAST_WORKERS = {"dataproc": 2}
"""Minimum number of workers of a service, if above one: `gcloud dataproc clusters create` accepts
`--num-workers` from 2 on, or none at all (`--single-node`). These are on demand; spot nodes are
secondary workers in addition."""

SINGLE_TYPE_SERVICES = frozenset({"dataproc", "databricks"})
"""Services whose workers all have one type: `--worker-machine-type`, and `node_type_id`."""

UNSUPPORTED_MIX_NOTES = {"dataproc": " without flexible VMs"}
"""Features that would allow a mix but are not supported here: secondary workers of other types
(`--secondary-worker-machine-types`), which no export writes."""

NOT_STARTED = "cluster-not-started"
"""The code of the notices of `service_refusals`."""

PLATFORM_REMEDY = "say with --platform what else runs the executors"


def service_of(catalog: Catalog) -> str:
    """Display name of a catalog's platform; "" where unknown."""
    platform = platform_of(catalog) or ""
    return NAMES.get(platform, platform)


def least_workers(catalog: Catalog) -> int:
    """Minimum number of workers of a cluster on the catalog's platform."""
    return LEAST_WORKERS.get(platform_of(catalog) or "", 1)


def least_on_demand(catalog: Catalog) -> int:
    """Minimum number of on-demand workers in every cluster of the service; spot nodes come in
    addition. 0 where all may be spot nodes."""
    return LEAST_WORKERS.get(platform_of(catalog) or "", 0)


def spot_nodes(catalog: Catalog, nodes: int) -> int:
    """How many of a cluster's nodes may be spot nodes."""
    return max(nodes - least_on_demand(catalog), 0)


def on_demand_line(catalog: Catalog) -> str:
    """The line of a cost's assumptions about mandatory on-demand workers."""
    least = least_on_demand(catalog)
    return f"{least} workers on demand: {service_of(catalog)} has spot nodes only beside them"


def most_worker_types(catalog: Catalog) -> int | None:
    """Maximum number of worker types in a cluster of the service; None for no limit."""
    return 1 if platform_of(catalog) in SINGLE_TYPE_SERVICES else None


def service_refusals(catalog: Catalog, composition: Mapping[str, int]) -> Iterator[Notice]:
    """The reasons, as notices, why the service would refuse a cluster (type -> workers)."""
    service, workers = service_of(catalog), sum(composition.values())
    least, types = least_workers(catalog), most_worker_types(catalog)
    if types is not None and len(composition) > types:
        yield _notice(
            f"{service} runs workers of one type: it starts no mix of {len(composition)} types"
            + UNSUPPORTED_MIX_NOTES.get(platform_of(catalog) or "", ""),
            "ask for nodes of one type",
        )
    if workers < least:
        yield _notice(f"{service} starts no cluster of fewer than {least} workers", "add a node")


def _notice(text: str, remedy: str) -> Notice:
    return Notice(NOT_STARTED, text, f"{remedy}, or {PLATFORM_REMEDY}", subject=text)


ANOTHER_SERVICE = "prices-of-another-service"

NO_MACHINE_TYPES = "no-machine-types"
"""The code of the notice about a service that names no machines (`sources.distilling.services`)."""

LOGGED_SERVICES = (
    *("AWS Glue", "EMR Serverless", "Dataproc Serverless", "Dataproc"),
    *("Databricks", "Azure Synapse", "Microsoft Fabric"),
)
"""Services that a version of Spark names beside itself; a name that contains another comes first
(`engine.sources.distilling.settings.spark_version`)."""

_EMR_BUILD = "-amzn-"
"""Part of the version of EMR's own builds of Spark ("3.5.0-amzn-1")."""

_PRICED_BY = {
    "Databricks": "on these machines --platform databricks plans for it, in Azure --catalog "
    "azure-databricks",
    "Dataproc": "--catalog gcp has its prices",
    "EMR": "--catalog aws has its prices",
}
"""Service -> where its prices are."""


def another_service_notice(catalog: Catalog, *profiles: Profile) -> Notice | None:
    """The notice that a catalog prices another service than the one that at least half of the jobs
    ran on; None where they agree, no log names a service, or the platform is none.

    Where the user names the platform, this is what was asked for, and not to be said.
    """
    ran_on = service_that_ran(with_jobs_of_workflows(profiles))
    priced, platform = service_of(catalog), platform_of(catalog)
    if ran_on is None or platform not in NAMES or ran_on == priced:
        return None
    billing = catalog.billing
    has_fee = billing.surcharge_fraction or billing.surcharge_usd_per_vcpu_hour
    if has_fee or billing.usd_per_dbu is not None:
        prices = f"prices and the memory of executors are those of {priced}, the service of"
        prices = f"{prices} catalog {catalog.name}"
    else:
        prices = f"prices are of the machines of catalog {catalog.name} alone, and the memory of"
        prices = f"{prices} executors is that of {priced}"
    remedy = f"--platform {platform} says that {priced} is meant"
    if ran_on in _PRICED_BY or not _are_compared(profiles):
        unpriced = f"no catalog has prices of {ran_on}: compare with what it billed"
        remedy = f"{_PRICED_BY.get(ran_on, unpriced)}; {remedy}"
    return Notice(
        ANOTHER_SERVICE,
        f"the runs were on {ran_on}; {prices}",
        remedy,
    )


def _are_compared(profiles: Sequence[Profile]) -> bool:
    """Whether notices of the runs already advise to compare costs with what the service billed."""
    runs = [run for profile in with_jobs_of_workflows(profiles) for run in profile.runs]
    return any(notice.code == NO_MACHINE_TYPES for run in runs for notice in run.notices)


def service_that_ran(profiles: Sequence[Profile]) -> str | None:
    """The managed service that at least half of the jobs name, and none contradicts."""
    for name in LOGGED_SERVICES:
        if majority_names_service(profiles, name):
            return name
    return NAMES["emr"] if majority_names_service(profiles, _EMR_BUILD) else None


def majority_names_service(profiles: Sequence[Profile], service: str) -> bool:
    """Whether at least half of the jobs name the service beside their version of Spark
    (`engine.sources.distilling.settings.spark_version`), and none names a version without it."""
    versions = [[v for run in profile.runs if (v := run.spark_version)] for profile in profiles]
    known_versions = [known for known in versions if known]
    all_name_it = all(service in version for known in known_versions for version in known)
    return bool(known_versions) and 2 * len(known_versions) >= len(profiles) and all_name_it
