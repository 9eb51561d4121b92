"""Formats catalogs as text that `engine.catalog_files.reader` reads back to the same values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields
from datetime import date
from typing import TYPE_CHECKING

from engine.catalog import Catalog, InstanceType, Offer
from engine.catalog_files.reader import load_catalog

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def price_file_text(catalog: Catalog, source: str) -> str:
    """The text of a price file that loads as `catalog` (docs/catalogs.md), without its shapes."""
    bundled = _bundled_shapes(catalog)
    with_own_shape = [offer for name, offer in catalog.offers.items() if name not in bundled]
    benchmarks = (one.instance.cpu_benchmark for one in with_own_shape if one.instance.cpu_score)
    billing = _set_fields(catalog.billing, ("spot", "usd_per_dbu", "dbu_note", "dbu_date"))
    columns, rows = _rows(catalog, source, bundled, with_shapes=bool(with_own_shape))
    lines = [
        "# Written by sparkplan; docs/catalogs.md explains every key.",
        *pairs(
            catalog=catalog.name,
            provider=catalog.provider,
            region=catalog.region,
            currency="USD",
            shapes=_shapes_name(catalog) if bundled else None,
            cpu_benchmark=next(benchmarks, None),
            date=str(catalog.date),
            source=source,
            managed_only=catalog.managed_only,
            filtered_by_default=catalog.filtered_by_default,
            historic=catalog.historic,
            note=catalog.note,
        ),
        *("memory_rule:", *pairs("  ", **_set_fields(catalog.memory_rule, ()))),
        *(("billing:", *pairs("  ", **billing)) if billing else ()),
        *_dbu_lines(catalog),
        *block("instances", columns, rows),
        *_surcharge_lines(catalog),
        *_history_lines(catalog),
    ]
    return "\n".join(lines) + "\n"


def _surcharge_lines(catalog: Catalog) -> list[str]:
    surcharges = [
        [name, f"{fee.usd_per_hour:.10g}", str(fee.date), fee.source, _cell(fee.estimated)]
        for name, offer in catalog.offers.items()
        if (fee := offer.surcharge) is not None
    ]
    columns = ["name", "usd_per_hour", "date", "source", "estimated"]
    return block("surcharges", columns, surcharges) if surcharges else []


def _history_lines(catalog: Catalog) -> list[str]:
    history = [
        [name, f"{price.usd_per_hour:.10g}", str(price.date), price.source]
        for name, offer in catalog.offers.items()
        for price in offer.history
    ]
    columns = ["name", "usd_per_hour", "date", "source"]
    return block("history", columns, history) if history else []


def _shapes_name(catalog: Catalog) -> str:
    """The bundled shapes of a provider: all catalogs of Azure share theirs."""
    return catalog.provider if catalog.provider in ("azure", "gcp") else "aws"


def _bundled_shapes(catalog: Catalog) -> Mapping[str, InstanceType]:
    """The bundled shapes, if the catalog's types agree with them; else empty."""
    if catalog.provider not in ("aws", "azure", "gcp"):
        return {}
    bundled = load_catalog(_shapes_name(catalog))
    return {
        name: offer.instance
        for name, offer in bundled.offers.items()
        if name in catalog.offers and catalog.offers[name].instance == offer.instance
    }


def _set_fields(value: DataclassInstance, left_out: Iterable[str]) -> dict[str, object]:
    """The fields of a dataclass that differ from their defaults."""
    plain = type(value)()
    return {
        entry.name: getattr(value, entry.name)
        for entry in fields(value)
        if entry.name not in set(left_out)
        and (entry.name == "kind" or getattr(value, entry.name) != getattr(plain, entry.name))
    }


def _dbu_lines(catalog: Catalog) -> list[str]:
    billing, tiers = catalog.billing, list(catalog.dbu_tiers.values())
    if billing.usd_per_dbu is None or not tiers:
        return []
    meant = next((t for t in tiers if t.usd_per_dbu == billing.usd_per_dbu), tiers[0])
    section = pairs("  ", tier=meant.name, date=str(meant.date), source=meant.source)
    rows = [[t.name, f"{t.usd_per_dbu:.10g}", str(t.date), t.source] for t in tiers]
    return ["dbu:", *section, *block("dbu_tiers", ["name", "usd_per_dbu", "date", "source"], rows)]


_SHAPE = tuple(
    entry.name for entry in fields(InstanceType) if entry.name not in ("name", "cpu_benchmark")
)


def _rows(
    catalog: Catalog, source: str, bundled: Mapping[str, InstanceType], *, with_shapes: bool
) -> tuple[list[str], list[list[str]]]:
    """The non-empty columns, and the rows of all types."""
    columns = ["name", "usd_per_hour", "date", "spot_usd_per_hour", "spot_date", "spot_source"]
    columns += ["spot_estimated", "interruption", "dbu_per_hour", *(_SHAPE if with_shapes else ())]
    shape = _SHAPE if with_shapes else ()
    rows = []
    for name, offer in catalog.offers.items():
        shape_cells = [None if name in bundled else getattr(offer.instance, key) for key in shape]
        rows.append(
            [_cell(value) for value in (*_prices(offer, catalog.date, source), *shape_cells)]
        )
    non_empty = [index for index in range(len(columns)) if any(row[index] for row in rows)]
    return [columns[index] for index in non_empty], [
        [row[index] for index in non_empty] for row in rows
    ]


def _prices(offer: Offer, day: date, source: str) -> list[object]:
    """The price cells of a type; dates and spot source only where they differ from the file's."""
    spot, spot_cells = offer.spot, list[object]([None, None, None])
    if spot is not None and (spot.date, spot.source, spot.estimated) != (day, source, False):
        spot_cells = [spot.date, spot.source, spot.estimated]
    since = None if offer.on_demand.date == day else offer.on_demand.date
    usd = [offer.on_demand.usd_per_hour, since, spot.usd_per_hour if spot else None]
    return [offer.instance.name, *usd, *spot_cells, offer.interruption, offer.dbu_per_hour]


def _cell(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def pairs(indent: str = "", /, **values: object) -> list[str]:
    """`key: value` lines of the values that are not None; text in double quotes."""
    return [
        f"{indent}{key}: {_quoted(value) if isinstance(value, str) else _cell(value)}"
        for key, value in values.items()
        if value is not None
    ]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{" ".join(escaped.split())}"'


def block(key: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """A key whose value is a block of comma-separated rows."""
    lines = [f"{key}: |", "  " + ",".join(columns)]
    return lines + ["  " + ",".join(map(_csv_cell, row)) for row in rows]


def _csv_cell(text: str) -> str:
    plain = " ".join(text.split())
    return '"' + plain.replace('"', '""') + '"' if "," in plain or '"' in plain else plain


def shapes_file_text(name: str, instances: Sequence[InstanceType], source: str) -> str:
    """A shapes file (docs/catalogs.md) of types whose scores are of one benchmark."""
    benchmark = next((instance.cpu_benchmark for instance in instances if instance.cpu_score), None)
    keys = ("name", *_SHAPE)
    used_keys = [
        key for key in keys if any(getattr(instance, key) is not None for instance in instances)
    ]
    rows = [[_cell(getattr(instance, key)) for key in used_keys] for instance in instances]
    head = pairs(shapes_of=name, source=source, cpu_benchmark=benchmark)
    return "\n".join([*head, *block("instances", used_keys, rows)]) + "\n"
