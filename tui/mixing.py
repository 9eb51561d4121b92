"""How many types one cluster may have: as set by the user, else by what the service can start."""

from __future__ import annotations

from typing import TYPE_CHECKING

import engine
from tui.state import PlanState

if TYPE_CHECKING:
    from engine import Catalog

USUAL_TYPES = 2
"""Default of the most types: a second type often saves something, a third hardly ever."""


def max_types(state: PlanState, catalog: Catalog | None) -> int:
    """The most types in one cluster.

    Args:
        catalog: of the service that starts the cluster; None before it is read.
    """
    if state.mix is not None:
        return state.mix
    service_limit = None if catalog is None else engine.most_worker_types(catalog)
    return USUAL_TYPES if service_limit is None else min(USUAL_TYPES, service_limit)
