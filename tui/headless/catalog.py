"""`sparkplan catalog`: which price catalogs there are, what they hold, whether a file is valid."""

from __future__ import annotations

import argparse
from fnmatch import fnmatchcase

import engine
from tui import format as text
from tui import options
from tui.headless import output


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action", required=True, metavar="list|show|validate", parser_class=type(parser)
    )
    listing = actions.add_parser("list", help="the bundled catalogs")
    options.add_json(listing)
    show = actions.add_parser("show", help="the types of one catalog and their prices")
    show.add_argument("name", metavar="NAME|FILE")
    show.add_argument("--instances", metavar="GLOB,...", help="only these types")
    options.add_json(show)
    validate = actions.add_parser("validate", help="check a catalog file of one's own")
    validate.add_argument("name", metavar="FILE")


def run(args: argparse.Namespace) -> int:
    return {"list": list_all, "show": show, "validate": validate}[args.action](args)


def list_all(args: argparse.Namespace) -> int:
    catalogs = [engine.load_catalog(entry.path) for entry in engine.list_catalogs()]
    if args.json:
        output.print_json({"catalogs": [summary(catalog) for catalog in catalogs]})
    else:
        rows = [
            (c.name, c.region, str(c.date), f"{len(c.offers)} types", c.note or "")
            for c in catalogs
        ]
        print(text.table(rows, right=(3,)))
    return 0


def summary(catalog: engine.Catalog) -> dict[str, object]:
    return {
        "name": catalog.name,
        "provider": catalog.provider,
        "region": catalog.region,
        "currency": catalog.currency,
        "date": str(catalog.date),
        "types": len(catalog.offers),
        "note": catalog.note,
    }


def show(args: argparse.Namespace) -> int:
    catalog = engine.load_catalog(args.name)
    patterns = options.globs(args.instances) or ("*",)
    offers = [
        offer
        for name, offer in sorted(catalog.offers.items())
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not offers:
        raise engine.UnknownName("instance type", args.instances, catalog.offers, where=args.name)
    if args.json:
        offered = [as_dict(offer) for offer in offers]
        output.print_json({**summary(catalog), "instances": offered, "billing": billing(catalog)})
    else:
        print(text.table([HEADER, *map(row, offers)], right=(1, 2, 3, 5)))
    return 0


HEADER = ("type", "vCPUs", "GiB", "USD/h", "since", "spot USD/h", "price source")


def row(offer: engine.Offer) -> tuple[str, ...]:
    shape, price, spot = offer.instance, offer.on_demand, offer.spot
    estimated = " (estimated)" if spot is not None and spot.estimated else ""
    return (
        shape.name,
        f"{shape.vcpus:g}",
        f"{shape.memory_gib:g}",
        f"{price.usd_per_hour:.4g}",
        str(price.date),
        text.UNKNOWN if spot is None else f"{spot.usd_per_hour:.4g}{estimated}",
        price.source,
    )


def as_dict(offer: engine.Offer) -> dict[str, object]:
    shape = offer.instance
    return {
        "instance": shape.name,
        "vcpus": shape.vcpus,
        "memory_gib": shape.memory_gib,
        "arch": shape.arch,
        "cpu_score": shape.cpu_score,
        "emr_supported": shape.emr_supported,
        "price": price_dict(offer.on_demand),
        "spot": price_dict(offer.spot) if offer.spot else None,
        "interruption": offer.interruption,
        "history": [price_dict(price) for price in offer.history],
    }


def price_dict(price: engine.Price) -> dict[str, object]:
    return {
        "usd_per_hour": price.usd_per_hour,
        "date": str(price.date),
        "source": price.source,
        "estimated": price.estimated,
    }


def billing(catalog: engine.Catalog) -> dict[str, object]:
    rules = catalog.billing
    return {
        "granularity_seconds": rules.granularity_seconds,
        "minimum_seconds": rules.minimum_seconds,
        "startup_seconds": rules.startup_seconds,
        "master": rules.master,
        "surcharge_fraction": rules.surcharge_fraction,
        "surcharge_assumed": rules.surcharge_assumed,
        "surcharge_note": rules.surcharge_note,
        "discount_fraction": rules.discount_fraction,
    }


def validate(args: argparse.Namespace) -> int:
    problems = engine.validate_catalog(args.name)
    for problem in problems:
        print(text.shown(str(problem)))
    if problems:
        return 2
    print(f"{text.shown(args.name)}: {len(engine.load_catalog(args.name).offers)} types, valid")
    return 0
