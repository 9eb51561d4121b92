"""Undo and redo of all inputs, as one frozen value: no terminal, no clock."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, replace

from tui.changes import EvidenceRead
from tui.input_text.term_text import TERMS
from tui.reducer import reduce
from tui.state import (
    INPUTS,
    PlanState,
    evidence_key,
    plan_inputs_key,
    with_inputs,
    with_plan,
    with_renamed_sources,
)
from tui.storage.scenario import typed_values
from tui.widgets.numbers import money_text, time_text

MAX_STEPS = 200
"""Older steps are dropped."""

ONE_GESTURE_SECONDS = 1.0
"""Changes of the same input within this interval are undone together: a held key moves a slider by
many steps, and nobody wants to undo each."""


def changed_inputs(before: PlanState, after: PlanState) -> frozenset[str]:
    """Names of the inputs that differ."""
    return frozenset(name for name in INPUTS if getattr(before, name) != getattr(after, name))


@dataclass(frozen=True)
class History:
    """States to undo to (newest last) and, after an undo, to redo (next first).

    Args:
        unread: the evidence that could not be read as a step led to it. Such steps stay, since a
            file or server may be missing for a moment, and the next step goes past them.
    """

    past: tuple[PlanState, ...] = ()
    future: tuple[PlanState, ...] = ()
    last_changed: frozenset[str] = frozenset()
    last_seconds: float = 0.0
    unread: frozenset[Hashable] = frozenset()

    def recorded(self, before: PlanState, after: PlanState, *, now_seconds: float) -> History:
        """The history after a change by the user; steps to redo are dropped.

        Args:
            now_seconds: from any monotonic clock.
        """
        changed = changed_inputs(before, after)
        if not changed:
            return self
        close = now_seconds - self.last_seconds <= ONE_GESTURE_SECONDS
        same_gesture = bool(self.past) and close and changed == self.last_changed
        past = self.past if same_gesture else (*self.past, before)[-MAX_STEPS:]
        if not changed_inputs(past[-1], after):
            return History(past[:-1])  # the gesture ended where it began: there is nothing to undo
        return History(past, (), changed, now_seconds)

    def refused(self, state: PlanState, plans: Collection[Hashable] = ()) -> History:
        """The history after a refused change, which left `state`: steps to that state are dropped,
        with those on evidence that was opened after it and never read, and the next change is a
        step of its own.

        Args:
            plans: the plans that were refused (`plan_inputs_key`), as for `without_plans`.
        """
        past = self.past
        on_its_evidence = [i for i, step in enumerate(past) if step.sources == state.sources]
        if on_its_evidence and not self.future:  # else the last change was an undo
            past = past[: on_its_evidence[-1] + 1]
        return History(past, self.future).without_plans(plans, state)

    def without_plans(self, plans: Collection[Hashable], state: PlanState) -> History:
        """The history of `state` without steps to refused plans, where an undo would stick. A goal
        that was set on one is a step on the plan before it; steps to redo are dropped."""
        past: list[PlanState] = []
        for step in self.past:
            asked = step
            if plan_inputs_key(step) in plans:
                if not past or past[-1].sources != step.sources:
                    continue
                asked = with_plan(step, past[-1])
                if not changed_inputs(past[-1], asked):
                    continue
            past.append(asked)
        while past and not changed_inputs(past[-1], state):
            past.pop()
        future = tuple(step for step in self.future if plan_inputs_key(step) not in plans)
        return History(tuple(past), future)

    def started(self, state: PlanState, read: EvidenceRead) -> History:
        """The history once evidence is read and planned, which gave `state` its default deadline:
        so have the steps that were made on it before."""

        def with_default(step: PlanState) -> PlanState:
            if step.sources != state.sources or step.deadline_seconds is not None:
                return step
            begun = reduce(step, read)
            by_default = not (state.deadline_chosen or state.deadline_seconds is None)
            if by_default and begun.deadline_seconds is not None:
                return replace(begun, deadline_seconds=state.deadline_seconds)
            return begun

        past, future = (tuple(map(with_default, steps)) for steps in (self.past, self.future))
        return replace(self, past=past, future=future)

    def renamed(self, names: Mapping[str, str]) -> History:
        """The history with renamed sources in every step: a renamed file cannot be opened under its
        old name."""
        past, future = (
            tuple(with_renamed_sources(step, names) for step in steps)
            for steps in (self.past, self.future)
        )
        return replace(self, past=past, future=future)

    def undone(self, state: PlanState) -> tuple[History, PlanState] | None:
        """One step back from `state`, past those that could not be read; None where there is
        none."""
        if not self.past:
            return None
        backwards = range(len(self.past) - 1, -1, -1)
        at = next((i for i in backwards if self._may_be_read(self.past[i])), len(self.past) - 1)
        future = (*self.past[at + 1 :], state, *self.future)
        return History(self.past[:at], future), with_inputs(state, self.past[at])

    def redone(self, state: PlanState) -> tuple[History, PlanState] | None:
        """One undone step forward, past those that could not be read; None where there is none."""
        if not self.future:
            return None
        at = next((i for i, step in enumerate(self.future) if self._may_be_read(step)), 0)
        past = (*self.past, state, *self.future[:at])
        return History(past, self.future[at + 1 :]), with_inputs(state, self.future[at])

    def _may_be_read(self, step: PlanState) -> bool:
        return _evidence_of(step) not in self.unread

    def not_read(self, refused: PlanState) -> History:
        """The history before a step that led to `refused`, whose evidence could not be read. Where
        the others could not be read either, they are tried again."""
        evidence = _evidence_of(refused)
        others = self.unread if evidence not in self.unread else frozenset()
        return replace(self, unread=others | {evidence})


def _evidence_of(step: PlanState) -> Hashable:
    """The evidence of a step, however often it was read."""
    return evidence_key(replace(step, reading=0))


def difference(before: PlanState, after: PlanState) -> str:
    """The inputs that a step changed, for a notice: "deadline 3m → 30s, spot on → off"; without
    values where these would not fit a line."""
    old, new = _displayed_values(before), _displayed_values(after)
    changed = [name for name in INPUTS if name in changed_inputs(before, after)]
    terms = [key for key in TERMS if old.get(key) != new.get(key)]
    names = [key for name in changed for key in (terms if name == "terms" else (name,))]
    labels = dict.fromkeys(_LABELS.get(name, name) for name in names)
    with_values = {
        label: f"{label} {old.get(key, 'not set')} → {new.get(key, 'not set')}"
        for key, label in (
            (_COMMAND_NAMES.get(name, name), _LABELS.get(name, name)) for name in names
        )
        if old.get(key) != new.get(key)
    }
    line = ", ".join(with_values.get(label, label) for label in labels)
    return line if len(line) <= MAX_NOTICE_CHARS else ", ".join(labels)


def _displayed_values(state: PlanState) -> dict[str, str]:
    """The inputs as typed; deadline and budget as their sliders show them, rounded."""
    values = typed_values(state)
    if state.deadline_seconds is not None:
        values["deadline"] = time_text(state.deadline_seconds)
    if state.budget_usd is not None:
        values["budget"] = money_text(state.budget_usd)
    return values


MAX_NOTICE_CHARS = 60
"""Most characters of the description of a step."""

_COMMAND_NAMES = {
    "ran_on": "ran-on",
    "deadline_seconds": "deadline",
    "budget_usd": "budget",
    "scale": "size",
    "job": "param",
    "max_nodes": "nodes",
}
"""Input -> the typed command that sets it, where the names differ."""

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
"""Input -> its label in a notice, where that is not its name."""
