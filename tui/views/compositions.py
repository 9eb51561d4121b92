"""The table of compositions: the best, who else meets the goal, and why the others lost."""

from __future__ import annotations

import math
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.message import Message

import engine
from tui import format as text
from tui.mixing import most_types
from tui.state import Order, PlanState
from tui.views import sentences
from tui.views.marks import Marks
from tui.views.prose import Prose
from tui.widgets.columns import text_of
from tui.widgets.table import Cell, CellStyle, Column, Row, Table
from tui.widgets.text import fit_ends

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Choice, Recommendation, Rejected
    from tui.answers import Answer
    from tui.panels import Panels

SHORT_LIST = 24
"""Rows below the charts while they are walked through; a slider redraws only what is seen."""

FULL_LIST = 500
"""Rows in the view of its own."""

SHORT_MIX = 22
"""Cells of a composition below the charts."""

MIX_CELLS = {2: 44, 3: 66}
"""Cells of a composition of so many types in the view of its own, where there is room for them."""

MIX_LEAST = 24
"""The fewest there: its last type is cut before the interval of the time goes, and what is below
the list names the chosen one in full."""

WHOLE = 30
"""Cells of a composition of one type: "40 × n2d-standard-2 (38 spot)"."""

NARROW = 60
"""A list of fewer cells, as at 100 columns, has no room for a mix beside the interval."""

NARROW_MIX = 18
"""Cells of a composition there: "16 × c5ad.2xlarge", and the first type of a mix."""

_LOST = 3
"""One row in so many says why a type lost, where there is room for only some."""

COLUMNS = (
    Column(title="", width=1),
    Column(title="composition", shrink=True, least=WHOLE),
    Column(title="time", width=7, align="right"),
    Column(title="interval", width=text.SPAN_CELLS, align="right", priority=1),
    Column(title="cost", width=text.USD_CELLS, align="right"),
    Column(title="cost between", width=text.USD_SPAN_CELLS, align="right", priority=4),
    Column(title="in time", width=7, align="right", priority=2),
    Column(title="note", shrink=True, least=11, priority=3),
)


KEYS = (
    ("t", "time", "sort('time')"),
    ("c", "cost", "sort('cost')"),
    ("i", "in time", "sort('odds')"),
)
"""What sorts the list: key, word, action of the app."""

_SORTED = {"time": "time", "cost": "cost", "odds": "in time"}
"""Order -> the column that it goes by."""


SHORTER = {"speed transferred": "transferred", "source type unknown": "speed guessed"}
"""What a row rests on, in the cells that there are at 80 and 120 columns."""


class ShortList(Table):
    """The list below the charts: it is filled with as many rows as it has room for, and with the
    columns that its width is for."""

    class Resized(Message):
        """There is another room: after a notice, after another view, in another window."""

        def can_replace(self, message: Message) -> bool:
            """Only the last room counts."""
            return isinstance(message, ShortList.Resized)

    def on_resize(self, event: events.Resize) -> None:
        """Ask for rows; while it is hidden it has no room."""
        if event.size.height:
            self.post_message(self.Resized())


