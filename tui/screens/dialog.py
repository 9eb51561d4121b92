"""The base class of every screen over the planner."""

from __future__ import annotations

from typing import TypeVar

from textual import events
from textual._styles_cache import StylesCache
from textual.message import Message
from textual.screen import ModalScreen
from textual.widgets import Input

from tui.widgets.glyphs import Glyphs

Answer = TypeVar("Answer")


class TypedLine(Input):
    """The input line of a dialog: flat, with a steady cursor; its text is not selected."""

    def __init__(self, value: str = "", *, placeholder: str, id: str) -> None:
        super().__init__(value, placeholder=placeholder, compact=True, select_on_focus=False, id=id)
        self.cursor_blink = False


class Dialog(ModalScreen[Answer]):
    """A screen that asks something, and answers once.

    Escape is a binding with priority in every dialog: it leaves, whatever has the focus. So does a
    click beside the dialog.
    """

    CSS_PATH = "dialogs.tcss"

    class Ready(Message):
        """The dialog is drawn, and one of its widgets has the focus."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self.stands = False

    def on_mount(self) -> None:
        self.set_class(self._glyphs.ascii_only, "-ascii")

    def on_screen_resume(self) -> None:
        """Report ready once all is drawn: keys typed before are delivered then."""
        self.call_after_refresh(self._stand)

    def _stand(self) -> None:
        self.stands = True
        self.post_message(self.Ready())

    def on_click(self, event: events.Click) -> None:
        """Leave if the click was beside its widgets, and all of them were visible. The event has
        bubbled up to here and no longer says what was clicked."""
        clicked, _ = self.get_widget_at(event.screen_x, event.screen_y)
        if clicked is self and self.stands:
            event.stop()
            self.close()

    def close(self, answer: Answer | None = None) -> None:
        """Return the answer, once: keys typed before the dialog was drawn may ask for it twice."""
        if self.is_current:
            self.dismiss(answer)

    def action_leave(self) -> None:
        self.close()

    def on_unmount(self) -> None:
        """Free what was drawn: Textual caches the styles of the last 1,024 widgets, and with each
        of them all its rows."""
        StylesCache.get_inner_outer.cache_clear()
