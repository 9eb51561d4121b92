"""Logs of running applications: read again when they have grown."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import RereadSources
from tui.state import with_renamed_sources


class GrowingLogs(PlannerMixin):
    """Mixin of `PlannerApp`."""

    async def _poll_growing_logs(self) -> None:
        """Read the logs of a running application again when they have grown."""
        app = self.planner
        watch = app._reading.watch
        if app.busy or not watch.active:
            return
        change = await asyncio.to_thread(watch.poll)
        if change is not None and watch is app._reading.watch and not app.busy:
            app._change_notice = change.notice
            names = dict(zip(app.state.sources, change.sources, strict=True))
            app.history = app.history.renamed(names)
            app.pins = tuple(
                replace(pin, state=with_renamed_sources(pin.state, names)) for pin in app.pins
            )
            app._panels.slider_ranges.rename_sources(names)
            app.dispatch(RereadSources(change.sources))
