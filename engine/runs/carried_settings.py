"""Spark settings of the logs that exports carry over, since the prediction assumes them.

Partitions, joins, the memory left for caches and what the driver may fetch depend on them: with the
cluster alone, without these settings, another job would run, or none. Settings made in the
program's code override those of a command, so carrying them over changes nothing there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from engine.errors import BadInput
from engine.notices import Notice
from engine.profile import TASK_CPUS, Profile, Run, configured_task_cpus
from engine.runs.stage_labels import numbered_label
from engine.stage_run import StageRun
from engine.text.quantities import parse_memory_gib

FEWER_TASK_CPUS = "fewer-task-cpus"
"""Code of the warning that executors have fewer cores than a task of the logs held."""

DYNAMIC_ALLOCATION = "spark.dynamicAllocation.enabled"

DRIVER_MEMORY = "spark.driver.memory"

DRIVER_MEMORY_GIB = 1.0
"""Spark's default of it. A log's own driver memory is carried over only above this: platforms have
larger defaults."""

SPECULATION = ("spark.speculation", "spark.speculation.multiplier", "spark.speculation.quantile")
"""Whether slow tasks are launched a second time, and how slow ones; carried over where they are."""

CARRIED = (
    "spark.default.parallelism",
    "spark.driver.maxResultSize",
    DRIVER_MEMORY,
    "spark.io.compression.codec",
    "spark.memory.fraction",
    "spark.memory.storageFraction",
    "spark.memory.useLegacyMode",
    "spark.python.worker.reuse",
    "spark.serializer",
    "spark.shuffle.compress",
    *SPECULATION,
    "spark.sql.autoBroadcastJoinThreshold",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.files.maxPartitionNum",
    "spark.sql.files.minPartitionNum",
    "spark.sql.files.openCostInBytes",
    "spark.sql.leafNodeDefaultParallelism",
    "spark.sql.shuffle.partitions",
    TASK_CPUS,
)
CARRIED_PREFIX = "spark.sql.adaptive."
OTHER_RESOURCE = re.compile(
    r"spark\.(task|executor)\.resource\.[\w.-]{1,32}\.amount\Z"
    r"|spark\.executor\.resource\.[\w.-]{1,32}\.vendor\Z",
    re.ASCII,
)
"""Resources that tasks and executors hold beside cores and memory, such as GPUs: without these
settings, tasks that each had one of their own would share them. Discovery scripts are not carried
over: they are paths on the log's nodes."""

_VALUE = re.compile(r"[\w.%+-]{1,64}\Z", re.ASCII)
_KEY = re.compile(r"spark\.[\w.-]{1,96}\Z", re.ASCII)


def carried_settings(profile: Profile) -> dict[str, str]:
    """The settings to carry over, sorted by name: those with the same value in all logs of a
    profile."""
    logs = [run.config for run in profile.runs if run.stages]
    first = logs[0] if logs else {}
    settings = {
        key: value
        for key, value in sorted(first.items())
        if (key in CARRIED or key.startswith(CARRIED_PREFIX) or OTHER_RESOURCE.match(key))
        and _KEY.match(key)
        and _VALUE.match(value)
        and all(config.get(key) == value for config in logs)
    }
    # With a `local` master the driver's memory is that of the tasks.
    local = any(re.match(r"local(\[|\Z)", config.get("spark.master", "")) for config in logs)
    if local or (driver_gib(settings) or 0.0) <= DRIVER_MEMORY_GIB:
        settings.pop(DRIVER_MEMORY, None)
    if settings.get(SPECULATION[0], "").lower() != "true":
        settings = {key: value for key, value in settings.items() if key not in SPECULATION}
    return settings


def driver_gib(settings: Mapping[str, str]) -> float | None:
    """Heap of the driver that settings ask for, in GiB; None if they do not, or not readably."""
    try:
        return parse_memory_gib(settings.get(DRIVER_MEMORY, ""))
    except BadInput:
        return None


def task_cpus(profile: Profile) -> int:
    """Cores that each task holds (`spark.task.cpus`) if all logs agree; else 1, Spark's default."""
    return configured_task_cpus(carried_settings(profile))


