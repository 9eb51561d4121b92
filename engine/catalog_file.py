"""Catalogs on disk: the bundled ones by name, a user's own by path (docs/catalogs.md).

Shapes and prices stand apart: a price file names its shapes file, and the two are joined here
into `Offer`s. A user's own file may hold both. Whatever is wrong is said with file and line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine.catalog import Billing, Catalog, InstanceType, MemoryRule, Offer, Price
from engine.cells import (
    iso_date,
    number_above,
    number_between,
    one_of,
    placed,
    typed_table,
    whole_number,
    yes_or_no,
)
from engine.errors import BadInput, UnknownName
from engine.located_yaml import Convert, Section, read_yaml

K = TypeVar("K")
V = TypeVar("V")

_PRICES = ".prices.yaml"
_SHAPES = ".shapes.yaml"


_POSITIVE = number_above(0.0)
_NOT_NEGATIVE = number_above(0.0, or_equal=True)

_SHAPE_COLUMNS: Mapping[str, Convert[Any]] = {
    "vcpus": _POSITIVE,
    "memory_gib": _POSITIVE,
    "family": str,
    "arch": one_of("x86_64", "arm64"),
    "generation": whole_number,
    "network_gbps": _POSITIVE,
    "local_disk_gb": _NOT_NEGATIVE,
    "local_disk_kind": str,
    "ebs_gbps": _POSITIVE,
    "cpu_score": _POSITIVE,
    "emr_supported": yes_or_no,
}
_PRICE_COLUMNS: Mapping[str, Convert[Any]] = {
    "usd_per_hour": _POSITIVE,
    "date": iso_date,
    "source": str,
    "spot_usd_per_hour": _POSITIVE,
    "spot_date": iso_date,
    "spot_source": str,
    "spot_estimated": yes_or_no,
    "interruption": str,
}
_SHAPE_FILE_COLUMNS: Mapping[str, Convert[Any]] = {"name": str, **_SHAPE_COLUMNS}
_OFFER_COLUMNS: Mapping[str, Convert[Any]] = {"name": str, **_SHAPE_COLUMNS, **_PRICE_COLUMNS}
_HISTORY_COLUMNS: Mapping[str, Convert[Any]] = {
    "name": str,
    "usd_per_hour": _POSITIVE,
    "date": iso_date,
    "source": str,
}

_SHAPE_FILE_KEYS = ("shapes_of", "source", "note", "instances")
_PRICE_FILE_KEYS = (
    "catalog",
    "provider",
    "region",
    "currency",
    "shapes",
    "date",
    "source",
    "spot",
    "billing",
    "memory_rule",
    "managed_only",
    "filtered_by_default",
    "historic",
    "note",
    "instances",
    "history",
)


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A bundled catalog: what its file name tells, without opening it."""

    name: str
    region: str
    date: date
    path: Path


def list_catalogs() -> tuple[CatalogEntry, ...]:
    """The bundled catalogs, the newest price file of each, by name."""
    folder = Path(str(resources.files("catalogs")))
    newest: dict[tuple[str, str], CatalogEntry] = {}
    for path in sorted(folder.glob(f"*{_PRICES}")):
        name, region, day = path.name.removesuffix(_PRICES).split(".")
        newest[name, region] = CatalogEntry(name, region, date.fromisoformat(day), path)
    return tuple(sorted(newest.values(), key=attrgetter("name", "region")))


def load_catalog(name_or_path: str | Path) -> Catalog:
    """A bundled catalog by name ("aws", "papers"), or the catalog in a YAML file.

    Raises:
        UnknownName: when it is neither a bundled name nor a file.
        BadInput: for the first thing that is wrong with the file, with its line.
    """
    catalog, problems = _load(_path_of(str(name_or_path)))
    if problems:
        raise problems[0]
    assert catalog is not None
    return catalog


def validate_catalog(name_or_path: str | Path) -> tuple[BadInput, ...]:
    """Everything that is wrong with a catalog, row by row; empty when it loads."""
    return tuple(_load(_path_of(str(name_or_path)))[1])


def _path_of(name: str) -> Path:
    bundled = {entry.name: entry.path for entry in list_catalogs()}
    if name in bundled:
        return bundled[name]
    path = Path(name)
    if path.suffix in {".yaml", ".yml"} or path.exists() or len(path.parts) > 1:
        return path
    raise UnknownName("catalog", name, bundled, where=None)


