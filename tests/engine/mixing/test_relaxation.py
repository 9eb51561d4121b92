"""OptEx's relaxation against the exact search: never better, and where it misses."""

from __future__ import annotations

import numpy as np
import pytest

from engine.catalog import Billing
from engine.choosing.recommendation import Goal
from engine.errors import BadInput
from engine.mixing.market import Market
from engine.mixing.mix_law import MixLaw
from engine.mixing.relaxation import relax
from engine.mixing.search import Search

NODES = 30


def instance() -> tuple[MixLaw, Market]:
    """A large type that is cheaper per core and a small one; a serial part and divisible work."""
    slots, nodes = np.asarray([4.0, 32.0]), np.arange(1, NODES + 1)
    law = MixLaw(
        seconds=60.0 + 40_000.0 / (nodes * slots[:, None]),
        log_scale=np.zeros((2, NODES)),
        dof=np.full((2, NODES), np.inf),
        slots=slots,
        speed=np.ones(2),
        executor_cores=np.asarray([4, 4]),
        tasks=np.asarray([]),
        work=np.asarray([]),
    )
    billing = Billing(granularity_seconds=0.0)
    return law, Market(np.asarray([0.20, 1.50]), 0.1, billing, np.full(2, NODES))


def test_the_relaxation_misses_the_optimum_or_the_deadline() -> None:
    law, market = instance()
    late = dearer = 0
    for deadline in (260.0, 300.0, 350.0, 400.0, 500.0):
        goal = Goal(deadline_seconds=deadline, confidence=0.5, max_nodes=NODES)
        singles = [
            float(market.hourly(np.asarray([[row]]), np.asarray([[n]]))[0]) * t / 3600.0
            for row in (0, 1)
            for n, t in enumerate(law.seconds[row].tolist(), start=1)
            if t <= deadline
        ]
        exact = Search(law, market, goal, 2, value=min(singles, default=np.inf)).run()
        relaxed = relax(law, market, goal)
        # Real counts are a superset of whole ones, so their best cost is a lower bound.
        assert relaxed.real_usd <= exact.value * (1.0 + 1e-3)
        assert relaxed.value >= exact.value * (1.0 - 1e-9)
        late += np.isinf(relaxed.value)
        dearer += exact.value * 1.0001 < relaxed.value < np.inf
    assert late + dearer >= 2


def test_without_a_deadline_it_is_refused() -> None:
    law, market = instance()
    with pytest.raises(BadInput, match="deadline"):
        relax(law, market, Goal(budget_usd=1.0))
