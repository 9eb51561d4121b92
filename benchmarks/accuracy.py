"""How far the models are off on run tables: one table, rows are models, columns are protocols.

    python benchmarks/accuracy.py DIR... [--without JOB=NODES ...] [--model NAME ...]

Every context (job, instance type, parameters other than nodes and size) of at least 5 runs is
fitted alone. Protocols, all in % of |predicted - actual| / actual:

    leave-one-out   each run predicted from the others of its context: mean (median)
    k runs          3, 5, 7 runs chosen by greedy A-optimality on Ernest's terms predict the rest
    extrapolation   runs on at most half of the largest node count predict the largest
    coverage        runs inside the central 90 % interval: leave-one-out / extrapolation
    decisions       deadlines 1.1, 1.5, 2, 3 times the fastest run of a workload; the cheapest
                    configuration whose left-out prediction keeps it: deadline met % / cost
                    relative to the best choice, by the point and by 90 % one-sided confidence
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from engine.errors import ModelDoesNotFit
from engine.models import MODELS
from engine.models.base import Predictions
from engine.profile import Profile, Run
from engine.sources import run_table

CONFIDENCE = 0.9
DEADLINE_FACTORS = (1.1, 1.5, 2.0, 3.0)
TRAINING_SIZES = (3, 5, 7)

PUBLISHED = (
    # method, c3o, scout: leave-one-out mean (median), k = 3 / 5 / 7, extrapolation, decisions
    ("Ernest (c3o)", "7.8 (5.7)", "9.6 / 8.0 / 8.3", "13.0", "71 / 1.13"),
    ("Ernest, extended, relative (c3o)", "4.3 (3.1)", "5.1 / 4.0 / 4.1", "6.8", "-"),
    ("Gaussian process, log features (c3o)", "3.3 (1.8)", "19.0 / 9.1 / 3.9", "16.5", "96 / 1.03"),
    ("Ernest (scout)", "18.4 (5.3)", "19.7 / 17.4 / 8.3", "41.4", "81 / 1.13"),
    ("Ernest, extended, relative (scout)", "13.1 (5.4)", "13.6 / 12.0 / 7.3", "29.3", "-"),
    (
        "Gaussian process, log features (scout)",
        "12.5 (6.3)",
        "19.9 / 10.0 / 6.7",
        "39.4",
        "81 / 1.17",
    ),
)


@dataclass
class Score:
    """What one model did; errors are relative, `left_out` is per workload for the decisions."""

    errors: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    inside: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    left_out: dict[object, list[tuple[float, float, Run]]] = field(
        default_factory=lambda: defaultdict(list)
    )
    refused: int = 0


def contexts(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs that differ in nodes and size alone; those of at least 5."""
    groups: dict[object, list[Run]] = defaultdict(list)
    for run in runs:
        instance = run.cluster.instance
        assert instance is not None
        groups[(instance.name, parameters_of(run))].append(run)
    return [group for group in groups.values() if len(group) >= 5]


def parameters_of(run: Run) -> tuple[object, ...]:
    return (run.workload.iterations, *sorted(run.workload.parameters.items()))


def predicted(model: str, training: Sequence[Run], asked: Sequence[Run]) -> Predictions | None:
    by_name = {entry.name: entry for entry in MODELS}
    try:
        fitted = by_name[model].fit(Profile("benchmark", tuple(training)), models=by_name)
    except ModelDoesNotFit:
        return None
    return fitted.predict_many(
        clusters=[run.cluster for run in asked],
        workloads=[run.workload for run in asked],
        confidence=CONFIDENCE,
    )


def trials(runs: Sequence[Run]) -> Iterator[tuple[str, list[Run], list[Run]]]:
    """(protocol, training runs, asked runs) of one context."""
    for place, run in enumerate(runs):
        yield "left out", [*runs[:place], *runs[place + 1 :]], [run]
    for count in TRAINING_SIZES:
        if len(runs) > count:
            places = a_optimal(runs, count)
            rest = [run for place, run in enumerate(runs) if place not in places]
            yield f"k={count}", [runs[place] for place in places], rest
    largest = max(run.cluster.nodes or 0 for run in runs)
    small = [run for run in runs if (run.cluster.nodes or 0) <= largest / 2]
    if len(small) >= 3:
        yield "extrapolation", small, [run for run in runs if run.cluster.nodes == largest]


def a_optimal(runs: Sequence[Run], count: int) -> list[int]:
    """Greedy A-optimal choice: each next run minimises trace((X'X)^-1) over Ernest's terms, each
    divided by its mean."""
    machines = np.asarray([run.cluster.nodes or 0 for run in runs], dtype=float)
    size = np.asarray([run.workload.input_bytes or 1.0 for run in runs])
    terms = np.stack((np.ones_like(machines), size / machines, np.log(machines), machines), axis=1)
    terms /= terms.mean(axis=0)
    information, places = 1e-6 * np.eye(4), list[int]()
    for _ in range(count):
        traces = {
            place: np.trace(np.linalg.inv(information + np.outer(row, row)))
            for place, row in enumerate(terms)
            if place not in places
        }
        places.append(min(traces, key=traces.__getitem__))
        information += np.outer(terms[places[-1]], terms[places[-1]])
    return places