def _load(path: Path) -> tuple[Catalog | None, list[BadInput]]:
    """The catalog of a file, or None and what is wrong with it."""
    problems: list[BadInput] = []
    try:
        top = read_yaml(path)
        top.check_keys(_PRICE_FILE_KEYS)
        shapes = _shapes(top, problems)
        offers = _offers(top, shapes, problems)
        catalog = _catalog(top, offers) if not problems else None
    except BadInput as error:
        return None, [*problems, error]
    return catalog, problems


def _catalog(top: Section, offers: Mapping[str, Offer]) -> Catalog:
    return Catalog(
        name=top.get("catalog", str) or top.path.name.split(".")[0],
        provider=top.get("provider", str) or "other",
        region=top.get("region", str) or "",
        currency=top.get("currency", one_of("USD")) or "USD",
        date=top.need("date", iso_date),
        offers=offers,
        billing=_billing(top, offers),
        memory_rule=_memory_rule(top),
        managed_only=_flag(top, "managed_only", default=False),
        filtered_by_default=_flag(top, "filtered_by_default", default=True),
        historic=_flag(top, "historic", default=False),
        note=top.get("note", str),
    )


def _flag(section: Section, key: str, *, default: bool) -> bool:
    value = section.get(key, yes_or_no)
    return default if value is None else value


def _billing(top: Section, offers: Mapping[str, Offer]) -> Billing:
    section = top.section("billing")
    if section is None:
        return Billing()
    converters: Mapping[str, Convert[Any]] = {
        "granularity_seconds": _NOT_NEGATIVE,
        "minimum_seconds": _NOT_NEGATIVE,
        "startup_seconds": _NOT_NEGATIVE,
        "startup_note": str,
        "master": str,
        "surcharge_fraction": number_between(0.0, 5.0),
        "surcharge_assumed": yes_or_no,
        "surcharge_note": str,
        "discount_fraction": number_between(0.0, 1.0),
    }
    section.check_keys(tuple(converters))
    given = {key: section.get(key, convert) for key, convert in converters.items()}
    billing = Billing(**{key: value for key, value in given.items() if value is not None})
    if billing.master is not None and billing.master not in offers:
        where = section.where(section.lines["master"])
        raise UnknownName("master type", billing.master, offers, where=where)
    return billing


def _memory_rule(top: Section) -> MemoryRule:
    section = top.section("memory_rule")
    if section is None:
        return MemoryRule()
    section.check_keys(("kind", "share"))
    kind = section.need("kind", one_of("emr-yarn", "share"))
    share = section.get("share", number_between(0.01, 1.0001))
    return MemoryRule(kind) if share is None else MemoryRule(kind, share)


def _shapes(top: Section, problems: list[BadInput]) -> Mapping[str, InstanceType]:
    """The shapes that the file refers to; none when its own rows hold them."""
    named = top.get("shapes", str)
    if named is None:
        return {}
    shapes_file = read_yaml(_shapes_path(top, named))
    shapes_file.check_keys(_SHAPE_FILE_KEYS)
    shapes: dict[str, InstanceType] = {}
    table = typed_table(shapes_file, "instances", _SHAPE_FILE_COLUMNS, problems)
    for line, name, shape in zip(table.lines, table.names, table.rows(_SHAPE_COLUMNS), strict=True):
        with placed(shapes_file, line, problems):
            _add(shapes, name, _instance(name, shape))
    return shapes


def _shapes_path(top: Section, named: str) -> Path:
    """A shapes file beside the price file, or a bundled one by name ("aws")."""
    beside = top.path.parent / named
    if beside.is_file():
        return beside
    folder = Path(str(resources.files("catalogs")))
    bundled = folder / (named.removesuffix(_SHAPES) + _SHAPES)
    if len(Path(named).parts) == 1 and bundled.is_file():
        return bundled
    names = [path.name.removesuffix(_SHAPES) for path in folder.glob(f"*{_SHAPES}")]
    raise UnknownName("shapes file", named, names, where=top.where(top.lines["shapes"]))


