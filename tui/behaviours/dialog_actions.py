"""The actions that open a dialog over the planner. Each dialog is imported on first use: the first
paint needs none."""

from __future__ import annotations

from collections.abc import Callable

import engine
from tui.behaviours.planner_mixin import PlannerMixin
from tui.input_text import job_text


def _opens(dialog: str) -> Callable[[DialogActions], None]:
    """An action that opens a dialog, given the name of its function in `tui.dialogs`."""
    return lambda self: self._dialog(dialog)


class DialogActions(PlannerMixin):
    """Mixin of `PlannerApp`: actions that keys, palette and typed commands run by name."""

    action_palette = _opens("palette")
    action_command = _opens("command_line")
    action_theme = _opens("themes")
    action_open = _opens("open_sources")
    action_ran_on = _opens("ran_on")
    action_category = _opens("category")
    action_catalog = _opens("catalog")
    action_instances = _opens("instances")
    action_limits = _opens("limits")
    action_model = _opens("model")

    def action_help(self) -> None:
        """Open the help: first on what has the focus, then all keys and words."""
        from tui.screens.help import HelpScreen
        from tui.views import terms

        app = self.planner
        if len(app.screen_stack) == 1:
            section, here = terms.help_on(app.state, app.focused)
            app.push_screen(HelpScreen(glyphs=app.glyphs, section=section, here=here))

    def type_command(self, begun: str) -> None:
        """Open the command line with text in it."""
        self._dialog("command_line", begun)

    def action_jump(self) -> None:
        """Show a letter beside every control; typing it goes there."""
        app = self.planner
        if len(app.screen_stack) > 1:
            return
        from tui.screens.jump import JumpScreen, Target, targets_of

        async def go(target: Target | None) -> None:
            if target is not None and target.widget is not None:
                app._panels.show_status([])
                target.widget.focus()
            elif target is not None:
                await app.run_action(target.action)

        targets, seen = targets_of(app.screen), app.screen.outer_size
        app.push_screen(JumpScreen(targets, seen=seen, glyphs=app.glyphs), go)

    def action_set_theme(self, name: str) -> None:
        self.planner.theme = name

    def action_filter(self) -> None:
        """Filter the list in view; where there is none, choose the candidate types."""
        from tui.views.key_line import list_at

        app = self.planner
        name = list_at(app.focused, app.state.view)
        if name in ("", "full"):
            self._dialog("filter_compositions" if name else "instances")
        else:
            self._dialog("filter_list", name)

    def action_job(self) -> None:
        """Open the command line with the current parameters or iterations of the job, to be
        edited."""
        app = self.planner
        if app.built is None:
            from tui.dialogs import no_plan

            app.show_notice(no_plan(app), "warn")
            return
        begun = job_text.command_of(app.built.plan.surface.workload)
        if not begun or app.built.workflow is not None:
            app.show_notice("the runs know no parameters of the job and no iterations", "warn")
        else:
            self.type_command(begun)

    def action_export(self) -> None:
        from tui.behaviours import export_and_copy

        app = self.planner
        if len(app.screen_stack) == 1:
            export_and_copy.export(app)

    def action_copy(self) -> None:
        from tui.behaviours import export_and_copy

        app = self.planner
        if len(app.screen_stack) == 1:
            export_and_copy.copy(app)

    async def run_command_line(self, line: str) -> None:
        """Run a typed command, or show why it is refused."""
        from tui import command_parser, dialogs

        app = self.planner
        try:
            outcome = command_parser.outcome_of(line, dialogs.names(app))
        except engine.EngineError as error:
            app.show_refusal(str(error))
            return
        app.drop_refusal()
        if isinstance(outcome, str):
            await app.run_action(outcome)
        else:
            app.dispatch(outcome)

    def _dialog(self, name: str, *arguments: str) -> None:
        app = self.planner
        if len(app.screen_stack) > 1:
            return
        from tui import dialogs

        try:
            getattr(dialogs, name)(app, *arguments)
        except engine.EngineError as error:
            app.show_notice(str(error), "bad")
