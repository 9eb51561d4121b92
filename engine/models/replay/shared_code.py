"""How unsure the time of a replay is because the threads of a JVM share new code.

A JVM loads a class once, and compiles a method once all of its threads together have called it
often enough; while they wait for that, or go on interpreting, they do so side by side. So on
executors of m times as many slots each slot loses m^-a as much to new code. The power a is not
known: 0 if nothing is shared, which the replay assumes, and 1 if all is. The doubt grows with what
the run loses to new code and with the change of slots per executor; long runs, and executors like
those of the log, have none.

In: the replay of a log, and clusters. Out: standard deviations of log time. Explained in
docs/models/sparkplan_rules_replay.md#new-code-that-threads-share.
"""

from __future__ import annotations

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.models.replay.outcome import ReplayOutcome
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import Times
from engine.profile import Run

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(4)
POWERS, POWER_WEIGHTS = 0.5 + 0.5 * _NODES, 0.5 * _WEIGHTS
"""Prior of the power a: uniform between 0 and 1, as nodes and weights of Gauss and Legendre.
Measured for two slots instead of one: 0.7 on executors, 0.2 on `local` masters, from -0.9 to 1.3 by
job (docs/models/sparkplan_measured_parts.md#new-code-counted-for-each-slot)."""


def shared_code_scale(
    replay: Replay, batch: ClusterBatch, times: Times, speed: FloatArray
) -> FloatArray:
    """(n,) standard deviation of the log of (n,) times of a replay on the clusters of a batch; 0
    where the slots of an executor are not known.

    Args:
        speed: (n,) relative speed of a core.
    """
    threads = batch.cores_held / executor_threads(replay.run)
    lost_seconds = np.minimum(replay.new_code_seconds / speed, times.seconds - times.driver_seconds)
    scale = _log_scale(threads, lost_seconds / times.seconds)
    return np.where(np.isnan(scale), 0.0, scale)


def shared_code_scale_of_run(
    replay: Replay, outcome: ReplayOutcome, run: Run, speed: float
) -> float:
    """`shared_code_scale` of an outcome of the replay on the executors of another run."""
    threads = executor_threads(run) / executor_threads(replay.run)
    task_seconds = outcome.seconds - outcome.driver_seconds
    lost_share = min(replay.new_code_seconds / speed, task_seconds) / outcome.seconds
    return float(_log_scale(np.asarray([threads]), np.asarray([lost_share]))[0])


def executor_threads(run: Run) -> float:
    """Slots of one executor of a run that can be replayed: threads of one JVM."""
    return max(1.0, (run.cluster.slots or 1) / (run.cluster.executors or 1))


def _log_scale(threads: FloatArray, lost_share: FloatArray) -> FloatArray:
    """(n,) root mean square, over the prior of the power, of the log of the factor on the run time.

    Args:
        threads: (n,) slots of an executor relative to those of the log's; NaN where unknown.
        lost_share: (n,) share of the run time that is lost to new code if nothing is shared.
    """
    change = np.log1p(lost_share[:, None] * (threads[:, None] ** -POWERS - 1.0))
    return np.asarray(np.sqrt(change**2 @ POWER_WEIGHTS))
