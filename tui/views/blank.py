"""The views while there is no plan: what is waited for, or why there is none."""

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
    """Say it beside the view, and where the view would say something itself."""
    said = sentences.WAITING if busy else why_none(refused=refused)
    panels.prose("why").show(said)
    for name in page(view).blank:
        say(panels, name, said, waiting=busy)


def why_none(*, refused: bool) -> Sequence[Line]:
    """What to do where nothing is read: it was refused, or nothing was asked for."""
    why = "No plan yet: press o to open an event log or a sample."
    if refused:
        why = "No plan: see above why; press o to open other logs or a sample."
    return [[(why, "muted")]]


def say(panels: Panels, name: str, said: Sequence[Line], *, waiting: bool) -> None:
    """In a chart, a list or a text."""
    made = panels.widget(name)
    if isinstance(made, Chart):
        made.show(curves.WAITING if waiting else curves.NOTHING)
    elif isinstance(made, Table):
        made.show((), message="".join(text for line in said for text, _ in line))
    else:
        panels.prose(name).show(said)
