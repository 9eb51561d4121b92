"""The optimiser against brute force."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from optimised import surface_of
from scipy.special import stdtrit
from synthetic import catalog_of, model, offer

from engine.catalog import Billing
from engine.choosing.candidates import select_candidates
from engine.choosing.recommendation import Goal, Recommendation
from engine.choosing.surface import Surface
from engine.cost import cost_usd, service_rate
from engine.optimiser import select
from engine.units import format_seconds

TOLERANCE = 1e-9


class Brute:
    """Every composition in plain Python: the oracle of the optimiser."""

    def __init__(self, surface: Surface, goal: Goal, billing: Billing, names: set[str]) -> None:
        self.goal, self.points = goal, []
        catalog = surface.candidates.catalog
        master = catalog.offer(billing.master) if billing.master else None
        for row, entry in enumerate(surface.candidates.offers):
            price = entry.spot if billing.spot else entry.on_demand
            if entry.instance.name not in names or price is None:
                continue
            for nodes in range(1, goal.max_nodes + 1):
                place = row * surface.max_nodes + nodes - 1
                seconds = float(surface.forecast.seconds[place])
                if not math.isfinite(seconds):
                    continue
                cost = float(
                    cost_usd(
                        nodes=nodes,
                        seconds=seconds,
                        price_usd_per_hour=price.usd_per_hour,
                        on_demand_usd_per_hour=entry.on_demand.usd_per_hour,
                        service_usd_per_hour=service_rate(entry, billing),
                        master=master,
                        billing=billing,
                    )
                )
                scale = float(surface.forecast.log_scale[place])
                dof = float(surface.forecast.dof[place])
                self.points.append((entry.instance.name, nodes, seconds, cost, scale, dof))

    def meets(self, point: tuple[str, int, float, float, float, float]) -> bool:
        _, _, seconds, cost, scale, dof = point
        if self.goal.budget_usd is not None and cost > self.goal.budget_usd * (1 + TOLERANCE):
            return False
        deadline = self.goal.deadline_seconds
        if deadline is None:
            return True
        if math.isnan(scale):
            return seconds < deadline
        return seconds * math.exp(scale * stdtrit(min(dof, 1e6), self.goal.confidence)) <= deadline

    def best(self) -> tuple[str, int] | None:
        feasible = [point for point in self.points if self.meets(point)]
        if not feasible:
            return None
        first, second = (2, 3) if self.goal.by_time else (3, 2)
        lowest = min(point[first] for point in feasible)
        tied = [point for point in feasible if point[first] <= lowest * (1 + TOLERANCE)]
        winner = min(tied, key=lambda point: (round(point[second], 9), point[1], point[0]))
        return winner[0], winner[1]

    def miss(self, point: tuple[str, int, float, float, float, float]) -> float:
        """How far from the goal: the time that can be promised over the deadline, the cost over
        the budget, or the larger of the two."""
        _, _, seconds, cost, scale, dof = point
        deadline, budget = self.goal.deadline_seconds, self.goal.budget_usd
        sure = 0.0 if math.isnan(scale) else scale * stdtrit(min(dof, 1e6), self.goal.confidence)
        late = 0.0 if deadline is None else seconds * math.exp(sure) / deadline
        return max(late, 0.0 if budget is None else cost / budget)

    def least_misses(self) -> dict[str, float]:
        """Each type that never satisfies the goal, by how little it misses it."""
        least: dict[str, float] = {}
        for point in self.points:
            least[point[0]] = min(least.get(point[0], math.inf), self.miss(point))
        return {name: least[name] for name in least.keys() - self.satisfying_types()}

    def satisfying_types(self) -> set[str]:
        return {point[0] for point in self.points if self.meets(point)}

    def frontier(self) -> set[tuple[float, float]]:
        pairs = {(point[2], point[3]) for point in self.points}
        return {
            (seconds, cost)
            for seconds, cost in pairs
            if not any(
                other_seconds <= seconds and other_cost <= cost * (1 + TOLERANCE)
                for other_seconds, other_cost in pairs - {(seconds, cost)}
            )
        }


def random_case(seed: int) -> tuple[Surface, Goal, Billing, set[str]]:
    """A small catalog, a model with plateaus, valleys, gaps and ties, a goal and a billing."""
    rng = np.random.default_rng(seed)
    k, m = int(rng.integers(1, 6)), int(rng.integers(1, 12))
    prices = rng.choice([0.1, 0.2, 0.25, 0.4], k) if seed % 3 else rng.uniform(0.05, 1.0, k)
    offers = [
        offer(
            f"t{row}",
            float(price),
            spot=float(price * 0.3) if rng.random() < 0.7 else None,
        )
        for row, price in enumerate(prices)
    ]
    fees = np.random.default_rng([seed, 1])
    offers = [
        replace(
            one,
            instance=replace(one.instance, vcpus=float(fees.choice([4, 8, 16]))),
            dbu_per_hour=float(fees.uniform(0.5, 4.0)),
        )
        for one in offers
    ]
    catalog = catalog_of(*offers, replace(offer("master", 0.1), dbu_per_hour=0.75))
    speed = {f"t{row}": float(rng.choice([1.0, 2.0, rng.uniform(0.5, 3)])) for row in range(k)}
    overhead = float(rng.choice([0.0, 0.0, 20.0, 60.0]))
    drag = float(rng.choice([0.0, 0.0, 15.0]))
    missing = float(rng.choice([0.0, 0.1]))

    def law(name: str, nodes: np.ndarray) -> np.ndarray:
        seconds = overhead + 1000.0 / (nodes * speed.get(name, 1.0)) + drag * nodes
        if seed % 4 == 0:
            seconds = np.maximum(np.ceil(seconds / 100.0) * 100.0, 200.0)
        holes = (np.arange(len(nodes)) * 7 + len(name)) % 10 < 10 * missing
        return np.where(holes & (nodes > 1), np.nan, seconds)

    scales = {f"t{row}": float(rng.choice([0.0, 0.05, 0.2, 0.5, np.nan])) for row in range(k)}
    fitted = model(law, log_scales=scales, log_scale=0.1, dof=float(rng.choice([3.0, 7.0, np.inf])))
    surface = surface_of(fitted, catalog, m)
    billing = Billing(
        granularity_seconds=float(rng.choice([0.0, 1.0, 60.0, 3600.0])),
        minimum_seconds=float(rng.choice([0.0, 60.0, 600.0])),
        startup_seconds=float(rng.choice([0.0, 210.0])),
        master="master" if rng.random() < 0.5 else None,
        surcharge_fraction=float(rng.choice([0.0, 0.25])),
        surcharge_usd_per_vcpu_hour=float(fees.choice([0.0, 0.01, 0.05])),
        usd_per_dbu=0.3 if fees.random() < 0.3 else None,
        discount_fraction=float(rng.choice([0.0, 0.3])),
        spot=bool(rng.random() < 0.3),
    )
    deadline = float(rng.uniform(60, 1500)) if rng.random() < 0.7 else None
    budget = float(rng.uniform(0.01, 0.6)) if rng.random() < 0.6 else None
    if seed % 4 == 0 and deadline is not None:
        deadline = math.ceil(deadline / 100.0) * 100.0
    goal = Goal(deadline, budget, float(rng.choice([0.5, 0.9, 0.99])), int(rng.integers(1, m + 1)))
    names = set(surface.candidates.names)
    if rng.random() < 0.3:
        names = set(rng.choice(sorted(names), int(rng.integers(1, len(names) + 1)), replace=False))
    return surface, goal, billing, {str(name) for name in names}


@pytest.mark.parametrize("block", range(8))
def test_against_brute_force(block: int) -> None:
    outcomes = []
    for seed in range(60 * block, 60 * (block + 1)):
        surface, goal, billing, names = random_case(seed)
        candidates = surface.candidates
        if names != set(candidates.names):
            profile = surface.fitted.profile
            candidates = select_candidates(
                candidates.catalog, profile=profile, instances=sorted(names)
            )
        answer = select(surface, goal, billing, candidates=candidates)
        brute = Brute(surface, goal, billing, names)
        best = answer.recommended
        found = None if best is None else (best.instance, best.nodes)
        assert found == brute.best(), seed
        outcomes.append(found is not None)
        listed = {choice.instance for choice in answer.alternatives}
        assert len(listed) == len(answer.alternatives)
        assert listed | {best.instance if best else None} - {None} == brute.satisfying_types()
        assert {entry.instance for entry in answer.rejected} == names - brute.satisfying_types()
        frontier = [(choice.seconds, choice.cost_usd) for choice in answer.frontier]
        assert frontier == sorted(frontier)
        expected = sorted(brute.frontier())
        assert len(frontier) == len(expected), seed
        np.testing.assert_allclose(frontier, expected, rtol=1e-11, err_msg=str(seed))
        check_order_and_reasons(answer)
        check_misses(answer, brute, seed)
    assert any(outcomes)
    assert not all(outcomes)


def check_misses(answer: Recommendation, brute: Brute, seed: int) -> None:
    """Each type is rejected at the number of nodes that misses the goal least, the least first."""
    least, at = brute.least_misses(), {point[:2]: point for point in brute.points}
    told = []
    for entry in answer.rejected:
        if entry.instance not in least:
            assert entry.code in ("no-spot-price", "no-prediction"), seed
            continue
        ((name, nodes),) = (entry.composition or {}).items()
        told.append(brute.miss(at[name, nodes]))
        assert told[-1] == pytest.approx(least[name], rel=TOLERANCE), seed
    assert told == pytest.approx(sorted(told), rel=TOLERANCE), seed
    assert len(told) == len(least)
    if answer.recommended is None and told:
        assert answer.nearest is not None
        nearest = at[str(answer.nearest.instance), int(answer.nearest.nodes or 0)]
        assert brute.miss(nearest) == pytest.approx(told[0], rel=TOLERANCE), seed


def check_order_and_reasons(answer: Recommendation) -> None:
    goal = answer.goal
    for one, two in pairwise(answer.alternatives):
        if goal.by_time:
            assert one.seconds <= two.seconds * (1 + TOLERANCE)
        else:
            assert one.cost_usd is not None
            assert two.cost_usd is not None
            assert one.cost_usd <= two.cost_usd * (1 + TOLERANCE)
    if answer.recommended is None and answer.nearest is not None:
        assert answer.nearest.instance == answer.rejected[0].instance
    for entry in answer.rejected:
        late, over = entry.late_seconds is not None, entry.over_usd is not None
        assert {
            (True, False): "deadline",
            (False, True): "budget",
            (True, True): "deadline-and-budget",
        }.get((late, over), entry.code) == entry.code
        assert ("deadline" in entry.reason) == late
        assert ("over budget" in entry.reason) == over
        if entry.late_seconds is not None and entry.late_seconds >= 0.001:
            least = 0.01 * (goal.deadline_seconds or 0.0) if " with " in entry.reason else 0.0
            told = max(least, entry.late_seconds)
            by = format_seconds(float(f"{told:.2g}"), figures=2)
            assert f"by {'less than ' * (entry.late_seconds < least)}{by}" in entry.reason
    if goal.budget_usd is None:
        lateness = [entry.late_seconds for entry in answer.rejected if entry.late_seconds]
        assert lateness == sorted(lateness)
    json.dumps(answer.to_dict(), allow_nan=False)
