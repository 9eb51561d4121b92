"""All limits together, at random, against brute force."""

from dataclasses import replace

import numpy as np
import pytest
from depth import cases
from test_mix_search import random_law

from engine.catalog import Billing
from engine.choosing.interruptions import LostWork
from engine.choosing.limits import Constraints
from engine.choosing.recommendation import Goal
from engine.forecast import student_quantile
from engine.mixing.bound_terms import NodeTerms
from engine.mixing.bounds import Windows
from engine.mixing.effort import Effort
from engine.mixing.market import Market, SpotShare, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.multipliers import CountLimits, Multipliers
from engine.mixing.search import Search, _SearchGroup

CASES = cases(20, deep=150)
"""Random catalogs per number of types in a mix."""


def a_law(rng: np.random.Generator, k: int, m: int) -> MixLaw:
    """Of one executor shape mostly, so that mixes are many."""
    law = replace(random_law(rng, k, m), lost_work=LostWork(20.0, 0.7))
    if rng.random() < 0.5:
        law = replace(law, log_scale=rng.uniform(0.02, 0.5, (k, m)))
    return replace(law, executor_cores=rng.choice([2, 4], k, p=[0.1, 0.9]))


def a_market(rng: np.random.Generator, law: MixLaw, m: int) -> Market:
    """Hours or seconds, quotas, globs, bounds of executors, least nodes and owned ones."""
    k = len(law.slots)
    billing = Billing(
        granularity_seconds=float(rng.choice([0, 1, 60, 3600])),
        minimum_seconds=float(rng.choice([0, 60, 600])),
        startup_seconds=float(rng.choice([0, 90, 600])),
    )
    weights, caps = [], []
    if rng.random() < 0.4:  # a quota of vCPUs
        weights.append(law.slots)
        caps.append(rng.uniform(0.2, 1.0) * m * law.slots.max())
    if rng.random() < 0.4:  # a family
        weights.append(rng.integers(0, 2, k).astype(float))
        caps.append(float(rng.integers(0, m + 1)))
    if rng.random() < 0.4:  # dynamic allocation
        executors = np.maximum(law.slots // 4, 1.0)
        most = float(rng.integers(1, 4 * m))
        weights += [executors, -executors]
        caps += [most, -float(rng.integers(0, int(most) + 1))]
    rows = np.asarray(weights).reshape(len(caps), k)
    constraints = Constraints(rows, np.asarray(caps), int(rng.integers(1, 4)))
    rates = law.slots * rng.uniform(0.02, 0.08, k)
    if rng.random() < 0.2:
        rates[rng.integers(k)] = np.inf
    owned = rng.integers(0, 5, k) if rng.random() < 0.4 else None
    if rng.random() < 0.15:  # resource time
        return Market(
            np.where(np.isfinite(rates), law.slots, np.inf), 0.0, Billing(granularity_seconds=0.0),
            constraints.most(m), constraints,
        )  # fmt: skip
    head = float(rng.choice([0.0, 0.2]))
    return Market.of(rates, head, billing, constraints.most(m), constraints, owned)


def on_spot_too(rng: np.random.Generator, law: MixLaw, market: Market) -> tuple[MixLaw, Market]:
    """Most types as spot nodes as well, under a maximum share."""
    k = len(law.slots)
    rows = np.flatnonzero(rng.random(k) < 0.8)
    base, is_spot = np.append(np.arange(k), rows), np.arange(k + len(rows)) >= k
    both = market.take(base)
    owned = None if both.owned is None else np.where(is_spot, 0, both.owned)
    rates = np.where(is_spot, both.rates * rng.uniform(0.3, 0.9), both.rates)
    most = float(rng.choice([0.0, 0.25, 0.5, 0.8, 1.0]))
    free = np.zeros(len(base), dtype=np.int64) if owned is None else owned
    beside, alone = int(10 * most) % 3, free if most == 1.0 else None
    share = SpotShare(base, is_spot, most, beside, alone)
    law = law.with_spot(rows, rng.uniform(0.0, 3.0, len(rows)))
    return law, replace(both, rates=rates, owned=owned, share=share)


def a_goal(rng: np.random.Generator, law: MixLaw, market: Market, m: int) -> Goal:
    """Cheapest in time, within a budget, of all; fastest, in time, within a budget."""
    confidence = float(rng.choice([0.3, 0.5, 0.9, 0.99]))
    dof = np.nan_to_num(law.dof, nan=np.inf)
    quantile = student_quantile(confidence, dof.ravel()).reshape(dof.shape)
    least = float((law.seconds * np.exp(np.nan_to_num(law.log_scale) * quantile)).min())
    k = len(law.slots)
    rows, counts = np.repeat(np.arange(k), m)[:, None], np.tile(np.arange(1, m + 1), k)[:, None]
    costs = values_of(law, market, Goal(confidence=confidence, max_nodes=m, objective="cost"),
                      rows, counts)  # fmt: skip
    typical = float(np.median(costs[np.isfinite(costs)])) if np.isfinite(costs).any() else 0.1
    given = {}
    if rng.random() < 0.6:
        given["deadline_seconds"] = least * float(rng.choice([1.001, 1.05, 1.3, 2.0, 5.0]))
    if rng.random() < 0.5:
        given["budget_usd"] = max(typical, 1e-3) * rng.uniform(0.3, 1.5)
    objective = str(rng.choice(["cost", "time"]))
    return Goal(**given, confidence=confidence, max_nodes=m, objective=objective)


def every_composition(law: MixLaw, market: Market, m: int, q: int):
    """All of up to q types of one executor shape, in whole numbers of nodes."""
    k = len(law.slots)
    ranges = [np.arange(int(most) + 1) for most in np.minimum(market.most, m)]
    counts = np.stack([grid.ravel() for grid in np.meshgrid(*ranges, indexing="ij")], axis=1)
    total = counts.sum(axis=1)
    counts = counts[(total > 0) & (total <= m)]
    types = np.arange(k) if market.share is None else market.share.types
    used = np.stack([(counts[:, types == t] > 0).any(axis=1) for t in np.unique(types)], axis=1)
    cores = np.unique(law.executor_cores)
    shapes = np.stack(
        [(counts[:, law.executor_cores == one] > 0).any(axis=1) for one in cores], axis=1
    )
    counts = counts[(used.sum(axis=1) <= q) & (shapes.sum(axis=1) == 1)]
    return np.tile(np.arange(k), (len(counts), 1)), counts


def a_case(rng: np.random.Generator):
    """A law, a market and a goal over it."""
    spot = rng.random() < 0.4
    k, m = (3, 4) if spot else (4, int(rng.integers(4, 7)))
    law = a_law(rng, k, m)
    market = a_market(rng, law, m)
    if spot:
        law, market = on_spot_too(rng, law, market)
    return law, market, a_goal(rng, law, market, m), m


def best_of(law: MixLaw, market: Market, goal: Goal, rows, counts) -> tuple[float, float]:
    """The best of all, and of one type: with that a search begins, where types are rented one
    way."""
    values = values_of(law, market, goal, rows, counts)
    alone = (counts > 0).sum(axis=1) == 1
    known = float(values[alone].min(initial=np.inf)) if market.share is None else np.inf
    return float(values.min(initial=np.inf)), known


@pytest.mark.parametrize("q", [1, 2, 3])
def test_nothing_is_better_whatever_binds(q: int) -> None:
    rng = np.random.default_rng([2026, q])
    met = 0
    for case in range(CASES):
        law, market, goal, m = a_case(rng)
        if q == 1 and market.share is None:
            continue
        rows, counts = every_composition(law, market, m, q)
        best, known = best_of(law, market, goal, rows, counts)
        found = Search(law, market, goal, q, value=known, effort=Effort(1e8)).run()
        assert found.optimal
        assert found.value == pytest.approx(best, rel=1e-8), case
        met += best < np.inf
        if found.rows is None:
            continue
        chosen, numbers = np.asarray([found.rows]), np.asarray([found.counts])
        assert float(values_of(law, market, goal, chosen, numbers)[0]) == found.value
    assert met > CASES // 10


@pytest.mark.parametrize("seed", range(3))
def test_a_search_that_ends_early_is_not_above_the_best(seed: int) -> None:
    rng = np.random.default_rng([11, seed])
    for _ in range(cases(10, deep=60)):
        law, market, goal, m = a_case(rng)
        rows, counts = every_composition(law, market, m, 3)
        best, known = best_of(law, market, goal, rows, counts)
        for limit in (0.0, 30_000.0, 100_000.0):
            found = Search(law, market, goal, 3, value=known, effort=Effort(limit)).run()
            assert found.bound <= best * (1 + 1e-9)
            assert found.value >= best * (1 - 1e-9)


def test_multipliers_never_lift_a_price_above_the_true_one() -> None:
    """For what keeps the limits, charges less the credit are never above zero."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        law, market, goal, m = a_case(rng)
        rows, counts = every_composition(law, market, m, 3)
        kept = market.constraints.allowed(rows, counts)
        if market.share is not None:
            kept &= market.share.allowed(rows, counts)
        limited = CountLimits.of(market, goal)
        multipliers = Multipliers(rng.uniform(0, 1), tuple(rng.uniform(0, 1, len(limited.caps))))
        charge, credit = multipliers.terms(market, goal)
        assert ((counts[kept] * charge[rows[kept]]).sum(axis=1) - credit <= 1e-9).all()


def test_windows_with_multipliers_are_those_made_anew() -> None:
    rng = np.random.default_rng(9)
    law, market, goal, _ = a_case(rng)
    low, high = np.asarray([2.0, 8.0]), np.asarray([8.0, 40.0])
    plain = Windows.of(market, goal, low, high, NodeTerms.of(law, market, 2))
    plain.lower_bound(plain.root, np.inf)
    charge, credit = Multipliers(0.0, (0.1,) * len(CountLimits.of(market, goal).caps)).terms(
        market, goal
    )
    node = plain.node.with_multipliers(market, charge, credit)
    anew = Windows.of(market, goal, low, high, node)
    assert plain.with_multipliers(node).lower_bound(anew.root, np.inf) == pytest.approx(
        anew.lower_bound(anew.root, np.inf)
    )


def test_where_nothing_may_be_looked_at_no_use_of_owned_nodes_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """They are thousands, of a millisecond each: twice the time of a search went to them."""
    rng, looked = np.random.default_rng(5), []
    search = _SearchGroup.search
    monkeypatch.setattr(
        _SearchGroup, "search", lambda *given: (looked.append(1), search(*given))[1]
    )
    for _ in range(cases(6, deep=20)):
        law, market, goal, m = a_case(rng)
        market = replace(market, owned=np.full(len(law.slots), 2))
        rows, counts = every_composition(law, market, m, 2)
        best, known = best_of(law, market, goal, rows, counts)
        whole = Search(law, market, goal, 2, value=known, effort=Effort(1e8)).run()
        looked.clear()
        found = Search(law, market, goal, 2, value=known, effort=Effort(0.0)).run()
        assert looked == []
        assert found.bound <= best * (1 + 1e-9)
        assert whole.value == pytest.approx(best, rel=1e-8)
