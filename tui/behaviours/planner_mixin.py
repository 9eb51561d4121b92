"""The base class of the planner's mixins."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tui.app import PlannerApp


class PlannerMixin:
    """A mixin of `PlannerApp`."""

    @property
    def planner(self) -> PlannerApp:
        """`self`, typed as the whole app, with the members of its other mixins."""
        return cast("PlannerApp", self)
