"""How long a slider step takes: all AWS types x 512 nodes with intervals, re-filtered.

    python benchmarks/optimiser.py [--nodes N] [--steps N]

Two fitted models answer for all types of the catalog: Ernest's terms fitted to a made-up run table,
and `sparkplan` on a made-up run of 100,000 tasks. Prints one table: milliseconds to build the
surface and for each kind of step (wall clock, median and worst, and processor time, which other
programs on the machine disturb less), and the ratio of the processor time to one pass of NumPy over
an array of the same size, measured in the same run. Every step changes its setting, so that nothing
is answered from a cache that a user's step would not find filled either.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.catalog import Catalog
from engine.catalog_files.reader import load_catalog
from engine.choosing.candidate_selection import select_candidates
from engine.choosing.recommendation import Goal
from engine.choosing.selection import select
from engine.choosing.surface import Surface
from engine.cluster import Cluster, Layout, Workload
from engine.models import fit
from engine.models.base import FittedModel
from engine.profile import JobRun, Profile, Run
from engine.stage_run import Measure, StageRun

STAGES = 10
TASKS_PER_STAGE = 10_000
TYPE = "m5.xlarge"


def run_table(catalog: Catalog) -> Profile:
    """Runs on 2 to 16 nodes at two sizes that follow Ernest's terms, with 3 % of noise."""
    random = np.random.default_rng(1)
    runs = []
    for nodes in (2, 4, 8, 16):
        for size in (0.5e9, 1e9):
            seconds = 60.0 + 9e3 * size / 1e9 / nodes + 8.0 * np.log(nodes) + 0.2 * nodes
            noisy = float(seconds * np.exp(random.normal(0.0, 0.03)))
            cluster = Cluster.of_nodes(instance_type=TYPE, nodes=nodes, catalog=catalog)
            runs.append(Run(noisy, cluster, Workload(size), source="made up"))
    return Profile("made-up table", tuple(runs))


def large_log(catalog: Catalog) -> Profile:
    """One run on 16 nodes: a chain of stages with 100,000 log-normal tasks in total."""
    random = np.random.default_rng(2)
    nodes, slots, at = 16, 64, 5.0
    stages = []
    for stage_id in range(STAGES):
        times = random.lognormal(0.5, 0.5, TASKS_PER_STAGE)
        tasks = Measure(
            TASKS_PER_STAGE,
            float(times.sum()),
            tuple(np.quantile(times, np.linspace(0.0, 1.0, 201)).tolist()),
        )
        duration = float(times.sum()) / slots + 2.0
        parents = (stage_id - 1,) if stage_id else ()
        stages.append(
            StageRun(
                stage_id, f"stage {stage_id}", TASKS_PER_STAGE, at, at + duration, tasks,
                parents=parents, job_ids=(0,),
            )
        )  # fmt: skip
        at += duration + 1.0
    cluster = Cluster.of_nodes(instance_type=TYPE, nodes=nodes, catalog=catalog)
    run = Run(
        at,
        cluster.with_layout(Layout(1, 4, 9.0)),
        Workload(1e12),
        source="made up",
        stages=tuple(stages),
        jobs=(JobRun(0, 4.0, at, tuple(range(STAGES))),),
        cores=((0.0, slots),),
        driver_seconds=5.0 + STAGES,
    )
    return Profile("made-up log", (run,))


@dataclass(frozen=True)
class Timing:
    """Milliseconds of several steps of a kind: wall clock and processor time."""

    wall: list[float]
    processor: list[float]

    @classmethod
    def of(cls, step: Callable[[int], object], steps: int) -> Timing:
        timing = cls([], [])
        for number in range(steps):
            wall, processor = time.perf_counter(), time.process_time()
            step(number)
            timing.wall.append((time.perf_counter() - wall) * 1e3)
            timing.processor.append((time.process_time() - processor) * 1e3)
        return timing

    def row(self, one_pass: float) -> str:
        wall, processor = statistics.median(self.wall), statistics.median(self.processor)
        return f"{wall:9.2f}{max(self.wall):9.2f}{processor:11.2f}{processor / one_pass:9.1f}"


