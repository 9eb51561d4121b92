"""Writes a curve of `sparkplan curve` as a picture (SVG) or as numbers (CSV)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import engine
from tui import format as text
from tui.charts import chart_csv
from tui.charts.chart_svg import Panel, format_svg
from tui.widgets.chart_data import Axis, ChartData, Series
from tui.widgets.numbers import Kind

ENDINGS = (".svg", ".csv")
_NAMES = {"nodes": "nodes", "input-size": "input", "iterations": "iterations"}


def output_path(name: str) -> Path:
    """The path to write to.

    Raises:
        BadInput: for an ending that is neither a picture nor a table.
    """
    path = Path(name).expanduser()
    if path.suffix.lower() not in ENDINGS:
        raise engine.BadInput(
            f"{name!r} is neither a picture nor a table",
            where="--output",
            remedy="end it in .svg or .csv",
        )
    return path


def content(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    *,
    over: str,
    at: Sequence[float],
    in_bytes: bool,
    instance: str,
    title: str,
    confidence: float,
) -> str:
    """The text of the file.

    Args:
        rows: of the points, as in `--json`. at: what is varied: nodes, bytes or times, iterations.
    """
    if path.suffix.lower() == ".csv":
        head = ("instance", *rows[0], "confidence")
        listed = ((instance, *row.values(), confidence) for row in rows)
        return chart_csv.format_csv(head, listed)
    kind: Kind = "count" if over in ("nodes", "iterations") else "bytes" if in_bytes else "number"
    label = _NAMES[over] if kind != "number" else "input, times the largest run"
    x = Axis(kind=kind, log=over != "iterations", title=label)
    seconds, low, high = ([float(row[key]) for row in rows] for key in ("seconds", "low", "high"))
    costs = [float("nan") if row["cost_usd"] is None else float(row["cost_usd"]) for row in rows]
    time = Series(xs=at, ys=seconds, lows=low, highs=high, label=instance)
    panels = [
        Panel(
            f"Time by {_NAMES[over]} (shaded: {text.odds(confidence)} runs)",
            ChartData(series=(time,), x=x, y=Axis(kind="time", log=True)),
        )
    ]
    if any(cost == cost for cost in costs):
        cost = Series(xs=at, ys=costs, label=instance)
        data = ChartData(series=(cost,), x=x, y=Axis(kind="money", log=True))
        panels.append(Panel(f"Cost by {_NAMES[over]}", data))
    return format_svg(panels, title=title)
