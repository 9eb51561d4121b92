"""Undo and redo of everything that can be set, as one frozen value: no terminal, no clock."""

from __future__ import annotations

from dataclasses import dataclass

from tui.state import INPUTS, PlanState, with_inputs

MOST_STEPS = 200
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
        past = self.past if same_gesture else (*self.past, before)[-MOST_STEPS:]
        return History(past, (), changed, now_seconds)

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
    """Which inputs a step changed, in words for a notice: "deadline, spot"."""
    words = (_WORDS.get(name, name) for name in INPUTS if name in changed_inputs(before, after))
    return ", ".join(dict.fromkeys(words))


_WORDS = {
    "sources": "evidence",
    "reading": "evidence",
    "ran_on": "where it ran",
    "category": "kind of job",
    "terms": "price terms",
    "instances": "instance types",
    "deadline_seconds": "deadline",
    "deadline_chosen": "deadline",
    "budget_usd": "budget",
    "scale": "data size",
    "max_nodes": "maximum nodes",
    "mix": "types per cluster",
    "training": "training runs",
}
