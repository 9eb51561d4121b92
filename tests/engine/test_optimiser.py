from __future__ import annotations

import json
import math
from dataclasses import replace
from datetime import date
from itertools import pairwise

import numpy as np
import pytest
from scipy.special import stdtrit
from synthetic import DAY, TableModel, catalog_of, model, offer, profile_on

from engine.batch import ClusterBatch
from engine.candidates import select_candidates
from engine.catalog import Billing, Catalog
from engine.catalog_file import load_catalog
from engine.choices import missed_by
from engine.cluster import Workload
from engine.cost import cost_usd, service_rate
from engine.errors import BadInput, UnknownName
from engine.forecast import Forecast
from engine.optimiser import Goal, Recommendation, Surface, recommend, select
from engine.profile import Notice
from engine.units import format_seconds

TOLERANCE = 1e-9


def surface_of(fitted: TableModel, catalog: Catalog, max_nodes: int) -> Surface:
    candidates = select_candidates(catalog, profile=fitted.profile, instances=["*"])
    return Surface.build(fitted, candidates, max_nodes=max_nodes)


# ---- brute force ---------------------------------------------------------------------------


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

    def satisfying_types(self) -> set[str]:
        return {point[0] for point in self.points if self.meets(point)}

    def frontier(self) -> set[tuple[float, float]]:
        pairs = {(point[2], point[3]) for point in self.points}
        return {
            (seconds, cost)
            for seconds, cost in pairs
            if not any(
                other_seconds <= seconds and other_cost <= cost
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
    assert any(outcomes)
    assert not all(outcomes)


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
            two_digits = float(f"{entry.late_seconds:.2g}")
            assert f"by {format_seconds(two_digits)}" in entry.reason
    if goal.budget_usd is None:
        lateness = [entry.late_seconds for entry in answer.rejected if entry.late_seconds]
        assert lateness == sorted(lateness)
    json.dumps(answer.to_dict(), allow_nan=False)


# ---- what each goal means ------------------------------------------------------------------

SLOW = offer("slow", 0.1)
FAST = offer("fast", 0.5)
TWO = catalog_of(SLOW, FAST)


def two_law(name: str, nodes: np.ndarray) -> np.ndarray:
    return 3600.0 / nodes ** (0.9 if name == "slow" else 1.0) / (4.0 if name == "fast" else 1.0)


def test_a_deadline_takes_the_cheapest_that_meets_it() -> None:
    answer = recommend(model(two_law), catalog=TWO, deadline_seconds=1000.0, max_nodes=8)
    best = answer.recommended
    assert best is not None
    assert best.composition == {"slow": 5}
    assert best.p_deadline is None
    assert best.low is None
    assert [notice.code for notice in answer.warnings] == ["no-interval"]
    assert answer.optimal
    assert answer.evaluated == 16
    assert [choice.composition for choice in answer.alternatives] == [{"fast": 6}]


def stepped(name: str, nodes: np.ndarray) -> np.ndarray:
    return np.select([nodes == 1, nodes == 2], [1000.0, 500.0], 400.0)


def test_without_an_interval_the_deadline_is_strict() -> None:
    """OptEx Eq. 9: T < SLO."""
    fitted = model(stepped)
    answer = recommend(fitted, catalog=catalog_of(SLOW), deadline_seconds=500.0, max_nodes=10)
    assert answer.recommended is not None
    assert answer.recommended.nodes == 3, "two nodes take exactly 500 s"


def test_an_exact_model_meets_the_deadline_it_equals() -> None:
    fitted = model(stepped, log_scale=0.0)
    answer = recommend(fitted, catalog=catalog_of(SLOW), deadline_seconds=500.0, max_nodes=10)
    assert answer.recommended is not None
    assert (answer.recommended.nodes, answer.recommended.p_deadline) == (2, 1.0)


def test_confidence_asks_for_more_nodes() -> None:
    fitted = model(lambda name, nodes: 3600.0 / nodes**0.9, log_scale=0.2, dof=5)
    sure = [
        recommend(
            fitted, catalog=catalog_of(SLOW), deadline_seconds=600.0, confidence=confidence
        ).recommended
        for confidence in (0.5, 0.9, 0.99)
    ]
    counts = [choice.nodes for choice in sure if choice]
    assert counts == sorted(set(counts))
    for choice, confidence in zip(sure, (0.5, 0.9, 0.99), strict=True):
        assert choice is not None
        assert choice.p_deadline is not None
        assert choice.p_deadline >= confidence
        assert choice.low is not None
        assert choice.high is not None
        assert choice.low <= choice.seconds <= choice.high
        assert choice.cost_low_usd <= choice.cost_usd <= choice.cost_high_usd


def test_a_budget_takes_the_fastest_within_it() -> None:
    answer = recommend(model(two_law), catalog=TWO, budget_usd=0.126, max_nodes=8)
    best = answer.recommended
    assert best is not None
    assert best.composition == {"fast": 8}
    assert best.p_deadline is None
    tight = recommend(model(two_law), catalog=TWO, budget_usd=0.11, max_nodes=8)
    assert tight.recommended is not None
    assert tight.recommended.composition == {"slow": 2}
    assert tight.recommended.why == (
        "one node fewer takes 27m 51s longer",
        "3 × slow is the next faster (22m 19s) but over budget by $0.00167",
    )
    assert [entry.instance for entry in tight.rejected] == ["fast"]
    assert tight.rejected[0].code == "budget"
    assert tight.rejected[0].reason.startswith("over budget by $0.015")


def test_a_budget_may_be_met_to_the_cent() -> None:
    """Ernest 6.3: an hour on 64 machines at 0.35 costs 22.4, and OptEx I at 0.1403."""
    fitted = model(lambda name, nodes: np.full(len(nodes), 3600.0) - nodes)
    exact = Billing(granularity_seconds=0.0)
    for price, nodes in ((0.35, 64), (0.1403, 30), (0.1, 3)):
        catalog = catalog_of(offer("a", price), billing=exact)
        budget = nodes * price * (3600 - nodes) / 3600
        answer = recommend(fitted, catalog=catalog, budget_usd=budget, max_nodes=100)
        assert answer.recommended is not None
        assert answer.recommended.nodes == nodes


def test_both_bind() -> None:
    answer = recommend(
        model(two_law), catalog=TWO, deadline_seconds=1000.0, budget_usd=0.12, max_nodes=8
    )
    assert answer.recommended is not None
    assert answer.recommended.composition == {"slow": 5}
    none = recommend(
        model(two_law), catalog=TWO, deadline_seconds=300.0, budget_usd=0.1, max_nodes=4
    )
    assert none.recommended is None
    assert {entry.code for entry in none.rejected} <= {"deadline-and-budget", "budget", "deadline"}


def test_without_a_goal_the_cheapest_wins() -> None:
    answer = recommend(model(two_law), catalog=TWO, max_nodes=8)
    assert answer.recommended is not None
    assert answer.recommended.composition == {"slow": 1}
    assert answer.rejected[:] == ()
    assert answer.warnings == ()


def test_the_nearest_miss_keeps_every_constraint() -> None:
    answer = recommend(
        model(two_law, log_scale=0.1), catalog=TWO, deadline_seconds=60.0, max_nodes=8
    )
    assert answer.recommended is None
    assert answer.nearest is not None
    assert answer.nearest.composition == {"fast": 8}
    assert answer.nearest.p_deadline is not None
    assert answer.nearest.p_deadline < 0.9
    by_type = {entry.instance: entry for entry in answer.rejected}
    assert by_type["fast"].composition == {"fast": 8}
    assert by_type["fast"].reason == "misses the deadline by 1m 08s with 90 % at 8 nodes"
    assert by_type["fast"].late_seconds == pytest.approx(
        112.5 * math.exp(0.1 * 1.2815516) - 60, rel=1e-4
    )
    assert by_type["slow"].composition == {"slow": 8}
    assert len(answer.alternatives) == 0


def test_a_miss_by_doubt_alone_is_told_alike() -> None:
    fitted = model(lambda name, nodes: 100.0 / nodes, log_scale=0.5)
    answer = recommend(fitted, catalog=catalog_of(SLOW), deadline_seconds=60.0, max_nodes=2)
    assert answer.recommended is None
    assert answer.rejected[0].reason == "misses the deadline by 35 s with 90 % at 2 nodes"
    assert answer.rejected[0].late_seconds == pytest.approx(
        50 * math.exp(0.5 * 1.2815516) - 60, rel=1e-4
    )


def test_misses_go_by_what_they_say() -> None:
    """The slower type may be the surer one: its miss is the smaller, and comes first."""
    fitted = model(
        lambda name, nodes: (110.0 if name == "slow" else 90.0) / nodes,
        log_scales={"slow": 0.01, "fast": 0.5},
    )
    answer = recommend(fitted, catalog=TWO, deadline_seconds=50.0, max_nodes=1)
    assert [entry.instance for entry in answer.rejected] == ["slow", "fast"]
    assert answer.nearest is not None
    assert answer.nearest.instance == "slow"


@pytest.mark.parametrize(
    ("late", "confidence", "said"),
    [
        (5.664, 0.9, "misses the deadline by 5.7 s with 90 %"),
        (443.0, 0.9, "misses the deadline by 7m 20s with 90 %"),
        (83.0, 0.999, "misses the deadline by 1m 23s with 99.9 %"),
        (83.0, 0.9999999, "misses the deadline by 1m 23s with 99.99999 %"),
        (1e-9, 0.9, "misses the deadline by less than 1 ms with 90 %"),
        (83.0, None, "misses the deadline by 1m 23s"),
        (0.0, None, "takes all of the time up to the deadline"),
    ],
)
def test_how_late_in_words(late: float, confidence: float | None, said: str) -> None:
    assert missed_by(late, confidence) == said


def test_ties_go_to_the_faster_then_fewer_nodes_then_the_name() -> None:
    linear = model(lambda name, nodes: 1000.0 / nodes)
    exact = catalog_of(SLOW, billing=Billing(granularity_seconds=0.0))
    answer = recommend(linear, catalog=exact, max_nodes=7)
    assert answer.recommended is not None
    assert answer.recommended.nodes == 7, "all cost the same, seven are the fastest"
    flat = model(lambda name, nodes: np.full(len(nodes), 100.0))
    twins = catalog_of(offer("b", 0.1), offer("a", 0.1), offer("half", 0.05))
    answer = recommend(flat, catalog=twins, instances=["a", "b"], max_nodes=3)
    assert answer.recommended is not None
    assert answer.recommended.composition == {"a": 1}
    sized = model(lambda name, nodes: 100.0 / (nodes * (0.5 if name == "half" else 1.0)))
    equal = recommend(sized, catalog=replace(twins, billing=exact.billing), budget_usd=1.0)
    assert equal.recommended is not None
    assert equal.recommended.composition == {"a": 64}


def test_why_it_won() -> None:
    fitted = model(two_law, log_scale=0.1)
    answer = recommend(fitted, catalog=TWO, deadline_seconds=1000.0, max_nodes=8)
    best = answer.recommended
    assert best is not None
    assert best.composition == {"slow": 5}
    assert best.why == (
        "one node fewer misses the deadline in 63 % of runs",
        "the next best type, 6 × fast, costs $0.0075 more",
    )


def test_a_choice_says_everything() -> None:
    warned = Notice("cache-does-not-fit", "the cache does not fit", "more nodes")
    fitted = model(two_law, log_scale=0.1, warned=(warned,), profile=profile_on(SLOW.instance))
    answer = recommend(fitted, catalog=TWO, deadline_seconds=1000.0, max_nodes=8, today=DAY)
    best, other = answer.recommended, answer.alternatives[0]
    assert best is not None
    assert best.warnings == (warned,)
    assert [notice.code for notice in other.warnings] == ["no-cpu-score"]
    assert best.layout is not None
    assert best.executors == 5 * best.layout.executors_per_node
    assert best.vcore_seconds == pytest.approx(best.seconds * best.executors * 4)
    assert (best.note, other.note) == ("measured type", "no CPU score")
    assert best.cost is not None
    assert best.cost_usd == pytest.approx(best.cost.total_usd)


def test_the_next_cheaper_may_be_of_another_type() -> None:
    fitted = model(lambda name, nodes: np.full(len(nodes), 100.0 if name == "fast" else 400.0))
    answer = recommend(fitted, catalog=TWO, deadline_seconds=150.0, max_nodes=2)
    assert answer.recommended is not None
    assert answer.recommended.why == (
        "1 × slow is the next cheaper ($0.0111) but misses the deadline by 4m 10s",
    )


def test_notes_tell_how_the_speed_came_about() -> None:
    scored = catalog_of(offer("a", 0.1, cpu_score=4e4), offer("b", 0.1, cpu_score=5e4))
    known = model(two_law, profile=profile_on(scored.offer("a").instance))
    notes = {
        choice.instance: choice.note
        for answer in [recommend(known, catalog=scored)]
        for choice in [answer.recommended, *answer.alternatives]
        if choice
    }
    assert notes == {"a": "measured type", "b": "speed transferred"}
    unknown = recommend(model(two_law), catalog=scored)
    assert unknown.recommended is not None
    assert unknown.recommended.note == "source type unknown"


# ---- prices --------------------------------------------------------------------------------


def test_spot_prices_are_labelled_and_types_without_one_rejected() -> None:
    catalog = catalog_of(offer("a", 0.1, spot=0.03), offer("b", 0.1))
    answer = recommend(model(two_law), catalog=catalog, spot=True, today=DAY)
    assert answer.recommended is not None
    assert answer.recommended.instance == "a"
    codes = [notice.code for notice in answer.recommended.warnings]
    assert codes == ["estimated-price", "spot-interruptions"]
    assert [(entry.instance, entry.code) for entry in answer.rejected] == [("b", "no-spot-price")]
    assert answer.recommended.cost is not None
    assert answer.recommended.cost.assumptions[0].startswith("price estimated")


def test_only_types_without_a_spot_price() -> None:
    answer = recommend(model(two_law), catalog=TWO, spot=True, deadline_seconds=10.0)
    assert answer.recommended is None
    assert answer.nearest is None
    assert {entry.code for entry in answer.rejected} == {"no-spot-price"}
    assert len(answer.frontier) == 0


@pytest.mark.parametrize(
    ("today", "historic", "codes"),
    [
        (date(2026, 12, 1), False, []),
        (date(2027, 3, 1), False, ["old-price"]),
        (date(2027, 3, 1), True, []),
    ],
)
def test_old_prices(today: date, historic: bool, codes: list[str]) -> None:
    answer = recommend(model(two_law), catalog=replace(TWO, historic=historic), today=today)
    assert answer.recommended is not None
    assert [notice.code for notice in answer.recommended.warnings] == codes


def test_a_billing_of_ones_own() -> None:
    billing = Billing(granularity_seconds=3600.0)
    answer = recommend(model(two_law), catalog=TWO, billing=billing, deadline_seconds=1000.0)
    assert answer.recommended is not None
    assert answer.recommended.composition == {"slow": 5}
    assert answer.recommended.cost_usd == pytest.approx(0.5)
    assert [dict(choice.composition) for choice in answer.alternatives] == [{"fast": 1}]


# ---- input that cannot be used -------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mix": 0}, "mix must lie between 1 and 3"),
        ({"deadline_seconds": 0.0}, "deadline_seconds must be more than zero"),
        ({"deadline_seconds": math.nan}, "deadline_seconds must be more than zero"),
        ({"budget_usd": -1.0}, "budget_usd must be more than zero"),
        ({"confidence": 1.0}, "confidence must lie between 0 and 1"),
        ({"max_nodes": 0}, "max_nodes must be at least 1"),
        ({"max_nodes": 2.5}, "max_nodes must be a whole number"),
        ({"max_nodes": 10_000_000}, "cannot be compared at once; at most 2000000 nodes"),
        ({"instances": ["slwo"]}, "unknown instance type 'slwo'; did you mean slow"),
        ({"billing": Billing(master="king")}, "unknown instance type 'king'"),
    ],
)
def test_what_cannot_be_asked(options: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        recommend(model(two_law), catalog=TWO, **options)  # type: ignore[arg-type]


def test_a_surface_ends_somewhere() -> None:
    surface = surface_of(model(two_law), TWO, 8)
    with pytest.raises(BadInput, match="the surface ends at 8 nodes, not 9"):
        select(surface, Goal(max_nodes=9))
    with pytest.raises(UnknownName):
        surface.index("other", 1)
    with pytest.raises(BadInput, match="outside 1 to 8"):
        surface.index("slow", 9)


def test_types_without_a_prediction_are_rejected() -> None:
    def law(name: str, nodes: np.ndarray) -> np.ndarray:
        return np.full(len(nodes), np.nan) if name == "fast" else 100.0 / nodes

    answer = recommend(model(law), catalog=TWO, deadline_seconds=50.0)
    assert answer.recommended is not None
    assert [(entry.instance, entry.code) for entry in answer.rejected] == [
        ("fast", "no-prediction")
    ]


# ---- the surface ---------------------------------------------------------------------------


def test_the_surface_agrees_with_single_predictions() -> None:
    fitted = model(two_law, log_scale=0.1)
    surface = surface_of(fitted, TWO, 16)
    for flat in range(32):
        single = fitted.predict(cluster=surface.cluster(flat))
        assert single.seconds == pytest.approx(float(surface.forecast.seconds[flat]), rel=1e-12)
    assert surface.index("slow", 3) == surface.rows["slow"] * 16 + 2


class Interpolating(TableModel):
    """Off by 1 % on large grids, exact on a few clusters: like a replay that interpolates."""

    def forecast(self, batch: ClusterBatch, workload: Workload) -> Forecast:
        exact = super().forecast(batch, workload)
        if len(batch) < 12:
            return exact
        return Forecast(exact.seconds * 0.99, exact.log_scale, exact.dof)


def test_what_decides_is_evaluated_exactly() -> None:
    law = two_law
    fitted = Interpolating("table", profile_on(), law=law)
    exact = recommend(model(law), catalog=TWO, deadline_seconds=850.0, max_nodes=16).recommended
    found = recommend(fitted, catalog=TWO, deadline_seconds=850.0, max_nodes=16).recommended
    assert exact is not None
    assert found is not None
    assert found.composition == exact.composition
    assert found.seconds == pytest.approx(exact.seconds, rel=1e-12)


def test_the_answer_as_plain_data() -> None:
    fitted = model(two_law, log_scale=0.1)
    answer = recommend(fitted, catalog=TWO, deadline_seconds=1000.0, max_nodes=8)
    data = json.loads(json.dumps(answer.to_dict(), allow_nan=False))
    assert {
        "goal",
        "recommended",
        "alternatives",
        "frontier",
        "rejected",
        "nearest",
        "optimal",
        "evaluated",
        "model",
    } <= set(data)
    assert {
        "composition",
        "seconds",
        "low",
        "high",
        "cost_usd",
        "cost_low_usd",
        "cost_high_usd",
        "p_deadline",
        "warnings",
    } <= set(data["recommended"])
    assert data["recommended"]["composition"] == {"slow": 5}
    assert data["goal"] == {
        "deadline_seconds": 1000.0,
        "budget_usd": None,
        "confidence": 0.9,
        "max_nodes": 8,
    }
    assert data["nearest"] is None


# ---- OptEx Table VI ------------------------------------------------------------------------

PUBLISHED_LAW = {  # seconds = fixed + work / n^2 (the law that Tables IV and VI follow; iter = 5)
    "als_standalone": (49.0, 5 * 97.6),
    "als_yarn": (120.0, 5 * 97.6),
    "wordcount_standalone": (318.0, 14.77),
    "wordcount_yarn": (780.0, 14.77),
}
TABLE_6 = {  # budget in USD -> printed number of m2.xlarge nodes
    "als_standalone": {0.3: 53, 0.2: 35, 0.15: 26, 0.1: 17, 0.08: 13},
    "als_yarn": {0.8: 58, 0.5: 36, 0.4: 29, 0.3: 21, 0.2: 14},
    "wordcount_standalone": {1: 27, 0.8: 22, 0.6: 16, 0.4: 11, 0.1: 5},
    "wordcount_yarn": {1.5: 16, 1.2: 13, 1: 11, 0.8: 8, 0.5: 4},
}
MISPRINTS = {("wordcount_standalone", 0.1), ("wordcount_yarn", 0.8), ("wordcount_yarn", 0.5)}


@pytest.mark.parametrize("name", PUBLISHED_LAW)
def test_optex_table_6(name: str) -> None:
    """OptEx Table VI: the largest affordable cluster; 17 of the 20 printed sizes follow."""
    fixed, work = PUBLISHED_LAW[name]
    fitted = model(lambda kind, nodes: fixed + work / nodes**2)
    for budget, printed in TABLE_6[name].items():
        answer = recommend(
            fitted,
            catalog=load_catalog("papers"),
            instances=["m2.xlarge"],
            budget_usd=budget,
            max_nodes=200,
        )
        assert answer.recommended is not None
        found = answer.recommended.nodes
        assert (found != printed) == ((name, budget) in MISPRINTS), (budget, found)
