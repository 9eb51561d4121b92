"""The columns "cost" and "cost between" of a list: how many decimals costs have, and the cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui.widgets.table import Cell, CellStyle

if TYPE_CHECKING:
    from engine import Choice, Outline, Recommendation
    from tui.pins import Pin


def of_rows(rows: Sequence[Choice | Outline]) -> int:
    """The decimals of the costs of a list that no slider changes."""
    return text.usd_cell_decimals(row.cost_usd for row in rows)


def of_pins(pins: Sequence[Pin], recommendation: Recommendation | None) -> int:
    """The decimals of pinned plans beside the one on the screen, which follows the sliders: by what
    is pinned, and by the cheapest composition of that plan (`of_plan`), if there is one."""
    least = () if recommendation is None else _least_of(recommendation)
    return text.usd_cell_decimals([*(pin.cost_usd for pin in pins), *least])


def of_plan(recommendation: Recommendation) -> int:
    """The decimals of the costs of a list that a slider changes: by the cheapest composition of the
    plan that costs anything, which is the same for every deadline. Those of the rows would come and
    go with them, and no row costs much less."""
    return text.usd_cell_decimals(_least_of(recommendation))


def _least_of(recommendation: Recommendation) -> Iterable[float | None]:
    """The cost of the cheapest composition that costs anything: of owned nodes alone some cost
    nothing, which says nothing of the others. Without one those of all that lost."""
    cheapest_first = reversed(recommendation.frontier)
    least = next((choice.cost_usd for choice in cheapest_first if choice.cost_usd), None)
    if least is None:
        costs = [outline.cost_usd for outline in engine.outlines(recommendation.alternatives)]
        least = min((usd for usd in costs if usd), default=None)
    if least is None:
        return (miss.cost_usd for miss in recommendation.rejected)
    return _with_figures(least)


def _with_figures(usd: float) -> Iterable[float]:
    """The amount just below one, for its figures: that the cheapest costs exact cents says nothing
    of the others."""
    return (math.nextafter(usd, 0.0),)


def cells(row: Choice | Pin, decimals: int, tone: CellStyle) -> tuple[Cell, Cell]:
    """What a row costs, with the decimals of its list, and what that lies between."""
    return (
        (text.usd_cell(row.cost_usd, decimals), tone),
        (text.usd_span(row.cost_low_usd, row.cost_high_usd), tone),
    )
