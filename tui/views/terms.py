"""The help line: one line that explains what is at the crosshair, under the mouse, or focused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.state import MAX_NODES, PlanState
from tui.views import inputs
from tui.views.composition_rows import SHORT_NOTES
from tui.views.pages import page
from tui.widgets.chart import Chart
from tui.widgets.numbers import money_text, time_text
from tui.widgets.slider import Slider
from tui.widgets.table import Table, text_of

if TYPE_CHECKING:
    from textual.widget import Widget

SLIDERS = {
    "deadline": "Deadline: the run ends within it (without start-up), at Confidence; del: none",
    "budget": "Budget: the most a run may cost; without Deadline: the fastest; del: none",
    "size": "Data size: the input of the run; the model scales the evidence to it",
    "nodes": "Max nodes: no cluster of more workers is looked at; the master comes on top",
    "confidence": "Confidence: the least probability of being in time; also of the interval",
}
"""By the id of the slider."""

TYPED = {
    "deadline": "Deadline: as 45m, 1h30m or 90 s; empty: none",
    "budget": "Budget: as $12.50; empty: none",
    "size": "Data size: as 2TB, or in the unit of the runs, or 3x: three times theirs",
    "nodes": f"Max nodes: 1 to {MAX_NODES} workers",
    "confidence": "Confidence: as 95 % or 0.95",
}
"""By the id of the slider, while a value is typed: the accepted forms."""

INPUTS = {
    "open": "Source: the runs that everything rests on: logs, tables, profiles",
    "category": "Kind: what sort of job it is; models take their priors from it",
    "ran_on": "Ran on: the type that was measured; speeds of other types follow from it",
    "catalog": "Prices: the catalog of types with their prices, and the day it is of",
    "instances": "Types: those that are considered, by name or glob",
    "limits": "Limits: nodes that are owned, quotas, least and most nodes, types left out",
    "mix": "Mix: how many unlike types one cluster may have",
    "spot": "Billing: on demand or spot prices; -%: discount; +: the managed service on top",
    "model": "Model: what predicts the time; 5 shows all of them on this question",
    "job": "Job: the parameters and iterations that are planned for; :param sets them",
}
"""By the action of the row."""

TABLES = {
    "short": "Compositions: those that meet the goal first, then why the others lost",
    "full": "Compositions: those that meet the goal first, then why the others lost",
    "frontier-list": "Frontier: clusters that no other beats in both time and cost",
    "runs": "Measured runs: each predicted from the others, as if it had not been seen",
    "phases": "Phases: on what the predicted time is spent",
    "stage-list": "Stages: as they are predicted to run on the best composition",
    "states": "State: a span in which the same stages run with the same parallelism",
    "pins": "Pinned plans: each against the first; enter goes back to one",
    "next-runs": "Next run: whether one more measurement is worth its price, best first",
    "training-runs": "Training runs: samples that tell most about the model, within a budget",
}
"""By the id of the table, where no column is pointed at."""

COLUMNS = {
    "composition": "composition: so many workers of a type, the master not among them",
    "others on demand": "others on demand: of these no node is a spot node; max-spot allows some",
    "all on demand": "all on demand: none of the nodes is a spot node",
    "time": "time: the median of what is predicted: half of the runs end earlier",
    "interval": "interval: {odds} runs are expected to end within it",
    "cost": "cost: of one run at its predicted time: nodes, master, service, disks",
    "cost between": "cost between: what a run costs at the ends of that interval",
    "in time": "in time: the probability that a run ends within the deadline",
    "note": "note: what the row rests on, or why it lost",
    "than next faster": "than next faster: what waiting longer than for the one before it saves",
    "time +/-": "time +/-: the difference in time from the first pinned plan",
    "cost +/-": "cost +/-: the difference in cost from the first pinned plan",
    "differs in": "differs in: the inputs that are not those of the first pinned plan",
    "model": "model: a law of how time depends on nodes, type and input",
    "mean RE": "mean RE: mean relative error on runs that it had not seen (leave-one-out)",
    "runs": "runs: how many could be left out and predicted from the others",
    "satisfaction": "satisfaction: of left-out runs predicted in time, how many ended in time",
    "RE": "RE: relative error, (predicted - measured) / measured, of a run left out",
    "predicted": "predicted: from the other runs, as if this one had not been seen",
    "measured": "measured: what the log says",
    "cluster": "cluster: on how many executors, cores and nodes it ran",
    "input": "input: how much the run read, in the unit of the evidence",
    "job": "job: its parameters and iterations in that run",
    "tasks": "tasks: one for each partition; so many slots, so many at once",
    "waves": "waves: tasks / slots; the last one is usually partial and leaves cores idle",
    "bound by": "bound by: what decides its time; tasks: fewer than slots; skew: one long task",
    "stage": "stage: all tasks between two shuffles, as in Spark",
    "state": "state: a span in which the same stages run with the same parallelism",
    "at once": "at once: how many tasks of the stage run at the same time",
    "task time": "task time: how long one task takes at that parallelism",
    "share": "share: of the whole predicted time",
    "phase": "phase: a part of the run that a term of the model predicts",
    "takes": "takes: from its first task to its last",
    "starts": "starts: after the start of the run",
    "what": "what: the call in the job that the stage works for, as its log names it",
    "from": "from: after the start of the run",
    "to": "to: when the next stage starts or one of these ends",
    "job: stage": "job: stage: what runs in this state; driver: no task does",
    "measured run": "measured run: the log or the row of a table that it comes from",
    "name": "name: as it was pinned; now: the plan that the sliders ask for",
    "next run": "next run: the cluster to run the job on, to learn most for its price",
    "price": "price: of that one run",
    "saves/run": "saves/run: what the better choice is expected to save on each later run",
    "pays after": "pays after: later runs until its price is saved; late runs count as dearer",
    "changes": "changes: the chance that another composition is chosen after it",
    "choice then": "choice then: interval of the chosen composition, once this was run",
    "run": "run: the cluster of a training run, on a sample of the input",
    "without it": "without it: how much wider the interval of all of them stays without this run",
    "teaches": "teaches: the part of the time that this run tells most about",
}
"""By the title of the column."""

CHARTS = {
    "time": "Time by nodes: the median; dots: {odds}; bar on the axis: meets the goal",
    "cost": "Cost by nodes: of one run, master and service included; dots: {odds}",
    "frontier-chart": "Frontier: no cluster is both faster and cheaper than one on the line",
}
"""By the id of the chart, without a crosshair."""

PANELS = {
    "why": "Why: what decided, what bounds the run, and what the answer is not sure of",
    "gantt": "Jobs by state: what bounds most of a job's tasks, and how many run at once",
    "stage-gantt": "Runs: stages with their waves; below: idle cores in tenths; d: driver",
    "evidence-about": "The model in use: why, what bounds the run, warnings, what the cost assumes",
}


def help_line(state: PlanState, shown: Widget | None, *, over: str) -> str:
    """The help line, most specific first: a threshold, the column that is pointed at, why a
    composition lost, the row of an input or a model, the widget.

    Args:
        shown: the widget under the mouse, else the focused one.
        over: the threshold under the mouse.
    """
    if over:
        return _line(state, over)
    if isinstance(shown, Slider) and shown.editing:
        return TYPED[str(shown.id)]
    table = shown if isinstance(shown, Table) else None
    if table is not None and table.asked in COLUMNS:
        return COLUMNS[table.asked].format(odds=text.odds(state.confidence))
    name = str(shown.id) if shown is not None else ""
    if state.crosshair is not None and name in CHARTS:
        return _crosshair(state, name)
    return (_row(table) if table is not None else "") or _widget(state, name)


def help_on(state: PlanState, focused: Widget | None) -> tuple[str, list[str]]:
    """The section of keys for the focused widget, and every line on it: what it is, the row under
    its cursor, each of its columns."""
    name = str(focused.id) if focused is not None else ""
    lines = [_widget(state, name)]
    if not isinstance(focused, Table):
        section = "Charts" if isinstance(focused, Chart) else "Everywhere"
        section = "Sliders" if isinstance(focused, Slider) else section
        return section, [line for line in lines if line]
    lines.append(_row(focused))
    columns = dict.fromkeys(column.title.strip() for column in focused.columns)
    odds = text.odds(state.confidence)
    lines += [COLUMNS[title].format(odds=odds) for title in columns if title in COLUMNS]
    return "Lists", [line for line in lines if line]


def _row(table: Table) -> str:
    """The line on the row under the cursor."""
    row = table.cursor
    if table.id == "inputs" and row < len(inputs.ROWS):
        return INPUTS[inputs.ROWS[row]]
    if table.id == "models" and row < len(engine.MODELS):
        model = engine.MODELS[row]
        return f"{model.name}: {model.summary}"
    if table.id == "runs" and row < len(table.rows):
        name, cluster, size, job, *_ = (text_of(cell) for cell in table.rows[row])
        return f"{name}: {', '.join(filter(None, (cluster, size, job)))}"
    if table.id == "short" and row < len(table.rows):
        cells = [text_of(cell) for cell in table.rows[row]]
        named, note = cells[1], cells[-1]
        note_text = next((long for long, short in SHORT_NOTES.items() if short == note), note)
        return f"{named}: {note_text}" if note_text else ""
    return ""


def _widget(state: PlanState, name: str) -> str:
    explanation = {**SLIDERS, **TABLES, **CHARTS, **PANELS}.get(name, "")
    if name and not explanation:
        shown = page(state.view)
        return f"{shown.title}: {shown.what[:1].lower()}{shown.what[1:]}"
    return explanation.format(odds=f"{text.odds(state.confidence)} runs")


def _line(state: PlanState, name: str) -> str:
    """The line on a threshold under the mouse."""
    if name == "deadline" and state.deadline_seconds is not None:
        prefix = f"deadline {time_text(state.deadline_seconds)}: to be met in"
        return f"{prefix} {text.odds(state.confidence)} runs; drag it"
    if name == "budget" and state.budget_usd is not None:
        return f"budget {money_text(state.budget_usd)}: the most one run may cost; drag it"
    return ""


def _crosshair(state: PlanState, name: str) -> str:
    if name == "frontier-chart":
        return "at the crosshair: the cheapest cluster that is this fast; enter: as deadline"
    odds = text.odds(state.confidence)
    late = "in time: P(run <= deadline)" if state.deadline_seconds is not None else "no deadline"
    return f"time: the median; {odds} end in that span; {late}"
