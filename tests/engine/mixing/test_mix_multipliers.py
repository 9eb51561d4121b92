"""Lagrange multipliers of limits: what they add to a price, and which are tried."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from engine.catalog import Billing
from engine.choosing.limits import Constraints
from engine.choosing.recommendation import Goal
from engine.mixing.market import Market, SpotShare
from engine.mixing.multipliers import (
    LOWER_LIMIT_SHARES,
    UPPER_LIMIT_SHARES,
    CountLimits,
    Multipliers,
    limit_multipliers,
    reachable_limits,
    spot_multipliers,
)


def limited_market(random: np.random.Generator, k: int, m: int) -> tuple[Market, Goal]:
    weights = np.stack([random.choice([2.0, 4.0, 8.0], k), random.integers(0, 2, k)])
    caps = np.asarray([random.uniform(4.0, 30.0), float(random.integers(0, 4))])
    constraints = Constraints(weights, caps, int(random.integers(1, 4)))
    market = Market(random.uniform(0.1, 1.0, k), 0.2, Billing(), np.full(k, m), constraints)
    spot = np.asarray([False, True] * k)[:k]
    market = replace(
        market, share=SpotShare(np.arange(k) // 2, spot, float(random.uniform(0.1, 0.9)))
    )
    return market, Goal(100.0, None, 0.9, m)


def test_no_multiplier_raises_the_price_of_what_keeps_the_limits() -> None:
    """Lagrange: what keeps them all is charged nothing in all; and what meets one to the last unit
    pays for it exactly what is given back."""
    random, m, k = np.random.default_rng(10), 5, 4
    kept = exact = 0
    for _ in range(30):
        market, goal = limited_market(random, k, m)
        limited = CountLimits.of(market, goal)
        counts = np.asarray([n for n in product(range(m + 1), repeat=k) if sum(n)])
        rows = np.tile(np.arange(k), (len(counts), 1))
        assert market.share is not None
        allowed = market.constraints.allowed(rows, counts) & (counts.sum(axis=1) <= m)
        under = counts @ limited.weights.T <= limited.caps + 1e-9
        assert (under.all(axis=1) == allowed).all()
        duals = tuple(random.uniform(0.0, 1.0, len(limited.caps)))
        by_limit, back = Multipliers(limits=duals).terms(market, goal)
        assert (counts @ by_limit - back)[allowed].max(initial=-1.0) <= 1e-9
        for row in range(len(limited.caps)):
            one = Multipliers(limits=tuple(np.eye(len(limited.caps))[row] * 0.7))
            charge, back = one.terms(market, goal)
            meets = counts @ limited.weights[row] == limited.caps[row]
            assert (counts @ charge - back)[meets] == pytest.approx(0.0, abs=1e-9)
            exact += int(meets.sum())
        for_spot, nothing = Multipliers(spot=0.5).terms(market, goal)
        shared = market.share.allowed(rows, counts)
        assert nothing == 0.0
        assert ((counts @ for_spot <= 1e-9) == shared).all()
        both, _ = Multipliers(0.5, duals).terms(market, goal)
        assert both == pytest.approx(by_limit + for_spot)
        kept += int(allowed.sum())
    assert kept > 100
    assert exact > 100


def test_savings_of_spot_nodes_are_tried_as_their_multiplier() -> None:
    """Of two types with both prices; the third can only be had at spot prices."""
    rates = np.asarray([1.0, 0.4, 2.0, 1.0, 0.5])
    share = SpotShare(
        np.asarray([0, 0, 1, 1, 2]), np.asarray([False, True, False, True, True]), 0.5
    )
    market = Market(rates, 0.0, Billing(), np.full(5, 4), share=share)
    tried = [one.spot for one in spot_multipliers(Multipliers(3.0, (7.0,)), market)]
    assert tried[:2] == [0.0, pytest.approx(0.6)]
    assert all(0.6 <= one < 1.0 for one in tried[1:])
    assert tried[1:] == sorted(set(tried[1:])), "each once"
    assert {one.limits for one in spot_multipliers(Multipliers(3.0, (7.0,)), market)} == {(7.0,)}
    alone = replace(share, types=np.arange(5))
    assert [one.spot for one in spot_multipliers(Multipliers(), replace(market, share=alone))] == [
        0.0
    ]
    for spot in (np.zeros(5, dtype=bool), np.ones(5, dtype=bool)):
        one_way = replace(market, share=replace(share, spot=spot))
        assert list(spot_multipliers(Multipliers(), one_way)) == []
    assert list(spot_multipliers(Multipliers(), replace(market, share=None))) == []


def test_multipliers_of_a_limit_are_in_prices_of_what_it_counts() -> None:
    """The median price of a unit that there may be too many of; the least of one too few."""
    weights = np.asarray([[4.0, 8.0, 0.0, 2.0], [0.0, 0.0, 0.0, 0.0], [1.0, 1.0, 1.0, 1.0]])
    caps = np.asarray([20.0, 3.0, np.inf])
    rates = np.asarray([1.0, 1.0, 5.0, np.inf])
    market = Market(rates, 0.0, Billing(), np.full(4, 9), Constraints(weights, caps, 2))
    goal = Goal(100.0, None, 0.9, 9)
    before = Multipliers(0.5, (1.0, 2.0, 3.0, 4.0, 5.0))

    def tried(row: int, charges: Multipliers = before) -> list[tuple[float, ...]]:
        found = list(limit_multipliers(charges, market, goal, row))
        assert {one.spot for one in found} <= {charges.spot}
        return [one.limits for one in found]

    by_median = [0.5 * (1.0 / 4.0 + 1.0 / 8.0) * share for share in UPPER_LIMIT_SHARES]
    assert tried(1) == [pytest.approx((1.0, cost, 3.0, 4.0, 5.0)) for cost in by_median]
    assert tried(2) == tried(3) == [], "it counts nothing that can be rented, or allows anything"
    assert tried(4) == [pytest.approx((1.0, 2.0, 3.0, 4.0, share)) for share in LOWER_LIMIT_SHARES]
    assert tried(0, Multipliers()) == [
        pytest.approx((share, 0, 0, 0, 0)) for share in UPPER_LIMIT_SHARES
    ]
    assert list(reachable_limits(market, goal, 9.0)) == [1, 2, 3, 4]
    assert list(reachable_limits(market, goal, 9.5)) == [0, 1, 2, 3, 4]
