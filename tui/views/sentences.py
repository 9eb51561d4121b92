"""The answer in sentences: what to rent, how long it takes, with which interval, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.joint_notices import joint_groups, joint_remedy, joint_text
from tui.state import PlanState
from tui.views.cluster_words import composition, cost, interval_in_words
from tui.views.marks import Marks
from tui.views.missed_goal import missed_goal_lines
from tui.views.pages import key_of
from tui.views.planner_words import in_planner
from tui.views.prose import Line, Span
from tui.widgets.numbers import time_text

if TYPE_CHECKING:
    from engine import Choice, Goal, Notice, Recommendation
    from tui.answers import Answer

WAITING: tuple[Line, ...] = ([("Reading the evidence and the prices ...", "muted")],)

BLANK: Line = (("", "base"),)


def headline(answer: Answer, marks: Marks, *, few_rows: bool = False) -> list[Line]:
    """The recommendation in one sentence, or that the goal is impossible and the nearest miss. It
    follows the goal that was answered, which the sliders may have left already.

    Args:
        few_rows: whether there is room for some three rows, of which the last may be cut. What
            decides then comes first: the chance of the nearest, and before it the likeliest.
    """
    recommendation = answer.report.recommendation
    unit = " a micro-batch" if engine.of_one_batch(notices(answer)) else ""
    if recommendation.recommended is not None:
        return [_recommended(recommendation.goal, recommendation.recommended, marks, unit)]
    return missed_goal_lines(recommendation, marks, unit, few_rows=few_rows)


def headline_text(answer: Answer, marks: Marks) -> str:
    """The headline as plain text, without its leading mark."""
    marked, *rest = headline(answer, marks)
    return " ".join("".join(part for part, _ in line) for line in (marked[1:], *rest))


def _recommended(goal: Goal, choice: Choice, marks: Marks, batch: str) -> Line:
    line: list[Span] = [(f"{marks.best} ", "accent"), (composition(choice), "strong")]
    line += [(f" finishes{batch} in ", "base"), (text.seconds(choice.seconds), "strong")]
    line.append((f" ({interval_in_words(choice, goal.confidence)})", "base"))
    line += cost(choice)
    if goal.deadline_seconds is not None and choice.p_deadline is not None:
        line += [
            ("; ", "base"),
            (text.percent(choice.p_deadline), "strong"),
            (f" likely within {time_text(goal.deadline_seconds)}", "base"),
        ]
    return [*line, (".", "base")]


def selected(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """Lines on the type under the cursor; none for the recommended one."""
    recommendation = answer.report.recommendation
    if state.selected is None:
        return []
    for index, outline in enumerate(engine.outlines(recommendation.alternatives)):
        if outline.instance == state.selected:
            choice = recommendation.alternatives[index]
            return [_runner_up(state, choice, recommendation.recommended)]
    for rejected in recommendation.rejected:
        if rejected.instance == state.selected:
            named = text.composition(dict(rejected.composition or {})) or rejected.instance
            p = text.in_time(rejected.p_deadline, recommendation.goal.confidence)
            odds = "" if rejected.p_deadline is None else f"; in time in {p} of runs"
            said = f": {rejected.reason}{odds}."
            return [[(f"{marks.missed} ", "bad"), (named, "strong"), (said, "base")]]
    return []


def _runner_up(state: PlanState, choice: Choice, best: Choice | None) -> Line:
    line: list[Span] = [(composition(choice), "strong"), (" takes ", "base")]
    line.append(
        (f"{text.seconds(choice.seconds)} ({interval_in_words(choice, state.confidence)})", "base")
    )
    line += cost(choice)
    if best and choice.cost_usd is not None and best.cost_usd is not None:
        more = choice.cost_usd - best.cost_usd
        than = "more" if more >= 0 else "less"
        line.append((f", {text.usd_difference(more)} {than} than {composition(best)}", "base"))
    return [*line, (f"; {choice.note}." if choice.note else ".", "base")]


def why(state: PlanState, answer: Answer, marks: Marks, *, warned: bool = True) -> list[Line]:
    """The Why panel: the headline, the reasons, the bottleneck, and, where `warned`, every warning
    with its remedy."""
    lines = headline(answer, marks)
    lines.append(BLANK)
    chosen = selected(state, answer, marks)
    lines += [*chosen, BLANK] if chosen else []
    lines += reasons(state, answer)
    return [*lines, BLANK, *warnings(first_of_each(notices(answer)), marks)] if warned else lines


def reasons(state: PlanState, answer: Answer) -> list[Line]:
    """What the best composition takes by itself while the answer is provisional, why it won, which
    nodes of it are owned, and its bottleneck."""
    best = answer.best
    lines = provisional_line(answer)
    lines += [[(sentence(reason), "base")] for reason in (best.why if best else ())]
    lines += hardly_slower_line(answer.report.recommendation)
    lines += [[(line, "base")] for line in owned_lines(state, best)]
    bottleneck = answer.explained.bottleneck if answer.explained else None
    if bottleneck:
        lines.append([("Bottleneck: ", "muted"), (bottleneck, "strong")])
    return lines


def provisional_line(answer: Answer) -> list[Line]:
    """That times of a coarse grid are not settled, and how long the cluster takes by itself, which
    the Workflow view shows meanwhile; none for a settled answer."""
    if answer.best is None or answer.explained is None or not answer.provisional:
        return []
    alone = text.seconds(answer.explained.seconds)
    uninterrupted = " without interruptions" if answer.best.spot else ""
    takes = f"estimated by itself this cluster takes {alone}{uninterrupted}"
    return [[(f"Interpolated, not settled yet: {takes}.", "warn")]]


def hardly_slower_line(recommendation: Recommendation) -> list[Line]:
    """The cheaper composition that is at most `engine.HARDLY_SLOWER` slower, where no reason names
    it."""
    best, cheaper = recommendation.recommended, recommendation.hardly_slower
    if best is None or cheaper is None:
        return []
    # Reasons name it between commas: without them 12 nodes would be taken for 2.
    if any(f", {composition(cheaper)}, " in reason for reason in best.why):
        return []
    saved = (best.cost_usd or 0.0) - (cheaper.cost_usd or 0.0)
    slower = f" is at most {text.percent(engine.HARDLY_SLOWER)} slower"
    sentence_end = f"{slower} and costs {text.usd_difference(saved)} less."
    return [[(composition(cheaper), "strong"), (sentence_end, "base")]]


def headline_and_reasons(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """The headline and the reasons as one paragraph each, for a few rows."""
    lines = headline(answer, marks, few_rows=True)
    reasons_line: list[Span] = []
    for line in reasons(state, answer):
        reasons_line += [*line, (" ", "base")]
    return [*lines, reasons_line] if reasons_line else lines


def notices(answer: Answer) -> list[Notice]:
    """Every warning about the answer, once each."""
    best, recommendation = answer.best, answer.report.recommendation
    explained = answer.explained.warnings if answer.explained else ()
    everything = (*recommendation.warnings, *(best.warnings if best else ()), *explained)
    return list(engine.in_order(everything))


def first_of_each(notices_in_order: Iterable[Notice]) -> list[Notice]:
    """The first warning of each code: five skewed stages are one thing to know."""
    first: dict[str, Notice] = {}
    for notice in notices_in_order:
        first.setdefault(notice.code, notice)
    return list(first.values())


REMEDIES = {
    "unknown-source-type": "press w to name it",
    "assumed-architecture": "press w to name where it ran, or / to name the types",
    "more-beside-heap": "type :overhead-per-core SIZE for less or more (0 for Spark's default)",
    "filled-nodes": "type :fill-nodes off for the measured layout",
    "idle-vcpus": "type :fill-nodes on to plan its nodes like theirs",
    "better-on-demand": "press s for prices on demand, to compare them too",
    "no-interval": "add more runs (o), or choose another model (m)",
    "single-run": "add a log of a run with other cores or input (o, then ctrl+a)",
}
"""Remedies for the planner, where the engine's remedy names an option of the command."""


