"""A parsed price list: quotes of instance types, and the selection of one region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path

from engine.errors import BadInput, UnknownName


@dataclass(frozen=True, slots=True)
class Quote:
    """One price of one type in USD per hour, with its shape and the day since when it holds, or on
    which its file was published, where the list has them.

    `surcharge`: whether it is the managed service's fee for a node, and not the node's price.
    """

    name: str
    usd_per_hour: float
    region: str | None
    spot: bool = False
    vcpus: float | None = None
    memory_gib: float | None = None
    day: date | None = None
    surcharge: bool = False


@dataclass(frozen=True)
class PriceList:
    """The content of a price list file.

    Args:
        quotes: every price of a plain Linux machine, and every fee of the managed service, in all
            regions.
        fees_file: the file with the fees, where the list has several files; None without fees.
    """

    quotes: Sequence[Quote]
    source: str
    fees_file: Path | None = None

    @property
    def has_fees(self) -> bool:
        """Whether it has fees of the managed service."""
        return any(quote.surcharge for quote in self.quotes)


@dataclass(frozen=True)
class RegionPrices:
    """The prices of one region: name -> quote. Names with several different prices are in
    `ambiguous` and not in the mapping. `day` is the newest date of the nodes' prices; None
    without any."""

    region: str | None
    on_demand: Mapping[str, Quote]
    spot: Mapping[str, Quote]
    ambiguous: tuple[str, ...] = ()
    day: date | None = None
    surcharges: Mapping[str, Quote] = field(default_factory=dict)


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
    of_nodes = [quote for quote in quotes if not quote.surcharge]
    on_demand, first = _unique_prices(quote for quote in of_nodes if not quote.spot)
    spot, second = _unique_prices(quote for quote in of_nodes if quote.spot)
    surcharges, third = _unique_prices(quote for quote in quotes if quote.surcharge)
    day = max((quote.day for quote in of_nodes if quote.day is not None), default=None)
    ambiguous = tuple(sorted(first | second | third))
    return RegionPrices(chosen, on_demand, spot, ambiguous, day, surcharges)


def published_on(day: date | None, quotes: Iterable[Quote]) -> list[Quote]:
    """The quotes of a file with the day of its publication; None where it is not stated."""
    return [replace(quote, day=day) for quote in quotes]


def _unique_prices(quotes: Iterable[Quote]) -> tuple[dict[str, Quote], set[str]]:
    """Name -> quote, and the names with several different prices, which are left out."""
    first_quotes: dict[str, Quote] = {}
    ambiguous = set()
    for quote in quotes:
        known = first_quotes.setdefault(quote.name, quote)
        if known.usd_per_hour != quote.usd_per_hour:
            ambiguous.add(quote.name)
    return {name: quote for name, quote in first_quotes.items() if name not in ambiguous}, ambiguous
