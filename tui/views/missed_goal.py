"""That no cluster satisfies the goal, and what comes near: the other goals that can be had, the
nearest miss, and the likeliest to be in time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.views.cluster_words import at_spot, composition, interval_in_words, priced
from tui.views.marks import Marks
from tui.views.prose import Line, Span
from tui.widgets.numbers import money_text, time_text

if TYPE_CHECKING:
    from engine import Choice, Goal, Recommendation


def missed_goal_lines(
    recommendation: Recommendation, marks: Marks, batch: str, *, few_rows: bool
) -> list[Line]:
    """That nothing satisfies the goal, and the goals that can be had; then the nearest miss and the
    likeliest.

    Args:
        batch: " a micro-batch" of a stream, else "".
        few_rows: as for `sentences.headline`.
    """
    goal = recommendation.goal
    up_to = text.counted(goal.max_nodes, "node")
    lines: list[Line] = [
        [
            (f"{marks.missed} ", "bad"),
            (f"No cluster of up to {up_to} {goal_in_words(goal)}", "strong"),
            (f"{sufficient_goal(recommendation)}.", "base"),
        ]
    ]
    nearest, likeliest = recommendation.nearest, recommendation.likeliest_beside_nearest
    if nearest is not None and few_rows:
        lines.append(_in_few_rows(nearest, likeliest, goal, batch))
    elif nearest is not None:
        lines.append(_missing("Nearest: ", nearest, goal, batch))
        if likeliest is not None:
            within = "" if goal.budget_usd is None else f" within {money_text(goal.budget_usd)}"
            name = f"Likeliest in time{within}, of one type: "
            lines.append(_missing(name, likeliest, goal, batch))
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
    p = text.in_time(choice.p_deadline, goal.confidence)
    odds = "" if choice.p_deadline is None else f"; in time in {p} of runs"
    return [(name, "base"), *_with_intervals(choice, goal, batch), (f"{odds}.", "base")]


def _with_intervals(choice: Choice, goal: Goal, batch: str) -> Line:
    """Time and cost of a cluster that misses the goal."""
    costs = "" if choice.cost_usd is None else f" for {priced(choice)}"
    return [
        (composition(choice), "strong"),
        (f"{batch and ','}{batch} in {text.seconds(choice.seconds)}", "base"),
        (f" ({interval_in_words(choice, goal.confidence)}){costs}", "base"),
    ]


def _in_few_rows(nearest: Choice, likeliest: Choice | None, goal: Goal, batch: str) -> Line:
    """The nearest miss with its chance first; without intervals behind the likeliest, if that is
    another one: the list below has the nearest too."""
    end: Span = (".", "base")
    if likeliest is None:
        return [
            (_with_chance("Nearest", nearest, goal), "base"),
            *_with_intervals(nearest, goal, batch),
            end,
        ]
    kind = ", one type" if goal.budget_usd is None else ", one type in budget"
    likely = _in_short("Likeliest", likeliest, goal, batch, kind=kind)
    return [*likely, ("; ", "base"), *_in_short("nearest", nearest, goal, batch), end]


def _in_short(name: str, choice: Choice, goal: Goal, batch: str, *, kind: str = "") -> Line:
    """A cluster that misses the goal, without intervals; `kind` says of which it was chosen."""
    costs = "" if choice.cost_usd is None else f" for {text.usd(choice.cost_usd)}{at_spot(choice)}"
    return [
        (_with_chance(name, choice, goal, kind), "base"),
        (composition(choice), "strong"),
        (f"{batch and ','}{batch} in {text.seconds(choice.seconds)}{costs}", "base"),
    ]


def _with_chance(name: str, choice: Choice, goal: Goal, kind: str = "") -> str:
    """ "Nearest (45 % in time): "; without the chance where that is not known."""
    p = choice.p_deadline
    if p is None:
        return f"{name}: "
    return f"{name} ({text.in_time(p, goal.confidence)} in time{kind}): "


def goal_in_words(goal: Goal) -> str:
    """ "meets 45m at 90 % and stays within $12": the verb and the goal."""
    parts = []
    if goal.deadline_seconds is not None:
        level = text.confidence_level(goal.confidence)
        parts.append(f"meets {time_text(goal.deadline_seconds)} at {level}")
    if goal.budget_usd is not None:
        parts.append(f"stays within {money_text(goal.budget_usd)}")
    return " and ".join(parts) or "can be priced"


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
