"""What the answer rests on: the measured runs, the model and how far it was off, every warning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import format as text
from tui.state import PlanState
from tui.views import words
from tui.views.marks import Marks
from tui.views.prose import Line, Prose, Tone
from tui.widgets.table import Column, Row, Table

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Profile, Run
    from tui.panels import Panels
    from tui.session import Answer

RUN_COLUMNS = (
    Column(title="measured run", shrink=True, least=14),
    Column(title="cluster", shrink=True, least=12),
    Column(title="input", width=10, align="right", priority=1),
    Column(title="time", width=9, align="right"),
    Column(title="stages", width=6, align="right", priority=2),
    Column(title="", width=10, priority=3),
)


def fill(panels: Panels) -> list[Widget]:
    """The model with what is assumed, and the runs."""
    return [
        panels.panel(
            panels.new(Prose, focusable=True, id="evidence-about"), "Model and assumptions"
        ),
        panels.panel(panels.new(Table, RUN_COLUMNS, id="runs"), "Measured runs"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """What the answer rests on."""
    panels.prose("evidence-about").show(about(panels.state, answer, panels.marks))
    panels.table("runs").show(run_rows(answer.built.profile), message="no runs, only a job profile")


def run_rows(profile: Profile) -> list[Row]:
    """One row per measured run."""
    return [_run_row(run, profile) for run in profile.runs]


def _run_row(run: Run, profile: Profile) -> Row:
    named = run.source or run.application or profile.name
    return (
        named.rsplit("/", 1)[-1],
        cluster_words(run),
        text.size(run.workload.input_bytes, profile.input_unit),
        text.seconds(run.seconds),
        str(len(run.stages)) if run.stages else text.UNKNOWN,
        ("", "plain") if run.complete else ("incomplete", "warn"),
    )


def cluster_words(run: Run) -> str:
    """The measured cluster: its composition, executors or nodes, whichever is known."""
    cluster = run.cluster
    if cluster.composition:
        return text.composition(dict(cluster.composition))
    if cluster.executors is not None:
        return text.executors(cluster)
    return f"{cluster.nodes} nodes" if cluster.nodes else text.UNKNOWN


def about(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """The model, how it did on runs it had not seen, what the cost assumes, and the warnings."""
    lines: list[Line] = [model_line(answer)]
    found = answer.report.recommendation
    lines.append(
        [
            (f"{found.evaluated:,} compositions compared", "base"),
            (", none left out." if found.optimal else ", not all of them.", "base"),
        ]
    )
    lines += [[("Cost: ", "muted"), (words.sentence(line), "base")] for line in _costs(answer)]
    lines += words.warnings(words.notices(answer), marks)
    return lines


def model_line(answer: Answer) -> Line:
    """The model, how many runs it learnt from, and how far off it was on those it had not seen."""
    fitted = answer.built.plan.fitted
    runs = len(fitted.profile.runs)
    line: list[tuple[str, Tone]] = [
        ("Model ", "muted"),
        (fitted.model, "strong"),
        (f" on {runs} run{'' if runs == 1 else 's'}", "base"),
    ]
    if fitted.validation is None:
        return [*line, ("; with so few runs it could not be tried on one left out.", "base")]
    error = fitted.validation.mean_relative_error * 100
    return [
        *line,
        ("; on each run, fitted without it, it was off by ", "base"),
        (f"{error:.1f} %", "strong"),
        (" on average.", "base"),
    ]


def _costs(answer: Answer) -> tuple[str, ...]:
    return words.assumptions(answer)
