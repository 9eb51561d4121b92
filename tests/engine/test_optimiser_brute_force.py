"""The optimiser against brute force, whatever binds at once: goals, prices and fees, plateaus and
gaps of the times, quotas, owned nodes, bounds of executors and nodes, a filter of types."""

import json
import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import NamedTuple

import numpy as np
import pytest
from depth import cases
from scipy.special import stdtrit
from synthetic import catalog_of, model, offer

from engine.catalog import Billing, Catalog, Offer, Price
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.candidates import Candidates
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Goal, Recommendation
from engine.choosing.selection import select
from engine.choosing.surface import Surface
from engine.cost import cost_usd
from engine.models.base import FittedModel
from engine.text.time_differences import format_time_difference
from engine.units import format_seconds

TOLERANCE = 1e-9


class Point(NamedTuple):
    """What a number of nodes of a type takes; `promised` is the shortest deadline that is met at
    the confidence, and has to lie below it where no interval says how sure that is."""

    seconds: float
    cost: float
    promised: float
    unsure: bool


class Brute:
    """Every composition in plain Python: the oracle of the optimiser."""

    def __init__(self, surface: Surface, goal: Goal, billing: Billing, kept: Candidates) -> None:
        self.goal, self.limits, self.billing, self.names = goal, surface.limits, billing, kept.names
        self.owned = dict(self.limits.owned)
        self.allowed: set[str] = set()
        self.points: dict[tuple[str, int], Point] = {}
        catalog, forecast = surface.candidates.catalog, surface.forecast
        for row, entry in enumerate(surface.candidates.offers):
            name, price = entry.instance.name, entry.spot if billing.spot else entry.on_demand
            for nodes in range(1, goal.max_nodes + 1):
                if name not in kept.names or not self.allows(name, nodes, entry.instance.vcpus):
                    continue
                self.allowed.add(name)
                place, paid = row * surface.max_nodes + nodes - 1, self.paid(name, nodes)
                seconds, scale = float(forecast.seconds[place]), float(forecast.log_scale[place])
                if not math.isfinite(seconds) or (paid and price is None):
                    continue
                cost = self.node_usd(entry, price, seconds, paid)
                if billing.master:
                    master = catalog.offer(billing.master)
                    cost += self.node_usd(master, master.on_demand, seconds, 1)
                sure = scale * stdtrit(min(float(forecast.dof[place]), 1e6), goal.confidence)
                promised = seconds * math.exp(0.0 if math.isnan(sure) else sure)
                self.points[name, nodes] = Point(seconds, cost, promised, math.isnan(scale))

    def node_usd(self, entry: Offer, price: Price | None, seconds: float, nodes: int) -> float:
        """What nodes of a type cost for so long, with the fee of the service: where it takes a
        share of the price at all, the type's own in place of it; per vCPU; and DBUs."""
        rules, fee = self.billing, 0.0
        if rules.surcharge_fraction:
            own, share = entry.surcharge, rules.surcharge_fraction * entry.on_demand.usd_per_hour
            fee = share if own is None else own.usd_per_hour
        fee += rules.surcharge_usd_per_vcpu_hour * entry.instance.vcpus
        fee += (rules.usd_per_dbu or 0.0) * entry.dbu_per_hour
        usd = price.usd_per_hour if price else 0.0
        return float(
            cost_usd(
                nodes=nodes,
                seconds=seconds,
                price_usd_per_hour=usd,
                service_usd_per_hour=fee,
                billing=rules,
            )
        )

    def paid(self, name: str, nodes: int) -> int:
        return max(nodes - self.owned.get(name, 0), 0)

    def allows(self, name: str, nodes: int, vcpus: float) -> bool:
        """Whether every limit is kept; executors have four cores."""
        limits = self.limits
        fewest, most = limits.executors or (0, math.inf)
        return (
            nodes >= limits.min_nodes
            and nodes * vcpus <= (limits.max_vcpus or math.inf)
            and fewest <= nodes * vcpus // 4 <= most
            and all(nodes <= cap for glob, cap in limits.most if glob in ("*", name))
        )

    def meets(self, point: Point) -> bool:
        deadline = self.goal.deadline_seconds or math.inf
        if point.cost > (self.goal.budget_usd or math.inf) * (1 + TOLERANCE):
            return False
        if point.unsure:
            return point.promised < deadline
        return point.promised <= deadline * (1 + 1e-14)

    def best_of_each_type(self) -> list[tuple[str, int]]:
        def key(at: tuple[str, int]) -> tuple[float, float, int, str]:
            values = (self.points[at].cost, self.points[at].seconds)
            first, second = values[::-1] if self.goal.by_time else values
            return (float(f"{first:.9g}"), float(f"{second:.9g}"), at[1], at[0])

        open_to = sorted(at for at, point in self.points.items() if self.meets(point))
        return sorted(
            (min(group, key=key) for _, group in groupby(open_to, lambda at: at[0])), key=key
        )

    def miss(self, point: Point) -> float:
        """How far from the goal: the time that can be promised over the deadline, the cost over
        the budget, or the larger of the two."""
        late = point.promised / (self.goal.deadline_seconds or math.inf)
        return max(late, point.cost / (self.goal.budget_usd or math.inf))

    def frontier(self) -> list[tuple[float, float]]:
        pairs = {point[:2] for point in self.points.values()}
        return sorted(
            (seconds, cost)
            for seconds, cost in pairs
            if not any(
                other_seconds <= seconds and other_cost <= cost * (1 + TOLERANCE)
                for other_seconds, other_cost in pairs - {(seconds, cost)}
            )
        )


