"""Curves and frontiers as CSV: every number, none rounded; what is not known is empty."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine import Choice, Curve

CURVE_HEAD = (
    *("instance", "nodes", "seconds", "low", "high", "confidence"),
    *("cost_usd", "p_deadline", "meets_goal"),
)
CHOICE_HEAD = ("composition", *CURVE_HEAD[1:])

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would run when a text begins so."""


def of_curves(curves: Iterable[Curve], *, confidence: float) -> str:
    """All curves, one row per type and number of nodes."""
    rows = (
        (
            *(curve.instance, int(curve.nodes[place]), curve.seconds[place]),
            *(curve.low[place], curve.high[place], confidence, curve.cost_usd[place]),
            *(curve.p_deadline[place], bool(curve.feasible[place])),
        )
        for curve in curves
        for place in range(len(curve.nodes))
    )
    return format_csv(CURVE_HEAD, rows)


def of_choices(points: Sequence[Choice], meets: Sequence[bool], *, confidence: float) -> str:
    """The points of a frontier, fastest first."""
    rows = (
        (
            " + ".join(f"{count} x {name}" for name, count in choice.composition.items()),
            *(choice.nodes, choice.seconds, choice.low, choice.high, confidence),
            *(choice.cost_usd, choice.p_deadline, met),
        )
        for choice, met in zip(points, meets, strict=True)
    )
    return format_csv(CHOICE_HEAD, rows)


def format_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table as RFC 4180 has it, but for line ends as everywhere here."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue()


def _cell(value: Any) -> str:
    """A value as text that reads back as the same number; text that no spreadsheet runs."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    if isinstance(value, int):
        return str(value)
    return repr(float(value)) if math.isfinite(value) else ""
