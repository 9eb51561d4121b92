"""Parses the sections of a catalog file besides its types: billing, DBUs, memory, currency."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import replace
from datetime import date
from typing import Any, NamedTuple

from engine.catalog import MEMORY_RULES, Billing, DbuTier, Exchange, MemoryRule
from engine.errors import BadInput, UnknownName
from engine.text.cells import (
    collecting_errors,
    currency_code,
    iso_date,
    number_above,
    number_between,
    one_line,
    one_of,
    typed_table,
    yes_or_no,
)
from engine.text.located_yaml import Convert, Section

POSITIVE = number_above(0.0)
NOT_NEGATIVE = number_above(0.0, or_equal=True)

_BILLING: Mapping[str, Convert[Any]] = {
    "granularity_seconds": NOT_NEGATIVE,
    "minimum_seconds": NOT_NEGATIVE,
    "startup_seconds": NOT_NEGATIVE,
    "startup_note": str,
    "master": str,
    "master_note": str,
    "surcharge_fraction": number_between(0.0, 5.0),
    "surcharge_usd_per_vcpu_hour": NOT_NEGATIVE,
    "surcharge_assumed": yes_or_no,
    "surcharge_note": str,
    "discount_fraction": number_between(0.0, 1.0),
}
_TIER_COLUMNS: Mapping[str, Convert[Any]] = {
    "name": one_line,
    "usd_per_dbu": POSITIVE,
    "date": iso_date,
    "source": str,
}


class Dbus(NamedTuple):
    """The DBU sections of a file: the tiers, the selected tier, and the source of DBUs per hour."""

    tiers: Mapping[str, DbuTier]
    tier: DbuTier
    note: str


def billing_of(top: Section, types: Iterable[str], dbus: Dbus | None) -> Billing:
    """The billing rules of a file; `types` are the allowed master types."""
    section = top.section("billing")
    billing = Billing()
    if section is not None:
        section.check_keys(tuple(_BILLING))
        given = {key: section.get(key, convert) for key, convert in _BILLING.items()}
        billing = Billing(**{key: value for key, value in given.items() if value is not None})
        known = frozenset(types)
        if billing.master is not None and billing.master not in known:
            where = section.where_of("master")
            raise UnknownName("master type", billing.master, known, where=where)
    if dbus is not None:
        tier = dbus.tier
        note, tier_note = f"{tier.name}, {tier.date}: {tier.source}", f"{tier.date}: {tier.source}"
        if dbus.note != tier_note:
            note += f"; DBUs per hour, {dbus.note}"
        billing = replace(billing, usd_per_dbu=tier.usd_per_dbu, dbu_note=note, dbu_date=tier.date)
    return billing


def dbus_of(top: Section, problems: list[BadInput]) -> Dbus | None:
    """The section `dbu` and the table `dbu_tiers`; None in a file without them."""
    section = top.section("dbu")
    table = typed_table(top, "dbu_tiers", _TIER_COLUMNS, problems)
    if section is None:
        if table.names:
            where = top.where_of("dbu_tiers")
            raise BadInput("dbu_tiers without dbu", where=where, remedy="say 'dbu: {tier: ...}'")
        return None
    section.check_keys(("tier", "date", "source"))
    tiers: dict[str, DbuTier] = {}
    rows = table.rows(("usd_per_dbu", "date", "source"))
    for line, name, (usd, day, source) in zip(table.lines, table.names, rows, strict=True):
        with collecting_errors(top, line, problems):
            if usd is None or day is None or source is None:
                raise BadInput(f"{name}: a tier needs usd_per_dbu, date and source")
            if name in tiers:
                raise BadInput(f"{name} stands here for the second time")
            tiers[name] = DbuTier(name, usd, day, source)
    named = section.need("tier", str)
    if named not in tiers:
        where = section.where_of("tier")
        raise UnknownName("DBU tier", named, tiers, where=where)
    day, source = section.need("date", iso_date), section.need("source", str)
    return Dbus(tiers, tiers[named], f"{day}: {source}")


def exchange_of(top: Section) -> Exchange | None:
    """The exchange rate from the file's currency to USD; None for prices in USD.

    Raises:
        BadInput: for a currency without a rate, or a rate where none is needed.
    """
    currency = top.get("currency", currency_code) or "USD"
    section = top.section("exchange")
    if section is None:
        if currency == "USD":
            return None
        raise BadInput(
            f"prices in {currency} without a rate",
            where=top.where_of("currency"),
            remedy="add 'exchange: {usd: ..., date: ..., source: ...}', USD for one "
            f"{currency}: answers are in USD",
        )
    if currency == "USD":
        raise BadInput("an exchange rate, but the prices are in USD", where=section.where())
    section.check_keys(("usd", "date", "source"))
    return Exchange(
        currency,
        section.need("usd", POSITIVE),
        section.need("date", iso_date),
        section.need("source", str),
    )


def price_column(columns: Container[str], plain: str, exchange: Exchange | None) -> str:
    """The name of a price column: `usd_per_hour` in USD, `price_per_hour` in another currency.

    A column named for the wrong currency is refused, so that no price is misread.
    """
    foreign = plain.replace("usd_", "price_")
    if exchange is None:
        if foreign in columns:
            raise BadInput(f"column {foreign} in a file in USD", remedy=f"name it {plain}")
        return plain
    if plain in columns:
        what = f"column {plain} in a file in {exchange.currency}"
        raise BadInput(what, remedy=f"name it {foreign}")
    return foreign


def memory_rule_of(top: Section) -> MemoryRule:
    """The rule for the part of a node's memory that executors may use."""
    section = top.section("memory_rule")
    if section is None:
        return MemoryRule()
    section.check_keys(("kind", "share", "note", "yarn"))
    kind = section.need("kind", one_of(*MEMORY_RULES))
    share = section.get("share", number_between(0.01, 1.0001))
    yarn = bool(section.get("yarn", yes_or_no))
    if kind != "share" and (share is not None or (yarn and not kind.endswith("yarn"))):
        key = "yarn" if share is None else "share"
        raise BadInput(
            f"{key} means nothing for kind {kind}",
            where=section.where_of(key),
            remedy="leave it out, or write 'kind: share'",
        )
    rule = MemoryRule(kind, note=section.get("note", str), yarn=yarn)
    return rule if share is None else replace(rule, share=share)


class FileDefaults(NamedTuple):
    """Defaults of a price file for its rows: dates and sources of prices, and the currency."""

    day: date | None
    source: str | None
    spot_day: date | None
    spot_source: str | None
    spot_estimated: bool
    exchange: Exchange | None


def file_defaults_of(top: Section) -> FileDefaults:
    """The dates and sources for rows without their own."""
    day, source, exchange = top.get("date", iso_date), top.get("source", str), exchange_of(top)
    spot = top.section("spot")
    if spot is None:
        return FileDefaults(day, source, day, source, False, exchange)
    spot.check_keys(("date", "source", "estimated"))
    return FileDefaults(
        day,
        source,
        spot.get("date", iso_date) or day,
        spot.get("source", str) or source,
        bool(spot.get("estimated", yes_or_no)),
        exchange,
    )