def random_case(seed: int) -> tuple[Surface, Goal, Billing, Candidates]:
    """A small catalog, a model with plateaus, valleys, gaps and ties, a goal, a billing and limits;
    every second one lies where some clusters just keep the goal."""
    rng = np.random.default_rng(seed)
    names, m = [f"t{row}" for row in range(rng.integers(1, 6))], int(rng.integers(1, 12))
    catalog = random_catalog(rng, names, even=bool(seed % 3))
    fitted = random_model(rng, names, plateaus=seed % 4 == 0)
    limits = random_limits(rng, names) if rng.random() < 0.6 else Limits()
    every = select_candidates(catalog, profile=fitted.profile, instances=["*"])
    surface = Surface.build(fitted, every, max_nodes=m, limits=limits)
    kept = every
    if rng.random() < 0.3:
        chosen = [str(name) for name in rng.choice(names, int(rng.integers(1, len(names) + 1)))]
        kept = select_candidates(catalog, profile=fitted.profile, instances=chosen)
    billing = random_billing(rng)
    goal = Goal(
        some(rng, 0.7, float(rng.uniform(60, 1500))),
        some(rng, 0.6, float(rng.uniform(0.01, 0.6))),
        float(rng.choice([0.3, 0.5, 0.9, 0.99])),
        int(rng.integers(1, m + 1)),
        [None, "cost", "time"][int(rng.integers(0, 3))],
    )
    points = list(Brute(surface, goal, billing, kept).points.values())
    if seed % 2 and points:
        one, other = (points[rng.integers(len(points))] for _ in range(2))
        if goal.deadline_seconds is not None:
            slack = 0.0 if one.unsure else 1e-13
            goal = replace(goal, deadline_seconds=one.promised * (1.0 + slack))
        if goal.budget_usd is not None and other.cost:
            goal = replace(goal, budget_usd=other.cost * (1.0 + 1e-13))
    return surface, goal, billing, kept


def some(rng: np.random.Generator, share: float, value: object) -> object:
    """The value in that share of all cases, else None."""
    return value if rng.random() < share else None


def fee(rng: np.random.Generator) -> Price:
    usd = float(rng.choice([0.02, rng.uniform(0.005, 0.2)]))
    return replace(offer("any", 1.0).on_demand, usd_per_hour=usd)


def random_catalog(rng: np.random.Generator, names: Sequence[str], *, even: bool) -> Catalog:
    """A price of each type, `even` ones tie; and a master."""
    offers = []
    for name in names:
        usd = float(rng.choice([0.1, 0.2, 0.25, 0.4]) if even else rng.uniform(0.05, 1.0))
        vcpus, spot = float(rng.choice([4, 8, 16])), some(rng, 0.7, 0.3 * usd)
        one = offer(name, usd, vcpus=vcpus, memory_gib=4.0 * vcpus, spot=spot)
        dbus = float(rng.uniform(0.5, 4.0))
        offers.append(replace(one, dbu_per_hour=dbus, surcharge=some(rng, 0.6, fee(rng))))
    master = replace(offer("master", 0.1), dbu_per_hour=0.75, surcharge=some(rng, 0.6, fee(rng)))
    return catalog_of(*offers, master)


def random_model(rng: np.random.Generator, names: Sequence[str], *, plateaus: bool) -> FittedModel:
    speed = {name: float(rng.choice([1.0, 2.0, rng.uniform(0.5, 3)])) for name in names}
    overhead, drag = float(rng.choice([0.0, 0.0, 20.0, 60.0])), float(rng.choice([0.0, 0.0, 15.0]))
    missing = float(rng.choice([0.0, 0.1]))

    def law(name: str, nodes: np.ndarray) -> np.ndarray:
        seconds = overhead + 1000.0 / (nodes * speed.get(name, 1.0)) + drag * nodes
        if plateaus:
            seconds = np.maximum(np.ceil(seconds / 100.0) * 100.0, 200.0)
        holes = (np.arange(len(nodes)) * 7 + len(name)) % 10 < 10 * missing
        return np.where(holes & (nodes > 1), np.nan, seconds)

    scales = {name: float(rng.choice([0.0, 0.05, 0.2, 0.5, np.nan])) for name in names}
    return model(law, log_scales=scales, log_scale=0.1, dof=float(rng.choice([3.0, 7.0, np.inf])))


