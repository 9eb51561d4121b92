"""Parsers of the price lists that providers publish.

- AWS offer file, JSON or CSV ("Reading the service price list file", AWS Billing guide): on-demand
  Linux on shared tenancy, without preinstalled software; that of EMR, JSON: its fee for each type.
- Azure Retail Prices, JSON, all pages ("Azure Retail Prices overview", Microsoft Learn): prices by
  consumption of virtual machines without Windows, and spot.
- Any provider: a CSV with a header, `name` (or `instance_type`) and `usd_per_hour` (or
  `price_hourly_usd`), and where known `spot_usd_per_hour`, `vcpus`, `memory_gib`, `region`, `date`.
"""

from __future__ import annotations

import csv
import re
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from difflib import get_close_matches
from itertools import chain, islice
from math import isfinite
from pathlib import Path
from typing import Any

import msgspec

from engine.catalog_files.price_list import PriceList, Quote, published_on
from engine.errors import BadInput
from engine.files import not_utf8, unreadable

MOST_BYTES = 2 * 1024**3
"""A larger file is not a region's price list."""


def read_price_list(paths: Sequence[Path], *, provider: str) -> PriceList:
    """Reads a price list in any of the formats above, detected by its beginning.

    Args:
        paths: the file; for Azure all pages, in one file or in several.

    Raises:
        BadInput: for no file, an unreadable file, or one that is no price list of that provider.
    """
    if not paths:
        raise BadInput("no price list is given", remedy="name its files")
    lists = [_read(path, provider) for path in paths]
    pages = [page for page, _ in lists]
    if all(more for _, more in lists):
        raise BadInput(
            "the list goes on on a further page (NextPageLink)",
            where=str(paths[-1]),
            remedy="give the files of all pages",
        )
    quotes = tuple(chain.from_iterable(page.quotes for page in pages))
    if not quotes:
        raise BadInput(
            "holds no hourly price of a Linux machine",
            where=str(paths[0]),
            remedy=f"is it a price list of {provider} virtual machines?",
        )
    of_fees = (path for path, page in zip(paths, pages, strict=True) if page.has_fees)
    return PriceList(quotes, pages[0].source, next(of_fees, None))


def _read(path: Path, provider: str) -> tuple[PriceList, bool]:
    """The quotes of a file, and whether it refers to another page."""
    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadInput(f"larger than {MOST_BYTES >> 30} GiB", where=str(path))
        with path.open("rb") as file:
            start = file.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")
        if start[:1] not in (b"{", b"["):
            return _csv(path, start, provider), False
        return _json(path, provider)
    except OSError as error:
        raise unreadable(error, path) from None
    except UnicodeDecodeError:
        raise not_utf8(path) from None
    except csv.Error as error:
        raise BadInput(f"not a CSV file: {error}", where=str(path)) from None


def _json(path: Path, provider: str) -> tuple[PriceList, bool]:
    readers: Mapping[str, Callable[[bytes, Path], tuple[PriceList, bool]]] = {
        "aws": _aws_json,
        "azure": _azure_json,
    }
    if provider not in readers:
        raise BadInput(
            f"no JSON price list of {provider} is understood", where=str(path), remedy="give a CSV"
        )
    try:
        # Windows writes a byte order mark where a download is saved as UTF-8.
        return readers[provider](path.read_bytes().removeprefix(BOM_UTF8), path)
    except msgspec.DecodeError as error:
        raise BadInput(f"not a price list of {provider}: {error}", where=str(path)) from None
    except RecursionError:
        what = f"not a price list of {provider}: nested too deeply"
        raise BadInput(what, where=str(path)) from None


# AWS ------------------------------------------------------------------------------------------


class _AwsAttributes(msgspec.Struct):
    """Attributes of a product; all may be absent, since other services' products have others."""

    instanceType: str = ""  # noqa: N815 - as the file writes it
    operatingSystem: str = ""  # noqa: N815
    tenancy: str = ""
    capacitystatus: str = ""
    preInstalledSw: str = ""  # noqa: N815
    operation: str = ""
    regionCode: str | None = None  # noqa: N815
    vcpu: str = ""
    memory: str = ""
    softwareType: str = ""  # noqa: N815


class _AwsProduct(msgspec.Struct):
    attributes: _AwsAttributes


class _AwsDimension(msgspec.Struct):
    unit: str = ""
    pricePerUnit: dict[str, str] = {}  # noqa: N815


class _AwsTerm(msgspec.Struct):
    priceDimensions: dict[str, _AwsDimension] = {}  # noqa: N815


class _AwsTerms(msgspec.Struct):
    OnDemand: dict[str, dict[str, _AwsTerm]] = {}


class _AwsOffer(msgspec.Struct):
    products: dict[str, _AwsProduct]
    terms: _AwsTerms
    publicationDate: str = ""  # noqa: N815


_AWS_SOURCE = "AWS price list, EC2 on demand, Linux"
EMR_SOURCE = "AWS price list, EMR"


