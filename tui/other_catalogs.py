"""Which bundled catalog has a type that the catalog of the question lacks."""

from __future__ import annotations

import fnmatch

import engine

_OF_ONE_CATALOG = "catalog "
"""How the place of an error begins where one catalog was searched."""


def naming_other_catalog(error: engine.EngineError) -> engine.EngineError:
    """The error for an unknown type or glob, with the bundled catalog that has it as its remedy:
    no name there is a slip of the one asked for. Any other error as it is."""
    where = error.where or ""
    if not isinstance(error, engine.UnknownName) or not where.startswith(_OF_ONE_CATALOG):
        return error
    if not error.what.startswith("unknown instance type"):
        return error
    searched = where.removeprefix(_OF_ONE_CATALOG)
    homes = [
        entry.name
        for entry in engine.list_catalogs()
        if entry.name != searched
        and fnmatch.filter(engine.load_catalog(entry.path).offers, error.name)
    ]
    if not homes:
        return error
    named = f"catalogs {' and '.join(homes)} have" if len(homes) > 1 else f"catalog {homes[0]} has"
    return engine.BadInput(error.what, where=where, remedy=f"{named} it")
