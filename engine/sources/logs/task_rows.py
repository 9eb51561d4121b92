"""A finished task as one row: `WIDTH` 64-bit integers, packed into bytes that NumPy views.

Spark 4 multiplies the run time of a task by its CPUs; `with_wall_clock_run_time` undoes that.
"""

from __future__ import annotations

from collections.abc import Mapping
from struct import Struct

import numpy as np

from engine.forecast import IntArray
from engine.profile import MOST_TASK_CPUS, configured_task_cpus
from engine.sources.logs.events import NO_METRICS, ResourceProfileAdded, TaskEnd
from engine.sources.logs.whole_numbers import whole_number

Rows = IntArray

COLUMNS = (
    "attempt", "index", "partition", "status", "cold", "launch", "finish", "run", "cpu", "gc",
    "fetch_wait", "shuffle_write", "remote_read", "local_read", "input", "output", "peak_memory",
    "cached_input", "memory_spilled", "disk_spilled", "deserialize", "deserialize_cpu", "fetched",
    "input_records", "shuffle_read_records", "shuffle_write_records", "output_records",
)  # fmt: skip
WIDTH = len(COLUMNS)
(
    ATTEMPT, INDEX, PARTITION, STATUS, COLD, LAUNCH, FINISH, RUN, CPU, GC,
    FETCH_WAIT, SHUFFLE_WRITE, REMOTE_READ, LOCAL_READ, INPUT, OUTPUT, PEAK_MEMORY,
    CACHED_INPUT, MEMORY_SPILLED, DISK_SPILLED, DESERIALIZE, DESERIALIZE_CPU, FETCHED,
    INPUT_RECORDS, SHUFFLE_READ_RECORDS, SHUFFLE_WRITE_RECORDS, OUTPUT_RECORDS,
) = range(WIDTH)  # fmt: skip
SUMMED = slice(CACHED_INPUT, WIDTH)
"""Columns of which a stage keeps only the sum."""

LATEST_MS = 10**14
"""Later times (year 5138) are treated as damage."""

USUAL_RESULT_BYTES = 16 * 1024
"""Result size of any task: its accumulator updates and the location of its output (2 to 8 kB in
logs of Spark 3 and 4). What exceeds it are rows collected by the driver."""

SUCCESS, FAILED, KILLED, RESUBMITTED = range(4)

PACK = Struct(f"<{WIDTH}q").pack
ROW_BYTES = 8 * WIDTH
BUFFER_BYTES = 16_384 * ROW_BYTES

READ_FROM_CACHE = frozenset({"Memory", "Disk", "Network"})
"""`Data Read Method`s of Spark 1.x that mean a cached block: of the task's own executor, or
(Network) of another one. Sources are read by "Hadoop", wherever they are."""


def row_of(event: TaskEnd, *, cold: bool) -> bytes:
    """The packed row of a finished task.

    Raises:
        struct.error: for numbers that are not 64-bit integers.
    """
    info, metrics = event.info, event.metrics or NO_METRICS
    read, given = metrics.read, metrics.input
    plain = event.reason.reason == "Success" and not info.failed and not info.killed
    return PACK(
        event.attempt, info.index, info.partition, SUCCESS if plain else status_of(event), cold,
        info.launch_ms, info.finish_ms, metrics.run_ms, metrics.cpu_ns, metrics.gc_ms,
        read.fetch_wait_ms, metrics.write.bytes_written, read.remote_bytes, read.local_bytes,
        given.bytes_read, metrics.output.bytes_written, metrics.peak_memory,
        given.bytes_read if given.method in READ_FROM_CACHE else 0,
        metrics.memory_spilled, metrics.disk_spilled,
        metrics.deserialize_ms, metrics.deserialize_cpu_ns,
        max(0, metrics.result - USUAL_RESULT_BYTES),
        given.records, read.records, metrics.write.records, metrics.output.records,
    )  # fmt: skip


def status_of(event: TaskEnd) -> int:
    """How a task ended; a success that is marked failed or killed is not one."""
    reason = event.reason.reason
    if reason == "Success":
        return FAILED if event.info.failed else KILLED if event.info.killed else SUCCESS
    if reason == "Resubmitted":
        return RESUBMITTED
    return KILLED if reason == "TaskKilled" or event.info.killed else FAILED


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
