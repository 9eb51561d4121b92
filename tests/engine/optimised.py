"""A surface of made times, for the tests of the optimiser."""

import numpy as np
from synthetic import TableModel, catalog_of, offer

from engine.catalog import Catalog
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.surface import Surface


def surface_of(fitted: TableModel, catalog: Catalog, max_nodes: int) -> Surface:
    candidates = select_candidates(catalog, profile=fitted.profile, instances=["*"])
    return Surface.build(fitted, candidates, max_nodes=max_nodes)


SLOW = offer("slow", 0.1)
FAST = offer("fast", 0.5)
TWO = catalog_of(SLOW, FAST)


def two_law(name: str, nodes: np.ndarray) -> np.ndarray:
    return 3600.0 / nodes ** (0.9 if name == "slow" else 1.0) / (4.0 if name == "fast" else 1.0)
