"""Synonyms of run table columns in other tools, to suggest renames where a required one is missing.

They are not accepted as such, since they may have another unit or mean a total.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

SYNONYMS = {
    "nodes": re.compile(
        r"machines|hosts|workers|instances|scale_?out"
        r"|(num|number_of|n)_(nodes|workers|instances|machines)"
        r"|(node|worker|instance|machine)_count"
    ),
    "input_size": re.compile(
        r"size|input|data|dataset|volume|(data|dataset|input|input_data|problem)_?size|data_volume"
    ),
    "instance_type": re.compile(
        r"(node|machine|worker|vm|instance|server)_?(type|size|flavou?r|sku|class)|instance|machine"
    ),
    "seconds": re.compile(
        r"time|duration|elapsed|(gross_)?run_?time|(elapsed|execution|completion|total|wall)_?time"
    ),
}
"""Column -> names used in published tables."""

CONTENT = {
    "nodes": "nodes (how many)",
    "input_size": "input_size (how much input: 48GB, or plain numbers of one unit)",
    "seconds": "seconds (how long the run took: 2700 or 45m)",
}
"""Column -> description of its content, for tables without a synonym of it."""

UNIT_ALONE = {
    "input_size": re.compile(r"bytes|[kmgt]i?b|(kilo|mega|giga|tera)bytes"),
    "seconds": re.compile(r"secs?|ms|millis|milliseconds|mins|minutes?|hours?"),
}
"""Column names that consist of a unit only."""

UNITS = {
    "input_size": re.compile(r"b|bytes|[kmgt]i?b"),
    "seconds": re.compile(r"s|secs?|seconds?|ms|millis|milliseconds|mins?|minutes?|h|hours?"),
}
"""Unit suffixes of such names."""

EXPECTED = {
    "input_size": ("", "b", "bytes"),
    "seconds": ("", "s", "sec", "secs", "second", "seconds"),
}
"""Units that need no conversion of the numbers."""


def column_or_synonym(columns: Sequence[str], required: str) -> str | None:
    """The required column itself, or the first synonym of it; None without either."""
    if required in columns:
        return required
    return next((name for name in columns if _unit(name, required) is not None), None)


def renames(columns: Sequence[str], missing: Sequence[str], written: Sequence[str]) -> list[str]:
    """The suggested rename for each missing column that has a synonym; `written` are the columns as
    written in the file."""
    as_written = dict(zip(columns, written, strict=True))
    renames = []
    for required in missing:
        name = column_or_synonym(columns, required)
        if name is None or name == required:
            continue
        unit = _unit(name, required)
        given = "" if unit in EXPECTED.get(required, ("",)) else f", which counts {unit},"
        counted = "bytes" if required == "input_size" else required
        convert = f" and write it as {counted}, or each with its unit" if given else ""
        renames.append(f"rename column {as_written[name]!r}{given} to {required}{convert}")
    return renames


def _unit(name: str, required: str) -> str | None:
    """The unit in a column's name, "" for none; None where the name is not a synonym."""
    if SYNONYMS[required].fullmatch(name):
        return ""
    if required in UNIT_ALONE and UNIT_ALONE[required].fullmatch(name):
        return name
    stem, _, unit = re.sub(r"[\[\](){}_]+", "_", name).strip("_").rpartition("_")
    if required not in UNITS or not UNITS[required].fullmatch(unit):
        return None
    return unit if stem == required or SYNONYMS[required].fullmatch(stem) else None
