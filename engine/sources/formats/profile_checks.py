"""Range checks for the values of a profile file; errors name the line."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, isnan

from engine.catalog import MOST_MEMORY_GIB, MOST_VCPUS, InstanceType
from engine.cluster import MOST_NODES, checked_heap_gib
from engine.errors import BadInput
from engine.given_profiles import OptexProfile
from engine.profile import LEAST_AMOUNT, LEAST_SECONDS, MOST_AMOUNT, MOST_SECONDS
from engine.sources.formats.profile_schema import BESIDE_KEYS, MEASURES, RunEntry
from engine.stage_run import STAGE_AMOUNTS, StageRun
from engine.text.yaml_values import Located

MOST_CLOCK_SECONDS = 1e16
"""Above the range of Spark's 64-bit milliseconds."""

MOST_BYTES = 1e20
"""Above the range of Spark's 64-bit byte counts and of sums of some of them, so that everything
read from a log, damaged counts included, can be read back from its profile."""

MOST_NUMBER = 1e30
"""Computations with larger numbers would overflow."""

MOST_MEASURED_TASKS = 1e8
"""Maximum task count of a measure: more would not fit into memory."""

MOST_OF_A_STAGE = 2**31 - 1
"""Spark counts the tasks of a stage, their cores and its partitions in 32 bits."""

MOST_EXPONENT = 10.0
"""Maximum exponent of the machines in OptEx's execution phase; the paper has 1 or 2."""

_POSITIVE = (
    "nodes", "price_usd_per_hour", "executors", "executor_cores", "executor_memory_gib",
    *BESIDE_KEYS,
)  # fmt: skip
_COUNTS = ("nodes", "executors", "executor_cores")
_FILES = ("files_bytes", "files_read")
_WRITTEN = ("written_files", "written_folders", "ungrouped_rows", "grouped_rows", "groups")
_MEMORY = ("storage_memory_bytes", "cached_bytes")
_SCORES = ("cpu_score", "network_gbps", "ebs_gbps")
_OPTEX_AMOUNTS = (
    "t_init_seconds", "t_prep_seconds", "t_vs_baseline_seconds", "coeff",
    "t_commn_baseline_seconds", "cf_commn",
)  # fmt: skip
_UNKNOWN = "correct it, or leave it out where it is not known"


def checked(
    entry: object,
    names: Sequence[str],
    located: Located,
    path: str,
    *,
    above: float | None = None,
    most: float = MOST_NUMBER,
) -> None:
    """Refuses numbers that are not finite or out of bounds.

    Args:
        entry: has the numbers as attributes; None means unknown.
        path: the path of `entry` in the file.
        above: exclusive lower bound; None for at least 0.
        most: inclusive upper bound.

    Raises:
        BadInput: with `file:line`.
    """
    for name in names:
        value = getattr(entry, name)
        if value is None:
            continue
        enough = value >= 0.0 if above is None else value > above
        if not (isfinite(value) and enough and value <= most):
            least = "at least 0" if above is None else f"more than {above or 'zero'}"
            bounds = (
                f"at most {most:{',.0f' if most < 1e15 else 'g'}}" if most < value < inf else least
            )
            what = f"{name} must be {bounds}, not {value:.10g}"
            raise _wrong(what, located, f"{path}.{name}" if path else name)


def _wrong(what: str, located: Located, path: str) -> BadInput:
    """The error for a value out of bounds."""
    return BadInput(what, where=located.where(path), remedy=_UNKNOWN)


def check_shape(shape: InstanceType, located: Located, path: str) -> None:
    """Checks the numbers of an instance type; unknown vCPUs and memory are NaN."""
    for key, most in (("vcpus", MOST_VCPUS), ("memory_gib", MOST_MEMORY_GIB)):
        value = getattr(shape, key)
        if not isnan(value) and not 0.0 < value <= most:
            what = f"{key} must be more than zero and at most {most:,.0f}, not {value:g}"
            raise _wrong(what, located, f"{path}.{key}")
    checked(shape, (*_SCORES, "threads_per_core"), located, path, above=0.0)
    checked(shape, ("cpu_score_spread", "local_disk_gb", "generation"), located, path)


def check_optex(job: OptexProfile, located: Located, path: str) -> None:
    """Checks an OptEx job profile: times and factors are not negative, divisors are not zero."""
    checked(job, _OPTEX_AMOUNTS, located, path, most=MOST_SECONDS)
    checked(job, ("s_baseline", "n_unit_baseline", "slots_per_node"), located, path, above=0.0)
    checked(job, ("exponent",), located, path, most=MOST_EXPONENT)
    for index, operation in enumerate(job.operations):
        at = f"{path}.operations[{index}]"
        checked(operation, ("mean_seconds", "count"), located, at, most=MOST_SECONDS)


