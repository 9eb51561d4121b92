"""What every screen over the planner is."""

from __future__ import annotations

from typing import TypeVar

from textual._styles_cache import StylesCache
from textual.screen import ModalScreen

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A screen that asks something, and answers once."""

    CSS_PATH = "dialogs.tcss"

    def close(self, answer: Answer | None = None) -> None:
        """Return the answer. Keys that were typed before this was drawn may ask for it twice."""
        if self.is_current:
            self.dismiss(answer)

    def on_unmount(self) -> None:
        """Let go of what was drawn: Textual remembers the last 1,024 widgets for their colours, and
        with each of them all its rows."""
        StylesCache.get_inner_outer.cache_clear()
