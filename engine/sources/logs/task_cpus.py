"""How many CPUs a task holds, and that Spark 4 counts the time of each of them as run time."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.profile import MOST_TASK_CPUS, told_task_cpus
from engine.sources.logs.events import ResourceProfileAdded
from engine.sources.logs.task_rows import DESERIALIZE, RUN, Rows
from engine.sources.logs.whole_numbers import whole_number


def task_cpus_of(profile: ResourceProfileAdded | None, properties: Mapping[str, str]) -> int:
    """What a resource profile says, else `spark.task.cpus`, else 1."""
    asked = profile.task.get("cpus") if profile else None
    if asked is not None and 1 <= asked.amount <= MOST_TASK_CPUS:
        return int(asked.amount)
    return told_task_cpus(properties)


def counts_cpus(version: str | None) -> bool:
    """Whether this Spark multiplies the run time of a task by the CPUs that it holds: from 4.0 on
    (`Executor.scala`; tasks of 1.7 s in all told 2.8 s with two CPUs, 4.0.1)."""
    major = whole_number((version or "").partition(".")[0])
    return major is not None and major >= 4


def with_own_run_time(rows: Rows, cpus: int) -> Rows:
    """Rows whose run time is as long as the task ran. Spark multiplies the time with that of
    loading, and then takes the latter away once."""
    corrected = rows.copy()
    run, loading = rows[:, RUN], np.maximum(rows[:, DESERIALIZE], 0)
    corrected[:, RUN] = np.where(run < 0, run, np.maximum(0, (run + loading) // cpus - loading))
    return corrected
