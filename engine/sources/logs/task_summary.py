"""What the tasks of stages add up to: a `Measure` of each quantity, and how tasks warm up.

Stages with as many tasks as each other are summed up together: there may be thousands of them, and
each call to NumPy has a fixed cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from engine.sources.logs import measures
from engine.sources.logs.sketch import QuantileSketch
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
    """What the tasks of a stage add up to; fields as in `StageRun`, times in epoch ms."""

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
"""Numbers of records, of which a stage keeps the sum; none where nothing moved, as of
`_NONE_WHEN_ZERO`."""

_UNITS, _POINTS = zip(*SPECS.values(), strict=True)

_NONE_WHEN_ZERO = frozenset(
    {"input_bytes", "output_bytes", "shuffle_read_bytes", "shuffle_write_bytes"}
)
"""Newer versions write 0 where older ones leave out the metric: both mean that nothing moved."""


def of_rows(rows: Rows) -> list[tuple[Measures, tuple[float, ...]]]:
    """Measures and warm-up of the stages in (stages, tasks, `WIDTH`) rows."""
    stages, tasks, _ = rows.shape
    columns = columns_of(rows.reshape(-1, WIDTH)).reshape(-1, stages, tasks)
    values = columns.transpose(1, 0, 2).reshape(-1, tasks)
    found = iter(measures.of_columns(values, units=_UNITS * stages, points=_POINTS * stages))
    return [(_named(islice(found, len(SPECS))), warm_up) for warm_up in _warm_ups(rows)]


def of_sketches(sketches: dict[str, QuantileSketch]) -> Measures:
    """The measures of a stage whose tasks were sketched."""
    of_sketch = measures.of_sketch
    return _named(
        of_sketch(sketches[name], unit=unit, points=points)
        for name, (unit, points) in SPECS.items()
    )


def _named(found: Iterable[Measure | None]) -> Measures:
    named = dict(zip(SPECS, found, strict=True))
    for name in _NONE_WHEN_ZERO:
        measure = named[name]
        if measure is not None and measure.total == 0.0:
            named[name] = None
    return named


def columns_of(rows: Rows) -> Rows:
    """(measures, tasks): the values behind each measure of `SPECS`, -1 where a task did not report
    it."""
    by_column = np.ascontiguousarray(rows.T)
    run, remote, local = by_column[RUN], by_column[REMOTE_READ], by_column[LOCAL_READ]
    duration = by_column[FINISH] - by_column[LAUNCH]
    reads_shuffle = np.maximum(remote, local) > 0
    found = np.empty((len(SPECS), len(rows)), dtype=np.int64)
    found[0] = duration
    found[1] = np.where(run < 0, -1, np.maximum(duration - run, 0))
    found[2:5] = by_column[RUN : GC + 1]
    found[5] = np.where(reads_shuffle, by_column[FETCH_WAIT], -1)
    found[6:8] = by_column[INPUT : OUTPUT + 1]
    # Spark 1.2 tells remote bytes alone: their sum with the local ones is not known then.
    found[8] = np.where((remote < 0) | (local < 0), -1, remote + local)
    found[9] = np.where(reads_shuffle, remote, -1)
    found[10] = by_column[SHUFFLE_WRITE]
    found[11] = by_column[PEAK_MEMORY]
    found[12] = np.where(by_column[COLD] > 0, duration, -1)
    return found


WARM_UP_PARTS = (32, 16, 8, 4, 2)
FEWEST_IN_ORDER = 8
"""Fewer warm tasks do not show how their times fall."""

FIXED_SHARE = 0.25
"""Of a typical task's time, when tasks of different size are compared: the rest goes with bytes."""


def _warm_ups(rows: Rows) -> list[tuple[float, ...]]:
    """`StageRun.warm_up` of the stages in (stages, tasks, `WIDTH`) rows."""
    told = (rows[:, :, COLD] <= 0) & (rows[:, :, FINISH] > rows[:, :, LAUNCH])
    if told.all():
        return _falling(rows)
    return [_falling(one[kept][None])[0] for one, kept in zip(rows, told, strict=True)]


def _falling(rows: Rows) -> list[tuple[float, ...]]:
    """How the mean time of a stage's tasks falls from the first launched on; empty when they are
    too few."""
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
