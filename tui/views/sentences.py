"""The answer in sentences: what to rent, how long it takes, how sure that is, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.state import PlanState
from tui.views.marks import Marks
from tui.views.pages import key_of
from tui.views.prose import Line, Span
from tui.widgets.numbers import money_text, time_text

if TYPE_CHECKING:
    from engine import Choice, Goal, Notice, Recommendation
    from tui.answers import Answer

WAITING: tuple[Line, ...] = ([("Reading the evidence and the prices ...", "muted")],)


BLANK: Line = (("", "base"),)


def headline(answer: Answer, marks: Marks) -> list[Line]:
    """The recommendation in one sentence, or what is impossible and what comes closest: by the goal
    that was answered, which may no longer be the one on the sliders."""
    found = answer.report.recommendation
    batch = " a micro-batch" if engine.of_one_batch(notices(answer)) else ""
    if found.recommended is not None:
        return [_recommended(found.goal, found.recommended, marks, batch)]
    return _impossible(found, marks, batch)


def headline_text(answer: Answer, marks: Marks) -> str:
    """The headline as plain text, without the mark that it begins with."""
    marked, *rest = headline(answer, marks)
    return " ".join("".join(part for part, _ in line) for line in (marked[1:], *rest))


def _recommended(goal: Goal, choice: Choice, marks: Marks, batch: str) -> Line:
    line: list[Span] = [(f"{marks.best} ", "accent"), (composition(choice), "strong")]
    line += [(f" finishes{batch} in ", "base"), (text.seconds(choice.seconds), "strong")]
    line.append((f" ({in_words(choice, goal.confidence)})", "base"))
    line += cost(choice)
    if goal.deadline_seconds is not None and choice.p_deadline is not None:
        line += [
            ("; ", "base"),
            (text.percent(choice.p_deadline), "strong"),
            (f" likely within {time_text(goal.deadline_seconds)}", "base"),
        ]
    return [*line, (".", "base")]


def enough(found: Recommendation) -> str:
    """The deadline or the budget that can be kept; "" where none is known."""
    one_limit = len(found.compromises) < 2
    if one_limit and found.enough_seconds is not None:
        return f"; {text.reachable(found.enough_seconds)} can be met"
    if one_limit and found.enough_usd is not None:
        return f"; {text.usd(engine.reachable_usd(found.enough_usd))} is enough"
    return _instead(found) if found.compromises else ""


def _instead(found: Recommendation) -> str:
    """ "; 33.1 s can be met for $0.354, 1m 10s within $0.05": what can be had of two that cannot be
    kept together."""
    goal = found.goal
    said: list[str] = []
    for one in found.compromises:
        late = goal.deadline_seconds is not None and one.deadline_seconds > goal.deadline_seconds
        deadline = text.reachable if late else time_text
        dear = one.budget_usd > goal.most_usd
        cost = text.usd(engine.reachable_usd(one.budget_usd)) if dear else ""
        verb = "" if said else " can be met"
        paid = f"for {cost}" if dear else f"within {money_text(one.budget_usd)}"
        said.append(f"{deadline(one.deadline_seconds)}{verb} {paid}")
    return f"; {', '.join(said)}"


def _impossible(found: Recommendation, marks: Marks, batch: str) -> list[Line]:
    goal = found.goal
    up_to = text.counted(goal.max_nodes, "node")
    lines: list[Line] = [
        [
            (f"{marks.missed} ", "bad"),
            (f"No cluster of up to {up_to} {goal_in_words(goal)}", "strong"),
            (f"{enough(found)}.", "base"),
        ]
    ]
    near = found.nearest
    if near is not None:
        costs = "" if near.cost_usd is None else f" for {priced(near)}"
        p = text.in_time(near.p_deadline, goal.confidence)
        odds = "" if near.p_deadline is None else f"; in time in {p} of runs"
        lines.append(
            [
                ("Nearest: ", "base"),
                (composition(near), "strong"),
                (f"{batch and ','}{batch} in {text.seconds(near.seconds)}", "base"),
                (f" ({in_words(near, goal.confidence)}){costs}{odds}.", "base"),
            ]
        )
    elif found.rejected:  # nothing could be held against the goal: the goal is not what is wrong
        first, *others = found.rejected
        alike = sum(other.code == first.code for other in others)
        rest = f"; likewise {text.counted(alike, 'other type')}" if alike else ""
        lines.append([(f"{first.instance}: {first.reason}{rest}.", "base")])
    return lines


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
    """ "meets 45m at 90 % within $12": the verb and what is asked."""
    parts = []
    if goal.deadline_seconds is not None:
        parts.append(f"meets {time_text(goal.deadline_seconds)} at {goal.confidence * 100:g} %")
    if goal.budget_usd is not None:
        parts.append(f"stays within {money_text(goal.budget_usd)}")
    return " and ".join(parts) or "can be priced"


def composition(choice: Choice) -> str:
    """ "14 × r5.2xlarge"."""
    return text.rented(choice) or choice.note


def at_spot(choice: Choice) -> str:
    """Said where all nodes are spot nodes; where some are, the composition says which."""
    every = choice.spot and dict(choice.spot) == dict(choice.composition)
    return " at spot prices" if every else ""


def in_words(choice: Choice, confidence: float) -> str:
    """ "9 in 10 runs: 38 to 44 min"."""
    if choice.low is None:
        return "no interval: how sure is not known"
    return f"{text.odds(confidence)} runs: {text.span(choice.low, choice.high)}"


def selected(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """What there is to say about the type under the cursor; nothing about the recommended one."""
    found = answer.report.recommendation
    if state.selected is None:
        return []
    for choice in found.alternatives:
        if choice.instance == state.selected:
            return [_runner_up(state, choice, found.recommended)]
    for rejected in found.rejected:
        if rejected.instance == state.selected:
            named = text.composition(dict(rejected.composition or {})) or rejected.instance
            return [
                [(f"{marks.missed} ", "bad"), (named, "strong"), (f": {rejected.reason}.", "base")]
            ]
    return []


def _runner_up(state: PlanState, choice: Choice, best: Choice | None) -> Line:
    line: list[Span] = [(composition(choice), "strong"), (" takes ", "base")]
    line.append((f"{text.seconds(choice.seconds)} ({in_words(choice, state.confidence)})", "base"))
    line += cost(choice)
    if best and choice.cost_usd is not None and best.cost_usd is not None:
        more = choice.cost_usd - best.cost_usd
        than = "more" if more >= 0 else "less"
        line.append((f", {text.usd_difference(more)} {than} than {composition(best)}", "base"))
    return [*line, (f"; {choice.note}." if choice.note else ".", "base")]


def why(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """The Why panel: the sentence, the reasons, the bottleneck, and every warning with its cure."""
    lines = headline(answer, marks)
    lines.append(BLANK)
    chosen = selected(state, answer, marks)
    lines += [*chosen, BLANK] if chosen else []
    lines += reasons(state, answer)
    return [*lines, BLANK, *warnings(first_of_each(notices(answer)), marks)]


def reasons(state: PlanState, answer: Answer) -> list[Line]:
    """Why the best composition won, what of it is owned, and what bounds it."""
    best = answer.best
    lines: list[Line] = [[(sentence(reason), "base")] for reason in (best.why if best else ())]
    lines += as_good(answer.report.recommendation)
    lines += [[(line, "base")] for line in owned(state, best)]
    bottleneck = answer.explained.bottleneck if answer.explained else None
    if bottleneck:
        lines.append([("Bottleneck: ", "muted"), (bottleneck, "strong")])
    return lines


def as_good(found: Recommendation) -> list[Line]:
    """What is as fast for less money, as far as anybody could tell, where no reason names it."""
    best, other = found.recommended, found.hardly_slower
    if best is None or other is None:
        return []
    # Reasons name it between commas: without them 12 nodes would be taken for 2.
    if any(f", {composition(other)}, " in reason for reason in best.why):
        return []
    saved = (best.cost_usd or 0.0) - (other.cost_usd or 0.0)
    slower = f" is at most {text.percent(engine.HARDLY_SLOWER)} slower"
    said = f"{slower} and costs {text.usd_difference(saved)} less."
    return [[(composition(other), "strong"), (said, "base")]]


def decided(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """The sentence, and the reasons one after another."""
    said: list[Span] = []
    for line in reasons(state, answer):
        said += [*line, (" ", "base")]
    return [*headline(answer, marks), said] if said else headline(answer, marks)


def notices(answer: Answer) -> list[Notice]:
    """Every warning about the answer, once each."""
    best, found = answer.best, answer.report.recommendation
    explained = answer.explained.warnings if answer.explained else ()
    everything = (*found.warnings, *(best.warnings if best else ()), *explained)
    return list(engine.in_order(everything))


def first_of_each(found: Iterable[Notice]) -> list[Notice]:
    """One warning of each code: five skewed stages are one thing to know."""
    first: dict[str, Notice] = {}
    for notice in found:
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
"""What to do here, where the engine's remedy names an option of the command."""


