"""Constraints of managed services on clusters: minimum workers, worker types, on-demand nodes.

Other platforms (YARN, Kubernetes, standalone) accept any cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.catalog import Catalog
from engine.machines.platforms import platform_of
from engine.notices import Notice

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
