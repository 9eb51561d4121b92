"""The table of `sparkplan curve`; a long one is thinned out to the rows where something changes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import engine
from tui import format as text
from tui.headless import costs

if TYPE_CHECKING:
    from tui.headless.curve import Point

ALL_LISTED = 25
"""Up to so many rows nothing is left out: as many as a curve over sizes has."""

CHANGE = 0.2
"""By how much time or cost of a row differ from the row listed before it, if neither is an
extreme."""


def as_table(
    over: str,
    points: Sequence[Point],
    rows: Sequence[Mapping[str, Any]],
    confidence: float,
    *,
    unit: str,
) -> str:
    """A row for each point that is listed; sizes in the profile's unit."""
    header: tuple[str, ...] = (over, "time", "low", "high", "cost", "between")
    listed = listed_rows(rows)
    decimals = engine.usd_decimals(rows[i]["cost_usd"] for i in listed)
    body: list[tuple[str, ...]] = [
        (
            size_of(points[i], unit) if over == "input-size" else f"{points[i].at:g}",
            text.seconds(rows[i]["seconds"]),
            text.seconds(rows[i]["low"]),
            text.seconds(rows[i]["high"]),
            text.usd(rows[i]["cost_usd"], decimals=decimals),
            text.usd_range(rows[i]["cost_low_usd"], rows[i]["cost_high_usd"]),
        )
        for i in listed
    ]
    if all(row["cost_low_usd"] is None for row in rows):
        header, body = header[:-1], [row[:-1] for row in body]
    if "p_deadline" in rows[0]:
        chances = (text.in_time(rows[i]["p_deadline"], confidence) for i in listed)
        header = (*header, "in time")
        body = [(*cells, chance) for cells, chance in zip(body, chances, strict=True)]
    table = text.table([header, *body], right=range(len(header)))
    if len(listed) == len(rows):
        return table
    left_out = f"{len(rows) - len(listed)} of {len(rows)} rows are left out"
    within = f"their time and cost are within {100 * CHANGE:.0f} % of the row above"
    return f"{table}\n{left_out}: {within}; --json and --output FILE.csv have all"


def listed_rows(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """The places of the rows to list: the first and the last, the fastest and the cheapest, and
    each whose time or cost differs by `CHANGE` or more from the one listed before it."""
    if len(rows) <= ALL_LISTED:
        return list(range(len(rows)))
    values = [(_known(row["seconds"]), _known(row["cost_usd"])) for row in rows]
    always = {0, len(rows) - 1}
    for column in zip(*values, strict=True):
        known = [i for i, value in enumerate(column) if value is not None]
        always |= {min(known, key=lambda i: (column[i], i))} if known else set()
    listed = [0]
    for i in range(1, len(rows)):
        pairs = zip(values[listed[-1]], values[i], strict=True)
        if i in always or any(_differ(before, now) for before, now in pairs):
            listed.append(i)
    return listed


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else value


def _differ(before: float | None, now: float | None) -> bool:
    """Whether a value has changed by `CHANGE` or more, or has become known or unknown."""
    if before is None or now is None:
        return before is not now
    return abs(now - before) >= CHANGE * abs(before)


def size_of(point: Point, unit: str) -> str:
    """The input of a point; as a multiple of the largest run where its size is not known."""
    if point.workload.scale is not None:
        return f"{point.at:.3g}x"
    return engine.format_bytes(point.at) if unit == "bytes" else f"{point.at:.5g}"


def any_ends(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the job ends, and so takes a time, in any row."""
    return any(math.isfinite(row["seconds"]) for row in rows)


def legend(
    rows: Sequence[Mapping[str, Any]],
    confidence: float,
    paid: engine.Cluster,
    *,
    deadline: float | None = None,
) -> str:
    """The meaning of the columns of interval, cost and deadline, or why there is no cost, or no
    time."""
    if not any_ends(rows):
        return "no time and no cost: the job ends in no row"
    known = any(math.isfinite(row["low"]) for row in rows)
    intervals = f"{text.odds(confidence)} runs take from low to high" if known else "no interval"
    if deadline is not None and any(_known(row["p_deadline"]) is not None for row in rows):
        intervals += f", in time is the share within {text.seconds(deadline)}"
    if any(row["cost_usd"] is not None for row in rows):
        return f"{intervals}, cost is that of the time, {text.priced_by(paid.catalog)}"
    return f"{intervals}, {costs.no_cost(paid)}"
