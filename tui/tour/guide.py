"""Drives the planner through the steps: types their commands, presses their keys, tells captions.

A step always begins from the inputs at the end of the step before it, whatever the user did in
between; so next and back lead to the same screen each time.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from textual.widget import Widget
from textual.widgets import Input

from tui.history import History
from tui.start import DEFAULT_SAMPLE, ON_SAMPLE
from tui.state import PlanState
from tui.tour.facts import Facts, facts
from tui.tour.record import Recorder
from tui.tour.steps import STEPS, pause_seconds
from tui.views.caption import Caption, CaptionContent
from tui.widgets.slider import Slider

if TYPE_CHECKING:
    from textual.message_pump import MessagePump

    from tui.app import PlannerApp
    from tui.pins import Pin
    from tui.storage.scenario_file import SavedPlan

LOOK_SECONDS = 0.02
"""How often a plan that is being built is looked after."""


LOOKING = (":view", ":chart")
"""Commands that turn the page are not told: the tabs tell it."""


@dataclass(frozen=True, kw_only=True)
class TourOptions:
    """How the tour is played.

    Args:
        auto: step after step by itself; the first key of the tour ends that.
        pause_seconds: for each step, None for as long as its text takes to read.
        recorder: takes down what is drawn; then nobody waits, and the app ends with the tour.
        size: columns and rows, None for those of the terminal.
    """

    auto: bool = False
    pause_seconds: float | None = None
    recorder: Recorder | None = None
    size: tuple[int, int] | None = None


class Checkpoint(NamedTuple):
    """Where the planner was at the end of a step."""

    state: PlanState
    history: History
    pins: tuple[Pin, ...]
    facts: Facts | None


class Guide:
    """One tour, from its first step until it is left."""

    def __init__(self, app: PlannerApp, options: TourOptions) -> None:
        self._app = app
        self._options = options
        self.before = app.state
        self._pins = app.pins
        self._alone = app.state.sources == (DEFAULT_SAMPLE,)
        self._marks: list[Checkpoint] = []
        self._place = -1
        self._turning = asyncio.Lock()
        self._touched = asyncio.Event()
        self._told = CaptionContent("Tour", "Reading the sample ...", 1, len(STEPS))
        self.over = False
        self.followed = True
        """Whether nothing but the tour's own keys was used since the step was shown."""

    @property
    def place(self) -> int:
        """The step that is shown, from 0; -1 before the first."""
        return self._place

    @property
    def kept(self) -> SavedPlan:
        """What was planned and pinned before the tour."""
        from tui.storage.scenario_file import SavedPlan

        return SavedPlan(self.before, self._pins)

    @property
    def idle(self) -> bool:
        """Whether no step is being taken."""
        return not self._turning.locked()

    @property
    def told(self) -> CaptionContent:
        """What the caption says."""
        return self._told

    def begin(self) -> None:
        """Show the caption, open the sample and go to the first step."""
        app = self._app
        app.screen_stack[0].add_class("touring")
        self._tell(self._told)
        app.run_worker(self._play(), exclusive=False, exit_on_error=True)

    def has_keys(self, focused: Widget | None, *, goes_on: bool = False) -> bool:
        """Whether the keys of the tour are meant, not text or a dialog that the user opened. The
        one that goes on is meant too where the line of a slider is open and untouched."""
        if isinstance(focused, Slider) and focused.editing:
            return goes_on and focused.untouched
        stack = self._app.screen_stack
        return not isinstance(focused, Input) and bool(stack[-1].query(Caption))

    def turn(self, by: int) -> None:
        """A step on or back, by a key: what plays by itself stops doing so."""
        self._touched.set()
        self._app.run_worker(self._turn(by), exclusive=False, exit_on_error=True)

    def leave(self) -> None:
        """End the tour. What was planned before it comes back, where it was anything else."""
        if self.over:
            return
        self.over = True
        self._touched.set()
        app = self._app
        self._close_dialogs()
        for caption in app.screen_stack[0].query(Caption):
            caption.remove()
        app.screen_stack[0].remove_class("touring")
        app.guide = None
        app.pins = self._pins
        if not self._alone:
            app.restore_state(self.before)
        else:
            app._panels.show()

    # Playing

    async def _play(self) -> None:
        """The first step, and the others where the tour plays by itself."""
        async with self._turning:
            if not self._alone:
                self._app.restore_state(ON_SAMPLE)
            await self._settled()
            if self.over:
                return
            self._marks = [self._mark(None)]
            await self._to(0)
        recorder = self._options.recorder
        while self._options.auto and not self._touched.is_set():
            await self._pause(recorder)
            if self._touched.is_set():
                return
            await self._turn(1)
        if recorder is not None and not self._app.is_headless:
            self._app.exit()

    async def _pause(self, recorder: Recorder | None) -> None:
        seconds = self._options.pause_seconds
        if seconds is None:
            seconds = pause_seconds(self._told.text)
        if recorder is not None:
            recorder.paused(self._app, seconds)
            return
        try:
            await asyncio.wait_for(self._touched.wait(), seconds)
        except TimeoutError:
            return

    async def _turn(self, by: int) -> None:
        """To another step; those that wait for this one follow in turn."""
        async with self._turning:
            if self.over:
                return
            target = max(0, self._place + by)
            if target >= len(STEPS):
                self._end()
                return
            await self._to(target)

    def _end(self) -> None:
        """After the last step."""
        if self._options.recorder is not None:
            self._touched.set()
            self._app.exit()
        else:
            self.leave()

    async def _to(self, place: int) -> None:
        """The inputs at the end of the step before, then what the step does, then its caption."""
        step, start = STEPS[place], self._marks[place]
        del self._marks[place + 1 :]
        self._close_dialogs()
        self._app.pins = start.pins
        self._app.restore_state(start.state, history=start.history)
        await self._settled()
        typed = []
        for action in step.actions:
            if self.over:
                return  # what is left of the step would be done to the user's own plan
            filled = action.format_map(start.facts or {})
            if not filled.startswith(LOOKING):
                typed.append(filled)
            await self._do(filled)
        if self.over:
            return
        self._place = place
        found = self._mark(start.facts)
        self._marks.append(found)
        text = " ".join(step.text.format_map(found.facts or {}).split())
        last = place == len(STEPS) - 1
        self.followed = True
        self._tell(CaptionContent(step.title, text, place + 1, len(STEPS), tuple(typed), last))
        await self._drained()
        await self._drawn()

    async def _do(self, action: str) -> None:
        """A typed command, or a key."""
        if action.startswith(":"):
            await self._app.run_command_line(action)
        else:
            self._app.simulate_key(action)
            await self._drained()
        await self._settled()

    def _mark(self, before: Facts | None) -> Checkpoint:
        """Where the planner is now; the next change of an input is undone by itself."""
        app = self._app
        history = replace(app.history, last_changed=frozenset())
        answer = app.answer
        found = before
        if answer is not None:
            advised = app.advised(answer)[0] if app.state.view == "experiments" else None
            found = facts(app.state, answer, app.marks, before, advised=advised)
        return Checkpoint(app.state, history, app.pins, found)

    # The screen

    def _tell(self, told: CaptionContent) -> None:
        """Show a caption on the screen that is seen, and on the planner's own."""
        self._told = told
        stack = self._app.screen_stack
        for screen in dict.fromkeys((stack[0], stack[-1])):
            captions = screen.query(Caption)
            if captions:
                captions.first().tell(told)
            else:
                screen.mount(Caption(told, self._app.glyphs))

    def _close_dialogs(self) -> None:
        while len(self._app.screen_stack) > 1:
            self._app.pop_screen()

    async def _settled(self) -> None:
        """Until nothing is being worked out, the answer is the one that stays and every message was
        handled: a caption quotes what is seen beside it."""
        app = self._app
        await self._drained()
        while (app.busy or app.settling or app.experiments_pending) and not self.over:
            await asyncio.sleep(LOOK_SECONDS)
        await self._drained()

    async def _drained(self) -> None:
        """Let each part of the screen handle what it was sent, from the focus up to the app, and
        each key have its turn."""
        app, rounds = self._app, 2
        while rounds or app.keys_queued:
            rounds = max(0, rounds - 1)
            await _handled(app)
            for node in (app.focused or app.screen).ancestors_with_self:
                await _handled(node)

    async def _drawn(self) -> None:
        """Until the screen was laid out and painted; what was just mounted takes two rounds."""
        for _ in range(2):
            done = asyncio.Event()
            if not self._app.screen.call_after_refresh(done.set):
                return
            await done.wait()


async def _handled(pump: MessagePump) -> None:
    """Until a message queue has handled what is in it now."""
    done = asyncio.Event()
    if pump.is_running and pump.call_later(done.set):
        await done.wait()
