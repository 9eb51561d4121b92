"""Output shared by the headless commands: JSON on stdout, warnings as lines on stderr."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable
from datetime import date
from typing import Any

import engine
from tui import format as text
from tui import streams
from tui.joint_notices import joint_groups, joint_remedy, joint_text


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object; an unknown number is null.

    Characters that the stream cannot encode are escaped, not replaced by similar ones as in text.
    So are control characters of the terminal: JSON itself does not escape U+009B, which starts a
    control sequence as ESC [ does.
    """
    escaped = not streams.is_utf8(sys.stdout)
    line = json.dumps(_jsonable(value), ensure_ascii=escaped, allow_nan=False)
    if not line.isprintable():
        line = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)
    print(line)


def print_text(content: str) -> None:
    """Print lines for people, which a narrow terminal breaks between words."""
    print("\n".join(streams.wrapped(line, sys.stdout) for line in content.split("\n")))


def print_file(content: str) -> None:
    """Print the content of a file in UTF-8, as on a disk, whatever the terminal can show."""
    if streams.is_utf8(sys.stdout):
        sys.stdout.write(content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content.encode("utf-8", "backslashreplace"))


def notices(unordered: Iterable[engine.Notice]) -> list[dict[str, str]]:
    """Warnings as JSON objects."""
    return [notice.to_dict() for notice in engine.in_order(unordered)]


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Fields of a value under their own names, in this order; null for each where the value is
    None."""
    return {name: None if value is None else getattr(value, name) for name in names}


OF_A_RUN = (
    *("seconds", "low", "high", "phases", "bottleneck", "job_profile", "vcore_seconds", "cost"),
    *("cost_usd", "cost_low_usd", "cost_high_usd", "skew_seconds"),
)
"""JSON keys that are null where the job does not end: no run takes that time, or costs that."""


def of_no_run(fields: dict[str, Any]) -> dict[str, Any]:
    """JSON fields of a prediction where the job does not end (`engine.never_ends`)."""
    return {name: None if name in OF_A_RUN else value for name, value in fields.items()}


def catalog_dict(catalog: engine.Catalog | None) -> dict[str, Any] | None:
    """The catalog of the prices as JSON; None where they are no catalog's."""
    return None if catalog is None else fields_of(catalog, "name", "region", "date")


def print_assumptions(lines: Iterable[str]) -> None:
    """Print the assumptions of costs, below them."""
    for line in lines:
        print_text(f"  {text.escaped(line)}")


def print_notices(unordered: Iterable[engine.Notice]) -> None:
    """Print warnings on stderr, each once, so that stdout stays data; those that say one thing in
    one line, with all their codes."""
    for group in joint_groups(engine.in_order(unordered)):
        codes = ", ".join(dict.fromkeys(notice.code for notice in group))
        line = f"warning: {joint_text(group)} [{codes}]; {joint_remedy(group)}"
        streams.say(text.escaped(line))


def _jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _jsonable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_jsonable(entry) for entry in value]
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
