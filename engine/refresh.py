"""New prices for a catalog: a provider's price list becomes a new dated price file.

Only prices, their date and their source change; shapes, billing and memory rules stay, and in the
same region the managed service's fees by type that the list lacks. Earlier prices go to the
history. Nothing is downloaded: the list is a file (docs/catalogs.md says where each provider
publishes it).
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from engine.catalog import Catalog, InstanceType, Offer, Price
from engine.catalog_files.price_formats import EMR_SOURCE, read_price_list
from engine.catalog_files.price_list import Quote, RegionPrices, prices_in
from engine.catalog_files.reader import validate_catalog
from engine.catalog_files.writer import price_file_text
from engine.errors import BadInput
from engine.files import write_text

SAME = 1e-9
"""A price with a smaller relative difference has not changed."""


@dataclass(frozen=True, slots=True)
class PriceChange:
    """One on-demand price before and after, in USD per hour."""

    instance: str
    before_usd: float
    after_usd: float

    @property
    def relative(self) -> float:
        """The relative change: -0.1 is 10 % less."""
        return self.after_usd / self.before_usd - 1.0


@dataclass(frozen=True)
class Refreshed:
    """What a refresh wrote and found.

    Args:
        compared: number of types with a price before and after; 0 for another region.
        changes: changed prices, by type.
        added: types only in the new list; gone: types only in the old catalog.
        shapeless: types of the list left out because their shape is unknown.
        ambiguous: types of which the list has several prices, which are left out: on demand with
            the type, spot prices and fees alone.
        kept_spot: number of spot prices missing in the list and kept with their own date.
        surcharges: number of types whose fee of the managed service is from the list.
        outdated_spot: types whose earlier spot price is above the new on-demand price: left out.
        newer: date of the catalog's prices of this region if later than `day`; these are not in the
            new file, whose history ends before it. Else None.
    """

    path: Path
    catalog: str
    region: str
    day: date
    types: int
    compared: int
    changes: tuple[PriceChange, ...]
    added: tuple[str, ...]
    gone: tuple[str, ...]
    shapeless: tuple[str, ...]
    ambiguous: tuple[str, ...]
    kept_spot: int
    surcharges: int
    outdated_spot: tuple[str, ...]
    newer: date | None

    @property
    def median_change(self) -> float | None:
        """The median relative change of the changed prices; None if none changed."""
        return statistics.median(c.relative for c in self.changes) if self.changes else None


def refresh_catalog(
    base: Catalog,
    files: Sequence[Path],
    folder: Path,
    *,
    region: str | None = None,
    day: date | None = None,
    today: date | None = None,
) -> Refreshed:
    """Writes `NAME.REGION.DATE.prices.yaml` into `folder`, whole or not at all.

    Args:
        base: the catalog whose prices are refreshed.
        files: the price list (`engine.catalog_files.price_formats`).
        region: which one, if the list has several; by default the base's.
        day: since when the prices hold; by default the dates of the list, of each file its own (a
            table may have one for each row), else `today`.

    Raises:
        BadInput: for files that are no price list or hold no type of the catalog, a currency other
            than USD, or a price file that already exists.
    """
    if base.exchange is not None:
        raise BadInput(f"catalog {base.name} is in {base.currency}; only USD is refreshed")
    price_list = read_price_list(files, provider=base.provider)
    prices = prices_in(price_list, region, where=str(files[0]))
    since = day or prices.day or today or date.today()
    region_name = prices.region or base.region

    def to_price(quote: Quote) -> Price:
        source = EMR_SOURCE if quote.surcharge else price_list.source
        return Price(quote.usd_per_hour, day or quote.day or since, source)

    if prices.surcharges and not base.billing.surcharge_fraction:
        raise BadInput(
            f"fees of EMR, for which catalog {base.name} bills nothing",
            where=str(price_list.fees_file),
            remedy="leave that list out",
        )
    offers, shapeless = _offers(base, prices, to_price, region_name)
    if not offers:
        raise BadInput(
            f"no type of catalog {base.name} is in the list",
            where=str(files[0]),
            remedy="is it the list of that provider's virtual machines?",
        )
    _check_master(base, offers, str(files[0]))
    note = base.note if region_name == base.region else None  # it may speak of the region
    fresh = replace(base, region=region_name, date=since, offers=offers, note=note)
    path = folder / _file_name(fresh, where=str(files[0]))
    _write(path, price_file_text(fresh, price_list.source))
    return _report(path, base, fresh, shapeless, prices)


def _file_name(catalog: Catalog, *, where: str) -> str:
    """The name of a catalog's price file; `where` is for errors."""
    for word in (catalog.name, catalog.region):
        if re.fullmatch(r"[\w-]+", word) is None:
            raise BadInput(f"{word!r} cannot be a part of a file's name", where=where)
    return f"{catalog.name}.{catalog.region}.{catalog.date}.prices.yaml"


