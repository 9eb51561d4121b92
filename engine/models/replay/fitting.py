"""Fits a `ReplayModel` to logs: chooses them, measures the bias of each replay, pairs the logs.

In: a profile. Out: the fitted model. Explained in docs/models/sparkplan_rules_logs.md#several-logs
and #interval-of-logs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from engine.errors import ModelDoesNotFit
from engine.models.log_notices import damped_bias
from engine.models.replay.censored_tasks import (
    censored_log_scale,
    with_censored_times,
    without_censored_tasks,
)
from engine.models.replay.log_pairs import LogPairs
from engine.models.replay.memory.cliffs_of_logs import cliffs_of
from engine.models.replay.memory.spilling import spilling_stages
from engine.models.replay.model import ReplayModel
from engine.models.replay.notices import fit_notices, waste_spread
from engine.models.replay.priors import LOG_NOISE, PRIOR_DOF, with_least_scale
from engine.models.replay.replayed_run import Replay
from engine.models.replay.run_selection import replayable_runs, representative_runs
from engine.models.stages.disturbance import disturbance_spread, machine_spread
from engine.models.workloads import logs_of, unused_logs_notices
from engine.profile import Profile, Run
from engine.runs.configurations import repetition_spread


def fit_replays(profile: Profile) -> ReplayModel:
    """The model of a profile's runs that have stages, all of the same job parameters.

    Raises:
        ModelDoesNotFit: when no run shows both its stages and its slots.
    """
    logs = logs_of(profile.runs)
    runs = replayable_runs(logs)
    chosen = _chosen_runs(runs)
    replays = tuple(Replay.of(with_censored_times(run)) for run in chosen)
    log_errors = np.asarray([_log_error(replay) for replay in replays])
    bias = damped_bias(log_errors)
    cliffs = cliffs_of(replays)
    pairs = LogPairs.of(replays, cliffs, bias)
    trained = pairs.trained(np.ones(len(replays), dtype=bool))
    disturbance = disturbance_spread(chosen)
    expected = math.hypot(LOG_NOISE, float(np.max(np.abs(log_errors))) / 2.0, disturbance)
    left_out = pairs.left_out(expected)
    least = max(disturbance, repetition_spread(runs))
    log_scale, dof = with_least_scale(least, left_out.factor * expected, PRIOR_DOF)
    return ReplayModel(
        "sparkplan",
        profile,
        replays=tuple(trained.values()),
        cliffs=tuple(
            cliff and replace(cliff, replay=replay)
            for cliff, replay in zip(cliffs, trained.values(), strict=True)
        ),
        spilling=tuple(spilling_stages(replay) for replay in trained.values()),
        bias=bias,
        covariance=pairs.covariance(),
        log_scale=math.hypot(
            log_scale, waste_spread(replays), max(map(censored_log_scale, chosen))
        ),
        factor=left_out.factor,
        dof=dof,
        machine_scale=machine_spread(chosen),
        fit_notices=(*unused_logs_notices(logs), *fit_notices(replays, log_errors)),
        validation=left_out.validation,
    )


def _chosen_runs(runs: Sequence[Run]) -> list[Run]:
    """The runs that are replayed: at least one."""
    chosen = representative_runs(runs)
    if not chosen:
        raise ModelDoesNotFit(
            "no run shows both its stages and how many tasks it ran at once",
            remedy="add a log with executor events, or say the cluster in a run table",
        )
    return chosen


def _log_error(replay: Replay) -> float:
    """Log of observed over replayed time of a run, the replay with only those tasks that the log
    saw end."""
    ended_run = without_censored_tasks(replay.run)
    replay_of_ended = replay if ended_run is replay.run else Replay.of(ended_run)
    return math.log(replay.run.seconds / replay_of_ended.observed().seconds)
