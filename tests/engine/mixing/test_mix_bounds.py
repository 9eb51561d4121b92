"""Bounds of mixes, as low as they may be and no lower: a bound that is too low loses no answer,
but all the time that it was to save."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from test_mix_search import KINDS, goal_for, random_law, random_market

from engine.catalog import Billing
from engine.choosing.recommendation import Goal
from engine.forecast import FloatArray, IntArray
from engine.mixing.bound_terms import NodeTerms, OwnedNodes
from engine.mixing.bounds import Windows
from engine.mixing.effort import Effort
from engine.mixing.hulls import FixedPart, hull_chains, vertices_of
from engine.mixing.market import Market, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.search_tree import SearchTree


def on_hull(price: FloatArray, other: FloatArray, row: int) -> bool:
    """Whether no point and no way between two others lies as low left as a point."""
    x, y = price[row], other[row]
    rest = [u for u in range(len(price)) if u != row and np.isfinite(other[u])]
    if not np.isfinite(y) or any(price[u] <= x and other[u] <= y for u in rest):
        return False
    for a, b in product(rest, repeat=2):
        if price[a] < x < price[b]:
            share = (x - price[a]) / (price[b] - price[a])
            if other[a] + share * (other[b] - other[a]) <= y:
                return False
    return True


def test_a_chain_holds_the_corners_of_the_hull_and_nothing_else() -> None:
    random = np.random.default_rng(1)
    for _ in range(40):
        k = int(random.integers(1, 9))
        price = random.permutation(20)[:k] / 4.0
        other = np.round(random.uniform(0.0, 5.0, (k, 6)), 3)
        other[random.random(other.shape) < 0.2] = np.inf
        for column, chain in enumerate(hull_chains(price, other).tolist()):
            wanted = [row for row in range(k) if on_hull(price, other[:, column], row)]
            wanted.sort(key=price.__getitem__)
            if wanted:
                repeated = [wanted[-1]] * (len(chain) - len(wanted))
                assert chain == wanted + repeated


def test_hulls_are_lower_left_and_convex() -> None:
    rng = np.random.default_rng(3)
    price, other = rng.uniform(1, 2, 40), rng.uniform(1, 2, (40, 5))
    for column, chain in enumerate(hull_chains(price, other)):
        rows = list(dict.fromkeys(chain.tolist()))
        for weight in np.linspace(0.0, 1.0, 21):
            score = weight * price + (1.0 - weight) * other[:, column]
            assert score[rows].min() == pytest.approx(score.min())


def test_of_equal_prices_the_lower_one_is_on_the_hull() -> None:
    price = np.asarray([1.0, 1.0, 2.0, 2.0])
    other = np.asarray([[5.0], [4.0], [3.0], [1.0]])
    (chain,) = hull_chains(price, other).tolist()
    assert chain[-1] == 3
    assert {1, 3} <= set(chain) <= {0, 1, 3}


def test_the_least_corner_is_the_least_of_all_compositions() -> None:
    """Against compositions of three types on a fine grid of capacities and shares."""
    random, met = np.random.default_rng(2), 0
    steps = np.linspace(0.0, 1.0, 41)
    shares = np.asarray([(a, b, 1.0 - a - b) for a, b in product(steps, steps) if a + b <= 1.0])
    for case in range(60):
        price, other = random.uniform(1.0, 3.0, 3), random.uniform(1.0, 3.0, 3)
        fixed = random.uniform(0.0, 4.0, 3) if case % 3 else np.zeros(3)
        low = float(random.uniform(max(fixed[1], 1.0), 5.0))
        high = low * float(random.uniform(1.0, 2.5))
        most, slope = random.uniform(1.2, 2.8), float(random.choice([0.0, 0.5]))

        def over(a: FloatArray, b: FloatArray, slope=slope, most=most) -> FloatArray:
            return b + slope * a - most * (1.0 + slope)

        size = np.linspace(low, high, 41)[:, None]
        rest = size - fixed[1]
        a = (fixed[0] + rest * (shares @ price)) / size
        b = (fixed[2] + rest * (shares @ other)) / size
        inside = over(a, b) <= 0.0
        (chain,) = hull_chains(price, other[:, None])
        members = price[chain][:, None], other[chain][:, None]
        ends = np.asarray([low]), np.asarray([high])
        with np.errstate(invalid="ignore", divide="ignore"):
            found = vertices_of(FixedPart(*fixed[:, None]), ends, *members, over)
        kept = np.isfinite(found.capacity)
        at_price, at_other, at_size = found.price[kept], found.other[kept], found.capacity[kept]
        assert ((low <= at_size) & (at_size <= high)).all()
        least = float((at_price * at_other).min(initial=np.inf))
        if not inside.any():
            continue
        met += not inside.all()
        assert least == pytest.approx((a * b)[inside].min(), rel=0.04)
        for power in (0.0, 0.1, 0.5, 0.9, 1.0):  # all of them are quasi-concave
            sampled = (a**power * b ** (1.0 - power))[inside].min()
            bound = (at_price**power * at_other ** (1.0 - power)).min()
            assert bound <= sampled * (1.0 + 1e-9)
        assert (at_price * at_size).min() <= (a * size)[inside].min() * (1.0 + 1e-9)
        assert over(at_price, at_other).max() <= 1e-9
    assert met > 10


def points(law: MixLaw, m: int) -> tuple[FloatArray, FloatArray]:
    """(m,) counts and capacities of clusters of the first type."""
    counts = np.arange(1.0, m + 1.0)
    return counts, counts * law.capacity[0]


@pytest.mark.parametrize("kind", KINDS)
def test_in_a_window_of_one_composition_the_bound_is_its_value(kind: str) -> None:
    """One type, windows of one capacity each: nothing is left to be bounded."""
    random, m, met = np.random.default_rng(ord(kind[0])), 6, 0
    for _ in range(80):
        law = random_law(random, 1, m)
        market = random_market(random, law, m)
        # Steps of a second are left to what is looked at: they cost next to nothing.
        steps = float(random.choice([0.0, 60.0, 600.0]))
        billing = replace(market.billing, granularity_seconds=steps)
        rates = np.where(np.isfinite(market.rates), market.rates, 0.3)
        market = Market(rates, market.master_rate, billing, np.asarray([m]))
        goal = goal_for(kind, random, law, m)
        counts, sizes = points(law, m)
        windows = Windows.of(market, goal, sizes, sizes, NodeTerms.of(law, market, 1))
        rows, column = np.zeros((m, 1), dtype=np.int64), counts.astype(np.int64)[:, None]
        values = values_of(law, market, goal, rows, column)
        # Without an interval a deadline must be undercut, which no bound knows to the last digit.
        assert windows.lower_bound(windows.root, np.inf) == pytest.approx(values, rel=1e-6)
        parts = windows.with_one(windows.root, rows[:, 0], column[:, 0])
        assert windows.lower_bound_complete(parts) == pytest.approx(values, rel=1e-6)
        assert windows.lower_bound(parts, np.inf) == pytest.approx(values, rel=1e-6)
        if goal.deadline_seconds is not None and not goal.by_time and not steps:
            # Both bounds of the cost, of which the larger counts: either is exact here.
            known = np.isfinite(values)
            with np.errstate(invalid="ignore", divide="ignore"):
                cost = windows.least_cost(windows.root)[known]
                in_time = windows.least_cost_in_time(windows.root)[known]
            assert in_time == pytest.approx(cost)
            if billing.minimum_seconds == 0.0:
                assert cost == pytest.approx(values[known])
        met += np.isfinite(values).any()
    assert met > 20


def test_no_cost_bound_is_above_a_cluster_of_types_of_unlike_spread() -> None:
    """Clusters of one type too: the widest spread of a window is not that of all in it."""
    random, m, met = np.random.default_rng(23), 5, 0
    for _ in range(40):
        law = replace(random_law(random, 3, m), executor_cores=np.full(3, 4))
        scale = np.repeat(random.permutation([0.02, 0.2, 0.6])[:, None], m, axis=1)
        law = replace(law, log_scale=scale, dof=np.full((3, m), 9.0))
        market = Market(law.slots * random.uniform(0.02, 0.08, 3), 0.1, Billing(), np.full(3, m))
        goal = Goal(float(np.quantile(law.seconds[np.isfinite(law.seconds)], 0.7)), None, 0.9, m)
        counts = np.asarray([n for n in product(range(m + 1), repeat=3) if 0 < sum(n) <= m])
        rows = np.tile(np.arange(3), (len(counts), 1))
        values = values_of(law, market, goal, rows, counts)
        sizes = counts @ law.capacity
        ends = np.geomspace(0.999 * sizes.min(), 1.001 * sizes.max(), 30)
        windows = Windows.of(market, goal, ends[:-1], ends[1:], NodeTerms.of(law, market, 3))
        floors = windows.lower_bound(windows.root, np.inf)
        place = np.searchsorted(ends, sizes) - 1
        assert (floors[place] <= values * (1.0 + 1e-9)).all()
        met += np.isfinite(values).sum()
    assert met > 100


def test_a_type_of_which_no_node_may_be_rented_lowers_no_bound() -> None:
    random, m = np.random.default_rng(21), 6
    for _ in range(20):
        law = random_law(random, 2, m)
        rates = np.asarray([0.3, 0.001])
        billing = Billing(granularity_seconds=0.0, startup_seconds=90.0)
        goal = goal_for("none", random, law, m)
        sizes = points(law, m)[1]
        floors = []
        for most in ([m, 0], [m, m]):
            market = Market(rates, 0.0, billing, np.asarray(most))
            windows = Windows.of(market, goal, sizes, sizes, NodeTerms.of(law, market, 2))
            floors.append(windows.lower_bound(windows.root, np.inf))
        rows = np.zeros((m, 1), dtype=np.int64)
        values = values_of(law, market, goal, rows, np.arange(1, m + 1)[:, None])
        assert floors[0] == pytest.approx(values, rel=1e-6)
        assert (floors[1] <= floors[0] * (1.0 + 1e-9)).all()


def test_windows_with_other_prices_or_owned_nodes_are_those_made_with_them() -> None:
    """Also after they were asked, when what both would work out alike is kept."""
    random, finite = np.random.default_rng(22), 0
    for kind in KINDS * 4:
        tree, _ = small_tree(random, kind)
        before, market = tree.windows, tree.market
        before.lower_bound(before.root, np.inf)
        node = before.node.with_multipliers(market, random.uniform(-0.05, 0.2, 3), 0.05)
        start = OwnedNodes((1,), (2,), (1,))
        found = before.with_multipliers(node).with_owned_nodes(start)
        fresh = Windows.of(market, tree.goal, before.low, before.high, node, start)
        for one, other in (
            (found, fresh),
            (before.with_multipliers(node), replace(fresh, owned_nodes=OwnedNodes())),
        ):
            floors = one.lower_bound(one.root, np.inf)
            assert floors == pytest.approx(other.lower_bound(other.root, np.inf))
            finite += np.isfinite(floors).sum()
            row, nodes = np.zeros(len(one), dtype=np.int64), np.ones(len(one), dtype=np.int64)
            parts, same = (w.with_one(w.root, row, nodes) for w in (one, other))
            assert one.lower_bound(parts, np.inf) == pytest.approx(other.lower_bound(same, np.inf))
    assert finite > 100


def test_owned_nodes_are_not_paid_for_in_the_bound() -> None:
    random, m = np.random.default_rng(7), 6
    for own, kind in product((1, 3), KINDS):
        law = random_law(random, 1, m)
        head, billing = float(random.choice([0.0, 0.2])), Billing(granularity_seconds=60.0)
        market = Market(np.asarray([0.3]), head, billing, np.asarray([m]))
        goal = goal_for(kind, random, law, m)
        start = OwnedNodes((0,), (own,), (0,))
        counts, sizes = points(law, m)
        node = NodeTerms.of(law, market, 1)
        windows = Windows.of(market, goal, sizes, sizes, node).with_owned_nodes(start)
        rows, column = np.zeros((m, 1), dtype=np.int64), counts.astype(np.int64)[:, None]
        values = values_of(law, replace(market, owned=np.asarray([own])), goal, rows, column)
        found = windows.lower_bound(windows.root, np.inf)
        assert found[own - 1 :] == pytest.approx(values[own - 1 :], rel=1e-6)
        assert np.isinf(found[: own - 1]).all(), "they hold more than so small a window"
        whole = windows.lower_bound_complete(windows.root)
        assert whole[own - 1] == pytest.approx(values[own - 1], rel=1e-6)


def small_tree(random: np.random.Generator, kind: str) -> tuple[SearchTree, MixLaw]:
    """Three types in windows over all capacities, none of which ends at a composition's."""
    law, m = replace(random_law(random, 3, 5), executor_cores=np.full(3, 4)), 5
    rates = law.slots * random.uniform(0.02, 0.08, 3)
    most = random.integers(0, m + 1, 3)
    billing = Billing(startup_seconds=float(random.choice([0.0, 90.0])))
    market = Market(rates, 0.1, billing, most)
    goal = goal_for(kind, random, law, m)
    ends = np.geomspace(0.9937 * law.capacity.min(), 1.0071 * m * law.capacity.max(), 12)
    windows = Windows.of(market, goal, ends[:-1], ends[1:], NodeTerms.of(law, market, 3))
    return SearchTree(market, goal, windows, windows.node, np.inf, Effort(np.inf), 3), law


