"""The values that captions may quote, taken from the state and answer on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from tui import format as text
from tui.reducer import nice_seconds
from tui.state import PlanState
from tui.views import cluster_words, evidence_text, sentences
from tui.views.marks import Marks
from tui.widgets.numbers import time_text

if TYPE_CHECKING:
    from engine import Choice
    from tui.answers import Answer
    from tui.experiments_advisor import ExperimentsReport

Facts = Mapping[str, str]

EACH_LOST = "At the end each type that lost says why."
NONE_LOST = "One that loses stands at the end, with the reason."

_HOPELESS = 1000.0
"""A hopeless deadline is the measured time divided by this."""


def facts(
    state: PlanState,
    answer: Answer,
    marks: Marks,
    before: Facts | None = None,
    *,
    advised: ExperimentsReport | None = None,
) -> Facts:
    """Every value in braces that a step may use; those of the step before begin with `was_`."""
    current = {
        **_goal(state, answer),
        **_answer(state, answer, marks),
        **_evidence(answer),
        "next_run": _next_run(answer, advised, marks),
    }
    previous = {f"was_{name}": (before or current)[name] for name in current}
    first = {
        f"first_{name}": (before or current).get(f"first_{name}", current[name]) for name in current
    }
    return {**current, **previous, **first, "change": _change_text(current, previous)}


def _goal(state: PlanState, answer: Answer) -> dict[str, str]:
    run = answer.built.profile.largest_run
    deadline = state.deadline_seconds
    measured = run.seconds if run else deadline or 60.0
    return {
        "deadline": "no deadline" if deadline is None else time_text(deadline),
        "confidence": text.confidence_level(state.confidence),
        "as_measured": time_text(measured),
        "tighter": time_text(_tighter_deadline(deadline or measured, answer)),
        "tripled": time_text(3.0 * (deadline or measured)),
        "hopeless": time_text(max(1.0, round(measured / _HOPELESS))),
    }


def _tighter_deadline(deadline: float, answer: Answer) -> float:
    """A deadline between the present one and what the fastest composition is nearly sure to
    meet."""
    frontier = answer.report.recommendation.frontier
    least = (frontier[0].high or frontier[0].seconds) if frontier else 0.0
    middle = 0.5 * (least + deadline)
    nice = nice_seconds(middle)
    return nice if nice < deadline else float(round(min(middle, deadline)))


def _answer(state: PlanState, answer: Answer, marks: Marks) -> dict[str, str]:
    best, recommendation = answer.best, answer.report.recommendation
    bound = answer.explained.bottleneck if answer.explained else None
    meeting = len(recommendation.alternatives) + (recommendation.recommended is not None)
    rejected = next((choice for choice in recommendation.rejected if choice.reason), None)
    return {
        "answer": sentences.headline_text(answer, marks),
        "reached": "yes" if recommendation.recommended is not None else "",
        "composition": cluster_words.composition(best) if best else "nothing",
        "time": text.seconds(best.seconds if best else None),
        "interval": _interval(best),
        "cost": text.usd(best.cost_usd if best else None),
        "met": f"{meeting:,} of {meeting + len(recommendation.rejected):,} types meet the goal.",
        "lost": f"{EACH_LOST} {rejected.instance}: {rejected.reason}." if rejected else NONE_LOST,
        "evaluated": f"{recommendation.evaluated:,}",
        "odds": text.odds(state.confidence),
        "bottleneck": f"It is bound by {bound}." if bound else "",
    }


def _interval(best: Choice | None) -> str:
    return "no interval" if best is None or best.low is None else text.span(best.low, best.high)


def _evidence(answer: Answer) -> dict[str, str]:
    profile = answer.built.profile
    run, count = profile.largest_run, len(profile.runs)
    return {
        "job": profile.name,
        "measured": text.seconds(run.seconds if run else None),
        "cluster": text.cluster(run.cluster) if run else text.UNKNOWN,
        "runs": text.counted(count, "run"),
        "evidence": evidence_text.model_sentence(answer),
    }


def _next_run(answer: Answer, advised: ExperimentsReport | None, marks: Marks) -> str:
    """The first line of the Experiments view, without its mark; "" where the view is not shown."""
    if advised is None:
        return ""
    from tui.views import experiments

    first = experiments.about(answer, advised, marks)[0]
    return "".join(part for part, _ in first[1:]).strip()


def _change_text(now: Facts, was: Facts) -> str:
    """What the step changed in the answer."""
    reached = "" if now["reached"] else "Now nothing meets the goal; the nearest: "
    if all(now[name] == was[f"was_{name}"] for name in ("composition", "time", "cost")):
        return f"{reached or 'Still '}{now['composition']}, {now['time']} for {now['cost']}."
    return (
        f"{reached}{now['composition']}, {now['time']} for {now['cost']}, instead of"
        f" {was['was_composition']}, {was['was_time']} for {was['was_cost']}."
    )
