"""The Evidence view: every model on the same question with its leave-one-out error, the measured
runs with their predictions, the assumptions of the cost, every warning."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.input_text import job_text
from tui.state import PlanState
from tui.views import sentences
from tui.views.marks import Marks
from tui.views.planner_words import in_planner
from tui.views.prose import Line, Prose, Tone
from tui.widgets.numbers import time_text
from tui.widgets.table import Cell, CellStyle, Column, Row, Table, text_of

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Choice, FitOutcome, LeftOut, ModelAnswer, Prediction, Profile, Run
    from tui.answers import Answer
    from tui.panels import Panels

MODEL_COLUMNS = (
    Column(title="", width=1),
    Column(title="model", shrink=True, least=15),
    Column(title="time", width=8, align="right"),
    Column(title="interval", width=text.SPAN_CELLS, align="right", priority=1),
    Column(title="off by", width=8, align="right"),
    Column(title="runs", width=4, align="right", priority=4),
    Column(title="kept", width=5, align="right", priority=3),
    Column(title="note", shrink=True, least=18, priority=2),
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


ComparisonRow = tuple[str, "ModelAnswer | None"]
"""The name of a model, and its answer once there is one."""

DEFAULT = "sparkplan"

QUESTION = "Every model on this question"
NO_RUNS = "no runs, only a job profile"
WORKFLOW_RUNS = "a workflow has no runs of its own: it is put together from its jobs"
WORKFLOW_MODEL = "It alone plans a workflow: no other model has several jobs on one cluster."

PENDING_CELL: Cell = ("...", "muted")

SEVERAL = 5
"""With fewer left-out runs, the errors of two models hardly tell them apart."""


def fill(panels: Panels) -> list[Widget]:
    """The models, the text on the model in use and the assumptions, and the runs."""
    about = panels.new(Prose, focusable=True, id="evidence-about")
    return [
        panels.panel(panels.new(Table, MODEL_COLUMNS, id="models"), QUESTION),
        panels.panel(about, "Model and assumptions"),
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
    """The question that the models answer. No model handles unlike nodes: for a mix they predict
    its stand-in of one type."""
    if answer.equivalent is None:
        return QUESTION
    return f"Every model on {text.composition(dict(answer.equivalent))}, in place of the mix"


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
    return [
        _model_row(state, name, answer, used=name == used, best=name == best, marks=marks)
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
) -> Row:
    tone: CellStyle = "strong" if used else "plain"
    head: list[Cell] = [(marks.best if used else "", "good"), (name, tone)]
    if answer is None:
        return [*head, PENDING_CELL, "", "", "", "", ("fitting ...", "muted")]
    if answer.why_not:
        unknown: list[Cell] = [(text.UNKNOWN, "muted")] * 5
        return [
            (marks.missed, "muted"),
            head[1],
            *unknown,
            (in_planner(answer.why_not), "muted"),
        ]
    error, left_out = answer.outcome.mean_relative_error, len(answer.outcome.left_out)
    return [
        *head,
        *_time(answer.prediction, state.confidence, tone),
        (text.mean_error(error), tone),
        (str(left_out) if left_out else text.UNKNOWN, "plain"),
        (_satisfaction_share(answer.outcome, state.deadline_seconds), "plain"),
        (_note(answer, used=used, best=best), "muted"),
    ]


def _time(prediction: Prediction | None, confidence: float, tone: CellStyle) -> tuple[Cell, Cell]:
    """The time and its interval; neither while the model is asked about another cluster."""
    if prediction is None:
        return PENDING_CELL, ""
    low, high = prediction.forecast.interval(confidence)
    span = text.span(float(low[0]), float(high[0]), to="–")
    return (text.seconds(prediction.seconds), tone), (span, tone)


def _note(answer: ModelAnswer, *, used: bool, best: bool) -> str:
    """ "used, least error, the default", "2 warnings". The warnings of the model in use are all in
    the text below."""
    pending = ["asked again ..."] * (answer.prediction is None)
    why = "the default" if answer.model == DEFAULT else "as chosen"
    parts = ["used"] * used + ["least error"] * best + [why] * used + pending
    labels = ", ".join(parts)
    notices = answer.prediction.warnings if answer.prediction and not used else ()
    warned = len({notice.code for notice in notices})
    counted = text.counted(warned, "warning") if warned else ""
    return "; ".join(part for part in (labels, counted) if part)


def _satisfaction_share(outcome: FitOutcome, deadline: float | None) -> str:
    """Share of the left-out runs predicted within the deadline that met it."""
    record = outcome.deadline_record(deadline) if deadline is not None else None
    return text.UNKNOWN if record is None or record.share is None else _share_text(record.share)


def _share_text(share: float) -> str:
    """A counted share; 0 % and 100 % are exact."""
    return f"{share * 100:.0f} %"


def least_error(compared: Sequence[ComparisonRow], *, used: str) -> tuple[str, float, int] | None:
    """The model with the least mean error on the runs that all models left out, that error, and
    the number of these runs; None where fewer than two models have any. Of equals it is the one
    in use."""
    answering = [answer.outcome for _, answer in compared if answer and not answer.why_not]
    errors, runs = engine.errors_on_common_runs(answering)
    if len(errors) < 2:
        return None
    best = min(errors, key=lambda name: (round(errors[name], 3), name != used))
    return best, errors[best], runs


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


def about(
    state: PlanState,
    answer: Answer,
    marks: Marks,
    compared: Sequence[ComparisonRow] = (),
    *,
    looked: ModelAnswer | None = None,
) -> list[Line]:
    """The text of the view: the model in use and why, further figures of the model under the
    cursor, warnings, leave-one-out errors, models without an answer and why, assumptions of the
    cost."""
    silent: dict[str, list[str]] = {}
    for name, model_answer in compared:
        if model_answer is not None and model_answer.why_not:
            silent.setdefault(model_answer.why_not, []).append(name)
    shown_model, workflow = looked.model if looked is not None else "", answer.built.workflow
    lines: list[Line] = [
        _why_silent(names, why, marks) for why, names in silent.items() if shown_model in names
    ]
    lines.append(model_line(answer))
    lines += _why_used(state, compared) if workflow is None else [[(WORKFLOW_MODEL, "base")]]
    lines += _figures(looked) if looked is not None else []
    lines += sentences.warnings(sentences.notices(answer), marks)
    lines += _satisfaction(state, answer, compared)
    lines += [
        _why_silent(names, why, marks) for why, names in silent.items() if shown_model not in names
    ]
    recommendation = answer.report.recommendation
    lines.append(
        [
            (f"{recommendation.evaluated:,} compositions compared", "base"),
            (", none left out." if recommendation.optimal else ": a better one may exist.", "base"),
        ]
    )
    assumptions = sentences.assumptions(answer)
    lines += [[("Cost: ", "muted"), (sentences.sentence(line), "base")] for line in assumptions]
    return lines


def _why_silent(names: Sequence[str], why: str, marks: Marks) -> Line:
    """Why models have no answer; those of one reason have one line."""
    reason = f": {sentences.sentence(in_planner(why))}"
    return [(f"{marks.missed} ", "muted"), (", ".join(names), "strong"), (reason, "base")]


def _figures(model_answer: ModelAnswer) -> list[Line]:
    """Further predicted figures of a model, and the executors that it recommends on a cluster of
    one's own."""
    lines: list[Line] = []
    if model_answer.prediction is not None and model_answer.prediction.job_profile:
        figures = text.figures(model_answer.prediction.job_profile)
        lines.append([(model_answer.model, "strong"), (f": {figures}.", "base")])
    if model_answer.why_no_executors:
        reason = f"not known: {sentences.sentence(model_answer.why_no_executors)}"
        return [*lines, [("Executors of your own: ", "muted"), (reason, "base")]]
    if model_answer.executors is None or model_answer.executors.recommended is None:
        return lines
    lines.append(_own_executors(model_answer.executors.recommended))
    memory_notices = [n for n in model_answer.executors.warnings if n.code == "assured-memory"]
    return lines + [[(sentences.sentence(notice.text), "muted")] for notice in memory_notices]


