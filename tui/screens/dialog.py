"""What every screen over the planner is."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual._styles_cache import StylesCache
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

Answer = TypeVar("Answer")


class TypedLine(Input):
    """The line of a dialog to type in: flat, its cursor steady; what it holds is not selected."""

    def __init__(self, value: str = "", *, placeholder: str, id: str) -> None:
        super().__init__(value, placeholder=placeholder, compact=True, select_on_focus=False, id=id)
        self.cursor_blink = False


class Dialog(ModalScreen[Answer]):
    """A screen that asks something, and answers once.

    Escape is a binding with priority in every dialog: it leaves, whatever has the keyboard. So does
    a click beside the dialog.
    """

    CSS_PATH = "dialogs.tcss"

    class Ready(Message):
        """The widgets of a dialog stand, and one of them has the keyboard."""

    def __init__(self) -> None:
        super().__init__()
        self.stands = False

    def on_screen_resume(self) -> None:
        """Tell once all is drawn: keys that were typed before are for what stands then."""
        self.call_after_refresh(self._stand)

    def _stand(self) -> None:
        self.stands = True
        self.post_message(self.Ready())

    def on_click(self, event: events.Click) -> None:
        """Leave, where the click was on none of its widgets and all of them were seen. The event
        has bubbled up to here and no longer tells what was clicked."""
        clicked, _ = self.get_widget_at(event.screen_x, event.screen_y)
        if clicked is self and self.stands:
            event.stop()
            self.close()

    def close(self, answer: Answer | None = None) -> None:
        """Return the answer. Keys that were typed before this was drawn may ask for it twice."""
        if self.is_current:
            self.dismiss(answer)

    def action_leave(self) -> None:
        self.close()

    def on_unmount(self) -> None:
        """Let go of what was drawn: Textual remembers the last 1,024 widgets for their colours, and
        with each of them all its rows."""
        StylesCache.get_inner_outer.cache_clear()
