"""Undo and redo of everything that can be set, as one frozen value: no terminal, no clock."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from tui.input_text.term_text import TERMS
from tui.state import INPUTS, PlanState, with_inputs, with_renamed_sources
from tui.storage.scenario import typed_values
from tui.widgets.numbers import money_text, time_text

MAX_STEPS = 200
"""Older steps are forgotten."""

ONE_GESTURE_SECONDS = 1.0
"""Changes of the same input that follow each other this closely are undone together: nobody wants
to take back a slider that was held down key by key."""


def changed_inputs(before: PlanState, after: PlanState) -> frozenset[str]:
    """Names of the inputs that differ."""
    return frozenset(name for name in INPUTS if getattr(before, name) != getattr(after, name))


@dataclass(frozen=True)
class History:
    """States to go back to (newest last) and, after an undo, to go forward to (next first)."""

    past: tuple[PlanState, ...] = ()
    future: tuple[PlanState, ...] = ()
    last_changed: frozenset[str] = frozenset()
    last_seconds: float = 0.0

    def recorded(self, before: PlanState, after: PlanState, *, now_seconds: float) -> History:
        """After a change by the user; what was undone before it cannot be redone any more.

        Args:
            now_seconds: on any clock that only goes forward.
        """
        changed = changed_inputs(before, after)
        if not changed:
            return self
        close = now_seconds - self.last_seconds <= ONE_GESTURE_SECONDS
        same_gesture = bool(self.past) and close and changed == self.last_changed
        past = self.past if same_gesture else (*self.past, before)[-MAX_STEPS:]
        if not changed_inputs(past[-1], after):
            return History(past[:-1])  # the gesture has led back: to undo it would change nothing
        return History(past, (), changed, now_seconds)

    def refused(self, state: PlanState) -> History:
        """After a change that was refused, which left `state`: steps that lead there undo
        nothing, and the next change is a step of its own."""
        past = list(self.past)
        while past and not changed_inputs(past[-1], state):
            past.pop()
        return History(tuple(past), self.future)

    def renamed(self, names: Mapping[str, str]) -> History:
        """With other names of sources in every step: what has another name now cannot be opened
        under its old one."""
        past, future = (
            tuple(with_renamed_sources(step, names) for step in steps)
            for steps in (self.past, self.future)
        )
        return replace(self, past=past, future=future)

    def undone(self, state: PlanState) -> tuple[History, PlanState] | None:
        """One step back from `state`; None where there is none."""
        if not self.past:
            return None
        *past, earlier = self.past
        return History(tuple(past), (state, *self.future)), with_inputs(state, earlier)

    def redone(self, state: PlanState) -> tuple[History, PlanState] | None:
        """One undone step forward again; None where there is none."""
        if not self.future:
            return None
        later, *future = self.future
        return History((*self.past, state), tuple(future)), with_inputs(state, later)


def difference(before: PlanState, after: PlanState) -> str:
    """Which inputs a step changed, in words for a notice: "deadline 3m → 30s, spot on → off";
    without values where that would not fit a line."""
    old, new = _displayed_values(before), _displayed_values(after)
    changed = [name for name in INPUTS if name in changed_inputs(before, after)]
    terms = [key for key in TERMS if old.get(key) != new.get(key)]
    names = [key for name in changed for key in (terms if name == "terms" else (name,))]
    words = dict.fromkeys(_LABELS.get(name, name) for name in names)
    told = {
        word: f"{word} {old.get(key, 'not set')} → {new.get(key, 'not set')}"
        for key, word in (
            (_COMMAND_NAMES.get(name, name), _LABELS.get(name, name)) for name in names
        )
        if old.get(key) != new.get(key)
    }
    said = ", ".join(told.get(word, word) for word in words)
    return said if len(said) <= MAX_NOTICE_CHARS else ", ".join(words)


def _displayed_values(state: PlanState) -> dict[str, str]:
    """The inputs as they are typed; deadline and budget as their sliders show them, since what was
    dragged, or where a slider begins, is no round amount."""
    told = typed_values(state)
    if state.deadline_seconds is not None:
        told["deadline"] = time_text(state.deadline_seconds)
    if state.budget_usd is not None:
        told["budget"] = money_text(state.budget_usd)
    return told


MAX_NOTICE_CHARS = 60
"""Characters of a notice on what a step changed."""

_COMMAND_NAMES = {
    "ran_on": "ran-on",
    "deadline_seconds": "deadline",
    "budget_usd": "budget",
    "scale": "size",
    "job": "param",
    "max_nodes": "nodes",
}
"""Input -> the command that sets it, where that has another name."""


_LABELS = {
    "sources": "evidence",
    "reading": "evidence",
    "ran_on": "where it ran",
    "category": "kind of job",
    "instances": "instance types",
    "deadline_seconds": "deadline",
    "deadline_chosen": "deadline",
    "budget_usd": "budget",
    "scale": "data size",
    "job": "job parameters",
    "max_nodes": "maximum nodes",
    "mix": "types per cluster",
    "training": "training runs",
}