def check_run(entry: RunEntry, located: Located, path: str) -> None:
    """Checks a run and its stages: sizes, counts and times are positive and finite; memory amounts
    may be 0."""
    checked(entry, ("seconds", *_POSITIVE), located, path, above=0.0)
    if not LEAST_SECONDS <= entry.seconds <= MOST_SECONDS:
        raise BadInput(
            f"no run lasts {entry.seconds:g} s",
            where=located.where(f"{path}.seconds"),
            remedy=f"give between {LEAST_SECONDS:g} and {MOST_SECONDS:g} s",
        )
    _check_names(entry, located, path)
    amounts = ("input_size", "iterations", "scale")
    checked(entry, amounts, located, path, above=LEAST_AMOUNT, most=MOST_AMOUNT)
    checked(entry, _COUNTS, located, path, most=MOST_NODES)
    checked(entry, ("driver_seconds", *_MEMORY), located, path)
    for index, group in enumerate(entry.groups):
        at = f"{path}.groups[{index}]"
        checked(group, ("nodes", "price_usd_per_hour"), located, at, above=0.0)
        checked(group, ("nodes",), located, at, most=MOST_NODES)
    for index, rdd in enumerate(entry.persisted_rdds):
        at = f"{path}.persisted_rdds[{index}]"
        checked(rdd, ("stored_bytes",), located, at)
        checked(rdd, ("copies",), located, at, above=0.0, most=MOST_NODES)
    for index, stage in enumerate(entry.stages):
        _check_stage(stage, located, f"{path}.stages[{index}]")
    _check_clock(entry, located, path)
    heap = entry.executor_memory_gib
    # Runs of a log keep what the log says: before Spark 1.6 an executor could have less.
    if heap is not None and entry.spark_version is None and not entry.stages:
        checked_heap_gib(
            heap, where=located.where(f"{path}.executor_memory_gib"),
            remedy="executor_memory_gib counts GiB: correct it, or leave it out",
        )  # fmt: skip
    for name, value in entry.parameters.items():
        if not isfinite(value):
            where = located.where(f"{path}.parameters.{name}")
            raise BadInput(f"{name} must be a number, not {value}", where=where)


def _check_names(entry: RunEntry, located: Located, path: str) -> None:
    """Refuses empty names of instance types."""
    named = [(f"{path}.groups[{n}]", of.instance_type) for n, of in enumerate(entry.groups)]
    for at, name in ((path, entry.instance_type), *named):
        if name is not None and not name.strip():
            raise _wrong("instance_type is empty", located, f"{at}.instance_type")


def _check_clock(entry: RunEntry, located: Located, path: str) -> None:
    """Checks the times of jobs and the step function of cores."""
    for index, job in enumerate(entry.jobs):
        for name in ("submitted_seconds", "completed_seconds"):
            value = getattr(job, name)
            if value is not None:
                _check_moment(name, value, located, f"{path}.jobs[{index}].{name}")
    for index, (moment, cores) in enumerate(entry.cores):
        at = f"{path}.cores[{index}]"
        _check_moment("the time of cores", moment, located, at)
        if not 0 <= cores <= MOST_CORES:
            raise BadInput(f"cores must be at least 0, not {cores}", where=located.where(at))


MOST_CORES = MOST_NODES * MOST_NODES


def _check_moment(name: str, seconds: float, located: Located, path: str) -> None:
    if not 0.0 <= seconds <= MOST_CLOCK_SECONDS:
        what = f"{name} must lie between 0 and {MOST_CLOCK_SECONDS:g}, not {seconds:g}"
        raise _wrong(what, located, path)


def _check_stage(stage: StageRun, located: Located, path: str) -> None:
    """Checks a stage, which must have tasks and cores per task (logs omit stages without tasks)."""
    checked(stage, (*STAGE_AMOUNTS, *_FILES, *_WRITTEN, "stage_id"), located, path)
    _check_measures(stage, located, path)
    for index, stage_input in enumerate(stage.inputs):
        checked(stage_input, _FILES, located, f"{path}.inputs[{index}]")
    for name in ("joined_records", "joined_shuffled_bytes", "merged_bytes"):
        for value in getattr(stage, name):
            if value is not None and not 0.0 <= value <= MOST_NUMBER:
                what = f"{name} must lie between 0 and {MOST_NUMBER:g}, not {value:g}"
                raise _wrong(what, located, f"{path}.{name}")
    if not all(0.0 < share <= 1.0 for share in stage.row_shares):
        raise _wrong("row_shares must lie between 0 and 1", located, f"{path}.row_shares")
    _check_counts(stage, located, path)


def _check_counts(stage: StageRun, located: Located, path: str) -> None:
    """Checks whole numbers of a stage that are at least 1 where they are known."""
    optional = {"coalesced_most": stage.coalesced_most, "tables_read": stage.tables_read}
    counts = (
        ("tasks", "tasks", stage.tasks),
        ("task_cpus", "task_cpus", stage.task_cpus),
        ("count of task_seconds", "task_seconds", stage.task_seconds.count),
        *((name, name, count) for name, count in optional.items() if count is not None),
        *(("partitions", "paired", count) for count in stage.paired),
        *(("partitions", "united", count) for count in stage.united),
    )
    for name, key, count in counts:
        if count < 1:
            raise BadInput(
                f"{name} must be at least 1, not {count}",
                where=located.where(f"{path}.{key}"),
                remedy="correct it, or leave out a stage that ran no task",
            )
        if count > MOST_OF_A_STAGE:
            what = f"{name} must be at most {MOST_OF_A_STAGE:,}"
            raise _wrong(what, located, f"{path}.{key}")


def _check_measures(stage: StageRun, located: Located, path: str) -> None:
    """Checks measures: amounts are not negative, times within what a log can contain."""
    for name in MEASURES:
        measure = getattr(stage, name)
        if measure is None:
            continue
        most = MOST_CLOCK_SECONDS if name.endswith("_seconds") else MOST_BYTES
        if measure.count > MOST_MEASURED_TASKS:
            what = f"count of {name} must be at most {MOST_MEASURED_TASKS:,.0f}"
            raise _wrong(what, located, f"{path}.{name}")
        values = (measure.total / (measure.count or 1), *measure.quantiles)
        if not all(0.0 <= value <= most for value in values):
            what = f"{name} must lie between 0 and {most:g}"
            raise _wrong(what, located, f"{path}.{name}")
    for name in ("submitted_seconds", "completed_seconds"):
        _check_moment(name, getattr(stage, name), located, f"{path}.{name}")
    if not all(0.0 < part <= MOST_CLOCK_SECONDS for part in stage.warm_up):
        raise _wrong("warm_up must be more than zero", located, f"{path}.warm_up")
