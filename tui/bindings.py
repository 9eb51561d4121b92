"""Ids of key bindings, by which the user's settings can change their keys; and vi keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from textual.binding import Binding, BindingType

from tui.action_list import textual_keys
from tui.behaviours.planner_mixin import PlannerMixin

VI_BINDINGS = tuple(
    Binding(key, f"vi('{moves}')", f"As {moves}", show=False)
    for key, moves in (
        *(("h", "left"), ("j", "down"), ("k", "up"), ("l", "right")),
        *(("0", "home"), ("G", "end")),
    )
)


def with_ids(*bindings: Binding) -> list[BindingType]:
    """The bindings, each with an id made from its action: "view-curves", "ran-on"."""
    return [replace(binding, id=binding_id(binding.action)) for binding in bindings]


def binding_id(action: str) -> str:
    """The name of an action in the settings."""
    return "-".join(re.findall(r"\w+", action)).replace("_", "-")


class KeyActions(PlannerMixin):
    """Mixin of `PlannerApp`."""

    vi: bool = False
    _keys: Mapping[str, str] = {}

    def key_shown(self, action: str, key: str) -> str:
        """The key of an action as the screen shows it: that of the settings, else `key`, or the
        next of its keys that the settings give to no other action; empty where none is left."""
        given = self._keys.get(binding_id(action), "").partition(",")[0]
        taken = {other for keys in self._keys.values() for other in keys.split(",")}
        usual = textual_keys(key).split(",")
        if not given and action and usual[0] in taken:
            given = next((other for other in usual if other not in taken), "")
            return given.replace("ctrl+", "^")
        return given.replace("ctrl+", "^") or key

    def action_vi(self, moves: str) -> None:
        """Act as if the arrow key were pressed, before keys typed behind this one."""
        self.planner.replace_key(moves)
