"""The actions of the tour: next, back, leave; the guide is imported when it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App
from textual.binding import Binding
from textual.driver import Driver
from textual.events import Event, Key
from textual.widgets import Input

from tui.behaviours.planner_mixin import PlannerMixin
from tui.widgets.slider import Slider

if TYPE_CHECKING:
    from tui.tour.guide import Guide, TourOptions

TOUR_BINDINGS = (
    Binding("space,pagedown", "tour_next", "Next step", show=False, priority=True),
    Binding("enter", "tour_enter", "Next step", show=False, priority=True),
    Binding("b,backspace,pageup", "tour_back", "Step before", show=False, priority=True),
    Binding("q,escape", "tour_leave", "Leave the tour", show=False, priority=True),
)
"""They take precedence over all other keys, but only while a tour is shown and no text is typed.
Enter goes to the next step until another key is pressed: then it is for the focused widget, as
outside the tour."""

_KEYS = frozenset(key for binding in TOUR_BINDINGS for key in binding.key.split(","))


class TourActions(PlannerMixin):
    """Mixin of `PlannerApp`."""

    guide: Guide | None = None
    tour_options: TourOptions | None = None

    def action_tour(self) -> None:
        """Start the tour on the bundled sample."""
        from tui.tour.guide import Guide, TourOptions

        app = self.planner
        if self.guide is None:
            self.guide = Guide(app, self.tour_options or TourOptions())
            self.guide.begin()

    def action_tour_next(self) -> None:
        """Go to the next step; after the last one the tour ends."""
        focused = self.planner.focused
        if isinstance(focused, Slider):
            focused.cancel_edit()
        if self.guide is not None:
            self.guide.turn(1)

    def action_tour_enter(self) -> None:
        self.action_tour_next()

    def action_tour_back(self) -> None:
        if self.guide is not None:
            self.guide.turn(-1)

    def action_tour_leave(self) -> None:
        """End the tour; the planner stays."""
        if self.guide is not None:
            self.guide.leave()

    def note_input(self, event: Event) -> None:
        """A key or a click that is not the tour's: from now on Enter is for the focused widget."""
        if self.guide is not None and not (isinstance(event, Key) and event.key in _KEYS):
            self.guide.followed = False

    def recording_driver(self) -> type[Driver] | None:
        """The driver of a tour that is recorded without a terminal."""
        if self.tour_options is None or self.tour_options.recorder is None:
            return None
        from tui.tour.record import driver_for

        return driver_for(self.tour_options.recorder)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The keys of the tour are inactive without a tour, and belong to the focused widget
        then."""
        app = self.planner
        if action == "tour_enter":
            guide = self.guide
            return guide is not None and guide.followed and guide.has_keys(app.focused)
        if action in ("tour_next", "tour_back", "tour_leave"):
            goes_on = action == "tour_next"
            return self.guide is not None and self.guide.has_keys(app.focused, goes_on=goes_on)
        if action == "vi":
            return app.vi and not isinstance(app.focused, Input)
        return App.check_action(app, action, parameters)
