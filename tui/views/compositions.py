"""The Compositions view: the best, the runners-up that meet the goal, and why the others lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

import engine
from tui import format as text
from tui.mixing import max_types
from tui.state import MAX_NODES, PlanState
from tui.views import cluster_words, sentences
from tui.views.composition_rows import listing, short_rows
from tui.views.prose import Prose
from tui.widgets.columns import text_of
from tui.widgets.on_demand import OnDemand
from tui.widgets.table import CellStyle, Column, Row, Table
from tui.widgets.text import fit_ends

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Recommendation
    from tui.answers import Answer
    from tui.panels import Panels

SHORT_LIST = 24
"""Rows below the charts while the list has the focus; a slider redraws only what is visible."""

SHORT_MIX = 22
"""Least width of a composition below the charts."""

MIX_CELLS = {2: 44, 3: 66}
"""Width of a composition by its number of types, where there is room."""

MIN_MIX_CELLS = 24
"""Least width there: a mix loses blanks, then its last type, before the column of the interval
goes; the text below the list has the selected composition in full."""

WHOLE = 30
"""Least width of a composition of one type where it may have more: "40 × n2d-standard-2 (38 spot)".
"""

TWO_DIGITS = 99
"""Nodes of as many digits as most compositions have."""

REASON, LONGEST_REASON = 47, 120
"""Width of a reason in full: "misses the deadline by less than 750 ms at 90 %"; and of one that is
a sentence, for which there is room in wide terminals alone."""

NARROW = 60
"""Below this width, as at 100 columns, a list has no room for a mix beside the interval."""

NARROW_MIX = 18
"""Width of a composition there: "16 × c5ad.2xlarge", or the first type of a mix."""


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
    on_demand = cluster_words.what_is_on_demand(answer, "runners-up")
    panels.set_title("full", f"{title}, {on_demand}" if on_demand else title)
    show_rows(panels, answer)
    chosen = sentences.selected(panels.app.state, answer, panels.app.marks)
    panels.prose("chosen").show(
        chosen or sentences.headline_and_reasons(panels.app.state, answer, panels.app.marks)
    )


def show_rows(panels: Panels, answer: Answer) -> None:
    """Fill the list in its own view; the cursor stays on its type. The list is shown from its top
    where the type is not listed, and where it is sorted and none was selected: the recommended one
    may be far down."""
    state, ellipsis = panels.app.state, panels.app.glyphs.ellipsis
    listed = listing(state, answer, panels.app.marks)
    narrow = is_narrow(panels, "full")
    rows = listed.rows
    if narrow:
        whole = listed.rows
        rows = OnDemand(len(whole), lambda place: in_few_cells(whole[place], ellipsis))
    at_top = state.selected is None and state.order != "best"
    columns = full_columns(state, answer, panels.app.glyphs.below, narrow=narrow)
    message = f"no composition holds {state.listed}; esc shows all" if state.listed else ""
    panels.show_list(
        "full",
        rows,
        keys=(listed.types, columns, message),
        cursor=0 if at_top else listed.place_of(state.selected) or 0,
        columns=columns,
        message=message,
    )


def show_short_rows(panels: Panels, answer: Answer, most: int) -> None:
    """Fill the list below the charts with at most so many rows."""
    selected, mix = panels.app.state.selected, max_types(panels.app.state, answer.built.catalog)
    table_rows, types = short_rows(answer, panels.app.marks, most=most)
    narrow = is_narrow(panels, "short")
    on_demand = cluster_words.what_is_on_demand(answer)
    if narrow:
        table_rows = [in_few_cells(row, panels.app.glyphs.ellipsis) for row in table_rows]
    panels.show_list(
        "short",
        table_rows,
        keys=(tuple(types), mix > 1 and mix, narrow, on_demand),
        cursor=types.index(selected) if selected in types else 0,
        columns=short_columns(mix, narrow=narrow, on_demand=on_demand),
        message="",
    )


def is_narrow(panels: Panels, name: str) -> bool:
    """Whether a list has no room for whole compositions beside the intervals."""
    return 0 < panels.table(name).size.width < NARROW


def short_columns(mix: int, *, narrow: bool = False, on_demand: str = "") -> tuple[Column, ...]:
    """The columns below the charts. Where a mix may follow an answer of one type, the widths allow
    for it, so that no column moves; room for more of a mix is what the reasons leave over. The
    title then says "up to N types": `recommend` returns one type unless more are asked for.

    Args:
        on_demand: title of the compositions where it says which of them are on demand.
    """
    mark, composition, *others, note = COLUMNS
    composition = composition._replace(least=NARROW_MIX if narrow else SHORT_MIX)
    if on_demand:
        composition = composition._replace(title=on_demand)
    if mix == 1:
        return mark, composition, *others, note
    title = on_demand or f"up to {mix} types"
    most = MIX_CELLS[mix]
    composition = composition._replace(title=title, width=SHORT_MIX, grows=most)
    return mark, composition, *others, note._replace(usual=REASON)


def full_columns(
    state: PlanState, answer: Answer, sign: str, *, narrow: bool = False
) -> tuple[Column, ...]:
    """The columns of the list's own view, a sign at the sorted one. No width depends on the rows,
    which need not be built for it; a mix may come or go with the next slider step, and no column
    moves."""
    mix = max_types(state, answer.built.catalog)
    sorted_title, columns = _SORTED.get(state.order), []
    for column in COLUMNS:
        if column.title == sorted_title:
            title = f"{column.title} {sign}"
            width = max(column.width or 0, cell_len(title))  # time and cost stay where they are
            column = column._replace(title=title, width=width, priority=0)
        elif column.title == "composition":
            cells = MIX_CELLS.get(mix)
            least = NARROW_MIX if narrow else MIN_MIX_CELLS if cells else column.least
            least_cells, most_cells = one_type_cells(state, answer)
            width, grows = (cells, 0) if cells else (least_cells, most_cells)
            column = column._replace(width=width, least=least, grows=grows)
        elif column.title == "note":
            column = column._replace(width=REASON, grows=LONGEST_REASON)
        columns.append(column)
    return tuple(columns)


def one_type_cells(state: PlanState, answer: Answer) -> tuple[int, int]:
    """The width of a composition of one type, and the one where there is room: the widest of all
    candidates, as any of them may be the next one listed. Beside it stand the spot nodes where the
    question allows that these are only some of all. The first is of two-digit counts; three digits
    fit into it without the blanks (`closer`), and no column has to go for them."""
    candidates = answer.built.plan.surface.candidates
    names = (*candidates.names, *(lost.instance for lost in candidates.rejected))
    widest = max(map(cell_len, names), default=0)
    limits, on_demand = state.limits, engine.least_on_demand(candidates.catalog)
    both_ways = state.spot and (limits.max_spot is not None or limits.owned or on_demand)

    def cells(nodes: int) -> int:
        counts = f"{nodes} × " + (f" ({nodes} spot)" if both_ways else "")
        return max(cell_len("composition"), cell_len(counts) + widest)

    return cells(TWO_DIGITS), cells(MAX_NODES)


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


def count(recommendation: Recommendation) -> str:
    """How many types meet the goal, of how many."""
    best = recommendation.recommended
    meeting = len(recommendation.alternatives) + (best is not None and best.instance is not None)
    return f"{meeting:,} of {meeting + len(recommendation.rejected):,} types meet the goal"
