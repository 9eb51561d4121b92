"""How many types one cluster may have: what was asked for, else what the service starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine
from tui.state import PlanState

if TYPE_CHECKING:
    from engine import Catalog

USUAL_TYPES = 2
"""A second type often saves something, a third hardly ever."""


def most_types(state: PlanState, catalog: Catalog | None) -> int:
    """Types in one cluster at most.

    Args:
        catalog: whose service starts it; None before it is read.
    """
    if state.mix is not None:
        return state.mix
    started = None if catalog is None else engine.most_worker_types(catalog)
    return USUAL_TYPES if started is None else min(USUAL_TYPES, started)
