"""The views while there is no plan: that it is being computed, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import format as text
from tui.state import View
from tui.views import curves, sentences
from tui.views.pages import page
from tui.widgets.chart import Chart
from tui.widgets.chart_data import ChartData
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine import Profile
    from tui.panels import Panels
    from tui.views.prose import Line


def show(
    panels: Panels, view: View, *, busy: bool, refused: bool, read: Profile | None = None
) -> None:
    """Show it beside the view, and in the view's own widgets.

    Args:
        read: the evidence, once it is read and its plan is being built.
    """
    lines, chart = why_none(refused=refused), curves.NOTHING
    if busy:
        lines, chart = sentences.WAITING, curves.READING
    if busy and read is not None:
        lines, chart = while_built(read), curves.BUILDING
    panels.prose("why").show(lines)
    for name in page(view).blank:
        show_message(panels, name, lines, chart)


def while_built(read: Profile) -> Sequence[Line]:
    """What was read, and what can be done while its times are being predicted."""
    took = [run.seconds for run in read.runs]
    runs = f"{read.name}, {text.counted(len(took), 'run')} of {text.span(min(took), max(took))}"
    if len(took) == 1:
        runs = f"{read.name}, a run of {text.seconds(took[0])}"
    now = "Predicting the time on every instance type ... The sliders move already."
    return [[("Read: ", "muted"), (f"{runs}.", "base")], [(now, "muted")]]


def why_none(*, refused: bool) -> Sequence[Line]:
    """What to do where there is no plan: it was refused, or no source was opened."""
    why = "No plan yet: press o to open an event log or a sample."
    if refused:
        why = "No plan: see above why, and what to do; or press o to open other logs or a sample."
    return [[(why, "muted")]]


def show_message(panels: Panels, name: str, lines: Sequence[Line], chart: ChartData) -> None:
    """Show it in a chart, a list or a text."""
    widget = panels.widget(name)
    if isinstance(widget, Chart):
        widget.show(chart)
    elif isinstance(widget, Table):
        widget.show((), message=" ".join("".join(part for part, _ in line) for line in lines))
    else:
        panels.prose(name).show(lines)
