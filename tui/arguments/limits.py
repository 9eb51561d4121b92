"""Options for what may be rented, and what is owned."""

from __future__ import annotations

import argparse
from typing import Any

import engine
from tui.arguments import options, sections
from tui.input_text.limit_text import check_owned_master, parse_executors, parse_type_count


def add_limits(parser: argparse._ActionsContainer) -> None:
    """Add the options for what may be rented and what is owned."""
    group = sections.section(parser, sections.RENTED)
    group.add_argument(
        "--own", action="append", default=[], metavar="TYPE=N", help="N nodes that cost nothing"
    )
    group.add_argument(
        "--own-master",
        action="store_true",
        help="with --own: their cluster runs, and its master costs nothing",
    )
    group.add_argument(
        "--limit", action="append", default=[], metavar="GLOB=N",
        help="at most N nodes of these types together",
    )  # fmt: skip
    group.add_argument(
        "--max-vcpus", type=options.whole(), metavar="N", help="quota of vCPUs over all workers"
    )
    group.add_argument("--min-nodes", type=options.whole(), metavar="N", help="at least N workers")
    group.add_argument("--arch", metavar="x86_64|arm64", help="default: that of the measured type")
    sections.section(parser, sections.PRICES).add_argument(
        "--max-spot", metavar="SHARE", type=options.quantity(share),
        help="at most this share of the nodes at spot prices, such as 50%% (implies --spot)",
    )  # fmt: skip
    group.add_argument(
        "--dynamic-allocation", metavar="MIN:MAX", type=options.quantity(parse_executors),
        help="fewest and most executors; no cluster with fewer or more is recommended",
    )  # fmt: skip
    group.add_argument("--exclude", metavar="GLOB,...", help="types that are not rented")


NAMES = (
    "own", "own_master", "limit", "max_vcpus", "min_nodes", "arch", "max_spot",
    "dynamic_allocation", "exclude",
)  # fmt: skip
"""Names of the limit options."""


def limits_of(args: argparse.Namespace) -> engine.Limits:
    """The limits that the arguments state."""
    return engine.Limits(**fields_of(args))


def fields_of(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments by the fields of `engine.Limits`."""
    check_owned_master(args.own_master, args.own, dashes="--")
    return {
        "owned": tuple(parse_type_count(text, "--own") for text in args.own),
        "owned_master": args.own_master,
        "most": tuple(parse_type_count(text, "--limit", least=0) for text in args.limit),
        "max_vcpus": args.max_vcpus,
        "min_nodes": args.min_nodes or 1,
        "arch": args.arch,
        "exclude": options.globs(args.exclude, where="--exclude") or (),
        "max_spot": args.max_spot,
        "executors": args.dynamic_allocation,
    }


def add_spot(parser: argparse.ArgumentParser) -> None:
    """Add the options for spot prices of named nodes."""
    group = sections.section(parser, sections.PRICES)
    group.add_argument("--spot", action="store_true", help="at spot prices")
    group.add_argument(
        "--max-spot", metavar="SHARE", type=options.quantity(share),
        help="only this share of the nodes at spot prices, those that save most first",
    )  # fmt: skip


def share(text: str) -> float:
    """Parse a share of the nodes, 0 and 1 included."""
    return engine.parse_fraction(text, ends=True)


def on_spot(args: argparse.Namespace) -> bool:
    """Whether spot prices are asked for; a share of 0 asks for none."""
    return bool(args.spot if args.max_spot is None else args.max_spot)
