"""Loads and validates catalogs: the bundled ones by name, a user's own by path (docs/catalogs.md).

Shapes and prices are in separate files: a price file names its shapes file, and the two are joined
here into `Offer`s. A user's own file may contain both. Errors name file and line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Any

from engine.catalog import Catalog, InstanceType, Offer, Price
from engine.catalog_files.index import (
    OTHER_REGIONS,
    bundled_folder,
    catalog_path,
    modification_times,
)
from engine.catalog_files.rules import (
    POSITIVE,
    Dbus,
    FileDefaults,
    billing_of,
    dbus_of,
    file_defaults_of,
    memory_rule_of,
    price_column,
)
from engine.catalog_files.shapes import SHAPE_COLUMNS, add_once, named_shapes, shape_of, shapes_in
from engine.errors import BadInput, UnknownName
from engine.text.cells import (
    TypedTable,
    collecting_errors,
    iso_date,
    one_line,
    typed_table,
    yes_or_no,
)
from engine.text.located_yaml import Convert, Section, read_yaml

_PRICE_COLUMNS: Mapping[str, Convert[Any]] = {
    "date": iso_date,
    "source": str,
    "estimated": yes_or_no,
    "spot_date": iso_date,
    "spot_source": str,
    "spot_estimated": yes_or_no,
    "interruption": str,
    "dbu_per_hour": POSITIVE,
}
_AMOUNT_COLUMNS: Mapping[str, Convert[Any]] = {
    "usd_per_hour": POSITIVE,
    "price_per_hour": POSITIVE,
    "spot_usd_per_hour": POSITIVE,
    "spot_price_per_hour": POSITIVE,
}
"""Columns with money, in USD or in the currency of the file (see `price_column`)."""
_OFFER_COLUMNS: Mapping[str, Convert[Any]] = {
    "name": one_line,
    **SHAPE_COLUMNS,
    **_AMOUNT_COLUMNS,
    **_PRICE_COLUMNS,
}
_HISTORY_COLUMNS: Mapping[str, Convert[Any]] = {
    "name": one_line,
    "usd_per_hour": POSITIVE,
    "price_per_hour": POSITIVE,
    "date": iso_date,
    "source": str,
}

_PRICE_FILE_KEYS = (
    "catalog", "provider", "region", "currency", "exchange", "shapes", "cpu_benchmark", "date",
    "source", "spot", "billing", "dbu", "dbu_tiers", "memory_rule", "managed_only",
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
        return catalog, catalog.offer(name).instance
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
    return Catalog(
        name=top.get("catalog", one_line) or top.path.name.split(".")[0],
        provider=top.get("provider", one_line) or "other",
        region=top.get("region", one_line) or "",
        currency=defaults.exchange.currency if defaults.exchange else "USD",
        date=defaults.day or max(offer.on_demand.date for offer in offers.values()),
        offers=offers,
        billing=billing_of(top, offers, dbus),
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
    history = _history(top, defaults, problems)
    table = typed_table(top, "instances", _OFFER_COLUMNS, problems)
    benchmark = top.get("cpu_benchmark", str)
    offers: dict[str, Offer] = {}
    shape_cells, price_cells = table.rows(SHAPE_COLUMNS), table.rows(_PRICE_COLUMNS)
    rows = zip(
        table.lines,
        table.names,
        shape_cells,
        _prices_usd(top, table, defaults),
        price_cells,
        strict=True,
    )
    for line, name, shape, usd, price in rows:
        with collecting_errors(top, line, problems):
            instance = shape_of(name, shape, shapes, benchmark)
            offer = _offer(instance, usd, price, defaults, history.get(name, ()))
            if dbus is not None and offer.dbu_per_hour is None:
                raise BadInput(f"{name}: dbu_per_hour is missing")
            if dbus is None and offer.dbu_per_hour is not None:
                remedy = "say 'dbu: {tier: ...}' and dbu_tiers, or leave it out"
                raise BadInput(f"{name}: dbu_per_hour without dbu", remedy=remedy)
            add_once(offers, name, offer)
    if not offers and not problems:
        raise BadInput("no instance types", where=str(top.path), remedy="add a list 'instances'")
    for name in history:
        if name not in offers and not problems:
            where = top.where_of("history")
            raise UnknownName("instance type", name, offers, where=where)
    return offers


def _prices_usd(
    top: Section, table: TypedTable, defaults: FileDefaults, key: str = "instances"
) -> Iterable[tuple[float | None, float | None]]:
    """On-demand and spot price of each row in USD, whatever the currency of the file."""
    try:
        columns = [
            price_column(table.values, plain, defaults.exchange)
            for plain in ("usd_per_hour", "spot_usd_per_hour")
        ]
    except BadInput as error:
        where = top.where_of(key)
        raise BadInput(error.what, where=where, remedy=error.remedy) from None
    if defaults.exchange is None:
        return table.rows(columns)
    rate = defaults.exchange.usd
    return [(paid and paid * rate, spot and spot * rate) for paid, spot in table.rows(columns)]


def _offer(
    instance: InstanceType,
    usd: tuple[float | None, float | None],
    price: Sequence[Any],
    defaults: FileDefaults,
    history: tuple[Price, ...],
) -> Offer:
    """An offer from its prices in USD and the cells of `_PRICE_COLUMNS`."""
    day, source, inferred, spot_day, spot_source, estimated, interruption, dbus = price
    on_demand = _price(
        usd[0], day or defaults.day, source or defaults.source, defaults, estimated=bool(inferred)
    )
    spot = None
    if usd[1] is not None:
        spot = _price(
            usd[1],
            spot_day or defaults.spot_day,
            spot_source or defaults.spot_source,
            defaults,
            estimated=defaults.spot_estimated if estimated is None else estimated,
        )
    return Offer(instance, on_demand, spot, interruption, history, dbus)


def _price(
    usd: float | None,
    day: date | None,
    source: str | None,
    defaults: FileDefaults,
    *,
    estimated: bool,
) -> Price:
    if usd is None or day is None or source is None:
        amount = "usd_per_hour" if defaults.exchange is None else "price_per_hour"
        column = amount if usd is None else "date" if day is None else "source"
        remedy = f"say '{column}:' once for the file"
        if usd is None:
            remedy = "give the type one, or leave the type out"
        raise BadInput(f"a price without {column}", remedy=remedy)
    return Price(usd, day, source, estimated)


def _history(
    top: Section, defaults: FileDefaults, problems: list[BadInput]
) -> Mapping[str, tuple[Price, ...]]:
    """Earlier prices per type, oldest first."""
    table = typed_table(top, "history", _HISTORY_COLUMNS, problems)
    prices_of_type: dict[str, dict[date, Price]] = {}
    cells = zip(
        _prices_usd(top, table, defaults, "history"), table.rows(("date", "source")), strict=True
    )
    for line, name, (usd, (day, source)) in zip(table.lines, table.names, cells, strict=True):
        with collecting_errors(top, line, problems):
            price = _price(usd[0], day, source or defaults.source, defaults, estimated=False)
            add_once(prices_of_type.setdefault(name, {}), price.date, price)
    return {
        name: tuple(sorted(prices.values(), key=attrgetter("date")))
        for name, prices in prices_of_type.items()
    }
