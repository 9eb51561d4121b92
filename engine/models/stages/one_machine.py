"""CPU contention in logs of `local` masters, whose driver, executors and compilers share one
machine.

A log does not say how many cores the machine has. For more slots on it, it is unknown whether each
gets a core of its own (tasks take as long as before) or none (on twice the slots twice as long).
The cost of a doubling of slots is taken to be uniform between the two in log time, for all tasks,
since compilers and the driver run on those cores too. Executors of `local-cluster` are JVMs, each
of which loads and compiles the same code on those cores: twice the executors cost between nothing
and as much again, also on the same slots. So more of them can be worse than none. They start on the
cores on which the driver plans, whose time stays, but is unsure by as much. This applies to further
executors only: nodes, and named types, are other machines.

The published laws give each slot a core of its own. They stay as published, and their intervals are
widened by the possible error (`shared_cores_scale`).

A log does not say either what its tasks waited for: compilers and the start of the driver, which
take a fixed time, or disks and other programs, which more data meets in proportion. Half of the
waiting is taken to be of either kind.

In: runs and clusters. Out: increases of log time with their standard deviation, and a warning.
Explained in docs/models/sparkplan_rules_replay.md#one-machine.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from engine.batch import ClusterBatch
from engine.forecast import FloatArray
from engine.memory import EXECUTOR_CORES
from engine.models.stages.disturbance import computes_elsewhere
from engine.models.stages.job_phases import driver_seconds
from engine.models.stages.stage_law import PRIOR_LAW, StageLaw
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import StageRun

CONTENTION = 0.5
CONTENTION_SPREAD = 1.0 / math.sqrt(12.0)
"""Mean and standard deviation, as shares of `NO_ADDED_CORES`, of the increase of log task time per
doubling of slots, and per doubling of JVMs: uniform between 0 and that."""

NO_ADDED_CORES = math.log(2.0)
"""Log of the factor on task time if twice the slots have no more cores, or if tasks do nothing but
meet new code, which twice the JVMs compile twice on the same cores."""

FIXED_WAITING_SHARE = 0.5
"""Prior: share of the tasks' waiting time that does not grow with the input."""

MOST_DOUBLINGS = 1.0
"""Most doublings of slots, and of JVMs, that count. Few ask for more than twice the slots on the
same machine; many more mean other machines, whose cores are as little known."""


def of_local_master(run: Run) -> bool:
    """Whether driver and executors shared one machine: master `local[N]` or
    `local-cluster[...]`."""
    return run.config.get("spark.master", "").startswith("local")


def executor_slots_of(run: Run) -> int:
    """Slots of one executor: those of the log's; at least those of a usual layout if the log is of
    one machine."""
    of_log = (run.cluster.slots or 0) // (run.cluster.executors or 1)
    return max(of_log, EXECUTOR_CORES) if of_local_master(run) else of_log


def on_one_machine(runs: Sequence[Run]) -> bool:
    """Whether all runs had a `local` master on an unnamed machine and the same number of slots:
    runs of several numbers of slots show themselves what further slots cost."""
    return len({run.cluster.slots for run in runs}) == 1 and share_cores(runs)


def share_cores(runs: Sequence[Run]) -> bool:
    """Whether all runs had a `local` master on an unnamed machine: the time on another number of
    slots is uncertain by `CONTENTION_SPREAD` per doubling."""
    return all(of_local_master(run) and run.cluster.instance is None for run in runs)


