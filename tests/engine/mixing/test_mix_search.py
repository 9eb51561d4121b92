"""Mixed compositions against brute force on many random small catalogs."""

from dataclasses import replace
from itertools import combinations, count, product

import numpy as np
import pytest
from depth import cases, crossed

from engine.catalog import Billing
from engine.catalog_files.reader import load_catalog
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.limits import Constraints
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.forecast import student_quantile
from engine.mixing.bound_terms import NodeTerms, owned_node_ranges
from engine.mixing.bounds import Windows
from engine.mixing.effort import COST_PER_CALL, Effort, OutOfEffort
from engine.mixing.market import Market, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.node_counts import NodeCounts
from engine.mixing.promised_time import PromisedTimeGoal
from engine.mixing.purchase_options import PurchaseOptions
from engine.mixing.search import MixResult, Search
from engine.models import fit
from engine.sources import read

CASES = cases(24, deep=120)
KINDS = ("deadline", "budget", "both", "none", "time", "promised", "afforded promised")
"""Random catalogs per goal and number of types."""


def random_law(rng: np.random.Generator, k: int, m: int) -> MixLaw:
    """Types with a serial part, divisible work, and an overhead that grows with the nodes."""
    slots = rng.choice([2, 4, 8, 16], k).astype(float)
    speed = rng.choice([0.7, 1.0, 1.0, 1.4], k)
    nodes = np.arange(1, m + 1)
    serial = rng.uniform(0, 60, k)[:, None] / speed[:, None]
    work = rng.uniform(500, 4000)
    seconds = serial + work / (nodes * (slots * speed)[:, None]) + rng.uniform(0, 3) * nodes
    seconds *= rng.uniform(0.97, 1.03, seconds.shape)
    if rng.random() < 0.2:
        seconds[rng.integers(k), m // 2 :] = np.inf
    scale = np.repeat(rng.choice([0.02, 0.1, 0.3], k)[:, None], m, axis=1)
    if rng.random() < 0.15:
        scale = np.full((k, m), np.nan)
    stages = rng.integers(0, 4)
    return MixLaw(
        seconds=seconds,
        log_scale=scale,
        dof=np.repeat(rng.choice([5.0, 30.0], k)[:, None], m, axis=1),
        slots=slots,
        speed=speed,
        executor_cores=rng.choice([2, 4], k, p=[0.2, 0.8]),
        task_cores=rng.integers(1, 200, stages).astype(float),
        work=rng.uniform(1, 100, stages),
    )


def random_market(rng: np.random.Generator, law: MixLaw, m: int) -> Market:
    k = len(law.slots)
    rates = law.slots * rng.uniform(0.02, 0.08, k)
    if rng.random() < 0.2:
        rates[rng.integers(k)] = np.inf
    billing = Billing(
        granularity_seconds=float(rng.choice([0, 1, 60, 600])),
        minimum_seconds=float(rng.choice([0, 60])),
        startup_seconds=float(rng.choice([0, 90])),
    )
    most = np.where(rng.random(k) < 0.3, rng.integers(0, m, k), m)
    constraints = owned = None
    if rng.random() < 0.4:
        weights = np.stack([law.slots, rng.integers(0, 2, k).astype(float)])
        caps = np.asarray([rng.uniform(0.3, 1.2) * m * law.slots.max(), rng.integers(0, m + 1)])
        constraints = Constraints(weights, caps, int(rng.integers(1, 4)))
    if rng.random() < 0.4:
        owned = rng.integers(0, 4, k)
    head = float(rng.choice([0.0, 0.2]))
    return Market.of(rates, head, billing, most, constraints, owned)


def every_mix(law: MixLaw, market: Market, m: int, q: int):
    """All compositions of 2 ... q types of one executor shape: (n, q) rows and counts."""
    k = len(law.slots)
    rows, counts = [], []
    for size in range(2, q + 1):
        for types in combinations(range(k), size):
            if len({law.executor_cores[t] for t in types}) > 1:
                continue
            ranges = [range(1, int(market.most[t]) + 1) for t in types]
            for n in product(*ranges):
                if sum(n) <= m:
                    rows.append([*types, *[0] * (q - size)])
                    counts.append([*n, *[0] * (q - size)])
    return np.asarray(rows).reshape(-1, q), np.asarray(counts).reshape(-1, q)


def single_best(law: MixLaw, market: Market, goal: Goal, m: int) -> float:
    k = len(law.slots)
    rows = np.repeat(np.arange(k), m)[:, None]
    counts = np.tile(np.arange(1, m + 1), k)[:, None]
    values = values_of(law, market, goal, rows, counts)
    return float(np.where(counts[:, 0] <= market.most[rows[:, 0]], values, np.inf).min())


def searched(law: MixLaw, market: Market, goal: Goal, m: int, q: int) -> MixResult:
    """What the search finds: proven, and as good as the best of all compositions."""
    start = single_best(law, market, goal, m)
    found = Search(law, market, goal, q, value=start, effort=Effort(1e8)).run()
    rows, counts = every_mix(law, market, m, q)
    values = values_of(law, market, goal, rows, counts) if len(rows) else np.asarray([np.inf])
    assert found.optimal
    assert found.value == pytest.approx(min(float(values.min()), start), rel=1e-8)
    return found


def goal_for(kind: str, rng: np.random.Generator, law: MixLaw, m: int) -> Goal:
    typical = float(np.nanmedian(np.where(np.isfinite(law.seconds), law.seconds, np.nan)))
    deadline = typical * rng.uniform(0.4, 1.6)
    budget = rng.uniform(0.005, 0.2)
    confidence = float(rng.choice([0.2, 0.5, 0.9, 0.99]))
    given = {
        "deadline": {"deadline_seconds": deadline},
        "budget": {"budget_usd": budget},
        "both": {"deadline_seconds": deadline, "budget_usd": budget},
        "none": {},
        "time": {"deadline_seconds": deadline, "objective": "time"},
    }
    if kind in given:
        return Goal(**given[kind], confidence=confidence, max_nodes=m)
    within = budget if kind == "afforded promised" else None
    return PromisedTimeGoal(deadline, within, confidence, m, "time")


@pytest.mark.parametrize(("kind", "size"), crossed(KINDS, [(4, 5, 3), (4, 7, 2)]))
def test_no_composition_is_better(kind: str, size: tuple[int, int, int]) -> None:
    k, m, q = size
    rng = np.random.default_rng([ord(kind[0]), k, q])
    mixes_won = 0
    for _ in range(CASES):
        law = random_law(rng, k, m)
        market = random_market(rng, law, m)
        goal = goal_for(kind, rng, law, m)
        found = searched(law, market, goal, m, q)
        if found.rows is not None:
            mixes_won += 1
            again = values_of(
                law, market, goal, np.asarray([found.rows]), np.asarray([found.counts])
            )
            assert float(again[0]) == found.value
            assert all(market.most[list(found.rows)] >= found.counts)
            assert sum(found.counts) <= m
    assert mixes_won > CASES // 50


@pytest.mark.parametrize(("k", "m", "q"), [(4, 7, 2), (4, 5, 3)])
def test_no_composition_is_better_near_the_shortest_deadline(k: int, m: int, q: int) -> None:
    """With a start-up that is longer than the run, and spreads that differ from count to count."""
    rng = np.random.default_rng([7, k, q])
    mixes_won = 0
    for _ in range(cases(20, deep=60)):
        law = random_law(rng, k, m)
        scale = rng.uniform(0.02, 0.5, (k, m)) if rng.random() < 0.7 else law.log_scale
        dof = rng.choice([4.0, 9.0, 30.0], (k, m))
        law = replace(law, log_scale=scale, dof=dof, executor_cores=np.full(k, 4))
        if rng.random() < 0.4:
            law = replace(law, scale_below=scale * rng.uniform(0.2, 3.0, (k, m)))
        market = random_market(rng, law, m)
        market = replace(market, billing=replace(market.billing, startup_seconds=600.0))
        confidence = float(rng.choice([0.2, 0.5, 0.9, 0.99]))
        sided = scale if confidence >= 0.5 or law.scale_below is None else law.scale_below
        known = np.nan_to_num(sided)
        quantile = student_quantile(confidence, dof.ravel()).reshape(k, m)
        least = float((law.seconds * np.exp(known * quantile)).min())
        goal = Goal(least * rng.uniform(1.0, 1.5), None, confidence, m)
        if rng.random() < 0.3:
            goal = replace(goal, budget_usd=rng.uniform(0.02, 0.5), objective="time")
        found = searched(law, market, goal, m, q)
        mixes_won += found.rows is not None
    assert mixes_won


MODELS = [
    ("optex", "optex-als-table3"),
    ("ernest", "ernest-rcv1"),
    ("sparkplan", "ernest-rcv1"),
    ("sparkplan", "word-count-large"),
    ("sparkplan", "movie-als-small"),
]
TYPES = ("m5.xlarge", "m5.2xlarge", "c5.xlarge", "c6a.2xlarge", "r5.xlarge", "r6i.2xlarge")


@pytest.mark.parametrize(("model", "sample"), MODELS)
def test_no_composition_is_better_for_what_a_fitted_model_says(model: str, sample: str) -> None:
    rng, m = np.random.default_rng(len(sample)), 5
    catalog = load_catalog("aws")
    profile = read(sample, ran_on=catalog.offers["m5.xlarge"].instance)
    candidates = select_candidates(catalog, profile=profile, instances=list(TYPES))
    surface = Surface.build(fit(profile, model=model), candidates, max_nodes=m)
    options = PurchaseOptions.of(surface, catalog.billing, m)
    law, k = options.law(surface), len(candidates.names)
    for case in range(cases(6, deep=12)):
        q, confidence = int(rng.integers(2, 4)), float(rng.choice([0.5, 0.9]))
        market = options.market
        if case % 3 == 0:
            market = replace(market, owned=rng.integers(0, 4, k))
        if case % 4 == 1:
            market = replace(market, most=rng.integers(0, m + 1, k))
        if case % 5 == 2:
            quota = Constraints(law.slots[None, :], np.asarray([rng.uniform(10, 50)]), 2)
            market = replace(market, constraints=quota)
        scale, dof = np.nan_to_num(law.log_scale), np.nan_to_num(law.dof, nan=np.inf)
        quantile = student_quantile(confidence, dof.ravel()).reshape(dof.shape)
        least = float((law.seconds * np.exp(scale * quantile)).min())
        goal = Goal(least * float(rng.choice([1.001, 1.02, 1.1, 1.5, 3.0])), None, confidence, m)
        if case % 6 == 5:
            goal = replace(goal, budget_usd=float(rng.uniform(0.05, 1.0)), objective="time")
        searched(law, market, goal, m, q)


def test_starts_hold_every_use_of_owned_nodes_once() -> None:
    owned = np.asarray([0, 5, 1, 9])
    found = [
        tuple(sorted(zip(start.rows, nodes, strict=True)))
        for start in owned_node_ranges(owned, 2)
        for nodes in start.exact_counts()
    ]
    expected = {()}
    for row in (1, 2, 3):
        expected |= {((row, n),) for n in range(1, owned[row] + 1)}
    for one, other in combinations((1, 2, 3), 2):
        pairs = product(range(1, owned[one] + 1), range(1, owned[other] + 1))
        expected |= {((one, a), (other, b)) for a, b in pairs}
    assert len(found) == len(expected)
    assert set(found) == expected


def test_one_type_is_the_one_type_law_exactly() -> None:
    rng = np.random.default_rng(3)
    law = random_law(rng, 5, 30)
    for row, n in product(range(5), range(1, 31)):
        forecast = law.forecast(np.asarray([[row, (row + 1) % 5]]), np.asarray([[n, 0]]))
        assert forecast.seconds[0] == pytest.approx(law.seconds[row, n - 1], rel=1e-12)
        assert forecast.log_scale[0] == pytest.approx(law.log_scale[row, n - 1], nan_ok=True)
        assert forecast.dof[0] == law.dof[row, n - 1]


def test_a_mix_is_as_unsure_as_the_least_sure_of_its_types() -> None:
    """With the degrees of freedom of that one; the others' count where it is no member."""
    law = MixLaw(
        seconds=np.full((3, 8), 100.0),
        log_scale=np.repeat([[0.1], [0.3], [0.2]], 8, axis=1),
        dof=np.repeat([[4.0], [20.0], [9.0]], 8, axis=1),
        slots=np.full(3, 4.0),
        speed=np.ones(3),
        executor_cores=np.full(3, 4),
        task_cores=np.asarray([]),
        work=np.asarray([]),
    )
    rows = np.asarray([[0, 1, 2], [0, 1, 2], [0, 1, 2]])
    counts = np.asarray([[2, 1, 3], [2, 0, 3], [2, 0, 0]])
    found = law.forecast(rows, counts)
    assert found.log_scale.tolist() == [0.3, 0.2, 0.1]
    assert found.dof.tolist() == [20.0, 9.0, 4.0]
    assert found.symmetric
    sided = replace(law, scale_below=np.repeat([[0.05], [0.02], [0.5]], 8, axis=1))
    found = sided.take(np.arange(3)).forecast(rows, counts)
    assert found.log_scale.tolist() == [0.3, 0.2, 0.1]
    assert found.scale_below.tolist() == [0.5, 0.5, 0.05]


def test_unlike_sizes_of_equal_cores_are_one_pool() -> None:
    """A serial part and divisible work: six small nodes and a large one are their cores' sum."""
    nodes = np.arange(1, 65)
    slots = np.asarray([2.0, 32.0])
    law = MixLaw(
        seconds=100.0 + 12_000.0 / (nodes * slots[:, None]),
        log_scale=np.zeros((2, 64)),
        dof=np.full((2, 64), np.inf),
        slots=slots,
        speed=np.ones(2),
        executor_cores=np.asarray([2, 2]),
        task_cores=np.asarray([]),
        work=np.asarray([]),
    )
    forecast = law.forecast(np.asarray([[0, 1]]), np.asarray([[10, 2]]))
    assert forecast.seconds[0] == pytest.approx(100.0 + 12_000.0 / (10 * 2 + 2 * 32))


def test_coarse_tasks_wait_for_the_slowest_cores() -> None:
    base = random_law(np.random.default_rng(0), 2, 8)
    one = np.ones((2, 8))
    law = MixLaw(
        seconds=np.asarray([[300.0], [100.0]]) * one,
        log_scale=0.0 * one,
        dof=30.0 * one,
        slots=np.asarray([4.0, 4.0]),
        speed=np.asarray([0.5, 1.5]),
        executor_cores=base.executor_cores,
        task_cores=np.asarray([16.0]),
        work=np.asarray([50.0]),
    )
    forecast = law.forecast(np.asarray([[0, 1]]), np.asarray([[1, 1]]))
    # 8 slots for 16 tasks: half of the stage is its last wave; the mean core is twice as fast.
    assert forecast.seconds[0] == pytest.approx(150.0 * (1.0 + 0.5 * (1.0 / 0.5 - 1.0)))


def test_between_whole_counts_is_exact_for_serial_and_divisible_work() -> None:
    nodes = np.arange(1, 41)
    curves = np.stack([7.0 + 90.0 / nodes, 3.0 + 5.0 / nodes])
    counts = np.asarray([1.0, 1.3, 17.25, 39.9, 40.0, 55.0])
    for row, (serial, work) in enumerate([(7.0, 90.0), (3.0, 5.0)]):
        found = NodeCounts.up_to(40).interpolated(curves, np.full(6, row), counts)
        assert found == pytest.approx(serial + work / np.minimum(counts, 40.0))


def test_the_floor_of_a_window_is_below_every_composition_in_it() -> None:
    rng = np.random.default_rng(11)
    for kind in KINDS * 8:
        k, m = 4, 6
        law, market = random_law(rng, k, m), random_market(rng, random_law(rng, k, m), m)
        law = replace(law, executor_cores=np.full(k, 4))
        market = replace(market, rates=np.where(np.isfinite(market.rates), market.rates, 9.0))
        goal = goal_for(kind, rng, law, m)
        rows, counts = every_mix(law, market, m, 2)
        if not len(rows):
            continue
        values = values_of(law, market, goal, rows, counts)
        sizes = (counts * law.capacity[rows]).sum(axis=1)
        edges = np.geomspace(sizes.min() * 0.99, sizes.max() * 1.01, 12)
        node, owned = NodeTerms.of(law, market, 2), market.owned
        floors = np.full(11, np.inf)
        for start in owned_node_ranges(
            np.zeros(k, int) if owned is None else np.minimum(owned, m), 2
        ):
            windows = Windows.of(market, goal, edges[:-1], edges[1:], node, start)
            floors = np.minimum(floors, windows.lower_bound(windows.root, np.inf))
        for cell in range(11):
            inside = values[(sizes >= edges[cell]) & (sizes <= edges[cell + 1])]
            assert floors[cell] <= inside.min(initial=np.inf) * (1 + 1e-9), kind


def search_among_six(effort: Effort) -> Search:
    """For the cheapest of up to three of six types, by a deadline that half of them keep."""
    rng = np.random.default_rng(5)
    law = random_law(rng, 6, 40)
    market = Market(law.slots * rng.uniform(0.02, 0.08, 6), 0.0, Billing(), np.full(6, 40))
    goal = Goal(deadline_seconds=float(np.median(law.seconds)), max_nodes=40)
    return Search(law, market, goal, 3, value=np.inf, effort=effort)


def test_a_search_without_time_says_how_far_it_may_be_off() -> None:
    unlimited = search_among_six(Effort(1e8)).run()
    stopped = search_among_six(Effort(0.0)).run()
    assert unlimited.optimal
    assert not stopped.optimal
    assert stopped.bound <= unlimited.value


@pytest.mark.parametrize("most", [1_000.0, 30_000.0, 100_000.0])
def test_what_ends_a_search_is_what_it_looked_at_and_not_the_clock(
    most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A machine on which a minute goes by between two looks at the clock gets the same answer."""
    quick = search_among_six(Effort(most)).run()
    minutes = count(0.0, 60.0)
    for clock in ("monotonic", "perf_counter", "time", "process_time"):
        monkeypatch.setattr(f"time.{clock}", lambda: next(minutes))
    late = search_among_six(Effort(most)).run()
    assert vars(late) == vars(quick)


def test_a_search_stops_soon_after_its_effort_is_spent() -> None:
    """It looks at no more than one chunk of pairs beyond it."""
    whole, part = Effort(1e8), Effort(0.0)
    search_among_six(whole).run()
    search_among_six(part).run()
    assert 0.0 < part.spent < whole.spent


def test_a_call_counts_however_little_it_looks_at() -> None:
    """Thousands of calls for a window or two would take seconds, though they look at little."""
    effort = Effort(limit=2.0 * COST_PER_CALL)
    effort.spend(0.0)
    effort.check()
    effort.spend(0.0)
    assert effort.exhausted
    with pytest.raises(OutOfEffort):
        effort.check()
