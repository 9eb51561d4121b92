"""The columns "cost" and "cost between" of a list: how many decimals each has, and its cells."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui import format as text
from tui.widgets.table import Cell, CellStyle

if TYPE_CHECKING:
    from engine import Choice, Recommendation
    from tui.pins import Pin


class CostDecimals(NamedTuple):
    """The number of decimals of each column."""

    cost: int
    between: int


def of_rows(rows: Sequence[Choice | Pin]) -> CostDecimals:
    """The decimals for all amounts of a list that no slider changes."""
    ends = (end for row in rows for end in (row.cost_low_usd, row.cost_high_usd))
    return CostDecimals(
        cost=text.usd_cell_decimals(row.cost_usd for row in rows),
        between=text.usd_cell_decimals(ends),
    )


def of_plan(recommendation: Recommendation) -> CostDecimals:
    """The decimals of a list that a slider changes: by the cheapest composition of the plan, which
    is the same for every deadline. Those of the rows would come and go with them, and no row costs
    much less."""
    if not recommendation.frontier:
        misses = text.usd_cell_decimals(miss.cost_usd for miss in recommendation.rejected)
        return CostDecimals(cost=misses, between=misses)
    cheapest = recommendation.frontier[-1]
    least_usd = cheapest.cost_usd
    least_end_usd = least_usd if cheapest.cost_low_usd is None else cheapest.cost_low_usd
    return CostDecimals(
        cost=text.usd_cell_decimals(_with_figures(least_usd)),
        between=text.usd_cell_decimals(_with_figures(least_end_usd)),
    )


def _with_figures(usd: float | None) -> Iterable[float | None]:
    """The amount just below one, for its figures: that the cheapest costs exact cents says nothing
    of the others."""
    return (None if usd is None else math.nextafter(usd, 0.0),)


def cells(row: Choice | Pin, decimals: CostDecimals, tone: CellStyle) -> tuple[Cell, Cell]:
    """What a row costs, and what that lies between."""
    return (
        (text.usd_cell(row.cost_usd, decimals.cost), tone),
        (text.usd_span(row.cost_low_usd, row.cost_high_usd, decimals.between), tone),
    )
