"""Whether runs of one application worked on data of one shape.

A model of one dataset is no model of another: records per block and features per record have to
stay (Ernest 5), and the reference runs must share the structure of the target's data (PERIDOT V,
Fig. 6). A log tells neither, yet it tells what a stage read and wrote. So ratios are compared that
stay, or move between known bounds, where only the amount of data changes:

- the bytes of a record that is read from outside stay;
- what a stage writes follows what it reads between not at all and in proportion (an aggregation
  lies between; pairs that a join brings together go with the square), and in proportion where it
  reads no shuffle and its tasks read as much each as before;
- the share of the data that its largest task has beyond an even split stays.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engine.models.stages.match import matches
from engine.notices import Notice
from engine.profile import Run, completed_runs
from engine.runs.stage_labels import numbered_label
from engine.stage_run import Measure, StageRun
from engine.units import format_bytes, format_share

CODE = "data-shape-changed"

TOLERANCE = math.log(1.25)
"""Log ratio up to which equal data differ: compression, blocks that are cut elsewhere, and keys
that fall otherwise moved the ratios of real runs of one job by 0.54 of it at most
(docs/models/ernest.md)."""

SHARE_TOLERANCE = 0.15
"""The same of the share of the largest task beyond an even split."""

FEWEST_RECORDS, LEAST_BYTES = 1_000.0, 1e6
"""Less than this in a stage says nothing of ratios: headers, indices and single rows decide."""

FEWEST_TASKS = 4
"""Of fewer tasks one always has a large share."""

WORTH_SAYING = 0.05
"""Share of a run's task time that a stage has in either run: less does not move a prediction."""

_JOINS = re.compile(r"join|cogroup|cartesian", re.IGNORECASE)
_PYTHON = "PythonRDD"
"""Functions in Python hand on batches of records, whose number says nothing."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A ratio of one stage that is another in two runs.

    Args:
        stage: as the run of today has it.
        text: the ratio now and then, in words.
        excess: how many times the tolerance it is off.
    """

    stage: StageRun
    text: str
    excess: float


def shape_notices(runs: Sequence[Run]) -> list[Notice]:
    """That runs worked on data of another shape than the last one, which is taken for the present
    as the last version of the code is; at most one for each application.

    Micro-batches are not compared: they differ as their triggers fall.
    """
    alike: dict[object, list[Run]] = {}
    for run in completed_runs(runs):
        if run.stages and run.batch_id is None:
            alike.setdefault((family(run), run.workload.sorted_parameters), []).append(run)
    found = (_notice(group) for group in alike.values() if len(group) > 1)
    return [notice for notice in found if notice is not None]


def family(run: Run) -> str:
    """Names that differ in digits alone (dates, run numbers) are the same application."""
    return re.sub(r"[\d\W_]+", " ", run.application or "").strip()


def _notice(runs: Sequence[Run]) -> Notice | None:
    latest = max(runs, key=lambda run: run.started_epoch_seconds or 0.0)
    others = [run for run in runs if run is not latest]
    told = [(run, found) for run in others if (found := difference(latest, run)) is not None]
    if not told:
        return None
    run, worst = max(told, key=lambda entry: entry[1].excess)
    names = run.source or "another log"
    more = f" (and {len(told) - 1} more)" if len(told) > 1 else ""
    return Notice(
        CODE,
        f"{latest.source or 'the last log'} worked on data of another shape than {names}{more}: "
        f"{numbered_label(worst.stage)} {worst.text}; what differs "
        "between them is taken for the effect of more data or more cores",
        "give logs of runs on data like that of the next run",
    )


def difference(now: Run, then: Run) -> Difference | None:
    """What differs most between the data of two runs of one application; None where nothing does
    beyond what runs on data of one shape do."""
    least, least_then = (_least_seconds(run) for run in (now, then))
    counted = not any(map(_inferred, (now, then)))
    found: list[Difference] = []
    for stage, place in zip(now.stages, matches(now, then), strict=True):
        if place is None or stage.recomputed:
            continue
        other = then.stages[place]
        if stage.task_seconds.total >= least or other.task_seconds.total >= least_then:
            found += differences(stage, other, counted=counted)
    return max(found, key=lambda entry: entry.excess, default=None)


def _least_seconds(run: Run) -> float:
    """Task time from which on a stage of the run is compared."""
    return WORTH_SAYING * sum(stage.task_seconds.total for stage in run.stages)


