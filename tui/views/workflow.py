"""The Workflow view: jobs that share the cluster, as a Gantt chart by state and a state table."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, cast

from tui import format as text
from tui import workflow_states
from tui.views import cluster_words
from tui.views.prose import Line, Prose
from tui.widgets.gantt import Gantt, GanttData, GanttRow, Span
from tui.widgets.table import Column, Row, Table
from tui.widgets.text import fit_ends

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import StageInState, WorkflowReport
    from tui.answers import Answer
    from tui.panels import Panels

STATE_COLUMNS = (
    Column(title="state", width=5, align="right"),
    Column(title="from", width=8, align="right", priority=1),
    Column(title="to", width=8, align="right"),
    Column(title="job: stage", shrink=True, least=12),
    Column(title="at once", width=7, align="right"),
    Column(title="task time", width=9, align="right", priority=2),
    Column(title="bound by", width=14),
)

COLOUR_SLOTS = {"cpu": 1, "disk": 2, "network": 3}
NO_BOTTLENECK_SLOT = 4
LEGEND = (
    ("c", 1, "cpu"),
    ("d", 2, "disk"),
    ("n", 3, "network"),
    ("-", 4, "none"),
    ("", 4, "capital: full, number: tasks at once"),
)
NO_STAGES = "needs a workflow or an event log: a run table has no stages"
NO_CLUSTER = "no cluster to show it on: none that can be planned runs the job"
MERGED_CHANGE = 0.25
"""Relative change of a job's parallelism up to which consecutive states share one span."""

MAX_MARKS = 40
"""With more states than this no vertical rules are drawn at state boundaries: they would fill the
chart."""

AXIS_ROWS = 3
"""Rows of the chart below the bars: axis, tick labels, legend."""


def fill(panels: Panels) -> list[Widget]:
    """A summary line, the Gantt chart, the table of states."""
    return [
        panels.new(Prose, id="workflow-about"),
        panels.panel(panels.new(Gantt, id="gantt"), "Jobs by state"),
        panels.panel(panels.new(Table, STATE_COLUMNS, id="states"), "States"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """The states of the best composition."""
    report = panels.app.workflow_report(answer)
    panels.prose("workflow-about").show(about(answer, report))
    data = gantt(report, missing=why_missing(answer))
    cast("Gantt", panels.widget("gantt")).show(data)
    most = panels.height // 2 - (2 if panels.is_short else 0)
    rows = max(2, len(data.rows)) + AXIS_ROWS + panels.frame_rows
    panels.widget("gantt-panel").styles.height = min(rows, max(8, most))
    panels.table("states").show(state_rows(report))


SAME_TIME = 0.01
"""Relative difference up to which the plan's cost holds for the time of the states too."""

NAME_CELLS = 24
"""Width of the workflow's name in the summary, which has two lines for it, the time and its
interval."""


def about(answer: Answer, report: WorkflowReport | None) -> list[Line]:
    """One summary line: jobs, cluster, completion time with its interval, bottleneck and model.

    The cost is added only where the plan's cost belongs to this time: not where another model
    estimated the states, and not before the interpolated answer of the plan is settled.
    """
    best = answer.best
    if report is None or best is None:
        return [[("No states to show.", "muted")]]
    prediction = report.prediction
    of_plan = prediction.model == answer.built.plan.fitted.model
    same_time = isclose(best.seconds, report.seconds, rel_tol=SAME_TIME)
    priced = of_plan and answer.equivalent is None and same_time
    shown = cluster_words.composition(best)
    ends = " ends after " if of_plan else " ends, state by state, after "
    if answer.equivalent is not None:
        shown = text.composition(dict(answer.equivalent))
        ends = " (about the mix's capacity) ends after "
    odds, span = text.odds(prediction.confidence), text.span(prediction.low, prediction.high)
    return [
        [
            (fit_ends(report.name, NAME_CELLS).rstrip(), "strong"),
            (f", {text.counted(len(report.jobs), 'job')}, on ", "base"),
            (shown, "strong"),
            (ends, "base"),
            (text.seconds(report.seconds), "strong"),
            (f" ({odds} runs: {span})", "base"),
            *(cluster_words.cost(best) if priced else []),
            (f", bound by {prediction.bottleneck}; model {prediction.model}.", "base"),
        ]
    ]


def why_missing(answer: Answer) -> str:
    """Why there are no states of an answer, where there are none."""
    return NO_CLUSTER if answer.best is None else NO_STAGES


def gantt(report: WorkflowReport | None, *, missing: str) -> GanttData:
    """One row per job with a span for each state in which it runs; colour and letter are the
    bottleneck of the stage with the most parallel tasks. Without a report `missing` says why there
    is none."""
    if report is None:
        return GanttData(message=missing)
    spans: dict[str, list[Span]] = {job.name: [] for job in report.jobs}
    for state in report.states:
        by_job: dict[str, list[StageInState]] = {}
        for entry in state.running:
            by_job.setdefault(entry.job, []).append(entry)
        for name, entries in by_job.items():
            _add(spans[name], state.start_seconds, state.end_seconds, entries)
    ends = tuple(state.end_seconds for state in report.states[:-1])
    return GanttData(
        rows=tuple(GanttRow(name, tuple(job_spans)) for name, job_spans in spans.items()),
        end=report.seconds,
        marks=ends if len(ends) <= MAX_MARKS else (),
        legend=LEGEND,
    )


def _add(spans: list[Span], start: float, end: float, stages: list[StageInState]) -> None:
    """Append the span of one state, or extend the last span where the bottleneck is the same and
    the parallelism changed by at most `MERGED_CHANGE`."""
    largest = max(stages, key=lambda stage: stage.parallelism)
    letter, kind = letter_of(largest)
    tasks = sum(stage.parallelism for stage in stages)
    before = spans[-1] if spans else None
    if before and before.letter == letter and end > start >= before.end - 1e-9 * end:
        earlier = int(before.caption[1:])
        joined = abs(before.end - start) <= 1e-9 * end
        if joined and abs(tasks - earlier) <= MERGED_CHANGE * earlier:
            spans[-1] = Span(before.start, end, kind, letter, before.caption, largest.contended)
            return
    spans.append(Span(start, end, kind, letter, f"{letter}{tasks}", largest.contended))


def letter_of(stage: StageInState) -> tuple[str, int]:
    """Letter and colour slot of the bottleneck of a stage."""
    slot = COLOUR_SLOTS.get(stage.bottleneck or "", NO_BOTTLENECK_SLOT)
    return workflow_states.bottleneck_letter(stage), slot


def state_rows(report: WorkflowReport | None) -> list[Row]:
    """One row per stage in each state."""
    rows = workflow_states.state_rows(report) if report else ()
    return [
        (
            *(row.number, row.start, row.end),
            row.name if row.stage else ("driver", "muted"),
            *(row.tasks, row.task_time),
            _bound(row.stage) if row.stage else "",
        )
        for row in rows
    ]


def _bound(stage: StageInState) -> str:
    letter, _ = letter_of(stage)
    return f"{letter} {stage.bottleneck or 'none'}{', full' if stage.contended else ''}"
