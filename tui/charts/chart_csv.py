"""Curves and frontiers as CSV: unrounded numbers; what is unknown is empty."""

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
    *("cost_usd", "cost_low_usd", "cost_high_usd", "p_deadline", "meets_goal"),
)
CHOICE_HEAD = ("composition", *CURVE_HEAD[1:])

_FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a text that a spreadsheet would run as a formula."""


def of_curves(curves: Iterable[Curve], *, confidence: float) -> str:
    """All curves, one row per type and number of nodes."""
    rows = (
        (
            *(curve.instance, int(curve.nodes[i]), curve.seconds[i]),
            *(curve.low[i], curve.high[i], confidence),
            *(curve.cost_usd[i], curve.cost_low_usd[i], curve.cost_high_usd[i]),
            *(curve.p_deadline[i], bool(curve.feasible[i])),
        )
        for curve in curves
        for i in range(len(curve.nodes))
    )
    return format_csv(CURVE_HEAD, rows)


def of_choices(points: Sequence[Choice], meets: Sequence[bool], *, confidence: float) -> str:
    """The points of a frontier, fastest first."""
    rows = (
        (
            " + ".join(f"{count} x {name}" for name, count in choice.composition.items()),
            *(choice.nodes, choice.seconds, choice.low, choice.high, confidence),
            *(choice.cost_usd, choice.cost_low_usd, choice.cost_high_usd, choice.p_deadline, met),
        )
        for choice, met in zip(points, meets, strict=True)
    )
    return format_csv(CHOICE_HEAD, rows)


def format_csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table by RFC 4180, except that lines end in LF."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return written.getvalue()


def _cell(value: Any) -> str:
    """A value as text that reads back as the same number, and that no spreadsheet runs."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, str):
        return f"'{value}" if value.startswith(_FORMULA) else value
    if isinstance(value, int):
        return str(value)
    return repr(float(value)) if math.isfinite(value) else ""
