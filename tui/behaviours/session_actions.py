"""The actions of a working day: undo and redo, scenarios saved and opened, the last session,
leaving cleanly."""

from __future__ import annotations

import asyncio
import signal
import sys
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
"""Signals that end the planner as a key would: the terminal restored, the session kept."""

SIGNAL_GRACE_SECONDS = 3.0
"""How long a signal waits for what was typed before it: who sends one kills what stays for long."""


class SessionActions(PlannerMixin):
    """A part of `PlannerApp`."""

    _signalled = False

    def action_suspend(self) -> None:
        """Back to the shell that started the planner, until it is let go on."""
        app = self.planner
        app.action_suspend_process()
        driver = app._driver
        stopped = driver is not None and driver.can_suspend
        if not stopped or not getattr(driver, "was_stopped", True):
            app.show_notice("no shell waits behind the planner; ctrl+q leaves it", "warn")

    def action_undo(self) -> None:
        """Take back the last change of an input."""
        app = self.planner
        self._apply_step(app.history.undone(app.state), "undone", "nothing to undo")

    def action_redo(self) -> None:
        """Do again what was taken back."""
        app = self.planner
        self._apply_step(app.history.redone(app.state), "done again", "nothing to redo")

    def restore_state(self, target: PlanState, *, history: History | None = None) -> None:
        """Go to the inputs and the view of another state, which is no step to be undone."""
        app = self.planner
        app.dispatch(RestoreInputs(target))
        app.state = replace(
            app.state, view=target.view, chart=target.chart, selected=target.selected
        )
        app.history = history or app.history
        app.set_notice([])
        app._panels.show()

    def _apply_step(self, step: tuple[History, PlanState] | None, done: str, none: str) -> None:
        """Go to another state of the history and say what changed."""
        app = self.planner
        if step is None:
            app.show_notice(none, "warn")
            return
        before = app.state
        app.history, target = step
        app.dispatch(RestoreInputs(target))
        app.show_notice(f"{done}: {difference(before, app.state)}", "base")

    def action_scenario_save(self, name: str = "") -> None:
        """Keep every input under a name or in a file."""
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
            said = f"saved as {path}; open it with :load {name}"
            replaced = f", and the one that it replaced with :load {former}" if former else ""
            app.show_notice(said + replaced, "good")

    def action_scenario_load(self, name: str = "") -> None:
        """Take every input from a scenario."""
        app = self.planner
        if not name:
            app.type_command("load ")
            return
        from tui.storage import scenario_store

        try:
            app.load_saved_plan(scenario_store.load(name))
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")

    def action_resume(self) -> None:
        """Go on with the session that was left last."""
        from tui.storage import scenario_store

        app = self.planner
        try:
            app.load_saved_plan(scenario_store.last_session())
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")

    def load_saved_plan(self, kept: SavedPlan) -> None:
        """A scenario with its pins; those of the same name are replaced, the others stay."""
        from tui.pins import with_pin

        app = self.planner
        for pin in kept.pins:
            app.pins = with_pin(app.pins, pin)
        self.adopt(kept.state, read=True)

    def adopt(self, target: PlanState, *, read: bool = False) -> None:
        """Every input and the view of another state, as one step that can be undone, and that is
        refused as a whole; with `read` on evidence that is read anew."""
        app = self.planner
        before = None if app.busy else app.state
        app.dispatch(LoadInputs(target, read))
        app.replaced_inputs = before if app.busy else None
        app.action_view(target.view)

    @property
    def session_state(self) -> SavedPlan | None:
        """What is worth keeping: what was planned, not where a tour has led, and not a sample that
        was only looked at."""
        app = self.planner
        from tui.storage.scenario_file import SavedPlan

        kept = SavedPlan(app.state, app.pins) if app.guide is None else app.guide.kept
        looked_at = kept.state.sources == (DEFAULT_SAMPLE,) and not app.history.past
        if (looked_at and not kept.pins) or (app.guide and app.tour_options):
            return None
        return kept

    def keep_session(self) -> None:
        """Keep the session; that it cannot be kept is said, and keeps nobody from leaving."""
        from tui.storage import scenario_store

        kept = self.session_state
        if kept is None:
            return
        try:
            scenario_store.save_session(kept)
        except (engine.EngineError, OSError, ValueError) as error:
            print(f"sparkplan: the session was not kept: {error}", file=sys.stderr)

    def install_signal_handlers(self) -> None:
        """Have the signals that end a process leave through the same door as a key does."""
        if self.planner.is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self.quit_on_signal, number)

    def quit_on_signal(self, number: signal.Signals) -> None:
        """Leave in order, but soon. A terminal that has gone tells it twice, by a signal too."""
        app = self.planner
        if not self._signalled:
            self._signalled = True
            app.set_timer(SIGNAL_GRACE_SECONDS, partial(app.exit, None, 128 + number))
            app.call_later(
                app.quit_after_pending_keys, 128 + number
            )  # behind the keys that are there
