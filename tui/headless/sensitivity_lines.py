"""The sensitivity of a recommendation in lines of text: to deadline, budget and input."""

from __future__ import annotations

import engine
from tui import format as text


def lines(sensitivity: engine.Sensitivity, recommendation: engine.Recommendation) -> list[str]:
    """One line per question; that something gains nothing is stated too."""
    goal, looser = recommendation.goal, _looser_goals(sensitivity, recommendation)
    gains = {
        _which_hour(goal): _hour(sensitivity.one_more_hour, goal),
        "one more dollar": _dollar(sensitivity.one_more_dollar),
    }
    # Where an hour brings no more than a looser goal does, one line says both. Goals come from the
    # tightest on: of equal gains the first goal is the one from which on they are to be had.
    first_at: dict[str, str] = {}
    for at, gain in looser.items():
        if gain in gains.values():
            first_at.setdefault(gain, at)
    return [
        *(
            f"{more}: {gain}, {first_at[gain]} on" if gain in first_at else f"{more}: {gain}"
            for more, gain in gains.items()
        ),
        *_hardly_slower(sensitivity, goal),
        *(f"{at}: {gain}" for at, gain in looser.items() if gain not in first_at),
        *_tightest_goals(sensitivity, goal),
        f"input: {_input_margin(sensitivity)}",
        *([] if sensitivity.optimal else [UNPROVEN]),
    ]


UNPROVEN = (
    "not all compositions were compared exactly for these lines: better ones than they name may "
    "exist"
)
"""A search may end before, and the curves of a workflow are inexact."""


def _which_hour(goal: engine.Goal) -> str:
    """What the hour is added to: the deadline, or the time of an answer without a binding
    deadline."""
    bound = goal.deadline_seconds is not None and not goal.by_time
    return "one more hour" if bound else "at most an hour slower"


def _hour(change: engine.Change | None, goal: engine.Goal) -> str:
    if change is None:
        return "saves nothing"
    if goal.by_resource:
        return f"{text.rented_nodes(change)} saves {change.saved_vcore_seconds:,.0f} vcore-s"
    saved, cost = text.usd(change.saved_usd), text.usd(change.cost_usd)
    return f"{text.rented_nodes(change)} saves {saved} ({cost})"


def _dollar(change: engine.Change | None) -> str:
    if change is None:
        return "saves no time"
    saved = engine.format_time_difference(
        change.saved_seconds, of_seconds=change.seconds + change.saved_seconds
    )
    return (
        f"{text.rented_nodes(change)} is {saved} faster "
        f"({text.seconds(change.seconds)}, {text.usd(change.cost_usd)})"
    )


def _hardly_slower(sensitivity: engine.Sensitivity, goal: engine.Goal) -> list[str]:
    """A cheaper cluster that is hardly slower; nothing where there is none."""
    if sensitivity.hardly_slower is None:
        return []
    saving = _hour(sensitivity.hardly_slower, goal)
    return [f"at most {text.percent(engine.HARDLY_SLOWER)} slower: {saving}"]


def _looser_goals(sensitivity: engine.Sensitivity, answer: engine.Recommendation) -> dict[str, str]:
    """The goals at which a better answer becomes feasible, and what it gains; of goals with the
    same text the last one, which is the best."""
    shown: dict[str, str] = {}
    for change in sensitivity.looser or ():
        if answer.goal.by_time:
            at = text.usd(engine.reachable_usd(change.budget_usd or 0.0))
            shown[f"from a budget of {at}"] = _dollar(change)
        else:
            at = text.reachable_deadline(change.deadline_seconds or 0.0)
            shown[f"from a deadline of {at}"] = _hour(change, answer.goal)
    return shown


def _tightest_goals(sensitivity: engine.Sensitivity, goal: engine.Goal) -> list[str]:
    """The tightest deadline or budget for which the answer stays the same, and what follows below;
    never looser than the goal."""
    shown = []
    if sensitivity.least_deadline_seconds is not None:
        least = engine.reachable_seconds(sensitivity.least_deadline_seconds)
        at = text.seconds(min(least, goal.deadline_seconds or least))
        then = _next_answer(sensitivity.below)
        shown.append(f"stays the answer down to a deadline of {at}; below it {then}")
    if sensitivity.least_budget_usd is not None:
        usd = engine.reachable_usd(sensitivity.least_budget_usd)
        at = text.usd(min(usd, goal.budget_usd or usd))
        then = _next_answer(sensitivity.below_budget)
        shown.append(f"stays the answer down to a budget of {at}; below it {then}")
    return shown


def _next_answer(change: engine.Change | None) -> str:
    """The next answer, or that there is none."""
    if change is None:
        return "nothing satisfies the goal"
    return (
        f"{text.rented_nodes(change)} ({text.seconds(change.seconds)}, {text.usd(change.cost_usd)})"
    )


def _input_margin(sensitivity: engine.Sensitivity) -> str:
    if sensitivity.holds_until is None:
        return sensitivity.holds_note
    codes = list(dict.fromkeys(notice.code for notice in sensitivity.holds_warnings))
    # Not "3.1x": --input-size takes that as a multiple of the largest run, not of this input.
    times = engine.format_factor(sensitivity.holds_until)
    goal_kept = f"the goal is kept up to {times} times the input asked for"
    if sensitivity.holds_until < HARDLY_MORE:
        goal_kept = "the goal is kept with hardly more than the input asked for"
    warnings = "the warning" if len(codes) == 1 else "the warnings"
    return f"{goal_kept} (with {warnings} {', '.join(codes)})" if codes else goal_kept


HARDLY_MORE = 1.01
"""A factor that two decimals do not distinguish from one."""
