"""From an answer at once to the settled one: mixes are searched once no other question follows, and
what needs the final answer waits for that."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from tui.behaviours.planner_mixin import PlannerMixin
from tui.messages import MixFailed, MixReady, error_text

MIN_REST_SECONDS, MAX_REST_SECONDS = 0.05, 0.15
"""Delay without another question before mixes are searched, so that a slider step waits only for
an answer of one type. It is the duration of the last search, bounded by these two values: keys
that are held down repeat faster than the first, and the time wasted on outdated searches stays
bounded."""


class PendingAction(NamedTuple):
    """An action that waits for the settled answer, and its announcement: "the export opens"."""

    act: Callable[[], None]
    then: str


class Settling(PlannerMixin):
    """Mixin of `PlannerApp`."""

    pending: tuple[PendingAction, ...] = ()
    """Actions that wait for the answer to be settled."""

    @property
    def settling(self) -> bool:
        """Whether a better mix of types may still be found."""
        app = self.planner
        return app._settling is not None

    def when_settled(self, act: Callable[[], None], *, then: str) -> None:
        """Run `act` once the answer is settled: at once, or when the search has ended; that a log
        which has grown is read again changes nothing until its plan is there. Keys typed meanwhile
        wait (`KeyOrder`), but for the one that cancels such a reading, and the header announces
        `then`."""
        app = self.planner
        app.pending = (*app.pending, PendingAction(act, then))
        self._act_if_settled()
        if app.pending:
            app._panels.show_header()

    def _act_if_settled(self) -> None:
        """Run the pending actions in order, once no better answer is to come."""
        app = self.planner
        changing = app.computing or (app.reading_again and not app.holds_while_read_again)
        if app.settling or changing or not app.pending:
            return
        due, app.pending = app.pending, ()
        app._panels.show_header()
        for action in due:
            action.act()
        app.call_later(app._deliver_next_key)  # keys stop waiting where no dialog was opened

    def _settled(self) -> None:
        """The answer is final."""
        self.planner._settling = None
        self._act_if_settled()
        self.planner._foresee()

    def _settle(self) -> None:
        """Schedule the search for mixes and the exact evaluation of the answer, unless another
        question follows first."""
        app = self.planner
        if app._settling is not None:
            app._settling.stop()
            app._settling = None
        rest = min(max(app._searched_seconds, MIN_REST_SECONDS), MAX_REST_SECONDS)
        app._settling = app.set_timer(rest, app._search_mixes)

    def _search_mixes(self) -> None:
        """Search mixes in a thread; of several searches that wait, only the last one is run."""
        app = self.planner
        state, before = app.state, app.answer
        if before is None:
            return

        def job() -> None:
            since = perf_counter()
            try:
                after = app._session.mixed(state, before)
            except Exception as error:
                app.post_message(MixFailed(before, error_text(error)))
            else:
                app.post_message(MixReady(before, after, perf_counter() - since))

        app._mixes.submit(job)

    def on_mix_ready(self, message: MixReady) -> None:
        """Show the best mix, unless the question has changed."""
        app = self.planner
        app._searched_seconds = message.seconds
        if message.before is app.answer:
            if message.after is not app.answer:
                app.answer = message.after
                relaxed = message.before is app.initial_answer and app._relax()
                app._panels.show()
                if relaxed:
                    return
            app._settled()

    def on_mix_failed(self, message: MixFailed) -> None:
        """Show why the search failed; the answer of one type stays."""
        app = self.planner
        if message.before is app.answer:
            app.show_notice(message.text, "bad")
            app._settled()
