"""Keys in the order in which they were typed, also where several come at once.

On a slow line ":deadline 4x", a backspace, "5m", Enter and "2" are there before the line to type
them in. And while a dialog is open, what a key is bound to is done only once it has gone from the
widget with the keyboard up to the app: the letters behind a backspace, an arrow or an Enter would
be typed before it. So a dialog gets one key at a time, the next when all is done that the one
before has caused, and none before it stands. Keys behind the one that closes it are the planner's.

The step of a slider comes back to the planner as a message of a panel. So a key of the planner's
own (undo, export) that comes right behind it is done once that is there, and those behind it wait.
In a tour, whose keys come before those of a slider, the keys behind the Enter that opens its line
wait until it is open.
"""

from __future__ import annotations

from bisect import insort
from typing import cast

from textual.app import App
from textual.await_complete import AwaitComplete
from textual.events import Event, Key, MouseDown, Paste
from textual.message import Message

from tui.behaviours.planner_mixin import PlannerMixin
from tui.screens.dialog import Dialog
from tui.widgets.slider import Slider

Typed = Key | Paste

_ROUNDS = 2
"""How often a follower goes the way of its key: first behind the key itself, then behind what its
binding has posted, such as the answer that an Enter submits."""


class KeyHandled(Message):
    """Goes behind a key from the widget with the keyboard up to the app."""

    def __init__(self, typed: Typed, rounds: int) -> None:
        super().__init__()
        self.typed = typed
        self.rounds = rounds


class QuitRequested(Message):
    """Goes behind the keys before the one that quits, up to the app."""


