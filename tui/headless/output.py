"""What the headless commands share: JSON on stdout, warnings as lines on stderr."""

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


def print_json(value: dict[str, Any]) -> None:
    """One JSON object; a number that is not known is null. Where a character cannot be written it
    is escaped: data are not replaced by forms that look like them. So are those that steer a
    terminal: JSON itself has no escapes for U+009B, which begins a sequence as ESC [ does."""
    escaped = not streams.is_utf8(sys.stdout)
    line = json.dumps(_plain(value), ensure_ascii=escaped, allow_nan=False)
    if not line.isprintable():
        line = "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in line)
    print(line)


def print_file(content: str) -> None:
    """A file of ours on stdout: UTF-8, as on a disk, whatever the terminal can show."""
    if streams.is_utf8(sys.stdout):
        sys.stdout.write(content)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(content.encode("utf-8", "backslashreplace"))


def notices(found: Iterable[engine.Notice]) -> list[dict[str, str]]:
    """Warnings as the JSON contract has them."""
    return [notice.to_dict() for notice in engine.in_order(found)]


def fields_of(value: object, *names: str) -> dict[str, Any]:
    """Fields of a value under their own names, in this order; of None each is null."""
    return {name: None if value is None else getattr(value, name) for name in names}


def catalog_dict(catalog: engine.Catalog | None) -> dict[str, Any] | None:
    """Whose prices costs are told by; None where it is no catalog's."""
    return None if catalog is None else fields_of(catalog, "name", "region", "date")


def print_assumptions(lines: Iterable[str]) -> None:
    """What costs rest on, below them."""
    for line in lines:
        print(f"  {text.shown(line)}")


def print_notices(found: Iterable[engine.Notice]) -> None:
    """Warnings for a person, each once, on stderr so that stdout stays data."""
    for notice in engine.in_order(found):
        line = f"warning: {notice.text} [{notice.code}]; {notice.remedy}"
        streams.say(text.shown(line))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, date):
        return value.isoformat()
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
