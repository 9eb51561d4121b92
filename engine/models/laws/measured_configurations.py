"""What was measured: which runs repeat one another, and how sure a time is where one was made.

A model's interval is about places that it has not seen. Where a run was made, the next one differs
from it by the noise of two runs, and what the model says by as much as it misses that run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.base import LeaveOneOut
from engine.models.curves.machines import MachineRuns
from engine.models.laws.design import Rows
from engine.models.laws.run_times import LogTimes, RunTimes
from engine.models.laws.shares import Share
from engine.profile import Run
from engine.runs.configurations import SAME_SIZE, size_levels
from engine.runs.run_noise import Noise
from engine.runs.slow_runs import UnusualRun


def with_repetitions(rows: Rows) -> Rows:
    """The rows, those that repeat one another (`engine.runs.configurations`) at their mean size.

    The same input is seldom read to the same byte: left as they are, repetitions would count as
    different configurations, and the ones left out be foretold by the others.
    """
    told = np.column_stack((_besides_size(rows), size_levels(rows.size)))
    _, first, group = np.unique(told, axis=0, return_index=True, return_inverse=True)
    group = group.reshape(-1)
    # By differences from one of them: the mean of equal numbers is that number to the last digit.
    base = rows.size[first]
    apart = np.bincount(group, rows.size - base[group]) / np.bincount(group)
    return replace(rows, size=(base + apart)[group])


def observed_of(tables: Sequence[MachineRuns]) -> list[Run]:
    """(n,) all runs, in the order of their rows."""
    return [run for table in tables for run in table.observed]


def run_once(tables: Sequence[MachineRuns], places: IntArray) -> tuple[Run | None, ...]:
    """(r,) the run of each configuration from the places (n,) of all runs; None where there are
    several."""
    found = dict(zip(places.tolist(), observed_of(tables), strict=True))
    several = np.bincount(places) > 1
    return tuple(None if several[place] else found[place] for place in range(len(several)))


def unusual_runs(fits: Sequence[RunTimes], runs: Sequence[Run | None]) -> list[UnusualRun]:
    """The runs that count for less, by what the fit says that doubts them most.

    Args:
        fits: that of all runs first, then those of some of them.
        runs: (r,) of each configuration of the first; None where there are several.
    """
    found: dict[int, UnusualRun] = {}
    for fit in fits:
        for own, place in enumerate(fits[0].places_of(fit.rows).tolist()):
            run, count = runs[place], float(fit.run_weights[own])
            least = found[place].count if place in found else 1.0
            if run is not None and fit.inside is not None and count < least:
                found[place] = UnusualRun(run, math.exp(fit.inside.errors[own]), count)
    return [found[place] for place in sorted(found)]


def left_out(
    shares: Sequence[Sequence[Share]], tables: Sequence[MachineRuns], places: IntArray
) -> LeaveOneOut | None:
    """What was foretold for runs of the wanted parameters without all runs of their configuration;
    for all runs where no type has enough of them. What went wrong in a run is no error of a model
    that says so: runs named as unusual take no part.

    Args:
        shares: the fits that answer for each type, that of all runs first.
        places: (n,) which configuration of that each run is of, in the tables' order.
    """
    joint = shares[0][0].fit
    if joint.inside is None:
        return None
    errors, doubted = np.full(len(joint.rows), np.nan), joint.run_weights < 1.0
    for own in shares:
        if len(own) == 2 and own[1].fit.inside is not None:
            at = joint.places_of(own[1].fit.rows)
            both = joint.inside.errors[at], own[1].fit.inside.errors
            errors[at] = own[0].weight * both[0] + own[1].weight * both[1]
            doubted[at] |= own[1].fit.run_weights < 1.0
    if np.isnan(errors).all():
        errors = joint.inside.errors
    foretold = np.exp(joint.log_seconds - np.where(doubted, np.nan, errors))[places]
    actual = np.asarray([run.seconds for run in observed_of(tables)])
    known = ~np.isnan(foretold)
    if not known.any():
        return None
    return LeaveOneOut(tuple(foretold[known].tolist()), tuple(actual[known].tolist()))


def where_measured(fit: RunTimes, noise: Noise, asked: Rows, told: LogTimes) -> LogTimes:
    """Log times as `told`, no wider where they were measured.

    Log T there is the measured one plus the noise of both runs, about which the mean lies so far
    off as it misses it; the mean stays, so that more input is never less time.

    Args:
        fit: to the runs.
        noise: what a run differs by from another of the same.
        asked: n places.
        told: what a model says of them.
    """
    mean, scale, dof = told
    measured = _measured(fit, asked)
    repeated = np.hypot(np.sqrt(2.0) * noise.scale, measured - mean)
    surer = repeated < scale
    dof = np.where(surer[1], noise.dof, dof)
    return LogTimes(mean, np.where(surer, repeated, scale), dof)


def _measured(fit: RunTimes, asked: Rows) -> FloatArray:
    """(n,) log time measured at each place, at the nearest size that is the same; else NaN."""
    own: dict[bytes, list[tuple[float, float]]] = {}
    runs = zip(_besides_size(fit.rows), fit.rows.size.tolist(), fit.log_seconds, strict=True)
    for row, size, log_seconds in runs:
        own.setdefault(bytes(row), []).append((size, float(log_seconds)))
    measured = np.full(len(asked), np.nan)
    places = np.flatnonzero(asked.kind >= 0)
    for place, row in zip(places, _besides_size(asked)[places], strict=True):
        size = float(asked.size[place])
        near = [(max(size / seen, seen / size), log) for seen, log in own.get(bytes(row), ())]
        factor, log_seconds = min(near, default=(np.inf, np.nan))
        if factor <= SAME_SIZE:
            measured[place] = log_seconds
    return measured


def _besides_size(rows: Rows) -> FloatArray:
    """(n, .) all numbers of each row but its size."""
    return replace(rows, size=np.zeros(len(rows))).configurations
