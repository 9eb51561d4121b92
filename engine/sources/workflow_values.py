"""What the values of a workflow file may be: types, counts, shares and rates from text."""

from __future__ import annotations

import math
import re

from engine.catalog import InstanceType
from engine.catalog_file import load_catalog
from engine.errors import BadInput
from engine.units import parse_bytes

DEFAULT_CATALOG = "aws"
MOST_TASKS = 10_000_000
"""A stage with more tasks is a slip: no scheduler bears them."""

_GBPS = re.compile(r"^([\d.]+)\s*([kmg]?)(?:bps|bit/s)$", re.IGNORECASE)
_BITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9}


def instance_type(text: str) -> InstanceType:
    """A type as TYPE or TYPE@CATALOG."""
    name, _, catalog = text.partition("@")
    return load_catalog(catalog or DEFAULT_CATALOG).offer(name).instance


def positive(text: str) -> float:
    """A number above zero."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0.0):
        raise BadInput(f"must be a number above zero, not {text!r}")
    return value


def whole(text: str) -> int:
    """A whole number of at least one."""
    value = positive(text)
    if value != int(value):
        raise BadInput(f"must be a whole number, not {text!r}")
    return int(value)


def tasks(text: str) -> int:
    """A number of tasks."""
    try:
        value = whole(text)
    except BadInput:
        raise BadInput(f"must be a whole number of at least 1, not {text!r}") from None
    if value > MOST_TASKS:
        raise BadInput(f"must be at most {MOST_TASKS:,}, not {text!r}")
    return value


def share(text: str) -> float:
    """A standard deviation over the mean: zero or more."""
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= MOST_SPREAD:
        raise BadInput(f"must be a share such as 0.2 or 20%, not {text!r}")
    return value


MOST_SPREAD = 3.0
"""Task times that differ by more follow no normal law."""


def rate(text: str) -> float:
    """Bytes per second from "250MB", "250MB/s" or "1Gbps"."""
    bits = _GBPS.match(text.strip())
    if bits:
        try:
            value = float(bits[1]) * _BITS[bits[2].lower()] / 8.0
        except ValueError:
            value = 0.0
    else:
        value = parse_bytes(text.strip().removesuffix("/s"))
    if value <= 0.0:
        raise BadInput(f"a rate must be more than zero, not {text!r}")
    return value
