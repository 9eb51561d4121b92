"""Index of catalog files: the bundled ones by name and region, a user's own by path.

A price file is named `NAME.REGION.DATE.prices.yaml`; of several dates the newest counts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from importlib import resources
from operator import attrgetter
from pathlib import Path

from engine.errors import BadInput, UnknownName

PRICES = ".prices.yaml"
SHAPES = ".shapes.yaml"

OTHER_REGIONS = "for prices of another region see sparkplan catalog refresh --help"


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """A catalog file as described by its file name."""

    name: str
    region: str
    date: date
    path: Path


def list_catalogs(folder: Path | None = None) -> tuple[CatalogEntry, ...]:
    """The newest price file of each catalog and region, by name: of the bundled ones, or of a
    folder of files named `NAME.REGION.DATE.prices.yaml`.

    Raises:
        BadInput: for a price file in the folder with another form of name.
    """
    newest: dict[tuple[str, str], CatalogEntry] = {}
    for path in sorted((folder or bundled_folder()).glob(f"*{PRICES}")):
        entry = _entry(path)
        newest[entry.name, entry.region] = entry
    return tuple(sorted(newest.values(), key=attrgetter("name", "region")))


def _entry(path: Path) -> CatalogEntry:
    try:
        name, region, day = path.name.removesuffix(PRICES).split(".")
        return CatalogEntry(name, region, date.fromisoformat(day), path)
    except ValueError:
        raise BadInput(
            "the name of a price file is not NAME.REGION.DATE.prices.yaml", where=str(path)
        ) from None


def bundled_folder() -> Path:
    return Path(str(resources.files("catalogs")))


def modification_times(folder: Path) -> tuple[tuple[str, int], ...]:
    """(f,) name and modification time (ns since the epoch) of every file in a folder."""
    with os.scandir(folder) as files:
        return tuple(sorted((file.name, file.stat().st_mtime_ns) for file in files))


def catalog_path(name: str, region: str | None = None) -> Path:
    """The price file for a catalog name, a folder or a path; of several regions that of `region`.

    Raises:
        UnknownName: when it is neither a bundled name nor a file, or has no such region.
        BadInput: where there are several regions and none is named.
    """
    known = [entry for entry in list_catalogs() if entry.name == name]
    path = Path(name)
    if not known and os.path.isdir(path):
        known = _only_catalog(list_catalogs(path), path)
    if known:
        return _in_region(known, name, region).path
    if path.suffix in {".yaml", ".yml"} or os.path.exists(path) or len(path.parts) > 1:
        return path
    raise UnknownName("catalog", name, {entry.name for entry in list_catalogs()}, where=None)


def _only_catalog(entries: Sequence[CatalogEntry], folder: Path) -> list[CatalogEntry]:
    """The price files of a folder, which must be of one catalog."""
    names = sorted({entry.name for entry in entries})
    if len(names) != 1:
        what = "price files of several catalogs" if names else "no price files"
        raise BadInput(what, where=str(folder), remedy="name one file", choices=names)
    return list(entries)


def _in_region(known: Sequence[CatalogEntry], name: str, region: str | None) -> CatalogEntry:
    regions = [entry.region for entry in known]
    if region is None and len(known) > 1:
        raise BadInput(
            "has prices of several regions", where=name, remedy="name one with --region",
            choices=regions,
        )  # fmt: skip
    if region is not None and region not in regions:
        where = f"catalog {name}"
        raise UnknownName("region", region, regions, where=where, remedy=OTHER_REGIONS, alike=True)
    return known[0] if region is None else known[regions.index(region)]
