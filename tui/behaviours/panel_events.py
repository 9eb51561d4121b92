"""What the panels tell the planner: a slider that moved, a row that was pointed at or chosen, a
click on a bar."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import Select
from tui.views import inputs
from tui.views.bars import Bar
from tui.views.goal import GoalPanel
from tui.views.pages import FRONTIER_LIST
from tui.widgets.table import Table

if TYPE_CHECKING:
    from tui.answers import Answer
    from tui.views.prose import Line


class PanelEvents(PlannerMixin):
    """A part of `PlannerApp`."""

    _refusal: tuple[Line, ...] = ()
    """The notice about the last input that was not taken."""

    def on_goal_panel_moved(self, message: GoalPanel.Moved) -> None:
        """A slider moved: what was refused before is no longer what the screen shows."""
        app = self.planner
        self.drop_refusal()
        app.dispatch(message.action)

    def on_goal_panel_typing(self, message: GoalPanel.Typing) -> None:
        """Typing began, which takes other keys; or it was given up, or left the value as it was."""
        if not message.editing:
            self.drop_refusal()
        self.planner._panels.show_keys()

    def drop_refusal(self) -> None:
        """Take the notice about a refused input away, where that is still the one that is seen."""
        app = self.planner
        if self._refusal and app.current_notice == self._refusal:
            app.set_notice(app.sticky_notice)
        self._refusal = ()

    def on_goal_panel_refused(self, message: GoalPanel.Refused) -> None:
        self.show_refusal(message.text)

    def show_refusal(self, words: str) -> None:
        """Say why an input is not taken, until one is."""
        app = self.planner
        app.show_notice(words, "bad")
        self._refusal = app.current_notice

    def on_table_cursor_moved(self, event: Table.CursorMoved) -> None:
        """The cursor of a table went to another row, of which other words are said."""
        app = self.planner
        app._panels.show_status([])
        if event.table.id in ("short", "full"):
            app.dispatch(Select(app._panels.type_at(event.table.id, event.index)))
        elif event.table.id == FRONTIER_LIST and (answer := app._holding(event.index)):
            from tui.views import frontier

            app.dispatch(frontier.selection(answer, event.index))
        elif event.table.id in ("models", "pins", "next-runs", "training-runs"):
            app._panels.show()
        else:
            app._panels.explain()

    def on_short_list_resized(self) -> None:
        """The compositions that there is room for now: below the charts, in their own view or on
        the frontier."""
        app = self.planner
        if app.answer is None:
            return
        from tui.views import compositions, curves, frontier

        if app.state.view == "frontier":
            frontier.show_rows(app._panels, app.answer)
        elif app.state.view == "curves":
            curves.show_short(app._panels, app.answer)
        elif app.state.view == "compositions":
            compositions.show_rows(app._panels, "full", app.answer, compositions.FULL_LIST)

    async def on_table_row_chosen(self, event: Table.RowChosen) -> None:
        """Enter: change the input of the row."""
        app = self.planner
        if event.table.id == "inputs":
            await app.run_action(inputs.ROWS[event.index])
        elif event.table.id == FRONTIER_LIST:
            app.follow(event.index)
        elif event.table.id == "pins":
            app.return_to_pin(event.index)

    def follow(self, place: int) -> None:
        """The sliders to where a point of the frontier is the answer."""
        from tui.views import frontier

        app = self.planner
        if answer := app._holding(place):
            follow = frontier.followed(answer, place)
            app.dispatch(follow)
            app.show_notice(frontier.said(follow), "good")

    def _holding(self, place: int) -> Answer | None:
        """The answer where its frontier has that row: one that was pressed on may be gone."""
        app = self.planner
        answer = app.answer
        found = answer is not None and place < len(answer.report.recommendation.frontier)
        return answer if found else None

    async def on_bar_pressed(self, event: Bar.Pressed) -> None:
        """A click on a key, a view or the source."""
        app = self.planner
        await app.run_action(event.action)
