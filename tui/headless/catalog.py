"""`sparkplan catalog`: list, show, validate and refresh price catalogs."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from datetime import date, timedelta
from fnmatch import fnmatchcase
from itertools import compress
from pathlib import Path

import engine
from tui import format as text
from tui import streams
from tui.arguments import options
from tui.headless import output

NAMED = 3
"""Types listed as examples behind a count."""


def configure(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(
        dest="action",
        required=True,
        metavar="list|show|validate|refresh",
        parser_class=type(parser),
    )
    listing = actions.add_parser("list", help="the bundled catalogs")
    options.add_json(listing)
    show = actions.add_parser("show", help="the types of one catalog and their prices")
    show.add_argument("name", metavar="NAME|FILE", help="the catalog")
    show.add_argument("--region", metavar="R", help="the region, where there are several")
    show.add_argument("--instances", metavar="GLOB,...", help="only these types")
    options.add_json(show)
    validate = actions.add_parser("validate", help="check a catalog file of your own")
    validate.add_argument("name", metavar="FILE", help="the catalog")
    validate.add_argument("--region", metavar="R", help="the region, where there are several")
    options.add_json(validate)
    configure_refresh(actions.add_parser("refresh", help="a new price file from a price list"))


def configure_refresh(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME|FILE", help="the catalog whose prices are refreshed")
    parser.add_argument(
        "--from",
        dest="files",
        nargs="+",
        required=True,
        type=Path,
        metavar="FILE",
        help="a downloaded price list (AWS offer file of EC2, JSON or CSV, and of EMR, JSON; Azure "
        "Retail Prices, all pages as JSON), or a CSV with name and usd_per_hour; nothing is "
        "downloaded",
    )
    parser.add_argument(
        "-o",
        "--output",
        required=True,
        type=Path,
        metavar="DIR",
        help="where the new catalog is written",
    )
    parser.add_argument("--region", metavar="R", help="the region, where the list has several")
    parser.add_argument(
        "--date", metavar="DAY", help="the day from which the prices hold, such as 2026-07-20"
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    actions = {"list": list_all, "show": show, "validate": validate, "refresh": refresh}
    return actions[args.action](args)


def list_all(args: argparse.Namespace) -> int:
    catalogs = [engine.load_catalog(entry.path) for entry in engine.list_catalogs()]
    if args.json:
        output.print_json({"catalogs": [summary(catalog) for catalog in catalogs]})
    else:
        rows = [
            (c.name, c.region, str(c.date), text.counted(len(c.offers), "type"), c.note or "")
            for c in catalogs
        ]
        print(text.table(rows, right=(3,)))
    return 0


def summary(catalog: engine.Catalog) -> dict[str, object]:
    exchange = catalog.exchange and output.fields_of(catalog.exchange, "usd", "date", "source")
    return {
        **output.fields_of(catalog, "name", "provider", "region", "currency"),
        "exchange": exchange,
        "date": catalog.date,
        "types": len(catalog.offers),
        "note": catalog.note,
    }


def show(args: argparse.Namespace) -> int:
    catalog = engine.load_catalog(args.name, region=args.region)
    patterns = options.globs(args.instances) or ("*",)
    offers = [
        offer
        for name, offer in sorted(catalog.offers.items())
        if any(fnmatchcase(name, pattern) for pattern in patterns)
    ]
    if not offers:
        error = catalog.unknown_glob(args.instances)
        error.elsewhere = "sparkplan catalog show "
        raise error
    if args.json:
        offered = [as_dict(offer) for offer in offers]
        output.print_json({**summary(catalog), "instances": offered, "billing": billing(catalog)})
    else:
        print("\n".join(map(text.escaped, head(catalog))))
        rows = table(offers, catalog.billing)
        print(text.table(rows, right=[i for i, name in enumerate(rows[0]) if name not in LEFT]))
    return 0


def head(catalog: engine.Catalog) -> list[str]:
    """Lines that hold for all types: region, date, billing rules, assumptions."""
    rules, exchange = catalog.billing, catalog.exchange
    rules_text = [
        f"billed by {rules.granularity_seconds:g} s" if rules.granularity_seconds else "exact"
    ]
    rules_text += [f"at least {rules.minimum_seconds:g} s"] if rules.minimum_seconds else []
    rules_text += [f"master {rules.master}"] if rules.master else []
    if rules.discount_fraction:
        rules_text.append(f"discount {100 * rules.discount_fraction:.3g} %")
    types = text.counted(len(catalog.offers), "type")
    lines = [
        f"{catalog.name}: {', '.join(filter(None, [types, catalog.region, str(catalog.date)]))}",
        f"billing: {', '.join(rules_text)}",
    ]
    if exchange is not None:
        rate = f"{exchange.usd:g} USD ({exchange.date}, {exchange.source})"
        lines.append(f"prices converted: 1 {exchange.currency} = {rate}")
    lines += engine.billing_notes(rules)
    rule = catalog.memory_rule
    share = MEMORY.get(rule.kind) or f"{100 * rule.share:g} % of a node's"
    lines.append(f"memory for executors: {share}{f' ({rule.note})' if rule.note else ''}")
    return [*lines, *([catalog.note] if catalog.note else []), ""]


MEMORY = {
    "emr-yarn": "EMR's YARN rule",
    "databricks": "the heap that Databricks gives a node's executors, and its overhead",
    "yarn": "all but 1 GiB of a node's",
    "standalone": "all but 1 GiB of a node's",
    "kubernetes": "what is allocatable on a Kubernetes node",
}
"""Memory rule by its kind."""

HEADER = (
    *("type", "vCPUs", "GiB", "USD/h", "since", "spot USD/h", "DBU/h", "fee USD/h"),
    "price source",
)
LEFT = ("type", "since", "price source")
"""Columns of text."""


def table(offers: list[engine.Offer], rules: engine.Billing) -> list[tuple[str, ...]]:
    """The rows under their header; columns of DBUs and of fees only where a type has some."""
    shown = {
        "DBU/h": any(offer.dbu_per_hour is not None for offer in offers),
        "fee USD/h": any(offer.surcharge is not None for offer in offers),
    }
    kept = [shown.get(column, True) for column in HEADER]
    rows = [HEADER, *(row(offer, rules) for offer in offers)]
    return [tuple(compress(cells, kept)) for cells in rows]


def row(offer: engine.Offer, rules: engine.Billing) -> tuple[str, ...]:
    shape, price, spot, fee = offer.instance, offer.on_demand, offer.spot, offer.surcharge
    return (
        shape.name,
        f"{shape.vcpus:g}",
        f"{shape.memory_gib:g}",
        amount(price),
        str(price.date),
        text.UNKNOWN if spot is None else amount(spot),
        text.UNKNOWN if offer.dbu_per_hour is None else f"{offer.dbu_per_hour:g}",
        f"{100 * rules.surcharge_fraction:.3g} %" if fee is None else amount(fee),
        text.escaped(price.source),
    )


def amount(price: engine.Price) -> str:
    """USD per hour, marked where it is an estimate."""
    return f"{price.usd_per_hour:.4g}{' (estimated)' if price.estimated else ''}"


def as_dict(offer: engine.Offer) -> dict[str, object]:
    return {
        "instance": offer.instance.name,
        **output.fields_of(
            offer.instance, "vcpus", "memory_gib", "arch", "threads_per_core", "cpu_score",
            "cpu_benchmark", "emr_supported",
        ),
        "price": asdict(offer.on_demand),
        "spot": asdict(offer.spot) if offer.spot else None,
        "interruption": offer.interruption,
        "dbu_per_hour": offer.dbu_per_hour,
        "surcharge": asdict(offer.surcharge) if offer.surcharge else None,
        "history": [asdict(price) for price in offer.history],
    }  # fmt: skip


def billing(catalog: engine.Catalog) -> dict[str, object]:
    return {
        **output.fields_of(
            catalog.billing, "granularity_seconds", "minimum_seconds", "startup_seconds",
            "startup_note", "master", "master_note", "surcharge_fraction",
            "surcharge_usd_per_vcpu_hour", "surcharge_assumed", "surcharge_note", "usd_per_dbu",
            "dbu_note",
        ),
        "dbu_tiers": [asdict(tier) for tier in catalog.dbu_tiers.values()],
        "discount_fraction": catalog.billing.discount_fraction,
    }  # fmt: skip


def validate(args: argparse.Namespace) -> int:
    problems = engine.validate_catalog(args.name, region=args.region)
    types = None
    if not problems:
        types = len(engine.load_catalog(args.name, region=args.region).offers)
    if args.json:
        messages = [str(problem) for problem in problems]
        output.print_json({"catalog": args.name, "types": types, "problems": messages})
    elif types is None:
        print("\n".join(text.escaped(str(problem)) for problem in problems))
    else:
        print(f"{text.escaped(args.name)}: {text.counted(types, 'type')}, valid")
    return 2 if problems else 0


def refresh(args: argparse.Namespace) -> int:
    done = engine.refresh_catalog(
        base_of(args.name, args.region),
        args.files,
        args.output,
        region=args.region,
        day=None if args.date is None else day_of(args.date),
    )
    if args.json:
        output.print_json(refreshed_dict(done))
    else:
        print("\n".join(map(text.escaped, in_words(done))))
    for line in warnings_of(done, date.today()):
        streams.say(f"warning: {text.escaped(line)}")
    return 0


def base_of(name: str, region: str | None) -> engine.Catalog:
    """The catalog in that region where it has it, else in its own region: a region may only be new
    in the price list, while shapes and billing are the same."""
    known = [entry.region for entry in engine.list_catalogs() if entry.name == name]
    return engine.load_catalog(name, region=region if region in known else None)


def day_of(spoken: str) -> date:
    try:
        return date.fromisoformat(spoken)
    except ValueError:
        raise engine.BadInput(
            f"{spoken!r} is not a date", where="--date", remedy="write it like 2026-07-20"
        ) from None


def refreshed_dict(done: engine.Refreshed) -> dict[str, object]:
    return {
        "file": str(done.path),
        **output.fields_of(done, "catalog", "region"),
        "date": done.day,
        **output.fields_of(done, "types", "compared"),
        "changed": len(done.changes),
        "median_change": done.median_change,
        "changes": [asdict(change) for change in done.changes],
        "added": list(done.added),
        "gone": list(done.gone),
        "left_out_without_shape": list(done.shapeless),
        "left_out_ambiguous": list(done.ambiguous),
        **output.fields_of(done, "kept_spot", "newer"),
        "surcharges": done.surcharges,
        "left_out_spot": list(done.outdated_spot),
    }


def in_words(done: engine.Refreshed) -> list[str]:
    """What was written, how many prices changed, and by how much."""
    lines = [f"{done.path}: {text.counted(done.types, 'type')}, {done.region}, {done.day}"]
    if not done.compared:
        lines.append(f"no earlier prices of {done.region} to compare with")
    elif not done.changes:
        lines.append(f"none of {done.compared:,} prices changed")
    else:
        largest_drop = min(done.changes, key=lambda change: change.relative)
        largest_rise = max(done.changes, key=lambda change: change.relative)
        lines.append(
            f"{len(done.changes):,} of {done.compared:,} prices changed: "
            f"median {100 * (done.median_change or 0.0):+.1f} %, "
            f"from {100 * largest_drop.relative:+.1f} % ({largest_drop.instance}) "
            f"to {100 * largest_rise.relative:+.1f} % ({largest_rise.instance})"
        )
    if done.added:
        lines.append(f"new: {counted(done.added)}")
    if done.gone:
        lines.append(f"not in the list: {counted(done.gone)}")
    if done.surcharges:
        lines.append(f"EMR's fee from the list: {text.counted(done.surcharges, 'type')}")
    if done.kept_spot:
        lines.append(f"{text.counted(done.kept_spot, 'spot price')} kept, each with its own date")
    return lines


def warnings_of(done: engine.Refreshed, today: date) -> Iterator[str]:
    """Warnings of prices older than those of the catalog, of prices dated in the future (tomorrow
    is accepted, for other time zones), and of types that are left out."""
    if done.newer is not None:
        yield (
            f"prices of {done.day} are older than those of {done.catalog} ({done.newer}), which "
            "are not in the new file; if that is not meant, give --date"
        )
    if done.day > today + timedelta(days=1):
        yield (
            f"prices are dated {done.day}, in the future (today is {today}): nothing calls them "
            "old until long after it; if that is not meant, give --date"
        )
    if done.shapeless:
        yield f"left out, vCPUs and memory (or DBUs) not known: {counted(done.shapeless)}"
    if done.ambiguous:
        yield f"prices left out, several different ones: {counted(done.ambiguous)}"
    if done.outdated_spot:
        yield (
            "spot price left out, above the new on-demand price, and none in the list: "
            f"{counted(done.outdated_spot)}"
        )


def counted(names: tuple[str, ...]) -> str:
    """ "12 types (a, b, c, ...)"."""
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"{text.counted(len(names), 'type')} ({listed})"
