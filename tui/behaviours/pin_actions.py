"""The actions of the Compare view: pin, unpin, return to a pinned plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import ShowView

if TYPE_CHECKING:
    from tui.pins import Pin


class PinActions(PlannerMixin):
    """Mixin of `PlannerApp`."""

    pins: tuple[Pin, ...] = ()

    def action_pin(self, name: str = "") -> None:
        """Pin the plan with its settled answer; without a name it gets a letter."""
        self.planner.when_settled(lambda: self._pin(name), then="it is pinned")

    def _pin(self, name: str) -> None:
        from tui import pins

        app = self.planner
        busy = app.busy and not app.holds_while_read_again
        if busy or app.answer is None:
            from tui.dialogs import no_plan

            unpinned = no_plan(app) if busy else "there is no plan to pin yet"
            app.show_notice(unpinned, "warn")
            return
        pin_name = name.strip() or pins.free_name(self.pins)
        replaces = any(pin.name == pin_name for pin in self.pins)
        if pin_name is None or (len(self.pins) >= pins.MAX_PINS and not replaces):
            app.show_notice("that many cannot be pinned; unpin one first", "warn")
            return
        if pin_name == pins.NOW:
            app.show_notice(f"{pins.NOW} is the plan on the screen; choose another name", "warn")
            return
        pin = pins.pin_of(pin_name, app.state, app.answer)
        if not name.strip() and (same := pins.same_plan(self.pins, pin)):
            app.show_notice(f"it is pinned already, as {same.name}", "base")
            return
        self.pins = pins.with_pin(self.pins, pin)
        app._panels.show()
        count = len(self.pins)
        app.show_notice(
            f"pinned as {pin_name}; {count} pinned: the Compare view shows them", "good"
        )

    def action_unpin(self, name: str = "") -> None:
        """Remove a pinned plan: the named one, all, or the one under the cursor."""
        from tui import pins

        app = self.planner
        at_cursor = self._under_cursor()
        pin_name = name.strip() or (at_cursor.name if at_cursor else "")
        if pin_name == "all":
            self.pins, notice = (), "nothing is pinned any more"
        elif any(pin.name == pin_name for pin in self.pins):
            self.pins = pins.without_pin(self.pins, pin_name)
            notice = f"{pin_name} is no longer pinned"
        else:
            known = ", ".join(pin.name for pin in self.pins) or "none"
            app.show_notice(f"name what to unpin (pinned: {known}), or all", "warn")
            return
        app._panels.show()
        app.show_notice(notice, "base")

    def return_to_pin(self, index: int) -> None:
        """Load the inputs of a pinned plan, and show its curves."""
        from tui.history import changed_inputs

        app = self.planner
        if index >= len(self.pins):
            app.show_notice("that is the plan on the screen: nothing changed", "base")
            return
        pin = self.pins[index]
        differs = changed_inputs(app.state, pin.state)
        app.adopt(pin.state)
        app.dispatch(ShowView("curves"))
        app._panels.focus_view("curves")
        # Undo covers inputs alone: if none differs, it would take back an earlier change.
        then = "u goes to where you were" if differs else "it is the plan on the screen already"
        app.show_notice(f"back at {pin.name}; {then}", "base")

    def _under_cursor(self) -> Pin | None:
        """The pinned plan under the cursor of the Compare view."""
        app = self.planner
        index = app._panels.pin_cursor
        if app.state.view != "compare" or index >= len(self.pins):
            return None
        return self.pins[index]
