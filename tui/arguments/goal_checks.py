"""Checks for goals and options of a recommendation that contradict each other."""

from __future__ import annotations

import argparse

import engine
from tui.arguments import layouts, limits, options

_OWNED = "with --max-executors the cluster is one's own"


def check_goal(args: argparse.Namespace) -> None:
    """Refuse contradictory options before anything is read."""
    if args.max_executors is not None:
        _check_owned(args)
    else:
        _check_rented(args)


def _check_owned(args: argparse.Namespace) -> None:
    """Refuse options that do not apply to an owned cluster."""
    beside = "leave it out, or --max-executors"
    for names, why in (
        (("catalog", "budget", "instances", *options.TERMS), "there are no prices"),
        (("spot", "max_nodes"), "executors are counted, without nodes and prices"),
        (limits.NAMES, "there are no types to choose from"),
    ):
        options.refuse(args, names, f"{_OWNED}, {why}", beside)
    if args.mix != 1:
        why = f"{_OWNED}, there are no types to mix"
        raise engine.BadInput(why, where="--mix", remedy=beside)
    if getattr(args, "method", None) is not None:
        why = f"{_OWNED}, numbers of executors are searched"
        raise engine.BadInput(why, where="--method", remedy=beside)
    layouts.check_as_given(args)
    if args.objective == "cost":
        raise engine.BadInput(
            "a cluster one owns has no prices", where="--objective cost", remedy="leave it out"
        )
    if args.executor_cores is None:
        raise engine.BadInput("--max-executors needs --executor-cores", remedy="add it")


def _check_rented(args: argparse.Namespace) -> None:
    """Refuse options for owned clusters only, and a question without a goal."""
    options.refuse(
        args,
        ("executor_cores", "executor_memory", "theta", "epsilon"),
        "is for clusters one owns",
        "add --max-executors N, or leave it out",
    )
    if args.deadline is None and args.budget is None and args.objective is None:
        raise engine.BadInput(
            "no goal is given", remedy="add --deadline D, --budget B, or --objective cost"
        )
