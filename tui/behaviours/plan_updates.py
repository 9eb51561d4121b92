"""From changed inputs to the shown answer: plans are built in a thread, answers at once; mixes come
later (`settling`)."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import engine
from tui.behaviours.refused_plans import Refused, RefusedPlans
from tui.changes import DeadlineRelaxed, EvidenceRead, ShowView
from tui.messages import (
    EvidenceReady,
    PlanFailed,
    PlanReady,
    Progress,
    error_text,
)
from tui.reducer import reduce
from tui.state import (
    evidence_key,
    plan_key,
    with_inputs,
    with_question,
)
from tui.views import inputs
from tui.workers import Cancelled

if TYPE_CHECKING:
    from tui.answers import Answer, BuiltPlan, Evidence


GRID_ERROR = 0.02
"""Largest relative error of a time interpolated on a grid by a model that is precise there. Times
of a workflow may be further off: its default deadline may move once the answer is settled."""


class PlanUpdates(RefusedPlans):
    """Mixin of `PlannerApp`."""

    initial_answer: Answer | None = None
    """The first answer on new evidence: the user has changed no goal yet."""

    _evidence_read: EvidenceReady | None = None
    """The last evidence that was read, until its plan is built or refused."""

    def _rebuild(self) -> None:
        """Start to build a plan for the state; of several that wait, only the last one is built.
        The notice is reset now: what is said about this change, such as by undo, stays."""
        app = self.planner
        app.set_notice(app.sticky_notice)
        state, key = app.state, plan_key(app.state)
        app.busy = "reading" if evidence_key(state) != app._evidence else "computing"
        if app.busy == "computing" and app._settling is not None:
            app._settling.stop()  # a new answer follows soon; that one is settled
        request = app._reading.request_for(evidence_key(state))

        read = False

        def say(text: str) -> None:
            request.check()
            if read and app._latest.outdated:
                raise Cancelled  # what was read, and a fit, are kept for the next plan
            app.post_message(Progress(key, text))

        def show(evidence: Evidence) -> None:
            nonlocal read
            request.check()
            read = True
            app.post_message(EvidenceReady(evidence_key(state), evidence))

        def job() -> None:
            try:
                request.begin(state.sources)
                built = app._session.build(state, say, show)
                request.check()
            except Cancelled:
                return
            except Exception as error:
                # Of its subclasses none is about a file: names, numbers of runs.
                where = error.where if type(error) is engine.BadInput else None
                app.post_message(PlanFailed(key, error_text(error), where))
            else:
                app.post_message(PlanReady(key, built))

        app._latest.submit(job)

    def _ask(self) -> bool:
        """Answer the goal of the state with the current plan, first with one type per cluster.
        False where the question is refused; the inputs are then those of the last answer again."""
        app = self.planner
        if app.built is None:
            return True
        if app.state.max_nodes > app.built.max_nodes:
            return self._ask_of_fewer(app.built)
        try:
            app.answer = app._session.answer(app.state, app.built)
        except Exception as error:
            app.show_refusal(error_text(error))
            answered = app._answered_state
            if answered is not None and plan_key(answered) == plan_key(app.state):
                app.state = with_inputs(app.state, answered)
            if app.settling:
                app._settle()  # for the answer that stays, whose search may have been delayed
            return False
        app._answered_state = app.state
        if self.is_last_good(app.state):
            app._last_good = app.state  # with the goal chosen since
        app._settle()
        return True

    def _ask_of_fewer(self, built: BuiltPlan) -> bool:
        """While the plan of more nodes is built that the goal needs, answer it for as many as the
        current one has. What fails with that may be possible with more: the new plan is asked
        again, and says why if it is not."""
        from tui.session import limits_of

        app = self.planner
        try:
            limits_of(app.state)
        except engine.EngineError as error:
            app.show_refusal(error_text(error))
            return False
        with suppress(Exception):
            app.answer = app._session.answer(replace(app.state, max_nodes=built.max_nodes), built)
            app._settle()
        return True

    def _ask_new_plan(self) -> bool:
        """Answer the goal of the state with a plan that was just built. A goal or limit that was
        set meanwhile, and is refused, gives way to that of the last answer."""
        app = self.planner
        if app._ask():
            return True
        answered = app._answered_state
        if answered is None or evidence_key(answered) != evidence_key(app.state):
            return False
        app.state = with_question(app.state, answered)
        return app._ask()

    @property
    def computing(self) -> bool:
        """Whether a plan for the current evidence is being built."""
        app = self.planner
        return bool(app.busy) and evidence_key(app.state) == app._evidence

    def on_progress(self, message: Progress) -> None:
        app = self.planner
        if message.key == plan_key(app.state) and app.busy:
            app.busy = message.text
            app._panels.show_header()

    @property
    def evidence_before_plan(self) -> Evidence | None:
        """The evidence while the first plan for it is being built, or where that was cancelled;
        None before it is read, where its plan was refused (it is read again then), and once there
        is an answer to be shown."""
        read = self._read_now
        return read.evidence if read is not None and self.planner.answer is None else None

    @property
    def _read_now(self) -> EvidenceReady | None:
        """What was read for the current inputs, while there is no plan for it."""
        read = self._evidence_read
        is_current = read is not None and read.key == evidence_key(self.planner.state)
        return read if is_current else None

    def on_evidence_ready(self, message: EvidenceReady) -> None:
        """Let the sliders move within the ranges of what was read, while its plan is being built;
        before the first plan show what was read."""
        app = self.planner
        self._evidence_read = message
        if self._read_now is None or not app.screen_stack:
            return
        if app.answer is not None and message.key == app._evidence:
            return  # its plan has set the ranges
        known = app.ranges.known
        app._panels.slider_ranges.set_read(app.state, message.evidence.profile)
        if not known and app.ranges.known:
            app.drop_refusal()  # such as that no time is known yet
        if app.answer is None:
            app._panels.show()
        else:
            app._panels.show_inputs()

    def on_plan_ready(self, message: PlanReady) -> None:
        """Show a plan, unless the state has changed since, or the app is closing."""
        app = self.planner
        if message.key != plan_key(app.state) or not app.screen_stack:
            return
        app.built, app.busy, self._evidence_read = message.built, "", None
        if evidence_key(app.state) != app._evidence:
            refusal = app.visible_refusal
            app.sticky_notice = []
            app.set_notice([])
            app._evidence = evidence_key(app.state)
            app._reading.done()
            app._start_with_evidence(message.built)
            for line in refusal:  # of a change that was made while this was being read
                app.set_notice(line)
            good = True
        else:
            good = self._ask_new_plan()
        app._last_good = app.state if good else app._last_good
        self.replaced_inputs = self.history_to_return = None
        self._unbuilt = ()
        app._say_read_again()
        self._ask_behind_refused()
        self._given_up = self._given_up if app.busy else ()
        app._panels.show()
        app._act_if_settled()  # a refused question starts no search

    def _stop_reading(self) -> None:
        """Cancel the current read, or the plan for what was read; what was asked before stays."""
        app = self.planner
        cancelled = "reading" if self._read_now is None else "the plan"
        app._give_up_reading_again()
        app._reading.cancel()
        app._latest.abandon()
        app.busy = ""
        shown = (each for each in self._unbuilt if evidence_key(each.state) == app._evidence)
        self._unbuilt = tuple(shown)
        if self._return_to_unbuilt():
            self._evidence_read = None
        elif app._last_good is not None:
            self._evidence_read = None
            self._revert_to(app._last_good)
        self._refused, self._given_up = (), ()
        app.show_notice(f"{cancelled} was cancelled", "warn")
        app._panels.show()
        app._act_if_settled()

    def _start_with_evidence(self, built: BuiltPlan) -> None:
        """Set a deadline for new evidence, one that can be met where that is possible."""
        app = self.planner
        app._ask()
        if built.workflow is not None and app.state.view == "curves":
            app.state = reduce(app.state, ShowView("workflow"))
        run, best = built.profile.largest_run, app.answer.best if app.answer else None
        measured = run.seconds if run else best.seconds if best else None
        read = EvidenceRead(measured, built.profile.deadline_seconds)
        app.state = reduce(app.state, read)
        app._ask()
        self._relax()
        self._relax_borderline_deadline(built)
        app.history = app.history.started(app.state, read)
        app._panels.slider_ranges.set_planned(app.state, built, app.answer)
        if questions := inputs.questions(app.state, built):
            app.show_notice(questions, "warn", stays=True)

    def _relax_borderline_deadline(self, built: BuiltPlan) -> None:
        """Relax a default deadline at once if the interpolated time meets it by less than
        `GRID_ERROR`. The settled answer may miss it, and the deadline would then move while the
        user looks."""
        app = self.planner
        deadline = app.state.deadline_seconds
        met = app.answer is not None and app.answer.report.recommendation.recommended is not None
        if deadline is None or not met or built.profile.deadline_seconds is not None:
            return
        margin = deadline * GRID_ERROR
        tighter = replace(app.state, deadline_seconds=deadline - margin)
        if app._session.answer(tighter, built).report.recommendation.recommended is None:
            before, app.state = app.state, reduce(app.state, DeadlineRelaxed(deadline + margin))
            if app.state != before:
                app._ask()
                self.initial_answer = app.answer

    def _relax(self) -> bool:
        """Relax a default deadline that cannot be met; True if it moved. A deadline near the limit
        of the interpolated times may turn out to be missed only in the settled answer."""
        app = self.planner
        before, recommendation = app.state, app.answer.report.recommendation if app.answer else None
        if (
            recommendation
            and recommendation.recommended is None
            and recommendation.nearest is not None
        ):
            achievable_seconds = recommendation.nearest.high or recommendation.nearest.seconds
            app.state = reduce(app.state, DeadlineRelaxed(achievable_seconds))
        relaxed = app.state != before
        if relaxed:
            app._ask()
        self.initial_answer = app.answer
        return relaxed

    def on_plan_failed(self, message: PlanFailed) -> None:
        """Show why; the last good plan and its inputs stay. Without one the reason stays visible in
        every view: there is nothing else to see."""
        app = self.planner
        if message.key != plan_key(app.state) or not app.screen_stack:
            return
        unread = evidence_key(app.state) != app._evidence and self._read_now is None
        app.busy, self._evidence_read = "", None
        self._refused = (*self._refused, Refused(app.state, message.text))
        if self._return_to_unbuilt():
            app.show_refusal(self._why_refused(message.text))
        else:
            self._refuse(message, unread=unread)
        self._given_up = self._given_up if app.busy else ()
        app._panels.show()
        app._act_if_settled()

    def _refuse(self, message: PlanFailed, *, unread: bool) -> None:
        """Say why there is no plan for what was asked for, and return to the last good one."""
        app = self.planner
        if app._last_good is None:
            self._refused = ()  # there is no plan behind which it could be asked for again
            app._reading.done()  # a log without a finished task may get one
            app._give_up_reading_again()
            may_do = app._reading.watch.watches(message.where)
            waits = "; it is read again when it has grown" if may_do else ""
            app.show_notice(f"{message.text}{waits}", "bad", stays=True)
            if app.state.view == "compare" and app.pins:
                app._panels.focus_view("compare")  # enter goes back to one
        else:
            app._give_up_reading_again()
            self._revert_to(app._last_good, unread=unread)
            app.show_refusal(self._why_refused(message.text))
            self._ask_behind_refused()
