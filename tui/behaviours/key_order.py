"""Keys in the order in which they were typed, also where several come at once.

On a slow line ":deadline 4x", a backspace, "5m", Enter and "2" are there before the line to type
them in. And while a dialog is open, what a key is bound to is done only once it has gone from the
widget with the keyboard up to the app: the letters behind a backspace, an arrow or an Enter would
be typed before it. So a dialog gets one key at a time, the next when all is done that the one
before has caused, and none before it stands. Keys behind the one that closes it are the planner's.
"""

from __future__ import annotations

from bisect import insort
from typing import cast

from textual.app import App
from textual.await_complete import AwaitComplete
from textual.events import Event, Key, Paste
from textual.message import Message

from tui.behaviours.part import PlannerPart
from tui.screens.dialog import Dialog
from tui.widgets.slider import Slider

Typed = Key | Paste

_ROUNDS = 2
"""How often a follower goes the way of its key: first behind the key itself, then behind what its
binding has posted, such as the answer that an Enter submits."""


class Followed(Message):
    """Goes behind a key from the widget with the keyboard up to the app."""

    def __init__(self, typed: Typed, rounds: int) -> None:
        super().__init__()
        self.typed = typed
        self.rounds = rounds


class KeyOrder(PlannerPart):
    """A part of `PlannerApp`."""

    _waiting: tuple[Typed, ...] = ()
    _handed: Typed | None = None
    _under_way = False

    async def on_event(self, event: Event) -> None:
        """A key waits for those before it while a dialog is open or due; those that act wherever
        one is, such as the one that quits, wait for nothing."""
        app = self.planner
        if isinstance(event, Typed) and not event.is_forwarded and not self._acts_anywhere(event):
            busy = self._waiting or self._under_way or app.dialog_due
            if busy or isinstance(app.screen, Dialog):
                self._put_off(event)
                await self._hand_out()
                return
        await App.on_event(app, event)

    def on_key(self, event: Key) -> None:
        """A key that nothing on the screen has handled: where one before it has opened a dialog, or
        the line of a slider, it was meant for that."""
        app = self.planner
        if isinstance(app.focused, Slider):
            app.focused.on_key(event)
        else:
            self._take_early(event, Key(event.key, event.character))

    def on_paste(self, event: Paste) -> None:
        """As a key."""
        self._take_early(event, Paste(event.text))

    def _take_early(self, event: Typed, again: Typed) -> None:
        app = self.planner
        if isinstance(app.screen, Dialog) and event is not self._handed:
            event.prevent_default()
            again.time = event.time
            self._put_off(again)
            app.call_later(self._hand_out)

    def _acts_anywhere(self, event: Typed) -> bool:
        app = self.planner
        key = event.key if isinstance(event, Key) else ""
        bound = app._bindings.key_to_bindings.get(key, ())
        return any(one.priority and app._check_action_state(one.action, app) for one in bound)

    def _put_off(self, event: Typed) -> None:
        """Have it wait, behind what was typed before it."""
        waiting = list(self._waiting)
        insort(waiting, event, key=lambda other: other.time)
        self._waiting = tuple(waiting)

    async def _hand_out(self) -> None:
        """The next key to the screen, unless one is under way or a dialog does not stand yet or is
        still to come. While the planner is left there is none any more."""
        app = self.planner
        if not app.screen_stack:
            return
        stands = app.screen.stands if isinstance(app.screen, Dialog) else not app.dialog_due
        if stands and self._waiting and not self._under_way:
            self._handed, *rest = self._waiting
            self._waiting, self._under_way = tuple(rest), True
            first, follower = app.focused or app.screen, Followed(self._handed, _ROUNDS)
            await App.on_event(app, self._handed)
            first.post_message(follower)

    async def on_dialog_stood(self) -> None:
        """A dialog has come to stand: what was typed early is for it."""
        await self._hand_out()

    async def on_followed(self, message: Followed) -> None:
        """All is done that a key has caused, or the first part of it."""
        app = self.planner
        left_behind = not self._under_way or message.typed is not self._handed
        if left_behind or not app.screen_stack:
            return
        left = message.rounds - 1
        if not left or not (app.focused or app.screen).post_message(Followed(message.typed, left)):
            self._under_way = False
            await self._hand_out()

    def pop_screen(self) -> AwaitComplete:
        """What follows the key of a dialog that is gone would never come: the next one is for the
        planner."""
        popped = super().pop_screen()  # type: ignore[misc]
        self._under_way = False
        self.planner.call_later(self._hand_out)
        return cast(AwaitComplete, popped)
