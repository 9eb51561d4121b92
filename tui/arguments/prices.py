"""Whose prices an answer takes: the catalog that is named, else that of where the job ran."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace

import engine
from tui.arguments import options

SERVICES = ("emr", "dataproc")
"""Targets of an export that say what runs the executors, and on whose machines."""


def where_it_ran(
    args: argparse.Namespace, *profiles: engine.Profile, candidates: Sequence[str] = ()
) -> engine.WhereItRan:
    """Whose prices hold where --catalog does not say."""
    named = [*candidates, *(options.globs(getattr(args, "instances", None)) or ())]
    for option in ("own", "limit"):
        named += [text.partition("=")[0] for text in getattr(args, option, [])]
    ran_on, platform = getattr(args, "ran_on", None), getattr(args, "platform", None)
    if platform is None and getattr(args, "to", None) in SERVICES:
        platform = args.to
    return engine.where_it_ran(*profiles, ran_on=ran_on, platform=platform, candidates=named)


def priced(
    args: argparse.Namespace, *profiles: engine.Profile, candidates: Sequence[str] = ()
) -> tuple[engine.Catalog, engine.Notice | None]:
    """The catalog of --catalog, else that of where the runs ran, with what is to be said of it.

    Args:
        candidates: types that the question names.
    """
    if args.catalog is not None:
        return options.catalog_of(args), None
    found = where_it_ran(args, *profiles, candidates=candidates)
    return options.catalog_of(args, found.catalog, platform=found.platform), found.notice


def noting(profile: engine.Profile, notice: engine.Notice | None) -> engine.Profile:
    """The profile with what is to be said of its answers."""
    return profile if notice is None else replace(profile, notices=(*profile.notices, notice))
