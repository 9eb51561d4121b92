"""Dominated types: of those that a model cannot tell apart all but the cheapest are left out."""

from dataclasses import replace

import numpy as np
import pytest
from depth import cases
from test_mix_search import goal_for, random_law, random_market, searched

from engine.catalog import Billing
from engine.choosing.limits import Constraints
from engine.choosing.recommendation import Goal
from engine.forecast import IntArray
from engine.mixing.market import Market, SpotShare, dominated
from engine.mixing.mix_law import MixLaw

CASES = cases(16, deep=80)
"""Random catalogs per goal."""

MOST = 6
"""Nodes of a cluster at most."""


def with_twins(rows: IntArray) -> MixLaw:
    """Three types, repeated."""
    law = random_law(np.random.default_rng(5), 3, MOST)
    return replace(law, log_scale=np.full((3, MOST), 0.1)).take(rows)


def a_market(rates: list[float]) -> Market:
    every = np.full(len(rates), MOST)
    return Market.of(np.asarray(rates), 0.0, Billing(), every)


GOAL = Goal(1e6, None, 0.5, MOST)


@pytest.mark.parametrize("kind", ["deadline", "budget", "both", "none", "time"])
def test_no_composition_is_better_where_types_are_the_same(kind: str) -> None:
    """Whatever binds some of them alone, against brute force over all."""
    rng = np.random.default_rng(ord(kind[0]))
    left_out = mixes_won = 0
    for _ in range(CASES):
        law = random_law(rng, 3, MOST).take(np.asarray([0, 1, 0, 2, 1]))
        market, goal = random_market(rng, law, MOST), goal_for(kind, rng, law, MOST)
        found = searched(law, market, goal, MOST, 2)
        left_out += int(dominated(law, market, goal, np.isfinite(market.rates)).sum())
        mixes_won += found.rows is not None
    assert left_out > CASES // 4
    assert mixes_won


def test_twins_are_the_same_in_all_that_the_law_knows() -> None:
    law = with_twins(np.asarray([0, 1, 0, 2, 1, 0]))
    assert law.identical_types.tolist() == [0, 1, 0, 3, 1, 0]
    unknown = replace(law, log_scale=np.full_like(law.log_scale, np.nan))
    assert unknown.identical_types.tolist() == law.identical_types.tolist()


@pytest.mark.parametrize("name", ["seconds", "log_scale", "dof", "scale_below"])
def test_types_that_differ_anywhere_are_no_twins(name: str) -> None:
    law = with_twins(np.asarray([0, 0, 0]))
    law = replace(law, scale_below=law.log_scale)
    table = getattr(law, name).copy()
    table[1, MOST // 2] *= 1.01
    assert replace(law, **{name: table}).identical_types.tolist() == [0, 1, 0]


@pytest.mark.parametrize(
    "name", ["slots", "speed", "executor_cores", "interruption_rates", "uninterruptible"]
)
def test_types_of_other_nodes_are_no_twins(name: str) -> None:
    law = with_twins(np.asarray([0, 0, 0]))
    law = replace(law, interruption_rates=np.zeros(3), uninterruptible=np.zeros(3, dtype=np.int64))
    values = getattr(law, name).copy()
    values[2] += 1
    assert replace(law, **{name: values}).identical_types.tolist() == [0, 0, 2]


def test_of_twins_the_cheapest_is_left_and_of_equal_ones_the_first() -> None:
    law, useful = with_twins(np.asarray([0, 1, 0, 0, 1])), np.ones(5, dtype=bool)
    market = a_market([0.3, 0.2, 0.1, 0.1, 0.2])
    assert dominated(law, market, GOAL, useful).tolist() == [True, False, False, True, True]
    useful[2] = False  # and only among those that may take part
    assert dominated(law, market, GOAL, useful).tolist() == [True, False, False, False, True]


def test_a_twin_stays_where_something_binds_the_cheaper_one() -> None:
    law, useful = with_twins(np.asarray([0, 0])), np.ones(2, dtype=bool)
    market = a_market([0.3, 0.1])
    assert dominated(law, market, GOAL, useful).tolist() == [True, False]
    for family in ([0.0, 1.0], [1.0, 1.0]):
        limits = Constraints(np.asarray([family]), np.asarray([3.0]), 1)
        limited = replace(market, constraints=limits, most=limits.most(MOST))
        assert dominated(law, limited, GOAL, useful)[0] == (family == [1.0, 1.0])
    few = replace(market, most=np.asarray([MOST, 2]))
    owned = replace(market, owned=np.asarray([1, 0]))
    share = SpotShare(np.asarray([0, 1]), np.zeros(2, dtype=bool), 0.5)
    for bound in (few, owned, replace(market, share=share)):
        assert not dominated(law, bound, GOAL, useful).any()
