"""`sparkplan predict --all-models`: every model on the same question, with its leave-one-out
error."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import engine
from tui import format as text
from tui.arguments import target, workloads
from tui.headless import output

NO_ANSWER = "no model answers"


def run(args: argparse.Namespace, profile: engine.Profile) -> int:
    """Print the comparison; `--model` is the one marked as used.

    Raises:
        BadInput: when no model answers, or `--model` is unknown.
    """
    names = [model.name for model in engine.MODELS]
    if args.model not in names:
        raise engine.UnknownName("model", args.model, names)
    cluster = target.cluster_of(args, profile, nodes=args.nodes)
    workload = workloads.workload_of(args, profile)
    answers = list(
        engine.compare_models(
            profile, cluster=cluster, workload=workload, confidence=args.confidence
        )
    )
    if all(answer.prediction is None for answer in answers):
        raise engine.BadInput(
            NO_ANSWER, remedy=f"{args.model}: {_answer_of(answers, args.model).why_not}"
        )
    if args.json:
        output.print_json(as_dict(answers, profile, args.model, args.deadline))
    else:
        output.print_text(as_text(answers, profile, args.model, args.deadline))
        used = _answer_of(answers, args.model).prediction
        output.print_notices(used.warnings if used else ())
    return 0


def _answer_of(answers: Sequence[engine.ModelAnswer], model: str) -> engine.ModelAnswer:
    return next(answer for answer in answers if answer.model == model)


def as_dict(
    answers: Sequence[engine.ModelAnswer],
    profile: engine.Profile,
    used: str,
    deadline: float | None,
) -> dict[str, Any]:
    """One object per model; what a model does not provide is null."""
    return {
        "used": used,
        "runs": len(profile.runs),
        "deadline_seconds": deadline,
        "models": [_model_dict(answer, deadline) for answer in answers],
    }


def _model_dict(answer: engine.ModelAnswer, deadline: float | None) -> dict[str, Any]:
    prediction, outcome = answer.prediction, answer.outcome
    record = outcome.deadline_record(deadline) if deadline is not None else None
    fields = {
        **output.fields_of(answer, "model", "runs_used"),
        **output.fields_of(prediction, "seconds", "low", "high", "confidence"),
        "p_deadline": prediction.p_within(deadline) if prediction and deadline else None,
        **output.fields_of(prediction, "bottleneck"),
        "why_not": answer.why_not or None,
        "leave_one_out_error": outcome.mean_relative_error,
        "left_out": [
            {
                "source": pair.run.source or None if pair.run else None,
                "nodes": pair.run.cluster.nodes if pair.run else None,
                "executors": pair.run.cluster.executors if pair.run else None,
                "input_size": pair.run.workload.input_bytes if pair.run else None,
                "measured_seconds": pair.recorded_seconds,
                "predicted_seconds": pair.estimated_seconds,
                "relative_error": pair.relative_error,
            }
            for pair in outcome.left_out
        ],
        "deadline_satisfaction": record.share if record else None,
        "deadline_cases": record.cases if record else None,
        "warnings": output.notices(prediction.warnings) if prediction else [],
    }
    never_ends = prediction is not None and engine.never_ends(prediction.warnings)
    return output.of_no_run(fields) if never_ends else fields


def as_text(
    answers: Sequence[engine.ModelAnswer],
    profile: engine.Profile,
    used: str,
    deadline: float | None,
) -> str:
    """A table of the models that answer, then those that do not and why, then each measured run
    with its leave-one-out predictions."""
    header = ["", "model", "time", "interval", "left-out error", "runs"]
    header += ["satisfaction"] * (deadline is not None)
    rows = [_model_row(answer, used, deadline) for answer in answers if answer.prediction]
    parts = [text.table([header, *rows], right=(2, 3, 4, 5, 6))]
    unanswered = [
        f"{answer.model}: {answer.why_not}" for answer in answers if not answer.prediction
    ]
    if unanswered:
        parts.append("\n".join(text.escaped(line) for line in unanswered))
    runs = _run_rows(answers, profile)
    if runs:
        parts.append(text.table(runs, right=tuple(range(2, len(runs[0])))))
    return "\n\n".join(parts)


def _model_row(answer: engine.ModelAnswer, used: str, deadline: float | None) -> list[str]:
    prediction, outcome = answer.prediction, answer.outcome
    error = outcome.mean_relative_error
    if prediction is not None and engine.never_ends(prediction.warnings):
        time, interval = "does not end", text.UNKNOWN
    else:
        time = text.seconds(prediction.seconds if prediction else None)
        interval = text.span(prediction.low, prediction.high) if prediction else text.UNKNOWN
    row = [
        "*" if answer.model == used else "",
        answer.model,
        time,
        interval,
        text.mean_error(error),
        str(len(outcome.left_out)) if outcome.left_out else text.UNKNOWN,
    ]
    if deadline is not None:
        record = outcome.deadline_record(deadline)
        row.append(text.UNKNOWN if record is None else text.satisfaction(record))
    return row


def _run_rows(answers: Sequence[engine.ModelAnswer], profile: engine.Profile) -> list[list[str]]:
    """Each left-out run: measured, then predicted with its relative error, a column per model."""
    validated = [answer for answer in answers if answer.prediction and answer.outcome.left_out]
    columns = [
        {id(pair.run): pair for pair in answer.outcome.left_out if pair.run} for answer in validated
    ]
    left_out_ids = set().union(*columns)
    if not left_out_ids:
        return []
    rows = [
        ["left-out run", "cluster", "input", "measured", *(answer.model for answer in validated)]
    ]
    for run in profile.runs:
        if id(run) in left_out_ids:
            name = (run.source or run.application or profile.name).rsplit("/", 1)[-1]
            size = text.size(run.workload.input_bytes, profile.input_unit)
            head = [text.escaped(name), text.escaped(text.cluster(run.cluster)), text.escaped(size)]
            predicted = (_cell(column.get(id(run))) for column in columns)
            rows.append([*head, text.seconds(run.seconds), *predicted])
    return rows


def _cell(pair: engine.LeftOut | None) -> str:
    if pair is None:
        return text.UNKNOWN
    return f"{text.seconds(pair.estimated_seconds)} ({text.signed_percent(pair.relative_error)})"
