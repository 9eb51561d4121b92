"""The catalog of the prices: the one that is named, else that of the provider where the job ran."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import engine
from tui.arguments import options

SERVICES = ("emr", "dataproc")
"""Export targets that determine the platform and the provider."""

CLUSTERS = ("databricks", "terraform")
"""Further ones that start the cluster of a managed service."""


def where_it_ran(
    args: argparse.Namespace, *profiles: engine.Profile, candidates: Sequence[str] = ()
) -> engine.WhereItRan:
    """Catalog and platform where --catalog does not name one."""
    named = [*candidates, *(options.globs(getattr(args, "instances", None)) or ())]
    for option in ("own", "limit"):
        named += [text.partition("=")[0] for text in getattr(args, option, [])]
    ran_on, platform = getattr(args, "ran_on", None), getattr(args, "platform", None)
    to = getattr(args, "to", None)
    if platform is None and to in SERVICES:
        platform = to
    return engine.where_it_ran(
        *profiles, ran_on=ran_on, platform=platform, candidates=named,
        starts_cluster=to in CLUSTERS,
    )  # fmt: skip


def catalog_for(
    args: argparse.Namespace, *profiles: engine.Profile, candidates: Sequence[str] = ()
) -> tuple[engine.Catalog, tuple[engine.Notice, ...]]:
    """As `catalog_and_origin`, with all notices on whose prices they are.

    Args:
        candidates: types that the question names.
    """
    catalog, origin = catalog_and_origin(args, *profiles, candidates=candidates)
    service = another_service_notice(args, catalog, *profiles)
    return catalog, tuple(notice for notice in (origin, service) if notice is not None)


def catalog_and_origin(
    args: argparse.Namespace, *profiles: engine.Profile, candidates: Sequence[str] = ()
) -> tuple[engine.Catalog, engine.Notice | None]:
    """The catalog of --catalog, else that of where the runs ran, with a notice on that choice."""
    if args.catalog is not None:
        catalog, origin = options.catalog_of(args), None
    else:
        where = where_it_ran(args, *profiles, candidates=candidates)
        catalog = options.catalog_of(args, where.catalog, platform=where.platform)
        origin = where.notice
    return engine.noting_missing_dbus(catalog, *profiles), origin


def another_service_notice(
    args: argparse.Namespace, catalog: engine.Catalog, *profiles: engine.Profile
) -> engine.Notice | None:
    """The notice that prices are of another service than the runs', unless the user names the
    platform, or the service that an export is for."""
    named = getattr(args, "platform", None) or getattr(args, "to", None) in SERVICES
    return None if named else engine.another_service_notice(catalog, *profiles)


def with_notices(profile: engine.Profile, *notices: engine.Notice | None) -> engine.Profile:
    """The profile with notices for its answers."""
    new = tuple(notice for notice in notices if notice is not None)
    return replace(profile, notices=(*profile.notices, *new)) if new else profile
