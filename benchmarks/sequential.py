"""Choosing a cluster by one run after another: how soon is the choice right, and what does it cost?

    python benchmarks/sequential.py DIR... [--seeds N] [--by dollar|run] [--confidence P]

Every workload of the run tables in DIR (same job, input and parameters, at least `LEAST`
compositions of type and nodes) is searched with deadlines of 1.1, 1.5, 2 and 3 times its fastest.
The first run is drawn at random (one per seed); the next two tell most of all compositions, each
one after them has the largest expected saving, per dollar that it costs or as it is. After 6, 10
and 15 runs a composition is chosen by the optimiser's rule, from what is believed and from what the
model alone predicts (as `sparkplan recommend` does), and compared with what the table says of it:
deadline met %, cost relative to the cheapest composition that meets it (mean and median over those
that met it).
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from tables import print_table

from engine.experiments.belief import belief_at, forecast_at
from engine.experiments.knowledge_gradient import Decision, gains, is_opening, variance_reduction
from engine.experiments.points import Points
from engine.forecast import FloatArray
from engine.models import fit
from engine.profile import Profile, Run
from engine.sources.formats import run_table

DEADLINE_FACTORS = (1.1, 1.5, 2.0, 3.0)
AFTER = (6, 10, 15)
LEAST = 16

REFERENCES = (
    ("reference: Bayesian search (c3o)", "", "100 / 1.01", "100 / 1.00"),
    ("reference: Bayesian search (scout)", "", "98 / 1.18", "100 / 1.06"),
)


def workloads(directory: Path) -> Iterator[list[Run]]:
    for path in sorted(directory.glob("*.csv")):
        groups: dict[object, list[Run]] = defaultdict(list)
        for run in run_table.parse(path.read_text(), path.name).runs:
            work = run.workload
            key = (work.input_bytes, work.iterations, *sorted(work.parameters.items()))
            groups[key].append(run)
        yield from (runs for runs in groups.values() if len(runs) >= LEAST)


def rates(runs: Sequence[Run]) -> FloatArray:
    """(n,) USD per second of each composition."""
    groups = [run.cluster.groups[0] for run in runs]
    return np.asarray([(g.price_usd_per_hour or 0.0) * g.nodes / 3600.0 for g in groups])


def searched(
    runs: Sequence[Run], deadline: float, first: int, *, per_dollar: bool, confidence: float
) -> Iterator[tuple[int, int, int]]:
    """(runs made, composition chosen by belief, and by the model) at each count of `AFTER`."""
    made, usd_per_second = [first], rates(runs)
    while True:
        profile = Profile("benchmark", tuple(runs[place] for place in made))
        points = Points.of([run.cluster for run in runs], [run.workload for run in runs], profile)
        fitted = fit(profile)
        belief = belief_at(fitted, points)
        decision = Decision(usd_per_second, deadline, confidence, dof=belief.dof)
        if len(made) in AFTER:
            model = forecast_at(fitted, points)
            by_model = Decision(usd_per_second, deadline, confidence, dof=model.dof)
            recommended = int(by_model.choices(np.log(model.seconds), model.log_scale))
            yield len(made), decision.best(belief), recommended
        if len(made) >= max(AFTER):
            return
        n = len(runs)
        both = belief.take(np.tile(np.arange(n), 2))
        value = (
            variance_reduction(both, n) if is_opening(profile) else gains(decision, both, n).gain
        )
        if per_dollar:
            value = value / (usd_per_second * belief.seconds)
        value[made] = -1.0
        made.append(int(np.argmax(value)))


def rows_of(
    directory: Path, seeds: int, *, per_dollar: bool, confidence: float
) -> list[tuple[str, ...]]:
    outcomes: dict[tuple[str, int], list[tuple[bool, float]]] = defaultdict(list)
    for runs, factor, seed in product(workloads(directory), DEADLINE_FACTORS, range(seeds)):
        seconds = np.asarray([run.seconds for run in runs])
        cost = seconds * rates(runs)
        deadline = factor * float(seconds.min())
        best = float(cost[seconds <= deadline].min())
        first = int(np.random.default_rng(seed).integers(len(runs)))
        found = searched(runs, deadline, first, per_dollar=per_dollar, confidence=confidence)
        for count, believed, recommended in found:
            for by, chosen in (("believed", believed), ("recommended", recommended)):
                met = bool(seconds[chosen] <= deadline)
                outcomes[by, count].append((met, float(cost[chosen]) / best))
    if not outcomes:
        sys.exit(f"{directory}: no workload of at least {LEAST} compositions")
    saving = f"saving per {'dollar' if per_dollar else 'run'} ({directory.name})"
    return [
        (f"{saving}, {by}", *(_cell(outcomes[by, count]) for count in AFTER))
        for by in ("believed", "recommended")
    ]


def _cell(outcomes: Sequence[tuple[bool, float]]) -> str:
    met = np.asarray([entry[0] for entry in outcomes])
    relative = np.asarray([entry[1] for entry in outcomes])[met]
    return f"{100 * met.mean():.0f} / {relative.mean():.2f} ({np.median(relative):.2f})"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--confidence", type=float, default=0.9, help="that deadlines are met")
    parser.add_argument("--by", choices=("dollar", "run"), action="append")
    options = parser.parse_args()
    rows: list[tuple[str, ...]] = [("method", *(f"{count} runs" for count in AFTER))]
    for directory in options.directories:
        for by in options.by or ("dollar", "run"):
            rows += rows_of(
                directory, options.seeds, per_dollar=by == "dollar", confidence=options.confidence
            )
    rows += REFERENCES
    print_table(rows)


if __name__ == "__main__":
    main()
