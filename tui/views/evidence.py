"""What the answer rests on: every model on the same question, how each did on runs that it had not
seen, the measured runs beside what was predicted for them, what the cost assumes, every warning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.input_text import job_text
from tui.state import PlanState
from tui.views import sentences
from tui.views.marks import Marks
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
    Column(title="left out", width=8, align="right"),
    Column(title="runs", width=4, align="right", priority=4),
    Column(title="kept", width=5, align="right", priority=3),
    Column(title="note", shrink=True, least=18, priority=2),
)

RUN_COLUMNS = (
    Column(title="measured run", shrink=True, least=14, names=True),
    Column(title="cluster", shrink=True, least=12, priority=2),
    Column(title="input", width=12, align="right", priority=3),
    Column(title="job", shrink=True, least=12, priority=4),
    Column(title="measured", width=9, align="right"),
    Column(title="predicted", width=9, align="right"),
    Column(title="RE", width=6, align="right"),
    Column(title="", width=10, priority=5),
)

ComparisonRow = tuple[str, "ModelAnswer | None"]
"""A model by name, and its answer once there is one."""

DEFAULT = "sparkplan"

QUESTION = "Every model on this question"
NO_RUNS = "no runs, only a job profile"
WORKFLOW_RUNS = "a workflow has no runs of its own: it is put together from its jobs"
WORKFLOW_MODEL = "It alone plans a workflow: no other model has several jobs on one cluster."

WAITED_FOR: Cell = ("...", "muted")

SEVERAL = 5
"""Left-out runs below which the errors of two models hardly tell them apart."""


def fill(panels: Panels) -> list[Widget]:
    """Every model, the one that is used with what is assumed, and the runs."""
    about = panels.new(Prose, focusable=True, id="evidence-about")
    return [
        panels.panel(panels.new(Table, MODEL_COLUMNS, id="models"), QUESTION),
        panels.panel(about, "Model and assumptions"),
        panels.panel(panels.new(Table, RUN_COLUMNS, id="runs"), "Measured runs"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """What the answer rests on; the runs are those of the model under the cursor."""
    used = answer.built.plan.fitted.model
    compared = panels.compared(answer)
    models = panels.table("models")
    rows = model_rows(panels.state, compared, used=used, marks=panels.marks)
    at = _followed(models, compared, used=used, best=panels.marks.best)
    models.show(rows, message="nothing to predict", cursor=at)
    panels.set_title("models", asked(answer))
    panels.widget("models-panel").styles.height = len(rows) + panels.frame_rows + 1
    looked = compared[models.cursor][1] if models.cursor < len(compared) else None
    panels.prose("evidence-about").show(
        about(panels.state, answer, panels.marks, compared, looked=looked)
    )
    name = compared[models.cursor][0] if models.cursor < len(compared) else used
    panels.set_title("runs", f"Measured runs, each as {name} predicts it from the others")
    listed = run_rows(answer.built.profile, looked.outcome.left_out if looked else ())
    none = NO_RUNS if answer.built.workflow is None else WORKFLOW_RUNS
    panels.table("runs").show(listed, message=none)
    # Rows that a few runs leave over hold warnings.
    most = max(1, len(listed)) + panels.frame_rows + 1
    panels.widget("runs-panel").styles.max_height = most


def asked(answer: Answer) -> str:
    """What the models were asked: no model knows unlike nodes, of a mix they answer for the cluster
    that is explained in its place."""
    if answer.alike is None:
        return QUESTION
    return f"Every model on {text.composition(dict(answer.alike))}, in place of the mix"


def _followed(
    models: Table, compared: Sequence[ComparisonRow], *, used: str, best: str
) -> int | None:
    """Where the cursor goes: to the model in use at first, and with it (`best` marks it) where
    another is chosen; None where it rests on one that was looked for."""
    names = [name for name, _ in compared]
    rests = bool(models.rows) and text_of(models.rows[models.cursor][0]) != best
    return None if rests or used not in names else names.index(used)


def model_rows(
    state: PlanState, compared: Sequence[ComparisonRow], *, used: str, marks: Marks
) -> list[Row]:
    """One row per model; marks stand before the one that is used and those without an answer."""
    least = least_error(compared, used=used)
    counts = {len(a.outcome.left_out) for _, a in compared if a and not a.why_not} - {0}
    # Where models left out other runs, the column does not compare: then only the text says it.
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
        return [*head, WAITED_FOR, "", "", "", "", ("fitting ...", "muted")]
    if answer.why_not:
        unknown: list[Cell] = [(text.UNKNOWN, "muted")] * 5
        return [
            (marks.missed, "muted"),
            head[1],
            *unknown,
            (sentences.in_planner(answer.why_not), "muted"),
        ]
    error, left_out = answer.outcome.mean_relative_error, len(answer.outcome.left_out)
    return [
        *head,
        *_time(answer.prediction, state.confidence, tone),
        (text.mean_error(error), tone),
        (str(left_out) if left_out else text.UNKNOWN, "plain"),
        (_satisfied(answer.outcome, state.deadline_seconds), "plain"),
        (_note(answer, used=used, best=best), "muted"),
    ]


def _time(prediction: Prediction | None, confidence: float, tone: CellStyle) -> tuple[Cell, Cell]:
    """The time and its interval; neither while the model is asked about another cluster."""
    if prediction is None:
        return WAITED_FOR, ""
    low, high = prediction.forecast.interval(confidence)
    span = text.span(float(low[0]), float(high[0]), to="–")
    return (text.seconds(prediction.seconds), tone), (span, tone)


def _note(answer: ModelAnswer, *, used: bool, best: bool) -> str:
    """ "used, least error", "2 warnings"; those of the model in use all stand in the text below."""
    asked = ["asked again ..."] * (answer.prediction is None)
    parts = ["used"] * used + ["least error"] * best + asked
    said = ", ".join(parts)
    notices = answer.prediction.warnings if answer.prediction and not used else ()
    warned = len({notice.code for notice in notices})
    counted = text.counted(warned, "warning") if warned else ""
    return "; ".join(part for part in (said, counted) if part)


def _satisfied(outcome: FitOutcome, deadline: float | None) -> str:
    """How many of the left-out runs that were promised within the deadline kept it."""
    record = outcome.deadline_record(deadline) if deadline is not None else None
    return text.UNKNOWN if record is None or record.share is None else _whole(record.share)


def _whole(share: float) -> str:
    """A counted share, exact at its ends."""
    return f"{share * 100:.0f} %"


def least_error(compared: Sequence[ComparisonRow], *, used: str) -> tuple[str, float, int] | None:
    """The model that was off least on the runs that all of them left out, by how much, and how many
    runs these are; None where fewer than two tell. Among equals it is the one in use."""
    answering = [answer.outcome for _, answer in compared if answer and not answer.why_not]
    errors, runs = engine.errors_on_common_runs(answering)
    if len(errors) < 2:
        return None
    best = min(errors, key=lambda name: (round(errors[name], 3), name != used))
    return best, errors[best], runs


def run_rows(profile: Profile, left_out: Sequence[LeftOut] = ()) -> list[Row]:
    """One row per measured run, beside what a model predicted for it from the others: first those
    for which it did, which may be few of many."""
    predicted = {id(pair.run): pair for pair in left_out if pair.run is not None}
    runs = sorted(profile.runs, key=lambda run: id(run) not in predicted)
    return [_run_row(run, profile, predicted.get(id(run))) for run in runs]


def _run_row(run: Run, profile: Profile, pair: LeftOut | None) -> Row:
    named = run.source or run.application or profile.name
    return (
        named.rsplit("/", 1)[-1],
        text.cluster(run.cluster),
        text.size(run.workload.input_bytes, profile.input_unit),
        job_text.shown(run.workload),
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
    """The model that is used and why, what the one that is `looked` at says beside the time, how it
    did on left-out runs, the warnings, who does not answer and why (first of all the one that is
    looked at), and what the cost assumes."""
    silent: list[tuple[str, Line]] = []
    for name, model_answer in compared:
        if model_answer is not None and model_answer.why_not:
            why = f": {sentences.sentence(sentences.in_planner(model_answer.why_not))}"
            line: Line = [(f"{marks.missed} ", "muted"), (name, "strong"), (why, "base")]
            silent.append((name, line))
    asked, workflow = looked.model if looked is not None else "", answer.built.workflow
    lines: list[Line] = [line for name, line in silent if name == asked]
    lines.append(model_line(answer))
    lines += _why_used(state, compared) if workflow is None else [[(WORKFLOW_MODEL, "base")]]
    lines += _figures(looked) if looked is not None else []
    lines += _satisfaction(state, answer, compared)
    lines += sentences.warnings(sentences.notices(answer), marks)
    lines += [line for name, line in silent if name != asked]
    found = answer.report.recommendation
    lines.append(
        [
            (f"{found.evaluated:,} compositions compared", "base"),
            (", none left out." if found.optimal else ", not all of them.", "base"),
        ]
    )
    said = sentences.assumptions(answer)
    lines += [[("Cost: ", "muted"), (sentences.sentence(line), "base")] for line in said]
    return lines


def _figures(looked: ModelAnswer) -> list[Line]:
    """The figures of a model beside its time; and the executors of one's own that it recommends."""
    lines: list[Line] = []
    if looked.prediction is not None and looked.prediction.job_profile:
        figures = text.figures(looked.prediction.job_profile)
        lines.append([(looked.model, "strong"), (f": {figures}.", "base")])
    if looked.why_no_executors:
        said = f"not known: {sentences.sentence(looked.why_no_executors)}"
        return [*lines, [("Executors of your own: ", "muted"), (said, "base")]]
    if looked.executors is None or looked.executors.recommended is None:
        return lines
    lines.append(_own_executors(looked.executors.recommended))
    said_of = [n for n in looked.executors.warnings if n.code == "assured-memory"]
    return lines + [[(sentences.sentence(notice.text), "muted")] for notice in said_of]