def _aws_json(data: bytes, _: Path) -> tuple[PriceList, bool]:
    offer = msgspec.json.decode(data, type=_AwsOffer)
    quotes = [
        quote
        for sku, product in offer.products.items()
        if _aws_plain(product.attributes) or _is_emr(product.attributes)
        for quote in _aws_quotes(product.attributes, offer.terms.OnDemand.get(sku, {}))
    ]
    return PriceList(published_on(_day(offer.publicationDate), quotes), _AWS_SOURCE), False


def _aws_plain(it: _AwsAttributes) -> bool:
    """Whether a product is plain Linux: shared tenancy, used capacity, no preinstalled software."""
    return (
        bool(it.instanceType)
        and it.operatingSystem == "Linux"
        and it.tenancy == "Shared"
        and it.capacitystatus == "Used"
        and it.preInstalledSw == "NA"
        and it.operation in ("", "RunInstances")
    )


def _is_emr(it: _AwsAttributes) -> bool:
    """Whether a product is EMR on a type of node, without other software."""
    return bool(it.instanceType) and it.softwareType == "EMR"


def _aws_quotes(it: _AwsAttributes, terms: Mapping[str, _AwsTerm]) -> Iterator[Quote]:
    for term in terms.values():
        for dimension in term.priceDimensions.values():
            usd = _usd(dimension.pricePerUnit.get("USD"))
            if dimension.unit == "Hrs" and usd is not None:
                if _is_emr(it):
                    yield Quote(it.instanceType, usd, it.regionCode or None, surcharge=True)
                else:
                    yield _aws_quote(it.instanceType, usd, it.regionCode, it.vcpu, it.memory)


def _aws_quote(name: str, usd: float, region: str | None, vcpu: str, memory: str) -> Quote:
    gib = memory.replace(",", "").removesuffix("GiB").strip()
    return Quote(name, usd, region or None, vcpus=_usd(vcpu), memory_gib=_usd(gib))


_AWS_COLUMNS = {
    "operatingSystem": "Operating System",
    "tenancy": "Tenancy",
    "capacitystatus": "CapacityStatus",
    "preInstalledSw": "Pre Installed S/W",
    "operation": "operation",
    "regionCode": "Region Code",
    "instanceType": "Instance Type",
    "vcpu": "vCPU",
    "memory": "Memory",
}


