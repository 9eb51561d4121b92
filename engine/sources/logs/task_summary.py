"""Summary of a stage's tasks: a `Measure` per quantity, sums, and the JVM warm-up curve.

Stages with equal numbers of tasks are summarised in one batch: there may be thousands of them, and
each NumPy call has a fixed cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from engine.sources.logs import measures
from engine.sources.logs.measures import QuantileSketch
from engine.sources.logs.task_rows import (
    COLD,
    COLUMNS,
    FETCH_WAIT,
    FINISH,
    GC,
    INPUT,
    INPUT_RECORDS,
    LAUNCH,
    LOCAL_READ,
    OUTPUT,
    PEAK_MEMORY,
    REMOTE_READ,
    RUN,
    SHUFFLE_WRITE,
    WIDTH,
    Rows,
)
from engine.stage_run import Measure

MS, NS, BYTE = 1e-3, 1e-9, 1.0

Measures = dict[str, Measure | None]


@dataclass(frozen=True, slots=True)
class TaskSummary:
    """Summary of a stage's tasks; fields as in `StageRun`, times in epoch ms."""

    first_launch_ms: int
    last_finish_ms: int
    measures: Measures
    cached_input_bytes: float
    memory_spilled_bytes: float | None
    disk_spilled_bytes: float | None
    deserialize_seconds: float | None
    deserialize_cpu_seconds: float | None
    fetched_bytes: float | None
    records: dict[str, float | None]
    warm_up: tuple[float, ...] = ()


SPECS: dict[str, tuple[float, int]] = {
    "task_seconds": (MS, measures.PRIMARY_VALUES),
    "overhead_seconds": (MS, measures.SECONDARY_VALUES),
    "run_seconds": (MS, measures.SECONDARY_VALUES),
    "cpu_seconds": (NS, measures.SECONDARY_VALUES),
    "gc_seconds": (MS, measures.SECONDARY_VALUES),
    "fetch_wait_seconds": (MS, measures.SECONDARY_VALUES),
    "input_bytes": (BYTE, measures.SECONDARY_VALUES),
    "output_bytes": (BYTE, measures.SECONDARY_VALUES),
    "shuffle_read_bytes": (BYTE, measures.SECONDARY_VALUES),
    "shuffle_remote_read_bytes": (BYTE, measures.SECONDARY_VALUES),
    "shuffle_write_bytes": (BYTE, measures.SECONDARY_VALUES),
    "peak_execution_memory_bytes": (BYTE, measures.SECONDARY_VALUES),
    "first_wave_seconds": (MS, measures.PRIMARY_VALUES),
}
"""Measure -> (its unit per stored integer, quantiles to keep)."""

RECORDS = COLUMNS[INPUT_RECORDS:]
"""Record counts, of which a stage keeps the sum; None where it is 0, as for `_NONE_WHEN_ZERO`."""

_UNITS, _POINTS = zip(*SPECS.values(), strict=True)

_NONE_WHEN_ZERO = frozenset(
    {"input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes"}
)
"""Measures that are None if their sum is 0: newer versions write 0 where older ones omit the
metric."""


def of_rows(rows: Rows) -> list[tuple[Measures, tuple[float, ...]]]:
    """Measures and warm-up of the stages in (stages, tasks, `WIDTH`) rows."""
    stages, tasks, _ = rows.shape
    columns = columns_of(rows.reshape(-1, WIDTH)).reshape(-1, stages, tasks)
    values = columns.transpose(1, 0, 2).reshape(-1, tasks)
    measured = iter(measures.of_columns(values, units=_UNITS * stages, points=_POINTS * stages))
    return [(_named(islice(measured, len(SPECS))), warm_up) for warm_up in _warm_ups(rows)]


def of_sketches(sketches: dict[str, QuantileSketch]) -> Measures:
    """The measures of a stage whose tasks were sketched."""
    of_sketch = measures.of_sketch
    return _named(
        of_sketch(sketches[name], unit=unit, points=points)
        for name, (unit, points) in SPECS.items()
    )


