"""How far the models are off on run tables: one table, rows are models, columns are protocols.

    python benchmarks/accuracy.py DIR... [--without JOB=NODES ...] [--model NAME ...]
        [--by-job] [--sizes-apart]

Protocols, all in % of |predicted - actual| / actual. Of every context (job, instance type,
parameters other than nodes and size; with --sizes-apart, size too) of at least 5 runs, fitted
alone:

    leave-one-out   each run predicted from the others of its context: mean (median)
    k = 3 / 5 / 7   runs chosen by greedy A-optimality on Ernest's terms predict the rest
    extrapolation   runs on at most half of the largest node count predict the largest
    one count       runs on the fewest nodes alone predict those of the same sizes on more: mean
                    (median)
    coverage        runs inside the central 90 % interval: leave-one-out / k = 7 / extrapolation /
                    one count

Of a job with all of its types and parameters:

    together        90 % of the runs predict the others, mean (median) over 5 random splits
    new context     the runs of one type, size and set of parameters, from all others (C3O's)
    new parameters  the runs of one set of parameters, from those of the others
    larger sizes    the runs of the smallest size, of all nodes and types, predict those of larger
                    ones: mean (median)
    coverage        of these four

Decisions, as deadline met % / cost relative to the best choice when met, for deadlines 1.1, 1.5, 2,
3 times the fastest run of a workload; the choice is the cheapest configuration over all types that
is predicted to keep it, by the point (else the fastest by prediction) and by the 90 % one-sided
bound (else as `recommend` says: the likeliest to, or the nearest miss if none has a chance):

    left out        every configuration judged by its left-out prediction
    10 runs         10 configurations (6 of 10) spread over types and cores are known, and fitted;
                    mean over 3 designs
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from baselines import BASELINES
from protocols import (
    TRAINING_SIZES,
    contexts,
    parameters_of,
    spread_design,
    together,
    trials,
    workloads,
)
from published import HEADER, PUBLISHED, Row, reference
from tables import print_table

from engine.choosing.likeliest import ALIKE
from engine.errors import ModelDoesNotFit
from engine.forecast import FloatArray, Forecast
from engine.models import MODELS
from engine.profile import Profile, Run
from engine.sources.formats import run_table

CONFIDENCE = 0.9
DEADLINE_FACTORS = (1.1, 1.5, 2.0, 3.0)

DESIGNS = 3


@dataclass(frozen=True, eq=False)
class Option:
    """A configuration that may be chosen: its run, and the forecast of its time, which is exact
    where the run is known; baselines give no spread."""

    run: Run
    forecast: Forecast

    @classmethod
    def known(cls, run: Run) -> Option:
        return cls(run, Forecast.of(np.asarray([run.seconds]), 0.0))

    @property
    def seconds(self) -> float:
        return float(self.forecast.seconds[0])

    @property
    def bound(self) -> float:
        return float(self.forecast.quantile_or_median(CONFIDENCE)[0])

    def chance(self, deadline: float) -> float:
        """P(T <= deadline); NaN without a spread."""
        return float(self.forecast.p_within(deadline)[0])


@dataclass
class Score:
    """What one model did: relative errors, whether runs were inside their intervals, left-out
    predictions per workload, and (met, relative cost) of its choices."""

    errors: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    inside: dict[str, list[bool]] = field(default_factory=lambda: defaultdict(list))
    left_out: dict[object, list[Option]] = field(default_factory=lambda: defaultdict(list))
    choices: dict[str, list[tuple[float, float]]] = field(default_factory=lambda: defaultdict(list))
    refused: int = 0


@dataclass(frozen=True, eq=False)
class Answer:
    """Predicted times of asked runs with their central intervals, which baselines do not give."""

    forecast: Forecast
    low: FloatArray
    high: FloatArray

    def option(self, place: int, run: Run) -> Option:
        return Option(run, self.forecast.take([place]))


def predicted(model: str, training: Sequence[Run], asked: Sequence[Run]) -> Answer | None:
    if model in BASELINES:
        unknown = np.full(len(asked), np.nan)
        return Answer(Forecast.of(BASELINES[model](training, asked)), unknown, unknown)
    by_name = {entry.name: entry for entry in MODELS}
    try:
        fitted = by_name[model].fit(Profile("benchmark", tuple(training)), models=by_name)
        found = fitted.predict_many(
            clusters=[run.cluster for run in asked],
            workloads=[run.workload for run in asked],
            confidence=CONFIDENCE,
        )
    except ModelDoesNotFit:
        return None
    return Answer(found.forecast, found.low, found.high)


def score(model: str, tables: Sequence[Sequence[Run]], *, sizes_apart: bool) -> Score:
    result = Score()
    for runs in tables:
        for context in contexts(runs, sizes_apart=sizes_apart):
            for protocol, training, asked in trials(context):
                _try(result, model, protocol, training, asked)
        for protocol, training, asked in together(runs):
            _try(result, model, protocol, training, asked)
        for options in workloads(runs):
            if priced(options):
                _decide(result, model, options)
    for left_out in result.left_out.values():
        measured = [option.run for option in left_out]
        if not priced(measured):
            continue
        for cautious in (False, True):
            result.choices[f"left out {cautious}"] += [
                _outcome(left_out, deadline, cautious=cautious) for deadline in _deadlines(measured)
            ]
    return result


def _try(
    result: Score, model: str, protocol: str, training: Sequence[Run], asked: Sequence[Run]
) -> None:
    answer = predicted(model, training, asked)
    if answer is None:
        result.refused += 1
    else:
        _record(result, protocol, answer, asked)


def _decide(result: Score, model: str, runs: Sequence[Run]) -> None:
    """Choices after a few of the configurations were run."""
    random = np.random.default_rng(1)
    for first in random.choice(len(runs), DESIGNS, replace=False):
        places = spread_design(runs, 10 if len(runs) > 10 else 6, int(first))
        answer = predicted(model, [runs[place] for place in places], runs)
        if answer is None:
            result.refused += 1
            continue
        options = [
            Option.known(run) if place in places else answer.option(place, run)
            for place, run in enumerate(runs)
        ]
        for cautious in (False, True):
            result.choices[f"10 runs {cautious}"] += [
                _outcome(options, deadline, cautious=cautious) for deadline in _deadlines(runs)
            ]


def _deadlines(runs: Sequence[Run]) -> list[float]:
    fastest = min(run.seconds for run in runs)
    return [factor * fastest for factor in DEADLINE_FACTORS]


def _outcome(options: Sequence[Option], deadline: float, *, cautious: bool) -> tuple[float, float]:
    """(1 if the choice kept the deadline else 0, its cost over that of the best choice)."""
    best = min(cost(option.run) for option in options if option.run.seconds <= deadline)
    choice = _choice(options, deadline, cautious=cautious).run
    return float(choice.seconds <= deadline), cost(choice) / best


def _record(result: Score, protocol: str, answer: Answer, asked: Sequence[Run]) -> None:
    for place, run in enumerate(asked):
        seconds, low, high = answer.forecast.seconds[place], answer.low[place], answer.high[place]
        result.errors[protocol].append(abs(seconds / run.seconds - 1.0))
        if np.isfinite(low):
            result.inside[protocol].append(bool(low <= run.seconds <= high))
        if protocol == "left out":
            workload = (run.application, run.workload.input_bytes, parameters_of(run))
            result.left_out[workload].append(answer.option(place, run))


def _choice(options: Sequence[Option], deadline: float, *, cautious: bool) -> Option:
    """The cheapest by prediction among those predicted in time. Else the fastest by prediction; of
    the cautious ones the cheapest of the likeliest to be in time, or, if no chance exceeds one
    less the confidence, the one of the least bound (`engine.choosing.likeliest`)."""
    times = [option.bound if cautious else option.seconds for option in options]
    fitting = [
        option for option, seconds in zip(options, times, strict=True) if seconds <= deadline
    ]
    if not fitting and cautious:
        chances = [option.chance(deadline) for option in options]
        if max(chances) > 1.0 - CONFIDENCE:
            pairs = zip(options, chances, strict=True)
            fitting = [option for option, chance in pairs if chance >= max(chances) - ALIKE]
    if fitting:
        return min(fitting, key=lambda option: option.seconds * rate(option.run))
    return options[int(np.argmin(times))]


def priced(runs: Sequence[Run]) -> bool:
    """Whether the table says prices: there is nothing to decide without."""
    return all(run.cluster.groups[0].price_usd_per_hour is not None for run in runs)


def rate(run: Run) -> float:
    group = run.cluster.groups[0]
    assert group.price_usd_per_hour is not None
    return group.nodes * group.price_usd_per_hour


def cost(run: Run) -> float:
    return rate(run) * run.seconds


def row(name: str, result: Score) -> Row:
    def mean(protocol: str) -> str:
        errors = result.errors[protocol]
        return f"{100 * np.mean(errors):.1f}" if errors else "-"

    def with_median(protocol: str) -> str:
        errors = result.errors[protocol]
        return f"{mean(protocol)} ({100 * np.median(errors):.1f})" if errors else "-"

    def coverage(*protocols: str) -> str:
        known = [result.inside[protocol] for protocol in protocols]
        return " / ".join(f"{100 * np.mean(inside):.0f}" if inside else "-" for inside in known)

    def decided(name: str) -> str:
        shown = []
        for cautious in (False, True):
            choices = result.choices[f"{name} {cautious}"]
            met = [relative for kept, relative in choices if kept]
            share = 100 * np.mean([kept for kept, _ in choices]) if choices else np.nan
            shown.append(f"{share:.0f} / {np.mean(met):.2f}" if met else "-")
        return ", ".join(shown)

    return (
        name,
        with_median("left out"),
        " / ".join(mean(f"k={count}") for count in TRAINING_SIZES),
        mean("extrapolation"),
        with_median("one count"),
        coverage("left out", "k=7", "extrapolation", "one count"),
        with_median("together"),
        with_median("new context"),
        with_median("new parameters"),
        with_median("larger sizes"),
        coverage("together", "new context", "new parameters", "larger sizes"),
        decided("left out"),
        decided("10 runs"),
        str(result.refused),
    )


def tables_of(directory: Path, dropped: Collection[tuple[str, ...]]) -> dict[str, list[Run]]:
    """The runs of each table of a folder, by job, without those of the dropped (job, nodes)."""
    tables = {
        path.stem: [
            run
            for run in run_table.parse(path.read_text(), path.name).runs
            if (path.stem, str(run.cluster.nodes)) not in dropped
        ]
        for path in sorted(directory.glob("*.csv"))
    }
    if not tables:
        sys.exit(f"{directory}: no run table (*.csv)")
    return tables


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--without", action="append", default=[], metavar="JOB=NODES")
    every = [*(model.name for model in MODELS), *BASELINES]
    parser.add_argument("--model", action="append", choices=every)
    parser.add_argument("--by-job", action="store_true", help="a row for each table as well")
    parser.add_argument("--sizes-apart", action="store_true", help="contexts of one size each")
    options = parser.parse_args()
    apart = options.sizes_apart
    dropped = {tuple(text.split("=")) for text in options.without}
    rows: list[tuple[str, ...]] = [HEADER]
    for directory in options.directories:
        tables = tables_of(directory, dropped)
        for name in options.model or every:
            together = score(name, list(tables.values()), sizes_apart=apart)
            rows.append(row(f"{name} ({directory.name})", together))
            for job, table in tables.items() if options.by_job else ():
                rows.append(row(f"  {job}", score(name, [table], sizes_apart=apart)))
    rows += [reference(published) for published in PUBLISHED]
    print_table(rows)


if __name__ == "__main__":
    main()