def _aws_csv(path: Path) -> PriceList:
    """Quotes of the CSV form of the offer file: five rows of metadata, then a table."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        head = dict(row[:2] for row in islice(csv.reader(file), 5) if len(row) > 1)
        table = csv.DictReader(file)
        missing = {*_AWS_COLUMNS.values(), "TermType", "Unit", "PricePerUnit", "Currency"}
        missing -= {"operation", "Region Code", *(table.fieldnames or ())}
        if missing:
            what = f"column {sorted(missing)[0]!r} is missing"
            raise BadInput(what, where=f"{path}:6", remedy="is it the EC2 price list of AWS?")
        quotes = [quote for row in table if (quote := _aws_row(row)) is not None]
    published = _day(head.get("Publication Date", ""))
    return PriceList(published_on(published, quotes), _AWS_SOURCE)


def _aws_row(row: Mapping[str, str | None]) -> Quote | None:
    values = {name: row.get(column) or "" for name, column in _AWS_COLUMNS.items()}
    it = _AwsAttributes(**values)
    usd = _usd(row.get("PricePerUnit"))
    hourly = row.get("TermType") == "OnDemand" and row.get("Unit") == "Hrs"
    if usd is None or not hourly or row.get("Currency") != "USD" or not _aws_plain(it):
        return None
    return _aws_quote(it.instanceType, usd, it.regionCode, it.vcpu, it.memory)


# Azure ----------------------------------------------------------------------------------------


class _AzureItem(msgspec.Struct):
    armSkuName: str = ""  # noqa: N815
    armRegionName: str = ""  # noqa: N815
    currencyCode: str = ""  # noqa: N815
    productName: str = ""  # noqa: N815
    skuName: str = ""  # noqa: N815
    meterName: str = ""  # noqa: N815
    serviceName: str = ""  # noqa: N815
    unitOfMeasure: str = ""  # noqa: N815
    type: str = ""
    retailPrice: float = 0.0  # noqa: N815
    tierMinimumUnits: float = 0.0  # noqa: N815
    isPrimaryMeterRegion: bool = True  # noqa: N815


class _AzurePage(msgspec.Struct):
    Items: list[_AzureItem]
    NextPageLink: str | None = None


_NOT_LINUX = re.compile(r" Win| Cloud ?Services")
"""Products that are not plain Linux; a few have "Windows" without a following space."""


def _azure_json(data: bytes, path: Path) -> tuple[PriceList, bool]:
    decoded = msgspec.json.decode(data, type=_AzurePage | list[_AzurePage])
    pages = decoded if isinstance(decoded, list) else [decoded]
    items = [item for page in pages for item in page.Items if _azure_plain(item)]
    foreign = sorted({item.currencyCode for item in items} - {"USD"})
    if foreign:
        raise BadInput(
            f"prices in {foreign[0]}",
            where=str(path),
            remedy="ask for USD: the provider calls its other currencies a mere reference",
        )
    quotes = [
        Quote(
            item.armSkuName,
            item.retailPrice,
            item.armRegionName or None,
            spot=item.skuName.endswith(" Spot"),
        )
        for item in items
    ]
    more = bool(pages) and all(page.NextPageLink for page in pages)
    return PriceList(quotes, "Azure Retail Prices, consumption, Linux"), more


def _azure_plain(item: _AzureItem) -> bool:
    low = "Low Priority" in item.meterName or "Low Priority" in item.skuName
    return (
        item.serviceName == "Virtual Machines"
        and item.type == "Consumption"
        and item.unitOfMeasure == "1 Hour"
        and item.retailPrice > 0.0
        and item.tierMinimumUnits == 0.0
        and item.isPrimaryMeterRegion
        and bool(item.armSkuName)
        and not low
        and _NOT_LINUX.search(item.productName) is None
    )


# CSV ------------------------------------------------------------------------------------------

_ALIASES = {
    "instance_type": "name",
    "price_hourly_usd": "usd_per_hour",
    "spot_price_hourly_usd": "spot_usd_per_hour",
}


def _csv(path: Path, start: bytes, provider: str) -> PriceList:
    if provider == "aws" and start.startswith(b'"FormatVersion"'):
        return _aws_csv(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.reader(file, skipinitialspace=True)
        columns = _columns(next(table, []), f"{path}:1")
        quotes: list[Quote] = []
        for row in filter(None, table):
            where = f"{path}:{table.line_num}"
            if len(row) != len(columns):
                what = f"{len(row)} values in a table of {len(columns)} columns"
                remedy = "write numbers with a point, and cells that hold a comma in quotes"
                raise BadInput(what, where=where, remedy=remedy)
            cells = {name: cell.strip() for name, cell in zip(columns, row, strict=True)}
            quotes += _row_quotes(cells, where)
    return PriceList(quotes, f"price table {path.name}")


_KNOWN = ("name", "usd_per_hour", "spot_usd_per_hour", "region", "date", "vcpus", "memory_gib")


def _columns(header: Sequence[str], where: str) -> list[str]:
    """The columns of a price table. Unknown columns are ignored, unless they look like a misspelled
    known one, which is an error."""
    columns = [_ALIASES.get(name.strip(), name.strip()) for name in header]
    for needed in ("name", "usd_per_hour"):
        if needed not in columns:
            raise BadInput(
                f"column {needed} is missing",
                where=where,
                remedy="a price table has the columns name and usd_per_hour",
            )
    for name in columns:
        if name in _KNOWN and columns.count(name) > 1:
            raise BadInput(f"column {name} twice", where=where, remedy="keep one of them")
        close = get_close_matches(name, _KNOWN, n=1, cutoff=0.8)
        if name not in _KNOWN and close and close[0] not in columns:
            raise BadInput(
                f"unknown column {name!r}", where=where, remedy=f"did you mean {close[0]}?"
            )
    return columns


def _row_quotes(cells: Mapping[str, str], where: str) -> list[Quote]:
    """The on-demand quote of a row, and its spot quote if it has one."""
    currency = cells.get("currency") or "USD"
    if currency != "USD":
        raise BadInput(f"a price in {currency}", where=where, remedy="give prices in USD")
    shape: dict[str, Any] = {
        "region": cells.get("region") or None,
        "vcpus": _number(cells, "vcpus", where),
        "memory_gib": _number(cells, "memory_gib", where),
        "day": _need_day(cells["date"], where) if cells.get("date") else None,
    }
    usd, spot = (_number(cells, key, where) for key in ("usd_per_hour", "spot_usd_per_hour"))
    if not cells["name"] or usd is None:
        what = "usd_per_hour" if cells["name"] else "name"
        raise BadInput(f"{what} is missing", where=where)
    quotes = [Quote(cells["name"], usd, **shape)]
    return quotes if spot is None else [*quotes, Quote(cells["name"], spot, spot=True, **shape)]


def _number(cells: Mapping[str, str], key: str, where: str) -> float | None:
    text = cells.get(key, "")
    if not text:
        return None
    value = _usd(text)
    if value is None:
        raise BadInput(f"{key} must be a number above 0, not {text!r}", where=where)
    return value


def _usd(text: str | None) -> float | None:
    """A number above 0; None for anything else."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if value > 0.0 and isfinite(value) else None


def _day(text: str) -> date | None:
    """The date at the start of a time stamp; None without one."""
    try:
        return date.fromisoformat(text[:10])
    except ValueError:
        return None


def _need_day(text: str, where: str) -> date:
    day = _day(text)
    if day is None:
        raise BadInput(f"date must be like 2026-07-20, not {text!r}", where=where)
    return day
