"""A parsed price list: quotes of instance types, and the selection of one region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from engine.errors import BadInput, UnknownName


@dataclass(frozen=True, slots=True)
class Quote:
    """One price of one type in USD per hour, with its shape and start date where the list has
    them."""

    name: str
    usd_per_hour: float
    region: str | None
    spot: bool = False
    vcpus: float | None = None
    memory_gib: float | None = None
    day: date | None = None


@dataclass(frozen=True)
class PriceList:
    """The content of a price list file.

    Args:
        quotes: every price of a plain Linux machine, in all regions of the file.
        day: publication date; None if not stated.
        source: description of the list.
    """

    quotes: Sequence[Quote]
    day: date | None
    source: str


@dataclass(frozen=True)
class RegionPrices:
    """The prices of one region: name -> quote. Names with several different prices are in
    `ambiguous` and in neither mapping. `day` is the newest date of the rows; None without any."""

    region: str | None
    on_demand: Mapping[str, Quote]
    spot: Mapping[str, Quote]
    ambiguous: tuple[str, ...] = ()
    day: date | None = None


def prices_in(price_list: PriceList, region: str | None, *, where: str) -> RegionPrices:
    """The prices of one region; `region` may be None if the list has only one.

    Raises:
        UnknownName: for a region that the list does not have.
        BadInput: where it has several and none is named.
    """
    regions = sorted({quote.region for quote in price_list.quotes if quote.region is not None})
    if region is not None and regions and region not in regions:
        raise UnknownName("region", region, regions, where=where, alike=True)
    if region is None and len(regions) > 1:
        what = f"holds the prices of {len(regions)} regions"
        raise BadInput(what, where=where, remedy="name one with --region", choices=regions[:24])
    chosen = region or (regions[0] if regions else None)
    quotes = [quote for quote in price_list.quotes if quote.region in (None, chosen)]
    on_demand, first = _unique_prices(quote for quote in quotes if not quote.spot)
    spot, second = _unique_prices(quote for quote in quotes if quote.spot)
    day = max((quote.day for quote in quotes if quote.day is not None), default=None)
    return RegionPrices(chosen, on_demand, spot, tuple(sorted(first | second)), day)


def _unique_prices(quotes: Iterable[Quote]) -> tuple[dict[str, Quote], set[str]]:
    """Name -> quote, and the names with several different prices, which are left out."""
    first_quotes: dict[str, Quote] = {}
    ambiguous = set()
    for quote in quotes:
        known = first_quotes.setdefault(quote.name, quote)
        if known.usd_per_hour != quote.usd_per_hour:
            ambiguous.add(quote.name)
    return {name: quote for name, quote in first_quotes.items() if name not in ambiguous}, ambiguous
