"""The command's arguments: parsers and shared options, turned into engine values in one place.

Every number with a unit is parsed by `engine.units`, so that a wrong one gives the same message
everywhere, with the name of its option.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import engine
from tui import streams
from tui.arguments import sections
from tui.input_text.term_text import parse_dbu, parse_discount

DEFAULT_CATALOG = "aws"
CATALOG_HELP = (
    "catalog of types and their prices (default: that of the machines it ran on, else aws)"
)
DEFAULT_MAX_NODES = 64

USE_RESOURCES = ("simcost",)
"""Models that use a resource profile."""

MAX_SECONDS = 10 * 365.25 * 86400.0
"""Latest deadline: ten years."""

MAX_WHOLE = 1_000_000
"""Largest number of nodes, executors, cores or partitions."""


def whole(minimum: int = 1, most: int | None = None) -> Callable[[str], int]:
    """Argument type: a whole number of at least `minimum` and at most `most` (`MAX_WHOLE`)."""

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
        if value < minimum:
            raise argparse.ArgumentTypeError(f"must be at least {minimum}, not {value}")
        if value > (most or MAX_WHOLE):
            raise argparse.ArgumentTypeError(f"must be at most {most or MAX_WHOLE:,}, not {value}")
        return value

    return parse


T = TypeVar("T")


def quantity(parse: Callable[[str], T]) -> Callable[[str], T]:
    """Argument type that uses one of the engine's parsers."""

    def convert(text: str) -> T:
        try:
            return parse(text)
        except engine.BadInput as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return convert


def parse_wait(text: str) -> float:
    """Seconds of a deadline, at most ten years; the same on the command line and in the planner."""
    seconds = engine.parse_seconds(text)
    if seconds > MAX_SECONDS:
        raise engine.BadInput(f"must be at most ten years, not {text!r}")
    return seconds


duration = quantity(parse_wait)
"""Argument type of a deadline."""


def add_sources(parser: argparse.ArgumentParser, *, least: str = "+") -> None:
    parser.add_argument(
        "sources",
        nargs=least,
        metavar="SOURCE",
        help="event logs (files, folders, s3://..., - for stdin), a history server "
        "(http://HOST:18080#app=NAME), profile YAML, run-table CSV, sample names",
    )


def refuse(args: argparse.Namespace, names: Sequence[str], why: str, remedy: str) -> None:
    """Refuse the first of some options that is given although it does not apply."""
    for option in given(args, names)[:1]:
        raise engine.BadInput(why, where=option, remedy=remedy)