class Crowding(NamedTuple):
    """Doublings of what shares the cores of one machine on n clusters, relative to its log.

    Args:
        slots: (n,) doublings of busy slots.
        jvms: (n,) doublings of the executors' JVMs, as far as their new code counts.
        started: (n,) doublings of the executors' JVMs that start, whatever they then do.
    """

    slots: FloatArray
    jvms: FloatArray
    started: FloatArray

    def expected(self, *, slots_observed: bool, jvms_observed: bool) -> FloatArray:
        """(n,) expected increase of log task time, without what logs show of either."""
        return (
            CONTENTION
            * NO_ADDED_CORES
            * ((not slots_observed) * self.slots + (not jvms_observed) * self.jvms)
        )

    @property
    def log_scale(self) -> FloatArray:
        """(n,) standard deviation of that increase; slots and JVMs are independent."""
        return np.asarray(CONTENTION_SPREAD * NO_ADDED_CORES * np.hypot(self.slots, self.jvms))

    @property
    def driver_log_scale(self) -> FloatArray:
        """(n,) root mean square of the change of log driver time, of which nothing is expected: the
        driver plans on the cores on which executors start, evenly between nothing and as long again
        for twice as many."""
        per_doubling = NO_ADDED_CORES * math.hypot(CONTENTION, CONTENTION_SPREAD)
        return np.asarray(per_doubling * np.abs(self.started))


def crowding_of_batch(
    run: Run, batch: ClusterBatch, slots_doublings: FloatArray, ratio: float = 1.0
) -> Crowding:
    """The (n,) clusters of a batch on the machine of a run; 0 for those given in nodes.

    Args:
        slots_doublings: (n,) doublings of the slots that are ever busy.
        ratio: input relative to the run's.
    """
    crowding = _crowding(run, slots_doublings, batch.executors, ratio)
    given_in_executors = np.isnan(batch.nodes)
    return Crowding(*(np.where(given_in_executors, part, 0.0) for part in crowding))


def crowding_of_nearest(
    runs: Sequence[Run], batch: ClusterBatch, slots_doublings: FloatArray
) -> Crowding:
    """`crowding_of_batch` by the nearest, in JVMs, of runs that have the same slots."""
    slots = crowding_of_batch(runs[0], batch, slots_doublings).slots
    jvms = np.sort([crowding_of_batch(run, batch, slots_doublings).jvms for run in runs], axis=0)
    nearest = np.take_along_axis(jvms, np.abs(jvms).argmin(axis=0)[None], axis=0)[0]
    return Crowding(slots, nearest, nearest)


def crowding_between(run: Run, other: Run, ratio: float) -> Crowding:
    """(1,) the cluster of another run on the machine of a run."""
    doublings = np.log2([(other.cluster.slots or 1) / (run.cluster.slots or 1)])
    return _crowding(run, doublings, np.asarray([other.cluster.executors or math.nan]), ratio)


def _crowding(
    run: Run, slots_doublings: FloatArray, executors: FloatArray, ratio: float
) -> Crowding:
    """Each doubling limited to `MOST_DOUBLINGS`. Spark launches a task on every executor before a
    second, so that as many JVMs are busy as there are executors or busy slots. A JVM compiles its
    code once: of more data it is a smaller part.

    Args:
        executors: (n,) NaN where unknown.
    """
    log_jvms, started = run.cluster.executors, np.zeros_like(slots_doublings)
    if log_jvms and run.config.get("spark.master", "").startswith("local-cluster"):
        busy = np.minimum(executors, (run.cluster.slots or log_jvms) * 2.0**slots_doublings)
        doublings = _limited(np.log2(np.maximum(1.0, busy) / log_jvms))
        started = np.where(np.isnan(busy), 0.0, doublings)
    return Crowding(_limited(slots_doublings), started / max(1.0, ratio), started)


def _limited(doublings: FloatArray) -> FloatArray:
    return np.clip(doublings, -MOST_DOUBLINGS, MOST_DOUBLINGS)