def wide_stage(profile: Profile) -> StageRun | None:
    """The stage whose tasks hold most cores by the program's request (`RDD.withResources`), in the
    log that needed the fewest; None if any log needed none.

    A program can request cores for its tasks alone or for executors too. Spark refuses the latter
    without dynamic allocation; with it, or if GPUs limit the tasks, a log does not tell which.
    """
    widest = [_widest(run) for run in profile.runs if run.stages]
    requesting = [stage for stage in widest if stage is not None]
    if len(requesting) < len(widest):
        return None
    return min(requesting, key=lambda stage: stage.task_cpus, default=None)


def _widest(run: Run) -> StageRun | None:
    if run.config.get(DYNAMIC_ALLOCATION, "").lower() == "true":
        return None
    if any(OTHER_RESOURCE.match(key) for key in run.config):
        return None
    widest = max(run.stages, key=lambda stage: stage.task_cpus)
    return widest if widest.task_cpus > configured_task_cpus(run.config) else None


def held_cores(profile: Profile) -> int:
    """Fewest cores of an executor on which every task of a profile can start."""
    widest = wide_stage(profile)
    return max(task_cpus(profile), widest.task_cpus if widest else 1)


def too_few_cores_notice(executor_cores: float, profile: Profile) -> Notice | None:
    """The warning that executors have fewer cores than `spark.task.cpus` of the logs, with which
    Spark does not start; None if they have enough, or if their cores are unknown (NaN)."""
    cpus = task_cpus(profile)
    if not executor_cores < cpus:
        return None
    return Notice(
        FEWER_TASK_CPUS,
        f"tasks of the logs held {cpus} cores each ({TASK_CPUS}), executors here have "
        f"{executor_cores:.0f}: Spark refuses to start such, and the time is that of tasks with "
        f"{cpus} cores",
        f"take executors of {cpus} cores or more, or set {TASK_CPUS} to {executor_cores:.0f}, as "
        "exports do",
    )


def idle_cores_notice(executor_cores: float, profile: Profile) -> Notice | None:
    """The warning that executors have cores that no task can hold.

    These are cores idle for all tasks of the logs, which the predicted time includes, or for those
    of the stage that requests most cores, which it does not include. None if there are none, if
    executors have too few cores for any task, or if their cores are unknown (NaN).
    """
    cpus, stage = task_cpus(profile), wide_stage(profile)
    who = f"tasks of the logs held {cpus} cores each ({TASK_CPUS})"
    what = "never {} a task"
    if stage is not None and not executor_cores % cpus:
        cpus = stage.task_cpus
        who = f"{numbered_label(stage)} asks for {cpus} cores for each task"
        what = "{} none of these, which its time does not count"
    if not executor_cores > cpus or not (idle := executor_cores % cpus):
        return None
    return Notice(
        "idle-cores",
        f"{who}, executors here have {executor_cores:.0f}: each runs {executor_cores // cpus:.0f} "
        f"at a time, and {idle:.0f} of its cores " + what.format("has" if idle == 1 else "have"),
        f"take executors of {executor_cores - idle:.0f} or {executor_cores - idle + cpus:.0f} "
        "cores: a task gets all of its cores on one executor",
    )


DEPLOY_MODE = "spark.submit.deployMode"


def ran_in_cluster_mode(profile: Profile) -> bool:
    """Whether YARN placed the driver of every log on a worker, in the application master. Spark 1.x
    named the mode in the master."""
    configs = [run.config for run in profile.runs if run.stages]
    modes = {(config.get("spark.master"), config.get(DEPLOY_MODE)) for config in configs}
    return bool(modes) and all(
        master == "yarn-cluster" or (master == "yarn" and mode == "cluster")
        for master, mode in modes
    )


def stage_without_room_notice(executor_cores: float, profile: Profile) -> Notice | None:
    """The warning that executors have fewer cores than the program requests for each task of a
    stage, for which Spark 4.0 waits forever; None if they have enough, or if their cores are
    unknown (NaN)."""
    stage = wide_stage(profile)
    if stage is None or not executor_cores < stage.task_cpus:
        return None
    return Notice(
        "stage-needs-cores",
        f"{numbered_label(stage)} asks for {stage.task_cpus} cores for each "
        f"task (RDD.withResources), executors here have {executor_cores:.0f}: Spark launches none "
        "of them and the job waits forever",
        f"take executors of {stage.task_cpus} cores or more, or have the program ask for fewer",
    )