def _inferred(run: Run) -> bool:
    """Whether input is the size of files: what of a record was read is not known then."""
    return any(notice.code == "input-size-inferred" for notice in run.notices)


def differences(now: StageRun, then: StageRun, *, counted: bool = True) -> Iterator[Difference]:
    """The ratios of a stage that differ by more than they do on data of one shape.

    Args:
        counted: whether the bytes that come from outside are those that were read.
    """
    width = _width(now, then) if counted else NOTHING
    for beyond, text in (width, _yield(now, then), _evenness(now, then)):
        if beyond > 1.0:
            yield Difference(now, text, beyond)


NOTHING = 0.0, ""


def _width(now: StageRun, then: StageRun) -> tuple[float, str]:
    """Bytes per record that comes from outside: stays."""
    pair = [(_outside_bytes(stage), stage.input_records or 0.0) for stage in (now, then)]
    if not all(size >= LEAST_BYTES and records >= FEWEST_RECORDS for size, records in pair):
        return NOTHING
    here, there = (size / records for size, records in pair)
    text = f"reads {format_bytes(here)} per record, there {format_bytes(there)}"
    return abs(math.log(here / there)) / TOLERANCE, text


def _outside_bytes(stage: StageRun) -> float:
    """Bytes read from outside; 0 where some of them come from a cache, whose records are blocks."""
    if stage.cached_input_bytes or stage.input_bytes is None:
        return 0.0
    return stage.input_bytes.total


def _yield(now: StageRun, then: StageRun) -> tuple[float, str]:
    """What a stage writes for what it reads, in records where both runs count them."""
    if now.cached_input_bytes or then.cached_input_bytes:
        return NOTHING
    flows = [_records(now), _records(then)]
    what, least = "records", FEWEST_RECORDS
    if None in flows or _PYTHON in now.operations:
        flows = [_bytes(now), _bytes(then)]
        what, least = "bytes", LEAST_BYTES
    (read, wrote), (read_then, wrote_then) = (flow or (0.0, 0.0) for flow in flows)
    if min(read, wrote, read_then, wrote_then) < least:
        return NOTHING
    grown, tasks = math.log(read / read_then), math.log(now.tasks / then.tasks)
    bounds = [grown, tasks]
    if now.shuffle_read_bytes is not None:
        bounds.append(0.0)
    if _joins(now):
        bounds.append(2.0 * grown)
    found = math.log(wrote / wrote_then)
    off = max(found - max(bounds), min(bounds) - found)
    text = f"writes {wrote / read:.2g} {what} for each that it reads, there "
    return off / TOLERANCE, text + f"{wrote_then / read_then:.2g}"


def _joins(stage: StageRun) -> bool:
    """Whether it brings shuffles together: of each key, all pairs may come out. Generated code does
    not name its operations."""
    return len(stage.parents) > 1 or any(map(_JOINS.search, stage.operations))


def _records(stage: StageRun) -> tuple[float, float] | None:
    """Records read and written; None where the log does not say."""
    read = (stage.input_records or 0.0) + (stage.shuffle_read_records or 0.0)
    wrote = (stage.shuffle_write_records or 0.0) + (stage.output_records or 0.0)
    return (read, wrote) if read and wrote else None


def _bytes(stage: StageRun) -> tuple[float, float]:
    written = (stage.shuffle_write_bytes, stage.output_bytes)
    return stage.read_bytes, sum(part.total for part in written if part is not None)


def _evenness(now: StageRun, then: StageRun) -> tuple[float, str]:
    """Share of the shuffled data that the largest task has beyond an even split."""
    pair = now.shuffle_read_bytes, then.shuffle_read_bytes
    if pair[0] is None or pair[1] is None:
        return NOTHING
    if not all(one.total >= LEAST_BYTES and one.count >= FEWEST_TASKS for one in pair if one):
        return NOTHING
    here, there = _largest(pair[0]), _largest(pair[1])
    even = [1.0 / one.count for one in pair if one]
    apart = (here - even[0]) / (1.0 - even[0]) - (there - even[1]) / (1.0 - even[1])
    text = (
        f"has {format_share(here)} of its data in one task of {pair[0].count}, "
        f"there {format_share(there)} of it in one of {pair[1].count}"
    )
    return abs(apart) / SHARE_TOLERANCE, text


def _largest(measure: Measure) -> float:
    return measure.quantiles[-1] / measure.total
