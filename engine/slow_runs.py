"""Runs that took far longer than others say: something went wrong.

With a lost node or a busy disk a run takes half as long again, or three times as long. In a mean it
moves the time of its configuration by a third, and as noise it widens the interval of all others.
It can only be told where the same was run at least twice besides: such a run is left aside. A run
that was made once may have been slow for a reason that the next one meets too: it is named, and
counts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from engine.configurations import repetitions
from engine.forecast import FloatArray
from engine.profile import Notice, Profile, Run
from engine.run_noise import NOISE_DOF, RUN_NOISE

WENT_WRONG = 0.02
"""Prior probability that something went wrong in a run."""

LEAST, MOST = 1.25, 4.0
"""How many times as long a run then takes, evenly in log time."""

ODDS = 10.0
"""Odds that something went wrong from which on a run is left aside."""

FEWEST = 3
"""Runs of one configuration that it takes."""

FEWEST_OTHERS = 6
"""Configurations from which on one of them can stand out."""

OF_MEDIAN = 1.4826
"""Standard deviation of normal errors over the median of their absolute values."""


@dataclass(frozen=True, eq=False)
class SlowRun:
    """A run in which something went wrong, and how many times as long as others of the same it
    took."""

    run: Run
    times: float


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


def without(runs: Sequence[Run], slow: Sequence[SlowRun]) -> tuple[Run, ...]:
    """The other runs."""
    aside = {id(one.run) for one in slow}
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
    upto = "up to " if len(slow) > 1 else ""
    return [
        Notice(
            "slow-runs",
            f"{who} took {upto}{most.times:.2g} times as long as others of the same: left aside",
            "look what went wrong; where it often does, leave the deadline more time",
        )
    ]


def unusual_notices(
    runs: Sequence[Run | None], errors: FloatArray, as_hard: NDArray[np.bool_]
) -> list[Notice]:
    """The run made once that took longest beyond what the others foretell, if by so much that
    something went wrong rather than that the others foretell no better.

    Args:
        runs: (r,) of each configuration; None where it was run more than once.
        errors: (r,) log time less what the other configurations foretell.
        as_hard: (r, r) whether run j (columns) had no more cores and memory than i (rows) for no
            less input. Without one that did and took as long as foretold, more may be behind it: a
            memory cliff begins at the hardest.
    """
    if len(runs) < FEWEST_OTHERS:
        return []
    # About their median: one slow run makes the others foretell too much of each other.
    apart = errors - np.median(errors)
    scale = max(OF_MEDIAN * float(np.median(np.abs(apart))), RUN_NOISE)
    wrong = np.asarray([_went_wrong(longer, scale, len(runs) - 1.0) for longer in apart])
    for place in np.argsort(-errors).tolist():
        run = runs[place]
        if wrong[place] and run is not None and (as_hard[place] & ~wrong).any():
            times = math.exp(float(errors[place]))
            return [
                Notice(
                    "unusual-run",
                    f"{_named(run)} took {times:.2g} times as long as the other runs foretell",
                    "look what went wrong; leave it out of the runs if that will not come again",
                )
            ]
    return []


def _named(run: Run) -> str:
    """Where a run stands, or what it was."""
    if run.source:
        return run.source.rsplit("/", 1)[-1]
    return f"the run of {run.seconds:.4g} s"
