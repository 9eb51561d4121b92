"""The cluster of a prediction, from the command's arguments."""

from __future__ import annotations

import argparse
from dataclasses import replace

import engine
from tui.arguments import options, prices
from tui.arguments.layouts import check_layout_applies


def cluster_of(
    args: argparse.Namespace, profile: engine.Profile, *, nodes: int | None
) -> engine.Cluster:
    """The cluster asked for: executors, nodes of a type (by default as many as the profile's
    largest run had), or that of the largest run."""
    catalog_options = ["--catalog"] * (args.catalog is not None) + options.given_terms(args)
    if args.executors is not None:
        if nodes is not None or args.instance is not None:
            raise engine.BadInput(
                "give either nodes (--nodes, --instance) or executors (--executors), not both"
            )
        if catalog_options:
            raise engine.BadInput(
                "executors are no instance types: nothing is looked up in a catalog",
                where=" ".join(catalog_options),
                remedy="leave it out, or give --nodes N --instance TYPE",
            )
        check_layout_applies(args)
        return _of_executors(args, profile)
    if args.executor_cores is not None or args.executor_memory is not None:
        raise engine.BadInput(
            "--executor-cores and --executor-memory need --executors", remedy="add --executors N"
        )
    if nodes is None and args.instance is None:
        return _as_run(args, profile, catalog_options)
    nodes = _nodes_of_largest_run(profile) if nodes is None else nodes
    name = args.instance or _only_type(profile)
    catalog = type_catalog(args, profile, name)
    _check_used(args, catalog)
    return engine.Cluster.of_nodes(instance_type=name, nodes=nodes, catalog=catalog)


def names_nodes(args: argparse.Namespace) -> bool:
    """Whether the command names nodes, by their number or their type."""
    return args.nodes is not None or args.instance is not None


def _check_used(args: argparse.Namespace, catalog: engine.Catalog | None) -> None:
    """Refuse terms of a catalog where none is used."""
    if catalog is None and options.given_terms(args):
        raise engine.BadInput(
            "no catalog is used",
            where=" ".join(options.given_terms(args)),
            remedy="add --catalog NAME",
        )


def at_prices_of(
    cluster: engine.Cluster, args: argparse.Namespace, profile: engine.Profile
) -> engine.Cluster:
    """The cluster, measured or asked for, with the catalog that has its type's price; unchanged
    where there is none.

    Raises:
        UnknownName: where the catalog that is named has no such type.
        BadInput: for terms of a catalog where none is used.
    """
    if cluster.catalog is not None or cluster.instance is None:
        return cluster
    catalog = type_catalog(args, profile, cluster.instance.name)
    _check_used(args, catalog)
    if catalog is None:
        return cluster
    if args.catalog is None and cluster.instance.name not in catalog.offers:
        return cluster
    listed = catalog.offer(cluster.instance.name).on_demand.usd_per_hour
    groups = (replace(cluster.groups[0], price_usd_per_hour=listed),)
    return replace(cluster, groups=groups, catalog=catalog)


NO_PRICES = "these nodes have no prices of a catalog"
NO_SPOT = "only nodes of a catalog that are named can be spot nodes"
ADD_TYPE = "add --nodes N --instance TYPE, or leave it out"
ADD_CATALOG = "add --catalog NAME, or leave it out"


def check_on_demand(args: argparse.Namespace, why: str = NO_SPOT, *, remedy: str) -> None:
    """Refuse spot nodes where no catalog has their price, or no nodes are named."""
    if given := options.given(args, ("spot", "max_spot")):
        raise engine.BadInput(why, where=" ".join(given), remedy=remedy)


def check_unpriced(args: argparse.Namespace, why: str = NO_PRICES, *, remedy: str) -> None:
    """Refuse terms of prices where no cost is computed."""
    if given := options.given(args, ("discount", "dbu_price")):
        raise engine.BadInput(why, where=" ".join(given), remedy=remedy)


def priced_cluster(
    args: argparse.Namespace, cluster: engine.Cluster, profile: engine.Profile, *, remedy: str
) -> engine.Cluster:
    """A cluster with the catalog that has its price (`at_prices_of`).

    Raises:
        BadInput: for options of prices where there is none.
    """
    if cluster.catalog is None:
        check_on_demand(args, remedy=remedy)
    paid = at_prices_of(cluster, args, profile)
    if paid.catalog is None:
        check_unpriced(args, remedy=remedy)
    return paid


