"""The Compositions view: the best, the runners-up that meet the goal, and why the others lost."""

from __future__ import annotations

import math
import re
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

import engine
from tui import format as text
from tui.mixing import max_types
from tui.state import Order, PlanState
from tui.views import cost_columns, sentences
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
"""Rows below the charts while the list has the focus; a slider redraws only what is visible."""

FULL_LIST = 500
"""Rows in the list's own view."""

SHORT_MIX = 22
"""Least width of a composition below the charts."""

MIX_CELLS = {2: 44, 3: 66}
"""Width of a composition by its number of types, where there is room."""

MIN_MIX_CELLS = 24
"""Least width there: a mix loses blanks, then its last type, before the column of the interval
goes; the text below the list has the selected composition in full."""

WHOLE = 30
"""Width of a composition of one type: "40 × n2d-standard-2 (38 spot)"."""

REASON = 47
"""Width of a reason in full: "misses the deadline by less than 750 ms at 90 %"."""

NARROW = 60
"""Below this width, as at 100 columns, a list has no room for a mix beside the interval."""

NARROW_MIX = 18
"""Width of a composition there: "16 × c5ad.2xlarge", or the first type of a mix."""

_LOST = 3
"""Where rows are few, one in this many is for types that lost."""


def closer(shown: str, cells: int) -> str:
    """A mix in fewer cells: "14×r5.2xlarge + 2×m5.xlarge", or if need be without any blanks."""
    together = _TIMES.sub(r"\1", shown)
    return together if cell_len(together) <= cells else together.replace(" + ", "+")


_TIMES = re.compile(r" ([×x]) ")
"""The sign of a count and its blanks; with ASCII glyphs it is an x."""

