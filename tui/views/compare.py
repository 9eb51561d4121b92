"""The Compare view: pinned plans and the current one, each against the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.pins import NOW, Pin, input_differences, pin_of
from tui.views import cost_columns
from tui.views.compositions import closer
from tui.views.marks import Marks
from tui.views.prose import Line, Prose, Span
from tui.widgets.table import CellStyle, Column, Row, Table

if TYPE_CHECKING:
    from textual.widget import Widget

    from engine import Recommendation
    from tui.answers import Answer
    from tui.panels import Panels

COLUMNS = (
    Column(title="", width=1),
    Column(title="name", shrink=True, least=4, names=True),
    Column(title="composition", shrink=True, least=16, closer=closer),
    Column(title="time", width=7, align="right"),
    Column(title="time +/-", width=8, align="right", priority=1),
    Column(title="interval", width=text.SPAN_CELLS, align="right", priority=4),
    Column(title="cost", width=text.USD_CELLS, align="right"),
    Column(title="cost between", width=text.USD_SPAN_CELLS, align="right", priority=6),
    Column(title="cost +/-", width=9, align="right", priority=2),
    Column(title="in time", width=7, align="right", priority=3),
    Column(title="differs in", shrink=True, least=12, priority=5),
)

SHOWN = 5e-4
"""A smaller relative difference is not visible in the three figures of an amount."""

HOW_TO = (
    "Nothing is pinned yet: p pins this plan. Then change a slider, the model or the prices: the "
    "plan on the screen stays the last row, and each pinned one shows what it takes and costs "
    "against the first."
)
"""Shown below the plan on the screen while there is nothing to compare it with."""


def fill(panels: Panels) -> list[Widget]:
    """The plans, and the differences of the one under the cursor."""
    return [
        panels.panel(
            panels.new(Table, COLUMNS, id="pins"), "Pinned scenarios, each against the first"
        ),
        panels.new(Prose, id="compared"),
    ]


def show(panels: Panels, answer: Answer) -> None:
    """Show the pinned plans beside the current one."""
    plans = [*panels.app.pins, pin_of(NOW, panels.app.state, answer)]
    _show_rows(panels, plans, answer.report.recommendation)
    cursor = panels.pin_cursor
    panels.prose("compared").show([*about(plans, cursor), *other_differences(plans, cursor)])


def show_pinned(panels: Panels, why: Sequence[Line]) -> bool:
    """Show the pinned plans while there is none on the screen: they hold their answers, and enter
    goes back to one. False where none is pinned.

    Args:
        why: why there is none on the screen, or what it waits for.
    """
    pins, cursor = panels.app.pins, panels.pin_cursor
    if not pins:
        panels.prose("compared").show([])
        return False
    _show_rows(panels, pins, None)
    panels.prose("compared").show([*about(pins, cursor), *other_differences(pins, cursor), *why])
    return True


def _show_rows(panels: Panels, plans: Sequence[Pin], recommendation: Recommendation | None) -> None:
    """The table of the plans; rows that they leave over are for the text below."""
    panels.table("pins").show(rows(plans, panels.app.marks, recommendation))
    panels.widget("pins-panel").styles.max_height = len(plans) + 1 + panels.frame_rows


def rows(shown: Sequence[Pin], marks: Marks, recommendation: Recommendation | None) -> list[Row]:
    """A row per plan; differences are to the first. The last one is that of `recommendation`, where
    there is one."""
    pinned = [pin for pin in shown if pin.name != NOW]
    decimals = cost_columns.of_pins(pinned, recommendation)
    return [_row(pin, shown[0], marks, decimals) for pin in shown]


def _row(pin: Pin, first: Pin, marks: Marks, decimals: int) -> Row:
    tone: CellStyle = "strong" if pin.name == NOW else "plain"
    differing = input_differences(pin, first)
    return (
        (marks.best, "good") if pin.meets else (marks.missed, "bad"),
        (pin.name, tone),
        (pin.composition, tone),
        (text.seconds(pin.seconds), tone),
        ("" if pin is first else more_seconds(pin, first), "muted"),
        (text.span_cell(pin.low, pin.high), tone),
        *cost_columns.cells(pin, decimals, tone),
        ("" if pin is first else more_usd(pin, first, decimals), "muted"),
        (text.in_time(pin.p_deadline, pin.state.confidence), tone),
        (", ".join(difference.split(" ", 1)[0] for difference in differing), "muted"),
    )


def more_seconds(pin: Pin, first: Pin) -> str:
    """ "+3m 10s": how much longer than the first, computed from the times as displayed."""
    if pin.seconds is None or first.seconds is None:
        return text.UNKNOWN
    one, other = _rounded_as_displayed(pin.seconds), _rounded_as_displayed(first.seconds)
    apart = text.time_difference(one, other, figures=6)
    return "same" if apart.startswith("<") else f"{_sign(one - other)}{apart}"


def _rounded_as_displayed(seconds: float) -> float:
    """A time rounded as it is displayed: differences should match the column."""
    return engine.parse_seconds(text.seconds(seconds)) if seconds > 0.0 else 0.0


def more_usd(pin: Pin, first: Pin, decimals: int | None = None) -> str:
    """ "-$0.42": how much dearer than the first; in a column with the decimals of its costs."""
    if pin.cost_usd is None or first.cost_usd is None:
        return text.UNKNOWN
    more = _difference(pin.cost_usd, first.cost_usd)
    return f"{_sign(more)}{text.usd_cell(abs(more), decimals)}" if more else "same"


def _difference(one: float, first: float) -> float:
    """The difference, or 0 where it is less than the three figures show."""
    more = one - first
    return 0.0 if abs(more) < SHOWN * abs(first) else more


def _sign(more: float) -> str:
    return "+" if more > 0 else "-"


def about(shown: Sequence[Pin], index: int) -> list[Line]:
    """The plan under the cursor against the first: its inputs, then its answer."""
    pin, first = shown[min(index, len(shown) - 1)], shown[0]
    if first.name == NOW:
        return [[(NOW, "strong"), (f": {_answer(first)}.", "base")], [(HOW_TO, "muted")]]
    if pin is first:
        how = "enter brings its inputs back"
        return [[(pin.name, "strong"), (f": {_answer(pin)}; {how}.", "base")]]
    differing = input_differences(pin, first)
    inputs = "; ".join(differing) or "the same inputs"
    answer: list[Span] = [(pin.name, "strong"), (" against ", "base"), (first.name, "strong")]
    return [
        [*answer, (f": {inputs}.", "base")],
        [
            (
                f"{_answer(pin)}: time {more_seconds(pin, first)}, cost {more_usd(pin, first)}",
                "base",
            ),
            (
                ". Intervals overlap: the times may not differ." if _overlap(pin, first) else ".",
                "muted",
            ),
        ],
    ]


def other_differences(shown: Sequence[Pin], index: int) -> list[Line]:
    """The inputs in which each other plan differs from the first: a row with another cost is
    useless without what it is for."""
    other_plans = [pin for i, pin in enumerate(shown) if i not in (0, min(index, len(shown) - 1))]
    return [
        [
            (
                f"{pin.name}: {'; '.join(input_differences(pin, shown[0])) or 'the same inputs'}.",
                "muted",
            )
        ]
        for pin in other_plans
    ]


def _overlap(pin: Pin, first: Pin) -> bool:
    """Whether the intervals of two different times overlap."""
    if None in (pin.low, pin.high, first.low, first.high) or more_seconds(pin, first) == "same":
        return False
    low, high = max(pin.low or 0.0, first.low or 0.0), min(pin.high or 0.0, first.high or 0.0)
    return low <= high


def _answer(pin: Pin) -> str:
    reached = "" if pin.meets else "meets no goal, nearest "
    cost = text.usd(pin.cost_usd) + (" at spot prices" if pin.at_spot else "")
    between = text.usd_interval(pin.cost_low_usd, pin.cost_high_usd)
    time = f"{text.seconds(pin.seconds)}{_interval(pin)}"
    return f"{reached}{pin.composition}, {time} for {cost}{between}"


def _interval(pin: Pin) -> str:
    """ " (9 in 10 runs: 38 to 44 min)" behind a time, or " (no interval)"."""
    if pin.seconds is None:
        return ""
    if pin.low is None:
        return " (no interval)"
    return f" ({text.odds(pin.state.confidence)} runs: {text.span(pin.low, pin.high)})"
