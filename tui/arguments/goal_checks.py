"""Goals and options of a recommendation that do not go together."""

from __future__ import annotations

import argparse

import engine
from tui.arguments import layouts, limits, options


def check_goal(args: argparse.Namespace) -> None:
    """Options that contradict each other are refused before anything is read."""
    if args.max_executors is not None:
        _check_owned(args)
    else:
        _check_rented(args)


def _check_owned(args: argparse.Namespace) -> None:
    """Refuses what says nothing of a cluster that one owns."""
    prices = ("catalog", "budget", "instances", "region", "discount", "dbu_price", "platform")
    options.refuse(args, prices, "a cluster one owns has no prices", "leave it out")
    counted = "a cluster one owns is counted in executors, without prices"
    options.refuse(args, ("spot", "max_nodes"), counted, "leave it out")
    if args.mix != 1:
        raise engine.BadInput(counted, where="--mix", remedy="leave it out")
    if limits.limits_of(args) != engine.Limits():
        raise engine.BadInput(
            "limits are for types of a catalog",
            where="--max-executors",
            remedy="leave out --own, --limit, --max-vcpus, --min-nodes, --max-spot, --arch, "
            "--exclude and --dynamic-allocation",
        )
    layouts.check_as_given(args)
    if args.objective == "cost":
        raise engine.BadInput(
            "a cluster one owns has no prices", where="--objective cost", remedy="leave it out"
        )
    if args.executor_cores is None:
        raise engine.BadInput("--max-executors needs --executor-cores", remedy="add it")


def _check_rented(args: argparse.Namespace) -> None:
    """Refuses what is for a cluster that one owns alone, and a question without a goal."""
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
