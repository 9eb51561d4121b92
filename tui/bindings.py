"""Names for key bindings, so that the user's settings can give them other keys; and vi keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from textual.app import App
from textual.binding import Binding, BindingType
from textual.events import Event, Key

from tui.behaviours.part import PlannerPart
from tui.screens.dialog import Dialog
from tui.widgets.slider import Slider

if TYPE_CHECKING:
    pass

VI_BINDINGS = tuple(
    Binding(key, f"vi('{moves}')", f"As {moves}", show=False)
    for key, moves in (
        *(("h", "left"), ("j", "down"), ("k", "up"), ("l", "right")),
        *(("0", "home"), ("G", "end")),
    )
)


def with_ids(*bindings: Binding) -> list[BindingType]:
    """The bindings, each with an id made of its action: "view-curves", "ran-on"."""
    return [replace(binding, id=binding_id(binding.action)) for binding in bindings]


def binding_id(action: str) -> str:
    """What an action is called in the settings."""
    return "-".join(re.findall(r"\w+", action)).replace("_", "-")


class KeyActions(PlannerPart):
    """A part of `PlannerApp`."""

    vi: bool = False
    _keys: Mapping[str, str] = {}

    def key_shown(self, action: str, key: str) -> str:
        """The key of an action as the screen names it: that of the settings, else `key`."""
        given = self._keys.get(binding_id(action), "").partition(",")[0]
        return given.replace("ctrl+", "^") or key

    async def on_event(self, event: Event) -> None:
        """A key for a dialog that does not stand yet waits behind those that do already, also where
        its line has the focus: else it would overtake them."""
        app = self.planner
        waits = (
            isinstance(event, Key)
            and isinstance(app.screen, Dialog)
            and app.screen.holds_back(event)
        )
        if not waits:
            await App.on_event(app, event)

    def on_key(self, event: Key) -> None:
        """A key that nothing on the screen has handled: where one before it has opened a dialog
        that did not stand yet, or the line of a slider, it was meant for that."""
        app = self.planner
        if isinstance(app.focused, Slider):
            app.focused.on_key(event)
        elif isinstance(app.screen, Dialog) and app.screen.takes_early(event):
            event.prevent_default()

    def action_vi(self, moves: str) -> None:
        """As if the arrow key were pressed."""
        self.planner.simulate_key(moves)
