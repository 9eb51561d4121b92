"""Detects runs of one application on data of a different shape, not only of a different size.

A model of one dataset does not hold for another: records per block and features per record have to
stay (Ernest 5), and the reference runs must share the structure of the target's data (PERIDOT V,
Fig. 6). A log tells neither, but it tells what each stage read and wrote. So ratios are compared
that are constant, or move between known bounds, if only the amount of data changes:

- the bytes per record read from outside are constant;
- the output of a stage grows between not at all and in proportion to what it reads (an aggregation
  lies between; the pairs of a join grow with the square), and in proportion if it reads no shuffle
  and its tasks read as much each as before;
- the share of the data of its largest task beyond an even split is constant.

In: runs with their stages. Out: warnings. Explained in docs/models/ernest.md#data-of-another-shape.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.models.stages.stage_matching import stage_counterparts
from engine.notices import Notice
from engine.profile import Run, completed_runs
from engine.runs.stage_labels import numbered_label
from engine.stage_run import Measure, StageRun
from engine.units import format_bytes, format_share

CODE = "data-shape-changed"

TOLERANCE = math.log(1.25)
"""Largest log ratio between data of one shape. Compression, other block boundaries and other
hashing of keys moved the ratios of real runs of one job by at most 0.54 of it
(docs/models/ernest.md)."""

SHARE_TOLERANCE = 0.15
"""The same for the share of the largest task beyond an even split."""

FEWEST_RECORDS, LEAST_BYTES = 1_000.0, 1e6
"""Least records and bytes of a stage whose ratios are compared: with less, headers, indices and
single rows dominate."""

FEWEST_TASKS = 4
"""Fewest tasks whose largest share is compared: among fewer one always has a large share."""

COMPARED_SHARE = 0.05
"""Least share of a compared stage in the task time of either run: less does not matter to a
prediction."""

_JOINS = re.compile(r"join|cogroup|cartesian", re.IGNORECASE)
_PYTHON = "PythonRDD"
"""Python functions pass on batches of records, whose number is meaningless."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A ratio of one stage that differs between two runs.

    Args:
        stage: the stage in the latest run.
        text: the two ratios in words.
        excess: their difference in tolerances.
    """

    stage: StageRun
    text: str
    excess: float


def shape_notices(runs: Sequence[Run]) -> list[Notice]:
    """Warnings of runs on data of another shape than that of the latest run, which stands for the
    present; at most one for each application.

    Micro-batches are not compared: they vary with the times of their triggers.
    """
    by_application: dict[object, list[Run]] = {}
    for run in completed_runs(runs):
        if run.stages and run.batch_id is None:
            key = application_family(run), run.workload.sorted_parameters
            by_application.setdefault(key, []).append(run)
    notices = (_notice(group) for group in by_application.values() if len(group) > 1)
    return [notice for notice in notices if notice is not None]


def application_family(run: Run) -> str:
    """The name of a run's application without digits: names that differ in digits only (dates, run
    numbers) are the same application."""
    return re.sub(r"[\d\W_]+", " ", run.application or "").strip()


def _notice(runs: Sequence[Run]) -> Notice | None:
    latest = max(runs, key=lambda run: run.started_epoch_seconds or 0.0)
    others = [run for run in runs if run is not latest]
    different = [
        (run, worst_ratio) for run in others if (worst_ratio := difference(latest, run)) is not None
    ]
    if not different:
        return None
    run, worst = max(different, key=lambda entry: entry[1].excess)
    names = run.source or "another log"
    more = f" (and {len(different) - 1} more)" if len(different) > 1 else ""
    return Notice(
        CODE,
        f"{latest.source or 'the last log'} worked on data of another shape than {names}{more}: "
        f"{numbered_label(worst.stage)} {worst.text}; what differs "
        "between them is taken for the effect of more data or more cores",
        "give logs of runs on data like that of the next run",
    )


def difference(now: Run, then: Run) -> Difference | None:
    """The largest difference in data shape between two runs of one application; None if all are
    within the tolerances."""
    least, least_then = (_least_seconds(run) for run in (now, then))
    counted = not any(map(_inferred, (now, then)))
    ratios: list[Difference] = []
    for stage, index in zip(now.stages, stage_counterparts(now, then), strict=True):
        if index is None or stage.recomputed:
            continue
        other = then.stages[index]
        if stage.task_seconds.total >= least or other.task_seconds.total >= least_then:
            ratios += differences(stage, other, counted=counted)
    return max(ratios, key=lambda entry: entry.excess, default=None)


def _least_seconds(run: Run) -> float:
    """Least task time of a compared stage, in seconds."""
    return COMPARED_SHARE * sum(stage.task_seconds.total for stage in run.stages)


def _inferred(run: Run) -> bool:
    """Whether input is the size of files: then the bytes read per record are unknown."""
    return any(notice.code == "input-size-inferred" for notice in run.notices)


def differences(now: StageRun, then: StageRun, *, counted: bool = True) -> Iterator[Difference]:
    """The ratios of a stage that differ by more than their tolerance.

    Args:
        counted: whether input bytes are those that were read.
    """
    record_size = _bytes_per_record(now, then) if counted else NO_DIFFERENCE
    output, largest_share = _output_per_input(now, then), _largest_task_share(now, then)
    for excess, text in (record_size, output, largest_share):
        if excess > 1.0:
            yield Difference(now, text, excess)


NO_DIFFERENCE = 0.0, ""


def _bytes_per_record(now: StageRun, then: StageRun) -> tuple[float, str]:
    """Bytes per record read from outside, which is constant on data of one shape."""
    pair = [(_outside_bytes(stage), stage.input_records or 0.0) for stage in (now, then)]
    if not all(size >= LEAST_BYTES and records >= FEWEST_RECORDS for size, records in pair):
        return NO_DIFFERENCE
    width, other_width = (size / records for size, records in pair)
    text = f"reads {format_bytes(width)} per record, there {format_bytes(other_width)}"
    return abs(math.log(width / other_width)) / TOLERANCE, text


def _outside_bytes(stage: StageRun) -> float:
    """Bytes read from outside; 0 if some come from a cache, whose records are blocks."""
    if stage.cached_input_bytes or stage.input_bytes is None:
        return 0.0
    return stage.input_bytes.total


def _output_per_input(now: StageRun, then: StageRun) -> tuple[float, str]:
    """Output over input of a stage, in records if both runs count them, else in bytes."""
    if now.cached_input_bytes or then.cached_input_bytes:
        return NO_DIFFERENCE
    flows = [_records(now), _records(then)]
    unit, least = "records", FEWEST_RECORDS
    if None in flows or _PYTHON in now.operations:
        flows = [_bytes(now), _bytes(then)]
        unit, least = "bytes", LEAST_BYTES
    (read, wrote), (read_then, wrote_then) = (flow or (0.0, 0.0) for flow in flows)
    if min(read, wrote, read_then, wrote_then) < least:
        return NO_DIFFERENCE
    read_growth, task_growth = math.log(read / read_then), math.log(now.tasks / then.tasks)
    bounds = [read_growth, task_growth]
    if now.shuffle_read_bytes is not None:
        bounds.append(0.0)
    if _joins(now):
        bounds.append(2.0 * read_growth)
    growth = math.log(wrote / wrote_then)
    excess = max(growth - max(bounds), min(bounds) - growth)
    text = f"writes {wrote / read:.2g} {unit} for each that it reads, there "
    return excess / TOLERANCE, text + f"{wrote_then / read_then:.2g}"


def _joins(stage: StageRun) -> bool:
    """Whether a stage may join shuffles, with all pairs of rows per key as output. Generated code
    does not name its operations, so several parents count as well."""
    return len(stage.parents) > 1 or any(map(_JOINS.search, stage.operations))


def _records(stage: StageRun) -> tuple[float, float] | None:
    """Records read and written; None if the log does not say."""
    read = stage.read_records
    wrote = (stage.shuffle_write_records or 0.0) + (stage.output_records or 0.0)
    return (read, wrote) if read and wrote else None


def _bytes(stage: StageRun) -> tuple[float, float]:
    written = (stage.shuffle_write_bytes, stage.output_bytes)
    return stage.read_bytes, sum(part.total for part in written if part is not None)


def _largest_task_share(now: StageRun, then: StageRun) -> tuple[float, str]:
    """Share of the shuffled data that the largest task has beyond an even split."""
    pair = now.shuffle_read_bytes, then.shuffle_read_bytes
    if pair[0] is None or pair[1] is None:
        return NO_DIFFERENCE
    if not all(one.total >= LEAST_BYTES and one.count >= FEWEST_TASKS for one in pair if one):
        return NO_DIFFERENCE
    share, other_share = _largest(pair[0]), _largest(pair[1])
    even = [1.0 / one.count for one in pair if one]
    difference = (share - even[0]) / (1.0 - even[0]) - (other_share - even[1]) / (1.0 - even[1])
    text = (
        f"has {format_share(share)} of its data in one task of {pair[0].count}, "
        f"there {format_share(other_share)} of it in one of {pair[1].count}"
    )
    return abs(difference) / SHARE_TOLERANCE, text


def _largest(measure: Measure) -> float:
    return measure.quantiles[-1] / measure.total