def in_planner(said: str) -> str:
    """What the engine says, with options of the command as they are typed here: `--model boe` is
    `:model boe`. Options that are no typed commands stay. What a command lists a key does."""
    for pattern, key in _LISTED:
        said = re.sub(pattern, key, said)
    if "--" not in said:
        return said
    from tui.typed_commands import TYPED_COMMANDS

    known = {verb.name: verb.name for verb in TYPED_COMMANDS} | _OTHERWISE
    return re.sub(
        rf"{_OTHER_COMMAND}|(?<![\w-])--([a-z][a-z-]*)",
        lambda found: f":{known[found[1]]}" if found[1] in known else found[0],
        said,
    )


_OTHER_COMMAND = r"sparkplan [a-z-]+(?: (?:[a-z]+(?= --)|[A-Z]+|--[a-z-]+))*"
"""A line for the shell, whose options are not typed here."""


_LISTED = (
    (r"`sparkplan samples` lists samples", "o lists the samples"),
    (r"`sparkplan catalog show NAME` lists the types of a catalog", "w lists the types"),
    (r"`sparkplan catalog show \S+` lists its types", "/ lists its types"),
    (r"name one with --region", "type one behind its name"),
)
"""Commands that list what can be named, and the keys that do it here; what is typed otherwise."""

