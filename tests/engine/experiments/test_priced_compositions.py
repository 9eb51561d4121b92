"""The compositions of a decision and their costs, against the prediction for each alone."""

from dataclasses import replace

import numpy as np
import pytest

from engine import fit, load_catalog, read
from engine.batch import ClusterBatch
from engine.choosing.recommendation import Goal
from engine.experiments.priced_compositions import (
    MAX_COMPOSITIONS,
    Scenario,
    could_be_best,
    priced_compositions,
)
from engine.mixing.composition import predict_composition
from engine.optimiser import surface_of

TYPES = ["m5.*", "c5.*"]


@pytest.mark.parametrize("spot", [False, True])
def test_each_costs_and_takes_what_it_does_alone(spot: bool) -> None:
    """Also at spot prices, where interruptions lengthen the time and widen its distribution."""
    fitted, catalog = fit(read("nightly-features"), model="optex"), load_catalog("aws")
    workload = fitted.profile.reference_workload
    surface = surface_of(fitted, catalog, workload=workload, instances=TYPES, max_nodes=8)
    nodes = (2, 3, 7)
    found = priced_compositions(
        fitted, surface=surface, instances=None, nodes=nodes, workload=workload,
        goal=Goal(300.0, None, 0.9, 8), billing=replace(catalog.billing, spot=spot),
    )  # fmt: skip
    assert {cluster.nodes for cluster in found.clusters} == set(nodes)
    batch = ClusterBatch.of(found.clusters, fitted.profile)
    undisturbed = np.asarray(fitted.forecast(batch, workload).seconds)
    seconds = undisturbed * np.exp(found.log_slowdown)
    assert spot == bool((found.log_slowdown > 1e-6).any())
    costs = found.usd(seconds, np.arange(len(found.clusters)))
    for place in range(0, len(found.clusters), 7):
        composition = found.clusters[place].composition
        alone = predict_composition(fitted, composition=composition, catalog=catalog, spot=spot)
        assert seconds[place] == pytest.approx(alone.choice.seconds, rel=1e-6)
        assert costs[place] == pytest.approx(alone.choice.cost_usd, rel=1e-6)
    split = found.fixed_usd(seconds) + found.usd_per_second * seconds
    assert split == pytest.approx(costs)


def nearest_first(seconds: float, cost: float, least: float, goal: Goal) -> tuple[bool, float]:
    """The rule of the documentation for one composition: what keeps the goal by what is to be the
    least, then the others by the larger of their ratios to the limits."""
    ratios = [seconds / goal.deadline_seconds] if goal.deadline_seconds else []
    ratios += [cost / goal.budget_usd] if goal.budget_usd else []
    missed = max(ratios, default=0.0)
    return (True, missed) if missed > 1.0 else (False, least)


@pytest.mark.parametrize("deadline", [None, 0.01, 1.0, 100.0])
@pytest.mark.parametrize("budget", [None, 0.01, 1.0, 100.0])
def test_of_one_scenario_the_best_take_part(deadline: float | None, budget: float | None) -> None:
    """Against sorting all of them, where some cannot be had; a limit that is just kept is kept."""
    rng = np.random.default_rng(7)
    seconds, cost = np.exp(rng.normal(size=(2, 400)))
    seconds[:5], cost[:5] = deadline or 1.0, budget or 1.0
    seconds[rng.random(400) < 0.1] = np.inf
    cost[rng.random(400) < 0.1] = np.inf
    goal = Goal(deadline, budget, 0.9, 8)
    places = list(could_be_best([Scenario(seconds, cost, cost)], goal))
    had = [i for i in range(400) if np.isfinite(seconds[i]) and np.isfinite(cost[i])]
    keys = {i: nearest_first(seconds[i], cost[i], cost[i], goal) for i in had}
    kept = [i for i in had if not keys[i][0]]
    wanted = sorted(kept or had, key=lambda i: keys[i])[:MAX_COMPOSITIONS]
    assert len(places) == len(wanted)
    assert [keys[i] for i in places] == pytest.approx([keys[i] for i in wanted])


def test_scenarios_take_turns() -> None:
    """What is safe and what would be best if all went well crowd neither other out."""
    n = 2 * MAX_COMPOSITIONS
    up, down = np.arange(1.0, n + 1.0), np.arange(n, 0.0, -1.0)
    goal = Goal(None, None, 0.9, 8)
    places = could_be_best([Scenario(up, up, up), Scenario(down, down, down)], goal)
    half = MAX_COMPOSITIONS // 2
    assert set(places) == {*range(half), *range(n - half, n)}