def given(args: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """Those of some options that were given.

    Raises:
        AttributeError: for a name that is none of the command's options.
    """
    values = ((name, getattr(args, name)) for name in names)
    return [
        f"--{name.replace('_', '-')}"
        for name, value in values
        if value is not None and value is not False and value != []
    ]


def add_json(parser: argparse.ArgumentParser, *, default: bool | str = False) -> None:
    parser.add_argument(
        "--json", action="store_true", default=default, help="print one JSON object"
    )


def add_origin(parser: argparse.ArgumentParser) -> None:
    sections.section(parser, sections.EVIDENCE).add_argument(
        "--ran-on",
        metavar="TYPE[@CATALOG]",
        help="instance type of the measured nodes, where the evidence names none (few logs do)",
    )


def add_resources(parser: argparse.ArgumentParser) -> None:
    """Add the resource profile of the nodes, for the models that use it."""
    group = sections.section(parser, sections.EVIDENCE)
    group.add_argument(
        "--resources",
        metavar="FILE",
        help="resource profile YAML: throughput of network and disks (simcost)",
    )
    group.add_argument(
        "--stress-log",
        metavar="SOURCE",
        help="log of a shuffle-heavy job on the same nodes, which revises --resources",
    )


def add_model(parser: argparse.ArgumentParser) -> None:
    """Add model and confidence."""
    sections.section(parser, sections.MODEL).add_argument(
        "--model",
        default="sparkplan",
        metavar="NAME",
        help="default sparkplan; see sparkplan models",
    )
    add_confidence(parser)


def add_confidence(parser: argparse.ArgumentParser) -> None:
    """Add the confidence."""
    sections.section(parser, sections.MODEL).add_argument(
        "--confidence",
        type=quantity(engine.parse_confidence),
        default=0.9,
        metavar="P",
        help="of intervals and deadlines (default 90%%)",
    )


def add_cluster(parser: argparse.ArgumentParser) -> None:
    group = sections.section(parser, sections.CLUSTER)
    group.add_argument("--instance", metavar="TYPE", help="instance type of the nodes")
    group.add_argument("--catalog", metavar="NAME|FILE", help=CATALOG_HELP)
    group.add_argument(
        "--executors",
        type=whole(),
        metavar="N",
        help="executors on all nodes together, in place of --nodes",
    )
    group.add_argument(
        "--executor-cores",
        type=whole(),
        metavar="C",
        help="cores of each executor (default: as in the largest run)",
    )
    add_executor_memory(parser)


def add_executor_memory(parser: argparse._ActionsContainer) -> None:
    sections.section(parser, sections.CLUSTER).add_argument(
        "--executor-memory",
        type=quantity(engine.parse_heap_gib),
        metavar="M",
        help="heap of an executor, such as 8g or 8192m; a bare number counts MiB, as in Spark; at "
        "least 450m",
    )


def add_catalog(parser: argparse.ArgumentParser) -> None:
    """Add the price catalog."""
    sections.section(parser, sections.PRICES).add_argument(
        "--catalog",
        metavar="NAME|FILE",
        help=CATALOG_HELP,
    )


def add_terms(parser: argparse.ArgumentParser) -> None:
    """Add the terms of a catalog's prices."""
    group = sections.section(parser, sections.PRICES)
    group.add_argument("--region", metavar="R", help="the region, where a catalog has several")
    group.add_argument(
        "--discount",
        type=quantity(parse_discount),
        metavar="P",
        help="off the instance prices, such as 15%%; 0 for none, whatever the catalog says",
    )
    group.add_argument(
        "--dbu-price",
        type=quantity(parse_dbu),
        metavar="TIER|USD",
        help="price of one DBU (catalog azure-databricks)",
    )
    add_platform(parser)


def add_platform(parser: argparse.ArgumentParser) -> None:
    """Add the platform that runs the executors."""
    sections.section(parser, sections.EXECUTORS).add_argument(
        "--platform",
        metavar="NAME",
        help="what runs the executors: emr, dataproc, databricks, yarn, kubernetes or standalone "
        "(default: the provider's service)",
    )


def catalog_of(
    args: argparse.Namespace, name: str | None = None, *, platform: str | None = None
) -> engine.Catalog:
    """The catalog `name` (default: that of --catalog) on the terms of `add_terms`.

    Args:
        platform: what runs the executors where --platform does not say.
    """
    chosen = name or args.catalog or DEFAULT_CATALOG
    catalog = engine.load_catalog(chosen, region=getattr(args, "region", None))
    terms = catalog.with_terms(
        discount_fraction=getattr(args, "discount", None), dbu=getattr(args, "dbu_price", None)
    )
    planned = engine.on_platform(terms, getattr(args, "platform", None) or platform)
    if getattr(args, "dbu_price", None) is not None and planned.billing.usd_per_dbu is None:
        raise engine.BadInput(
            f"no DBUs are paid on {planned.platform}", where="--dbu-price",
            remedy="leave it out, or plan for Databricks with --platform databricks",
        )  # fmt: skip
    return planned


TERMS = ("region", "discount", "dbu_price", "platform")
"""The options of `add_terms`."""


def given_terms(args: argparse.Namespace) -> list[str]:
    """Those of `TERMS` that were given."""
    return given(args, TERMS)


def add_goal(parser: argparse._ActionsContainer) -> None:
    """Add deadline and budget, and the limits of rented nodes."""
    goal = sections.section(parser, sections.GOAL)
    goal.add_argument(
        "--deadline",
        type=duration,
        metavar="D",
        help="45m, 1h30m; a bare number is seconds; for the job alone, without the start-up of a "
        "cluster",
    )
    goal.add_argument(
        "--budget",
        type=quantity(engine.parse_usd),
        metavar="B",
        help="the most that one run may cost, by its expected cost, in USD",
    )
    rented = sections.section(parser, sections.RENTED)
    rented.add_argument(
        "--max-nodes",
        type=whole(),
        metavar="N",
        help=f"at most N workers (default {DEFAULT_MAX_NODES})",
    )
    rented.add_argument(
        "--instances", metavar="GLOB,...", help="candidate types; '*' lifts the default filter"
    )
    sections.section(parser, sections.PRICES).add_argument(
        "--spot", action="store_true", help="spot prices, where they are known"
    )


def read_profile(args: argparse.Namespace, catalog: engine.Catalog | None = None) -> engine.Profile:
    """The profile of the SOURCE arguments; its types are looked up in `catalog` where it is loaded
    already, else in that of --catalog."""
    resources = resources_of(args)
    pauses = getattr(args, "pauses", None)
    with streams.stderr_progress(args.sources) as progress:
        read = engine.read(
            *args.sources, ran_on=ran_on(args), pause_seconds=pauses, progress=progress
        )
    profile = with_layout_options(args, engine.held_against(read, catalog or lookup_catalog(args)))
    return profile if resources is None else replace(profile, resources=resources)


def with_layout_options(args: argparse.Namespace, profile: engine.Profile) -> engine.Profile:
    """The profile with --overhead-per-core and --fill-nodes applied, where given."""
    gib = getattr(args, "overhead_per_core", None)
    if getattr(args, "fill_nodes", False):
        profile = engine.with_filled_nodes(profile)
    return profile if gib is None else engine.with_overhead_per_core(profile, gib)


def resources_of(args: argparse.Namespace) -> engine.ResourceProfile | None:
    """The resource profile that the arguments name; None for commands without these options."""
    path, stress = getattr(args, "resources", None), getattr(args, "stress_log", None)
    if path is None:
        if stress is not None:
            raise engine.BadInput("--stress-log revises --resources", remedy="add --resources FILE")
        return None
    if args.model not in USE_RESOURCES and not getattr(args, "all_models", False):
        raise engine.BadInput(
            f"--model {args.model} does not use a resource profile",
            where="--resources",
            remedy=f"add --model {' or '.join(USE_RESOURCES)}",
        )
    resources = engine.read_resources(path)
    return resources if stress is None else engine.revise_resources(resources, engine.read(stress))


def ran_on(args: argparse.Namespace) -> engine.InstanceType | None:
    """The type named by --ran-on, with its shape and speed from its catalog."""
    if args.ran_on is None:
        return None
    return engine.named_type(args.ran_on, first=lookup_catalog(args))[1]


def lookup_catalog(args: argparse.Namespace) -> engine.Catalog | str:
    """The catalog in which types are looked up first: that of --catalog, where given."""
    return catalog_of(args) if getattr(args, "catalog", None) else DEFAULT_CATALOG


def globs(text: str | None, *, where: str = "--instances") -> tuple[str, ...] | None:
    """Comma-separated patterns; None when the option was not given."""
    if text is None:
        return None
    patterns = tuple(part.strip() for part in text.split(",") if part.strip())
    if not patterns:
        raise engine.BadInput("names no type", where=where, remedy="write 'm5.*,r5.*'")
    return patterns


def node_range(text: str | None, *, default: str = "1:64") -> list[int]:
    """Node counts from "A:B" or one number N (meaning 1:N)."""
    range_text = text or default
    first, colon, last = range_text.partition(":")
    try:
        low, high = (int(first), int(last)) if colon else (1, int(first))
    except ValueError:
        low, high = 0, 0
    if 1 <= high < low:
        raise engine.BadInput(
            f"the range {range_text!r} runs backwards",
            where="--nodes",
            remedy=f"write the smaller number first: {high}:{low}",
        )
    if not 1 <= low <= high <= MAX_CLUSTER_NODES:
        beyond = f"goes beyond {MAX_CLUSTER_NODES:,} nodes"
        what = beyond if high > MAX_CLUSTER_NODES else "is not a range of nodes"
        raise engine.BadInput(
            f"{range_text!r} {what}", where="--nodes", remedy="write it like 1:64"
        )
    return list(range(low, high + 1))


MAX_CLUSTER_NODES = 10_000
"""Largest cluster; a typing error should not fill the memory."""