_OTHERWISE = {"max-nodes": "nodes", "input-size": "size", "fractions": "samples"}
"""Options that have another name as typed commands."""


def warnings(found: Iterable[Notice], marks: Marks) -> list[Line]:
    """Each warning with its remedy."""
    return [
        [
            (f"{marks.warning} ", "warn"),
            (sentence(notice.text), "base"),
            (f" {sentence(REMEDIES.get(notice.code, in_planner(notice.remedy)))}", "muted"),
        ]
        for notice in found
    ]


def sentence(words: str) -> str:
    """The words with a capital at the start and a full stop at the end."""
    stripped = words.strip()
    if not stripped:
        return ""
    ended = stripped if stripped[-1] in ".?!" else f"{stripped}."
    named = any(character.isdigit() for character in stripped.split()[0])
    return ended if named else ended[0].upper() + ended[1:]


def assumptions(answer: Answer) -> tuple[str, ...]:
    """What of the best composition's cost rests on an assumption or an estimate."""
    best = answer.best
    return best.cost.assumptions if best and best.cost else ()


def owned(state: PlanState, best: Choice | None) -> list[str]:
    """Which nodes of the best composition are paid for already."""
    if best is None:
        return []
    used = {
        name: min(nodes, best.composition[name])
        for name, nodes in state.limits.owned
        if name in best.composition
    }
    return [f"Owned, at no cost: {text.composition(used)}."] if used else []


def brief(state: PlanState, answer: Answer, marks: Marks) -> list[Line]:
    """Three rows for a small terminal: the sentence, then the first warning in short."""
    lines = headline(answer, marks)
    found = first_of_each(notices(answer))
    if found:
        # First: the end of a long sentence is cut.
        count = f"{len(found)} warnings (key {key_of('evidence')}): " if len(found) > 1 else ""
        lines.append(
            [(f"{marks.warning} ", "warn"), (f"{count}{sentence(found[0].text)}", "muted")]
        )
    return lines
