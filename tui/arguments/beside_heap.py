"""The option that says how much memory executors get beside their heap."""

from __future__ import annotations

import argparse

import engine
from tui.arguments import options
from tui.words.term_words import parse_overhead

OPTION = "--overhead-per-core"


def add_overhead(parser: argparse.ArgumentParser) -> None:
    """How much executors get beside their heap, on nodes that they are laid out on."""
    parser.add_argument(
        OPTION,
        type=options.quantity(parse_overhead),
        metavar="SIZE",
        help="memory beside the heap for each core of an executor, such as 512m, at least Spark's "
        "default; 0 for that alone (default: what executors of the logs had)",
    )


def check_laid_out(args: argparse.Namespace) -> None:
    """Refuses the option where executors are as given, or as they ran.

    Raises:
        BadInput: when no nodes are named that executors are laid out on.
    """
    if getattr(args, "overhead_per_core", None) is not None:
        raise engine.BadInput(
            "no executors are laid out: they are as given, or as they ran",
            where=OPTION,
            remedy="add --nodes N, or leave it out",
        )
