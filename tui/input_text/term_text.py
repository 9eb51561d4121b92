"""The terms of a catalog's prices as text: parsers and their inverses."""

from __future__ import annotations

from decimal import Decimal

import engine
from tui.input_text.limit_text import OFF
from tui.state import Terms

TERMS = {
    "region": ("REGION|off", "prices of another region of the catalog"),
    "discount": ("P|off", "off the instance prices, such as 15%"),
    "dbu-price": ("TIER|USD|off", "what a DBU costs (Databricks)"),
    "platform": ("NAME|off", "what runs the executors, with what it leaves them of the memory"),
    "overhead-per-core": ("SIZE|off", "memory beside the heap for each core of an executor"),
    "fill-nodes": ("[on|off]", "a task for each vCPU of measured types too"),
}
"""Key (also the name of an option of the command) -> its argument, and what it does."""


def with_term(terms: Terms, key: str, typed: str) -> Terms:
    """The terms with one changed; "off" restores what the catalog's file says.

    Raises:
        BadInput: for a term without meaning. Whether the catalog has such a region or tier is only
            known when its prices are read.
    """
    off = typed in OFF
    if key == "region":
        return terms._replace(region=None if off else typed)
    if key == "discount":
        return terms._replace(discount_fraction=None if off else parse_discount(typed))
    if key == "dbu-price":
        return terms._replace(dbu=None if off else parse_dbu(typed))
    if key == "overhead-per-core":
        return terms._replace(overhead_per_core_gib=None if off else parse_overhead(typed))
    if key == "fill-nodes":
        if not off and typed not in ("", "on"):
            raise engine.BadInput(f"{typed!r} is neither on nor off", remedy="type on or off")
        return terms._replace(fill_nodes=not off)
    if not off and typed not in engine.PLATFORMS:
        raise engine.UnknownName("platform", typed, engine.PLATFORMS)
    return terms._replace(platform=None if off else typed)


def parse_discount(typed: str) -> float:
    """A discount as a share of the prices; "0" is none, whatever the catalog's file says."""
    return 0.0 if typed.strip() in ("0", "0%") else engine.parse_fraction(typed)


def parse_overhead(typed: str) -> float:
    """GiB per core of an executor; "0" is none beyond Spark's default."""
    return 0.0 if typed.strip() == "0" else engine.parse_memory_gib(typed)


def overhead_text(gib: float | None) -> str | None:
    """The inverse of `parse_overhead`, to the last digit."""
    if not gib:
        return None if gib is None else "0"
    return f"{Decimal(repr(gib)):f}g"


def parse_dbu(typed: str) -> str | float:
    """A tier by its name, or a price."""
    named = typed.strip()[:1].isalpha() and not typed.strip().lower().startswith("usd")
    return typed.strip() if named else engine.parse_usd(typed)
