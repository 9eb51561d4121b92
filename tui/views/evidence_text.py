"""The text of the Evidence view: why its model is used, what bounds the run, warnings, errors, what
the cost assumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.state import PlanState
from tui.views import sentences
from tui.views.marks import Marks
from tui.views.pages import key_of
from tui.views.planner_words import in_planner
from tui.views.prose import Line, Span
from tui.widgets.numbers import time_text

if TYPE_CHECKING:
    from engine import Choice, ModelAnswer
    from tui.answers import Answer

ComparisonRow = tuple[str, "ModelAnswer | None"]
"""The name of a model, and its answer once there is one."""

DEFAULT = "sparkplan"

WORKFLOW_MODEL = "It alone plans a workflow: no other model has several jobs on one cluster."

SEVERAL = 5
"""With fewer left-out runs, the errors of two models hardly tell them apart."""


def about(
    state: PlanState,
    answer: Answer,
    marks: Marks,
    compared: Sequence[ComparisonRow] = (),
    *,
    looked: ModelAnswer | None = None,
) -> list[Line]:
    """The text of the view: why the model `looked` at has no answer, or the codes of its warnings;
    why the one in use is used, what bounds the run, further figures of the one looked at, warnings,
    leave-one-out errors, assumptions of the cost."""
    lines = []
    if looked is not None:
        lines = _why_silent(compared, looked, marks) or _warned(answer, looked)
    lines += _why_used(state, answer, compared)
    lines += _bottlenecks(answer)
    lines += _figures(looked) if looked is not None else []
    lines += sentences.warnings(sentences.notices(answer), marks)
    lines += _satisfaction(state, answer, compared)
    recommendation = answer.report.recommendation
    lines.append(
        [
            (f"{recommendation.evaluated:,} compositions compared", "base"),
            (", none left out." if recommendation.optimal else ": a better one may exist.", "base"),
        ]
    )
    assumed = " ".join(map(sentences.sentence, sentences.assumptions(answer)))
    return [*lines, [("Cost: ", "muted"), (assumed, "base")]] if assumed else lines


def _why_silent(compared: Sequence[ComparisonRow], looked: ModelAnswer, marks: Marks) -> list[Line]:
    """Why the model under the cursor has no answer, and which others have none for that reason."""
    if not looked.why_not:
        return []
    names = [name for name, answer in compared if answer and answer.why_not == looked.why_not]
    reason = f": {sentences.sentence(in_planner(looked.why_not))}"
    return [[(f"{marks.missed} ", "muted"), (", ".join(names), "strong"), (reason, "base")]]


def _bottlenecks(answer: Answer) -> list[Line]:
    """What bounds the run, and what its stages, by their share of the time of all stages."""
    explained = answer.explained
    if explained is None or not explained.bottleneck:
        return []
    line: list[Span] = [("Bottleneck: ", "muted"), (explained.bottleneck, "strong")]
    predicted = engine.predicted_timeline(explained)
    shares = predicted.bottleneck_shares if predicted is not None else {}
    if not shares:
        return [[*line, (".", "base")]]
    told = ", ".join(f"{what} {text.percent(share)}" for what, share in shares.items())
    return [[*line, (f"; stages by time: {told} (key {key_of('stages')}).", "base")]]


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


def _warned(answer: Answer, looked: ModelAnswer) -> list[Line]:
    """The codes of the warnings of the model under the cursor, where it is not the one in use."""
    codes = dict.fromkeys(n.code for n in looked.prediction.warnings) if looked.prediction else {}
    if not codes or looked.model == answer.built.plan.fitted.model:
        return []
    counted = text.counted(len(codes), "warning")
    return [[(looked.model, "strong"), (f": {counted} ({', '.join(codes)}).", "base")]]


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


def model_title(answer: Answer) -> str:
    """The model in use, and the runs or jobs that it was fitted to."""
    plan, jobs = answer.built.plan, answer.built.jobs
    if jobs is not None:
        return f"Model {plan.fitted.model} on {text.counted(jobs, 'job')}"
    workload = plan.surface.workload
    used = plan.fitted.answering(workload).runs_used(workload)
    runs = text.runs_used(used, len(answer.built.profile.runs))
    return f"Model {plan.fitted.model} on {runs}"


def model_sentence(answer: Answer) -> str:
    """The model in use with its leave-one-out error."""
    return f"{model_title(answer)}; {_trial(answer)}."


def _trial(answer: Answer) -> str:
    """How far off the model in use was on runs that it had not seen, or why nobody knows."""
    if answer.built.jobs is not None:
        return "it was tried on no run of the whole"
    plan = answer.built.plan
    validation = plan.fitted.answering(plan.surface.workload).validation
    if validation is None:
        return "too few runs to try it on one that it has not seen"
    error = text.mean_error(validation.mean_relative_error)
    return f"on each run, fitted without it, it was off by {error} on average"


def _why_used(state: PlanState, answer: Answer, compared: Sequence[ComparisonRow]) -> list[Line]:
    """Why this model is used, where its title does not tell: it was chosen; and whether another had
    a smaller error."""
    if answer.built.workflow is not None:
        return [[(f"{sentences.sentence(_trial(answer))} {WORKFLOW_MODEL}", "base")]]
    chosen = "" if state.model == DEFAULT else f"You chose it; the default is {DEFAULT}. "
    least = least_error(compared, used=state.model)
    if least is None:
        return [[(f"{chosen}{sentences.sentence(_trial(answer))}", "base")]]
    best, error, runs = least
    tried = f"Of the models tried on {text.counted(runs, 'run')}"
    least_off = f"{best} was off least ({text.mean_error(error)}); m chooses it"
    if best == state.model:
        least_off = "none was off less"
    few = " So few prove little." if runs < SEVERAL else ""
    return [[(f"{chosen}{tried} {least_off}.{few}", "base")]]


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
    satisfaction = f"deadline satisfaction {text.satisfaction(record)} predicted within {within}"
    if record.share is None:
        satisfaction = f"deadline satisfaction not known, none was predicted within {within}"
    return [[("OptEx's figures: ", "muted"), (f"{errors_text}; {satisfaction}.", "base")]]


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
