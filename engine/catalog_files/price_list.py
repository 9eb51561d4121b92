"""A price list as values: quotes of instance types, and those of one region."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from engine.errors import BadInput, UnknownName


@dataclass(frozen=True, slots=True)
class Quote:
    """One price of one type in USD per hour; the shape, and since when it holds, where the list
    tells them for it."""

    name: str
    usd_per_hour: float
    region: str | None
    spot: bool = False
    vcpus: float | None = None
    memory_gib: float | None = None
    day: date | None = None


@dataclass(frozen=True)
class PriceList:
    """What a file says.

    Args:
        quotes: every price of an ordinary Linux machine, in all regions of the file.
        day: when it was published; None where it does not say.
        source: which list it is.
    """

    quotes: Sequence[Quote]
    day: date | None
    source: str


@dataclass(frozen=True)
class RegionPrices:
    """The prices of one region: name -> quote. `ambiguous` names have several different prices
    and are in neither. `day` is the newest of those that rows say; None where none does."""

    region: str | None
    on_demand: Mapping[str, Quote]
    spot: Mapping[str, Quote]
    ambiguous: tuple[str, ...] = ()
    day: date | None = None


def prices_in(found: PriceList, region: str | None, *, where: str) -> RegionPrices:
    """The prices of one region, the only one where none is named.

    Raises:
        UnknownName: for a region that the list does not have.
        BadInput: where it has several and none is named.
    """
    regions = sorted({quote.region for quote in found.quotes if quote.region is not None})
    if region is not None and regions and region not in regions:
        raise UnknownName("region", region, regions, where=where, alike=True)
    if region is None and len(regions) > 1:
        what = f"holds the prices of {len(regions)} regions"
        raise BadInput(what, where=where, remedy="name one with --region", choices=regions[:24])
    chosen = region or (regions[0] if regions else None)
    here = [quote for quote in found.quotes if quote.region in (None, chosen)]
    on_demand, first = _one_each(quote for quote in here if not quote.spot)
    spot, second = _one_each(quote for quote in here if quote.spot)
    day = max((quote.day for quote in here if quote.day is not None), default=None)
    return RegionPrices(chosen, on_demand, spot, tuple(sorted(first | second)), day)


def _one_each(quotes: Iterable[Quote]) -> tuple[dict[str, Quote], set[str]]:
    """Name -> its quote, and the names that have several prices, which are left out."""
    found: dict[str, Quote] = {}
    ambiguous = set()
    for quote in quotes:
        known = found.setdefault(quote.name, quote)
        if known.usd_per_hour != quote.usd_per_hour:
            ambiguous.add(quote.name)
    return {name: quote for name, quote in found.items() if name not in ambiguous}, ambiguous
