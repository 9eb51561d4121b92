"""What a recommendation hangs on, in lines for a person."""

from __future__ import annotations

import engine
from tui import format as text


def lines(found: engine.Sensitivity, answer: engine.Recommendation) -> list[str]:
    """One line per question; what buys nothing is said too."""
    return [
        f"{_which_hour(answer.goal)}: {_hour(found.one_more_hour, answer.goal)}",
        f"one more dollar: {_dollar(found.one_more_dollar)}",
        *_hardly_slower(found, answer.goal),
        *_looser(found, answer),
        *_least(found, answer.goal),
        f"input: {_input(found)}",
        *([] if found.optimal else [UNPROVEN]),
    ]


UNPROVEN = (
    "not all compositions were compared for these lines: the search ended before, and better ones "
    "may exist"
)
"""It ends by the clock: on a busy machine other lines may come of the same question."""


def _which_hour(goal: engine.Goal) -> str:
    """What the hour is added to: the deadline, or the time of an answer that none binds."""
    bound = goal.deadline_seconds is not None and not goal.by_time
    return "one more hour" if bound else "at most an hour slower"


def _hour(change: engine.Change | None, goal: engine.Goal) -> str:
    if change is None:
        return "saves nothing"
    if goal.by_resource:
        return f"{text.rented(change)} saves {change.saved_vcore_seconds:,.0f} vcore-s"
    return f"{text.rented(change)} saves {text.usd(change.saved_usd)} ({text.usd(change.cost_usd)})"


def _dollar(change: engine.Change | None) -> str:
    if change is None:
        return "saves no time"
    saved = engine.format_time_difference(
        change.saved_seconds, of_seconds=change.seconds + change.saved_seconds
    )
    return (
        f"{text.rented(change)} is {saved} faster "
        f"({text.seconds(change.seconds)}, {text.usd(change.cost_usd)})"
    )


def _hardly_slower(found: engine.Sensitivity, goal: engine.Goal) -> list[str]:
    """What is as fast for less money; nothing where there is none."""
    if found.hardly_slower is None:
        return []
    return [
        f"at most {text.percent(engine.HARDLY_SLOWER)} slower: {_hour(found.hardly_slower, goal)}"
    ]


def _looser(found: engine.Sensitivity, answer: engine.Recommendation) -> list[str]:
    """Where something better comes in reach; of steps that are named alike the last, which is the
    best."""
    shown: dict[str, str] = {}
    for change in found.looser or ():
        if answer.goal.by_time:
            at = text.usd(engine.reachable_usd(change.budget_usd or 0.0))
            shown[f"from a budget of {at}"] = _dollar(change)
        else:
            at = text.reachable(change.deadline_seconds or 0.0)
            shown[f"from a deadline of {at}"] = _hour(change, answer.goal)
    return [f"{at}: {what}" for at, what in shown.items()]


def _least(found: engine.Sensitivity, goal: engine.Goal) -> list[str]:
    """Down to where the answer stands, and what comes then; never more than was asked for."""
    shown = []
    if found.least_deadline_seconds is not None:
        least = engine.reachable_seconds(found.least_deadline_seconds)
        at, then = text.seconds(min(least, goal.deadline_seconds or least)), _then(found.below)
        shown.append(f"stays the answer down to a deadline of {at}; below it {then}")
    if found.least_budget_usd is not None:
        usd = engine.reachable_usd(found.least_budget_usd)
        at, then = text.usd(min(usd, goal.budget_usd or usd)), _then(found.below_budget)
        shown.append(f"stays the answer down to a budget of {at}; below it {then}")
    return shown


def _then(change: engine.Change | None) -> str:
    """Another answer, or that there is none."""
    if change is None:
        return "nothing satisfies the goal"
    return f"{text.rented(change)} ({text.seconds(change.seconds)}, {text.usd(change.cost_usd)})"


def _input(found: engine.Sensitivity) -> str:
    if found.holds_until is None:
        return found.holds_note
    codes = list(dict.fromkeys(notice.code for notice in found.holds_warnings))
    # Not "3.1x": to --input-size that is a multiple of the largest run, whatever is asked.
    said = f"the goal is kept up to {_times(found.holds_until)} times the input asked for"
    if found.holds_until < HARDLY_MORE:
        said = "the goal is kept with hardly more than the input asked for"
    warnings = "the warning" if len(codes) == 1 else "the warnings"
    return f"{said} (with {warnings} {', '.join(codes)})" if codes else said


HARDLY_MORE = 1.01
"""Times the input that two digits after the point do not tell from one."""


def _times(value: float) -> str:
    """Rounded down: 3.1 times still holds."""
    digits = 2 if value < 2.0 else 1
    return f"{int(value * 10**digits) / 10**digits:.{digits}f}"
