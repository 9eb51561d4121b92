"""CPUs per task, and undoing Spark 4's multiplication of run time by them."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.profile import MOST_TASK_CPUS, configured_task_cpus
from engine.sources.logs.events import ResourceProfileAdded
from engine.sources.logs.task_rows import CPU, DESERIALIZE, RUN, Rows
from engine.sources.logs.whole_numbers import whole_number


def task_cpus_of(profile: ResourceProfileAdded | None, properties: Mapping[str, str]) -> int:
    """CPUs per task: the resource profile's, else `spark.task.cpus`, else 1."""
    asked = profile.task.get("cpus") if profile else None
    if asked is not None and 1 <= asked.amount <= MOST_TASK_CPUS:
        return int(asked.amount)
    return configured_task_cpus(properties)


def multiplies_run_time_by_cpus(version: str | None) -> bool:
    """Whether this Spark version multiplies a task's run time by its CPUs: 4.0 and later
    (`Executor.scala`; with two CPUs, tasks of 1.7 s in all reported 2.8 s in 4.0.1)."""
    major = whole_number((version or "").partition(".")[0])
    return major is not None and major >= 4


def with_wall_clock_run_time(rows: Rows, cpus: int) -> Rows:
    """The rows with wall-clock run times.

    Spark multiplies the time that includes the loading of a task's function by the CPUs, and then
    subtracts that loading once. It logs it only together with the loading of the task itself,
    which was not multiplied. All of it is taken for the former, which gives the shortest run time;
    but none shorter than the task's CPU time, or longer than without any loading.
    """
    corrected = rows.copy()
    run, loading = rows[:, RUN], np.maximum(rows[:, DESERIALIZE], 0)
    longest = run // cpus
    busy = np.minimum(np.maximum(rows[:, CPU], 0) // NS_PER_MS, longest)
    corrected[:, RUN] = np.where(run < 0, run, np.maximum(busy, (run + loading) // cpus - loading))
    return corrected


NS_PER_MS = 1_000_000