def kinds_of_step(
    surface: Surface, everything: Sequence[float]
) -> dict[str, Callable[[int], object]]:
    """Name -> a step with a number, for each control of the planner."""
    catalog, nodes = surface.candidates.catalog, surface.max_nodes
    profile, bill = surface.fitted.profile, catalog.billing
    soon, late = np.quantile(everything, [0.02, 0.5])
    budget = float(np.median(surface.costs(bill)))
    patterns = ("m*", "c*", "r*", "*.xlarge", "*.2xlarge", "m5*", "[cmr]6*", "*a.*", "*")
    filters = [
        select_candidates(catalog, profile=profile, instances=[pattern]) for pattern in patterns
    ]

    def goal(number: int, **changed: float) -> Goal:
        options = {"deadline_seconds": float(late), "max_nodes": nodes, **changed}
        return Goal(**options)  # type: ignore[arg-type]

    def ask(number: int, **changed: float) -> object:
        return select(surface, goal(number, **changed))

    def billed(number: int, **changed: float | bool) -> object:
        billing = replace(bill, **changed)  # type: ignore[arg-type]
        return select(surface, goal(number), billing)

    return {
        "deadline": lambda n: ask(n, deadline_seconds=float(soon + (late - soon) * n / 100)),
        "budget": lambda n: select(surface, Goal(None, budget * (1 + n / 10), 0.9, nodes)),
        "both": lambda n: ask(n, deadline_seconds=float(late + n), budget_usd=budget + n),
        "deadline nobody meets": lambda n: ask(n, deadline_seconds=1.0 + n / 100),
        "confidence": lambda n: ask(n, confidence=0.5 + 0.49 * n / 100),
        "maximum nodes": lambda n: ask(n, max_nodes=nodes - 1 - n),
        "discount": lambda n: billed(n, discount_fraction=0.005 * (n + 1)),
        "start-up": lambda n: billed(n, startup_seconds=30.0 + n),
        "spot and discount": lambda n: billed(n, spot=True, discount_fraction=0.005 * (n + 1)),
        "type filter": lambda n: select(
            surface, goal(n), candidates=replace(filters[n % len(filters)])
        ),
    }


def report(name: str, fitted: FittedModel, catalog: Catalog, nodes: int, steps: int) -> None:
    """One part of the table."""
    candidates = select_candidates(catalog, profile=fitted.profile, instances=["*"])
    built: list[Surface] = []

    def build(number: int) -> None:
        built[:] = [Surface.build(fitted, candidates, max_nodes=nodes)]

    build(0)
    taken = {"surface": Timing.of(build, 3)}
    surface = built[0]
    select(surface, Goal(max_nodes=nodes))
    known = surface.seconds[np.isfinite(surface.seconds)].tolist()
    for kind, step in kinds_of_step(surface, known).items():
        step(90)
        taken[kind] = Timing.of(step, steps)
    array, out = surface.seconds, np.empty(surface.shape)
    one_pass = statistics.median(
        Timing.of(lambda _: np.multiply(array, 1.1, out=out), 30).processor
    )
    k, m = surface.shape
    print(f"{name}: {k} types x {m} nodes, one pass over the array {one_pass:.2f} ms")
    for kind, timing in taken.items():
        print(f"  {kind:<24}{timing.row(one_pass)}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", type=int, default=512)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    catalog = load_catalog("aws")
    print(f"  {'milliseconds':<24}{'median':>9}{'worst':>9}{'processor':>11}{'passes':>9}")
    for name, profile, model in (
        ("closed form (ernest-extended)", run_table(catalog), "ernest-extended"),
        ("replay (sparkplan)", large_log(catalog), "sparkplan"),
    ):
        report(name, fit(profile, model=model), catalog, options.nodes, options.steps)


if __name__ == "__main__":
    main()