def warnings(notices_given: Iterable[Notice], marks: Marks) -> list[Line]:
    """Each warning with its remedy; those that say one thing in one line."""
    return [
        [
            (f"{marks.warning} ", "warn"),
            (sentence(joint_text(group)), "base"),
            (
                f" {sentence(REMEDIES.get(group[0].code, in_planner(joint_remedy(group))))}",
                "muted",
            ),
        ]
        for group in joint_groups(notices_given)
    ]


def sentence(text: str) -> str:
    """The text with a capital at the start and a full stop at the end."""
    stripped = text.strip()
    if not stripped:
        return ""
    ended = stripped if stripped[-1] in ".?!" else f"{stripped}."
    named = any(character.isdigit() for character in stripped.split()[0])
    return ended if named else ended[0].upper() + ended[1:]


def assumptions(answer: Answer) -> tuple[str, ...]:
    """The assumptions and estimates in the best composition's cost."""
    best = answer.best
    return best.cost.assumptions if best and best.cost else ()


def owned_lines(state: PlanState, best: Choice | None) -> list[str]:
    """Which nodes of the best composition are owned."""
    if best is None:
        return []
    used = {
        name: min(nodes, best.composition[name])
        for name, nodes in state.limits.owned
        if name in best.composition
    }
    return [f"Owned, at no cost: {text.composition(used)}."] if used else []


def brief(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """Three rows for a small terminal: the headline, then that its times are not settled, else the
    first warning in short."""
    lines = headline(answer, marks, few_rows=True)
    if unsettled := provisional_line(answer):
        return [*lines, *unsettled]
    warnings_shown = joint_groups(first_of_each(notices(answer)))
    if warnings_shown:
        # First: the end of a long sentence is cut.
        count = (
            f"{len(warnings_shown)} warnings (key {key_of('evidence')}): "
            if len(warnings_shown) > 1
            else ""
        )
        lines.append(
            [
                (f"{marks.warning} ", "warn"),
                (f"{count}{sentence(joint_text(warnings_shown[0]))}", "muted"),
            ]
        )
    return lines