def _offers(
    base: Catalog, prices: RegionPrices, to_price: Callable[[Quote], Price], region: str
) -> tuple[dict[str, Offer], tuple[str, ...]]:
    """The offers at the new prices, and the names of types without a shape; `to_price` converts a
    quote to a price."""
    offers: dict[str, Offer] = {}
    shapeless: list[str] = []
    for name, quote in sorted(prices.on_demand.items()):
        old = base.offers.get(name)
        instance = old.instance if old else _shape(quote)
        dbus = old.dbu_per_hour if old else None
        if instance is None or (base.dbu_tiers and dbus is None):
            shapeless.append(name)
            continue
        same = old if old is not None and region == base.region else None
        spot, fee = prices.spot.get(name), prices.surcharges.get(name)
        price = to_price(quote)
        kept = same.spot if same and not _is_above(same.spot, price) else None
        offers[name] = Offer(
            instance,
            price,
            to_price(spot) if spot else kept,
            same.interruption if same else None,
            _history(same, price.date),
            dbus,
            to_price(fee) if fee else same.surcharge if same else None,
        )
    return offers, tuple(shapeless)


def _is_above(spot: Price | None, on_demand: Price) -> bool:
    """Whether a spot price is above the on-demand price, which nobody would pay."""
    return spot is not None and spot.usd_per_hour > on_demand.usd_per_hour


def _shape(quote: Quote) -> InstanceType | None:
    """The shape that the list gives for a type unknown to the catalog; None if incomplete."""
    if quote.vcpus is None or quote.memory_gib is None:
        return None
    return InstanceType(quote.name, quote.vcpus, quote.memory_gib)


def _history(old: Offer | None, since: date) -> tuple[Price, ...]:
    """Earlier prices including the one replaced, one for each day."""
    if old is None:
        return ()
    earlier = {price.date: price for price in (*old.history, old.on_demand) if price.date < since}
    return tuple(earlier[day] for day in sorted(earlier))


def _check_master(base: Catalog, offers: Mapping[str, Offer], where: str) -> None:
    master = base.billing.master
    if master is not None and master not in offers:
        raise BadInput(
            f"the master's type {master} has no price in the list",
            where=where,
            remedy="add it, or refresh a catalog file of your own with another master",
        )


def _report(
    path: Path, base: Catalog, fresh: Catalog, shapeless: tuple[str, ...], prices: RegionPrices
) -> Refreshed:
    same_region = fresh.region == base.region
    both = [name for name in fresh.offers if name in base.offers] if same_region else []
    changes = [
        PriceChange(
            name,
            base.offers[name].on_demand.usd_per_hour,
            fresh.offers[name].on_demand.usd_per_hour,
        )
        for name in both
    ]
    spots = [name for name, offer in fresh.offers.items() if offer.spot is not None]
    return Refreshed(
        path=path,
        catalog=base.name,
        region=fresh.region,
        day=fresh.date,
        types=len(fresh.offers),
        compared=len(both),
        changes=tuple(change for change in changes if abs(change.relative) > SAME),
        added=tuple(name for name in fresh.offers if name not in base.offers),
        gone=tuple(name for name in base.offers if name not in fresh.offers),
        shapeless=shapeless,
        ambiguous=prices.ambiguous,
        kept_spot=sum(name not in prices.spot for name in spots),
        surcharges=sum(name in prices.surcharges for name in fresh.offers),
        outdated_spot=tuple(
            name
            for name in both
            if name not in prices.spot
            and _is_above(base.offers[name].spot, fresh.offers[name].on_demand)
        ),
        newer=base.date if same_region and fresh.date < base.date else None,
    )


def _write(path: Path, text: str) -> None:
    """Writes the file if it is valid, else leaves nothing behind."""
    if path.exists():
        raise BadInput("is there already", where=str(path), remedy="remove it or give --date")

    def check(file: Path) -> None:
        if problems := validate_catalog(file):
            raise BadInput(f"the new file would not be valid: {problems[0]}", where=str(path))

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"cannot be made: {error.strerror}", where=str(path.parent)) from None
    write_text(path, text, check=check)
