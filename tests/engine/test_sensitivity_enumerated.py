"""What an answer hangs on for every objective, with and without intervals, against enumeration."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from depth import cases, values
from scipy.special import stdtrit
from synthetic import DAY, TableModel, catalog_of, offer, profile_on

from engine.batch import ClusterBatch
from engine.catalog import Billing
from engine.choosing.recommendation import Change, Recommendation
from engine.cluster import Workload
from engine.forecast import Forecast
from engine.optimiser import recommend
from engine.units import SECONDS_PER_HOUR

NODES = 10
PRICE = {"slow": 0.2, "fast": 1.1}
VCPUS = {"slow": 4, "fast": 16}
DOF = 7.0
EXACT = Billing(granularity_seconds=0.0, startup_seconds=60.0)


@dataclass(frozen=True, eq=False)
class Proportional(TableModel):
    """Times in proportion to the input, whether its bytes or its share of the largest is known."""

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        plain = super().forecast(batch, workload)
        times = (workload.input_bytes or 1e9) / 1e9 * (workload.scale or 1.0)
        return replace(plain, seconds=plain.seconds * times)


@dataclass(frozen=True)
class Small:
    """Two types on up to ten nodes, times a + b / n + c n, and a spread of log time."""

    laws: dict[str, tuple[float, float, float]]
    scale: float
    confidence: float = 0.8

    def seconds(self, name: str, n: int) -> float:
        a, b, c = self.laws[name]
        return a + b / n + c * n

    def promised(self, name: str, n: int) -> float:
        sure = 0.0 if math.isnan(self.scale) else self.scale * stdtrit(DOF, self.confidence)
        return self.seconds(name, n) * math.exp(sure)

    def cost(self, name: str, n: int) -> float:
        return n * PRICE[name] * (60.0 + self.seconds(name, n)) / 3600.0

    def resource(self, name: str, n: int) -> float:
        return n * VCPUS[name] * self.seconds(name, n)

    @property
    def points(self) -> list[tuple[str, int]]:
        return [(name, n) for name in PRICE for n in range(1, NODES + 1)]

    def least(self, by: str, *, deadline: float = math.inf, budget: float = math.inf) -> float:
        """The least cost, time or vcore-seconds within a deadline and a budget."""
        return min(
            (
                getattr(self, by)(*one)
                for one in self.points
                if self.in_time(one, deadline) and self.cost(*one) <= budget * (1 + 1e-9)
            ),
            default=math.inf,
        )

    def in_time(self, one: tuple[str, int], deadline: float) -> bool:
        promised = self.promised(*one)
        return promised < deadline if math.isnan(self.scale) else promised <= deadline * (1 + 1e-12)

    def ask(self, *, size: bool = True, **goal) -> Recommendation:
        entries = [
            offer(name, usd, vcpus=VCPUS[name], memory_gib=4.0 * VCPUS[name])
            for name, usd in PRICE.items()
        ]
        profile = profile_on()
        if not size:
            runs = (replace(profile.runs[0], workload=Workload(None)),)
            profile = replace(profile, runs=runs)

        def law(name: str, nodes: np.ndarray) -> np.ndarray:
            return np.asarray([self.seconds(name, int(n)) for n in nodes])

        fitted = Proportional("table", profile, law=law, log_scale=self.scale, dof=DOF)
        return recommend(
            fitted, catalog=catalog_of(*entries, billing=EXACT), instances=["*"],
            max_nodes=NODES, confidence=self.confidence, today=DAY, with_sensitivity=True, **goal,
        )  # fmt: skip


def random_small(seed: int, *, sure: bool) -> Small:
    rng = np.random.default_rng([seed, sure])
    laws = {
        "slow": (rng.uniform(5, 40), rng.uniform(2000, 4000), rng.uniform(0, 4)),
        "fast": (rng.uniform(5, 40), rng.uniform(400, 1000), rng.uniform(0, 4)),
    }
    return Small(laws, float(rng.uniform(0.05, 0.3)) if sure else math.nan)


def steps(small: Small, by: str, *, start: float, bound: str, **kept: float) -> list[float]:
    """The values of the next steps of a deadline or a budget: the very next one that is better, and
    then those that save 5 % more, three at most."""
    of = small.promised if bound == "deadline" else small.cost
    last, found = small.least(by, **{bound: start}, **kept), []
    for limit in sorted(of(*one) for one in small.points):
        value = small.least(by, **{bound: limit * (1 + 1e-9)}, **kept)
        if limit > start and value < last * (0.95 if found else 1 - 1e-9) and len(found) < 3:
            found.append(value)
            last = value
    return found


SEEDS = range(cases(4, deep=12))


@pytest.mark.parametrize("sure", [True, False])
@pytest.mark.parametrize("by", ["cost", "resource"])
def test_a_deadline_with_every_objective(by: str, sure: bool) -> None:
    named = {"cost": "cost", "resource": "resource-time"}[by]
    moved = 0
    for seed in SEEDS:
        small = random_small(seed, sure=sure)
        fastest = min(small.promised(*one) for one in small.points)
        deadline = fastest * (1.05 + 0.2 * (seed % 4))
        answer = small.ask(deadline_seconds=deadline, objective=named)
        best, found = answer.recommended, answer.sensitivity
        one = (best.instance, best.nodes)
        value = getattr(small, by)(*one)
        assert value == pytest.approx(small.least(by, deadline=deadline)), seed

        def of(change: Change) -> float:
            """The changed answer's value, told by the answer's own and what is saved."""
            (other,) = change.composition.items()
            saved = change.saved_usd if by == "cost" else change.saved_vcore_seconds
            assert value - saved == pytest.approx(getattr(small, by)(*other))  # noqa: B023
            assert change.seconds == pytest.approx(small.seconds(*other))  # noqa: B023
            assert change.promised == pytest.approx(small.promised(*other))  # noqa: B023
            return value - saved  # noqa: B023

        promised = small.promised(*one)
        assert found.least_deadline_seconds == pytest.approx(promised)
        assert found.least_budget_usd is None
        less = small.least(by, deadline=promised * (1 - 1e-6))
        assert (found.below is None) == math.isinf(less)
        if found.below is not None:
            assert of(found.below) == pytest.approx(less)
        later = small.least(by, deadline=deadline + SECONDS_PER_HOUR)
        assert (found.one_more_hour is None) == (later >= value * (1 - 1e-9))
        if found.one_more_hour is not None:
            assert of(found.one_more_hour) == pytest.approx(later)
        expected = steps(small, by, start=deadline, bound="deadline")
        assert [of(change) for change in found.looser] == pytest.approx(expected), seed
        moved += len(expected) > 1
        for change in found.looser:
            assert change.deadline_seconds == pytest.approx(change.promised)
        fast = small.least("seconds", budget=best.cost_usd + 1.0)
        assert (found.one_more_dollar is None) == (fast >= best.seconds * (1 - 1e-9))
        if found.one_more_dollar is not None:
            assert found.one_more_dollar.seconds == pytest.approx(fast)
    assert moved


@pytest.mark.parametrize("sure", [True, False])
def test_a_budget_whatever_the_deadline(sure: bool) -> None:
    moved = 0
    for seed in SEEDS:
        small = random_small(seed, sure=sure)
        cheapest = min(small.cost(*one) for one in small.points)
        budget = cheapest * (1.02 + 0.05 * (seed % 5))
        answer = small.ask(budget_usd=budget)
        best, found = answer.recommended, answer.sensitivity
        assert best.seconds == pytest.approx(small.least("seconds", budget=budget))
        expected = steps(small, "seconds", start=budget, bound="budget")
        assert [change.seconds for change in found.looser] == pytest.approx(expected), seed
        moved += len(expected) > 1
        dollar = small.least("seconds", budget=budget + 1.0)
        assert (found.one_more_dollar is None) == (dollar >= best.seconds * (1 - 1e-9))
        if found.one_more_dollar is not None:
            assert found.one_more_dollar.seconds == pytest.approx(dollar)
            assert found.one_more_dollar.saved_seconds == pytest.approx(best.seconds - dollar)
        assert (found.least_deadline_seconds, found.below) == (None, found.below_budget)
        assert found.least_budget_usd == pytest.approx(best.cost_usd)
        slower = small.least("seconds", budget=best.cost_usd * (1 - 1e-6))
        assert (found.below is None) == math.isinf(slower)
        if found.below is not None:
            assert found.below.seconds == pytest.approx(slower)
        for change in found.looser:
            assert change.budget_usd == pytest.approx(change.cost_usd)
        promised = small.promised(best.instance, best.nodes)
        hour = small.least("cost", deadline=promised + SECONDS_PER_HOUR, budget=budget)
        assert (found.one_more_hour is None) == (hour >= best.cost_usd * (1 - 1e-9))
    assert moved


@pytest.mark.parametrize(
    ("bound", "sure", "size"),
    values(
        ("deadline", True, False),
        ("budget", False, True),
        ("both", False, False),
        ("both", True, True),
        deep=[
            *(("deadline", sure, True) for sure in (True, False)),
            *(("budget", sure, False) for sure in (True, False)),
            ("deadline", False, False), ("budget", True, True),
            ("both", True, False), ("both", False, True),
        ],
    ),
)  # fmt: skip
def test_the_input_may_grow_until_the_first_limit_is_reached(
    bound: str, sure: bool, size: bool
) -> None:
    """Times are in proportion to it: so is what is promised, and the cost but for the start-up."""
    for seed in SEEDS:
        small = random_small(seed, sure=sure)
        goal = {}
        if bound != "budget":
            goal["deadline_seconds"] = 1.5 * min(small.promised(*one) for one in small.points)
        if bound != "deadline":
            goal["budget_usd"] = 3.0 * min(small.cost(*one) for one in small.points)
        answer = small.ask(size=size, **goal)
        if answer.recommended is None:
            continue
        one = (answer.recommended.instance, answer.recommended.nodes)
        room = []
        if bound != "budget":
            room.append(goal["deadline_seconds"] / small.promised(*one))
        if bound != "deadline":
            billed = 3600.0 * goal["budget_usd"] / (one[1] * PRICE[one[0]])
            room.append((billed - 60.0) / small.seconds(*one))
        assert answer.sensitivity.holds_until == pytest.approx(min(room), rel=2e-3), seed
        assert answer.sensitivity.holds_until <= min(room) * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(cases(2, deep=4)))
def test_a_step_of_a_mix_is_the_first_that_saves_so_much(seed: int) -> None:
    """Just before its deadline nothing is 5 % cheaper than the step before."""
    small = random_small(seed, sure=True)
    goal = {"deadline_seconds": 1.1 * min(small.promised(*one) for one in small.points), "mix": 2}
    answer = small.ask(**goal)
    last = answer.recommended.cost_usd
    assert answer.sensitivity.looser
    for step in answer.sensitivity.looser:
        assert step.cost_usd <= 0.95 * last * (1 + 1e-9)
        assert step.saved_usd == pytest.approx(answer.recommended.cost_usd - step.cost_usd)
        assert step.deadline_seconds == pytest.approx(step.promised)
        goal["deadline_seconds"] = step.deadline_seconds * (1 - 1e-6)
        assert small.ask(**goal).recommended.cost_usd > 0.95 * last * (1 - 1e-6)
        last = step.cost_usd


@pytest.mark.parametrize("sure", [True, False])
def test_what_is_cheaper_and_as_fast_as_anybody_could_tell(sure: bool) -> None:
    """Of the fastest at any price; with a deadline as well it is still in time."""
    as_fast = 0
    for seed in SEEDS:
        # From about seven nodes on another one hardly matters.
        small = random_small(seed, sure=sure)
        flat = {name: (fixed, 50.0 * more, more) for name, (fixed, _, more) in small.laws.items()}
        small = replace(small, laws=flat)
        answer = small.ask(budget_usd=1e6)
        best = answer.recommended
        near = [one for one in small.points if small.seconds(*one) <= 1.01 * best.seconds]
        cheapest = min(near, key=lambda one: small.cost(*one))
        named = answer.sensitivity.hardly_slower
        saves = small.cost(*cheapest) < 0.99 * best.cost_usd
        assert [named is not None, answer.hardly_slower is not None] == [saves, saves], seed
        if named is None or answer.hardly_slower is None:
            continue
        as_fast += 1
        assert named.composition == answer.hardly_slower.composition == dict([cheapest])
        assert named.saved_usd == pytest.approx(best.cost_usd - small.cost(*cheapest))
        just_late = small.promised(*cheapest) * (1.0 - 1e-6)
        late = small.ask(budget_usd=1e6, deadline_seconds=just_late, objective="time")
        assert late.recommended.composition == best.composition
        assert late.sensitivity.hardly_slower is None
    assert as_fast
