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
    if args.catalog is not None or args.budget is not None or args.instances is not None:
        raise engine.BadInput(
            "a cluster one owns has no prices",
            where="--max-executors",
            remedy="leave out --catalog, --budget and --instances",
        )
    if terms := options.given_terms(args):
        raise engine.BadInput(
            "a cluster one owns has no prices", where=" ".join(terms), remedy="leave it out"
        )
    if args.spot or args.max_nodes is not None or args.mix != 1:
        raise engine.BadInput(
            "a cluster one owns is counted in executors, without prices",
            where="--max-executors",
            remedy="leave out --spot, --max-nodes and --mix",
        )
    if limits.limits_of(args) != engine.Limits():
        raise engine.BadInput(
            "limits are for types of a catalog",
            where="--max-executors",
            remedy="leave out --own, --limit, --max-vcpus, --min-nodes, --max-spot, --arch "
            "and --exclude",
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
    if args.executor_cores is not None or args.executor_memory is not None:
        raise engine.BadInput(
            "--executor-cores and --executor-memory are for clusters one owns",
            remedy="add --max-executors N, or leave them out",
        )
    if any(value is not None for value in (args.theta, args.epsilon)):
        raise engine.BadInput(
            "--theta and --epsilon are for clusters one owns",
            remedy="add --max-executors N, or leave them out",
        )
    if args.deadline is None and args.budget is None and args.objective is None:
        raise engine.BadInput(
            "no goal is given", remedy="add --deadline D, --budget B, or --objective cost"
        )
