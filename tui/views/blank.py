"""The views while there is no plan: that it is being computed, or why there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import format as text
from tui.state import PlanState, View
from tui.views import curves, inputs, sentences
from tui.views.pages import page
from tui.widgets.chart import Chart
from tui.widgets.chart_data import ChartData
from tui.widgets.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.answers import Evidence
    from tui.panels import Panels
    from tui.views.prose import Line


def show(panels: Panels, view: View) -> None:
    """Show it beside the view, and in the view's own widgets."""
    app = panels.app
    read = app.evidence_before_plan  # also while its plan is being built, or once that is cancelled
    was_read = None if read is None else what_was_read(app.state, read)
    if not app.busy:
        reason, is_above = app.sticky_notice, app.current_notice == (app.sticky_notice,)
        lines, chart = why_none(was_read, reason, is_above=is_above), curves.NOTHING
    elif was_read is None:
        lines, chart = sentences.WAITING, curves.READING
    else:
        sliders = bool(app.ranges.known)
        lines, chart = while_built(was_read, sliders=sliders), curves.BUILDING
    panels.prose("why").show(lines)
    if view == "compare":
        from tui.views import compare

        if compare.show_pinned(panels, lines):
            return
    for name in page(view).blank:
        show_message(panels, name, lines, chart)


def what_was_read(state: PlanState, read: Evidence) -> Line:
    """The job that was read, named as in the header, and how long its runs took, if it has any."""
    took = sorted(run.seconds for run in read.profile.runs)
    named = inputs.source(state, read)
    if took:
        named += f" of {text.seconds(took[0]) if len(took) == 1 else text.span(took[0], took[-1])}"
    return [("Read: ", "muted"), (f"{named}.", "base")]


def while_built(was_read: Line, *, sliders: bool) -> Sequence[Line]:
    """What was read, and whether the `sliders` move while its times are being predicted."""
    now = "Predicting the time on every instance type ..."
    return [was_read, [(f"{now} The sliders move already." if sliders else now, "muted")]]


def why_none(was_read: Line | None, reason: Line, *, is_above: bool) -> Sequence[Line]:
    """What to do where there is no plan: it was refused, or cancelled after or before all was
    read.

    Args:
        reason: the notice that says why it was refused; empty where it was not.
        is_above: whether that notice is shown above the view, and not another one instead.
    """
    others = "press o to open other logs or a sample."
    if reason and is_above:
        why = f"No plan: see above why, and what to do; or {others}"
        return [[(why, "muted")]]
    if reason:
        said = "".join(part for part, _ in reason[1:]).rstrip(".")  # without its mark
        return [[(f"No plan: {said}. Or {others}", "muted")]]
    if was_read is not None:
        why = f"No plan yet: any slider builds it; or {others}"
        return [was_read, [(why, "muted")]]
    why = "No plan yet: press o to open an event log or a sample; any change tries again."
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
