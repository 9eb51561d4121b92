"""Runs that took far longer than others say: something went wrong.

With a lost node or a busy disk a run takes half as long again, or three times as long. In a mean it
moves the time of its configuration by a third, and as noise it widens the interval of all others.
Where the same was run at least twice besides, such a run is left aside. A run that was made once
may have been slow for a reason that the next one meets too: what the other runs foretell decides
how much it counts (`engine/models/laws/wrong_runs.py`), and it is named; so is the slower of two
(`engine/models/laws/wrong_pairs.py`).
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
from engine.text.lists import in_a_row
from engine.units import format_number

WENT_WRONG = 0.02
"""Prior probability that something went wrong in a run."""

LEAST, MOST = 1.25, 4.0
"""How many times as long a run then takes, evenly in log time."""

ODDS = 10.0
"""Odds that something went wrong from which on a run is left aside."""

FEWEST = 3
"""Runs of one configuration that it takes."""


@dataclass(frozen=True, eq=False)
class SlowRun:
    """A run in which something went wrong, and how many times as long as others of the same it
    took."""

    run: Run
    times: float


@dataclass(frozen=True, eq=False)
class UnusualRun:
    """A run made once, or the slower of two, that took so many times as long as the others
    foretell, and what it counts for: the probability that nothing went wrong in it, 0 of two."""

    run: Run
    times: float
    count: float


HARDLY = 0.01
"""A run that counts for no more is not worth a number."""


def slow_runs(runs: Sequence[Run]) -> list[SlowRun]:
    """The runs in which something went wrong: at most one of three of the same."""
    groups = [sorted(same, key=lambda run: run.seconds) for same in repetitions(runs)]
    noise, dof = _noise(groups)
    found = []
    for same in groups:
        fast = math.ceil(2 * len(same) / FEWEST)
        usual = float(np.log([run.seconds for run in same[:fast]]).mean())
        scale = noise * math.sqrt(1.0 + 1.0 / fast)
        for run in same[fast:]:
            longer = math.log(run.seconds) - usual
            if _went_wrong(longer, scale, dof):
                found.append(SlowRun(run, math.exp(longer)))
    return found


def without(runs: Sequence[Run], wrong: Sequence[SlowRun | UnusualRun]) -> tuple[Run, ...]:
    aside = {id(one.run) for one in wrong}
    return tuple(run for run in runs if id(run) not in aside)


def calm(profile: Profile) -> Profile:
    """A profile of run times without its slow runs; one with logs, all of which are replayed, as it
    is."""
    if profile.has_stages:
        return profile
    return replace(profile, runs=without(profile.runs, slow_runs(profile.runs)))


def _noise(groups: Sequence[Sequence[Run]]) -> tuple[float, float]:
    """Scale of log time among repetitions that nothing speaks against, and its degrees of freedom:
    those within `LEAST` of the median of at least `FEWEST`, and all of fewer."""
    squares, dof = NOISE_DOF * RUN_NOISE**2, NOISE_DOF
    for same in groups:
        logs = np.log([run.seconds for run in same])
        if len(logs) >= FEWEST:
            logs = logs[logs <= np.median(logs) + math.log(LEAST)]
        squares += float(logs.var()) * len(logs)
        dof += len(logs) - 1
    return math.sqrt(squares / dof), dof


def _went_wrong(longer: float, scale: float, dof: float) -> bool:
    """Whether log time so much longer is rather a run that went wrong than noise."""
    if not math.log(LEAST) <= longer:
        return False
    density = math.lgamma(0.5 * (dof + 1.0)) - math.lgamma(0.5 * dof)
    density -= 0.5 * math.log(dof * math.pi) + math.log(scale)
    density -= 0.5 * (dof + 1.0) * math.log1p((longer / scale) ** 2 / dof)
    wrong = math.log(WENT_WRONG) - math.log(math.log(MOST / LEAST))
    return wrong - math.log1p(-WENT_WRONG) - density > math.log(ODDS)


def slow_notices(slow: Sequence[SlowRun]) -> list[Notice]:
    """That runs were left aside."""
    if not slow:
        return []
    most = max(slow, key=lambda one: one.times)
    who = f"{len(slow)} runs" if len(slow) > 1 else most.run.source or "one run"
    times = format_number(most.times, figures=2)
    upto = "up to " if len(slow) > 1 else ""
    return [
        Notice(
            "slow-runs",
            f"{who} took {upto}{times} times as long as others of the same: left aside",
            "look what went wrong; where it often does, leave the deadline more time",
        )
    ]


def unusual_notices(unusual: Sequence[UnusualRun]) -> list[Notice]:
    """That runs made once count for less, since something rather went wrong in them."""
    if not unusual:
        return []
    names = [_named(one.run) for one in unusual]
    every = sorted(one.times for one in unusual)
    times = list(dict.fromkeys(format_number(each, figures=2) for each in every))
    share = max(one.count for one in unusual)
    counts = f"as {'at most ' if len(names) > 1 else ''}{share:.2g} of a run"
    counts = counts if share > HARDLY else "for next to nothing"
    return [
        Notice(
            "unusual-run",
            f"{in_a_row(names)} took {' to '.join(times[:: max(len(times) - 1, 1)])} times as long "
            f"as the other runs foretell, as if something went wrong: counted {counts}",
            "the answer may hang on it: look what did, and leave out what will not come again; if "
            "nothing did, run it once more: two runs that agree count in full",
        )
    ]


def _named(run: Run) -> str:
    """Where a run stands, or what it was."""
    if run.source:
        return run.source.rsplit("/", 1)[-1]
    return f"the run of {format_number(run.seconds, figures=4)} s"
