"""The actions of the Experiments view: the budget for training runs, their design, export."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.behaviours.planner_mixin import PlannerMixin
from tui.changes import SetTrainingBudget, SetTrainingPlan, ShowView
from tui.messages import ExperimentsReady
from tui.state import TRAINING_PLANS

if TYPE_CHECKING:
    from engine import Experiment, Layout
    from tui.answers import Answer
    from tui.experiments_advisor import ExperimentsAdvisor, ExperimentsReport


class ExperimentActions(PlannerMixin):
    """Mixin of `PlannerApp`."""

    _advising: ExperimentsAdvisor | None = None

    @property
    def advising(self) -> ExperimentsAdvisor:
        """Computes the experiments; created when they are first shown."""
        if self._advising is None:
            from tui.experiments_advisor import ExperimentsAdvisor

            app = self.planner
            self._advising = ExperimentsAdvisor(app._session, app.post_message)
        return self._advising

    def advised(self, answer: Answer) -> tuple[ExperimentsReport | None, bool]:
        """The report on experiments (None until it is computed), and whether it is about to
        change."""
        report = self.advising.report_for(self.planner.state, answer)
        return report, self.advising.waiting

    @property
    def experiments_pending(self) -> bool:
        """Whether the experiments in view are about to change."""
        selected_runs = self.planner.state.view == "experiments"
        return selected_runs and self._advising is not None and self._advising.waiting

    def on_experiments_ready(self, message: ExperimentsReady) -> None:
        """Show the report that was computed."""
        app = self.planner
        if self.advising.accept(message) and app.state.view == "experiments":
            app._panels.show()

    def action_training(self, by: int) -> None:
        """Step the budget for training runs up (1) or down (-1)."""
        from tui.input_text.training_text import next_round_amount

        app = self.planner
        if app.state.training.plan != TRAINING_PLANS[0]:
            app.show_notice("this plan has no budget; r goes on to the next one", "warn")
            return
        amount, unit = app.state.training.amount, app.state.training.unit
        if amount is None and app.answer is not None:
            report, _ = self.advised(app.answer)
            amount, unit = (report.amount, report.unit) if report else (None, unit)
        if amount is None:
            app.show_notice("type a budget for training runs, such as :training $5", "warn")
            return
        app.dispatch(SetTrainingBudget(next_round_amount(amount, unit, by), unit))

    def action_training_plan(self) -> None:
        """Choose the training runs by the next design; in another view, show the experiments
        first."""
        app = self.planner
        if app.state.view != "experiments":
            app.dispatch(ShowView("experiments"))
            return
        next_index = TRAINING_PLANS.index(app.state.training.plan) + 1
        app.dispatch(SetTrainingPlan(TRAINING_PLANS[next_index % len(TRAINING_PLANS)]))

    def collect_command(self) -> str:
        """The `sparkplan collect` command for the selected runs; "" where there are none."""
        from tui.training_exports import collect_line

        runs, layout = self._selected_runs()
        return collect_line(runs, layout) if runs else ""

    def export_runs(self) -> None:
        """Open the export of the selected runs, with a preview."""
        from tui.screens.export import ExportScreen, Target
        from tui.training_exports import TARGETS, render

        app = self.planner
        runs, layout = self._selected_runs()
        if not runs:
            app.show_notice("there are no runs to export yet", "warn")
            return
        app.push_screen(
            ExportScreen(
                [Target(*target) for target in TARGETS],
                lambda target: render(target, runs, layout),
                application="training",
                what="training runs",
                read=app.files_read,
                glyphs=app.glyphs,
            )
        )

    def _selected_runs(self) -> tuple[list[Experiment], Layout | None]:
        """The runs that the view's cursor selects, and the layout of executors on their nodes."""
        from tui.views import experiments

        app = self.planner
        if app.answer is None:
            return [], None
        report, _ = self.advised(app.answer)
        runs = experiments.selected_runs(app._panels, report)
        return runs, experiments.layout_of(app.answer, runs)
