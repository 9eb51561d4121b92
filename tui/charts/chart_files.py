"""Saves the planner's charts as files: pictures (SVG) or numbers (CSV)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import engine
from tui.charts import chart_csv
from tui.charts.chart_svg import Panel, format_svg
from tui.screens.export import safe_name
from tui.storage.read_files import require_none_of
from tui.storage.user_folders import current_folder, expand_home, path_exists
from tui.views import cluster_words, curves, frontier, sentences
from tui.views.chart_axes import TITLES

if TYPE_CHECKING:
    from tui.app import PlannerApp

ENDINGS = (".svg", ".csv")


def suggested_name(app: PlannerApp) -> str:
    """A file name for the charts of the view; a picture, as numbers end in .csv."""
    view = "frontier" if app.state.view == "frontier" else "curves"
    name = app.built.profile.name if app.built else ""
    return f"{safe_name(name, ascii_only=app.glyphs.ascii_only)}-{view}.svg"


def save(app: PlannerApp, name: str, *, allowed: str) -> str:
    """Write a file; an existing one is replaced only when asked twice, and none that the plan
    reads.

    Args:
        allowed: the path that was refused the last time.

    Returns:
        the file that was refused now, empty when none was.
    """
    path = expand_home(name)
    try:
        if path.suffix.lower() not in ENDINGS:
            raise engine.BadInput(
                f"{name!r} is neither a picture nor a table", remedy="end it in .svg or .csv"
            )
        require_none_of(path, app.files_read())
        if path_exists(path) and str(path) != allowed:
            app.show_notice(f"{path} exists; the same command again replaces it", "warn")
            return str(path)
        engine.write_text(path, content(app, path.suffix.lower()))
    except engine.EngineError as error:
        app.show_notice(str(error), "bad")
    else:
        app.show_notice(f"saved as {current_folder() / path}", "good")
    return ""


def content(app: PlannerApp, ending: str) -> str:
    """The text of the file for the current view; that of the curves where the view has no chart.

    Raises:
        BadInput: while there is no plan.
    """
    state, answer = app.state, app.answer
    if answer is None or answer.report.curve is None:
        raise engine.BadInput("there is no curve to save yet", remedy="open a log first (o)")
    points = answer.report.recommendation.frontier[:]
    on_demand = cluster_words.on_demand_title(answer)
    if state.view == "frontier":
        if ending == ".csv":
            meets = [frontier.meets(answer, choice) for choice in points]
            return chart_csv.of_choices(points, meets, confidence=state.confidence)
        data = frontier.chart(state, answer, points, frontier.cursor(state, answer, points))
        panels = [Panel(TITLES["frontier-chart"] + on_demand, data)]
    else:
        drawn = curves.drawn_curves(state, answer, [pin.instance for pin in app.pins])
        if ending == ".csv":
            return chart_csv.of_curves([curve for _, curve in drawn], confidence=state.confidence)
        charts = {
            "time": curves.time_chart(state, answer, drawn),
            "cost": curves.cost_chart(state, answer, drawn),
        }
        suffix = partial(curves.band_title, state, drawn, band="shaded")
        panels = [
            Panel(f"{TITLES[name]}{on_demand}{suffix(name)}", data) for name, data in charts.items()
        ]
    subtitle = sentences.headline_text(answer, app.marks)
    return format_svg(panels, title=answer.built.profile.name, subtitle=subtitle)