def _own_executors(best: Choice) -> Line:
    """The executors of least resource time, the run time on them, and the reasons."""
    takes = "takes" if best.executors == 1 else "take"
    time = f"{text.seconds(best.seconds)}, {text.span(best.low, best.high)}"
    what = "the least resource time" if best.resource_time is not None else "the least time"
    cost = "" if best.resource_time is None else f"{best.resource_time:,.0f} vcore-s in "
    why = "".join(f"; {reason}" for reason in best.why)
    return [
        ("On executors of your own: ", "muted"),
        (text.counted(best.executors, "executor") + text.executor_size(best.layout), "strong"),
        (f" {takes} {what} ({cost}{time}){why}.", "base"),
    ]


def model_line(answer: Answer) -> Line:
    """The model in use, the number of runs it was fitted to, and its leave-one-out error."""
    plan = answer.built.plan
    workload = plan.surface.workload
    fitted = plan.fitted.answering(workload)
    used = text.runs_used(fitted.runs_used(workload), len(answer.built.profile.runs))
    line: list[tuple[str, Tone]] = [("Model ", "muted"), (fitted.model, "strong")]
    if answer.built.jobs is not None:
        jobs = text.counted(answer.built.jobs, "job")
        return [*line, (f" on {jobs}; it was tried on no run of the whole.", "base")]
    line.append((f" on {used}", "base"))
    if fitted.validation is None:
        return [*line, ("; too few runs to try it on one that it has not seen.", "base")]
    return [
        *line,
        ("; on each run, fitted without it, it was off by ", "base"),
        (text.mean_error(fitted.validation.mean_relative_error), "strong"),
        (" on average.", "base"),
    ]


