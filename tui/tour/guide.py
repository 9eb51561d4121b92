"""Runs the tour in the planner: types the commands of each step, presses its keys, shows its
caption.

A step always starts from the inputs at the end of the step before it, whatever the user did in
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
"""Polling interval while a plan is being built."""

LOOKING = (":view", ":chart")
"""Commands that only switch the view; captions leave them out, as the tabs show it."""


@dataclass(frozen=True, kw_only=True)
class TourOptions:
    """How the tour is played.

    Args:
        auto: go from step to step by itself, until a key of the tour is pressed.
        pause_seconds: for each step, None for the time that reading its text takes.
        recorder: records the output; then pauses are not waited for, and the app ends with the
            tour.
        size: columns and rows, None for those of the terminal.
    """

    auto: bool = False
    pause_seconds: float | None = None
    recorder: Recorder | None = None
    size: tuple[int, int] | None = None


class Checkpoint(NamedTuple):
    """The state of the planner at the end of a step."""

    state: PlanState
    history: History
    pins: tuple[Pin, ...]
    facts: Facts | None


class Guide:
    """One tour, from its first step to its end."""

    def __init__(self, app: PlannerApp, options: TourOptions) -> None:
        self._app = app
        self._options = options
        self.before = app.state
        self._pins = app.pins
        self._on_sample_alone = app.state.sources == (DEFAULT_SAMPLE,)
        self._checkpoints: list[Checkpoint] = []
        self.step_index = -1
        """The index of the current step; -1 before the first."""
        self._turning = asyncio.Lock()
        self._autoplay_stopped = asyncio.Event()
        self._caption = CaptionContent("Tour", "Reading the sample ...", 1, len(STEPS))
        self.ended = False
        self.followed = True
        """Whether only the keys of the tour were used since the step was shown."""

    @property
    def plan_before(self) -> SavedPlan:
        """The plan and pins from before the tour."""
        from tui.storage.scenario_file import SavedPlan

        return SavedPlan(self.before, self._pins)

    @property
    def idle(self) -> bool:
        """Whether no step is in progress."""
        return not self._turning.locked()

    @property
    def caption(self) -> CaptionContent:
        """The content of the caption."""
        return self._caption

    def begin(self) -> None:
        """Show the caption, open the sample and go to the first step."""
        app = self._app
        app.screen_stack[0].add_class("touring")
        self._show_caption(self._caption)
        app.run_worker(self._play(), exclusive=False, exit_on_error=True)

    def has_keys(self, focused: Widget | None, *, goes_on: bool = False) -> bool:
        """Whether the tour's keys are active: not while text is typed or a dialog of the user's is
        open. With `goes_on` the next key is also active in a slider's open, untouched editor."""
        if isinstance(focused, Slider) and focused.editing:
            return goes_on and focused.untouched
        stack = self._app.screen_stack
        return not isinstance(focused, Input) and bool(stack[-1].query(Caption))

    def turn(self, by: int) -> None:
        """Go a step forward or back, by a key; automatic play stops."""
        self._autoplay_stopped.set()
        self._app.run_worker(self._turn(by), exclusive=False, exit_on_error=True)

    def leave(self) -> None:
        """End the tour and restore the plan from before it, unless that was the sample alone."""
        if self.ended:
            return
        self.ended = True
        self._autoplay_stopped.set()
        app = self._app
        self._close_dialogs()
        for caption in app.screen_stack[0].query(Caption):
            caption.remove()
        app.screen_stack[0].remove_class("touring")
        app.guide = None
        app.pins = self._pins
        if not self._on_sample_alone:
            app.restore_state(self.before)
        else:
            app._panels.show()

    # Playing

    async def _play(self) -> None:
        """Show the first step, and the others where the tour plays by itself."""
        async with self._turning:
            if not self._on_sample_alone:
                self._app.restore_state(ON_SAMPLE)
            await self._settled()
            if self.ended:
                return
            self._checkpoints = [self._checkpoint(None)]
            await self._go_to(0)
        recorder = self._options.recorder
        while self._options.auto and not self._autoplay_stopped.is_set():
            await self._wait_or_record(recorder)
            if self._autoplay_stopped.is_set():
                return
            await self._turn(1)
        if recorder is not None and not self._app.is_headless:
            self._app.exit()

    async def _wait_or_record(self, recorder: Recorder | None) -> None:
        seconds = self._options.pause_seconds
        if seconds is None:
            seconds = pause_seconds(self._caption.text)
        if recorder is not None:
            recorder.paused(self._app, seconds)
            return
        try:
            await asyncio.wait_for(self._autoplay_stopped.wait(), seconds)
        except TimeoutError:
            return

    async def _turn(self, by: int) -> None:
        """Go to another step; calls wait for the step in progress."""
        async with self._turning:
            if self.ended:
                return
            target = max(0, self.step_index + by)
            if target >= len(STEPS):
                self._end()
                return
            await self._go_to(target)

    def _end(self) -> None:
        """After the last step: end the app of a recording, else the tour."""
        if self._options.recorder is not None:
            self._autoplay_stopped.set()
            self._app.exit()
        else:
            self.leave()

    async def _go_to(self, index: int) -> None:
        """Restore the end of the step before, run the step's actions, show its caption."""
        step, start = STEPS[index], self._checkpoints[index]
        del self._checkpoints[index + 1 :]
        self._close_dialogs()
        self._app.pins = start.pins
        self._app.restore_state(start.state, history=start.history)
        await self._settled()
        typed = []
        for action in step.actions:
            if self.ended:
                return  # the remaining actions would change the user's own plan
            filled = action.format_map(start.facts or {})
            if not filled.startswith(LOOKING):
                typed.append(filled)
            await self._do(filled)
        if self.ended:
            return
        self.step_index = index
        checkpoint = self._checkpoint(start.facts)
        self._checkpoints.append(checkpoint)
        text = " ".join(step.text.format_map(checkpoint.facts or {}).split())
        last = index == len(STEPS) - 1
        self.followed = True
        self._show_caption(
            CaptionContent(step.title, text, index + 1, len(STEPS), tuple(typed), last)
        )
        await self._drained()
        await self._drawn()

    async def _do(self, action: str) -> None:
        """Run a typed command, or press a key."""
        if action.startswith(":"):
            await self._app.run_command_line(action)
        else:
            self._app.simulate_key(action)
            await self._drained()
        await self._settled()

    def _checkpoint(self, before: Facts | None) -> Checkpoint:
        """The present state as a checkpoint; the next change of an input is undone separately."""
        app = self._app
        history = replace(app.history, last_changed=frozenset())
        answer = app.answer
        fact_values = before
        if answer is not None:
            advised = app.advised(answer)[0] if app.state.view == "experiments" else None
            fact_values = facts(app.state, answer, app.marks, before, advised=advised)
        return Checkpoint(app.state, history, app.pins, fact_values)

    # The screen

    def _show_caption(self, content: CaptionContent) -> None:
        """Show a caption on the visible screen, and on the planner's own."""
        self._caption = content
        stack = self._app.screen_stack
        for screen in dict.fromkeys((stack[0], stack[-1])):
            captions = screen.query(Caption)
            if captions:
                captions.first().update_content(content)
            else:
                screen.mount(Caption(content, self._app.glyphs))

    def _close_dialogs(self) -> None:
        while len(self._app.screen_stack) > 1:
            self._app.pop_screen()

    async def _settled(self) -> None:
        """Wait until nothing is being computed, the answer is settled and every message is handled:
        a caption quotes what is visible beside it."""
        app = self._app
        await self._drained()
        while (app.busy or app.settling or app.experiments_pending) and not self.ended:
            await asyncio.sleep(LOOK_SECONDS)
        await self._drained()

    async def _drained(self) -> None:
        """Wait until every node from the focus up to the app has handled its messages, and each key
        has been delivered."""
        app, rounds = self._app, 2
        while rounds or app.keys_queued:
            rounds = max(0, rounds - 1)
            await _handled(app)
            for node in (app.focused or app.screen).ancestors_with_self:
                await _handled(node)

    async def _drawn(self) -> None:
        """Wait until the screen is laid out and painted; widgets just mounted take two rounds."""
        for _ in range(2):
            done = asyncio.Event()
            if not self._app.screen.call_after_refresh(done.set):
                return
            await done.wait()


async def _handled(pump: MessagePump) -> None:
    """Wait until a message queue has handled its present content."""
    done = asyncio.Event()
    if pump.is_running and pump.call_later(done.set):
        await done.wait()
