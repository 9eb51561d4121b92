"""Jobs that share the cluster: a Gantt by states, and the states themselves."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, cast

from tui import format as text
from tui.views import sentences
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

KIND_OF = {"cpu": ("c", 1), "disk": ("d", 2), "network": ("n", 3)}
NONE_KIND = ("-", 4)
LEGEND = (
    ("c", 1, "cpu"),
    ("d", 2, "disk"),
    ("n", 3, "network"),
    ("-", 4, "none"),
    ("", 4, "capital: full, number: tasks at once"),
)
NOTHING = "needs a workflow or an event log: a run table tells no stages"
HARDLY = 0.25
"""A change of a job's parallelism by less than this share begins no new span."""

MAX_MARKS = 40
"""More states than this are not ruled: there would be nothing but rules."""


AXIS_ROWS = 3
"""Rows of the drawing beside those of jobs, which are two at least: axis, figures, legend."""


def fill(panels: Panels) -> list[Widget]:
    """A line, the Gantt, the states."""
    return [
        panels.new(Prose, id="workflow-about"),
        panels.panel(panels.new(Gantt, id="gantt"), "Jobs by state"),
        panels.panel(panels.new(Table, STATE_COLUMNS, id="states"), "States"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """The states of the best composition."""
    found = panels.workflow_report(answer)
    panels.prose("workflow-about").show(about(answer, found))
    data = gantt(found)
    cast("Gantt", panels.widget("gantt")).show(data)
    most = panels.height // 2 - (2 if panels.is_short else 0)
    rows = max(2, len(data.rows)) + AXIS_ROWS + panels.frame_rows
    panels.widget("gantt-panel").styles.height = min(rows, max(8, most))
    panels.refill("states", state_rows(found))


SAME_TIME = 0.01
"""Up to this share apart two times have one cost."""

NAME_CELLS = 24
"""Of the name in the sentence above the charts: the time and how sure it is come after it, and all
of it has two lines."""


def about(answer: Answer, found: WorkflowReport | None) -> list[Line]:
    """What runs where, how long that takes, how sure it is, and what it costs where the plan's cost
    is of these times: those of another model are not, nor those of a grid until it is settled."""
    best = answer.best
    if found is None or best is None:
        return [[("No states to show.", "muted")]]
    answered = found.prediction
    of_plan = answered.model == answer.built.plan.fitted.model
    same_time = isclose(best.seconds, found.seconds, rel_tol=SAME_TIME)
    priced = of_plan and answer.alike is None and same_time
    shown = sentences.composition(best)
    ends = " ends after " if of_plan else " ends, state by state, after "
    if answer.alike is not None:
        shown, ends = (
            text.composition(dict(answer.alike)),
            " (about the mix's capacity) ends after ",
        )
    odds, span = text.odds(answered.confidence), text.span(answered.low, answered.high)
    return [
        [
            (fit_ends(found.name, NAME_CELLS).rstrip(), "strong"),
            (f", {text.counted(len(found.jobs), 'job')}, on ", "base"),
            (shown, "strong"),
            (ends, "base"),
            (text.seconds(found.seconds), "strong"),
            (f" ({odds} runs: {span})", "base"),
            *(sentences.cost(best) if priced else []),
            (f", bound by {answered.bottleneck}; model {answered.model}.", "base"),
        ]
    ]


def gantt(found: WorkflowReport | None) -> GanttData:
    """One row per job, a span per state in which it runs, coloured and lettered by what bounds
    most of its tasks."""
    if found is None:
        return GanttData(message=NOTHING)
    spans: dict[str, list[Span]] = {job.name: [] for job in found.jobs}
    for state in found.states:
        by_job: dict[str, list[StageInState]] = {}
        for entry in state.running:
            by_job.setdefault(entry.job, []).append(entry)
        for name, entries in by_job.items():
            _add(spans[name], state.start_seconds, state.end_seconds, entries)
    ends = tuple(state.end_seconds for state in found.states[:-1])
    return GanttData(
        rows=tuple(GanttRow(name, tuple(own)) for name, own in spans.items()),
        end=found.seconds,
        marks=ends if len(ends) <= MAX_MARKS else (),
        legend=LEGEND,
    )


def _add(spans: list[Span], start: float, end: float, entries: list[StageInState]) -> None:
    """A span for one state; it continues the one before where hardly anything of the job
    changed."""
    main = max(entries, key=lambda entry: entry.parallelism)
    letter, kind = letter_of(main)
    tasks = sum(entry.parallelism for entry in entries)
    before = spans[-1] if spans else None
    if before and before.letter == letter and end > start >= before.end - 1e-9 * end:
        earlier = int(before.caption[1:])
        joined = abs(before.end - start) <= 1e-9 * end
        if joined and abs(tasks - earlier) <= HARDLY * earlier:
            spans[-1] = Span(before.start, end, kind, letter, before.caption, main.contended)
            return
    spans.append(Span(start, end, kind, letter, f"{letter}{tasks}", main.contended))


def letter_of(entry: StageInState) -> tuple[str, int]:
    """The letter (a capital where the resource is full) and the colour slot of a bottleneck."""
    letter, kind = KIND_OF.get(entry.bottleneck or "", NONE_KIND)
    return (letter.upper() if entry.contended else letter), kind


def state_rows(found: WorkflowReport | None) -> list[Row]:
    """One row per stage in each state."""
    rows: list[Row] = []
    for number, state in enumerate(found.states if found else (), 1):
        span = (str(number), text.seconds(state.start_seconds), text.seconds(state.end_seconds))
        if not state.running:
            rows.append((*span, ("driver", "muted"), "", "", ""))
        for place, entry in enumerate(state.running):
            rows.append(
                (
                    *(span if place == 0 else ("", "", "")),
                    f"{entry.job}: {entry.stage}",
                    f"{entry.parallelism:,}",
                    text.seconds(entry.task_seconds),
                    _bound(entry),
                )
            )
    return rows


def _bound(entry: StageInState) -> str:
    letter, _ = letter_of(entry)
    return f"{letter} {entry.bottleneck or 'none'}{', full' if entry.contended else ''}"