def _why_used(state: PlanState, compared: Sequence[ComparisonRow]) -> list[Line]:
    """Why this model is used: it was chosen, or is the default; and whether another had a smaller
    error. Of the default alone nothing: the rows are those of the warnings."""
    is_default = state.model == DEFAULT
    why = "It is the default." if is_default else f"You chose it; the default is {DEFAULT}."
    least = least_error(compared, used=state.model)
    if least is None:
        return [] if is_default else [[(why, "base")]]
    best, error, runs = least
    on = f"on the {text.counted(runs, 'run')} that all left out"
    if best == state.model:
        return [[(f"{why} None was off less {on}.", "base")]]
    few = " So few prove little." if runs < SEVERAL else ""
    less = f" {best} was off less {on} ({text.mean_error(error)}); m chooses it.{few}"
    return [[(why, "base"), (less, "base")]]


def _satisfaction(
    state: PlanState, answer: Answer, compared: Sequence[ComparisonRow]
) -> list[Line]:
    """Relative error (RE), its mean and the deadline satisfaction of the model in use, as OptEx
    defines them."""
    used_answer = dict(compared).get(answer.built.plan.fitted.model)
    if used_answer is None or not used_answer.outcome.left_out:
        return []
    errors = [pair.relative_error for pair in used_answer.outcome.left_out]
    errors_text = (
        f"RE {text.signed_percent(min(errors), unit='')} to {text.signed_percent(max(errors))}, "
        f"mean relative error {text.mean_error(used_answer.outcome.mean_relative_error)} "
        f"over {text.counted(len(errors), 'left-out run')}"
    )
    deadline = state.deadline_seconds
    record = used_answer.outcome.deadline_record(deadline) if deadline is not None else None
    if record is None or deadline is None:
        return [[("OptEx's figures: ", "muted"), (f"{errors_text}.", "base")]]
    within = time_text(deadline)
    if record.share is None:
        satisfaction = f"deadline satisfaction not known, none was predicted within {within}"
    else:
        runs = text.counted(record.cases, "run")
        satisfaction = (
            f"deadline satisfaction {_share_text(record.share)} of {runs} predicted within {within}"
        )
    return [[("OptEx's figures: ", "muted"), (f"{errors_text}; {satisfaction}.", "base")]]