def _own_executors(best: Choice) -> Line:
    """Executors of the least resource time, how long the job takes on them, and why these."""
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
    """The model, how many runs it learnt from, and how far off it was on those it had not seen."""
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
    """Why this model: because it is the default, or was chosen; and whether another did better."""
    if state.model == DEFAULT:
        why = "It is the default: it takes stages, run times and memory into account."
    else:
        why = f"You chose it; the default is {DEFAULT}."
    least = least_error(compared, used=state.model)
    if least is None:
        return [[(why, "base")]]
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
    """RE, its mean and the deadline satisfaction of the model that is used, as OptEx defines."""
    own = dict(compared).get(answer.built.plan.fitted.model)
    if own is None or not own.outcome.left_out:
        return []
    errors = [pair.relative_error for pair in own.outcome.left_out]
    said = (
        f"RE {text.signed_percent(min(errors), unit='')} to {text.signed_percent(max(errors))}, "
        f"mean relative error {text.mean_error(own.outcome.mean_relative_error)} "
        f"over {text.counted(len(errors), 'left-out run')}"
    )
    deadline = state.deadline_seconds
    record = own.outcome.deadline_record(deadline) if deadline is not None else None
    if record is None or deadline is None:
        return [[("OptEx's figures: ", "muted"), (f"{said}.", "base")]]
    within = time_text(deadline)
    if record.share is None:
        kept = f"deadline satisfaction not known, none was predicted within {within}"
    else:
        runs = text.counted(record.cases, "run")
        kept = f"deadline satisfaction {_whole(record.share)} of {runs} predicted within {within}"
    return [[("OptEx's figures: ", "muted"), (f"{said}; {kept}.", "base")]]
