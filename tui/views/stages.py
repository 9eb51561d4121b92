"""The Stages view: where the time of the best composition goes, in phases and stages, beside the
measured run."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from tui import format as text
from tui.views import cluster_words, sentences
from tui.views.prose import Line, Prose
from tui.widgets.table import Column, Row, Table

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Prediction, StageSpan, Timeline
    from tui.answers import Answer
    from tui.panels import Panels

PHASE_COLUMNS = (
    Column(title="phase", shrink=True, least=12, names=True),
    Column(title="time", width=9, align="right"),
    Column(title="share", width=6, align="right"),
    Column(title="", width=24, priority=1),
)

STAGE_COLUMNS = (
    Column(title="", width=1),
    Column(title="stage", width=5, align="right"),
    Column(title="what", shrink=True, least=16, names=True),
    Column(title="tasks", width=7, align="right"),
    Column(title="waves", width=6, align="right", priority=2),
    Column(title="starts", width=8, align="right", priority=4),
    Column(title="takes", width=8, align="right"),
    Column(title="measured", width=8, align="right", priority=3),
    Column(title="bound by", width=8, priority=1),
)

BAR_CELLS = 24

MIN_TIMELINES, MAX_TIMELINES = 8, 18
"""Least and most rows of the timelines with their frame: what they do not need is for the
stages."""

MIN_SUMMARY, MAX_SUMMARY, EDGES = 3, 5, 4
"""Least and most rows of the summary: a step of a slider seldom moves what is below; blank cells at
its sides."""

MIN_PHASES, OTHER_ROWS = 6, 10
"""Least rows of the phases; rows of the terminal for the rest: the frame and three stages."""


def fill(panels: Panels) -> list[Widget]:
    """A summary line, the runs as timelines, the phases, the stages."""
    from tui.views.stage_gantt import StageGantt

    return [
        panels.new(Prose, id="stages-about"),
        panels.panel(panels.new(StageGantt, id="stage-gantt"), "Measured and predicted"),
        panels.panel(panels.new(Table, PHASE_COLUMNS, id="phases"), "Phases"),
        panels.panel(panels.new(Table, STAGE_COLUMNS, id="stage-list"), "Stages as predicted"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """Show the explanation of the best composition, as far as the model gives one."""
    from tui.views.stage_gantt import StageGantt, runs_of

    explained, critical_mark = answer.explained, panels.app.glyphs.filled
    measured, predicted = runs_of(answer.built.profile, explained)
    summary = panels.prose("stages-about")
    summary.show(about(answer, measured, predicted))
    told = len(summary.rows(panels.body_width - EDGES))
    summary_rows = min(MAX_SUMMARY, max(MIN_SUMMARY, told))
    summary.styles.height = summary_rows
    gantt = cast(StageGantt, panels.widget("stage-gantt"))
    gantt.show_runs(measured, predicted, deadline_seconds=panels.app.state.deadline_seconds)
    panels.widget("stages").set_class(predicted is not None, "-told")
    panels.widget("stages").set_class((measured or predicted) is not None, "-drawn")
    timelines = min(MAX_TIMELINES, max(MIN_TIMELINES, gantt.wanted_height + 2))
    panels.widget("stage-gantt-panel").styles.max_height = timelines
    phases = phase_rows(explained, bar=critical_mark) if explained else []
    panels.table("phases").show(phases, message="this model has no phases")
    table_rows = stage_rows(predicted, measured, mark=critical_mark) if predicted else []
    rows_left = panels.height - OTHER_ROWS - summary_rows - timelines
    max_phases = max(MIN_PHASES, rows_left) if table_rows else len(phases) + 3
    panels.widget("phases-panel").styles.height = min(max(1, len(phases)) + 3, max(4, max_phases))
    panels.table("stage-list").show(table_rows, message="this model predicts no single stages")


def about(
    answer: Answer, measured: Timeline | None = None, predicted: Timeline | None = None
) -> list[Line]:
    """A summary line each of the predicted and the measured run."""
    best = answer.best
    if best is None:
        return [[("Nothing can be predicted.", "muted")]]
    lines: list[Line] = [
        [
            (cluster_words.composition(best), "strong"),
            (f" takes {text.seconds(best.seconds)}{_interval(answer)}", "base"),
            (f"{_bound(answer)}{_driver_and_idle(predicted)}.", "base"),
            (_explained_as(answer), "muted"),
        ],
        *sentences.provisional_line(answer),
    ]
    run = answer.built.profile.largest_run
    if run is not None:
        where = text.composition(dict(run.cluster.composition)) or (
            text.executors(run.cluster) if run.cluster.executors else ""
        )
        on = f" ({where})" if where else ""
        measured_text = f"Measured {text.seconds(run.seconds)}{_driver_and_idle(measured)}{on}."
        lines.append([(measured_text, "muted")])
    return lines


def _explained_as(answer: Answer) -> str:
    """The stand-in that is explained in place of a mix."""
    if answer.equivalent is None:
        return ""
    return f" Shown: {text.composition(dict(answer.equivalent))}, of about the same capacity."


def _interval(answer: Answer) -> str:
    """ " (9 in 10 runs: 38 to 44 min)", or " (no interval)"."""
    best, confidence = answer.best, answer.report.goal.confidence
    if best is None or best.low is None:
        return " (no interval)"
    return f" ({text.odds(confidence)} runs: {text.span(best.low, best.high)})"


def _bound(answer: Answer) -> str:
    explained = answer.explained
    return f", bound by {explained.bottleneck}" if explained and explained.bottleneck else ""


def _driver_and_idle(run: Timeline | None) -> str:
    """ "; driver time 2m 03s, cores 12 % idle": no stage runs while the driver works, or waits for
    executors."""
    if run is None:
        return ""
    idle = "" if run.idle_share is None else f", cores {text.percent(run.idle_share)} idle"
    return f"; driver time {text.seconds(run.driver_seconds)}{idle}"


def phase_rows(explained: Prediction, *, bar: str) -> list[Row]:
    """The phases with their shares, as figures and as bars of `bar` characters."""
    phases = explained.phases or {}
    # The time lost to spot interruptions is a phase beyond the model's predicted time.
    whole = max(explained.seconds, sum(phases.values()))
    return [
        (
            name,
            text.seconds(seconds),
            text.percent(seconds / whole),
            (bar * round(BAR_CELLS * seconds / whole), "muted"),
        )
        for name, seconds in phases.items()
    ]


def stage_rows(predicted: Timeline, measured: Timeline | None, *, mark: str) -> list[Row]:
    """The stages of the predicted run in order of start, `mark` before critical ones."""
    seen = _measured_stages(predicted, measured) if measured else {}
    return [_stage_row(stage, seen.get(stage.stage_id), mark) for stage in predicted.stages]


def _measured_stages(predicted: Timeline, measured: Timeline) -> dict[int, StageSpan]:
    """Predicted stage id -> the same stage of the measured run, matched by id and name. The ids of
    a stream's batches go on counting: there, stages are matched by order where all do the same."""
    measured_by_id = {stage.stage_id: stage for stage in measured.stages}
    matched = {
        stage.stage_id: measured_by_id[stage.stage_id]
        for stage in predicted.stages
        if stage.stage_id in measured_by_id
    }
    if matched:
        named = {stage.stage_id: stage.name for stage in predicted.stages}
        return {number: seen for number, seen in matched.items() if seen.name == named[number]}
    predicted_stages, measured_stages = (
        sorted(run.stages, key=lambda stage: stage.stage_id) for run in (predicted, measured)
    )
    if [_steps_of(stage) for stage in predicted_stages] != [
        _steps_of(stage) for stage in measured_stages
    ]:
        return {}
    return {
        stage.stage_id: seen for stage, seen in zip(predicted_stages, measured_stages, strict=True)
    }


def _steps_of(stage: StageSpan) -> tuple[str, list[str]]:
    """The call site of a stage, and its steps: logs of two batches have these in any order."""
    call_site, _, steps = stage.name.partition(": ")
    return call_site, sorted(steps.split(", "))


def _stage_row(stage: StageSpan, seen: StageSpan | None, mark: str) -> Row:
    return (
        (mark if stage.critical else "", "muted"),
        str(stage.stage_id),
        (stage.name, "strong" if stage.critical else "plain"),
        f"{stage.tasks:,}",
        text.UNKNOWN if stage.waves is None else f"{stage.waves:.1f}",
        text.seconds(stage.start_seconds),
        text.seconds(stage.seconds),
        (text.UNKNOWN if seen is None else text.seconds(seen.seconds), "muted"),
        (stage.bottleneck or "", "warn" if stage.bottleneck == "skew" else "plain"),
    )
