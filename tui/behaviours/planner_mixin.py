"""What the parts of the planner have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from tui.app import PlannerApp


class PlannerMixin:
    """A part of `PlannerApp`, which inherits from all of them."""

    @property
    def planner(self) -> PlannerApp:
        """The whole: the same object, with what its other parts know."""
        return cast("PlannerApp", self)
