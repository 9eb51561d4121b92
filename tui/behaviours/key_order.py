"""Handles keys strictly in the order in which they were typed, even where several arrive at once.

On a slow line ":deadline 4x", a backspace, "5m", Enter and "2" have all arrived before the command
line is open. And while a dialog is open, a key's binding runs only after the event has bubbled from
the focused widget to the app: letters behind a backspace, an arrow or an Enter would be typed
before it takes effect. So a dialog gets one key at a time: the next one is delivered when
everything that the previous one caused is done, and none before the dialog is ready. Keys behind
the one that closes it go to the planner.

A step of a slider reaches the planner as a message of a panel. So an app-level key (undo, export)
right behind it is handled after that message, and the keys behind it wait. In a tour, whose keys
take precedence over those of a slider, the keys behind the Enter that opens the slider's editor
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
"""How often a marker message follows the path of its key: first behind the key itself, then behind
what its binding has posted, such as the value that an Enter submits."""


class KeyHandled(Message):
    """Marker message behind a key, from the focused widget up to the app: when it arrives, the key
    has been handled."""

    def __init__(self, typed: Typed, rounds: int) -> None:
        super().__init__()
        self.typed = typed
        self.rounds = rounds


class QuitRequested(Message):
    """Marker message behind the keys that were typed before the one that quits."""


class KeyOrder(PlannerMixin):
    """Mixin of `PlannerApp`."""

    _waiting: tuple[Typed, ...] = ()
    _current_key: Typed | None = None
    _key_in_progress = False
    _quitting = False
    _exit_code = 0

    async def action_quit(self) -> None:
        """Quit after the keys typed before; on the second request, at once."""
        if self._quitting:
            self._quit_now()
        else:
            self.quit_after_pending_keys()

    def quit_after_pending_keys(self, return_code: int = 0) -> None:
        """Quit once everything typed before is done: a pin that waits for its answer would be lost
        otherwise."""
        app = self.planner
        self._quitting, self._exit_code = True, return_code
        if not (app.focused or app.screen).post_message(QuitRequested()):
            self._quit_now()

    def _quit_now(self) -> None:
        self.planner.exit(return_code=self._exit_code)

    def on_quit_requested(self) -> None:
        """All keys typed before the one that quits have reached the app."""
        app = self.planner
        if self.keys_queued:
            app.show_notice(
                "what was typed before is done first; quit again to leave at once", "base"
            )
        else:
            self._quit_now()

    @property
    def keys_queued(self) -> bool:
        """Whether a key that is typed now has to wait for an earlier one."""
        return bool(self._waiting or self._key_in_progress or self.planner.pending)

    async def on_event(self, event: Event) -> None:
        """Queue a key behind the earlier ones, and while a dialog is open until its turn. Keys that
        act everywhere, such as the one that quits, are not queued."""
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
        """A key that no widget has handled. Where an earlier key has opened a dialog or a slider's
        editor, it belongs there; an app-level key waits for the slider steps before it; of a key
        without a meaning that is said."""
        app = self.planner
        again = Key(event.key, event.character)
        if self._is_early(event):
            self._queue_early_key(event, again)
        elif isinstance(app.focused, Slider) and app.focused.editing:
            app.focused.on_key(event)
        elif event is not self._current_key and self._is_app_binding(event.key):
            self._queue_early_key(event, again)
        elif len(app.screen_stack) == 1 and event.key not in app.active_bindings:
            character = event.character if event.is_printable else None
            app.say_unused((character or "").strip() or event.key.replace("ctrl+", "^"))

    def on_paste(self, event: Paste) -> None:
        """Pasted text waits like a key. What names evidence is to open, other text is a value of
        the focused slider."""
        from tui.screens.open_line import names_evidence

        app, text = self.planner, event.text
        slider = app.focused if isinstance(app.focused, Slider) else None
        if self._is_early(event):
            self._queue_early_key(event, Paste(text))
        elif len(app.screen_stack) > 1 or not text.strip():
            return
        elif slider is not None and (slider.editing or not names_evidence(text)):
            slider.insert(text)
        else:
            app.action_open()
            app.post_message(Paste(text))

    @property
    def _one_at_a_time(self) -> bool:
        return self.keys_queued or isinstance(self.planner.screen, Dialog)

    def _is_early(self, event: Typed) -> bool:
        """Whether the event was already on its way when an earlier key turned out to block it."""
        return self._one_at_a_time and event is not self._current_key

    def _is_app_binding(self, key: str) -> bool:
        """Whether a key is bound by the app, and not by the focused widget."""
        app = self.planner
        bound = app.active_bindings.get(key)
        return bound is not None and bound.node is app

    def _queue_early_key(self, event: Typed, again: Typed) -> None:
        """Queue it until everything that the keys before it caused is done."""
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
        """Whether it opens a slider's editor, for which the next keys of a tour are text."""
        app = self.planner
        closed = isinstance(app.focused, Slider) and not app.focused.editing
        return closed and app.guide is not None and getattr(event, "key", "") == "enter"

    def _is_global_key(self, event: Typed) -> bool:
        """Whether the key does the same everywhere. The keys of a tour do not: what is in progress
        may open an editor for which they are text."""
        app = self.planner
        key = event.key if isinstance(event, Key) else ""
        bound = app.screen_stack[0].active_bindings.get(key)
        if bound is None or bound.node is not app or not bound.enabled:
            return False
        of_tour = bound.binding.action.startswith("tour_")
        return bound.binding.priority and not (self._key_in_progress and of_tour)

    def _queue_key(self, event: Typed) -> None:
        """Queue an event, ordered by the time it was typed."""
        waiting = list(self._waiting)
        insort(waiting, event, key=lambda other: other.time)
        self._waiting = tuple(waiting)

    def replace_key(self, key: str) -> None:
        """Handle another key in place of the current one."""
        meant = Key(key, None)
        if self._current_key is not None:
            meant.time = self._current_key.time
        self.planner.post_message(meant)

    async def _deliver_next_key(self) -> None:
        """Deliver the next key to the screen, unless one is in progress, its action is pending, or
        a dialog is not ready. While the app is closing there is no screen any more."""
        app = self.planner
        if not app.screen_stack:
            return
        key = self._key_due()
        if key is not None and not self._key_in_progress:
            self._waiting = tuple(each for each in self._waiting if each is not key)
            self._current_key, self._key_in_progress = key, True
            first, follower = app.focused or app.screen, KeyHandled(key, _ROUNDS)
            await App.on_event(app, key)
            first.post_message(follower)
        elif self._quitting and not self.keys_queued:
            self._quit_now()

    def _key_due(self) -> Typed | None:
        """The key whose turn it is: the first one; while an action is pending none, but the one
        that cancels a reading nobody asked for, for which that action waits."""
        app, due = self.planner, self._waiting
        if isinstance(app.screen, Dialog):
            due = due if app.screen.stands else ()
        elif app.pending:
            due = tuple(filter(self._cancels, due)) if app.reading_again else ()
        return due[0] if due else None

    def _cancels(self, typed: Typed) -> bool:
        """Whether it is the key that cancels a reading."""
        bound = self.planner.active_bindings.get(typed.key) if isinstance(typed, Key) else None
        return bound is not None and bound.binding.action == "close_notice"

    async def on_dialog_ready(self) -> None:
        """A dialog is ready: deliver what was typed early."""
        await self._deliver_next_key()

    async def on_key_handled(self, message: KeyHandled) -> None:
        """The key has been handled, or the first round of it."""
        app = self.planner
        stale = not self._key_in_progress or message.typed is not self._current_key
        if stale or not app.screen_stack:
            return
        rounds_left = message.rounds - 1
        if not rounds_left or not (app.focused or app.screen).post_message(
            KeyHandled(message.typed, rounds_left)
        ):
            self._key_in_progress = False
            await self._deliver_next_key()

    def pop_screen(self) -> AwaitComplete:
        """The marker of the key that closed a dialog would never arrive. The next key goes to
        the planner, or to a dialog that the answer opens (":limits" does): it is delivered after
        that."""
        popped = super().pop_screen()  # type: ignore[misc]
        self._key_in_progress = False
        self.planner.call_later(self.planner.call_later, self._deliver_next_key)
        return cast(AwaitComplete, popped)
