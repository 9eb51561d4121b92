"""Rows of compositions: the best, the runners-up that meet the goal, and the types that lost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.state import Order, PlanState
from tui.views import cluster_words, cost_columns
from tui.views.marks import Marks
from tui.widgets.on_demand import OnDemand
from tui.widgets.table import Cell, CellStyle, Row

if TYPE_CHECKING:
    from engine import Choice, Goal, Outline, Rejected
    from tui.answers import Answer

_LOST = 3
"""Where rows are few, one in this many is for types that lost."""

SHORT_NOTES = {"speed transferred": "transferred", "source type unknown": "speed guessed"}
"""Abbreviations of notes that fit at 80 and 120 columns."""


@dataclass(frozen=True, eq=False)
class Listing:
    """The list in its own view, filtered and sorted: all that meet the goal come before those that
    do not. A choice is built when its row is looked at: a step of a slider would otherwise build
    those of some 400 types.

    Args:
        met: indices of the alternatives; `BEST` is the recommended one.
        missed: indices of the rejected types.
    """

    answer: Answer
    marks: Marks
    met: Sequence[int]
    missed: Sequence[int]

    def __len__(self) -> int:
        return len(self.met) + len(self.missed)

    @property
    def rows(self) -> OnDemand[Row]:
        """The rows."""
        decimals = cost_columns.of_plan(self.answer.report.recommendation)
        return OnDemand(len(self), lambda place: self._row(place, decimals))

    @property
    def types(self) -> ListedTypes:
        """The type of each row; None for the recommended one."""
        return ListedTypes(self)

    def has_rows_of(self, other: Listing) -> bool:
        """Whether another list is of the same recommendation, and has the same rows; none of them
        is built for it."""
        mine, its = self.answer.report.recommendation, other.answer.report.recommendation
        rows, its_rows = (self.met, self.missed), (other.met, other.missed)
        return mine is its and rows == its_rows

    @property
    def briefs(self) -> list[tuple[str, str]]:
        """The composition of each row, and its time, cost and note; no choice is built for it."""
        recommendation = self.answer.report.recommendation
        decimals = cost_columns.of_plan(recommendation)
        best, outlines = recommendation.recommended, engine.outlines(recommendation.alternatives)
        met = [best if index == BEST and best else outlines[index] for index in self.met]
        lost = [recommendation.rejected[index] for index in self.missed]
        return [
            *((cluster_words.composition(each), _brief(each, each.note, decimals)) for each in met),
            *((_tried(each), _brief(each, each.reason, decimals)) for each in lost),
        ]

    def _row(self, place: int, decimals: int) -> Row:
        recommendation = self.answer.report.recommendation
        if place >= len(self.met):
            lost = recommendation.rejected[self.missed[place - len(self.met)]]
            return _rejected_row(lost, self.marks, self.answer.report.goal, decimals)
        index, best = self.met[place], recommendation.recommended
        if index == BEST and best is not None:
            return _row(best, self.marks.best, "strong", "muted", decimals)
        return _row(recommendation.alternatives[index], "", "plain", "muted", decimals)

    def _type(self, place: int) -> str | None:
        recommendation = self.answer.report.recommendation
        if place >= len(self.met):
            return recommendation.rejected[self.missed[place - len(self.met)]].instance
        index, others = self.met[place], recommendation.alternatives
        return None if index == BEST else engine.outlines(others)[index].instance

    def place_of(self, instance: str | None) -> int | None:
        """The row of a type; None where it is not listed. Rejections are built for it only where no
        choice has the type."""
        return next((place for place, name in enumerate(self.types) if name == instance), None)


class ListedTypes(OnDemand[str | None]):
    """The types of a list's rows. They identify it: of an equal one the rows are the same, and the
    cursor stays, as between two steps of it that follow each other fast."""

    def __init__(self, listed: Listing) -> None:
        super().__init__(len(listed), listed._type)
        self._listed = listed

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ListedTypes) and self._listed.has_rows_of(other._listed)

    def __hash__(self) -> int:
        return hash((tuple(self._listed.met), tuple(self._listed.missed)))


BEST = -1
"""The recommended choice, among indices of the alternatives."""


def listing(state: PlanState, answer: Answer, marks: Marks) -> Listing:
    """The list in its own view, filtered and sorted by the state."""
    recommendation = answer.report.recommendation
    best, rejected = recommendation.recommended, recommendation.rejected
    outlines = dict(enumerate(engine.outlines(recommendation.alternatives)))
    if best is not None:
        outlines[BEST] = engine.Outline.of(best)
    met, missed = sorted(outlines), list(range(len(rejected)))
    if wanted := state.listed:
        mix = {BEST: tuple(best.composition)} if best else {}
        met = [
            index
            for index in met
            if matches_filter(
                wanted, mix.get(index) or _names(outlines[index]), outlines[index].note
            )
        ]
        missed = [
            index
            for index in missed
            if matches_filter(wanted, (rejected[index].instance,), rejected[index].reason)
        ]
    if state.order != "best":
        met.sort(key=lambda index: _value(outlines[index], state.order))
    if state.order != "best":
        missed.sort(key=lambda index: _value(rejected[index], state.order))
    return Listing(answer, marks, met, missed)


def _names(outline: Outline) -> tuple[str, ...]:
    return () if outline.instance is None else (outline.instance,)


def matches_filter(wanted: str, names: tuple[str, ...], note: str) -> bool:
    """Whether a row matches every word of the filter; a word with *, ? or [ is a glob of types."""
    text_of_row = f"{' '.join(names)} {note}".lower()
    return all(
        any(fnmatchcase(name, word) for name in names)
        if set(word) & set("*?[")
        else word in text_of_row
        for word in wanted.lower().split()
    )


def _value(row: Outline | Rejected, order: Order) -> float:
    """The sort key of a row, best first; rows without the value come last. Rounding errors decide
    no order: a cost is the sum of its items, or its product in the plan's arrays."""
    if order == "odds":
        return math.inf if row.p_deadline is None else -_rounded(row.p_deadline)
    value = row.seconds if order == "time" else row.cost_usd
    return math.inf if value is None or math.isnan(value) else _rounded(value)


def _rounded(value: float) -> float:
    """A value to 10 significant digits."""
    return float(f"{value:.9e}")


def _brief(row: Choice | Outline | Rejected, note: str, decimals: int) -> str:
    """Time, cost and note of a row, in one text."""
    cost = text.usd_cell(row.cost_usd, decimals)
    return "  ".join([text.seconds(row.seconds), cost, SHORT_NOTES.get(note, note)])


def short_rows(answer: Answer, marks: Marks, *, most: int) -> tuple[list[Row], list[str | None]]:
    """At most so many rows for the list below the charts, best first, and the type of each (None
    for the recommended one)."""
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
        table_rows.append(_rejected_row(rejected, marks, answer.report.goal, decimals))
        types.append(rejected.instance)
    return table_rows, types


def _row(choice: Choice, mark: str, tone: CellStyle, note: CellStyle, decimals: int) -> Row:
    return (
        (mark, "good"),
        (cluster_words.composition(choice), tone),
        (text.seconds(choice.seconds), tone),
        (text.span_cell(choice.low, choice.high), tone),
        *cost_columns.cells(choice, decimals, tone),
        (text.percent(choice.p_deadline), tone),
        (SHORT_NOTES.get(choice.note, choice.note), note),
    )


def _tried(rejected: Rejected) -> str:
    """The composition that came nearest, else the type alone."""
    if rejected.composition:
        return text.composition(dict(rejected.composition))
    return rejected.instance


def _rejected_row(rejected: Rejected, marks: Marks, goal: Goal, decimals: int) -> Row:
    p = rejected.p_deadline
    cells: list[Cell] = [
        (marks.missed, "bad"),
        (_tried(rejected), "muted"),
        (text.seconds(rejected.seconds), "muted"),
        (miss_text(rejected, goal.deadline_seconds), "muted"),
        (text.usd_cell(rejected.cost_usd, decimals), "muted"),
        ("", "muted"),
        ("" if p is None else text.in_time(p, goal.confidence), "muted"),
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
        if has_interval:
            # "up to 30.0 s" where 30 s are asked tells nothing.
            shown, asked = (text.seconds(each) for each in (ends, deadline))
            tells = engine.parse_seconds(shown) != engine.parse_seconds(asked)
            return f"up to {shown}" if tells else "just too late"
        return f"{text.time_difference(ends, ends - late_seconds)} late"
    if rejected.code == "budget" and over_usd is not None:
        return f"{text.usd_cell(over_usd)} over"
    return _REASONS.get(rejected.code, "")


SAME_TIME = 0.001
"""Relative difference up to which the deciding time is the predicted time: there is no interval."""
