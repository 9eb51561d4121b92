"""Writes a curve of `sparkplan curve` as a picture (SVG) or as numbers (CSV)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import engine
from tui import format as text
from tui.charts import chart_csv
from tui.charts.chart_svg import Panel, format_svg
from tui.headless import costs
from tui.storage.user_folders import expand_home
from tui.widgets.chart_data import Axis, ChartData, Series, Threshold
from tui.widgets.numbers import Kind

ENDINGS = (".svg", ".csv")
TIME_KEYS = ("seconds", "low", "high")
_NAMES = {"nodes": "nodes", "input-size": "input", "iterations": "iterations"}


def output_path(name: str) -> Path:
    """The path to write to.

    Raises:
        BadInput: for an ending that is neither a picture nor a table.
    """
    path = expand_home(name)
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
    deadline: float | None = None,
) -> str:
    """The text of the file.

    Args:
        rows: of the points, as in `--json`. at: what is varied: nodes, bytes or times, iterations.
        deadline: in seconds, a line across the times.
    """
    if path.suffix.lower() == ".csv":
        head = ("instance", *rows[0], "confidence")
        listed = ((instance, *row.values(), confidence) for row in rows)
        return chart_csv.format_csv(head, listed)
    kind: Kind = "count" if over in ("nodes", "iterations") else "bytes" if in_bytes else "number"
    label = _NAMES[over] if kind != "number" else "input, times the largest run"
    x = Axis(kind=kind, log=over != "iterations", title=label)
    panels = []
    charts: tuple[tuple[str, tuple[str, ...], Kind], ...] = (
        ("Time", TIME_KEYS, "time"),
        ("Cost", costs.KEYS, "money"),
    )
    for name, keys, unit in charts:
        ys, lows, highs = ([_or_nan(row[key]) for row in rows] for key in keys)
        if not any(map(math.isfinite, ys)):
            continue
        known = any(map(math.isfinite, lows))
        band = f"shaded: {text.odds(confidence)} runs" if known else "no interval"
        series = Series(xs=at, ys=ys, lows=lows, highs=highs, label=instance)
        lines: tuple[Threshold, ...] = ()
        if unit == "time" and deadline is not None:
            lines = (Threshold(value=deadline, label=f"deadline {text.seconds(deadline)}"),)
        y = Axis(kind=unit, log=True)
        data = ChartData(series=(series,), x=x, y=y, thresholds=lines)
        panels.append(Panel(f"{name} by {_NAMES[over]}, {band}", data))
    return format_svg(panels, title=title)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else float(value)
