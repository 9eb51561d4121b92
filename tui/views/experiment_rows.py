"""Rows of the Experiments view: the next runs, and the training runs within a budget."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.input_text import training_text
from tui.widgets.table import Column, Row

if TYPE_CHECKING:
    from engine import Advice, Experiment, NextRun
    from tui.experiments_advisor import ExperimentsReport

NEXT_COLUMNS = (
    Column(title="next run", shrink=True, least=14),
    Column(title="input", width=6, align="right", priority=4),
    Column(title="time", width=7, align="right"),
    Column(title="interval", width=13, align="right", priority=5),
    Column(title="price", width=8, align="right"),
    Column(title="saves/run", width=9, align="right", priority=3),
    Column(title="pays after", width=11, align="right"),
    Column(title="changes", width=7, align="right", priority=1),
    Column(title="choice then", width=13, align="right", priority=2),
)

TRAINING_COLUMNS = (
    Column(title="run", shrink=True, least=14),
    Column(title="input", width=6, align="right"),
    Column(title="time", width=7, align="right"),
    Column(title="interval", width=13, align="right", priority=1),
    Column(title="cost", width=8, align="right"),
    Column(title="without it", width=10, align="right"),
    Column(title="teaches", shrink=True, least=14, priority=2),
)


def next_rows(advice: Advice | None) -> list[Row]:
    """A row for the best next run of each type."""
    next_runs = advice.next_runs if advice else ()
    decimals = text.usd_cell_decimals(run.usd for run in next_runs)
    return [
        (
            f"{run.nodes} × {run.instance or 'nodes'}",
            f"{run.fraction * 100:.3g} %",
            text.seconds(run.seconds),
            text.span(run.low, run.high, to="–"),
            text.usd_cell(run.usd, decimals),
            saving,
            text.UNKNOWN if run.gain_seconds is not None else _payback_cell(run.pays_after),
            text.percent(run.changes),
            text.span(run.then_low, run.then_high, to="–"),
        )
        for run, saving in zip(next_runs, training_text.saving_cells(next_runs), strict=True)
    ]


def _payback_cell(runs: float | None) -> str:
    """The number of runs after which it pays, abbreviated."""
    if runs is not None and runs > training_text.MAX_RUNS:
        return f"> {training_text.MAX_RUNS // 1000}k runs"
    return training_text.payback(runs)


def training_rows(report: ExperimentsReport | None) -> list[Row]:
    """A row for each training run; "without it" is how much wider the interval would stay."""
    if report is None or report.plan is None:
        return []
    runs = report.plan.runs
    decimals = text.usd_cell_decimals(run.usd for run in runs)
    without = report.narrowing.without if report.narrowing else (math.nan,) * len(runs)
    return [
        (
            cluster_text(run),
            f"{run.fraction * 100:.3g} %",
            text.seconds(run.seconds),
            text.span_cell(run.low, run.high),
            text.usd_cell(run.usd, decimals),
            _wider(wider),
            (run.teaches, "muted"),
        )
        for run, wider in zip(runs, without, strict=True)
    ]


def _wider(share: float | None) -> str:
    """How much wider the interval stays without a run; NaN where that is not computed."""
    if share is None:
        return "no fit"
    return text.UNKNOWN if math.isnan(share) else f"+{share * 100:.0f} %"


def cluster_text(run: Experiment | NextRun) -> str:
    """Nodes of a type, or cores where the design is about those."""
    name = run.instance or "nodes"
    if run.nodes is None and isinstance(run, engine.Experiment):
        return f"{text.counted(run.cores or 1, 'core')} {name}"
    return f"{run.nodes} × {name}"
