"""Detects slow outliers: runs that took far longer than other runs predict.

With a lost node or a busy disk a run takes half as long again, or three times as long. In a mean it
shifts the time of its configuration by a third, and as noise it widens the interval of all others.
If its configuration was run at least twice besides, such a run is excluded. A run made once may
have been slow for a reason that recurs. Then the prediction of the other runs decides how much it
counts (`engine/models/laws/outlier_runs.py`), and it is reported, and so is the slower of two
(`engine/models/laws/outlier_pairs.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.notices import Notice
from engine.profile import Profile, Run
from engine.runs.configurations import repetitions
from engine.runs.run_noise import NOISE_DOF, RUN_NOISE
from engine.text.lists import abbreviated_list
from engine.units import format_number

OUTLIER_PROBABILITY = 0.02
"""Prior probability that a run is an outlier."""

LEAST_FACTOR, MOST_FACTOR = 1.25, 4.0
"""Range of the factor on an outlier's time: log-uniform."""

LEAST_ODDS = 10.0
"""Posterior odds of being an outlier above which a run is excluded."""

FEWEST_RUNS = 3
"""Fewest runs of one configuration among which outliers are detected."""


@dataclass(frozen=True, eq=False)
class ExcludedRun:
    """An excluded outlier, and its time relative to other runs of its configuration."""

    run: Run
    times: float


@dataclass(frozen=True, eq=False)
class SuspectedOutlier:
    """A suspected outlier: a run made once, or the slower of two.

    Args:
        times: its time relative to the prediction of the other runs.
        count: its weight, the probability that it is no outlier; 0 for the slower of two.
    """

    run: Run
    times: float
    count: float


LEAST_REPORTED_WEIGHT = 0.01
"""Largest weight that is reported as next to nothing."""


def excluded_runs(runs: Sequence[Run]) -> list[ExcludedRun]:
    """The outliers among repeated runs: at most a third of each configuration."""
    repeated = [same for same in repetitions(runs) if len(same) > 1]
    groups = [sorted(same, key=lambda run: run.seconds) for same in repeated]
    noise, dof = _noise(groups)
    excluded = []
    for same in groups:
        fast = math.ceil(2 * len(same) / FEWEST_RUNS)
        usual = float(np.log([run.seconds for run in same[:fast]]).mean())
        scale = noise * math.sqrt(1.0 + 1.0 / fast)
        for run in same[fast:]:
            longer = math.log(run.seconds) - usual
            if _is_outlier(longer, scale, dof):
                excluded.append(ExcludedRun(run, math.exp(longer)))
    return excluded


def without(
    runs: Sequence[Run], wrong: Sequence[ExcludedRun | SuspectedOutlier]
) -> tuple[Run, ...]:
    """The runs without the given outliers."""
    aside = {id(excluded.run) for excluded in wrong}
    return tuple(run for run in runs if id(run) not in aside)


def without_outliers(profile: Profile) -> Profile:
    """A profile of run times without its outliers; a profile with logs, all of which are replayed,
    unchanged."""
    if profile.has_stages:
        return profile
    return replace(profile, runs=without(profile.runs, excluded_runs(profile.runs)))


def _noise(groups: Sequence[Sequence[Run]]) -> tuple[float, float]:
    """Scale of log time among repetitions without candidates for outliers, and its degrees of
    freedom. Candidates are runs beyond `LEAST_FACTOR` times the median of at least `FEWEST_RUNS`
    runs."""
    squares, dof = NOISE_DOF * RUN_NOISE**2, NOISE_DOF
    for same in groups:
        logs = np.log([run.seconds for run in same])
        if len(logs) >= FEWEST_RUNS:
            logs = logs[logs <= np.median(logs) + math.log(LEAST_FACTOR)]
        squares += float(logs.var()) * len(logs)
        dof += len(logs) - 1
    return math.sqrt(squares / dof), dof


def _is_outlier(longer: float, scale: float, dof: float) -> bool:
    """Whether a run whose log time is `longer` than usual is an outlier: by its posterior odds, the
    log-uniform density of outliers against Student's density of noise."""
    if not math.log(LEAST_FACTOR) <= longer:
        return False
    density = math.lgamma(0.5 * (dof + 1.0)) - math.lgamma(0.5 * dof)
    density -= 0.5 * math.log(dof * math.pi) + math.log(scale)
    density -= 0.5 * (dof + 1.0) * math.log1p((longer / scale) ** 2 / dof)
    wrong = math.log(OUTLIER_PROBABILITY) - math.log(math.log(MOST_FACTOR / LEAST_FACTOR))
    return wrong - math.log1p(-OUTLIER_PROBABILITY) - density > math.log(LEAST_ODDS)


def slow_notices(slow: Sequence[ExcludedRun]) -> list[Notice]:
    """The warning that outliers were excluded."""
    if not slow:
        return []
    most = max(slow, key=lambda run: run.times)
    who = f"{len(slow)} runs" if len(slow) > 1 else most.run.source or "one run"
    times = format_number(most.times, figures=2)
    upto = "up to " if len(slow) > 1 else ""
    return [
        Notice(
            "slow-runs",
            f"{who} took {upto}{times} times as long as others of the same configuration: not used",
            "find out what went wrong; if it often happens, allow a later deadline",
        )
    ]


def unusual_notices(unusual: Sequence[SuspectedOutlier]) -> list[Notice]:
    """The warning that runs made once count for less, since they are probably outliers."""
    if not unusual:
        return []
    names = [_named(suspect.run) for suspect in unusual]
    every = sorted(suspect.times for suspect in unusual)
    times = list(dict.fromkeys(format_number(each, figures=2) for each in every))
    share = max(suspect.count for suspect in unusual)
    counts = f"as {'at most ' if len(names) > 1 else ''}{share:.2g} of a run"
    counts = counts if share > LEAST_REPORTED_WEIGHT else "for next to nothing"
    return [
        Notice(
            "unusual-run",
            f"{abbreviated_list(names)} took {' to '.join(times[:: max(len(times) - 1, 1)])} times "
            f"as long as the other runs predict, as if something went wrong: counted {counts}",
            "find out what went wrong, and leave the run out if it will not happen again; if "
            "nothing did, repeat the run: two that agree count in full",
        )
    ]


def _named(run: Run) -> str:
    """A run by the name of its file, or else by its time."""
    if run.source:
        return run.source.rsplit("/", 1)[-1]
    return f"the run of {format_number(run.seconds, figures=4)} s"
