"""Export and copy of the answer. Both wait until the answer is settled."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.views import sentences

if TYPE_CHECKING:
    from engine import Choice
    from tui.app import PlannerApp


def export(app: PlannerApp) -> None:
    """Export the recommendation (or the feasible type under the cursor), once it is settled."""
    if app.state.view == "experiments":
        app.export_runs()
    else:
        app.when_settled(lambda: _export_answer(app), then="the export opens")


def _export_answer(app: PlannerApp) -> None:
    from tui.screens.export import ExportScreen, Target

    if len(app.screen_stack) > 1:
        return  # a click has opened another dialog meanwhile
    answer = app.answer
    if answer is None:
        _say_there_is_none(app)
        return
    choice = chosen(app)
    if choice is None:
        app.show_notice("there is no recommendation to export; loosen the goal", "warn")
        return
    recommendation, plan = answer.report.recommendation, answer.built.plan
    spot = answer.report.billing.spot
    app.push_screen(
        ExportScreen(
            [Target(target.name, target.summary, target.suffix) for target in engine.EXPORTS],
            lambda target: plan.export(recommendation, to=target, choice=choice, spot=spot),
            application=answer.built.profile.name,
            what=text.composition(dict(choice.composition)) or choice.note,
            read=app.files_read,
            glyphs=app.glyphs,
        )
    )


def _say_there_is_none(app: PlannerApp) -> None:
    from tui.dialogs import no_plan

    app.show_notice(no_plan(app), "warn")


def chosen(app: PlannerApp) -> Choice | None:
    """The composition under the cursor where it meets the goal, else the recommended one."""
    if app.answer is None:
        return None
    recommendation = app.answer.report.recommendation
    if app.state.selected is not None:
        for choice in recommendation.alternatives:
            if choice.instance == app.state.selected:
                return choice
    return recommendation.recommended


def copy(app: PlannerApp) -> None:
    """Copy the answer as a sentence, or the command that makes the training runs, to the terminal's
    clipboard."""
    app.when_settled(lambda: _copy_answer(app), then="it is copied")


def _copy_answer(app: PlannerApp) -> None:
    if app.answer is None:
        _say_there_is_none(app)
        return
    if app.state.view == "experiments":
        sentence, what = app.collect_command(), "the command"
        if not sentence:
            app.show_notice("there are no runs to copy yet", "warn")
            return
    else:
        sentence, what = sentences.headline_text(app.answer, app.marks), "the answer"
    app.copy_to_clipboard(text.escaped(sentence))
    app.show_notice(
        f"{what} was sent to the terminal's clipboard (where ignored: e, to a file)", "good"
    )
