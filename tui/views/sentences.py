"""The answer in sentences: what to rent, how long it takes, with which interval, and why."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.joint_notices import joint_groups, joint_remedy, joint_text
from tui.state import PlanState
from tui.views.marks import Marks
from tui.views.pages import key_of
from tui.views.planner_words import in_planner
from tui.views.prose import Line, Span
from tui.widgets.numbers import money_text, time_text

if TYPE_CHECKING:
    from engine import Choice, Goal, Notice, Outline, Recommendation
    from tui.answers import Answer

WAITING: tuple[Line, ...] = ([("Reading the evidence and the prices ...", "muted")],)


BLANK: Line = (("", "base"),)


def headline(answer: Answer, marks: Marks, *, few_rows: bool = False) -> list[Line]:
    """The recommendation in one sentence, or that the goal is impossible and the nearest miss. It
    follows the goal that was answered, which the sliders may have left already.

    Args:
        few_rows: whether there is room for some three rows: nearest and likeliest then share one
            line.
    """
    recommendation = answer.report.recommendation
    unit = " a micro-batch" if engine.of_one_batch(notices(answer)) else ""
    if recommendation.recommended is not None:
        return [_recommended(recommendation.goal, recommendation.recommended, marks, unit)]
    return _impossible(recommendation, marks, unit, few_rows=few_rows)


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


def sufficient_goal(recommendation: Recommendation) -> str:
    """The deadline or the budget that can be met; "" where none is known."""
    one_limit = len(recommendation.compromises) < 2
    if one_limit and recommendation.enough_seconds is not None:
        return f"; {text.reachable_deadline(recommendation.enough_seconds)} can be met"
    if one_limit and recommendation.enough_usd is not None:
        return f"; {text.usd(engine.reachable_usd(recommendation.enough_usd))} is enough"
    return _compromises(recommendation) if recommendation.compromises else ""


def _compromises(recommendation: Recommendation) -> str:
    """ "; 33.1 s can be met for $0.354, 1m 10s within $0.05": the compromises for a deadline and a
    budget that cannot be met together."""
    goal = recommendation.goal
    parts: list[str] = []
    for compromise in recommendation.compromises:
        later = (
            goal.deadline_seconds is not None
            and compromise.deadline_seconds > goal.deadline_seconds
        )
        deadline = text.reachable_deadline if later else time_text
        dearer = compromise.budget_usd > goal.most_usd
        cost = text.usd(engine.reachable_usd(compromise.budget_usd)) if dearer else ""
        verb = "" if parts else " can be met"
        paid = f"for {cost}" if dearer else f"within {money_text(compromise.budget_usd)}"
        parts.append(f"{deadline(compromise.deadline_seconds)}{verb} {paid}")
    return f"; {', '.join(parts)}"


def _impossible(
    recommendation: Recommendation, marks: Marks, batch: str, *, few_rows: bool
) -> list[Line]:
    goal = recommendation.goal
    up_to = text.counted(goal.max_nodes, "node")
    lines: list[Line] = [
        [
            (f"{marks.missed} ", "bad"),
            (f"No cluster of up to {up_to} {goal_in_words(goal)}", "strong"),
            (f"{sufficient_goal(recommendation)}.", "base"),
        ]
    ]
    nearest, likeliest = recommendation.nearest, recommendation.likelier_than_nearest
    if nearest is not None and likeliest is not None and few_rows:
        near = _in_short("Nearest", nearest, goal, batch)
        likely = _in_short("likeliest", likeliest, goal, batch)
        lines.append([*near, ("; ", "base"), *likely, (".", "base")])
    elif nearest is not None:
        lines.append(_missing("Nearest: ", nearest, goal, batch))
        if likeliest is not None:
            lines.append(_missing("Likeliest in time: ", likeliest, goal, batch))
    elif (
        recommendation.rejected
    ):  # no type could be compared with the goal: the goal is not the reason
        first, *others = recommendation.rejected
        same_reason = sum(other.code == first.code for other in others)
        rest = f"; likewise {text.counted(same_reason, 'other type')}" if same_reason else ""
        lines.append([(f"{first.instance}: {first.reason}{rest}.", "base")])
    return lines


def _missing(name: str, choice: Choice, goal: Goal, batch: str) -> Line:
    """A cluster that misses the goal: its time, cost and chance."""
    costs = "" if choice.cost_usd is None else f" for {priced(choice)}"
    p = text.in_time(choice.p_deadline, goal.confidence)
    odds = "" if choice.p_deadline is None else f"; in time in {p} of runs"
    return [
        (name, "base"),
        (composition(choice), "strong"),
        (f"{batch and ','}{batch} in {text.seconds(choice.seconds)}", "base"),
        (f" ({interval_in_words(choice, goal.confidence)}){costs}{odds}.", "base"),
    ]


def _in_short(name: str, choice: Choice, goal: Goal, batch: str) -> Line:
    """A cluster that misses the deadline, without intervals; its chance is first, as the end may
    be cut."""
    costs = "" if choice.cost_usd is None else f" for {text.usd(choice.cost_usd)}{at_spot(choice)}"
    return [
        (f"{name} ({text.in_time(choice.p_deadline, goal.confidence)} in time): ", "base"),
        (composition(choice), "strong"),
        (f"{batch and ','}{batch} in {text.seconds(choice.seconds)}{costs}", "base"),
    ]


def cost(choice: Choice) -> Line:
    """ " for $2.60 at spot prices ($2.10 to $3.40)"; nothing where no cost is known."""
    if choice.cost_usd is None:
        return []
    between = text.usd_interval(choice.cost_low_usd, choice.cost_high_usd)
    return [
        (" for ", "base"),
        (text.usd(choice.cost_usd), "strong"),
        (f"{at_spot(choice)}{between}", "base"),
    ]


def priced(choice: Choice) -> str:
    """ "$2.60 at spot prices ($2.10 to $3.40)"."""
    between = text.usd_interval(choice.cost_low_usd, choice.cost_high_usd)
    return f"{text.usd(choice.cost_usd)}{at_spot(choice)}{between}"


def goal_in_words(goal: Goal) -> str:
    """ "meets 45m at 90 % within $12": the verb and the goal."""
    parts = []
    if goal.deadline_seconds is not None:
        parts.append(f"meets {time_text(goal.deadline_seconds)} at {goal.confidence * 100:g} %")
    if goal.budget_usd is not None:
        parts.append(f"stays within {money_text(goal.budget_usd)}")
    return " and ".join(parts) or "can be priced"


def composition(choice: Choice | Outline) -> str:
    """ "14 × r5.2xlarge"."""
    return text.rented_nodes(choice) or choice.note


def spot_share(answer: Answer) -> float | None:
    """The maximum share of spot nodes in the answer; None without one. How many nodes of each
    cluster would be spot nodes is searched for the recommended one alone: all others are of nodes
    on demand."""
    return answer.built.plan.surface.limits.max_spot if answer.report.billing.spot else None


def what_is_on_demand(answer: Answer, others: str = "others") -> str:
    """ "others on demand" in a list of the recommended cluster and `others`, "all on demand" where
    that one has no spot node either; "" where no maximum share is set."""
    if spot_share(answer) is None:
        return ""
    best = answer.report.recommendation.recommended
    return f"{others if best and best.spot else 'all'} on demand"


def on_demand_title(answer: Answer) -> str:
    """Addition to the title of a chart of clusters on demand (`spot_share`)."""
    return "" if spot_share(answer) is None else ", on demand"


def at_spot(choice: Choice) -> str:
    """ " at spot prices" where all nodes are spot nodes; where some are, the composition says
    which."""
    every = choice.spot and dict(choice.spot) == dict(choice.composition)
    return " at spot prices" if every else ""


def interval_in_words(choice: Choice, confidence: float) -> str:
    """ "9 in 10 runs: 38 to 44 min"."""
    if choice.low is None:
        return "no interval: how sure is not known"
    return f"{text.odds(confidence)} runs: {text.span(choice.low, choice.high)}"


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
            return [
                [(f"{marks.missed} ", "bad"), (named, "strong"), (f": {rejected.reason}.", "base")]
            ]
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
    """Why the best composition won, which nodes of it are owned, and its bottleneck."""
    best = answer.best
    lines: list[Line] = [[(sentence(reason), "base")] for reason in (best.why if best else ())]
    lines += hardly_slower_line(answer.report.recommendation)
    lines += [[(line, "base")] for line in owned_lines(state, best)]
    bottleneck = answer.explained.bottleneck if answer.explained else None
    if bottleneck:
        lines.append([("Bottleneck: ", "muted"), (bottleneck, "strong")])
    return lines


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
    """Three rows for a small terminal: the headline, then the first warning in short."""
    lines = headline(answer, marks, few_rows=True)
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
