"""From what was asked to what is shown: plans built in a thread, answers, mixes searched later."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import engine
from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import DeadlineRelaxed, EvidenceRead, PlanRefused, RereadSources, ShowView
from tui.messages import MixFailed, MixReady, PlanFailed, PlanReady, Progress
from tui.reducer import reduce
from tui.state import PlanState, evidence_key, plan_key, with_inputs, with_renamed_sources
from tui.views import inputs
from tui.workers import Cancelled

if TYPE_CHECKING:
    from tui.answers import Answer, BuiltPlan

MIN_REST_SECONDS, MAX_REST_SECONDS = 0.05, 0.15
"""The mixes are searched after so long without another question: a step of a slider waits for one
type only. As long as the last search took, within these two: keys that are held down come faster
than the first, and the work of searches that another step makes vain stays bounded."""


GRID_ERROR = 0.02
"""Share of the time by which a grid may be off the settled answer."""


def error_text(error: Exception) -> str:
    """One line for a notice; even a defect of ours may not take the last good plan away."""
    if isinstance(error, engine.EngineError):
        return str(error)
    return f"{type(error).__name__}: {error}; please report this"


class PendingAction(NamedTuple):
    """What is done once the answer is settled, and in words: "the export opens"."""

    act: Callable[[], None]
    then: str


class PlanUpdates(PlannerMixin):
    """A part of `PlannerApp`."""

    pending: tuple[PendingAction, ...] = ()
    """What waits for the answer to be settled."""

    initial_answer: Answer | None = None
    """What new evidence began with: nobody has asked anything yet."""

    replaced_inputs: PlanState | None = None
    """The inputs that a scenario or a pinned plan has replaced whose plan is still being built."""

    def _rebuild(self) -> None:
        """Have a plan built for the state; of several that wait, only the last one is. What was
        said before goes now: what is said of this change, such as what an undo did, stays."""
        app = self.planner
        app.set_notice(app.sticky_notice)
        state, key = app.state, plan_key(app.state)
        app.busy = "reading" if evidence_key(state) != app._evidence else "computing"
        if app.busy == "computing" and app._settling is not None:
            app._settling.stop()  # the next answer comes soon, and is the one to settle
        ticket = app._reading.ticket(evidence_key(state))

        def say(words: str) -> None:
            ticket.check()
            app.post_message(Progress(key, words))

        def job() -> None:
            try:
                ticket.begin(state.sources)
                built = app._session.build(state, say)
            except Cancelled:
                return
            except Exception as error:
                app.post_message(PlanFailed(key, error_text(error)))
            else:
                app.post_message(PlanReady(key, built))

        app._latest.submit(job)

    def _ask(self) -> bool:
        """The answer of the plan at hand to the goal of the state, first with one type per
        cluster; where it cannot be asked, the inputs are again those of the last answer."""
        app = self.planner
        if app.built is None:
            return True
        try:
            app.answer = app._session.answer(app.state, app.built)
        except Exception as error:
            app.show_refusal(error_text(error))
            if app._answered_state is not None and plan_key(app._answered_state) == plan_key(
                app.state
            ):
                app.state = with_inputs(app.state, app._answered_state)
            if app.settling:
                app._settle()  # the answer that stays: its search may have been put off
            return False
        app._answered_state = app.state
        app._settle()
        return True

    @property
    def settling(self) -> bool:
        """Whether a better mix of types may still be found."""
        app = self.planner
        return app._settling is not None

    @property
    def computing(self) -> bool:
        """Whether a plan for the evidence at hand is being built."""
        app = self.planner
        return bool(app.busy) and evidence_key(app.state) == app._evidence

    def when_settled(self, act: Callable[[], None], *, then: str) -> None:
        """Do what needs the answer that will be seen: at once, or when it is found. Keys that are
        typed until then wait (`KeyOrder`), and the header says what comes `then`."""
        app = self.planner
        app.pending = (*app.pending, PendingAction(act, then))
        self._act_if_settled()
        if app.pending:
            app._panels.show_header()

    def _act_if_settled(self) -> None:
        """What waited for the answer, in its order, once none better is to come."""
        app = self.planner
        if app.settling or self.computing or not app.pending:
            return
        due, app.pending = app.pending, ()
        app._panels.show_header()
        for one in due:
            one.act()
        app.call_later(app._deliver_next_key)  # where no dialog has been opened, keys wait no more

    def _settled(self) -> None:
        """The answer is the one that stays."""
        self.planner._settling = None
        self._act_if_settled()

    def _settle(self) -> None:
        """Search the mixes, and settle what a grid only comes near to, once no other question
        follows."""
        app = self.planner
        if app._settling is not None:
            app._settling.stop()
            app._settling = None
        rest = min(max(app._searched_seconds, MIN_REST_SECONDS), MAX_REST_SECONDS)
        app._settling = app.set_timer(rest, app._search_mixes)

    def _search_mixes(self) -> None:
        """In a thread; of several searches that wait, only the last one is made."""
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
        """Show the best mix, unless something else has been asked since."""
        app = self.planner
        app._searched_seconds = message.seconds
        if message.before is app.answer:
            if message.after is not app.answer:
                app.answer = message.after
                relaxed = message.before is self.initial_answer and self._relax()
                app._panels.show()
                if relaxed:
                    return
            app._settled()

    def on_mix_failed(self, message: MixFailed) -> None:
        """Say why there is none; the answer of one type stays."""
        app = self.planner
        if message.before is app.answer:
            app.show_notice(message.text, "bad")
            app._settled()

    def on_progress(self, message: Progress) -> None:
        app = self.planner
        if message.key == plan_key(app.state) and app.busy:
            app.busy = message.text
            app._panels.show_header()

    def on_plan_ready(self, message: PlanReady) -> None:
        """Show a plan, unless the state has moved on since, or the app is closing."""
        app = self.planner
        if message.key != plan_key(app.state) or not app.screen_stack:
            return
        app.built, app.busy = message.built, ""
        if evidence_key(app.state) != app._evidence:
            app.sticky_notice = []
            app.set_notice([])
            app._evidence = evidence_key(app.state)
            app._reading.done()
            app._start_with_evidence(message.built)
        else:
            app._ask()
        app._last_good, self.replaced_inputs = app.state, None
        if app._change_notice:
            app.show_notice(app._change_notice, "good")
            app._change_notice = ""
        app._panels.show()
        self._act_if_settled()  # a question that is refused is followed by no search

    async def _poll_growing_logs(self) -> None:
        """Read the log of a running application again when it has grown."""
        app = self.planner
        watch = app._reading.watch
        if app.busy or not watch.active:
            return
        grown = await asyncio.to_thread(watch.poll)
        if grown is not None and watch is app._reading.watch and not app.busy:
            app._change_notice = grown.words
            names = dict(zip(app.state.sources, grown.sources, strict=True))
            app.history = app.history.renamed(names)
            app.pins = tuple(
                replace(pin, state=with_renamed_sources(pin.state, names)) for pin in app.pins
            )
            app.dispatch(RereadSources(grown.sources))

    def _stop_reading(self) -> None:
        """Give up what is being read; the last good plan stays."""
        app = self.planner
        app._reading.cancel()
        app._latest.abandon()
        app._change_notice = app.busy = ""
        if app._last_good is not None:
            self._revert_to(app._last_good)
        app.show_notice("reading was cancelled", "warn")
        app._panels.show()
        self._act_if_settled()

    def _revert_to(self, good: PlanState) -> None:
        """To the last good inputs, as if what was refused had not been asked."""
        app = self.planner
        app.state = reduce(
            app.state,
            PlanRefused(self.replaced_inputs or good, whole=self.replaced_inputs is not None),
        )
        self.replaced_inputs = None
        app.history = app.history.refused(app.state)
        app._ask()

    def _start_with_evidence(self, built: BuiltPlan) -> None:
        """A deadline for new evidence, one that can be met where that is possible."""
        app = self.planner
        app._ask()
        if built.workflow is not None and app.state.view == "curves":
            app.state = reduce(app.state, ShowView("workflow"))
        run, best = built.profile.largest_run, app.answer.best if app.answer else None
        measured = run.seconds if run else best.seconds if best else None
        app.state = reduce(app.state, EvidenceRead(measured, built.profile.deadline_seconds))
        app._ask()
        self._relax()
        self._relax_borderline_deadline(built)
        app._panels.measure(built, app.answer)
        if asked := inputs.questions(app.state, built):
            app.show_notice(asked, "warn", stays=True)

    def _relax_borderline_deadline(self, built: BuiltPlan) -> None:
        """A default deadline that the grid can just meet moves at once: once settled it may not be
        met, and would move by itself under whoever has begun to look."""
        app = self.planner
        deadline = app.state.deadline_seconds
        met = app.answer is not None and app.answer.report.recommendation.recommended is not None
        if deadline is None or not met or built.profile.deadline_seconds is not None:
            return
        room = deadline * GRID_ERROR
        closer = replace(app.state, deadline_seconds=deadline - room)
        if app._session.answer(closer, built).report.recommendation.recommended is None:
            before, app.state = app.state, reduce(app.state, DeadlineRelaxed(deadline + room))
            if app.state != before:
                app._ask()
                self.initial_answer = app.answer

    def _relax(self) -> bool:
        """Whether a default deadline that cannot be met has moved to one that can: what is near to
        the limit of a grid may show only once it is settled."""
        app = self.planner
        before, found = app.state, app.answer.report.recommendation if app.answer else None
        if found and found.recommended is None and found.nearest is not None:
            promised = found.nearest.high or found.nearest.seconds
            app.state = reduce(app.state, DeadlineRelaxed(promised))
        relaxed = app.state != before
        if relaxed:
            app._ask()
        self.initial_answer = app.answer
        return relaxed

    def on_plan_failed(self, message: PlanFailed) -> None:
        """Say why; the last good plan and its inputs stay. Without one the reason stays, in every
        view: there is nothing else to see."""
        app = self.planner
        if message.key != plan_key(app.state) or not app.screen_stack:
            return
        app.busy = ""
        if app._last_good is None:
            app.show_notice(message.text, "bad", stays=True)
        else:
            self._revert_to(app._last_good)
            app.show_refusal(message.text)
        app._panels.show()
        self._act_if_settled()
