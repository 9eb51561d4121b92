"""Session actions: undo and redo, scenarios saved and loaded, the last session, a clean exit."""

from __future__ import annotations

import asyncio
import signal
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import engine
from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import LoadInputs, RestoreInputs
from tui.history import History, difference
from tui.start import DEFAULT_SAMPLE
from tui.state import PlanState

if TYPE_CHECKING:
    from tui.storage.scenario_file import SavedPlan

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end the planner like the quit key: the terminal is restored, the session saved."""

SIGNAL_GRACE_SECONDS = 3.0
"""How long a signal waits for the keys typed before it: whoever sends it kills a process that stays
longer."""


class SessionActions(PlannerMixin):
    """Mixin of `PlannerApp`."""

    _signalled = False

    def action_suspend(self) -> None:
        """Suspend to the shell that started the planner."""
        app = self.planner
        app.action_suspend_process()
        driver = app._driver
        stopped = driver is not None and driver.can_suspend
        if not stopped or not getattr(driver, "was_stopped", True):
            app.show_notice("no shell waits behind the planner; ctrl+q leaves it", "warn")

    def action_undo(self) -> None:
        """Undo the last change of an input."""
        app = self.planner
        self._apply_step(app.history.undone(app.state), "undone", "nothing to undo")

    def action_redo(self) -> None:
        """Redo what was undone."""
        app = self.planner
        self._apply_step(app.history.redone(app.state), "done again", "nothing to redo")

    def restore_state(self, target: PlanState, *, history: History | None = None) -> None:
        """Go to the inputs and the view of another state; this is no step to be undone."""
        app = self.planner
        app.dispatch(RestoreInputs(target))
        app.state = replace(
            app.state, view=target.view, chart=target.chart, selected=target.selected
        )
        app.history = history or app.history
        app.set_notice([])
        app._panels.show()

    def _apply_step(self, step: tuple[History, PlanState] | None, done: str, none: str) -> None:
        """Go to a state of the history and show what changed. Where the plan that it asks for is
        cancelled, the step can be done again: it was not taken. So it is where its evidence cannot
        be read; one whose plan is refused is dropped."""
        app = self.planner
        if step is None:
            app.show_notice(none, "warn")
            return
        before, history, was_busy = app.state, app.history, bool(app.busy)
        app.history, target = step
        app.dispatch(RestoreInputs(target))
        if app.busy and not was_busy:
            # Else the plan is that of a change before: its steps go with it.
            app.history_to_return = history
        app.show_notice(f"{done}: {difference(before, app.state)}", "base")

    def action_scenario_save(self, name: str = "") -> None:
        """Save every input under a name or in a file."""
        app = self.planner
        if not name:
            app.type_command("save ")
            return
        from tui.storage import scenario_store
        from tui.storage.scenario_file import SavedPlan

        try:
            path, former = scenario_store.save(name, SavedPlan(app.state, app.pins))
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")
        else:
            saved_as = f"saved as {path}; open it with :load {name}"
            replaced = f", and the one that it replaced with :load {former}" if former else ""
            app.show_notice(saved_as + replaced, "good")

    def action_scenario_load(self, name: str = "") -> None:
        """Load every input from a scenario."""
        app = self.planner
        if not name:
            app.type_command("load ")
            return
        from tui.storage import scenario_store

        self._load(partial(scenario_store.load, name))

    def action_resume(self) -> None:
        """Load the session that was saved last."""
        from tui.storage import scenario_store

        self._load(scenario_store.last_session)

    def _load(self, read: Callable[[], SavedPlan]) -> None:
        """Load what `read` reads, or show why it cannot be read."""
        app = self.planner
        try:
            app.load_saved_plan(read())
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")

    def load_saved_plan(self, saved: SavedPlan) -> None:
        """Load a scenario with its pins; pins of the same name are replaced, the others stay."""
        from tui.pins import with_pin

        app = self.planner
        for pin in saved.pins:
            app.pins = with_pin(app.pins, pin)
        self.adopt(saved.state, read=True)

    def adopt(self, target: PlanState, *, read: bool = False) -> None:
        """Load every input and the view of another state, as one step that can be undone and is
        refused as a whole. With `read` its evidence is read anew."""
        app = self.planner
        planned = not app.busy or app.is_last_good(app.state)  # or asked for again
        before = app.state if planned else app.replaced_inputs
        app.dispatch(LoadInputs(target, read))
        app.replaced_inputs = before if app.busy else None
        app.action_view(target.view)

    @property
    def session_state(self) -> SavedPlan | None:
        """What to save as session: what was planned, not where a tour has led; None for a sample
        that was only looked at."""
        app = self.planner
        from tui.storage.scenario_file import SavedPlan

        saved = SavedPlan(app.state, app.pins) if app.guide is None else app.guide.plan_before
        looked_at = saved.state.sources == (DEFAULT_SAMPLE,) and not app.history.past
        if (looked_at and not saved.pins) or (app.guide and app.tour_options):
            return None
        return saved

    def keep_session(self) -> None:
        """Save the session; a failure is printed and does not prevent the exit."""
        from tui.storage import scenario_store

        saved = self.session_state
        if saved is None:
            return
        try:
            scenario_store.save_session(saved)
        except (engine.EngineError, OSError, ValueError) as error:
            print(f"sparkplan: the session was not kept: {error}", file=sys.stderr)

    def install_signal_handlers(self) -> None:
        """Let the signals that end a process quit like the key does."""
        if self.planner.is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self.quit_on_signal, number)

    def quit_on_signal(self, number: signal.Signals) -> None:
        """Quit after pending keys, but soon. A terminal that closes reports it twice, also by a
        signal."""
        app = self.planner
        if not self._signalled:
            self._signalled = True
            app.set_timer(SIGNAL_GRACE_SECONDS, partial(app.exit, None, 128 + number))
            app.call_later(
                app.quit_after_pending_keys, 128 + number
            )  # behind the keys that are there