@dataclass(frozen=True)
class SharedCores:
    """The cost of further slots and JVMs on the one machine of some logs.

    Args:
        shared: whether the logs are of one machine.
        slots_observed, jvms_observed: whether the logs show the mean cost of more slots, or of as
            many more JVMs, themselves.
    """

    shared: bool
    slots_observed: bool
    jvms_observed: bool

    @classmethod
    def of(cls, runs: Sequence[Run]) -> SharedCores:
        """For logs that are combined in one prediction. What laws of stages learn goes by slots: it
        holds the cost of JVMs where these differ too."""
        observed = not on_one_machine(runs)
        return cls(
            share_cores(runs), observed, observed and len({r.cluster.executors for r in runs}) > 1
        )

    def expected(self, crowding: Crowding) -> FloatArray:
        """(n,) `Crowding.expected` of what these logs do not show; 0 on other machines."""
        expected = crowding.expected(
            slots_observed=self.slots_observed, jvms_observed=self.jvms_observed
        )
        return self.shared * expected

    def log_scale(self, crowding: Crowding) -> FloatArray:
        """(n,) `Crowding.log_scale`; 0 on other machines."""
        return self.shared * crowding.log_scale

    def driver_log_scale(self, crowding: Crowding) -> FloatArray:
        """(n,) `Crowding.driver_log_scale`; 0 on other machines."""
        return self.shared * crowding.driver_log_scale


def waiting_law(stage: StageRun) -> StageLaw:
    """The growth law of a stage of such a log by itself: a part of its waiting time is constant.
    The prior if CPU times are unknown or do not count all of its computing."""
    slot_seconds = stage.task_seconds.total
    if stage.cpu_seconds is None or stage.run_seconds is None or computes_elsewhere(stage):
        return PRIOR_LAW
    waited = stage.run_seconds.total - stage.cpu_seconds.total
    waited -= sum(m.total for m in (stage.gc_seconds, stage.fetch_wait_seconds) if m is not None)
    share = min(1.0, max(0.0, waited / slot_seconds)) if slot_seconds > 0.0 else 0.0
    return StageLaw(work=-FIXED_WAITING_SHARE * share)


def shared_cores_scale(
    runs: Sequence[Run], batch: ClusterBatch, seconds: FloatArray, *, useful_slots: float = math.inf
) -> FloatArray:
    """(n,) standard deviation of log time that shared cores of the runs' one machine add to a law
    that gives each slot a core; 0 on other machines. Driver time is not affected.

    Args:
        seconds: (n,) prediction of the law.
        useful_slots: number of slots beyond which no more are ever busy.
    """
    slots = runs[0].cluster.slots
    if not on_one_machine(runs) or slots is None:
        return np.zeros(len(batch))
    busy = np.minimum(batch.slots, max(useful_slots, slots))
    driver = sum(driver_seconds(run) for run in runs) / len(runs)
    share = np.clip(1.0 - driver / seconds, 0.0, 1.0)
    crowded = crowding_of_nearest(runs, batch, np.log2(busy / slots))
    expected = crowded.expected(slots_observed=False, jvms_observed=False)
    return np.asarray(share * np.hypot(expected, crowded.log_scale))


def one_machine_notice(runs: Sequence[Run], batch: ClusterBatch, *, law: str = "") -> Notice | None:
    """The warning that another number of slots, or of executors, shares an unknown number of cores.

    Args:
        law: the published model whose law gives each slot a core; empty if contention is modelled.
    """
    slots = runs[0].cluster.slots
    if not on_one_machine(runs) or slots is None:
        return None
    crowded = crowding_of_nearest(runs, batch, np.log2(batch.slots / slots))
    other_slots, other_jvms = bool(np.nan_to_num(crowded.slots).any()), bool(crowded.jvms.any())
    if not (other_slots or other_jvms):
        return None
    taken = "on twice the slots tasks are taken to be between 1 and 2 times as long"
    given = f"{law} gives each slot a core of its own, and the interval is wider for those without"
    if other_jvms:
        taken += ", and as much again where executors are twice as many"
        given += ", and for executors that compile the same code once more"
    tasks = f"{slots} tasks at once" if slots > 1 else "tasks, one at a time,"
    return Notice(
        "one-machine",
        f"the log ran on one machine ({runs[0].config['spark.master']}), and does not say how many "
        f"cores its {tasks} had: {given if law else taken}",
        f"add a log of another number of slots{' and of executors' if other_jvms else ''}, or name "
        "the log's machine with --ran-on where the wanted executors are on others",
    )