def score(model: str, tables: Sequence[Sequence[Run]]) -> Score:
    result = Score()
    for runs in tables:
        for context in contexts(runs):
            for protocol, training, asked in trials(context):
                answer = predicted(model, training, asked)
                if answer is None:
                    result.refused += 1
                    continue
                _record(result, protocol, answer, asked)
    return result


def _record(result: Score, protocol: str, answer: Predictions, asked: Sequence[Run]) -> None:
    for place, run in enumerate(asked):
        seconds, low, high = answer.seconds[place], answer.low[place], answer.high[place]
        result.errors[protocol].append(abs(seconds / run.seconds - 1.0))
        if np.isfinite(low):
            result.inside[protocol].append(bool(low <= run.seconds <= high))
        if protocol == "left out":
            workload = (run.application, run.workload.input_bytes, parameters_of(run))
            result.left_out[workload].append((float(seconds), float(high), run))


def decisions(result: Score, *, cautious: bool) -> tuple[float, float]:
    """(share of deadlines met, mean cost relative to the best choice when met)."""
    met, costs = [], []
    for options in result.left_out.values():
        fastest = min(run.seconds for _, _, run in options)
        for factor in DEADLINE_FACTORS:
            deadline = factor * fastest
            best = min(cost(run) for _, _, run in options if run.seconds <= deadline)
            choice = _choice(options, deadline, cautious=cautious)
            met.append(choice.seconds <= deadline)
            if met[-1]:
                costs.append(cost(choice) / best)
    return float(np.mean(met)), float(np.mean(costs)) if costs else float("nan")


def _choice(options: Sequence[tuple[float, float, Run]], deadline: float, *, cautious: bool) -> Run:
    """The cheapest by prediction among those predicted in time, else the fastest by prediction."""
    bounds = [
        (high if cautious and np.isfinite(high) else seconds, seconds, run)
        for seconds, high, run in options
    ]
    fitting = [(seconds * rate(run), run) for bound, seconds, run in bounds if bound <= deadline]
    if fitting:
        return min(fitting, key=lambda pair: pair[0])[1]
    return min(bounds, key=lambda triple: triple[0])[2]


def rate(run: Run) -> float:
    group = run.cluster.groups[0]
    assert group.price_usd_per_hour is not None
    return group.nodes * group.price_usd_per_hour


def cost(run: Run) -> float:
    return rate(run) * run.seconds


def row(name: str, result: Score) -> tuple[str, ...]:
    def mean(protocol: str) -> str:
        errors = result.errors[protocol]
        return f"{100 * np.mean(errors):.1f}" if errors else "-"

    def coverage(protocol: str) -> str:
        inside = result.inside[protocol]
        return f"{100 * np.mean(inside):.0f}" if inside else "-"

    def decided(*, cautious: bool) -> str:
        met, relative_cost = decisions(result, cautious=cautious)
        return f"{100 * met:.0f} / {relative_cost:.2f}"

    errors = result.errors["left out"]
    return (
        name,
        f"{mean('left out')} ({100 * np.median(errors):.1f})" if errors else "-",
        " / ".join(mean(f"k={count}") for count in TRAINING_SIZES),
        mean("extrapolation"),
        f"{coverage('left out')} / {coverage('extrapolation')}",
        decided(cautious=False) if errors else "-",
        decided(cautious=True) if errors else "-",
        str(result.refused),
    )


HEADER = (
    "model", "leave-one-out", "k = 3 / 5 / 7", "extrapolation", "coverage", "decisions",
    "decisions at 90 %", "refused",
)  # fmt: skip


def print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[column]) for line in rows) for column in range(len(rows[0]))]
    for line in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--without", action="append", default=[], metavar="JOB=NODES")
    parser.add_argument("--model", action="append", choices=[model.name for model in MODELS])
    options = parser.parse_args()
    dropped = {tuple(text.split("=")) for text in options.without}
    rows: list[tuple[str, ...]] = [HEADER]
    for directory in options.directories:
        paths = sorted(directory.glob("*.csv"))
        tables = [
            [
                run
                for run in run_table.parse(path.read_text(), path.name).runs
                if (path.stem, str(run.cluster.nodes)) not in dropped
            ]
            for path in paths
        ]
        if not tables:
            sys.exit(f"{directory}: no run table (*.csv)")
        names = options.model or [model.name for model in MODELS]
        rows += [row(f"{name} ({directory.name})", score(name, tables)) for name in names]
    rows += [
        (f"reference: {method}", left_out, few, extrapolation, "", decided, "", "")
        for method, left_out, few, extrapolation, decided in PUBLISHED
    ]
    print_table(rows)


if __name__ == "__main__":
    main()