def random_limits(rng: np.random.Generator, names: Sequence[str]) -> Limits:
    return Limits(
        owned=tuple((name, int(rng.integers(1, 5))) for name in names if rng.random() < 0.35),
        most=tuple((glob, int(rng.integers(0, 7))) for glob in (*names, "*") if rng.random() < 0.2),
        max_vcpus=some(rng, 0.4, float(rng.integers(16, 90))),
        min_nodes=int(rng.integers(1, 4)),
        executors=some(rng, 0.4, (int(rng.integers(0, 5)), int(rng.integers(5, 20)))),
    )


def random_billing(rng: np.random.Generator) -> Billing:
    return Billing(
        granularity_seconds=float(rng.choice([0.0, 1.0, 60.0, 3600.0])),
        minimum_seconds=float(rng.choice([0.0, 60.0, 600.0])),
        startup_seconds=float(rng.choice([0.0, 210.0])),
        master=some(rng, 0.5, "master"),
        surcharge_fraction=float(rng.choice([0.0, 0.25])),
        surcharge_usd_per_vcpu_hour=float(rng.choice([0.0, 0.01, 0.05])),
        usd_per_dbu=some(rng, 0.3, 0.3),
        discount_fraction=float(rng.choice([0.0, 0.3])),
        spot=bool(rng.random() < 0.3),
    )


@pytest.mark.parametrize("block", range(cases(3, deep=8)))
def test_against_brute_force(block: int) -> None:
    outcomes = []
    for seed in range(80 * block, 80 * (block + 1)):
        surface, goal, billing, kept = random_case(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a RuntimeWarning would reach the user's terminal
            answer = select(surface, goal, billing, candidates=kept)
            json.dumps(answer.to_dict(), allow_nan=False)
        brute = Brute(surface, goal, billing, kept)
        check_winners(answer, brute, seed)
        check_misses(answer, brute, seed)
        check_reasons(answer)
        frontier = [(choice.seconds, choice.cost_usd) for choice in answer.frontier]
        expected = brute.frontier()
        assert len(frontier) == len(expected), seed
        np.testing.assert_allclose(frontier, expected, rtol=1e-11, err_msg=str(seed))
        outcomes.append(answer.recommended is not None)
    assert any(outcomes)
    assert not all(outcomes)


def check_winners(answer: Recommendation, brute: Brute, seed: int) -> None:
    """The best of every type that satisfies the goal, the best of all first, and what is paid."""
    shown = [choice for choice in (answer.recommended, *answer.alternatives) if choice]
    assert [(choice.instance, choice.nodes) for choice in shown] == brute.best_of_each_type(), seed
    for choice in shown:
        name, paid = choice.instance, brute.paid(choice.instance, choice.nodes)
        assert choice.cost_usd == pytest.approx(brute.points[name, choice.nodes].cost), seed
        if choice.low is not None:
            assert choice.low <= choice.seconds <= choice.high, seed
            assert choice.cost_low_usd <= choice.cost_usd <= choice.cost_high_usd, seed
        assert choice.nodes - dict(choice.cost.owned).get(name, 0) == paid, seed
        assert choice.spot == ({name: paid} if brute.billing.spot and paid else {}), seed


def check_misses(answer: Recommendation, brute: Brute, seed: int) -> None:
    """Each type is rejected at the number of nodes that misses the goal least, the least first."""
    satisfying = {name for name, _ in brute.best_of_each_type()}
    least: dict[str, float] = {}
    for (name, _), point in brute.points.items():
        least[name] = min(least.get(name, math.inf), brute.miss(point))
    told = []
    assert {entry.instance for entry in answer.rejected} == set(brute.names) - satisfying, seed
    for entry in answer.rejected:
        if entry.instance not in least:
            limited = entry.instance not in brute.allowed
            codes = ("limits",) if limited else ("no-spot-price", "no-prediction")
            assert entry.code in codes, seed
            continue
        ((name, nodes),) = (entry.composition or {}).items()
        told.append(brute.miss(brute.points[name, nodes]))
        assert told[-1] == pytest.approx(least[name], rel=TOLERANCE), seed
    assert told == pytest.approx(sorted(told), rel=TOLERANCE), seed
    assert len(told) == len(least.keys() - satisfying)
    if answer.recommended is None and told:
        nearest = answer.nearest
        assert nearest.instance == answer.rejected[0].instance
        miss = brute.miss(brute.points[nearest.instance, nearest.nodes])
        assert miss == pytest.approx(told[0], rel=TOLERANCE), seed
    else:
        assert answer.nearest is None


def check_reasons(answer: Recommendation) -> None:
    goal = answer.goal
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
            deadline = goal.deadline_seconds or 0.0
            least = 0.01 * deadline if "%" in entry.reason else 0.0
            by = format_time_difference(
                entry.late_seconds, of_seconds=deadline + entry.late_seconds
            )
            if entry.late_seconds < least:
                by = f"less than {format_seconds(float(f'{least:.2g}'), figures=2)}"
            assert f"by {by}" in entry.reason
    if goal.budget_usd is None:
        lateness = [entry.late_seconds for entry in answer.rejected if entry.late_seconds]
        assert lateness == sorted(lateness)
