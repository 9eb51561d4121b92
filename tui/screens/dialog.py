"""What every screen over the planner is."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual._styles_cache import StylesCache
from textual.screen import ModalScreen

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A screen that asks something, and answers once.

    On a slow line several keys come at once: ":deadline 45m" and Enter are there before the line
    to type it in. Those are kept until the screen stands, and then typed; what follows an Escape
    is meant for what lies below. Escape is a binding with priority in every dialog, so that it is
    handled before the app hands out the key behind it.
    """

    CSS_PATH = "dialogs.tcss"

    def __init__(self) -> None:
        super().__init__()
        self._early: list[events.Key] = []
        self._stood_at: float | None = None

    def on_screen_resume(self) -> None:
        """Type what was typed early, once the widgets stand and one of them has the focus."""
        self.call_after_refresh(self._stand)

    def _stand(self) -> None:
        if self._stood_at is None:
            self._stood_at = events.Event().time
            early, self._early = self._early, []
            for place, key in enumerate(early):
                self._type(key)
                if key.key == "escape":
                    for later in early[place + 1 :]:
                        self.app.post_message(events.Key(later.key, later.character))
                    return

    def holds_back(self, event: events.Key) -> bool:
        """Whether a key waits until this screen stands since others do, or have yet to be typed:
        not those that act at once wherever one is, such as Escape."""
        if self._stood_at is not None or event.is_forwarded or self.focused is None:
            return False
        bound = self.active_bindings.get(event.key)
        return not (bound and bound.binding.priority) and self.takes_early(event)

    def takes_early(self, event: events.Key) -> bool:
        """Whether a key that nothing here has handled was typed before this screen stood: it is
        typed then. Of keys behind an Enter nobody knows what they would meet: they are let go."""
        if self._stood_at is not None:
            if event.time > self._stood_at:
                return False
            self._type(event)
        elif not any(key.key == "enter" for key in self._early):
            self._early.append(event)
        return True

    def _type(self, key: events.Key) -> None:
        if key.key == "escape":
            self.close()
            return
        again = events.Key(key.key, key.character).set_sender(self.app)
        (self.focused or self)._forward_event(again)

    def close(self, answer: Answer | None = None) -> None:
        """Return the answer. Keys that were typed before this was drawn may ask for it twice."""
        if self.is_current:
            self.dismiss(answer)

    def on_unmount(self) -> None:
        """Let go of what was drawn: Textual remembers the last 1,024 widgets for their colours, and
        with each of them all its rows."""
        StylesCache.get_inner_outer.cache_clear()
