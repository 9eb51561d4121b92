"""Prices of the types of a catalog file: on demand, spot, managed service, and earlier ones.

Every price has a date and a source, its own or the file's. All become USD here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from operator import attrgetter
from typing import Any

from engine.catalog import InstanceType, Offer, Price
from engine.catalog_files.rules import POSITIVE, FileDefaults, price_column
from engine.catalog_files.shapes import add_once
from engine.errors import BadInput
from engine.text.cells import (
    TypedTable,
    collecting_errors,
    iso_date,
    one_line,
    typed_table,
    yes_or_no,
)
from engine.text.located_yaml import Convert, Section

PRICE_COLUMNS: Mapping[str, Convert[Any]] = {
    "date": iso_date,
    "source": str,
    "estimated": yes_or_no,
    "spot_date": iso_date,
    "spot_source": str,
    "spot_estimated": yes_or_no,
    "interruption": str,
    "dbu_per_hour": POSITIVE,
}
AMOUNT_COLUMNS: Mapping[str, Convert[Any]] = {
    "usd_per_hour": POSITIVE,
    "price_per_hour": POSITIVE,
    "spot_usd_per_hour": POSITIVE,
    "spot_price_per_hour": POSITIVE,
}
"""Columns with money, in USD or in the currency of the file (see `price_column`)."""
_HISTORY_COLUMNS: Mapping[str, Convert[Any]] = {
    "name": one_line,
    "usd_per_hour": POSITIVE,
    "price_per_hour": POSITIVE,
    "date": iso_date,
    "source": str,
}
_SURCHARGE_COLUMNS: Mapping[str, Convert[Any]] = {
    "name": one_line,
    "usd_per_hour": POSITIVE,
    "date": iso_date,
    "source": str,
    "estimated": yes_or_no,
}


def prices_usd(
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


def offer_of(
    instance: InstanceType,
    usd: tuple[float | None, float | None],
    cells: Sequence[Any],
    defaults: FileDefaults,
    history: tuple[Price, ...],
    surcharge: Price | None,
) -> Offer:
    """An offer from its prices in USD and the cells of `PRICE_COLUMNS`.

    Raises:
        BadInput: for a price without an amount, a date or a source.
    """
    day, source, inferred, spot_day, spot_source, estimated, interruption, dbus = cells
    amount = _amount_column(defaults)
    on_demand = _price(
        usd[0], day or defaults.day, source or defaults.source, amount, estimated=bool(inferred)
    )
    spot = None
    if usd[1] is not None:
        spot = _price(
            usd[1],
            spot_day or defaults.spot_day,
            spot_source or defaults.spot_source,
            amount,
            estimated=defaults.spot_estimated if estimated is None else estimated,
        )
    return Offer(instance, on_demand, spot, interruption, history, dbus, surcharge)


def _amount_column(defaults: FileDefaults) -> str:
    """The column of a price on demand, in USD or in the currency of the file."""
    return "usd_per_hour" if defaults.exchange is None else "price_per_hour"


def _price(
    usd: float | None,
    day: date | None,
    source: str | None,
    amount: str,
    *,
    estimated: bool,
) -> Price:
    """A price of a row; `amount` is the column of its money, for errors."""
    if usd is None or day is None or source is None:
        column = amount if usd is None else "date" if day is None else "source"
        remedy = f"say '{column}:' once for the file"
        if usd is None:
            remedy = "give the type one, or leave the type out"
        raise BadInput(f"a price without {column}", remedy=remedy)
    return Price(usd, day, source, estimated)


def history_of(
    top: Section, defaults: FileDefaults, problems: list[BadInput]
) -> Mapping[str, tuple[Price, ...]]:
    """Earlier prices per type, oldest first."""
    table = typed_table(top, "history", _HISTORY_COLUMNS, problems)
    prices_of_type: dict[str, dict[date, Price]] = {}
    cells = zip(
        prices_usd(top, table, defaults, "history"), table.rows(("date", "source")), strict=True
    )
    for line, name, (usd, (day, source)) in zip(table.lines, table.names, cells, strict=True):
        with collecting_errors(top, line, problems):
            amount = _amount_column(defaults)
            price = _price(usd[0], day, source or defaults.source, amount, estimated=False)
            add_once(prices_of_type.setdefault(name, {}), price.date, price)
    return {
        name: tuple(sorted(prices.values(), key=attrgetter("date")))
        for name, prices in prices_of_type.items()
    }


def surcharges_of(
    top: Section, defaults: FileDefaults, problems: list[BadInput]
) -> Mapping[str, Price]:
    """What the managed service charges for a node of each type that has a fee of its own, in USD
    whatever the currency of the file."""
    table = typed_table(top, "surcharges", _SURCHARGE_COLUMNS, problems)
    fees: dict[str, Price] = {}
    cells = table.rows(("usd_per_hour", "date", "source", "estimated"))
    for line, name, (usd, day, source, estimated) in zip(
        table.lines, table.names, cells, strict=True
    ):
        with collecting_errors(top, line, problems):
            day, source = day or defaults.day, source or defaults.source
            fee = _price(usd, day, source, "usd_per_hour", estimated=bool(estimated))
            add_once(fees, name, fee)
    return fees
