"""Logs of `local` masters: driver, executors and compilers share the cores of one machine.

No log says how many cores that machine has. Asked for more slots on it, nobody knows whether each
gets a core of its own (tasks take as long as before) or none (on twice the slots twice as long):
what a doubling costs is taken to lie evenly between the two, in log time, for all tasks, since
compilers and the driver are on those cores too. Executors of `local-cluster` are further JVMs,
which load and compile the same code once more on those cores: there more slots can be worse than
none. That is asked of further executors alone: nodes, and named types, are machines of their own.

The published laws give each slot a core of its own. They stay as published, and their intervals
hold what that may be wrong by (`law_doubt`).

Nor does a log say what its tasks waited for: compilers and the start of the driver, which are done
with some time, or disks and other programs, which more data meets in proportion. Half of the
waiting is taken to be of either kind.
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
from engine.units import format_count

Doublings = TypeVar("Doublings", float, FloatArray)

CONTENTION = 0.5
CONTENTION_SPREAD = 1.0 / math.sqrt(12.0)
"""Mean and standard deviation, as shares of `most_contention`, of what a doubling of slots adds to
log task time: evenly between nothing and that."""

NO_CORE = math.log(2.0)
"""Log of how much longer a task takes where twice the slots have no more cores."""

FURTHER_JVMS = 1.25
"""Prior: how much of `NO_CORE` a doubling costs at most where slots are executors of their own."""

WAITING_ONCE = 0.5
"""Prior: share of the time that tasks wait for which stays whatever the input."""

MOST_DOUBLINGS = 1.0
"""A machine that ran some slots is seldom asked for more than twice as many: who asks for a hundred
means other machines, whose cores are as little known as this one's."""


def of_local_master(run: Run) -> bool:
    """Whether driver and executors shared one machine: `local[N]` and `local-cluster[...]`."""
    return run.config.get("spark.master", "").startswith("local")


def executor_slots_of(run: Run) -> int:
    """Slots of one executor: those of the log's, and no fewer than a layout gives where the log is
    of one machine."""
    of_log = (run.cluster.slots or 0) // (run.cluster.executors or 1)
    return max(of_log, EXECUTOR_CORES) if of_local_master(run) else of_log


def on_one_machine(runs: Sequence[Run]) -> bool:
    """Whether all of them ran under a `local` master on a machine that nobody named, with as many
    slots: runs of several numbers of slots tell themselves what further slots cost."""
    return len({run.cluster.slots for run in runs}) == 1 and share_cores(runs)


def share_cores(runs: Sequence[Run]) -> bool:
    """Whether all of them ran under a `local` master on a machine that nobody named: what one
    number of slots took is doubtful of another, by `CONTENTION_SPREAD` for each doubling."""
    return all(of_local_master(run) and run.cluster.instance is None for run in runs)


def most_contention(runs: Sequence[Run]) -> float:
    """The most that a doubling of slots of these runs' one machine adds to log task time."""
    jvms = any(run.config.get("spark.master", "").startswith("local-cluster") for run in runs)
    return (FURTHER_JVMS if jvms else 1.0) * NO_CORE


@dataclass(frozen=True)
class SharedCores:
    """What further slots of the one machine of some logs cost.

    Args:
        most: most that a doubling adds to log task time; 0 where machines are their own.
        tell: whether the logs, of several numbers of slots, tell it themselves on average.
    """

    most: float
    tell: bool

    @classmethod
    def of(cls, runs: Sequence[Run]) -> SharedCores:
        """Of logs that answer together."""
        return cls(most_contention(runs) if share_cores(runs) else 0.0, not on_one_machine(runs))

    def cost(self, doublings: Doublings) -> Doublings:
        """What so many `crowding` doublings are expected to add to log time."""
        return (0.0 if self.tell else CONTENTION * self.most) * doublings

    def doubt(self, doublings: Doublings) -> Doublings:
        """The standard deviation of that."""
        return CONTENTION_SPREAD * self.most * doublings


def waiting_law(stage: StageRun) -> StageLaw:
    """How the work of a stage of such a log grows with the input, as far as that log alone tells:
    the prior where CPU times are not known or not all of the computing."""
    held = stage.task_seconds.total
    if stage.cpu_seconds is None or stage.run_seconds is None or computes_elsewhere(stage):
        return PRIOR_LAW
    waited = stage.run_seconds.total - stage.cpu_seconds.total
    waited -= sum(m.total for m in (stage.gc_seconds, stage.fetch_wait_seconds) if m is not None)
    share = min(1.0, max(0.0, waited / held)) if held > 0.0 else 0.0
    return StageLaw(work=-WAITING_ONCE * share)


def crowding(slots_doublings: FloatArray) -> FloatArray:
    """(n,) doublings of slots that share the machine's cores, within `MOST_DOUBLINGS`."""
    return np.clip(slots_doublings, -MOST_DOUBLINGS, MOST_DOUBLINGS)


def of_batch(batch: ClusterBatch, slots_doublings: FloatArray) -> FloatArray:
    """(n,) `crowding` of the clusters that say executors alone, 0 for nodes."""
    return np.where(np.isnan(batch.nodes), crowding(slots_doublings), 0.0)


def law_doubt(
    runs: Sequence[Run],
    batch: ClusterBatch,
    seconds: FloatArray,
    *,
    useful_slots: float = math.inf,
) -> FloatArray:
    """(n,) standard deviation of log time that other slots of the runs' one machine add to a law
    that gives each slot a core; 0 where they are others' machines. Driver time does not move.

    Args:
        seconds: (n,) what the law says.
        useful_slots: no more than these are ever busy.
    """
    slots = runs[0].cluster.slots
    if not on_one_machine(runs) or slots is None:
        return np.zeros(len(batch))
    busy = np.minimum(batch.slots, max(useful_slots, slots))
    driver = sum(driver_seconds(run) for run in runs) / len(runs)
    share = np.clip(1.0 - driver / seconds, 0.0, 1.0)
    doubt = math.hypot(CONTENTION, CONTENTION_SPREAD) * most_contention(runs)
    return np.asarray(doubt * share * np.abs(of_batch(batch, np.log2(busy / slots))))


def one_machine_notice(runs: Sequence[Run], batch: ClusterBatch, *, law: str = "") -> Notice | None:
    """The warning that other slots, more or fewer, share cores of which nobody knows how many there
    are.

    Args:
        law: the published model whose law gives each slot a core; none where contention is taken.
    """
    slots = runs[0].cluster.slots
    asked = batch.slots[np.isnan(batch.nodes) & np.isfinite(batch.slots)]
    if not on_one_machine(runs) or slots is None or not np.any(asked != slots):
        return None
    most = f"{math.exp(most_contention(runs)):.1f}".removesuffix(".0")
    taken = f"on twice the slots tasks are taken to be between 1 and {most} times as long"
    given = f"{law} gives each slot a core of its own, and the interval is wider for those without"
    return Notice(
        "one-machine",
        f"the log ran on one machine ({runs[0].config['spark.master']}), and does not say how many "
        f"cores its {format_count(slots, 'task')} at once had: {given if law else taken}",
        "add a log of another number of slots, or name the log's machine with --ran-on where the "
        "wanted executors are on others",
    )