def _as_run(
    args: argparse.Namespace, profile: engine.Profile, looked_up: list[str]
) -> engine.Cluster:
    """The cluster of the profile's largest run, where the command names none; of pods on nodes of a
    named type their executors alone, since so many nodes would cost a multiple.

    Args:
        looked_up: the options that were given of what a type is looked up in.
    """
    largest = profile.largest_run
    if largest is None:
        raise engine.BadInput("how many nodes is not said", remedy="add --nodes N")
    if looked_up and largest.cluster.instance is None:
        raise engine.BadInput(
            "no type is looked up",
            where=" ".join(looked_up),
            remedy="add --nodes N --instance TYPE, or --ran-on TYPE",
        )
    check_layout_applies(args)
    if largest.counts_pods and largest.cluster.instance is not None:
        if largest.cluster.slots is None:
            raise engine.BadInput(
                "how many cores the pods had is not known", remedy="add --nodes N --instance TYPE"
            )
        return replace(largest.cluster, groups=())  # how many nodes they took is not known
    return largest.cluster


def _nodes_of_largest_run(profile: engine.Profile) -> int:
    """How many nodes the profile's largest run had.

    Raises:
        BadInput: where no run says it; the pods of Kubernetes are no nodes.
    """
    largest = profile.largest_run
    if largest is None or largest.counts_pods or largest.cluster.nodes is None:
        raise engine.BadInput("how many nodes is not said", remedy="add --nodes N")
    return largest.cluster.nodes


def type_catalog(
    args: argparse.Namespace, profile: engine.Profile, name: str | None
) -> engine.Catalog | None:
    """The catalog in which a type is looked up: that of --catalog, or of --ran-on, or of where
    it ran. None for nodes of the profile whose price is in a run table, and for types of no
    catalog."""
    if args.catalog is not None:
        return prices.catalog_for(args, profile)[0]
    if name is None:
        return None
    origin, _, origin_catalog = (args.ran_on or "").partition("@")
    if name == origin and origin_catalog:
        known_type, _ = engine.named_type(args.ran_on, first=options.lookup_catalog(args))
        where = prices.where_it_ran(args, profile, candidates=(name,))
        platform = where.platform if where.catalog == origin_catalog else None
        if known_type is None:
            return None
        catalog = options.catalog_of(args, origin_catalog, platform=platform)
        return engine.noting_missing_dbus(catalog, profile)
    if name == origin:
        return _catalog_with_price(args, profile, name)
    if name in profile.instance_types:
        priced = engine.observed_price(profile, name) is not None
        return None if priced else _catalog_with_price(args, profile, name)
    return prices.catalog_for(args, profile, candidates=(name,))[0]


def _catalog_with_price(
    args: argparse.Namespace, profile: engine.Profile, name: str
) -> engine.Catalog | None:
    """The catalog with the price of a measured type: that of where it ran, else the one that
    `--ran-on` finds, even a historic one."""
    catalog, _ = prices.catalog_for(args, profile, candidates=(name,))
    if name in catalog.offers:
        return catalog
    try:
        catalog_of_type, _ = engine.find_type(name, first=options.lookup_catalog(args))
    except engine.UnknownName:
        return None
    return engine.noting_missing_dbus(options.catalog_of(args, catalog_of_type.name), profile)


def with_price_notice(
    args: argparse.Namespace, profile: engine.Profile, cluster: engine.Cluster
) -> engine.Profile:
    """The profile with notices on the prices of a cluster: where they come from if the user named
    no catalog, and whether they are of another service."""
    catalog = cluster.catalog
    if catalog is None:
        return profile
    origin = None
    if args.catalog is None:
        where = prices.where_it_ran(args, profile, candidates=tuple(cluster.composition))
        origin = where.notice if where.catalog == catalog.name else None
    return prices.with_notices(
        profile, origin, prices.another_service_notice(args, catalog, profile)
    )


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
    """The type where --instance is left out: the only one, or the unnamed nodes of the logs."""
    types = profile.instance_types
    if len(types) > 1:
        raise engine.BadInput(
            "the profile knows several instance types",
            remedy="name one with --instance",
            choices=types,
        )
    return types[0] if types else None
