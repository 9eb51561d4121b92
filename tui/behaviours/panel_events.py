"""Messages of the panels: a slider moved, a row was pointed at or chosen, a bar was clicked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import Select, SetModel
from tui.panels import NARROW_BELOW
from tui.views import inputs
from tui.views.bars import Bar
from tui.views.goal import GOAL_COLUMNS, GOALS, GoalPanel, why_unknown
from tui.views.pages import FRONTIER_LIST
from tui.widgets.slider import Slider
from tui.widgets.table import Table, text_of

if TYPE_CHECKING:
    from tui.answers import Answer
    from tui.views.prose import Line


class PanelEvents(PlannerMixin):
    """Mixin of `PlannerApp`."""

    _refusal: tuple[Line, ...] = ()
    """The notice about the last refused input."""

    def on_goal_panel_moved(self, message: GoalPanel.Moved) -> None:
        """A slider moved: the notice about a refused input no longer applies."""
        app = self.planner
        self.drop_refusal()
        app.dispatch(message.action)

    def action_slider(self, by: int) -> None:
        """Go to the slider above or below; beyond them to the control before or after them all."""
        app, names = self.planner, list(GOALS)
        slider = app.focused
        if not isinstance(slider, Slider) or slider.editing:
            return
        columns = GOAL_COLUMNS if app.size.width < NARROW_BELOW else 1
        index = names.index(str(slider.id)) + by * columns
        beyond = not 0 <= index < len(names)
        if beyond:
            index = 0 if by < 0 else -1
        app._panels.show_status([])
        app.screen.set_focus(app._panels.widget(names[index]))
        if beyond:
            (app.screen.focus_next if by > 0 else app.screen.focus_previous)()

    def on_goal_panel_typing(self, message: GoalPanel.Typing) -> None:
        """Typing into a slider began or ended; other keys are shown."""
        if not message.editing:
            self.drop_refusal()
        self.planner._panels.show_keys()

    @property
    def visible_refusal(self) -> tuple[Line, ...]:
        """The notice about the last refused input, where it is still visible."""
        return self._refusal if self.planner.current_notice == self._refusal else ()

    def drop_refusal(self) -> None:
        """Close the notice about a refused input, where it is still visible."""
        if self.visible_refusal:
            self.planner.set_notice(self.planner.sticky_notice)
        self._refusal = ()

    def on_goal_panel_refused(self, message: GoalPanel.Refused) -> None:
        self.show_refusal(message.text)

    def refuses_unknown(self, name: str) -> bool:
        """Whether a chart may not set a goal: it shows the last evidence, and of what is open now
        no such value is known. Says so, as the slider does."""
        unknown = name not in self.planner.ranges.known
        if unknown:
            self.show_refusal(why_unknown(name))
        return unknown

    def show_refusal(self, text: str) -> None:
        """Show why an input is refused, until one is accepted."""
        app = self.planner
        app.show_notice(text, "bad")
        self._refusal = app.current_notice

    def on_table_cursor_moved(self, event: Table.CursorMoved) -> None:
        """The cursor of a table went to another row."""
        app = self.planner
        app._panels.show_status([])
        if event.table.id in ("short", "full"):
            app.dispatch(Select(app._panels.instance_at(event.table.id, event.index)))
        elif event.table.id == FRONTIER_LIST and (answer := app._holding(event.index)):
            from tui.views import frontier

            app.dispatch(frontier.select_action(answer, event.index))
        elif event.table.id in ("models", "pins", "next-runs", "training-runs"):
            app._panels.show()
        else:
            app._panels.explain()

    def on_short_list_resized(self) -> None:
        """A list of compositions has another height: fill it again, below the charts, in its own
        view or on the frontier."""
        app = self.planner
        if app.answer is None:
            return
        from tui.views import compositions, curves, frontier

        if app.state.view == "frontier":
            frontier.show_rows(app._panels, app.answer)
        elif app.state.view == "curves":
            curves.show_short(app._panels, app.answer)
        elif app.state.view == "compositions":
            compositions.show_rows(app._panels, app.answer)

    async def on_table_row_chosen(self, event: Table.RowChosen) -> None:
        """Enter on a row: change that input, adopt that point, return to that pin, or use that
        model."""
        app, table, index = self.planner, event.table, event.index
        if index is not None and table.id == "inputs":
            await app.run_action(inputs.ROWS[index])
        elif index is not None and table.id == FRONTIER_LIST:
            app.follow(index)
        elif index is not None and table.id == "pins":
            app.return_to_pin(index)
        elif index is not None and table.id == "models":
            self._use_model(text_of(table.rows[index][1]))
        elif not event.clicked:
            app.say_unused("enter")

    def _use_model(self, name: str) -> None:
        """Use a model, or say that it is in use."""
        app = self.planner
        if name == app.state.model:
            app.show_notice(f"{name} is in use already", "base")
        else:
            app.dispatch(SetModel(name))

    def follow(self, index: int) -> None:
        """Set the sliders to the goal for which a point of the frontier is the answer."""
        from tui.views import frontier

        app = self.planner
        if self.refuses_unknown("deadline"):
            return
        if answer := app._holding(index):
            action = frontier.goal_action(answer, index)
            app.dispatch(action)
            app.show_notice(frontier.goal_notice(action), "good")

    def _holding(self, index: int) -> Answer | None:
        """The answer, if its frontier has that row: a row that was clicked may be gone."""
        app = self.planner
        answer = app.answer
        exists = answer is not None and index < len(answer.report.recommendation.frontier)
        return answer if exists else None

    async def on_bar_pressed(self, event: Bar.Pressed) -> None:
        """A key, a view or the source was clicked in a bar."""
        app = self.planner
        await app.run_action(event.action)
