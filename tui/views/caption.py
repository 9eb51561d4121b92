"""The caption of the tour: a strip at the foot of the screen that is part of the layout, so that it
hides nothing that it describes."""

from __future__ import annotations

from dataclasses import dataclass

from textual.app import ComposeResult
from textual.containers import Container

from tui.views.bars import Bar, Item, keys
from tui.views.prose import Prose
from tui.widgets.glyphs import Glyphs

KEYS = (("space", "next", "tour_next"), ("b", "back", "tour_back"), ("q", "leave", "tour_leave"))


@dataclass(frozen=True)
class CaptionContent:
    """The content of a caption.

    Args:
        step: number of the step, from 1; of `steps`.
        typed: the commands and keys of the step, shown so that they can be repeated.
    """

    title: str
    text: str
    step: int
    steps: int
    typed: tuple[str, ...] = ()
    last: bool = False


class Caption(Container):
    """Title, typed commands and keys in one line, of the keys only the first where commands have no
    room beside all; three lines of text below."""

    DEFAULT_CSS = """
    Caption {
        dock: bottom; height: 4; width: 1fr; layout: vertical; background: $background;
        & > Bar { background: $panel; }
        & > Prose { height: 3; padding: 0 1; }
    }
    """

    def __init__(self, content: CaptionContent, glyphs: Glyphs) -> None:
        super().__init__()
        self._bar = Bar(glyphs, firm=True)
        self._text = Prose(glyphs=glyphs)
        self._glyphs = glyphs
        self.update_content(content)

    def compose(self) -> ComposeResult:
        """One line of title and keys, and the text."""
        yield self._bar
        yield self._text

    def update_content(self, content: CaptionContent) -> None:
        """Show another content."""
        left = [
            Item(f" Tour {content.step}/{content.steps} ", "accent"),
            Item(f" {content.title} ", "strong"),
        ]
        left += [
            Item(f" {self._glyphs.focus} {typed} ", "good", whole=False) for typed in content.typed
        ]
        pairs = [
            (key, "end" if content.last and what == "next" else what, action)
            for key, what, action in KEYS
        ]
        self._bar.show(left, keys(pairs), keys(pairs[:1]))
        self._text.show([[(content.text, "base")]])
