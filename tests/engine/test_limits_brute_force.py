"""Everything that binds at once, against plain enumeration: quotas, families, owned nodes, bounds
of executors, least and most nodes, spot prices that are not known, a filter of types."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
import pytest
from scipy.special import stdtrit
from synthetic import TableModel, catalog_of, model, offer

from engine.catalog import Billing
from engine.choosing.candidates import Candidates, select_candidates
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Goal, Recommendation
from engine.choosing.surface import Surface
from engine.optimiser import select

MOST = 9
"""Nodes on the surface; goals may ask for fewer."""

NAMES = ("a", "b", "c")
VCPUS = {"a": 4.0, "b": 8.0, "c": 16.0}
EXECUTORS = {"a": 1, "b": 2, "c": 4}
"""Executors have four cores."""


@dataclass(frozen=True)
class Case:
    """One question, in plain numbers."""

    seconds: dict[str, list[float]]
    price: dict[str, float | None]
    scale: dict[str, float]
    limits: Limits
    goal: Goal
    billing: Billing
    kept: tuple[str, ...]

    def cost(self, name: str, nodes: int) -> float | None:
        """billed / 3600 x paid nodes x price; None where more nodes are paid for than have one."""
        paid = max(nodes - dict(self.limits.owned).get(name, 0), 0)
        if paid and self.price[name] is None:
            return None
        step = self.billing.granularity_seconds
        ran = self.billing.startup_seconds + self.seconds[name][nodes - 1]
        billed = max(self.billing.minimum_seconds, math.ceil(ran / step - 1e-9) * step)
        return billed / 3600.0 * paid * (self.price[name] or 0.0)

    def allowed(self, name: str, nodes: int) -> bool:
        """Whether every limit is kept."""
        limits = self.limits
        fewest, most = limits.executors or (0, math.inf)
        return (
            limits.min_nodes <= nodes <= self.goal.max_nodes
            and nodes * VCPUS[name] <= (limits.max_vcpus or math.inf)
            and fewest <= nodes * EXECUTORS[name] <= most
            and all(nodes <= cap for glob, cap in limits.most if glob in ("*", name))
        )

    def promised(self, name: str, nodes: int) -> float:
        """The shortest deadline that is met at the confidence."""
        sure = self.scale[name] * stdtrit(12.0, self.goal.confidence)
        return self.seconds[name][nodes - 1] * math.exp(0.0 if math.isnan(sure) else sure)

    def met(self, name: str, nodes: int) -> bool:
        cost, deadline, budget = self.cost(name, nodes), *self.bounds
        if cost is None or cost > budget * (1.0 + 1e-9):
            return False
        promised = self.promised(name, nodes)
        unsure = math.isnan(self.scale[name])
        return promised < deadline if unsure else promised <= deadline * (1.0 + 1e-14)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.goal.deadline_seconds or math.inf, self.goal.budget_usd or math.inf

    @property
    def points(self) -> list[tuple[str, int]]:
        """All that the limits allow and that has a price."""
        every = [(name, nodes) for name in self.kept for nodes in range(1, MOST + 1)]
        return [one for one in every if self.allowed(*one) and self.cost(*one) is not None]

    def miss(self, name: str, nodes: int) -> float:
        deadline, budget = self.bounds
        return max(self.promised(name, nodes) / deadline, self.cost(name, nodes) / budget)


def random_case(seed: int) -> Case:
    rng = np.random.default_rng(seed)
    law = {name: rng.uniform(300.0, 4000.0) for name in NAMES}
    drag = rng.choice([0.0, 20.0])
    seconds = {
        name: [law[name] / n + drag * n for n in range(1, MOST + 1)] for name in NAMES
    }  # fmt: skip
    spot = bool(rng.random() < 0.5)
    price = {
        name: None if spot and rng.random() < 0.4 else float(rng.uniform(0.1, 1.0))
        for name in NAMES
    }
    owned = tuple(
        (name, int(rng.integers(1, 5))) for name in NAMES if rng.random() < 0.35
    )  # fmt: skip
    most = tuple(
        (name, int(rng.integers(0, 7))) for name in (*NAMES, "*") if rng.random() < 0.25
    )  # fmt: skip
    limits = Limits(
        owned=owned,
        most=most,
        max_vcpus=float(rng.integers(16, 90)) if rng.random() < 0.4 else None,
        min_nodes=int(rng.integers(1, 4)),
        executors=(int(rng.integers(0, 5)), int(rng.integers(5, 20)))
        if rng.random() < 0.4
        else None,
    )
    goal = Goal(
        float(rng.uniform(60.0, 1500.0)) if rng.random() < 0.7 else None,
        float(rng.uniform(0.01, 1.0)) if rng.random() < 0.5 else None,
        float(rng.uniform(0.3, 0.95)),
        int(rng.integers(4, MOST + 1)),
        [None, "cost", "time"][int(rng.integers(0, 3))],
    )
    billing = Billing(
        granularity_seconds=float(rng.choice([1.0, 60.0, 3600.0])),
        minimum_seconds=float(rng.choice([0.0, 600.0])),
        startup_seconds=float(rng.choice([0.0, 200.0])),
        spot=spot,
    )
    kept = tuple(name for name in NAMES if rng.random() < 0.8) or NAMES
    scale = {name: float(rng.choice([0.05, 0.3, np.nan])) for name in NAMES}
    case = Case(seconds, price, scale, limits, goal, billing, kept)
    return _on_the_edge(case, rng) if seed % 2 else case


def _on_the_edge(case: Case, rng: np.random.Generator) -> Case:
    """With the deadline and the budget that some clusters just keep; without an interval a deadline
    that is the predicted time is not kept."""
    if not case.points:
        return case
    one, other = (case.points[rng.integers(len(case.points))] for _ in range(2))
    goal, slack = case.goal, 0.0 if math.isnan(case.scale[one[0]]) else 1e-13
    if goal.deadline_seconds is not None:
        goal = replace(goal, deadline_seconds=case.promised(*one) * (1.0 + slack))
    if goal.budget_usd is not None and case.cost(*other):
        goal = replace(goal, budget_usd=case.cost(*other) * (1.0 + 1e-13))
    return replace(case, goal=goal)


def surface_of(case: Case) -> tuple[Surface, Candidates]:
    """The surface of a case, and the candidates that it keeps."""
    entries = [
        offer(
            name,
            (None if case.billing.spot else case.price[name]) or 1.0,
            vcpus=VCPUS[name],
            memory_gib=4.0 * VCPUS[name],
            spot=case.price[name] if case.billing.spot else None,
        )
        for name in NAMES
    ]
    catalog = catalog_of(*entries, billing=case.billing)
    fitted: TableModel = model(
        lambda name, nodes: np.asarray(case.seconds[name])[nodes.astype(int) - 1],
        log_scales=case.scale,
        dof=12.0,
    )
    every = select_candidates(catalog, profile=fitted.profile, instances=["*"])
    assert [x.executors_per_node for x in every.layouts] == [EXECUTORS[name] for name in NAMES]
    kept = select_candidates(catalog, profile=fitted.profile, instances=case.kept)
    surface = Surface.build(fitted, every, max_nodes=MOST, limits=case.limits)
    return surface, every if case.kept == NAMES else kept


def answer_to(case: Case) -> Recommendation:
    surface, kept = surface_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a RuntimeWarning would reach the user's terminal
        answer = select(surface, case.goal, case.billing, candidates=kept)
        list(answer.alternatives)
        list(answer.frontier)
        list(answer.rejected)
    return answer


@pytest.mark.parametrize("block", range(8))
def test_against_brute_force_whatever_binds(block: int) -> None:
    for seed in range(40 * block, 40 * block + 40):
        case = random_case(seed)
        answer = answer_to(case)
        _same_winner(case, answer)
        _same_misses(case, answer)
        _same_frontier(case, answer)


def _same_winner(case: Case, answer: Recommendation) -> None:
    def key(point: tuple[str, int]) -> tuple[float, float, int, str]:
        values = (case.cost(*point), case.seconds[point[0]][point[1] - 1])
        first, second = values[::-1] if case.goal.by_time else values
        return (float(f"{first:.9g}"), float(f"{second:.9g}"), point[1], point[0])

    open_to = sorted((one for one in case.points if case.met(*one)), key=key)
    shown = [choice for choice in (answer.recommended, *answer.alternatives) if choice]
    found = [(choice.instance, choice.nodes) for choice in shown]
    best = [min(group, key=key) for _, group in groupby(sorted(open_to), key=lambda one: one[0])]
    assert found == sorted(best, key=key)
    for choice in shown:
        assert choice.cost_usd == pytest.approx(case.cost(choice.instance, choice.nodes))
        paid = choice.nodes - dict(choice.cost.owned).get(choice.instance, 0)
        owned = dict(case.limits.owned).get(choice.instance, 0)
        assert paid == max(choice.nodes - owned, 0)
        assert choice.spot == ({choice.instance: paid} if case.billing.spot and paid else {})


def _same_misses(case: Case, answer: Recommendation) -> None:
    least: dict[str, float] = {}
    for name, nodes in case.points:
        least[name] = min(least.get(name, math.inf), case.miss(name, nodes))
    met = {name for name, nodes in case.points if case.met(name, nodes)}
    rejected = {one.instance: one for one in answer.rejected}
    assert rejected.keys() == set(case.kept) - met
    for name, one in rejected.items():
        if name in least:
            if case.goal.deadline_seconds is not None:
                (nodes,) = one.composition.values()
                assert case.miss(name, nodes) == pytest.approx(least[name])
        elif any(case.allowed(name, nodes) for nodes in range(1, MOST + 1)):
            assert one.code == "no-spot-price"
        else:
            assert one.code == "limits"
    if met or not least:
        assert answer.nearest is None
    elif case.goal.deadline_seconds is not None:
        near = (answer.nearest.instance, answer.nearest.nodes)
        assert case.miss(*near) == pytest.approx(min(least.values()))


def _same_frontier(case: Case, answer: Recommendation) -> None:
    pairs = {(case.seconds[name][nodes - 1], case.cost(name, nodes)) for name, nodes in case.points}
    unbeaten = {
        one
        for one in pairs
        if not any(t <= one[0] and c <= one[1] * (1 + 1e-9) for t, c in pairs - {one})
    }
    found = [(choice.seconds, choice.cost_usd) for choice in answer.frontier]
    assert len(found) == len(unbeaten)
    for (seconds, cost), (t, c) in zip(found, sorted(unbeaten), strict=True):
        assert (seconds, cost) == (pytest.approx(t), pytest.approx(c))