class KeyOrder(PlannerMixin):
    """A part of `PlannerApp`."""

    _waiting: tuple[Typed, ...] = ()
    _current_key: Typed | None = None
    _key_in_progress = False
    _quitting = False
    _exit_code = 0

    async def action_quit(self) -> None:
        """Leave in order; asked again, at once."""
        if self._quitting:
            self._quit_now()
        else:
            self.quit_after_pending_keys()

    def quit_after_pending_keys(self, return_code: int = 0) -> None:
        """Leave once all is done that was typed before, or a pin that waits for its answer would be
        lost."""
        app = self.planner
        self._quitting, self._exit_code = True, return_code
        if not (app.focused or app.screen).post_message(QuitRequested()):
            self._quit_now()

    def _quit_now(self) -> None:
        self.planner.exit(return_code=self._exit_code)

    def on_quit_requested(self) -> None:
        """All keys have come up to the app that were typed before the one that quits."""
        app = self.planner
        if self.keys_queued:
            app.show_notice(
                "what was typed before is done first; quit again to leave at once", "base"
            )
        else:
            self._quit_now()

    @property
    def keys_queued(self) -> bool:
        """Whether a key that is typed now has to wait for one before it."""
        return bool(self._waiting or self._key_in_progress or self.planner.pending)

    async def on_event(self, event: Event) -> None:
        """A key waits for those before it, and while a dialog is open for its turn there; those
        that act wherever one is, such as the one that quits, wait for nothing."""
        typed = event if isinstance(event, Typed) and not event.is_forwarded else None
        if typed is not None or isinstance(event, MouseDown):
            self.planner.note_input(event)
        if (
            typed is not None
            and (self._one_at_a_time or self._opens_slider_editor(typed))
            and not self._is_global_key(typed)
        ):
            self._queue_key(typed)
            await self._deliver_next_key()
        else:
            await App.on_event(self.planner, event)

    def on_key(self, event: Key) -> None:
        """A key that nothing on the screen has handled: where one before it has opened a dialog, or
        the line of a slider, it was meant for that; one of the planner's own waits for the steps
        of sliders before it."""
        app = self.planner
        again = Key(event.key, event.character)
        if self._is_early(event):
            self._queue_early_key(event, again)
        elif isinstance(app.focused, Slider) and app.focused.editing:
            app.focused.on_key(event)
        elif event is not self._current_key and self._is_app_binding(event.key):
            self._queue_early_key(event, again)

    def on_paste(self, event: Paste) -> None:
        """As a key that is bound to nothing."""
        if self._is_early(event):
            self._queue_early_key(event, Paste(event.text))

    @property
    def _one_at_a_time(self) -> bool:
        return self.keys_queued or isinstance(self.planner.screen, Dialog)

    def _is_early(self, event: Typed) -> bool:
        """Whether what was typed was on its way when one before it turned out to be waited for."""
        return self._one_at_a_time and event is not self._current_key

    def _is_app_binding(self, key: str) -> bool:
        """Whether a key does something of the planner's own, and nothing where the keyboard is."""
        app = self.planner
        chain = app.screen._modal_binding_chain
        bound = (node for node, bindings in chain if key in bindings.key_to_bindings)
        return next(bound, None) is app

    def _queue_early_key(self, event: Typed, again: Typed) -> None:
        """Put it off, until what the keys before it have caused is done too."""
        app = self.planner
        event.prevent_default()
        again.time = event.time
        self._queue_key(again)
        if isinstance(app.screen, Dialog):
            app.call_later(self._deliver_next_key)
        elif not self._key_in_progress:
            self._current_key, self._key_in_progress = event, True
            (app.focused or app.screen).post_message(KeyHandled(event, _ROUNDS))

    def _opens_slider_editor(self, event: Typed) -> bool:
        """Whether it opens the line of a slider, for which the next keys of a tour are text."""
        app = self.planner
        closed = isinstance(app.focused, Slider) and not app.focused.editing
        return closed and app.guide is not None and getattr(event, "key", "") == "enter"

    def _is_global_key(self, event: Typed) -> bool:
        """Whether it does the same wherever one is. The keys of a tour do not: what is under way
        may open what they are text for."""
        app = self.planner
        key = event.key if isinstance(event, Key) else ""
        bound = app._bindings.key_to_bindings.get(key, ())
        return any(
            one.priority
            and app._check_action_state(one.action, app)
            and not (self._key_in_progress and one.action.startswith("tour_"))
            for one in bound
        )

    def _queue_key(self, event: Typed) -> None:
        """Have it wait, behind what was typed before it."""
        waiting = list(self._waiting)
        insort(waiting, event, key=lambda other: other.time)
        self._waiting = tuple(waiting)

    def replace_key(self, key: str) -> None:
        """Another key in the place of the one that is being handled."""
        meant = Key(key, None)
        if self._current_key is not None:
            meant.time = self._current_key.time
        self.planner.post_message(meant)

    async def _deliver_next_key(self) -> None:
        """The next key to the screen, unless one is under way, what it asked for is still to be
        done, or a dialog does not stand yet. While the planner is left there is none any more."""
        app = self.planner
        if not app.screen_stack:
            return
        stands = app.screen.stands if isinstance(app.screen, Dialog) else not app.pending
        if stands and self._waiting and not self._key_in_progress:
            self._current_key, *rest = self._waiting
            self._waiting, self._key_in_progress = tuple(rest), True
            first, follower = app.focused or app.screen, KeyHandled(self._current_key, _ROUNDS)
            await App.on_event(app, self._current_key)
            first.post_message(follower)
        elif self._quitting and not self.keys_queued:
            self._quit_now()

    async def on_dialog_ready(self) -> None:
        """A dialog has come to stand: what was typed early is for it."""
        await self._deliver_next_key()

    async def on_key_handled(self, message: KeyHandled) -> None:
        """All is done that a key has caused, or the first part of it."""
        app = self.planner
        left_behind = not self._key_in_progress or message.typed is not self._current_key
        if left_behind or not app.screen_stack:
            return
        left = message.rounds - 1
        if not left or not (app.focused or app.screen).post_message(
            KeyHandled(message.typed, left)
        ):
            self._key_in_progress = False
            await self._deliver_next_key()

    def pop_screen(self) -> AwaitComplete:
        """What follows the key of a dialog that is gone would never come: the next one is for the
        planner, or for the dialog that the answer opens (":limits" does): it comes behind that."""
        popped = super().pop_screen()  # type: ignore[misc]
        self._key_in_progress = False
        self.planner.call_later(self.planner.call_later, self._deliver_next_key)
        return cast(AwaitComplete, popped)
