"""Jump mode: a letter beside every control and clickable span; typing it goes there. The planner
stays visible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, NamedTuple

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.screen import Screen
from textual.widget import Widget

from tui.screens.dialog import Dialog
from tui.screens.picker import LEAVE
from tui.views.bars import Bar, Item, keys
from tui.widgets.frame import Frame, FrameWidget
from tui.widgets.glyphs import Glyphs
from tui.widgets.slider import Slider

LETTERS = "asdfghjklqwertyuiopzxcvbnmASDFGHJKLQWERTYUIOPZXCVBNM"
"""The home row first, for what comes first on the screen."""

BARS = ("#tabs", "#header", "#types")
"""Bars whose spans are targets; the one at the foot names keys already."""


class Target(NamedTuple):
    """A jump target: a widget to focus, or an action of the app."""

    x: int
    y: int
    widget: Widget | None = None
    action: str = ""


def targets_of(screen: Screen[object]) -> list[Target]:
    """All visible targets: the sliders, which have the same letters in every view, other controls
    in reading order, then spans of bars."""
    seen = screen.region
    controls = [
        Target(max(0, widget.region.x - 1), widget.region.y, widget=widget)
        for widget in screen.focus_chain
        if widget.region.overlaps(seen)
    ]
    spans = [
        Target(bar.region.x + start, bar.region.y, action=action)
        for name in BARS
        for bar in screen.query(name).results(Bar)
        if bar.display and bar.region.overlaps(seen)
        for start, _, action in bar.places
    ]
    # A label and its value have the same action: one letter, beside the first of them.
    actions = list({span.action: span for span in reversed(spans)}.values())[::-1]
    controls.sort(key=lambda t: (not isinstance(t.widget, Slider), t.y, t.x))
    return [*controls, *actions][: len(LETTERS)]


class Letter(FrameWidget):
    """One letter over one cell."""

    BASE_STYLE = "key"
    STYLES: ClassVar[Mapping[str, str]] = {"key": "reverse bold $text-accent"}
    DEFAULT_CSS = """
    Letter { position: absolute; width: 1; height: 1; }
    """

    def __init__(self, letter: str, target: Target) -> None:
        super().__init__()
        self.letter = letter
        self.styles.offset = (target.x, target.y)

    def draw(self, frame: Frame) -> None:
        """The letter, in reverse video: visible without colours too."""
        frame.put(0, 0, self.letter, "key")


class JumpScreen(Dialog[Target]):
    """Returns the chosen target; any key that is no letter leaves, and so does a click."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Leave", show=False, priority=True)
    ]

    def __init__(self, targets: Sequence[Target], *, seen: Size, glyphs: Glyphs) -> None:
        """`seen` is the size of the screen on which the targets have their places."""
        super().__init__(glyphs)
        self._targets = dict(zip(LETTERS, targets, strict=False))
        self._seen = seen

    def compose(self) -> ComposeResult:
        """The letters, and what they are for."""
        for letter, target in self._targets.items():
            yield Letter(letter, target)
        yield Bar(self._glyphs, firm=True)

    def on_mount(self) -> None:
        """Show the help line at the foot, in place of the planner's keys."""
        help_items = [
            Item(" Jump ", "accent"),
            Item(" type the letter of a control or a tab", "base"),
        ]
        self.query_one(Bar).show(help_items, keys(LEAVE))

    def on_key(self, event: events.Key) -> None:
        """Go to the target of the letter."""
        event.stop()
        event.prevent_default()
        self.close(self._targets.get(event.character or ""))

    def on_click(self, event: events.Click) -> None:
        event.stop()
        self.close()

    def on_resize(self, event: events.Resize) -> None:
        """Close: the controls have moved away from their letters."""
        if event.size != self._seen:
            self.close()