def _named(values: Iterable[Measure | None]) -> Measures:
    named = dict(zip(SPECS, values, strict=True))
    for name in _NONE_WHEN_ZERO:
        measure = named[name]
        if measure is not None and measure.total == 0.0:
            named[name] = None
    return named


def columns_of(rows: Rows) -> Rows:
    """The (measures, tasks) values of the measures in `SPECS`; -1 where not reported."""
    by_column = np.ascontiguousarray(rows.T)
    run, remote, local = by_column[RUN], by_column[REMOTE_READ], by_column[LOCAL_READ]
    duration = by_column[FINISH] - by_column[LAUNCH]
    reads_shuffle = np.maximum(remote, local) > 0
    values = np.empty((len(SPECS), len(rows)), dtype=np.int64)
    values[0] = duration
    values[1] = np.where(run < 0, -1, np.maximum(duration - run, 0))
    values[2:5] = by_column[RUN : GC + 1]
    values[5] = np.where(reads_shuffle, by_column[FETCH_WAIT], -1)
    values[6:8] = by_column[INPUT : OUTPUT + 1]
    # Spark 1.2 tells remote bytes alone: their sum with the local ones is not known then.
    values[8] = np.where((remote < 0) | (local < 0), -1, remote + local)
    values[9] = np.where(reads_shuffle, remote, -1)
    values[10] = by_column[SHUFFLE_WRITE]
    values[11] = by_column[PEAK_MEMORY]
    values[12] = np.where(by_column[COLD] > 0, duration, -1)
    return values


WARM_UP_PARTS = (32, 16, 8, 4, 2)
FEWEST_IN_ORDER = 8
"""Minimum number of warm tasks to estimate a warm-up curve."""

FIXED_SHARE = 0.25
"""Share of a typical task's time taken as independent of its size, when tasks of different size are
compared; the rest is proportional to bytes read."""


def _warm_ups(rows: Rows) -> list[tuple[float, ...]]:
    """`StageRun.warm_up` of the stages in (stages, tasks, `WIDTH`) rows."""
    usable = (rows[:, :, COLD] <= 0) & (rows[:, :, FINISH] > rows[:, :, LAUNCH])
    if usable.all():
        return _warm_up_ratios(rows)
    return [
        _warm_up_ratios(one[rows_used][None])[0]
        for one, rows_used in zip(rows, usable, strict=True)
    ]


def _warm_up_ratios(rows: Rows) -> list[tuple[float, ...]]:
    """Warm-up curves: running mean of size-adjusted task times in launch order, relative to the
    mean of all, at the fractions 1/`WARM_UP_PARTS`; empty when the tasks are too few."""
    stages, tasks, _ = rows.shape
    if tasks < FEWEST_IN_ORDER:
        return [()] * stages
    order = np.argsort(rows[:, :, LAUNCH], axis=1, kind="stable")
    read = np.maximum(rows[:, :, REMOTE_READ : INPUT + 1], 0).sum(axis=2, dtype=np.float64)
    mean = read.mean(axis=1, keepdims=True)
    size = np.divide(read, mean, out=np.ones_like(read), where=mean > 0.0)
    duration = rows[:, :, FINISH] - rows[:, :, LAUNCH]
    seconds = duration / (FIXED_SHARE + (1.0 - FIXED_SHARE) * size)
    means = np.cumsum(np.take_along_axis(seconds, order, axis=1), axis=1) / np.arange(1, tasks + 1)
    firsts = [max(0, tasks // part - 1) for part in WARM_UP_PARTS]
    shares = means[:, firsts] / means[:, -1:]
    rounded, width = measures.all_rounded(shares.ravel()).tolist(), len(firsts)
    return [tuple(rounded[at : at + width]) for at in range(0, len(rounded), width)]