class Compositions(ShortList):
    """The list in the view of its own: keys sort it, and clicks on the titles."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"app.{action}", f"Sort by {what}", show=False) for key, what, action in KEYS
    ]

    def press_title(self, column: int) -> None:
        """The order that the key of a column asks for."""
        for _, what, action in KEYS:
            if what == COLUMNS[column].title:
                self.run_worker(self.app.run_action(action))


def fill(panels: Panels) -> list[Widget]:
    """The table, and a sentence on the row under the cursor."""
    return [
        panels.panel(panels.new(Compositions, COLUMNS, id="full"), "Compositions"),
        panels.new(Prose, id="chosen"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """All rows, and what there is to say about the selected one."""
    state = panels.state
    title = f"Compositions with {state.listed}" if state.listed else "Compositions"
    panels.set_title("full", title)
    show_rows(panels, "full", answer, FULL_LIST)
    chosen = sentences.selected(panels.state, answer, panels.marks)
    panels.prose("chosen").show(chosen or sentences.decided(panels.state, answer, panels.marks))


def show_rows(panels: Panels, name: str, answer: Answer, most: int) -> None:
    """Rows of a table of compositions; the cursor follows its type when the order changes."""
    state, selected = panels.state, panels.state.selected
    if name == "full":
        listed, types = chosen_rows(state, answer, panels.marks, most=most)
    else:
        listed, types = rows(answer, panels.marks, most=most)
    order = state.order if name == "full" else "best"
    mix = most_types(state, answer.built.catalog)
    narrow = is_narrow(panels, name)
    if narrow:
        listed = [in_few_cells(row, panels.glyphs.ellipsis) for row in listed]
    # What has just been sorted is looked at from its top.
    follows = selected in types and (selected is not None or order == "best")
    place = types.index(selected) if follows else 0
    panels.show_list(
        name,
        listed,
        keys=(tuple(types), order, mix > 1 and mix, narrow),
        cursor=place,
        columns=full_columns(state, mix, panels.glyphs.below, narrow=narrow)
        if name == "full"
        else short_columns(mix, narrow=narrow),
        message=f"no composition holds {state.listed}; esc shows all" if state.listed else "",
    )


def is_narrow(panels: Panels, name: str) -> bool:
    """Whether a list has no room for whole compositions beside the intervals."""
    return 0 < panels.table(name).size.width < NARROW


def short_columns(mix: int, *, narrow: bool = False) -> tuple[Column, ...]:
    """The columns below the charts. Where a mix may come after one type, none of them moves then:
    the mix is told in full in the sentence, and the title says that one may come: `recommend` gives
    one type unless it is asked for more."""
    cells = NARROW_MIX if narrow else SHORT_MIX
    if mix == 1:
        return tuple(
            column._replace(least=cells) if column.title == "composition" else column
            for column in COLUMNS
        )
    title = f"up to {mix} types"
    return tuple(
        column._replace(title=title, width=cells, least=cells, grows=True)
        if column.title == "composition"
        else column
        for column in COLUMNS
    )


def full_columns(
    state: PlanState, mix: int, sign: str, *, narrow: bool = False
) -> tuple[Column, ...]:
    """The columns of the view of its own, a sign at the one that the rows go by; where a mix may
    come or go with the next step of a slider, none of them moves then."""
    by, found = _SORTED.get(state.order), []
    for column in COLUMNS:
        if column.title == by:
            column = column._replace(
                title=f"{column.title} {sign}", width=max(column.width or 0, 9), priority=0
            )
        elif column.title == "composition":
            cells = MIX_CELLS.get(mix)
            least = NARROW_MIX if narrow else MIX_LEAST if cells else column.least
            column = column._replace(width=cells, least=least)
        found.append(column)
    return tuple(found)


def chosen_rows(
    state: PlanState, answer: Answer, marks: Marks, *, most: int
) -> tuple[list[Row], list[str | None]]:
    """As `rows`: those that the filter leaves, in the order of the state; all that meet the goal
    come before those that do not."""
    if not state.listed and state.order == "best":
        return rows(answer, marks, most=most)
    found = answer.report.recommendation
    choices: list[Choice] = [
        *([found.recommended] if found.recommended else []),
        *found.alternatives,
    ]
    misses: list[Rejected] = list(found.rejected)
    if state.listed:
        choices = [x for x in choices if holds(state.listed, tuple(x.composition), x.note)]
        misses = [x for x in misses if holds(state.listed, (x.instance,), x.reason)]
    if state.order != "best":
        choices.sort(key=lambda choice: _value(choice, state.order))
    if state.order in ("time", "cost"):
        misses.sort(key=lambda miss: _value(miss, state.order))
    listed: list[Row] = []
    for choice in choices:
        won = choice is found.recommended
        listed.append(
            _row(choice, marks.best if won else "", "strong" if won else "plain", "muted")
        )
    types = [None if choice is found.recommended else choice.instance for choice in choices]
    deadline = answer.report.goal.deadline_seconds
    listed += [_rejected_row(miss, marks, deadline) for miss in misses]
    return listed[:most], [*types, *(miss.instance for miss in misses)][:most]


def holds(wanted: str, names: tuple[str, ...], said: str) -> bool:
    """Whether a row has every one of the wanted words: one with *, ? or [ is a glob of types."""
    text_of_row = f"{' '.join(names)} {said}".lower()
    return all(
        any(fnmatchcase(name, word) for name in names)
        if set(word) & set("*?[")
        else word in text_of_row
        for word in wanted.lower().split()
    )


def _value(row: Choice | Rejected, order: Order) -> float:
    """What a row is sorted by, the best first; rows without that come last."""
    if order == "odds":
        p = getattr(row, "p_deadline", None)
        return math.inf if p is None else -p
    value = row.seconds if order == "time" else row.cost_usd
    return math.inf if value is None or math.isnan(value) else value


def rows(answer: Answer, marks: Marks, *, most: int) -> tuple[list[Row], list[str | None]]:
    """At most `most` rows, best first, and the type of each (None for the recommended one)."""
    found = answer.report.recommendation
    listed: list[Row] = []
    types: list[str | None] = []
    if found.recommended is not None:
        listed.append(_row(found.recommended, marks.best, "strong", "plain"))
        types.append(None)
    room = most - len(listed)
    lost = min(len(found.rejected), max(most // _LOST, room - len(found.alternatives)))
    for choice in found.alternatives[: max(0, room - lost)]:
        listed.append(_row(choice, "", "plain", "muted"))
        types.append(choice.instance)
    for rejected in found.rejected[:lost]:
        listed.append(_rejected_row(rejected, marks, answer.report.goal.deadline_seconds))
        types.append(rejected.instance)
    return listed, types


def _row(choice: Choice, mark: str, tone: CellStyle, note: CellStyle) -> Row:
    return (
        (mark, "good"),
        (sentences.composition(choice), tone),
        (text.seconds(choice.seconds), tone),
        (text.span_cell(choice.low, choice.high), tone),
        (text.usd_cell(choice.cost_usd), tone),
        (text.usd_span(choice.cost_low_usd, choice.cost_high_usd), tone),
        (text.percent(choice.p_deadline), tone),
        (SHORTER.get(choice.note, choice.note), note),
    )


def in_few_cells(row: Row, ellipsis: str) -> Row:
    """A row with a composition of `NARROW_MIX` cells: how many are spot nodes goes first, then the
    middle of the type's name, whose end tells its size. Of a mix the first type stays."""
    mark, cell, *others = row
    shown = text_of(cell)
    tone: CellStyle = "plain" if isinstance(cell, str) else cell[1]
    if " + " in shown or cell_len(shown) <= NARROW_MIX:
        return row
    shown = fit_ends(shown.partition(" (")[0], NARROW_MIX, ellipsis=ellipsis).rstrip()
    return mark, (shown, tone), *others


def _rejected_row(rejected: Rejected, marks: Marks, deadline: float | None) -> Row:
    shown = text.composition(dict(rejected.composition)) if rejected.composition else None
    cells: list[Cell] = [
        (marks.missed, "bad"),
        (shown or rejected.instance, "muted"),
        (text.seconds(rejected.seconds), "muted"),
        (missed(rejected, deadline), "muted"),
        (text.usd_cell(rejected.cost_usd), "muted"),
        ("", "muted"),
        ("", "muted"),
        (rejected.reason, "muted"),
    ]
    return tuple(cells)


_UNFIT = {
    "deadline-and-budget": "late and over",
    "no-executor": "no executor",
    "no-spot-price": "no spot price",
    "no-dbus": "DBUs unknown",
    "no-prediction": "not predicted",
    "limits": "not allowed",
    "barrier": "too few slots",
    "not-supported": "not supported",
}
"""Why a type lost, by the code of its rejection, in the cells of an interval."""


def missed(rejected: Rejected, deadline: float | None) -> str:
    """By what a type lost, in few characters: there is not always room for the note.

    What misses the deadline has the time that decides, since the time beside it may be less: with
    the goal's confidence it ends within that alone.
    """
    late, over = rejected.late_seconds, rejected.over_usd
    if rejected.code == "deadline" and late is not None:
        ends, alone = (deadline or 0.0) + late, rejected.seconds
        bounded = deadline and alone and ends > alone * (1.0 + SAME_TIME)
        # "up to 30.0 s" where 30 s are asked tells nothing.
        told = [engine.parse_seconds(text.seconds(each)) for each in (ends, deadline or 0.0)]
        if bounded and told[0] != told[1]:
            return f"up to {text.seconds(ends)}"
        return f"{text.time_difference(ends, ends - late)} late"
    if rejected.code == "budget" and over is not None:
        return f"{text.usd_cell(over)} over"
    return _UNFIT.get(rejected.code, "")


SAME_TIME = 0.001
"""Relative difference below which the predicted time decides: there is no interval."""


def count(found: Recommendation) -> str:
    """How many types meet the goal, of how many."""
    best = found.recommended
    meeting = len(found.alternatives) + (best is not None and best.instance is not None)
    return f"{meeting:,} of {meeting + len(found.rejected):,} types meet the goal"
