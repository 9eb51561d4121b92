"""The views while there is no plan: that it is being computed, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.state import View
from tui.views import curves, sentences
from tui.views.pages import page
from tui.widgets.chart import Chart
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.panels import Panels
    from tui.views.prose import Line


def show(panels: Panels, view: View, *, busy: bool, refused: bool) -> None:
    """Show it beside the view, and in the view's own widgets."""
    lines = sentences.WAITING if busy else why_none(refused=refused)
    panels.prose("why").show(lines)
    for name in page(view).blank:
        show_message(panels, name, lines, waiting=busy)


def why_none(*, refused: bool) -> Sequence[Line]:
    """What to do where there is no plan: it was refused, or no source was opened."""
    why = "No plan yet: press o to open an event log or a sample."
    if refused:
        why = "No plan: see above why, and what to do; or press o to open other logs or a sample."
    return [[(why, "muted")]]


def show_message(panels: Panels, name: str, lines: Sequence[Line], *, waiting: bool) -> None:
    """Show it in a chart, a list or a text."""
    widget = panels.widget(name)
    if isinstance(widget, Chart):
        widget.show(curves.WAITING if waiting else curves.NOTHING)
    elif isinstance(widget, Table):
        widget.show((), message="".join(text for line in lines for text, _ in line))
    else:
        panels.prose(name).show(lines)
