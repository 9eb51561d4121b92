"""Converters for the values of a workflow file: types, counts, spreads and rates from text. The
rates of a resource profile are written in the same ways."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from engine.catalog import DEFAULT_CATALOG, MOST_MEMORY_GIB, InstanceType
from engine.catalog_files.reader import named_type
from engine.cluster import MOST_NODES
from engine.errors import BadInput
from engine.text.quantities import parse_bytes, parse_memory_gib, parse_seconds

MOST_TASKS = 10_000_000
"""A larger number of tasks is a typing error: no scheduler handles as many."""

LEAST_CORES, LEAST_GIB = 1e-3, 1e-6
LEAST_SECONDS, MOST_SECONDS = 1e-6, 365.25 * 86400.0
MOST_BYTES = 1e15
LEAST_RATE, MOST_RATE = 1.0, 1e15
"""Bounds on bytes per second of a task or a node; values beyond are errors of the unit."""

_GBPS = re.compile(r"^(\d+(?:\.\d*)?|\.\d+)\s*([kmgt]?)(?:bps|bit/s)$", re.IGNORECASE)
_EITHER = re.compile(r"^[\d.]+\s*[KMGT]b(?:/s)?$")
"""Ambiguous units: bits by the standard, but often used for bytes."""
_BITS = {"": 1.0, "k": 1e3, "m": 1e6, "g": 1e9, "t": 1e12}

Number = TypeVar("Number", int, float)


def instance_type(text: str) -> InstanceType:
    """An instance type from TYPE or TYPE@CATALOG."""
    return named_type(text, first=DEFAULT_CATALOG)[1]


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


def _within(
    parse: Callable[[str], Number], low: float, high: float, problem: str, remedy: str | None = None
) -> Callable[[str], Number]:
    """A converter that parses with `parse` and checks the range."""

    def convert(text: str) -> Number:
        value = parse(text)
        if not low <= value <= high:
            raise BadInput(f"{problem}, not {text!r}", remedy=remedy)
        return value

    return convert


node_count = _within(whole, 1, MOST_NODES, f"must be at most {MOST_NODES:,}")
"""A number of nodes, cores or containers."""

core_count = _within(
    positive, LEAST_CORES, MOST_NODES, f"must lie between {LEAST_CORES:g} and {MOST_NODES:,}"
)
"""Cores of a node that compute at once, or cores per task."""

container_memory = _within(
    parse_memory_gib, LEAST_GIB, MOST_MEMORY_GIB,
    f"memory lies between 1 kB and {MOST_MEMORY_GIB:,.0f} GiB", "check the unit",
)  # fmt: skip
"""GiB for all containers of a node, or of one container."""

task_duration = _within(
    parse_seconds, LEAST_SECONDS, MOST_SECONDS, "a task takes between a microsecond and a year"
)
"""Seconds of one task."""

task_bytes = _within(parse_bytes, -math.inf, MOST_BYTES, "a task moves at most 1 PB")
"""Bytes that one task moves."""


def tasks(text: str) -> int:
    """A number of tasks."""
    try:
        value = whole(text)
    except BadInput:
        raise BadInput(f"must be a whole number of at least 1, not {text!r}") from None
    if value > MOST_TASKS:
        raise BadInput(f"must be at most {MOST_TASKS:,}, not {text!r}")
    return value


def coefficient_of_variation(text: str) -> float:
    """A coefficient of variation (standard deviation over mean), 0 to 3."""
    try:
        value = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError:
        value = math.nan
    if not 0.0 <= value <= MAX_COEFFICIENT_OF_VARIATION:
        raise BadInput(
            "must be a standard deviation over the mean, from 0 to "
            f"{MAX_COEFFICIENT_OF_VARIATION:g}, such as 0.2 or 20%, not {text!r}"
        )
    return value


MAX_COEFFICIENT_OF_VARIATION = 3.0
"""Task times with a larger coefficient of variation follow no normal distribution."""


def rate(text: str) -> float:
    """Bytes per second from "250MB", "250MB/s", "1Gbps" or a bare number, also as 1.1e8."""
    if _EITHER.match(text.strip()):
        raise BadInput(
            f"{text!r} may be bits or bytes", remedy="write 1Gbps for bits, 125MB/s for bytes"
        )
    value = _bytes_per_second(text.strip())
    if not LEAST_RATE <= value <= MOST_RATE:
        raise BadInput(
            f"a rate lies between 1 B/s and 1 PB/s, not {text!r}",
            remedy="write it like 125MB/s or 1Gbps",
        )
    return value


def _bytes_per_second(text: str) -> float:
    """NaN where it is no rate."""
    if bits := _GBPS.match(text):
        return float(bits[1]) * _BITS[bits[2].lower()] / 8.0
    with suppress(ValueError):
        return float(text)
    try:
        return parse_bytes(text.removesuffix("/s"))
    except BadInput:
        if "," in text:
            raise
        return math.nan
