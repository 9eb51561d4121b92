"""Logs of running applications: read again when they have grown."""

from __future__ import annotations

import asyncio
from collections.abc import Hashable, Mapping
from dataclasses import replace

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import RereadSources
from tui.state import evidence_key, plan_inputs_key, with_renamed_sources


class GrowingLogs(PlannerMixin):
    """Mixin of `PlannerApp`."""

    _read_again: tuple[Hashable, str] | None = None
    """The evidence that is read again since a log of it has grown, and the notice that says so."""

    @property
    def reading_again(self) -> bool:
        """Whether what is on the screen is being read again. Nobody asked for that."""
        app, again = self.planner, self._read_again
        return bool(app.busy) and again is not None and again[0] == evidence_key(app.state)

    @property
    def holds_while_read_again(self) -> bool:
        """Whether the answer on the screen is that to all inputs, though its log has grown and is
        being read again."""
        app = self.planner
        answered = app._answered_state
        return (
            self.reading_again
            and answered is not None
            and plan_inputs_key(answered) == plan_inputs_key(app.state)
        )

    def _say_read_again(self) -> None:
        """Say that a log has grown, once the plan for it stands; nothing for other evidence."""
        app, again = self.planner, self._read_again
        self._read_again = None
        if again is not None and again[0] == evidence_key(app.state):
            app.show_notice(again[1], "good")

    def _give_up_reading_again(self) -> None:
        """What was being read was cancelled or refused. Where that was a log that had grown, it is
        left alone until it grows further; what is opened from now on has not grown."""
        app, again = self.planner, self._read_again
        self._read_again = None
        if again is not None and again[0] == evidence_key(app.state):
            app._reading.not_again()

    async def _poll_growing_logs(self) -> None:
        """Read the logs of a running application again when they have grown."""
        app = self.planner
        watch = app._reading.watch
        if app.busy or not watch.active:
            return
        change = await asyncio.to_thread(watch.poll)
        if change is not None and watch is app._reading.watch and not app.busy:
            self._rename_sources(dict(zip(app.state.sources, change.sources, strict=True)))
            app.dispatch(RereadSources(change.sources))
            self._read_again = evidence_key(app.state), change.notice

    def _rename_sources(self, names: Mapping[str, str]) -> None:
        """Give a log that has ended its new name wherever its old one could be opened again: also
        in the plan on the screen, which stays where the reading is cancelled or refused. What is
        shown then was read under the old name: `_evidence` keeps that, as under the new one
        nothing has been read."""
        app = self.planner
        app.history = app.history.renamed(names)
        app.pins = tuple(
            replace(pin, state=with_renamed_sources(pin.state, names)) for pin in app.pins
        )
        app._panels.slider_ranges.rename_sources(names)
        if app._last_good is not None:
            app._last_good = with_renamed_sources(app._last_good, names)
        if app._answered_state is not None:
            app._answered_state = with_renamed_sources(app._answered_state, names)
