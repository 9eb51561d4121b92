"""The actions that open a dialog over the planner; each is imported on its first use, as the first
paint needs none."""

from __future__ import annotations

from typing import Any

import engine
from tui.behaviours.part import PlannerPart
from tui.words import job_words


class DialogActions(PlannerPart):
    """A part of `PlannerApp`: keys, palette and typed commands run these by name."""

    def action_help(self) -> None:
        """What has the keyboard, then all keys and words."""
        from tui.screens.help import HelpScreen
        from tui.views import terms

        app = self.planner
        if len(app.screen_stack) == 1:
            section, here = terms.help_on(app.state, app.focused)
            app.push_screen(HelpScreen(glyphs=app.glyphs, section=section, here=here))

    def action_palette(self) -> None:
        """Every action by name."""
        self._dialog("palette")

    def action_command(self) -> None:
        """A typed command."""
        self._dialog("command_line")

    def type_command(self, begun: str) -> None:
        """A typed command that is begun already."""
        self._dialog("command_line", begun)

    def action_jump(self) -> None:
        """A letter beside every control; typing it goes there."""
        app = self.planner
        if len(app.screen_stack) > 1:
            return
        from tui.screens.jump import JumpScreen, Target, targets_of

        async def go(target: Target | None) -> None:
            if target is not None and target.widget is not None:
                target.widget.focus()
            elif target is not None:
                await app.run_action(target.action)

        app.push_screen(JumpScreen(targets_of(app.screen), glyphs=app.glyphs), go)

    def action_theme(self) -> None:
        """Choose a theme."""
        self._dialog("themes")

    def action_set_theme(self, name: str) -> None:
        """Use a theme."""
        self.planner.theme = name

    def action_open(self) -> None:
        """Open other evidence."""
        self._dialog("open_sources")

    def action_ran_on(self) -> None:
        """Name the type that was measured."""
        self._dialog("ran_on")

    def action_category(self) -> None:
        """Name the kind of job."""
        self._dialog("category")

    def action_catalog(self) -> None:
        """Choose the price catalog."""
        self._dialog("catalog")

    def action_instances(self) -> None:
        """Choose candidate types."""
        self._dialog("instances")

    def action_filter(self) -> None:
        """Filter the list that is looked at; where there is none, the candidate types."""
        from tui.views.key_line import list_at

        app = self.planner
        name = list_at(app.focused, app.state.view)
        if name in ("", "full"):
            self._dialog("listed" if name else "instances")
        else:
            self._dialog("narrowed", name)

    def action_limits(self) -> None:
        """Say what is owned and what may be rented."""
        self._dialog("limits")

    def action_job(self) -> None:
        """Type other parameters or iterations of the job; those that hold are offered."""
        app = self.planner
        if app.built is None:
            from tui.dialogs import no_plan

            app.show_notice(no_plan(app, "the evidence is"), "warn")
            return
        begun = job_words.command_of(app.built.plan.surface.workload)
        if not begun or app.built.workflow is not None:
            app.show_notice("the runs know no parameters of the job and no iterations", "warn")
        else:
            self.type_command(begun)

    def action_model(self) -> None:
        """Choose the model."""
        self._dialog("model")

    def action_export(self) -> None:
        """Text to paste."""
        from tui.behaviours import handing_over

        app = self.planner
        if len(app.screen_stack) == 1:
            handing_over.export(app)

    def action_copy(self) -> None:
        """Copy the answer."""
        from tui.behaviours import handing_over

        app = self.planner
        if len(app.screen_stack) == 1:
            handing_over.copy(app)

    async def run_line(self, line: str) -> None:
        """Do what a typed command asks for, or say what is wrong with it."""
        from tui import commands, dialogs

        app = self.planner
        try:
            outcome = commands.outcome_of(line, dialogs.names(app))
        except engine.EngineError as error:
            app.show_refusal(str(error))
            return
        app.drop_refusal()
        if isinstance(outcome, str):
            await app.run_action(outcome)
        else:
            app.dispatch(outcome)

    def _dialog(self, name: str, *arguments: str) -> Any:
        app = self.planner
        if len(app.screen_stack) > 1:
            return
        from tui import dialogs

        try:
            getattr(dialogs, name)(app, *arguments)
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")
