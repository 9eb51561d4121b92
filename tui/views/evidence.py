"""The Evidence view: every model on the same question with its leave-one-out error, the text on the
model in use, the measured runs with their predictions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tui import format as text
from tui.input_text import job_text
from tui.state import PlanState
from tui.views.cluster_words import composition
from tui.views.evidence_text import (
    DEFAULT,
    ComparisonRow,
    about,
    least_error,
    model_title,
)
from tui.views.marks import Marks
from tui.views.planner_words import in_planner
from tui.views.prose import Prose
from tui.widgets.table import Cell, CellStyle, Column, Row, Table, text_of

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import FitOutcome, LeftOut, ModelAnswer, Prediction, Profile, Run
    from tui.answers import Answer
    from tui.panels import Panels

MODEL_COLUMNS = (
    Column(title="", width=1),
    Column(title="model", shrink=True, least=15),
    Column(title="time", width=8, align="right"),
    Column(title="interval", width=text.SPAN_CELLS, align="right", priority=1),
    Column(title="mean RE", width=8, align="right"),
    Column(title="runs", align="right", priority=3, filled=True),
    Column(title="satisfaction", align="right", priority=2, filled=True),
    Column(title="note", shrink=True, least=18, priority=4, spreads=True),
)


def closer(cluster: str, cells: int) -> str:
    """Measured executors in fewer cells: without their nodes, then abbreviated."""
    shown = cluster.partition(" on ")[0]
    return shown if len(shown) <= cells else _EXECUTORS.sub("exec.", shown)


_EXECUTORS = re.compile(r"executors?\b")

EXECUTORS_CELLS = 19
"""Most of the least width of a cluster, "12 exec. of 4 cores": a name is cut before."""

RUN_COLUMNS = (
    Column(title="measured run", shrink=True, least=14, names=True),
    Column(title="cluster", shrink=True, priority=2, closer=closer),
    Column(title="input", align="right", priority=3),
    Column(title="job", shrink=True, least=12, priority=4, filled=True),
    Column(title="measured", width=9, align="right"),
    Column(title="predicted", width=9, align="right"),
    Column(title="RE", width=6, align="right"),
    Column(title="", priority=5, filled=True),
)


def run_columns(rows: Sequence[Row]) -> tuple[Column, ...]:
    """The columns of the measured runs: the name is cut before a cluster in its fewest cells is."""
    name, cluster, *others = RUN_COLUMNS
    fewest = max((len(closer(text_of(row[1]), 0)) for row in rows), default=0)
    least = min(EXECUTORS_CELLS, max(fewest, len(cluster.title)))
    return name, cluster._replace(least=least), *others


QUESTION = "Every model"
NO_RUNS = "no runs, only a job profile"
WORKFLOW_RUNS = "a workflow has no runs of its own: it is put together from its jobs"
PENDING_CELL: Cell = ("...", "muted")


def fill(panels: Panels) -> list[Widget]:
    """The models, the text on the model in use and the assumptions, and the runs."""
    return [
        panels.panel(panels.new(Table, MODEL_COLUMNS, id="models"), QUESTION),
        panels.panel(panels.new(Prose, focusable=True, id="evidence-about"), "Model"),
        panels.panel(panels.new(Table, RUN_COLUMNS, id="runs"), "Measured runs"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """Show the comparison; the runs are predicted by the model under the cursor."""
    used_model = answer.built.plan.fitted.model
    compared = panels.app.comparing.rows(answer)
    models = panels.table("models")
    rows = model_rows(panels.app.state, compared, used=used_model, marks=panels.app.marks)
    cursor = _cursor_row(models, compared, used=used_model, best=panels.app.marks.best)
    models.show(rows, message="nothing to predict", cursor=cursor)
    panels.set_title("models", question_title(answer))
    default = used_model == DEFAULT
    panels.set_title("evidence-about", model_title(answer) + ", the default" * default)
    panels.widget("models-panel").styles.height = len(rows) + panels.frame_rows + 1
    model_at_cursor = compared[models.cursor][1] if models.cursor < len(compared) else None
    panels.prose("evidence-about").show(
        about(panels.app.state, answer, panels.app.marks, compared, looked=model_at_cursor)
    )
    model_name = compared[models.cursor][0] if models.cursor < len(compared) else used_model
    left_out = model_at_cursor.outcome.left_out if model_at_cursor else ()
    from_others = f", each as {model_name} predicts it from the others"
    several = len(answer.built.profile.runs) > 1
    panels.set_title("runs", f"Measured runs{from_others if several else ''}")
    rows_of_runs = run_rows(answer.built.profile, left_out)
    empty_text = NO_RUNS if answer.built.workflow is None else WORKFLOW_RUNS
    panels.table("runs").show(rows_of_runs, message=empty_text, columns=run_columns(rows_of_runs))
    # Rows that a few runs leave over hold warnings.
    max_height = max(1, len(rows_of_runs)) + panels.frame_rows + 1
    panels.widget("runs-panel").styles.max_height = max_height


def question_title(answer: Answer) -> str:
    """The cluster that the models are asked about. No model handles unlike nodes: for a mix they
    predict its stand-in of one type."""
    if answer.equivalent is not None:
        return f"{QUESTION} on {text.composition(dict(answer.equivalent))}, in place of the mix"
    return QUESTION if answer.best is None else f"{QUESTION} on {composition(answer.best)}"


def _cursor_row(
    models: Table, compared: Sequence[ComparisonRow], *, used: str, best: str
) -> int | None:
    """Row for the cursor: the model in use at first, and again when another one becomes it (`best`
    marks it); None where the user has moved the cursor to another model."""
    names = [name for name, _ in compared]
    moved_away = bool(models.rows) and text_of(models.rows[models.cursor][0]) != best
    return None if moved_away or used not in names else names.index(used)


def model_rows(
    state: PlanState, compared: Sequence[ComparisonRow], *, used: str, marks: Marks
) -> list[Row]:
    """One row per model, with marks for the model in use and for those without an answer."""
    least = least_error(compared, used=used)
    counts = {len(a.outcome.left_out) for _, a in compared if a and not a.why_not} - {0}
    # Where models left out different runs, the column cannot be compared: only the text says it.
    best = least[0] if least and counts == {least[2]} else None
    unknown = text.UNKNOWN if counts else ""
    return [
        _model_row(
            state, name, answer, used=name == used, best=name == best, marks=marks, unknown=unknown
        )
        for name, answer in compared
    ]


def _model_row(
    state: PlanState,
    name: str,
    answer: ModelAnswer | None,
    *,
    used: bool,
    best: bool,
    marks: Marks,
    unknown: str,
) -> Row:
    """One row; `unknown` stands for the figures of left-out runs of a model without any."""
    tone: CellStyle = "strong" if used else "plain"
    head: list[Cell] = [(marks.best if used else "", "good"), (name, tone)]
    if answer is None:
        return [*head, PENDING_CELL, *[""] * 4, ("fitting ...", "muted")]
    if answer.why_not:
        why_not: Cell = (in_planner(answer.why_not), "muted")
        return [(marks.missed, "muted"), head[1], *[""] * 5, why_not]
    error, left_out = answer.outcome.mean_relative_error, len(answer.outcome.left_out)
    return [
        *head,
        *_time(answer.prediction, state.confidence, tone),
        (text.mean_error(error), "good" if best else tone),
        str(left_out) if left_out else unknown,
        _satisfaction_share(answer.outcome, state.deadline_seconds, unknown),
        (_note(answer, used=used, chosen=name == state.model, best=best), "muted"),
    ]


def _time(prediction: Prediction | None, confidence: float, tone: CellStyle) -> tuple[Cell, Cell]:
    """The time and its interval; neither while the model is asked about another cluster."""
    if prediction is None:
        return PENDING_CELL, ""
    low, high = prediction.forecast.interval(confidence)
    span = text.span(float(low[0]), float(high[0]), to="–")
    return (text.seconds(prediction.seconds), tone), (span, tone)


def _note(answer: ModelAnswer, *, used: bool, chosen: bool, best: bool) -> str:
    """ "used, least error, the default", "2 warnings". The warnings of the model in use are all in
    the text below. A workflow has its model, whichever was `chosen`."""
    pending = ["asked again ..."] * (answer.prediction is None)
    why = "the default" if answer.model == DEFAULT else "as chosen"
    parts = ["used"] * used + ["least error"] * best + [why] * (used and chosen) + pending
    labels = ", ".join(parts)
    notices = answer.prediction.warnings if answer.prediction and not used else ()
    warned = len({notice.code for notice in notices})
    counted = text.counted(warned, "warning") if warned else ""
    return "; ".join(part for part in (labels, counted) if part)


def _satisfaction_share(outcome: FitOutcome, deadline: float | None, unknown: str) -> str:
    """ "100 % of 2": share of the left-out runs predicted within the deadline that met it;
    `unknown` where none was left out, and empty without a deadline."""
    if deadline is None:
        return ""
    record = outcome.deadline_record(deadline)
    return unknown if record is None else text.satisfaction(record)


def run_rows(profile: Profile, left_out: Sequence[LeftOut]) -> list[Row]:
    """One row per measured run with the model's leave-one-out prediction; runs that have one come
    first."""
    predicted = {id(pair.run): pair for pair in left_out if pair.run is not None}
    runs = sorted(profile.runs, key=lambda run: id(run) not in predicted)
    return [_run_row(run, profile, predicted.get(id(run))) for run in runs]


def _run_row(run: Run, profile: Profile, pair: LeftOut | None) -> Row:
    named = run.source or run.application or profile.name
    return (
        named.rsplit("/", 1)[-1],
        text.cluster(run.cluster),
        text.size(run.workload.input_bytes, profile.input_unit),
        job_text.display_text(run.workload),
        text.seconds(run.seconds),
        text.UNKNOWN if pair is None else text.seconds(pair.estimated_seconds),
        text.UNKNOWN if pair is None else text.signed_percent(pair.relative_error),
        ("", "plain") if run.complete else ("incomplete", "warn"),
    )
