"""What becomes of changes whose plan is refused: what was asked for before them is planned, and
what was asked for behind them is asked of that plan."""

from __future__ import annotations

from itertools import takewhile
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import PlanRefused
from tui.reducer import reduce
from tui.state import PlanState, evidence_key, plan_inputs_key, plan_key, with_plan_change

if TYPE_CHECKING:
    from tui.history import History


class Unbuilt(NamedTuple):
    """What was asked for as another change came, before its plan was built.

    Args:
        history: its steps.
        whole: whether that change replaced every input.
    """

    state: PlanState
    history: History
    whole: bool


class Refused(NamedTuple):
    """What was asked for, and why there is no plan for it."""

    state: PlanState
    why: str


class RefusedPlans(PlannerMixin):
    """Mixin of `PlannerApp`, a part of `PlanUpdates`."""

    replaced_inputs: PlanState | None = None
    """The inputs that a scenario or a pinned plan has replaced, while its plan is being built."""

    history_to_return: History | None = None
    """The history before an undo or redo, while the plan that it leads to is being built."""

    _unbuilt: tuple[Unbuilt, ...] = ()
    """What was asked for before the change whose plan is being built, back to the last good plan:
    the change may be refused alone."""

    _refused: tuple[Refused, ...] = ()
    """What was refused since a plan was built or another change came: first what was asked for
    last. Nothing behind a change of every input, which was made on those."""

    _given_up: tuple[str, ...] = ()
    """Why changes were given up, while what was asked for behind them is being planned."""

    def _remember_unbuilt(self, before: PlanState, history: History, *, whole: bool) -> None:
        """Remember what another plan is asked for instead of. The steps of one gesture are one
        change; undo and redo add nothing here, as they lead to what was asked for before, but what
        they took back is not to be asked for again."""
        app = self.planner
        self._refused, self._given_up = (), ()
        if app.history.past is history.past:
            return
        key = plan_key(before)
        if not app.busy or self.is_last_good(before):
            self._unbuilt, self.replaced_inputs = (), None
            return
        earlier = takewhile(lambda each: plan_key(each.state) != key, self._unbuilt)
        self._unbuilt = (*earlier, Unbuilt(before, history, whole))

    def is_last_good(self, state: PlanState) -> bool:
        """Whether the plan that a state asks for is the last good one; False where there is
        none."""
        good = self.planner._last_good
        return good is not None and plan_key(state) == plan_key(good)

    def _return_to_unbuilt(self) -> bool:
        """Ask for the plan before the refused change again, which was never built. False where that
        is the last good one. A goal that was set meanwhile stays, as a step of its own."""
        app = self.planner
        while self._unbuilt:
            *earlier, last = self._unbuilt
            self._unbuilt = tuple(earlier)
            if plan_key(last.state) != plan_key(app.state):
                if last.whole:
                    self._refused = ()
                app.state = reduce(app.state, PlanRefused(last.state, whole=last.whole))
                app.history = last.history.recorded(last.state, app.state, now_seconds=monotonic())
                app._rebuild()
                return True
        return False

    def _revert_to(self, good: PlanState, *, unread: bool = False) -> None:
        """Restore the last good inputs, as if the refused change had not been made, and drop the
        steps to what was refused.

        Args:
            unread: whether the evidence could not be read, which may be so for a moment: an undo or
                redo that led to it was not made.
        """
        app, refused = self.planner, self.planner.state
        plans = {plan_inputs_key(each) for each, _ in self._refused}
        if self.replaced_inputs is not None:
            self._refused = ()
        app.state = reduce(
            app.state,
            PlanRefused(self.replaced_inputs or good, whole=self.replaced_inputs is not None),
        )
        if self.history_to_return is not None and unread:
            app.history = self.history_to_return.not_read(refused)
        elif self.history_to_return is not None:
            app.history = self.history_to_return.without_plans(plans, app.state)
        else:
            app.history = app.history.refused(app.state, plans)
        self.replaced_inputs = self.history_to_return = None
        app._ask()

    def _why_refused(self, latest: str) -> str:
        """The latest refusal, behind those of the changes that were given up before it."""
        return "; also: ".join(dict.fromkeys((*self._given_up, latest)))

    def _ask_behind_refused(self) -> None:
        """Ask of the plan that stays what was changed behind the refused change: it was refused
        with that alone. Where it is refused again, its changes are asked for one after the other,
        as before, so that each goes for its own sake alone; every time one less is left."""
        app, refused = self.planner, self._refused
        self._refused = ()
        if len(refused) < 2:
            return
        *later, (culprit, why) = refused
        if evidence_key(culprit) != evidence_key(app.state):
            return  # what was changed since was changed on other evidence
        wanted, before, tried = app.state, culprit, {plan_key(s): text for s, text in refused}
        steps: list[PlanState] = []
        self._given_up = (*self._given_up, why)
        for after, _ in reversed(later):
            changed = with_plan_change(wanted, before, after)
            before = after
            if changed != wanted and plan_key(changed) in tried:
                self._given_up = (*self._given_up, tried[plan_key(changed)])
            elif changed != wanted:
                steps.append(wanted)
                wanted = changed
        seen = app.visible_refusal
        if plan_key(wanted) != plan_key(app.state):
            self._ask_for_steps(steps, wanted)
        if seen:
            app.show_refusal(self._why_refused(why))

    def _ask_for_steps(self, steps: list[PlanState], wanted: PlanState) -> None:
        """Ask for what these steps lead to; where that is refused, for the step before."""
        app = self.planner
        unbuilt: list[Unbuilt] = []
        for step, following in zip(steps, [*steps[1:], wanted], strict=True):
            unbuilt.append(Unbuilt(step, app.history, whole=False))
            app.history = app.history.recorded(step, following, now_seconds=monotonic())
        app.state = wanted
        self._unbuilt = tuple(unbuilt[1:])
        app._rebuild()
