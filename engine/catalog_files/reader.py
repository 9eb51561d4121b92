"""Loads and validates catalogs: the bundled ones by name, a user's own by path (docs/catalogs.md).

Shapes and prices are in separate files: a price file names its shapes file, and the two are joined
here into `Offer`s. A user's own file may contain both. Errors name file and line.
Types are looked up here by name, in one catalog or in all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

from engine.catalog import UNNAMED_PROVIDER, Catalog, InstanceType, Offer
from engine.catalog_files.index import (
    OTHER_REGIONS,
    bundled_folder,
    catalog_path,
    list_catalogs,
    modification_times,
)
from engine.catalog_files.prices import (
    AMOUNT_COLUMNS,
    PRICE_COLUMNS,
    history_of,
    offer_of,
    prices_usd,
    surcharges_of,
)
from engine.catalog_files.rules import (
    Dbus,
    FileDefaults,
    billing_of,
    dbus_of,
    file_defaults_of,
    memory_rule_of,
)
from engine.catalog_files.shapes import SHAPE_COLUMNS, add_once, named_shapes, shape_of, shapes_in
from engine.errors import BadInput, UnknownName, UnknownType
from engine.text.cells import collecting_errors, one_line, typed_table, yes_or_no
from engine.text.located_yaml import Convert, Section, read_yaml

_OFFER_COLUMNS: Mapping[str, Convert[Any]] = {
    "name": one_line,
    **SHAPE_COLUMNS,
    **AMOUNT_COLUMNS,
    **PRICE_COLUMNS,
}
_PRICE_FILE_KEYS = (
    "catalog", "provider", "region", "currency", "exchange", "shapes", "cpu_benchmark", "date",
    "source", "spot", "billing", "surcharges", "dbu", "dbu_tiers", "memory_rule", "managed_only",
    "filtered_by_default", "historic", "note", "instances", "history",
)  # fmt: skip


def load_catalog(name_or_path: str | Path, *, region: str | None = None) -> Catalog:
    """A bundled catalog by name ("aws", "azure"), the catalog in a YAML file, or that of one
    region in a folder of price files.

    Args:
        region: which one, where there are price files of several; with a file, what it must be.

    Raises:
        UnknownName: when it is neither a bundled name nor a file, or has no such region.
        BadInput: for the first error in the file, with its line, and where there are several
            regions and none is named.
    """
    path = catalog_path(str(name_or_path), region)
    is_bundled = path.parent == bundled_folder()
    catalog, problems = (
        _bundled(path, modification_times(path.parent)) if is_bundled else _load(path)
    )
    if problems:
        raise problems[0]
    assert catalog is not None
    if region is not None and catalog.region != region:
        known, where = [catalog.region], str(name_or_path)
        raise UnknownName("region", region, known, where=where, remedy=OTHER_REGIONS, alike=True)
    return catalog


def validate_catalog(
    name_or_path: str | Path, *, region: str | None = None
) -> tuple[BadInput, ...]:
    """All errors in a catalog file, row by row; empty when it is valid.

    Raises:
        BadInput: when there is no such file.
    """
    path = catalog_path(str(name_or_path), region)
    if not path.is_file():
        raise BadInput("no such file", where=str(path), remedy="check the path")
    return tuple(_load(path)[1])


def type_in(name: str, where: str) -> tuple[Catalog | None, InstanceType]:
    """A type of a catalog given by name or file, which may be a file of shapes without prices.

    Raises:
        UnknownName: with close matches, when it does not have the type.
        BadInput: for the first error in the file.
    """
    path = catalog_path(where)
    top = read_yaml(path)
    if "shapes_of" not in top.entries:
        catalog = load_catalog(path)
        try:
            return catalog, catalog.offer(name).instance
        except UnknownType as error:
            error.elsewhere = f"{name}@"
            raise
    problems: list[BadInput] = []
    shapes = shapes_in(top, problems)
    if problems:
        raise problems[0]
    if name not in shapes:
        raise UnknownName("instance type", name, shapes, where=where)
    return None, shapes[name]


@lru_cache(maxsize=8)  # More than are bundled.
def _bundled(
    path: Path, modified: Sequence[tuple[str, int]]
) -> tuple[Catalog | None, list[BadInput]]:
    """`_load`, once for a bundled catalog until a file in its folder is modified: one command asks
    several times where a type is sold, each time of all catalogs."""
    return _load(path)


def _load(path: Path) -> tuple[Catalog | None, list[BadInput]]:
    """The catalog of a file, or None, and its errors."""
    problems: list[BadInput] = []
    try:
        top = read_yaml(path)
        if "shapes_of" in top.entries:
            raise BadInput(
                "holds shapes without prices",
                where=str(path),
                remedy="it serves --ran-on TYPE@FILE, or a price file that says 'shapes:'",
            )
        top.check_keys(_PRICE_FILE_KEYS)
        shapes = named_shapes(top, problems)
        defaults, dbus = file_defaults_of(top), dbus_of(top, problems)
        offers = _offers(top, shapes, defaults, dbus, problems)
        catalog = _catalog(top, offers, defaults, dbus) if not problems else None
    except BadInput as error:
        return None, [*problems, error]
    return catalog, problems


def _catalog(
    top: Section, offers: Mapping[str, Offer], defaults: FileDefaults, dbus: Dbus | None
) -> Catalog:
    billing = billing_of(top, offers, dbus)
    if not billing.surcharge_fraction and any(offer.surcharge for offer in offers.values()):
        raise BadInput(
            "surcharges without surcharge_fraction",
            where=top.where_of("surcharges"),
            remedy="say in 'billing' which share of the price the other types pay",
        )
    return Catalog(
        name=top.get("catalog", one_line) or top.path.name.split(".")[0],
        provider=top.get("provider", one_line) or UNNAMED_PROVIDER,
        region=top.get("region", one_line) or "",
        currency=defaults.exchange.currency if defaults.exchange else "USD",
        date=defaults.day or max(offer.on_demand.date for offer in offers.values()),
        offers=offers,
        billing=billing,
        memory_rule=memory_rule_of(top),
        managed_only=_flag(top, "managed_only", default=False),
        filtered_by_default=_flag(top, "filtered_by_default", default=True),
        historic=_flag(top, "historic", default=False),
        note=top.get("note", str),
        exchange=defaults.exchange,
        dbu_tiers=dbus.tiers if dbus else {},
    )


def _flag(section: Section, key: str, *, default: bool) -> bool:
    value = section.get(key, yes_or_no)
    return default if value is None else value


def _offers(
    top: Section,
    shapes: Mapping[str, InstanceType],
    defaults: FileDefaults,
    dbus: Dbus | None,
    problems: list[BadInput],
) -> Mapping[str, Offer]:
    history = history_of(top, defaults, problems)
    surcharges = surcharges_of(top, defaults, problems)
    table = typed_table(top, "instances", _OFFER_COLUMNS, problems)
    benchmark = top.get("cpu_benchmark", str)
    offers: dict[str, Offer] = {}
    shape_cells, price_cells = table.rows(SHAPE_COLUMNS), table.rows(PRICE_COLUMNS)
    rows = zip(
        table.lines,
        table.names,
        shape_cells,
        prices_usd(top, table, defaults),
        price_cells,
        strict=True,
    )
    for line, name, shape, usd, price in rows:
        with collecting_errors(top, line, problems):
            instance = shape_of(name, shape, shapes, benchmark)
            offer = offer_of(
                instance, usd, price, defaults, history.get(name, ()), surcharges.get(name)
            )
            if dbus is not None and offer.dbu_per_hour is None:
                raise BadInput(f"{name}: dbu_per_hour is missing")
            if dbus is None and offer.dbu_per_hour is not None:
                remedy = "say 'dbu: {tier: ...}' and dbu_tiers, or leave it out"
                raise BadInput(f"{name}: dbu_per_hour without dbu", remedy=remedy)
            add_once(offers, name, offer)
    if not offers and not problems:
        raise BadInput("no instance types", where=str(top.path), remedy="add a list 'instances'")
    for key, names in (("history", history), ("surcharges", surcharges)):
        for name in names:
            if name not in offers and not problems:
                raise UnknownName("instance type", name, offers, where=top.where_of(key))
    return offers


def named_type(text: str, *, first: Catalog | str) -> tuple[Catalog | None, InstanceType]:
    """The type of TYPE or TYPE@CATALOG, and its catalog (None for a file of shapes without prices).
    Without @CATALOG the catalog `first` is searched, then all bundled ones.

    Raises:
        UnknownName: when no catalog, or not the named one, has the type.
        BadInput: for an empty name of either, and the first error in the catalog file.
    """
    name, at, where = text.partition("@")
    if at and not (name and where):
        missing = "catalog" if name else "type"
        raise BadInput(f"{text!r} names no {missing}", remedy="write TYPE@CATALOG, or TYPE")
    return type_in(name, where) if where else find_type(name, first=first)


def find_type(name: str, *, first: Catalog | str) -> tuple[Catalog, InstanceType]:
    """A type by name, from the catalog `first`, else from the bundled ones.

    Raises:
        UnknownName: when no catalog has it, with the close matches of all.
    """
    first_catalog = first if isinstance(first, Catalog) else load_catalog(first)
    searched: dict[str, Catalog] = {}
    for catalog in chain(
        [first_catalog], map(load_catalog, (entry.path for entry in list_catalogs()))
    ):
        if name in catalog.offers:
            return catalog, catalog.offers[name].instance
        searched.setdefault(catalog.name, catalog)
    known = {offered for catalog in searched.values() for offered in catalog.offers}
    raise UnknownName(
        "instance type",
        name,
        known,
        where=f"catalogs {', '.join(searched)}",
        remedy="`sparkplan catalog show NAME` lists the types of a catalog",
    )
