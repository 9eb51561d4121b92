"""The Experiments view: the next run and when to stop, and training runs within a budget."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType

import engine
from tui import format as text
from tui.input_text import training_text
from tui.training_exports import collect_line
from tui.views import sentences
from tui.views.experiment_rows import (
    NEXT_COLUMNS,
    TRAINING_COLUMNS,
    cluster_text,
    next_rows,
    training_rows,
)
from tui.views.marks import Marks
from tui.views.prose import Line, Prose, Span
from tui.widgets.numbers import money_text
from tui.widgets.table import Table

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Advice, Experiment, ExperimentPlan, KnownType, Layout, NextRun
    from tui.answers import Answer
    from tui.experiments_advisor import ExperimentsReport
    from tui.panels import Panels

NEXT, TRAINING = "next-runs", "training-runs"

NEXT_TITLE = "Next run, most saving per dollar first"
FIRST_TITLE = "First runs, most learnt per dollar first"

WAITING = "working out what to run ..."

AGAIN = "Of the inputs before; working out what to run for these ..."
"""Said above the last report while that of the present inputs is computed."""

NONE = "none: why is said above"
"""In a list that stays empty; the text above has the reason, which may be long."""

EXPECTED = "Savings and chances are expectations over how a run may turn out: without interval."

INTERRUPTED = "Times and prices on spot nodes hold the interruptions that are expected."

PART_SPOT = (
    "A share of spot nodes is not weighed: whole clusters of one type at on-demand prices are."
)

NO_INTERVAL = "The model gives no interval: a factor of 1.4 either way is assumed here."

PLANS = {
    "ernest": "Ernest's design",
    "peridot": "PERIDOT's two sizes on equal cores",
    "simcost": "SimCost's samples of equal waves",
}
"""Names of the designs that choose training runs."""

OTHERS_FIT = (
    "How much these narrow the interval is not known beforehand: they are for the model {model}, "
    "whose laws are not those of Ernest's design."
)


class RunsTable(Table):
    """A table of runs; + and - step the budget for training runs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("plus,equals_sign", "app.training(1)", "More", show=False),
        Binding("minus", "app.training(-1)", "Less", show=False),
    ]


