"""How far each model is off on the bundled pairs: a small and a large real run of one job.

    python benchmarks/pairs.py [--model NAME ...]

Error of the predicted time, in %: the large run from the small one alone and the other way round
(PERIDOT, which needs two, from its own leave-one-out), then each when both are known. An error in
brackets lies outside the 90 % interval. "ideal" scales the whole time with the input.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from statistics import mean, median

from tables import print_table

import engine
from engine.models import MODELS
from engine.profile import Profile, Run

JOBS = ("nightly-features", "sales-report", "movie-als", "pagerank", "word-count", "sort")
HEADER = ("job", "model", "small -> large", "large -> small", "both: small", "both: large")
IDEAL = "ideal"

Error = tuple[float, bool]
"""Relative error of a time, and whether it was inside the interval or there was none."""


def sources(job: str) -> tuple[str, str]:
    """Names of the small and the large sample."""
    return f"{job}-small", job if job == "nightly-features" else f"{job}-large"


def asked(outcome: engine.FitOutcome, run: Run) -> Error | None:
    """What a fitted model says of a run; None where it does not answer."""
    answer = engine.ask(outcome, cluster=run.cluster, workload=run.workload)
    if answer.prediction is None:
        return None
    seconds, low, high = (getattr(answer.prediction, name) for name in ("seconds", "low", "high"))
    return seconds / run.seconds - 1.0, low is None or low <= run.seconds <= high


def left_out(outcome: engine.FitOutcome, run: Run) -> Error | None:
    """What it says of a run that it left out; None without one."""
    found = [pair for pair in outcome.left_out if pair.run is run]
    return (found[0].relative_error, True) if found else None


def errors(model: str, small: Profile, large: Profile, both: Profile) -> list[Error | None]:
    """The four cells of one model and job."""
    entry = next(entry for entry in MODELS if entry.name == model)
    (less,), (more,) = small.runs, large.runs
    known = engine.fit_outcome(entry, both)
    up = asked(engine.fit_outcome(entry, small), more)
    down = asked(engine.fit_outcome(entry, large), less)
    first, second = both.runs
    if up is None and down is None:
        up, down = left_out(known, second), left_out(known, first)
    return [up, down, asked(known, first), asked(known, second)]


def ideal(small: Profile, large: Profile) -> list[Error | None]:
    """Time in proportion to the input."""
    (less,), (more,) = small.runs, large.runs
    scale = (more.workload.input_bytes or 0.0) / (less.workload.input_bytes or 1.0)
    up = less.seconds * scale / more.seconds
    return [(up - 1.0, True), (1.0 / up - 1.0, True), None, None]


def shown(found: Error | None) -> str:
    if found is None:
        return "-"
    return f"{100 * found[0]:+.0f}" if found[1] else f"({100 * found[0]:+.0f})"


def summary(model: str, cells: Sequence[Sequence[Error | None]]) -> list[str]:
    """Mean and median of the absolute errors of each column."""
    row = ["mean, median", model]
    for column in zip(*cells, strict=True):
        known = [100 * abs(found[0]) for found in column if found is not None]
        row.append(f"{mean(known):.0f}, {median(known):.0f}" if known else "-")
    return row


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--model", action="append", choices=[model.name for model in MODELS])
    models = parser.parse_args().model or [model.name for model in MODELS]
    found: dict[str, list[list[Error | None]]] = {name: [] for name in (IDEAL, *models)}
    rows: list[Sequence[str]] = [HEADER]
    for job in JOBS:
        names = sources(job)
        small, large, both = (engine.read(*chosen) for chosen in (names[:1], names[1:], names))
        for model, cells in found.items():
            given = small, large
            cells.append(ideal(*given) if model == IDEAL else errors(model, *given, both))
            if any(cells[-1]):
                rows.append([job, model, *map(shown, cells[-1])])
    rows += [summary(model, cells) for model, cells in found.items() if any(map(any, cells))]
    print_table(rows)


if __name__ == "__main__":
    main()