def held_by(types: IntArray, numbers: IntArray) -> list[tuple[int, ...]]:
    """Nodes of each of three types, of compositions in which a type may come twice."""
    found = np.zeros((len(types), 3), dtype=np.int64)
    np.add.at(found, (np.arange(len(types))[:, None], types), numbers)
    return [tuple(one) for one in found.tolist()]


def test_a_tree_holds_each_composition_below_its_target_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And none that its own bound already rules out."""
    random, seen, spared = np.random.default_rng(8), 0, 0
    for kind in KINDS * 6:
        tree, law = small_tree(random, kind)
        every = [n for n in product(range(6), repeat=3) if sum(n) <= 5 and np.count_nonzero(n) > 1]
        every = [n for n in every if (np.asarray(n) <= tree.market.most).all()]
        if not every:
            continue
        counts, rows = np.asarray(every), np.tile(np.arange(3), (len(every), 1))
        values = values_of(law, tree.market, tree.goal, rows, counts)
        if not np.isfinite(values).any():
            continue
        tree.target = float(np.quantile(values[np.isfinite(values)], 0.4)) * 1.0001
        found = [held for part in tree.compositions() for held in held_by(*part)]
        below = {n for n, value in zip(every, values.tolist(), strict=True) if value < tree.target}
        assert len(found) == len(set(found)), kind
        assert below <= set(found) <= set(every), kind
        monkeypatch.setattr("engine.mixing.search_tree.MAX_PAIRS", 4)
        pieces = [held for part in tree.compositions() for held in held_by(*part)]
        monkeypatch.undo()
        assert sorted(pieces) == sorted(found), "a few at a time they are the same"
        seen, spared = seen + len(below), spared + len(every) - len(found)
    assert seen > 100
    assert spared > 100


@pytest.mark.parametrize("most_types", [1, 2])
def test_a_tree_under_owned_nodes_holds_what_uses_them(most_types: int) -> None:
    """One or two nodes of the first type, alone, with more of it, or with those of other types."""
    random, alone, more = np.random.default_rng(18), 0, 0
    for kind in KINDS * 6:
        tree, law = small_tree(random, kind)
        node = NodeTerms.of(law, tree.market, most_types)
        windows = replace(tree.windows, node=node).with_owned_nodes(OwnedNodes((0,), (1,), (1,)))
        most = tree.market.most + np.asarray([2, 0, 0])
        every = [n for n in product(range(6), repeat=3) if n[0] and sum(n) <= 5]
        every = [n for n in every if np.count_nonzero(n) <= most_types]
        counts = np.asarray([n for n in every if (np.asarray(n) <= most).all()])
        rows = np.tile(np.arange(3), (len(counts), 1))
        market = replace(tree.market, owned=np.asarray([2, 0, 0]), most=most)
        values = values_of(law, market, tree.goal, rows, counts)
        if not np.isfinite(values).any():
            continue
        target = float(np.quantile(values[np.isfinite(values)], 0.5)) * 1.0001
        whole = SearchTree(
            tree.market, tree.goal, windows, node, target, Effort(np.inf), most_types
        )
        found = [(*row, *n) for part in whole.compositions() for row, n in zip(*part, strict=True)]
        assert len(found) == len(set(found)), kind
        held = {one for part in whole.compositions() for one in held_by(*part)}
        below = {tuple(n) for n in counts[values < target].tolist()}
        assert below <= held, kind
        assert all(n[0] and sum(n) <= 5 and np.count_nonzero(n) <= most_types for n in held)
        alone += sum(n[0] <= 2 and not any(n[1:]) for n in below)
        more += sum(n[0] > 2 or any(n[1:]) for n in below)
    assert alone > 10
    assert more > 10


def test_as_many_nodes_fit_as_keep_the_bound_below_the_target() -> None:
    """Against a count one by one, for each type in each window."""
    random, most = np.random.default_rng(9), 0
    for kind in KINDS * 4:
        tree, _ = small_tree(random, kind)
        windows = tree.windows
        floor = windows.lower_bound(windows.root, np.inf)
        if not np.isfinite(floor).any():
            continue
        tree.target = float(floor.min()) * float(random.choice([1.2, 2.0]))
        wanted = np.zeros((3, len(windows)), dtype=np.int64)
        for row, place in product(range(3), range(len(windows))):
            for nodes in range(1, int(tree.market.most[row]) + 1):
                part = windows.root.take(np.asarray([place]))
                whole = windows.with_one(part, np.asarray([row]), np.asarray([nodes]))
                if not windows.lower_bound(whole, tree.target)[0] < tree.target:
                    break
                wanted[row, place] = nodes
        assert (tree.max_fitting == wanted).all()
        total = wanted.sum(axis=1)[tree.ranked]
        assert (total > 0).all()
        assert (np.diff(total) >= 0).all(), "types of which few fit come first"
        most = max(most, int(wanted.max()))
    assert most == 5