class _Told(NamedTuple):
    """What a price file says once for all its rows: when the prices were so, and who says it."""

    day: date | None
    source: str | None
    spot_day: date | None
    spot_source: str | None
    spot_estimated: bool


def _told(top: Section) -> _Told:
    day, source = top.get("date", iso_date), top.get("source", str)
    spot = top.section("spot")
    if spot is None:
        return _Told(day, source, day, source, False)
    spot.check_keys(("date", "source", "estimated"))
    estimated = _flag(spot, "estimated", default=False)
    return _Told(
        day, source, spot.get("date", iso_date) or day, spot.get("source", str) or source, estimated
    )


def _offers(
    top: Section, shapes: Mapping[str, InstanceType], problems: list[BadInput]
) -> Mapping[str, Offer]:
    told = _told(top)
    history = _history(top, told, problems)
    table = typed_table(top, "instances", _OFFER_COLUMNS, problems)
    offers: dict[str, Offer] = {}
    shape_cells, price_cells = table.rows(_SHAPE_COLUMNS), table.rows(_PRICE_COLUMNS)
    rows = zip(table.lines, table.names, shape_cells, price_cells, strict=True)
    for line, name, shape, price in rows:
        with placed(top, line, problems):
            instance = _joined(name, shape, shapes)
            _add(offers, name, _offer(instance, price, told, history.get(name, ())))
    if not offers and not problems:
        raise BadInput("no instance types", where=str(top.path), remedy="add a list 'instances'")
    for name in history:
        if name not in offers and not problems:
            where = top.where(top.lines["history"])
            raise UnknownName("instance type", name, offers, where=where)
    return offers


def _joined(name: str, shape: Sequence[Any], shapes: Mapping[str, InstanceType]) -> InstanceType:
    """A type's shape, from the shapes file or from its own row, never from both."""
    instance = shapes.get(name)
    if instance is None:
        return _instance(name, shape)
    if any(value is not None for value in shape):
        raise BadInput(f"{name}: its shape stands in the shapes file already")
    return instance


def _offer(
    instance: InstanceType, price: Sequence[Any], told: _Told, history: tuple[Price, ...]
) -> Offer:
    """An offer from the cells of `_PRICE_COLUMNS`."""
    usd, day, source, spot_usd, spot_day, spot_source, estimated, interruption = price
    on_demand = _price(usd, day or told.day, source or told.source, False)
    spot = None
    if spot_usd is not None:
        spot = _price(
            spot_usd,
            spot_day or told.spot_day,
            spot_source or told.spot_source,
            told.spot_estimated if estimated is None else estimated,
        )
    return Offer(instance, on_demand, spot, interruption, history)


def _price(usd: float | None, day: date | None, source: str | None, estimated: bool) -> Price:
    if usd is None or day is None or source is None:
        column = "usd_per_hour" if usd is None else "date" if day is None else "source"
        remedy = None if usd is None else f"say '{column}:' once for the file"
        raise BadInput(f"a price without {column}", remedy=remedy)
    return Price(usd, day, source, estimated)


def _history(
    top: Section, told: _Told, problems: list[BadInput]
) -> Mapping[str, tuple[Price, ...]]:
    """Earlier prices per type, oldest first."""
    table = typed_table(top, "history", _HISTORY_COLUMNS, problems)
    found: dict[str, dict[date, Price]] = {}
    cells = table.rows(("usd_per_hour", "date", "source"))
    for line, name, (usd, day, source) in zip(table.lines, table.names, cells, strict=True):
        with placed(top, line, problems):
            price = _price(usd, day, source or told.source, False)
            _add(found.setdefault(name, {}), price.date, price)
    return {
        name: tuple(sorted(prices.values(), key=attrgetter("date")))
        for name, prices in found.items()
    }


def _instance(name: str, shape: Sequence[Any]) -> InstanceType:
    """A type from the cells of `_SHAPE_COLUMNS`, which are in the order of its fields."""
    if shape[0] is None or shape[1] is None:
        raise BadInput(f"{name}: {'vcpus' if shape[0] is None else 'memory_gib'} is missing")
    return InstanceType(name, *shape)


def _add(known: dict[K, V], key: K, value: V) -> None:
    if key in known:
        raise BadInput(f"{key} stands here for the second time", remedy="keep one of the two")
    known[key] = value
