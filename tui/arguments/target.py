"""The cluster that a prediction is asked for, from the command's arguments."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable

import engine
from tui.arguments import options
from tui.arguments.beside_heap import check_laid_out


def cluster_of(
    args: argparse.Namespace, profile: engine.Profile, *, nodes: int | None
) -> engine.Cluster:
    """The cluster asked for: executors, nodes of a type, or that of the profile's largest run."""
    looked_up = ["--catalog"] * (args.catalog is not None) + options.given_terms(args)
    if args.executors is not None:
        if nodes is not None or args.instance is not None:
            raise engine.BadInput(
                "give either nodes (--nodes, --instance) or executors (--executors), not both"
            )
        if looked_up:
            raise engine.BadInput(
                "executors are no instance types: nothing is looked up in a catalog",
                where=" ".join(looked_up),
                remedy="leave it out, or give --nodes N --instance TYPE",
            )
        check_laid_out(args)
        return _of_executors(args, profile)
    if args.executor_cores is not None or args.executor_memory is not None:
        raise engine.BadInput(
            "--executor-cores and --executor-memory need --executors", remedy="add --executors N"
        )
    if nodes is None:
        return _as_run(args, profile, looked_up)
    name = args.instance or _only_type(profile)
    catalog = type_catalog(args, profile, name)
    if catalog is None and options.given_terms(args):
        raise engine.BadInput(
            "no catalog is used",
            where=" ".join(options.given_terms(args)),
            remedy="add --catalog NAME",
        )
    return engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=catalog)


def _as_run(
    args: argparse.Namespace, profile: engine.Profile, looked_up: list[str]
) -> engine.Cluster:
    """The cluster of the profile's largest run, where the command says none.

    Args:
        looked_up: the options that were given of what a type is looked up in.
    """
    largest = profile.largest_run
    if args.instance is None and looked_up:
        said = " ".join(looked_up)
        remedy = "add --nodes N --instance TYPE"
        raise engine.BadInput("no type is looked up", where=said, remedy=remedy)
    if args.instance is not None or largest is None:
        raise engine.BadInput("how many nodes is not said", remedy="add --nodes N")
    check_laid_out(args)
    return largest.cluster


def check_answered(seconds: Iterable[float], cluster: engine.Cluster) -> None:
    """Refuses to answer with no time at all: what a type cannot hold is no prediction.

    Raises:
        BadInput: where no time is known.
    """
    if not all(math.isnan(value) for value in seconds):
        return
    instance = cluster.instance
    if instance is None or cluster.executors is not None:
        raise engine.BadInput("no time is known for this cluster", remedy="name another")
    raise engine.BadInput(
        f"{instance.name} holds no executor ({instance.memory_gib:g} GiB)",
        remedy="name a type with more memory, or plan less beside the heap (--overhead-per-core)",
    )


def type_catalog(
    args: argparse.Namespace, profile: engine.Profile, name: str | None
) -> engine.Catalog | None:
    """The catalog that a type is looked up in; types that the profile knows need none."""
    if args.catalog is not None:
        return options.catalog_of(args)
    origin, _, origin_catalog = (args.ran_on or "").partition("@")
    if name is not None and name == origin:
        found, _ = engine.named_type(args.ran_on, first=options.looked_in(args))
        return options.catalog_of(args, origin_catalog or found.name) if found else None
    if name is None or name in profile.instance_types:
        return None
    return options.catalog_of(args)


def _of_executors(args: argparse.Namespace, profile: engine.Profile) -> engine.Cluster:
    largest = profile.largest_run
    cores = args.executor_cores or (largest.cluster.executor_cores if largest else None)
    if cores is None:
        raise engine.BadInput(
            "how many cores an executor has is not known", remedy="add --executor-cores C"
        )
    return engine.Cluster.of_executors(
        executors=args.executors, executor_cores=cores, executor_memory_gib=args.executor_memory
    )


def _only_type(profile: engine.Profile) -> str | None:
    """The type that --instance may leave out: the only one, or the unnamed nodes of the logs."""
    types = profile.instance_types
    if len(types) > 1:
        raise engine.BadInput(
            "the profile knows several instance types",
            remedy="name one with --instance",
            choices=types,
        )
    return types[0] if types else None
