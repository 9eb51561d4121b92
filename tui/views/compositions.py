"""The table of compositions: the best, who else meets the goal, and why the others lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui import format as text
from tui.views import words
from tui.views.marks import Marks
from tui.views.prose import Prose
from tui.widgets.table import Cell, CellStyle, Column, Row, Table

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Choice, Recommendation, Rejected
    from tui.panels import Panels
    from tui.session import Answer

SHORT_LIST = 24
"""Rows below the charts while they are walked through; a slider redraws only what is seen."""

FULL_LIST = 500
"""Rows in the view of its own."""

_LOST = 3
"""One row in so many says why a type lost, where there is room for only some."""

COLUMNS = (
    Column(title="", width=1),
    Column(title="composition", shrink=True, least=30),
    Column(title="time", width=7, align="right"),
    Column(title="interval", width=11, align="right", priority=2),
    Column(title="cost", width=7, align="right"),
    Column(title="in time", width=7, align="right", priority=1),
    Column(title="note", shrink=True, least=9, priority=3),
)


def fill(panels: Panels) -> list[Widget]:
    """The table, and a sentence on the row under the cursor."""
    return [
        panels.panel(panels.new(Table, COLUMNS, id="full"), "Compositions"),
        panels.new(Prose, id="chosen"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """All rows, and what there is to say about the selected one."""
    show_rows(panels, "full", answer, FULL_LIST)
    chosen = words.selected(panels.state, answer, panels.marks)
    panels.prose("chosen").show(chosen or words.headline(panels.state, answer, panels.marks))


def show_rows(panels: Panels, name: str, answer: Answer, most: int) -> None:
    """Rows of a table of compositions; the cursor follows its type when the order changes."""
    listed, types = rows(answer, panels.marks, most=most)
    selected = panels.state.selected
    place = types.index(selected) if selected in types else 0
    panels.show_list(name, listed, keys=tuple(types), cursor=place)


def rows(answer: Answer, marks: Marks, *, most: int) -> tuple[list[Row], list[str | None]]:
    """At most `most` rows, best first, and the type of each (None for the recommended one)."""
    found = answer.report.recommendation
    listed: list[Row] = []
    types: list[str | None] = []
    if found.recommended is not None:
        listed.append(_row(found.recommended, marks.best, "strong", "plain"))
        types.append(None)
    lost = min(len(found.rejected), max(most // _LOST, most - 1 - len(found.alternatives)))
    for choice in found.alternatives[: max(0, most - len(listed) - lost)]:
        listed.append(_row(choice, "", "plain", "muted"))
        types.append(choice.instance)
    for rejected in found.rejected[:lost]:
        listed.append(_rejected_row(rejected, marks))
        types.append(rejected.instance)
    return listed, types


def _row(choice: Choice, mark: str, tone: CellStyle, note: CellStyle) -> Row:
    return (
        (mark, "good"),
        (words.composition(choice), tone),
        (text.seconds(choice.seconds), tone),
        (
            text.span(choice.low, choice.high, to="–") if choice.low is not None else text.UNKNOWN,
            tone,
        ),
        (text.usd(choice.cost_usd), tone),
        (text.percent(choice.p_deadline), tone),
        (choice.note, note),
    )


def _rejected_row(rejected: Rejected, marks: Marks) -> Row:
    shown = text.composition(dict(rejected.composition)) if rejected.composition else None
    cells: list[Cell] = [
        (marks.missed, "bad"),
        (shown or rejected.instance, "muted"),
        (text.seconds(rejected.seconds), "muted"),
        ("", "muted"),
        (text.usd(rejected.cost_usd), "muted"),
        ("", "muted"),
        (rejected.reason, "muted"),
    ]
    return tuple(cells)


def count(found: Recommendation) -> str:
    """How many types meet the goal, of how many."""
    best = found.recommended
    meeting = len(found.alternatives) + (best is not None and best.instance is not None)
    return f"{meeting:,} of {meeting + len(found.rejected):,} types meet the goal"
