"""Platforms that run executors: managed services, YARN, Kubernetes, Spark standalone.

A catalog has the memory rule and prices of its provider's service (EMR, Dataproc, Databricks on
Azure). On another platform the same machines reserve a different part of their memory, and the
service is not paid for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from math import log2
from typing import Any

from engine.catalog import Billing, Catalog, InstanceType, MemoryRule
from engine.errors import BadInput, UnknownName
from engine.notices import Notice

_RULES = {
    "emr": MemoryRule("emr-yarn"),
    "dataproc": MemoryRule(
        "share", 0.8, yarn=True,
        note="a published tool leaves 20 % of a Dataproc node to what is not an executor; assumed",
    ),
    "databricks": MemoryRule("databricks", note="its published formula"),
    "yarn": MemoryRule(
        "yarn",
        note="1 GiB is left to the system and its daemons: usual, assumed; containers are of whole "
        "GiB, YARN's default",
    ),
    "kubernetes": MemoryRule(
        "kubernetes",
        note="what GKE reserves by its published tiers, and 0.25 GiB for the pods that every node "
        "runs; EKS reserves less, AKS since 1.29 by the pods that a node may have",
    ),
    "standalone": MemoryRule("standalone", note="all but 1 GiB, a worker's default"),
}  # fmt: skip

PLATFORMS = tuple(_RULES)

_PROVIDER_OF_SERVICE = {"emr": "aws", "dataproc": "gcp"}
"""Service -> the only provider it runs on."""

OWN_SERVICE = {"aws": "emr", "gcp": "dataproc", "azure": "databricks"}
"""Provider -> the service that its catalog is for."""

SERVICE = "EMR"
"""The service whose list of supported types is in the catalogs."""

NOT_SUPPORTED = f"not supported by {SERVICE}"

DATAPROC_SERIES = frozenset(
    {"n1", "n2", "n2d", "n4", "n4d", "e2", "c2", "c2d", "c3", "c4", "c4a", "m1", "m2"}
)
"""Series of machines in Dataproc's published list of supported types, by copies of 2025;
n4d is in newer ones."""

DATAPROC_REFUSED = frozenset({"n1-standard-1", "e2-micro", "e2-small", "e2-medium"})
"""Types of these series that the same list excludes: shared cores, and too little memory."""

_GOOGLE_TYPE = re.compile(r"([a-z]\d[a-z]?)-[a-z]")

_MISSING_PRICE_NOTES = {
    "kubernetes": "the price of a managed Kubernetes, and of its control plane, is not in it",
    "databricks": "the price of DBUs is not in it: this catalog knows neither them nor which of "
    "its types Databricks offers",
}

NO_DBUS_NOTE = "the price of DBUs is not in it: catalog azure-databricks has them"


def on_platform(catalog: Catalog, platform: str | None) -> Catalog:
    """The catalog with another platform's memory rule, without the price of its own service. None,
    and its own service, change nothing but the note that DBUs are missing.

    Raises:
        UnknownName: for an unknown platform.
        BadInput: for the service of another provider, and for the catalog's own service where the
            catalog was changed to another platform before: its price is then no longer known.
    """
    if platform is None:
        return catalog
    if platform not in _RULES:
        raise UnknownName("platform", platform, PLATFORMS, where="--platform")
    if not runs_on(platform, catalog):
        raise BadInput(
            f"{platform} does not run on the machines of catalog {catalog.name}",
            where="--platform",
            remedy=f"name a catalog of {_PROVIDER_OF_SERVICE[platform]}, or another platform",
        )
    if platform == OWN_SERVICE.get(catalog.provider):
        if catalog.platform not in (None, platform):
            raise BadInput(
                f"catalog {catalog.name} is for {catalog.platform} already, without the memory and "
                f"the price of {platform}",
                where="--platform",
                remedy="load the catalog anew",
            )
        planned = catalog
        if platform_of(catalog) != platform:
            planned = replace(catalog, platform=platform)
        return with_dbu_note(planned) if platform == "databricks" else planned
    return replace(
        catalog,
        platform=platform,
        memory_rule=_RULES[platform],
        billing=_without_service(catalog.billing, platform),
        managed_only=False,
        dbu_tiers={},
    )


def with_dbu_note(catalog: Catalog) -> Catalog:
    """The catalog, with a note where it has no price of the DBUs that Databricks meters."""
    if catalog.billing.usd_per_dbu is not None:
        return catalog
    return replace(catalog, billing=replace(catalog.billing, platform_note=NO_DBUS_NOTE))


def runs_on(platform: str, catalog: Catalog) -> bool:
    """Whether a platform runs on a catalog's machines; services only on their provider's."""
    return _PROVIDER_OF_SERVICE.get(platform, catalog.provider) == catalog.provider


def platform_of(catalog: Catalog) -> str | None:
    """The platform of a catalog: as requested, else by its memory rule, else its provider's
    service; None where unknown."""
    named = {rule.kind: name for name, rule in _RULES.items() if rule.kind != "share"}
    return (
        catalog.platform or named.get(catalog.memory_rule.kind) or OWN_SERVICE.get(catalog.provider)
    )


def support_notice(catalog: Catalog, name: str) -> Notice | None:
    """The warning that the service does not support a type, or that Dataproc's list does not name
    it. A type that the user named or owns is planned all the same."""
    if platform_of(catalog) == "dataproc":
        return _unlisted_notice(name)
    if catalog.supports(name):
        return None
    near = ", ".join(nearest_supported(catalog, name))
    return Notice(
        "not-supported-by-emr",
        f"{SERVICE} does not support {name}: it starts no such node, whatever time and cost say",
        f"name types that it supports{f', such as {near},' if near else ''} or say what else runs "
        "the executors with --platform",
    )


def _unlisted_notice(name: str) -> Notice | None:
    """The warning that Dataproc's list of supported types does not name a type of Google's. The
    list says which series it includes, and not that it is complete."""
    series = _GOOGLE_TYPE.match(name)
    if series is None or (series[1] in DATAPROC_SERIES and name not in DATAPROC_REFUSED):
        return None
    listed = f"excludes {name}" if name in DATAPROC_REFUSED else f"does not name {series[1]}"
    return Notice(
        "not-listed-by-dataproc",
        f"Dataproc's list of supported machine types {listed}: it may start no such node",
        "try it before it is planned with, name types of a series that is listed "
        "('n2*,c2*,c3-*,e2-*'), or say what else runs the executors with --platform",
    )


def nearest_supported(catalog: Catalog, name: str) -> tuple[str, ...]:
    """The three EMR-supported types nearest to an unsupported one: same architecture, preferably
    not smaller, by closeness in size, then price; the nearest of its own series first."""
    shape = catalog.offers[name].instance

    def key(other: InstanceType) -> tuple[bool, float, float, str]:
        doublings = (other.vcpus / shape.vcpus, other.memory_gib / shape.memory_gib)
        price = catalog.offers[other.name].on_demand.usd_per_hour
        return min(doublings) < 1.0, sum(abs(log2(x)) for x in doublings), price, other.name

    shapes = (offer.instance for offer in catalog.offers.values())
    nearest = sorted(
        (x for x in shapes if x.emr_supported is not False and x.arch in (None, shape.arch)),
        key=key,
    )
    own = [x.name for x in nearest if _series(x.name) == _series(name)]
    return tuple(dict.fromkeys([*own[:1], *(x.name for x in nearest)]))[:3]


def diskless(catalog: Catalog, names: Iterable[str]) -> tuple[str, ...]:
    """Those of the types and the master's type that are not known to have a local disk."""
    master = catalog.billing.master
    wanted = dict.fromkeys([*names, *([master] if master else [])])
    shapes = (catalog.offers[name].instance for name in wanted if name in catalog.offers)
    return tuple(shape.name for shape in shapes if not shape.local_disk_gb)


def _series(name: str) -> str:
    return name.partition(".")[0]


def _startup(billing: Billing, platform: str) -> dict[str, Any]:
    """Start-up time of a cluster on a platform: known for EKS, else that of the own service."""
    if not billing.startup_note:
        return {}
    if platform == "kubernetes" and billing.startup_seconds:
        return {
            "startup_seconds": 150.0,
            "startup_note": "EKS with Karpenter, by a published adviser; billed in full",
        }
    return {"startup_note": f"{billing.startup_note}; taken for {platform} as well"}


def _without_service(billing: Billing, platform: str) -> Billing:
    return replace(
        billing,
        surcharge_fraction=0.0,
        surcharge_usd_per_vcpu_hour=0.0,
        surcharge_assumed=False,
        surcharge_note=None,
        usd_per_dbu=None,
        dbu_note=None,
        dbu_date=None,
        **_startup(billing, platform),
        platform_note=f"on {platform}: the catalog's managed service is not paid for"
        + (f"; {_MISSING_PRICE_NOTES[platform]}" if platform in _MISSING_PRICE_NOTES else ""),
    )