COLUMNS = (
    Column(title="", width=1),
    Column(title="composition", shrink=True, least=WHOLE, closer=closer),
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
"""Sort keys: key, word, action of the app."""

_SORTED = {"time": "time", "cost": "cost", "odds": "in time"}
"""Sort order -> title of its column."""


SHORT_NOTES = {"speed transferred": "transferred", "source type unknown": "speed guessed"}
"""Abbreviations of notes that fit at 80 and 120 columns."""


class ShortList(Table):
    """The list below the charts: filled with as many rows, and with the columns, that its size
    allows."""

    class Resized(Message):
        """The list has another size: after a notice, another view, or a resize of the window."""

        def can_replace(self, message: Message) -> bool:
            """Only the last room counts."""
            return isinstance(message, ShortList.Resized)

    def on_resize(self, event: events.Resize) -> None:
        self.watch_virtual_size(event.size)

    def watch_virtual_size(self, size: Size) -> None:
        """Ask for rows; a hidden list has no height. Textual sends no `Resize` of a widget whose
        place is looked up before its first layout, as that of the mouse may be; of one that is
        first laid out as it is scrolled to it sends only that, so both are heard."""
        if size.height:
            self.post_message(self.Resized())


class Compositions(ShortList):
    """The list in its own view, sorted by keys and by clicks on the titles."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"app.{action}", f"Sort by {what}", show=False) for key, what, action in KEYS
    ]

    def press_title(self, column: int) -> None:
        """Sort by a column."""
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
    """Show all rows, and the text on the selected one."""
    state = panels.app.state
    title = f"Compositions with {state.listed}" if state.listed else "Compositions"
    panels.set_title("full", title)
    show_rows(panels, "full", answer, FULL_LIST)
    chosen = sentences.selected(panels.app.state, answer, panels.app.marks)
    panels.prose("chosen").show(
        chosen or sentences.headline_and_reasons(panels.app.state, answer, panels.app.marks)
    )


def show_rows(panels: Panels, name: str, answer: Answer, most: int) -> None:
    """Fill a list of compositions; the cursor stays on its type when the order changes."""
    state, selected = panels.app.state, panels.app.state.selected
    if name == "full":
        table_rows, types = chosen_rows(state, answer, panels.app.marks, most=most)
    else:
        table_rows, types = rows(answer, panels.app.marks, most=most)
    order = state.order if name == "full" else "best"
    mix = max_types(state, answer.built.catalog)
    narrow = is_narrow(panels, name)
    if narrow:
        table_rows = [in_few_cells(row, panels.app.glyphs.ellipsis) for row in table_rows]
    # A list that has just been sorted is shown from its top.
    keeps_type = selected in types and (selected is not None or order == "best")
    cursor = types.index(selected) if keeps_type else 0
    panels.show_list(
        name,
        table_rows,
        keys=(tuple(types), order, mix > 1 and mix, narrow),
        cursor=cursor,
        columns=full_columns(state, mix, panels.app.glyphs.below, narrow=narrow)
        if name == "full"
        else short_columns(mix, narrow=narrow),
        message=f"no composition holds {state.listed}; esc shows all" if state.listed else "",
    )


def is_narrow(panels: Panels, name: str) -> bool:
    """Whether a list has no room for whole compositions beside the intervals."""
    return 0 < panels.table(name).size.width < NARROW


def short_columns(mix: int, *, narrow: bool = False) -> tuple[Column, ...]:
    """The columns below the charts. Where a mix may follow an answer of one type, the widths allow
    for it, so that no column moves; room for more of a mix is what the reasons leave over. The
    title then says "up to N types": `recommend` returns one type unless more are asked for."""
    mark, composition, *others, note = COLUMNS
    composition = composition._replace(least=NARROW_MIX if narrow else SHORT_MIX)
    if mix == 1:
        return mark, composition, *others, note
    title, most = f"up to {mix} types", MIX_CELLS[mix]
    composition = composition._replace(title=title, width=SHORT_MIX, grows=most)
    return mark, composition, *others, note._replace(usual=REASON)


def full_columns(
    state: PlanState, mix: int, sign: str, *, narrow: bool = False
) -> tuple[Column, ...]:
    """The columns of the list's own view, a sign at the sorted one. Widths allow for a mix, which
    may come or go with the next slider step, so that no column moves."""
    sorted_title, columns = _SORTED.get(state.order), []
    for column in COLUMNS:
        if column.title == sorted_title:
            column = column._replace(
                title=f"{column.title} {sign}", width=max(column.width or 0, 9), priority=0
            )
        elif column.title == "composition":
            cells = MIX_CELLS.get(mix)
            least = NARROW_MIX if narrow else MIN_MIX_CELLS if cells else column.least
            column = column._replace(width=cells, least=least)
        columns.append(column)
    return tuple(columns)


def chosen_rows(
    state: PlanState, answer: Answer, marks: Marks, *, most: int
) -> tuple[list[Row], list[str | None]]:
    """Like `rows`, but filtered and sorted by the state; all that meet the goal come before those
    that do not."""
    if not state.listed and state.order == "best":
        return rows(answer, marks, most=most)
    recommendation = answer.report.recommendation
    choices: list[Choice] = [
        *([recommendation.recommended] if recommendation.recommended else []),
        *recommendation.alternatives,
    ]
    misses: list[Rejected] = list(recommendation.rejected)
    if state.listed:
        choices = [x for x in choices if matches_filter(state.listed, tuple(x.composition), x.note)]
        misses = [x for x in misses if matches_filter(state.listed, (x.instance,), x.reason)]
    if state.order != "best":
        choices.sort(key=lambda choice: _value(choice, state.order))
    if state.order in ("time", "cost"):
        misses.sort(key=lambda miss: _value(miss, state.order))
    decimals = cost_columns.of_plan(recommendation)
    table_rows: list[Row] = []
    for choice in choices:
        is_best = choice is recommendation.recommended
        tone: CellStyle = "strong" if is_best else "plain"
        table_rows.append(_row(choice, marks.best if is_best else "", tone, "muted", decimals))
    types = [
        None if choice is recommendation.recommended else choice.instance for choice in choices
    ]
    deadline = answer.report.goal.deadline_seconds
    table_rows += [_rejected_row(miss, marks, deadline, decimals) for miss in misses]
    return table_rows[:most], [*types, *(miss.instance for miss in misses)][:most]


def matches_filter(wanted: str, names: tuple[str, ...], note: str) -> bool:
    """Whether a row matches every word of the filter; a word with *, ? or [ is a glob of types."""
    text_of_row = f"{' '.join(names)} {note}".lower()
    return all(
        any(fnmatchcase(name, word) for name in names)
        if set(word) & set("*?[")
        else word in text_of_row
        for word in wanted.lower().split()
    )


def _value(row: Choice | Rejected, order: Order) -> float:
    """The sort key of a row, best first; rows without the value come last."""
    if order == "odds":
        p = getattr(row, "p_deadline", None)
        return math.inf if p is None else -p
    value = row.seconds if order == "time" else row.cost_usd
    return math.inf if value is None or math.isnan(value) else value


def rows(answer: Answer, marks: Marks, *, most: int) -> tuple[list[Row], list[str | None]]:
    """At most `most` rows, best first, and the type of each (None for the recommended one)."""
    recommendation = answer.report.recommendation
    decimals = cost_columns.of_plan(recommendation)
    table_rows: list[Row] = []
    types: list[str | None] = []
    if recommendation.recommended is not None:
        table_rows.append(_row(recommendation.recommended, marks.best, "strong", "plain", decimals))
        types.append(None)
    rows_left = most - len(table_rows)
    rejected_rows = min(
        len(recommendation.rejected),
        max(most // _LOST, rows_left - len(recommendation.alternatives)),
    )
    for choice in recommendation.alternatives[: max(0, rows_left - rejected_rows)]:
        table_rows.append(_row(choice, "", "plain", "muted", decimals))
        types.append(choice.instance)
    for rejected in recommendation.rejected[:rejected_rows]:
        deadline = answer.report.goal.deadline_seconds
        table_rows.append(_rejected_row(rejected, marks, deadline, decimals))
        types.append(rejected.instance)
    return table_rows, types


def _row(choice: Choice, mark: str, tone: CellStyle, note: CellStyle, decimals: int) -> Row:
    return (
        (mark, "good"),
        (sentences.composition(choice), tone),
        (text.seconds(choice.seconds), tone),
        (text.span_cell(choice.low, choice.high), tone),
        *cost_columns.cells(choice, decimals, tone),
        (text.percent(choice.p_deadline), tone),
        (SHORT_NOTES.get(choice.note, choice.note), note),
    )


def in_few_cells(row: Row, ellipsis: str) -> Row:
    """A row with its composition cut to `NARROW_MIX`: the number of spot nodes goes first, then the
    middle of the type's name, whose end has its size. Of a mix the first type stays."""
    mark, cell, *others = row
    shown = text_of(cell)
    tone: CellStyle = "plain" if isinstance(cell, str) else cell[1]
    if " + " in shown or cell_len(shown) <= NARROW_MIX:
        return row
    shown = fit_ends(shown.partition(" (")[0], NARROW_MIX, ellipsis=ellipsis).rstrip()
    return mark, (shown, tone), *others


def _rejected_row(rejected: Rejected, marks: Marks, deadline: float | None, decimals: int) -> Row:
    shown = text.composition(dict(rejected.composition)) if rejected.composition else None
    cells: list[Cell] = [
        (marks.missed, "bad"),
        (shown or rejected.instance, "muted"),
        (text.seconds(rejected.seconds), "muted"),
        (miss_text(rejected, deadline), "muted"),
        (text.usd_cell(rejected.cost_usd, decimals), "muted"),
        ("", "muted"),
        ("", "muted"),
        (rejected.reason, "muted"),
    ]
    return tuple(cells)


_REASONS = {
    "deadline-and-budget": "late and over",
    "no-executor": "no executor",
    "no-spot-price": "no spot price",
    "no-dbus": "DBUs unknown",
    "no-prediction": "not predicted",
    "limits": "not allowed",
    "barrier": "too few slots",
    "stage-needs-cores": "too few cores",
    "not-supported": "not supported",
}
"""Rejection code -> why the type lost, in the width of an interval."""


def miss_text(rejected: Rejected, deadline: float | None) -> str:
    """Why a type lost, in the width of an interval: there is not always room for the note.

    For a missed deadline it shows the time that decides, at the goal's confidence; the expected
    time in the column before may be within the deadline.
    """
    late_seconds, over_usd = rejected.late_seconds, rejected.over_usd
    if rejected.code == "deadline" and late_seconds is not None:
        ends, expected_seconds = (deadline or 0.0) + late_seconds, rejected.seconds
        has_interval = deadline and expected_seconds and ends > expected_seconds * (1.0 + SAME_TIME)
        # "up to 30.0 s" where 30 s are asked tells nothing.
        rounded = [engine.parse_seconds(text.seconds(each)) for each in (ends, deadline or 0.0)]
        if has_interval and rounded[0] != rounded[1]:
            return f"up to {text.seconds(ends)}"
        return f"{text.time_difference(ends, ends - late_seconds)} late"
    if rejected.code == "budget" and over_usd is not None:
        return f"{text.usd_cell(over_usd)} over"
    return _REASONS.get(rejected.code, "")


SAME_TIME = 0.001
"""Relative difference up to which the deciding time is the predicted time: there is no interval."""


def count(recommendation: Recommendation) -> str:
    """How many types meet the goal, of how many."""
    best = recommendation.recommended
    meeting = len(recommendation.alternatives) + (best is not None and best.instance is not None)
    return f"{meeting:,} of {meeting + len(recommendation.rejected):,} types meet the goal"
