"""The actions of the Experiments view: the budget for training runs, and the answers that come."""

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
    """A part of `PlannerApp`."""

    _advising: ExperimentsAdvisor | None = None

    @property
    def advising(self) -> ExperimentsAdvisor:
        """What works the experiments out; made when they are first looked at."""
        if self._advising is None:
            from tui.experiments_advisor import ExperimentsAdvisor

            app = self.planner
            self._advising = ExperimentsAdvisor(app._session, app.post_message)
        return self._advising

    def advised(self, answer: Answer) -> tuple[ExperimentsReport | None, bool]:
        """What could be run, and whether that is about to change."""
        found = self.advising.of(self.planner.state, answer)
        return found, self.advising.waiting

    @property
    def experiments_pending(self) -> bool:
        """Whether the experiments that are looked at are about to change."""
        looked_at = self.planner.state.view == "experiments"
        return looked_at and self._advising is not None and self._advising.waiting

    def on_experiments_ready(self, message: ExperimentsReady) -> None:
        """The experiments have been worked out."""
        app = self.planner
        if self.advising.take(message) and app.state.view == "experiments":
            app._panels.show()

    def action_training(self, by: int) -> None:
        """Step the budget for training runs."""
        from tui.input_text.training_text import stepped

        app = self.planner
        if app.state.training.plan != TRAINING_PLANS[0]:
            app.show_notice("this plan has no budget; r goes on to the next one", "warn")
            return
        amount, unit = app.state.training.amount, app.state.training.unit
        if amount is None and app.answer is not None:
            found, _ = self.advised(app.answer)
            amount, unit = (found.amount, found.unit) if found else (None, unit)
        if amount is None:
            app.show_notice("type a budget for training runs, such as :training $5", "warn")
            return
        app.dispatch(SetTrainingBudget(stepped(amount, unit, by), unit))

    def action_training_plan(self) -> None:
        """Choose the training runs by the next rule; from elsewhere, look at them first."""
        app = self.planner
        if app.state.view != "experiments":
            app.dispatch(ShowView("experiments"))
            return
        place = TRAINING_PLANS.index(app.state.training.plan) + 1
        app.dispatch(SetTrainingPlan(TRAINING_PLANS[place % len(TRAINING_PLANS)]))

    def collect_command(self) -> str:
        """The line that makes the runs which the view points at; "" where there are none."""
        from tui.training_exports import collect_line

        runs, layout = self._selected_runs()
        return collect_line(runs, layout) if runs else ""

    def export_runs(self) -> None:
        """These runs as text to paste, with preview."""
        from tui.screens.export import ExportScreen, Target
        from tui.training_exports import TARGETS, rendered

        app = self.planner
        runs, layout = self._selected_runs()
        if not runs:
            app.show_notice("there are no runs to export yet", "warn")
            return
        app.push_screen(
            ExportScreen(
                [Target(*target) for target in TARGETS],
                lambda target: rendered(target, runs, layout),
                application="training",
                what="training runs",
                glyphs=app.glyphs,
            )
        )

    def _selected_runs(self) -> tuple[list[Experiment], Layout | None]:
        """The runs that the view points at, and how executors sit on their nodes."""
        from tui.views import experiments

        app = self.planner
        if app.answer is None:
            return [], None
        found, _ = self.advised(app.answer)
        runs = experiments.looked_at(app._panels, found)
        return runs, experiments.layout_of(app.answer, runs)
