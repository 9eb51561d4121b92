"""The best composition: exact search against a mixed-integer program, brute force and relaxation.

    python benchmarks/mixes.py [--types N] [--instances N] [--limit BOUNDS] [--only TABLE]

Types, prices and executors are those of the AWS catalog; the times are a serial part and work that
divides over the capacity, in the last table those of every kind of model. Times are those of the
processor. Five tables:

- against `scipy.optimize.milp` on all types x 512 nodes. The product of price and time is not
  linear, so the instances are those in which it is exactly: every run is billed up to the deadline
  (a minimum of that length), so that the cheapest composition is the least hourly price of enough
  capacity, with at most q types in it. Equal objectives, and the ratio of the times.
- against brute force on random subsets, billed by the second, with OptEx's relaxation beside it.
- what the best mix saves over the best single type, over the deadlines, billed by the second.
- the same for every kind of model (closed form, run table, replayed logs) over the whole catalog,
  billed as it is, for deadlines from 1.02 times the shortest that one type meets: proven or not,
  time of the search, saving; and whether brute force agrees on a few types of the same model. The
  times are no linear functions, so that no mixed-integer program says the same.
- budgets, hourly billing, spot shares, owned nodes, quotas and bounds at random, together: proven,
  or how far the bound lies below, and the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import fields, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from relaxation import relaxed_usd
from scipy.optimize import Bounds, LinearConstraint, milp
from timing import timed

from engine.catalog import Billing
from engine.catalog_files.reader import load_catalog
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.limits import Limits
from engine.choosing.recommendation import Goal
from engine.choosing.surface import Surface
from engine.cost import node_rate, service_rate
from engine.forecast import FloatArray, student_quantile
from engine.mixing.effort import MAX_BOUNDS, Effort
from engine.mixing.market import Market, MixResult, values_of
from engine.mixing.mix_law import MixLaw
from engine.mixing.purchase_options import PurchaseOptions
from engine.mixing.search import Search
from engine.models import fit
from engine.profile import Profile
from engine.sources import read

NODES, MOST_MILP_SECONDS = 512, 2.0
SERIAL_SECONDS, WORK_SECONDS = 120.0, 400_000.0
BY_SECOND = Billing(surcharge_fraction=0.25)
FLAT_DEADLINES = (300.0, 600.0, 900.0, 1800.0, 3600.0)
"""Shorter ones want more nodes of small types than the law has times for: there it stays at that of
the most nodes, and the program would count on capacity that the law does not believe in."""


def instance() -> tuple[MixLaw, Market]:
    """All types of the catalog with executors, those of the most common shape."""
    catalog = load_catalog("aws")
    found = select_candidates(catalog, profile=Profile("made up", ()), instances=["*"])
    cores = np.asarray([layout.executor_cores for layout in found.layouts])
    rows = np.flatnonzero(cores == np.bincount(cores).argmax())
    layouts = [found.layouts[row] for row in rows]
    slots = np.asarray([x.executors_per_node * x.executor_cores for x in layouts], dtype=float)
    scores = [found.offers[row].instance.cpu_score_per_vcpu for row in rows]
    typical = catalog.median_cpu_scores_per_vcpu["coremark"]
    speed = np.asarray([(score or typical) / typical for score in scores])
    nodes = np.arange(1, NODES + 1)
    seconds = SERIAL_SECONDS + WORK_SECONDS / (nodes * (slots * speed)[:, None])
    law = MixLaw(
        seconds, np.zeros(seconds.shape), np.full(seconds.shape, np.inf), slots, speed,
        cores[rows], np.asarray([]), np.asarray([]),
    )  # fmt: skip
    listed = np.asarray([found.offers[row].on_demand.usd_per_hour for row in rows])
    fees = [service_rate(found.offers[row], BY_SECOND) for row in rows]
    rates = node_rate(listed, BY_SECOND, service_usd_per_hour=fees)
    return law, Market(rates, 0.0, BY_SECOND, np.full(len(rows), NODES))


def best_single(law: MixLaw, market: Market, goal: Goal) -> float:
    """The best value among clusters of one type."""
    k, m = len(law.seconds), int(market.most.max())
    rows, counts = np.repeat(np.arange(k), m)[:, None], np.tile(np.arange(1, m + 1), k)[:, None]
    return float(values_of(law, market, goal, rows, counts).min())


def search(
    law: MixLaw, market: Market, goal: Goal, q: int, single: float, most: float
) -> MixResult:
    """The exact search for mixes of up to q types, beside `single` of one, of `most` bounds."""
    return Search(law, market, goal, q, value=single, effort=Effort(most)).run()


def brute_force(law: MixLaw, market: Market, goal: Goal, q: int, single: float) -> float:
    """The best value of one type, and of all mixes of up to q types with the same executors."""
    every = product(range(goal.max_nodes + 1), repeat=q)
    counts = np.asarray([n for n in every if 0 < sum(n) <= goal.max_nodes])
    best = single
    for chosen in combinations(range(len(law.slots)), q):
        if len(np.unique(law.executor_cores[list(chosen)])) == 1:
            rows = np.tile(chosen, (len(counts), 1))
            best = min(best, float(values_of(law, market, goal, rows, counts).min()))
    return best


def by_program(law: MixLaw, rates: FloatArray, capacity: float, q: int) -> float:
    """The least hourly price of at least `capacity`, of at most q types, by HiGHS in 2 s."""
    k = len(rates)
    one, zero = np.ones(k), np.zeros(k)
    uses = np.hstack([np.eye(k), -NODES * np.eye(k)])
    constraints = [
        LinearConstraint(np.concatenate([law.capacity, zero])[None, :], capacity, np.inf),
        LinearConstraint(np.concatenate([one, zero])[None, :], -np.inf, NODES),
        LinearConstraint(np.concatenate([zero, one])[None, :], -np.inf, q),
        LinearConstraint(uses, -np.inf, 0.0),
    ]
    upper = np.concatenate([np.full(k, NODES), one])
    found = milp(
        np.concatenate([rates, zero]), constraints=constraints, bounds=Bounds(0.0, upper),
        integrality=np.ones(2 * k, dtype=int),
        options={"time_limit": MOST_MILP_SECONDS, "mip_rel_gap": 0.0},
    )  # fmt: skip
    return float(found.fun) if found.status == 0 else float("nan")


def against_program(law: MixLaw, market: Market, limit: float) -> None:
    """The first table."""
    print("exact search against milp, all types x 512 nodes, billed up to the deadline")
    print(f"  {'deadline':>9}{'types':>6}{'search ms':>11}{'milp ms':>9}{'ratio':>8}  objective")
    for deadline, q in product(FLAT_DEADLINES, (1, 2, 3)):
        goal = Goal(deadline, None, 0.5, NODES)
        flat = replace(market, billing=Billing(0.0, minimum_seconds=deadline))
        value, mine = timed(best_single, law, flat, goal)
        optimal = True
        if q > 1:
            found, searching = timed(search, law, flat, goal, q, value, limit)
            value, optimal, mine = found.value, found.optimal, mine + searching
        capacity = WORK_SECONDS / (deadline - SERIAL_SECONDS) * (1.0 - 1e-9)
        usd_per_hour, theirs = timed(by_program, law, market.rates, capacity, q)
        other = usd_per_hour * deadline / 3600.0
        equal = "equal" if abs(value / other - 1.0) < 1e-6 else f"{value:.6f} against {other:.6f}"
        if np.isnan(other):
            equal = "milp: time limit"
        proven = "" if optimal else " (search: limit)"
        print(
            f"  {deadline:9.0f}{q:6d}{mine * 1e3:11.1f}{theirs * 1e3:9.1f}{theirs / mine:8.2f}  "
            f"{equal}{proven}"
        )


def against_brute_force(law: MixLaw, market: Market, types: int, instances: int) -> None:
    """The second table."""
    rng, m = np.random.default_rng(1), 12
    equal = late = dearer = asked = 0
    searched = enumerated = 0.0
    for _ in range(instances):
        rows = rng.choice(len(law.slots), types, replace=False)
        part, prices = law.take(rows), market.take(rows)
        part, prices = part.at(np.arange(1, m + 1)), replace(prices, most=np.full(types, m))
        deadline = float(np.quantile(part.seconds, rng.uniform(0.1, 0.8)))
        goal = Goal(deadline, None, 0.5, m)
        single = best_single(part, prices, goal)
        found, searching = timed(search, part, prices, goal, 3, single, 1e8)
        searched += searching
        best, enumerating = timed(brute_force, part, prices, goal, 3, single)
        enumerated += enumerating
        if not np.isfinite(best):
            continue
        asked += 1
        equal += abs(found.value / best - 1.0) < 1e-9
        relaxed = relaxed_usd(part, prices, goal)
        late += relaxed == np.inf
        dearer += best * (1 + 1e-6) < relaxed < np.inf
    print(f"brute force, {types} types x {m} nodes, mixes of three: {equal} of {asked} equal")
    print(f"  brute force takes {enumerated / searched:.0f} times as long")
    print(f"  OptEx's relaxation, rounded: misses deadline or nodes in {late}, dearer in {dearer}")


def savings(law: MixLaw, market: Market, limit: float) -> None:
    """The third table."""
    print("saving of the best mix over the best single type, billed by the second")
    print(f"  {'deadline':>9}{'one type':>10}{'mix 2':>9}{'ms':>8}{'mix 3':>9}{'ms':>8}")
    for deadline in (300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0):
        goal = Goal(deadline, None, 0.5, NODES)
        single = best_single(law, market, goal)
        cells = []
        for q in (2, 3):
            found, taken = timed(search, law, market, goal, q, single, limit)
            saved = 100.0 * (1.0 - found.value / single)
            cells.append(f"{saved:7.2f} %{'' if found.optimal else '+'}{taken * 1e3:8.0f}")
        print(f"  {deadline:9.0f}{single:10.4f}{''.join(cells)}")
    print("  +: not proven within the limit")


KINDS = (
    ("optex", ("optex-als-table3",), "closed form (OptEx)"),
    ("ernest", ("ernest-rcv1",), "closed form (Ernest)"),
    ("sparkplan", ("ernest-rcv1",), "run table"),
    ("sparkplan", ("word-count-large",), "log: word-count"),
    ("sparkplan", ("nightly-features",), "log: nightly-features"),
    ("sparkplan", ("movie-als-small", "movie-als-large"), "logs: movie-als"),
    ("sparkplan", ("sales-report-small", "sales-report-large"), "logs: sales-report"),
)
"""Models, samples and what they are called."""

MEASURED_ON = "m5.xlarge"


def surface_of(model: str, samples: tuple[str, ...]) -> Surface:
    """What a fitted model says of all types of the catalog."""
    catalog = load_catalog("aws")
    profile = read(*samples, ran_on=catalog.offers[MEASURED_ON].instance)
    candidates = select_candidates(catalog, profile=profile, instances=["*"])
    return Surface.build(fit(profile, model=model), candidates, max_nodes=NODES)


def of_model(model: str, samples: tuple[str, ...]) -> tuple[MixLaw, Market]:
    """The same as a law, and the prices of the catalog."""
    surface = surface_of(model, samples)
    options = PurchaseOptions.of(surface, surface.candidates.catalog.billing, NODES)
    return options.law(surface), options.market


def shortest(law: MixLaw, confidence: float) -> float:
    """The shortest deadline that a cluster of one type meets."""
    scale = np.nan_to_num(law.log_scale)
    quantile = student_quantile(confidence, np.nan_to_num(law.dof, nan=np.inf).ravel())
    return float((law.seconds * np.exp(scale * quantile.reshape(scale.shape))).min())


def agreed(law: MixLaw, market: Market, goal: Goal, instances: int) -> int:
    """How often brute force over mixes of two among a few types says the same."""
    rng, m, types = np.random.default_rng(2), 40, 6
    equal = 0
    usable = np.flatnonzero(law.seconds[:, :m].min(axis=1) < np.inf)
    for _ in range(instances):
        rows = rng.choice(usable, types, replace=False)
        part, prices = law.take(rows), market.take(rows)
        part, prices = part.at(np.arange(1, m + 1)), replace(prices, most=np.full(types, m))
        near = shortest(part, goal.confidence) * (goal.deadline_seconds or 1.0)
        asking = replace(goal, deadline_seconds=near, max_nodes=m)
        single = best_single(part, prices, asking)
        found = search(part, prices, asking, 2, single, 1e8)
        best = brute_force(part, prices, asking, 2, single)
        equal += found.value == best or abs(found.value / best - 1.0) < 1e-9
    return equal


def kinds(limit: float, instances: int) -> None:
    """The fourth table."""
    print("every kind of model, whole catalog x 512 nodes, P(deadline met) = 90 % and 50 %")
    head = f"{'mix 2 ms':>10}{'saves':>9}{'mix 3 ms':>10}{'saves':>9}"
    print(f"  {'model':<22}{'deadline':>13}{head}  brute force")
    for model, samples, name in KINDS:
        law, market = of_model(model, samples)
        for confidence, factor in product((0.9, 0.5), (1.02, 1.1, 1.3, 2.0, 4.0)):
            goal = Goal(shortest(law, confidence) * factor, None, confidence, NODES)
            single = best_single(law, market, goal)
            cells = []
            for q in (2, 3):
                taken = []
                for _ in range(3):
                    found, seconds = timed(search, law, market, goal, q, single, limit)
                    taken.append(seconds * 1e3)
                saved = 100.0 * (1.0 - found.value / single)
                unproven = "" if found.optimal else "+"
                cells.append(f"{min(taken):9.1f}{unproven:1}{saved:7.2f} %")
            equal = agreed(law, market, replace(goal, deadline_seconds=factor), instances)
            when = f"{factor:.2f} x {confidence:.0%}"
            print(f"  {name:<22}{when:>13}{''.join(cells)}  {equal} of {instances}")
    print("  +: not proven within the limit")


FAMILIES = ("m5.*", "c*", "r*", "*.large", "*.2xlarge", "m6*")


def limits_at_random(rng: np.random.Generator, names: tuple[str, ...]) -> Limits:
    """Some of everything that may bind a user."""
    given: dict[str, Any] = {}
    if rng.random() < 0.35:
        kinds = rng.choice(len(names), int(rng.integers(1, 3)), replace=False)
        given["owned"] = tuple((names[kind], int(rng.integers(1, 20))) for kind in kinds)
    if rng.random() < 0.35:
        given["most"] = ((str(rng.choice(FAMILIES)), int(rng.integers(0, 10))),)
    if rng.random() < 0.35:
        given["max_vcpus"] = float(rng.choice([32, 64, 96, 256, 500, 2000]))
    if rng.random() < 0.2:
        given["min_nodes"] = int(rng.integers(2, 6))
    if rng.random() < 0.4:
        given["max_spot"] = float(rng.choice([0.2, 0.5, 0.75, 0.9]))
    if rng.random() < 0.2:
        given["executors"] = (int(rng.integers(0, 5)), int(rng.integers(8, 60)))
    return Limits(**given)


def goal_at_random(rng: np.random.Generator, near: float, typical: float) -> Goal:
    """A deadline, a budget or both, near what is possible; or the fastest, or the cheapest of all.

    Args:
        near: the shortest deadline of one type; typical: what a cluster costs that meets it.
    """
    kind, confidence = rng.choice(5, p=[0.4, 0.2, 0.2, 0.1, 0.1]), float(rng.choice([0.5, 0.9]))
    deadline = float(near * rng.choice([1.02, 1.2, 1.6, 3.0, 8.0]))
    budget = float(typical * rng.uniform(0.3, 2.0))
    if kind == 0:
        return Goal(deadline, None, confidence, NODES)
    if kind == 1:
        return Goal(None, budget, confidence, NODES)
    if kind == 2:
        return Goal(deadline, budget, confidence, NODES)
    if kind == 3:
        return Goal(8 * deadline, budget, confidence, NODES, objective="time")
    return Goal(None, None, confidence, NODES, objective="cost")


def constrained(limit: float, instances: int, seed: int) -> None:
    """The fifth table."""
    rng = np.random.default_rng(seed)
    surfaces = [(surface_of(model, samples), name) for model, samples, name in KINDS]
    print("several constraints at random, whole catalog x 512 nodes")
    print(f"  {'model':<22}{'types':>6}{'ms':>9}{'gap':>9}  what binds")
    taken, unproven = [], 0
    for case in range(instances):
        surface, name = surfaces[case % len(surfaces)]
        limits = limits_at_random(rng, surface.candidates.names)
        limited = replace(surface, limits=limits)
        hourly = rng.random() < 0.3
        billing = replace(
            surface.candidates.catalog.billing, spot=limits.max_spot is not None,
            granularity_seconds=3600.0 if hourly else 1.0,
        )  # fmt: skip
        options = PurchaseOptions.of(limited, billing, NODES)
        law, market = options.law(limited), options.market
        near = shortest(law, 0.9)
        typical = best_single(law, market, Goal(2 * near, None, 0.9, NODES))
        goal = goal_at_random(rng, near, typical if np.isfinite(typical) else 1.0)
        single = best_single(law, market, goal)
        q = int(rng.integers(2, 4))
        found, seconds = timed(search, law, market, goal, q, single, limit)
        taken.append(seconds * 1e3)
        unproven += not found.optimal
        gap = 1.0 - found.bound / found.value if np.isfinite(found.value) else 1.0
        proven = "proven" if found.optimal else f"{100.0 * gap:.1f} %"
        given = {**vars_of(goal), **({"hourly": True} if hourly else {}), **vars_of(limits)}
        print(f"  {name:<22}{q:6d}{taken[-1]:9.1f}{proven:>9}  {words(given)}", flush=True)
    print(
        f"  {unproven} of {instances} not proven in {limit:,.0f} bounds; processor time: median "
        f"{np.median(taken):.0f} ms, 90 % below {np.quantile(taken, 0.9):.0f} ms"
    )


def vars_of(value: Goal | Limits) -> dict[str, Any]:
    """What differs from the defaults."""
    plain = type(value)()
    return {
        entry.name: getattr(value, entry.name)
        for entry in fields(value)
        if getattr(value, entry.name) != getattr(plain, entry.name)
        and entry.name not in ("max_nodes", "confidence")
    }


def words(given: dict[str, Any]) -> str:
    """Names and values on one line."""
    rounded = ((key, f"{x:.3g}" if isinstance(x, float) else x) for key, x in given.items())
    return ", ".join(f"{key} {value}" for key, value in rounded)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--types", type=int, default=5)
    parser.add_argument("--instances", type=int, default=20)
    parser.add_argument("--limit", type=float, default=MAX_BOUNDS)
    parser.add_argument("--only", choices=("program", "brute", "savings", "kinds", "constraints"))
    parser.add_argument("--seed", type=int, default=4)
    parser.add_argument("--cases", type=int, default=42, help="of the fifth table")
    options = parser.parse_args()
    law, market = instance()
    print(f"{len(law.slots)} types of the AWS catalog with executors of one shape")
    tables: dict[str, Callable[[], None]] = {
        "program": lambda: against_program(law, market, options.limit),
        "brute": lambda: against_brute_force(law, market, options.types, options.instances),
        "savings": lambda: savings(law, market, options.limit),
        "kinds": lambda: kinds(options.limit, 2),
        "constraints": lambda: constrained(options.limit, options.cases, options.seed),
    }
    for name, table in tables.items():
        if options.only in (None, name):
            table()


if __name__ == "__main__":
    main()
