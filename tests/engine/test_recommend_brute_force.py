"""`recommend` as a user calls it, with all that may bind at once, against plain enumeration of
every composition and every way of renting it."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
import pytest
from depth import cases
from scipy.special import stdtr, stdtrit
from synthetic import DAY, catalog_of, model, offer

from engine.catalog import Billing
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Recommendation
from engine.errors import BadInput
from engine.mixing.compromises import CLOSE
from engine.optimiser import recommend

CASES = cases(24, deep=45)
VCPUS = {"a": 4, "b": 8, "c": 16}
"""Executors have four cores, so a node has as many slots as vCPUs."""

MASTER = 0.15


@dataclass(frozen=True)
class Case:
    """One question, in plain numbers: T of n nodes of type t is fixed[t] + work[t] / n."""

    fixed: dict[str, float]
    work: dict[str, float]
    price: dict[str, float]
    spot_price: dict[str, float | None]
    scale: dict[str, float]
    limits: Limits
    billing: Billing
    goal: dict[str, float | str | None]
    most_nodes: int
    mix: int

    @cached_property
    def compositions(self) -> list[dict[str, tuple[int, int]]]:
        """Type -> (nodes not at spot prices, nodes at spot prices), of all that may be rented."""
        owned, share = dict(self.limits.owned), self.limits.max_spot
        ways: list[list[tuple[int, int]]] = []
        for name in VCPUS:
            found = []
            for plain, spot in product(range(self.most_nodes + 1), repeat=2):
                if not self.billing.spot:
                    fits = not spot
                elif share is None:
                    fits = plain <= owned.get(name, 0) and (not spot or plain == owned.get(name, 0))
                else:
                    fits = True
                if spot and self.spot_price[name] is None:
                    fits = False
                if fits and plain + spot <= self.most_nodes:
                    found.append((plain, spot))
            ways.append(found)
        every = (dict(zip(VCPUS, chosen, strict=True)) for chosen in _of_few(ways, self.mix))
        nodes = ({name: pair for name, pair in all_of.items() if sum(pair)} for all_of in every)
        return [rented for rented in nodes if rented and self.allowed(rented)]

    def allowed(self, nodes: dict[str, tuple[int, int]]) -> bool:
        """Whether every limit is kept."""
        limits, count = self.limits, {name: sum(pair) for name, pair in nodes.items()}
        total, executors = sum(count.values()), sum(n * VCPUS[t] // 4 for t, n in count.items())
        fewest, most = limits.executors or (0, math.inf)
        spot = sum(pair[1] for pair in nodes.values())
        return (
            limits.min_nodes <= total <= self.most_nodes
            and sum(n * VCPUS[t] for t, n in count.items()) <= (limits.max_vcpus or math.inf)
            and fewest <= executors <= most
            and all(
                sum(n for t, n in count.items() if glob in ("*", t)) <= cap
                for glob, cap in limits.most
            )
            and (limits.max_spot is None or spot <= limits.max_spot * total + 1e-9)
        )

    def seconds(self, nodes: dict[str, tuple[int, int]]) -> float:
        """Each type by itself at the capacity of all, weighted with its share of it."""
        capacity = {name: sum(pair) * VCPUS[name] for name, pair in nodes.items()}
        total = sum(capacity.values())
        return sum(
            mine / total * (self.fixed[name] + self.work[name] * VCPUS[name] / total)
            for name, mine in capacity.items()
        )

    def cost(self, nodes: dict[str, tuple[int, int]]) -> float:
        owned, step = dict(self.limits.owned), self.billing.granularity_seconds
        ran = self.billing.startup_seconds + self.seconds(nodes)
        billed = max(self.billing.minimum_seconds, math.ceil(ran / step - 1e-9) * step)
        has_master = not (self.limits.owned_master and owned)
        hourly = MASTER if self.billing.master and has_master else 0.0
        for name, (plain, spot) in nodes.items():
            hourly += max(plain - owned.get(name, 0), 0) * self.price[name]
            hourly += spot * (self.spot_price[name] or 0.0)
        return hourly * billed / 3600.0

    def met(self, nodes: dict[str, tuple[int, int]]) -> bool:
        deadline, budget = self.goal["deadline_seconds"], self.goal["budget_usd"]
        if budget is not None and self.cost(nodes) > budget * (1.0 + 1e-9):
            return False
        return deadline is None or self.promised(nodes) <= deadline * (1.0 + 1e-12)

    def promised(self, nodes: dict[str, tuple[int, int]]) -> float:
        """The shortest deadline that is met at the confidence."""
        widest = max(self.scale[name] for name in nodes)
        return self.seconds(nodes) * math.exp(widest * stdtrit(9.0, self.goal["confidence"]))

    def probability(self, nodes: dict[str, tuple[int, int]], deadline: float) -> float:
        """How likely a deadline is met."""
        widest = max(self.scale[name] for name in nodes)
        return float(stdtr(9.0, math.log(deadline / self.seconds(nodes)) / widest))

    def excess(self, nodes: dict[str, tuple[int, int]]) -> float:
        """The largest ratio of what the goal limits to its limit."""
        deadline, budget = self.goal["deadline_seconds"], self.goal["budget_usd"]
        late = 0.0 if deadline is None else self.promised(nodes) / deadline
        return max(late, 0.0 if budget is None else self.cost(nodes) / budget)

    def value(self, nodes: dict[str, tuple[int, int]]) -> float:
        """What the goal asks for the least of."""
        objective = self.goal["objective"]
        alone = self.goal["budget_usd"] is not None and self.goal["deadline_seconds"] is None
        if objective == "resource-time":
            return self.seconds(nodes) * sum(sum(n) * VCPUS[t] for t, n in nodes.items())
        return self.seconds(nodes) if objective == "time" or (alone and not objective) else (
            self.cost(nodes)
        )  # fmt: skip

    def asked(self) -> Recommendation:
        """What the optimiser answers."""
        entries = [
            offer(
                name, self.price[name], vcpus=VCPUS[name], memory_gib=4.0 * VCPUS[name],
                spot=self.spot_price[name],
            )
            for name in VCPUS
        ]  # fmt: skip
        fitted = model(
            lambda name, nodes: self.fixed[name] + self.work[name] / nodes,
            log_scales=self.scale,
            dof=9.0,
        )
        catalog = catalog_of(*entries, offer("master", MASTER), billing=self.billing)
        return recommend(
            fitted, catalog=catalog, instances=list(VCPUS), max_nodes=self.most_nodes,
            mix=self.mix, limits=self.limits, today=DAY, **self.goal,
        )  # fmt: skip


def _of_few(ways: list[list[tuple[int, int]]], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    """The product of the ways to rent each type, of `most` types at a time."""
    if not ways:
        yield ()
        return
    for pair in ways[0]:
        left = most - any(pair)
        if left >= 0:
            yield from ((pair, *others) for others in _of_few(ways[1:], left))


def random_case(seed: int, *, mix: int, max_spot: bool) -> Case:
    rng = np.random.default_rng([seed, mix, max_spot])
    spot = max_spot or bool(rng.random() < 0.3)
    price = {t: n * float(rng.uniform(0.03, 0.06)) for t, n in VCPUS.items()}
    limits = random_limits(rng, max_spot=max_spot)
    kind = ["deadline", "budget", "both", "none"][int(rng.integers(0, 4))]
    objective = [None, "cost", "time", "resource-time"][int(rng.integers(0, 4))]
    if objective == "resource-time" and kind in ("budget", "both"):
        objective = None  # refused for mixes: the search knows one price
    case = Case(
        fixed={t: float(rng.uniform(0.0, 60.0)) for t in VCPUS},
        work={t: float(rng.uniform(6000.0, 10_000.0)) / n for t, n in VCPUS.items()},
        price=price,
        spot_price={
            t: usd * float(rng.uniform(0.3, 0.8)) if rng.random() < 0.7 else None
            for t, usd in price.items()
        }
        | {"a": 0.4 * price["a"]},
        scale={t: float(rng.choice([0.05, 0.2])) for t in VCPUS},
        limits=limits,
        billing=random_billing(rng, spot=spot),
        goal={
            "deadline_seconds": None,
            "budget_usd": None,
            "confidence": float(rng.uniform(0.55, 0.95)),
            "objective": objective,
        },
        most_nodes=5,
        mix=mix,
    )
    deadline, budget = float(rng.uniform(150.0, 900.0)), float(rng.uniform(0.02, 0.6))
    every = case.compositions
    if every and rng.random() < 0.6:  # what one of them just keeps
        deadline = case.promised(every[rng.integers(len(every))]) * (1.0 + 1e-13)
        budget = case.cost(every[rng.integers(len(every))]) * (1.0 + 1e-13) or budget
    goal = {
        "deadline_seconds": deadline if kind in ("deadline", "both") else None,
        "budget_usd": budget if kind in ("budget", "both") else None,
    }
    return replace(case, goal=case.goal | goal)


def random_limits(rng: np.random.Generator, *, max_spot: bool) -> Limits:
    return Limits(
        owned=tuple((t, int(rng.integers(1, 4))) for t in VCPUS if rng.random() < 0.4),
        most=tuple((t, int(rng.integers(1, 4))) for t in (*VCPUS, "*") if rng.random() < 0.2),
        max_vcpus=float(rng.integers(20, 60)) if rng.random() < 0.3 else None,
        min_nodes=int(rng.integers(1, 4)),
        executors=(int(rng.integers(0, 4)), int(rng.integers(6, 14)))
        if rng.random() < 0.3
        else None,
        max_spot=float(rng.choice([0.25, 0.5, 0.75])) if max_spot else None,
        owned_master=bool(rng.random() < 0.5),
    )


def random_billing(rng: np.random.Generator, *, spot: bool) -> Billing:
    return Billing(
        granularity_seconds=float(rng.choice([1.0, 60.0, 3600.0])),
        minimum_seconds=float(rng.choice([0.0, 600.0])),
        startup_seconds=float(rng.choice([0.0, 200.0])),
        master="master" if rng.random() < 0.5 else None,
        spot=spot,
    )


@pytest.mark.parametrize("max_spot", [False, True])
@pytest.mark.parametrize("mix", [1, 2])
def test_nothing_that_may_be_rented_is_better(mix: int, max_spot: bool) -> None:
    answered = missed = split = 0
    for seed in range(CASES):
        case = random_case(seed, mix=mix, max_spot=max_spot)
        open_to = [nodes for nodes in case.compositions if case.met(nodes)]
        try:
            answer = case.asked()
        except BadInput:
            assert not case.compositions, seed
            continue
        assert answer.optimal, seed
        best = answer.recommended
        if best is None:
            assert not open_to, seed
            missed += _is_nearest(case, answer)
            continue
        answered += 1
        nodes = {t: (n - best.spot.get(t, 0), best.spot.get(t, 0)) for t, n in
                 best.composition.items()}  # fmt: skip
        split += any(plain and spot for plain, spot in nodes.values())
        assert nodes in open_to, (seed, nodes)
        least = min(map(case.value, open_to))
        assert case.value(nodes) == pytest.approx(least, rel=1e-8), (seed, nodes)
        _as_told(case, answer, nodes)
    assert answered > CASES / 2
    assert missed
    assert split or not max_spot


def _is_nearest(case: Case, answer: Recommendation) -> bool:
    """No composition misses the goal by less than the nearest, to within a step of the search, and
    what is said of it is true. Whether there is one."""
    every = case.compositions
    if answer.nearest is None:
        assert not every
        return False
    near, miss = answer.nearest, answer.nearest_miss
    nodes = {t: (n - near.spot.get(t, 0), near.spot.get(t, 0)) for t, n in
             near.composition.items()}  # fmt: skip
    assert nodes in every
    excess = case.excess(nodes)
    assert 1.0 < excess <= min(map(case.excess, every)) * math.exp(1.01 * CLOSE), nodes
    deadline, budget = case.goal["deadline_seconds"], case.goal["budget_usd"]
    late = 0.0 if deadline is None else case.promised(nodes) - deadline
    over = 0.0 if budget is None else case.cost(nodes) - budget
    assert (miss.late_seconds or 0.0) == pytest.approx(max(late, 0.0), rel=1e-6, abs=1e-6)
    assert (miss.over_usd or 0.0) == pytest.approx(max(over, 0.0), rel=1e-6, abs=1e-9)
    if deadline is not None:
        assert near.p_deadline == pytest.approx(case.probability(nodes, deadline), abs=1e-6)
    return True


def _as_told(case: Case, answer: Recommendation, nodes: dict[str, tuple[int, int]]) -> None:
    """Time, cost, probability and what is owned are those of the composition."""
    best = answer.recommended
    assert best.seconds == pytest.approx(case.seconds(nodes), rel=1e-9)
    assert best.cost_usd == pytest.approx(case.cost(nodes), rel=1e-9)
    assert sum(best.cost.parts.values()) == pytest.approx(best.cost_usd)
    owned = dict(case.limits.owned)
    free = {t: min(plain, owned.get(t, 0)) for t, (plain, _) in nodes.items()}
    assert dict(best.cost.owned) == {t: n for t, n in free.items() if n}
    assert best.nodes == sum(map(sum, nodes.values()))
    assert best.executors == sum(sum(pair) * VCPUS[t] // 4 for t, pair in nodes.items())
    if case.goal["deadline_seconds"] is not None:
        assert best.p_deadline >= case.goal["confidence"] - 1e-9
