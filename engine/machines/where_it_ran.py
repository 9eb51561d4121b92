"""Infers the catalog (prices) and platform from where a job ran, if the user names neither.

Prices of another provider than the one a job ran on would answer a question that nobody asked. The
choice is inferred, and therefore stated in a notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from engine.catalog import DEFAULT_CATALOG, Catalog
from engine.catalog_files.index import list_catalogs
from engine.catalog_files.reader import load_catalog, named_type
from engine.machines.platforms import platform_of, runs_on, with_dbu_note
from engine.machines.services import majority_names_service
from engine.notices import Notice
from engine.profile import Profile, Run, with_jobs_of_workflows
from engine.text.lists import abbreviated_list

DATABRICKS, KUBERNETES = "databricks", "kubernetes"
CODE = "prices-of-where-it-ran"


class WhereItRan(NamedTuple):
    """The catalog and platform inferred from the evidence.

    Args:
        catalog: the name of a bundled catalog, or the catalog that `ran_on` names.
        platform: the platform, where it is not the catalog's own service.
        notice: what was chosen and why; None where it is the default.
    """

    catalog: str = DEFAULT_CATALOG
    platform: str | None = None
    notice: Notice | None = None


def where_it_ran(
    *profiles: Profile,
    ran_on: str | None = None,
    platform: str | None = None,
    candidates: Sequence[str] = (),
    starts_cluster: bool = False,
) -> WhereItRan:
    """Infers the catalog and the platform of a plan, in this order of precedence:

    1. the catalog named with the measured type (TYPE@CATALOG);
    2. the bundled catalog that has a type of the evidence, the default one first;
    3. if no type is named, the catalog of the service that the logs show (Dataproc);
    4. the default catalog, also where no catalog has the type.

    Of several jobs, also those of a workflow, at least half must show it: one alone does not show
    where the others ran.
    Executors are planned for Databricks or Kubernetes where the logs are theirs; not for Kubernetes
    where they name a paid service on it, whose fee would be lost, or `ran_on` names the catalog.

    Args:
        ran_on: the measured type as the user names it (TYPE or TYPE@CATALOG).
        platform: the platform that the user names: no other is inferred, and catalogs on whose
            machines it does not run are excluded.
        candidates: names or globs of types that the user wants compared: catalogs without any of
            them are excluded, unless no catalog has any (that error is reported elsewhere).
        starts_cluster: a cluster of a managed service is wanted, so that Kubernetes is not
            inferred.

    Raises:
        BadInput: for a catalog in `ran_on` that cannot be read or lacks the type.
    """
    origin, _, stated = (ran_on or "").partition("@")
    wanted = candidates if _any_catalog_has(candidates) else ()
    profiles = with_jobs_of_workflows(profiles)
    stated_catalog = _catalog_of_ran_on(ran_on, platform, wanted) if ran_on and stated else None
    databricks = majority_names_service(profiles, "Databricks")
    on_pods = not starts_cluster and stated_catalog is None and _majority_on_pods(profiles)
    inferred = DATABRICKS if databricks else KUBERNETES if on_pods else None
    if stated_catalog is not None:
        catalog: Catalog | None = stated_catalog
        name, prices = stated, _named_catalog_text(stated_catalog)
    else:
        names = [*_types_of_majority(profiles), *([origin] if origin else [])]
        service = None if names else _service(profiles)
        compatible = (
            each for each in _shown(names, service) if _is_compatible(each, platform, wanted)
        )
        catalog = _default_or_first(compatible, databricks=databricks)
        name = DEFAULT_CATALOG if catalog is None else catalog.name
        prices = _prices_text(catalog, names, service)
    if platform is not None or (catalog is not None and inferred == platform_of(catalog)):
        inferred = None
    text = "; ".join(filter(None, [prices, _PLATFORM_TEXTS.get(inferred or "")]))
    remedy = "name others with --catalog or --platform"
    return WhereItRan(name, inferred, Notice(CODE, text, remedy) if text else None)


def _shown(names: Sequence[str], service: str | None) -> Iterator[Catalog]:
    """The bundled catalogs that have one of the types, or whose provider runs the service."""
    if not names and service is None:
        return
    for catalog in _bundled():
        by_service = catalog.provider == _PROVIDERS.get(service or "")
        if by_service or any(name in catalog.offers for name in names):
            yield catalog


def noting_missing_dbus(catalog: Catalog, *profiles: Profile) -> Catalog:
    """The catalog, with a note for its costs where the jobs ran on Databricks, which is planned for
    too, and the catalog has no price of DBUs; else unchanged."""
    on_databricks = platform_of(catalog) == DATABRICKS
    if on_databricks and majority_names_service(with_jobs_of_workflows(profiles), "Databricks"):
        return with_dbu_note(catalog)
    return catalog


def _catalog_of_ran_on(ran_on: str, platform: str | None, wanted: Sequence[str]) -> Catalog | None:
    """The catalog of TYPE@CATALOG, if it is compatible with platform and candidates; None also for
    a file of shapes without prices."""
    catalog, _ = named_type(ran_on, first=DEFAULT_CATALOG)
    return catalog if catalog is not None and _is_compatible(catalog, platform, wanted) else None


def _named_catalog_text(catalog: Catalog) -> str:
    """The text that prices are those of the catalog in `--ran-on`, with its date if historic; ""
    for the default catalog. Naming where a job ran need not mean planning with old prices."""
    if catalog.name == DEFAULT_CATALOG:
        return ""
    text = f"no catalog is named but in --ran-on: prices are of {catalog.name}"
    return f"{text}, historic ones of {catalog.date}" if catalog.historic else text


def _types_of_majority(profiles: Sequence[Profile]) -> list[str]:
    """The types that the jobs name; empty where fewer than half of the jobs name any."""
    named = [profile.instance_types for profile in profiles if profile.instance_types]
    return [name for names in named for name in names] if 2 * len(named) >= len(profiles) else []


def _any_catalog_has(candidates: Sequence[str]) -> bool:
    """Whether a bundled catalog has a type that matches."""
    return any(_is_compatible(catalog, None, candidates) for catalog in _bundled())


def _is_compatible(catalog: Catalog, platform: str | None, candidates: Sequence[str]) -> bool:
    """Whether a catalog is compatible with the user's platform and candidate types."""
    if platform is not None and not runs_on(platform, catalog):
        return False
    named = (fnmatchcase(name, glob) for glob in candidates for name in catalog.offers)
    return not candidates or any(named)


