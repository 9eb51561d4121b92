"""CPU contention in logs of `local` masters, whose driver, executors and compilers share one
machine.

A log does not say how many cores the machine has. For more slots on it, it is unknown whether each
gets a core of its own (tasks take as long as before) or none (on twice the slots twice as long).
The cost of a doubling of slots is taken to be uniform between the two in log time, for all tasks,
since compilers and the driver run on those cores too. Executors of `local-cluster` are further
JVMs, which load and compile the same code again on those cores: there more slots can be worse than
none. This applies to further executors only: nodes, and named types, are other machines.

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
from typing import TypeVar

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

Doublings = TypeVar("Doublings", float, FloatArray)

CONTENTION = 0.5
CONTENTION_SPREAD = 1.0 / math.sqrt(12.0)
"""Mean and standard deviation, as shares of `max_contention`, of the increase of log task time per
doubling of slots: uniform between 0 and that."""

NO_ADDED_CORES = math.log(2.0)
"""Log of the factor on task time if twice the slots have no more cores."""

FURTHER_JVM_FACTOR = 1.25
"""Prior: largest cost of a doubling, in `NO_ADDED_CORES`, if slots are executors of their own."""

FIXED_WAITING_SHARE = 0.5
"""Prior: share of the tasks' waiting time that does not grow with the input."""

MOST_DOUBLINGS = 1.0
"""Most doublings of slots that count. Few ask for more than twice the slots on the same machine;
many more mean other machines, whose cores are as little known."""


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


def max_contention(runs: Sequence[Run]) -> float:
    """Largest increase of log task time per doubling of slots of these runs' one machine."""
    jvms = any(run.config.get("spark.master", "").startswith("local-cluster") for run in runs)
    return (FURTHER_JVM_FACTOR if jvms else 1.0) * NO_ADDED_CORES


@dataclass(frozen=True)
class SharedCores:
    """The cost of further slots on the one machine of some logs.

    Args:
        max_contention: largest increase of log task time per doubling; 0 if the logs are not of one
            machine.
        mean_observed: whether the logs, of several numbers of slots, show the mean themselves.
    """

    max_contention: float
    mean_observed: bool

    @classmethod
    def of(cls, runs: Sequence[Run]) -> SharedCores:
        """For logs that are combined in one prediction."""
        return cls(max_contention(runs) if share_cores(runs) else 0.0, not on_one_machine(runs))

    def expected(self, doublings: Doublings) -> Doublings:
        """Expected increase of log time over a number of `crowding_doublings`."""
        return (0.0 if self.mean_observed else CONTENTION * self.max_contention) * doublings

    def log_scale(self, doublings: Doublings) -> Doublings:
        """Standard deviation of that increase."""
        return CONTENTION_SPREAD * self.max_contention * doublings


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


def crowding_doublings(slots_doublings: FloatArray) -> FloatArray:
    """(n,) doublings of slots that share the machine's cores, limited to `MOST_DOUBLINGS`."""
    return np.clip(slots_doublings, -MOST_DOUBLINGS, MOST_DOUBLINGS)


def crowding_doublings_of(batch: ClusterBatch, slots_doublings: FloatArray) -> FloatArray:
    """(n,) `crowding_doublings` of the clusters that are given in executors; 0 for those given in
    nodes."""
    return np.where(np.isnan(batch.nodes), crowding_doublings(slots_doublings), 0.0)


def shared_cores_scale(
    runs: Sequence[Run],
    batch: ClusterBatch,
    seconds: FloatArray,
    *,
    useful_slots: float = math.inf,
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
    per_doubling = math.hypot(CONTENTION, CONTENTION_SPREAD) * max_contention(runs)
    return np.asarray(
        per_doubling * share * np.abs(crowding_doublings_of(batch, np.log2(busy / slots)))
    )


def one_machine_notice(runs: Sequence[Run], batch: ClusterBatch, *, law: str = "") -> Notice | None:
    """The warning that another number of slots shares an unknown number of cores.

    Args:
        law: the published model whose law gives each slot a core; empty if contention is modelled.
    """
    slots = runs[0].cluster.slots
    asked = batch.slots[np.isnan(batch.nodes) & np.isfinite(batch.slots)]
    if not on_one_machine(runs) or slots is None or not np.any(asked != slots):
        return None
    most = f"{math.exp(max_contention(runs)):.1f}".removesuffix(".0")
    taken = f"on twice the slots tasks are taken to be between 1 and {most} times as long"
    tasks = f"{slots} tasks at once" if slots > 1 else "tasks, one at a time,"
    given = f"{law} gives each slot a core of its own, and the interval is wider for those without"
    return Notice(
        "one-machine",
        f"the log ran on one machine ({runs[0].config['spark.master']}), and does not say how many "
        f"cores its {tasks} had: {given if law else taken}",
        "add a log of another number of slots, or name the log's machine with --ran-on where the "
        "wanted executors are on others",
    )
