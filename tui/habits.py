"""The actions of a working day: scenarios saved and opened, the last session, leaving cleanly."""

from __future__ import annotations

import asyncio
import signal
import sys
from typing import TYPE_CHECKING, cast

import engine
from tui.reducer import Adopt
from tui.start import DEFAULT_SAMPLE
from tui.state import PlanState

if TYPE_CHECKING:
    from tui.app import PlannerApp

ENDING = (signal.SIGTERM, signal.SIGHUP)
"""Signals that end the planner as a key would: the terminal restored, the session kept."""


class HabitActions:
    """A part of `PlannerApp`."""

    def action_scenario_save(self, name: str = "") -> None:
        """Keep every input under a name or in a file."""
        app = cast("PlannerApp", self)
        if not name:
            app.type_command("save ")
            return
        from tui import keeping

        try:
            path = keeping.save(name, app.state)
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")
        else:
            app.show_notice(f"saved as {path}; open it with :load {name}", "good")

    def action_scenario_load(self, name: str = "") -> None:
        """Take every input from a scenario."""
        app = cast("PlannerApp", self)
        if not name:
            app.type_command("load ")
            return
        from tui import keeping

        try:
            app.adopt(keeping.load(name))
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")

    def action_resume(self) -> None:
        """Go on with the session that was left last."""
        from tui import keeping

        app = cast("PlannerApp", self)
        try:
            app.adopt(keeping.last_session())
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")

    def adopt(self, target: PlanState) -> None:
        """Every input and the view of another state, as one step that can be undone."""
        app = cast("PlannerApp", self)
        app.dispatch(Adopt(target))
        app.action_view(target.view)

    @property
    def session_state(self) -> PlanState | None:
        """What is worth keeping: what was planned, not where a tour has led, and not a sample that
        was only looked at."""
        app = cast("PlannerApp", self)
        state = app.state if app.guide is None else app.guide.before
        looked_at = state.sources == (DEFAULT_SAMPLE,) and not app.history.past
        return None if looked_at or (app.guide and app.played) else state

    def keep_session(self) -> None:
        """Keep the session; that it cannot be kept is said, and keeps nobody from leaving."""
        from tui import keeping

        state = self.session_state
        if state is None:
            return
        try:
            keeping.save_session(state)
        except (engine.EngineError, OSError, ValueError) as error:
            print(f"sparkplan: the session was not kept: {error}", file=sys.stderr)

    def leave_on_signals(self) -> None:
        """Have the signals that end a process leave through the same door as a key does."""
        if cast("PlannerApp", self).is_headless:
            return
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, self._leave_by, number)

    def _leave_by(self, number: signal.Signals) -> None:
        app = cast("PlannerApp", self)
        app.exit(return_code=128 + number)