def _majority_on_pods(profiles: Sequence[Profile]) -> bool:
    """Whether all runs of at least half of the jobs were on Kubernetes without a service's fee, and
    no log of the others names another master or a service."""
    on_pods = [
        bool(job.runs) and all(run.counts_pods and not _names_service(run) for run in job.runs)
        for job in profiles
    ]
    elsewhere = [
        any(
            _names_service(run) or (not run.counts_pods and "spark.master" in run.config)
            for run in job.runs
        )
        for job in profiles
    ]
    return 0 < len(profiles) <= 2 * sum(on_pods) and not any(elsewhere)


def _names_service(run: Run) -> bool:
    """Whether the version of Spark names a service, in brackets or as a build of its own (EMR, also
    on EKS: "3.5.0-amzn-1"). Such a service has a fee, on Kubernetes too."""
    version = run.spark_version or ""
    return "(" in version or "-amzn-" in version


SERVERLESS = "Dataproc Serverless"

_PROVIDERS = {
    SERVERLESS: "gcp",
    "Dataproc": "gcp",
    "Azure Synapse": "azure",
    "Microsoft Fabric": "azure",
}
"""Service in logs -> the provider whose nodes it uses. AWS services need no entry: its catalog is
the default."""


def _service(profiles: Sequence[Profile]) -> str | None:
    return next((name for name in _PROVIDERS if majority_names_service(profiles, name)), None)


def _default_or_first(catalogs: Iterable[Catalog], *, databricks: bool) -> Catalog | None:
    """The default catalog if it is among the given ones; else the first, for Databricks jobs the
    first with a price of DBUs."""
    others: list[Catalog] = []
    for catalog in catalogs:
        if catalog.name == DEFAULT_CATALOG:
            return catalog
        others.append(catalog)
    dbus = [catalog for catalog in others if catalog.billing.usd_per_dbu is not None]
    return next(iter(dbus if databricks and dbus else others), None)


def _bundled() -> Iterator[Catalog]:
    """The bundled catalogs, the default one first; of several regions the first counts."""
    entries = {entry.name: entry for entry in reversed(list_catalogs())}
    for name in sorted(entries, key=lambda name: (name != DEFAULT_CATALOG, name)):
        yield load_catalog(entries[name].path)


def _prices_text(catalog: Catalog | None, names: Sequence[str], service: str | None) -> str:
    """The text about which catalog's prices are used and why; "" for the default catalog, unless
    another catalog has a type that the job ran on."""
    if catalog is None:
        return ""
    text = f"no catalog is named: prices are of {catalog.name}, "
    if service == SERVERLESS:
        return f"{text}where {service} runs"
    if service is not None:
        return f"{text}whose nodes {service} rents"
    elsewhere = [name for name in dict.fromkeys(names) if name not in catalog.offers]
    elsewhere = [name for name in elsewhere if _any_catalog_has([name])]
    if catalog.name == DEFAULT_CATALOG and not elsewhere:
        return ""
    name = next(name for name in names if name in catalog.offers)
    without = f", and not the {abbreviated_list(elsewhere)}" if elsewhere else ""
    return f"{text}which has the {name} that it ran on{without}"


_PLATFORM_TEXTS = {
    platform: f"no platform is named: executors are planned for {name}, on which it ran"
    for platform, name in ((DATABRICKS, "Databricks"), (KUBERNETES, "Kubernetes"))
}
