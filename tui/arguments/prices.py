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
) -> tuple[engine.Catalog, engine.Notice | None]:
    """The catalog of --catalog, else that of where the runs ran, with a notice on that choice.

    Args:
        candidates: types that the question names.
    """
    if args.catalog is not None:
        return engine.noting_missing_dbus(options.catalog_of(args), *profiles), None
    origin = where_it_ran(args, *profiles, candidates=candidates)
    catalog = options.catalog_of(args, origin.catalog, platform=origin.platform)
    return engine.noting_missing_dbus(catalog, *profiles), origin.notice


def with_notice(profile: engine.Profile, notice: engine.Notice | None) -> engine.Profile:
    """The profile with a notice for its answers."""
    return profile if notice is None else replace(profile, notices=(*profile.notices, notice))
