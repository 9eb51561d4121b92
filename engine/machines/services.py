"""Which clusters a managed service starts at all: how many workers, of how many types, rented how.

What no service knows of (YARN, Kubernetes, standalone workers) is any cluster.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from engine.catalog import Catalog
from engine.machines.platforms import platform_of
from engine.notices import Notice

NAMES = {"emr": "EMR", "dataproc": "Dataproc", "databricks": "Databricks"}
"""The services as people write them."""

LEAST_WORKERS = {"dataproc": 2}
"""The fewest workers that a service starts, where that is more than one: `gcloud dataproc clusters
create` takes `--num-workers` from 2 on, or none at all (`--single-node`). They are rented on
demand: spot nodes are secondary workers, beside these."""

OF_ONE_TYPE = frozenset({"dataproc", "databricks"})
"""Services whose workers are of one type: `--worker-machine-type`, and `node_type_id`."""

APART = {"dataproc": " without flexible VMs"}
"""What of a service could start a mix after all, and is left out: secondary workers of other types
(`--secondary-worker-machine-types`), which no export writes."""

NOT_STARTED = "cluster-not-started"
"""The code of what `refusals` says."""

PLATFORM_REMEDY = "say with --platform what else runs the executors"


def service_of(catalog: Catalog) -> str:
    """What runs the executors of a catalog's answers, as people write it; "" where nothing says."""
    platform = platform_of(catalog) or ""
    return NAMES.get(platform, platform)


def least_workers(catalog: Catalog) -> int:
    """The fewest workers of a cluster on the platform of a catalog's answers."""
    return LEAST_WORKERS.get(platform_of(catalog) or "", 1)


def least_on_demand(catalog: Catalog) -> int:
    """The fewest workers that the service rents on demand in every cluster: beside them alone it
    has spot nodes. 0 where all may be spot nodes."""
    return LEAST_WORKERS.get(platform_of(catalog) or "", 0)


def spot_nodes(catalog: Catalog, nodes: int) -> int:
    """How many of a cluster's nodes may be spot nodes."""
    return max(nodes - least_on_demand(catalog), 0)


def on_demand_line(catalog: Catalog) -> str:
    """What the service rents on demand, whatever is asked, in a line of a cost's assumptions."""
    least = least_on_demand(catalog)
    return f"{least} workers on demand: {service_of(catalog)} has spot nodes only beside them"


def most_worker_types(catalog: Catalog) -> int | None:
    """The most types of workers in one cluster of the service; None for any number."""
    return 1 if platform_of(catalog) in OF_ONE_TYPE else None


def refusals(catalog: Catalog, composition: Mapping[str, int]) -> Iterator[Notice]:
    """Why the service of a catalog would not start a cluster (type -> workers)."""
    service, workers = service_of(catalog), sum(composition.values())
    least, types = least_workers(catalog), most_worker_types(catalog)
    if types is not None and len(composition) > types:
        yield _notice(
            f"{service} runs workers of one type: it starts no mix of {len(composition)} types"
            + APART.get(platform_of(catalog) or "", ""),
            "ask for nodes of one type",
        )
    if workers < least:
        yield _notice(f"{service} starts no cluster of fewer than {least} workers", "add a node")


def _notice(text: str, remedy: str) -> Notice:
    return Notice(NOT_STARTED, text, f"{remedy}, or {PLATFORM_REMEDY}", subject=text)
