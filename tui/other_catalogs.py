"""Which bundled catalog has a type that the catalog of the question lacks."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

import engine


def naming_other_catalog(error: engine.EngineError) -> engine.EngineError:
    """The error for an unknown type or glob, with the bundled catalog that has it as its remedy:
    no name there is a slip of the one asked for. Any other error as it is."""
    if not isinstance(error, engine.UnknownType) or error.elsewhere is None:
        return error
    homes = list(_with_type(error.name, other_than=error.catalog))
    if not homes:
        return error
    named = f"catalogs {' and '.join(homes)} have" if len(homes) > 1 else f"catalog {homes[0]} has"
    typed = " or ".join(f"{error.elsewhere}{home}" for home in homes)
    return engine.BadInput(error.what, where=error.where, remedy=f"{named} it: write {typed}")


def _with_type(pattern: str, *, other_than: str) -> Iterator[str]:
    """The names of the bundled catalogs that have it. One that cannot be read has nothing: this is
    for a hint beside an error, and must not take its place."""
    for entry in engine.list_catalogs():
        if entry.name == other_than:
            continue
        try:
            offers = engine.load_catalog(entry.path).offers
        except (engine.EngineError, OSError):
            continue
        if fnmatch.filter(offers, pattern):
            yield entry.name