def fill(panels: Panels) -> list[Widget]:
    """The verdict and the known runs, the next runs, the training runs, the command to paste."""
    return [
        panels.new(Prose, focusable=True, id="experiments-about"),
        panels.panel(panels.new(RunsTable, NEXT_COLUMNS, id=NEXT), NEXT_TITLE),
        panels.panel(panels.new(RunsTable, TRAINING_COLUMNS, id=TRAINING), "Training runs"),
        panels.new(Prose, focusable=True, id="experiments-run"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """Show the report; while a new one is computed, the last one: a line says so, and the titles
    end with an ellipsis."""
    report, waiting = panels.app.advised(answer)
    above: list[Line] = [[(AGAIN, "muted")]] if waiting and report else []
    panels.prose("experiments-about").show([*above, *about(answer, report, panels.app.marks)])
    advice = report.advice if report else None
    panels.table(NEXT).show(next_rows(advice), message=NONE if report else WAITING)
    panels.table(TRAINING).show(training_rows(report), message=NONE if report else WAITING)
    suffix = f" {panels.app.glyphs.ellipsis}" if waiting and report else ""
    panels.set_title(NEXT, f"{FIRST_TITLE if advice and advice.opening else NEXT_TITLE}{suffix}")
    panels.set_title(TRAINING, f"{title(report)}{suffix}")
    runs = selected_runs(panels, report)
    lines = about_runs(runs, report, layout_of(answer, runs)) if report else []
    panels.prose("experiments-run").show([*at_cursor(panels, answer, report), *lines])


def about(answer: Answer, report: ExperimentsReport | None, marks: Marks) -> list[Line]:
    """Whether another run is worth making, the present choice, and the known runs."""
    if report is None:
        return [[(WAITING, "muted")]]
    lines: list[Line] = []
    if report.advice is not None:
        lines.append(_verdict(report.advice, marks))
    else:
        lines.append(
            [(f"{marks.warning} ", "warn"), (sentences.sentence(report.no_advice), "base")]
        )
    if report.plan is None and report.no_plan != report.no_advice:
        lines.append([(f"{marks.warning} ", "warn"), (sentences.sentence(report.no_plan), "base")])
    if answer.built.workflow is None:
        lines.append(known_line(report.known, answer.built.profile.input_unit))
    lines += [_current_choice(report.advice, report.confidence)] if report.advice else []
    lines += _narrowing_line(report)
    if not report.has_interval and report.advice is not None:
        lines.append([(NO_INTERVAL, "muted")])
    if report.advice is not None and report.spot and not report.advice.spot:
        lines.append([(PART_SPOT, "muted")])
    return lines


def _verdict(advice: Advice, marks: Marks) -> Line:
    """Stop, or the run to make."""
    if advice.stop:
        return [(f"{marks.best} ", "good"), (sentences.sentence(advice.reason), "strong")]
    run = advice.next_runs[0]
    part = "" if run.fraction >= 1.0 else f" on {run.fraction * 100:.3g} %"
    worth = f"pays after {training_text.payback(run.pays_after)}"
    if run.gain_seconds is not None:
        worth = f"saves {text.seconds(run.gain_seconds)} each time"
    return [
        (f"{marks.best} ", "accent"),
        ("Run ", "base"),
        (f"{run.nodes} × {run.instance or 'nodes'}{part}", "strong"),
        (f": {text.usd(run.usd)}, {worth}", "base"),
        (f", changes the choice: {text.percent(run.changes)}.", "base"),
    ]


def _current_choice(advice: Advice, confidence: float) -> Line:
    """The composition chosen now, and its interval before and after the next run, at the confidence
    of the report: the slider may have another one already."""
    spot = ", at spot prices" if advice.spot else ""
    why = f"Chosen now, of one type{spot}"
    if not advice.meets_goal:
        why = f"No cluster of one type{spot} meets the goal; nearest"
    now = text.span(advice.low, advice.high)
    chosen = f"{advice.nodes} × {advice.instance or 'nodes'}"
    if advice.low is None:
        return [(f"{why}: ", "base"), (chosen, "strong"), (f" ({now}).", "base")]
    line: list[Span] = [
        (f"{why}: ", "base"),
        (chosen, "strong"),
        (f" ({text.odds(confidence)} runs: {now}", "base"),
    ]
    if advice.next_runs:
        then = text.span(advice.next_runs[0].then_low, advice.next_runs[0].then_high)
        after = "about the same after that run" if then == now else f"after that run {then}"
        line.append((f"; {after}", "base"))
    return [*line, (").", "base")]


def _narrowing_line(report: ExperimentsReport) -> list[Line]:
    """The effect of all training runs on the interval of the report's composition; nothing where
    the model gives no interval."""
    narrowing, plan = report.narrowing, report.plan
    if narrowing is None or plan is None or not report.has_interval:
        return []
    now = text.span(narrowing.low, narrowing.high, to="–")
    then = text.span(narrowing.then_low, narrowing.then_high, to="–")
    does, much = ("leave", " at ") if then == now else ("narrow", f" from {now} to ")
    return [
        [
            (f"{text.counted(len(plan.runs), 'training run')} would {does} ", "base"),
            (text.composition(dict(report.composition)), "strong"),
            (much, "base"),
            (then, "strong"),
            (", and tell of other inputs and clusters too.", "base"),
        ]
    ]


def known_line(known: Sequence[KnownType], unit: str) -> Line:
    """The known runs in one line."""
    if not known:
        return [("Known: no run yet, only a job profile.", "muted")]
    return [("Known: ", "muted"), ("; ".join(_known_type(entry, unit) for entry in known), "base")]


def _known_type(entry: KnownType, unit: str) -> str:
    nodes = training_text.span([f"{count:,}" for count in entry.nodes])
    sizes = [text.size(size, unit) for size in entry.sizes]
    data = training_text.span(sizes) if sizes else "input unknown"
    on = f"{nodes} node{'' if entry.nodes == (1,) else 's'}" if entry.nodes else "nodes unknown"
    runs = text.counted(entry.runs, "run")
    runs_text = f"{entry.instance or 'unnamed nodes'}, {runs} on {on}, {data}"
    return (
        f"{runs_text}, repeated {training_text.repetitions_text(entry)}"
        if entry.repeated > 1
        else runs_text
    )


def title(report: ExperimentsReport | None) -> str:
    """The title of the training runs: budget or design, number, cost and time."""
    if report is not None and report.amount is None and report.plan is not None:
        return f"Training runs, {PLANS[report.method]}: {_totals(report.plan)}"
    if report is None or report.amount is None:
        return "Training runs"
    amount, usd = report.amount, report.unit == "usd"
    budget = money_text(amount) if usd else training_text.in_unit(amount, report.unit)
    start = f"Training within {budget}{' (suggested)' if report.suggested else ''}"
    if report.plan is None:
        return start
    return f"{start}: {_totals(report.plan)}"


def _totals(plan: ExperimentPlan) -> str:
    runs, cost = text.counted(len(plan.runs), "run"), text.usd(plan.usd)
    return f"{runs}, {cost}, {text.seconds(plan.seconds)}"


def selected_runs(panels: Panels, report: ExperimentsReport | None) -> list[Experiment]:
    """The runs that `y` copies: all training runs, or the next run under the cursor while that
    table has the focus."""
    if report is None:
        return []
    table = panels.table(NEXT)
    if table.has_focus and report.advice and table.cursor < len(report.advice.next_runs):
        return [_experiment(report.advice.next_runs[table.cursor])]
    return list(report.plan.runs) if report.plan else []


def _experiment(run: NextRun) -> Experiment:
    return engine.Experiment(
        run.nodes, run.fraction, run.instance, seconds=run.seconds, usd=run.usd
    )


def layout_of(answer: Answer, runs: Sequence[Experiment]) -> Layout | None:
    """The layout of executors on the nodes of these runs."""
    surface = answer.built.plan.surface
    row = surface.rows.get(runs[0].instance or "") if runs else None
    return None if row is None else surface.candidates.layouts[row]


def at_cursor(panels: Panels, answer: Answer, report: ExperimentsReport | None) -> list[Line]:
    """The run under the cursor: its interval, what it teaches, and the time in other views if that
    differs."""
    if report is None:
        return []
    nexts, plan = panels.table(NEXT), report.plan
    odds = text.odds(report.confidence)
    if nexts.has_focus:
        if report.advice is None or nexts.cursor >= len(report.advice.next_runs):
            return []
        run = report.advice.next_runs[nexts.cursor]
        what = f"saves {training_text.saving_text(run)} each time the job runs, by a better choice"
        what = f"{what}; {text.percent(run.changes)} that it changes the choice"
        line = _run_line(run, f"{odds} runs: {text.span(run.low, run.high)}", what)
        return [line, *_in_other_views(run, answer)]
    cursor = panels.table(TRAINING).cursor
    if plan is None or cursor >= len(plan.runs):
        return []
    planned = plan.runs[cursor]
    interval = text.span(planned.low, planned.high)
    interval = interval if planned.low is None else f"{odds} runs: {interval}"
    term, of_term, why = planned.teaches.partition(": ")
    teaches = f'tells most about the term "{term}" ({why})' if of_term else f"teaches {term}"
    return [_run_line(planned, interval, teaches)]


def _in_other_views(run: NextRun, answer: Answer) -> list[Line]:
    """The run's prediction in all other views, which is the model's alone; nothing where it is the
    same."""
    curve = answer.curve(run.instance) if run.instance and run.fraction >= 1.0 else None
    indices = [] if curve is None else [i for i, n in enumerate(curve.nodes) if n == run.nodes]
    if curve is None or not indices:
        return []
    seconds, low, high = (values[indices[0]] for values in (curve.seconds, curve.low, curve.high))
    if math.isnan(seconds) or text.seconds(seconds) == text.seconds(run.seconds):
        return []
    odds = text.odds(answer.report.goal.confidence)
    interval = "" if math.isnan(low) else f" ({odds} runs: {text.span(low, high)})"
    other_views = f"Other views: {text.seconds(seconds)}{interval}, by the model alone. "
    return [[(other_views + training_text.ALSO, "base")]]


def _run_line(run: Experiment | NextRun, interval: str, what: str) -> Line:
    where = f"{cluster_text(run)} on {run.fraction * 100:.3g} % of the input"
    return [(where, "strong"), (f" ({interval}) {what}.", "base")]


def about_runs(
    runs: Sequence[Experiment], report: ExperimentsReport, layout: Layout | None
) -> list[Line]:
    """The command to paste, and explanations of the figures."""
    if not runs:
        return []
    lines: list[Line] = [
        [("y copies, e previews: ", "muted"), (collect_line(runs, layout), "base")],
        [(EXPECTED, "muted")],
    ]
    if report.advice is not None and report.advice.spot:
        lines.append([(INTERRUPTED, "muted")])
    if report.plan is not None and report.narrowing is None:
        lines.append([(OTHERS_FIT.format(model=report.method), "muted")])
    if report.plan is not None:
        plan_lines = (
            *training_text.totals(report.plan)[1:],
            *(n.text for n in report.plan.notices),
        )
        lines += [[(sentences.sentence(line), "muted")] for line in plan_lines]
    return lines
