"""The options that say what may be rented, and what is paid for already."""

from __future__ import annotations

import argparse
from typing import Any

import engine
from tui.arguments import options


def add_limits(parser: argparse.ArgumentParser) -> None:
    """What may be rented, and what is paid for already."""
    parser.add_argument(
        "--own", action="append", default=[], metavar="TYPE=N", help="N nodes that cost nothing"
    )
    parser.add_argument(
        "--limit", action="append", default=[], metavar="GLOB=N",
        help="at most N nodes of these types together",
    )  # fmt: skip
    parser.add_argument(
        "--max-vcpus", type=options.whole(), metavar="N", help="quota of vCPUs over all workers"
    )
    parser.add_argument("--min-nodes", type=options.whole(), metavar="N", help="at least N workers")
    parser.add_argument("--arch", metavar="x86_64|arm64", help="default: that of the measured type")
    parser.add_argument(
        "--max-spot", metavar="SHARE", type=options.quantity(share),
        help="at most this share of the nodes at spot prices, such as 50%% (implies --spot)",
    )  # fmt: skip
    parser.add_argument(
        "--dynamic-allocation", metavar="MIN:MAX", type=options.quantity(executors),
        help="fewest and most executors; no cluster with fewer or more is recommended",
    )  # fmt: skip
    parser.add_argument("--exclude", metavar="GLOB,...", help="types that are not rented")


def limits_of(args: argparse.Namespace) -> engine.Limits:
    """The limits that the arguments state."""
    return engine.Limits(**fields_of(args))


def fields_of(args: argparse.Namespace) -> dict[str, Any]:
    """The arguments by the fields of `engine.Limits`."""
    return {
        "owned": tuple(counted(text, "--own") for text in args.own),
        "most": tuple(counted(text, "--limit", least=0) for text in args.limit),
        "max_vcpus": args.max_vcpus,
        "min_nodes": args.min_nodes or 1,
        "arch": args.arch,
        "exclude": options.globs(args.exclude) or (),
        "max_spot": args.max_spot,
        "executors": args.dynamic_allocation,
    }


def share(text: str) -> float:
    """A converter to a share of the nodes, none and all of them included."""
    return engine.parse_fraction(text, ends=True)


def executors(text: str) -> tuple[int, int]:
    """ "2:40" as the bounds of dynamic allocation."""
    ends = [part.strip() for part in text.split(":")]
    whole = len(ends) == 2 and all(end.isascii() and end.isdigit() for end in ends)
    fewest, most = map(int, ends) if whole else (0, 0)
    if not fewest <= most >= 1:
        raise engine.BadInput(
            f"{text!r} is no range of executors",
            remedy="write MIN:MAX, like 2:40: MAX is at least 1 and at least MIN",
        )
    return fewest, most


def on_spot(args: argparse.Namespace) -> bool:
    """Whether spot prices are asked for."""
    return bool(args.spot or args.max_spot is not None)


def counted(text: str, option: str, *, least: int = 1) -> tuple[str, int]:
    """ "m5.xlarge=10" as a type (or glob) and a number of nodes."""
    name, equals, number = (part.strip() for part in text.partition("="))
    if not name or not equals or not number.isascii() or not number.isdigit():
        raise engine.BadInput(
            f"{text!r} is not TYPE=N", where=option, remedy=f"write {option} m5.xlarge=10"
        )
    if int(number) < least:
        raise engine.BadInput(
            f"{text!r} has too few nodes",
            where=option,
            remedy=f"give at least {least}, or leave {name} out",
        )
    return name, int(number)
