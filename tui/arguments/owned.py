"""The options of clusters that one owns, which have no prices."""

from __future__ import annotations

import argparse

import engine
from tui.arguments import options, sections


def add_owned(parser: argparse.ArgumentParser) -> None:
    """Add the options of owned clusters."""
    owned = sections.section(parser, "a cluster that you own, in place of prices")
    owned.add_argument(
        "--executor-cores",
        type=options.whole(),
        metavar="C",
        help="cores of each executor",
    )
    options.add_executor_memory(owned)
    owned.add_argument(
        "--max-executors",
        type=options.whole(),
        metavar="N",
        help="search up to so many for the least resource time",
    )
    owned.add_argument(
        "--theta",
        type=options.quantity(_not_negative),
        metavar="X",
        help="price of a GiB relative to a vcore (default 1/3)",
    )
    owned.add_argument(
        "--epsilon",
        type=options.whole(),
        metavar="E",
        help="search ranges down to steps of E executors (SimCost) instead of comparing every "
        "number",
    )


def _not_negative(text: str) -> float:
    """Parse a number of at least 0."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0.0 <= value < float("inf"):
        raise engine.BadInput(f"{text!r} is not a number of at least 0")
    return value
