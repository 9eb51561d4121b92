"""Options for the layout of executors on nodes."""

from __future__ import annotations

import argparse

from tui.arguments import options, sections
from tui.input_text.term_text import parse_overhead

NAMES = ("overhead_per_core", "fill_nodes")


def add_layout(parser: argparse.ArgumentParser) -> None:
    """Add the options for executors on a node and their memory beside the heap."""
    group = sections.section(parser, sections.EXECUTORS)
    group.add_argument(
        "--overhead-per-core",
        type=options.quantity(parse_overhead),
        metavar="SIZE",
        help="memory beside the heap for each core of an executor, such as 512m, at least Spark's "
        "default; 0 for that alone (default: what executors of the logs had)",
    )
    group.add_argument(
        "--fill-nodes",
        action="store_true",
        help="lay executors out on measured types as on others, with a task for each vCPU "
        "(default: as they were measured)",
    )


def check_layout_applies(args: argparse.Namespace) -> None:
    """Refuse the layout options where executors are as given, or as measured.

    Raises:
        BadInput: when no nodes are named that executors are laid out on.
    """
    options.refuse(
        args,
        NAMES,
        "no executors are laid out: they are as given, or as they ran",
        "add --nodes N, or leave it out",
    )


def check_as_given(args: argparse.Namespace) -> None:
    """Refuse options that do not apply to executors with given cores.

    Raises:
        BadInput: when nodes are to be filled.
    """
    why = "executors have the cores that are given: no node is filled with them"
    options.refuse(args, ("fill_nodes",), why, "leave it out")
