"""Looks up instance types by name in the catalogs."""

from __future__ import annotations

from itertools import chain

from engine.catalog import Catalog, InstanceType
from engine.catalog_files.index import list_catalogs
from engine.catalog_files.reader import load_catalog, type_in
from engine.errors import BadInput, UnknownName


def named_type(text: str, *, first: Catalog | str) -> tuple[Catalog | None, InstanceType]:
    """The type of TYPE or TYPE@CATALOG, and its catalog (None for a file of shapes without prices).
    Without @CATALOG the catalog `first` is searched, then all bundled ones.

    Raises:
        UnknownName: when no catalog, or not the named one, has the type.
        BadInput: for an empty catalog name, and the first error in the catalog file.
    """
    name, at, where = text.partition("@")
    if at and not where:
        raise BadInput(f"{text!r} names no catalog", remedy="write TYPE@CATALOG, or TYPE")
    return type_in(name, where) if where else find_type(name, first=first)


def find_type(name: str, *, first: Catalog | str) -> tuple[Catalog, InstanceType]:
    """A type by name, from the catalog `first`, else from the bundled ones.

    Raises:
        UnknownName: when no catalog has it, with the close matches of all.
    """
    first_catalog = first if isinstance(first, Catalog) else load_catalog(first)
    searched: dict[str, Catalog] = {}
    for catalog in chain(
        [first_catalog], map(load_catalog, (entry.path for entry in list_catalogs()))
    ):
        if name in catalog.offers:
            return catalog, catalog.offers[name].instance
        searched.setdefault(catalog.name, catalog)
    known = {offered for catalog in searched.values() for offered in catalog.offers}
    raise UnknownName(
        "instance type",
        name,
        known,
        where=f"catalogs {', '.join(searched)}",
        remedy="`sparkplan catalog show NAME` lists the types of a catalog",
    )
