"""Detects runs on the same data whose logs count different input bytes, and equalises the counts.

The input bytes that tasks report are not the size of the files: of the same 48 GB a run on more
nodes counted 40, depending on caches and block locations. Taken as two sizes, the difference would
be learnt as the cost of more data, and predictions for more nodes would be a third too slow. Equal
data shows in other figures: the same numbers of tasks, and the same amounts read and written.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from engine.models.stages.data_shape import FEWEST_RECORDS, LEAST_BYTES, application_family
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import StageRun
from engine.units import format_bytes

CODE = "same-input"

MAX_LOG_RATIO = math.log(1.25)
"""Largest log ratio of two input counts that are equalised; 48 and 40 GB were seen."""

EQUAL_SHARE = 1e-3
"""Relative difference of counts that is ignored: metadata causes as much."""

MIN_INPUT_SHARE = 0.05
"""Minimum share of a run's input that a stage must read to be compared."""

RECORDS_TOLERANCE, BYTES_TOLERANCE = 1e-3, 1e-2
"""Tolerances (log ratio) for amounts from equal data: records hardly differ, bytes by compression.
"""


def with_equal_inputs(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs, with the largest input count of each group of runs on the same data.

    The largest is closest to the true size, since cached reads are missing from the counts. Data is
    the same if the stages of a job that read much of the input have equal numbers of tasks and all
    their known amounts (records, bytes written) agree. Logs without such amounts, and incomplete
    logs, are left as they are.
    """
    candidates: dict[object, list[_InputEvidence]] = {}
    for index, run in enumerate(runs):
        if run.complete and not run.lost and run.batch_id is None and run.workload.input_bytes:
            evidence = _evidence(index, run)
            candidates.setdefault((_job_key(run), evidence.stages), []).append(evidence)
    result = list(runs)
    for group in (
        group for several in candidates.values() for group in _groups_of_same_data(several)
    ):
        largest = max(evidence.size for evidence in group)
        if largest > min(evidence.size for evidence in group) * (1.0 + EQUAL_SHARE):
            notices.append(_notice([evidence.size for evidence in group]))
            for evidence in group:
                workload = replace(runs[evidence.index].workload, input_bytes=largest)
                result[evidence.index] = replace(runs[evidence.index], workload=workload)
    return result


@dataclass(frozen=True, slots=True)
class _InputEvidence:
    """What identifies the data of a run: its index, its input bytes as counted, name and task count
    of each stage that reads much of it, and the amounts that these read and wrote."""

    index: int
    size: float
    stages: tuple[tuple[str, int], ...]
    amounts: tuple[float | None, ...]


def _evidence(index: int, run: Run) -> _InputEvidence:
    size = run.workload.input_bytes or 0.0
    reading = [
        s for s in run.stages if s.outside_bytes > MIN_INPUT_SHARE * size and not s.recomputed
    ]
    # an order that does not depend on how concurrent jobs interleave
    reading.sort(key=lambda stage: (stage.name, stage.tasks, stage.stage_id))
    stages = tuple((stage.name, stage.tasks) for stage in reading)
    return _InputEvidence(
        index, size, stages, tuple(amount for s in reading for amount in _amounts(s))
    )


def _job_key(run: Run) -> object:
    """The key that runs of the same job with the same parameters share."""
    work = run.workload
    return application_family(run), work.iterations, work.scale, work.sorted_parameters


def _amounts(stage: StageRun) -> Iterator[float | None]:
    """The amounts that a stage read and wrote, in the order of `TOLERANCES`; None where unknown or
    too small to compare."""
    for records in (stage.input_records, stage.shuffle_write_records, stage.output_records):
        yield records if records is not None and records >= FEWEST_RECORDS else None
    for written in (stage.shuffle_write_bytes, stage.output_bytes):
        yield written.total if written is not None and written.total >= LEAST_BYTES else None


TOLERANCES = (*(RECORDS_TOLERANCE,) * 3, *(BYTES_TOLERANCE,) * 2)
"""Tolerance (log ratio) of each amount of a stage."""


def _groups_of_same_data(candidates: Sequence[_InputEvidence]) -> list[list[_InputEvidence]]:
    """Groups runs of one job with the same stages by data: neighbours in the order of their
    amounts. Among equal amounts the largest count, which is the one used, comes first."""

    def order(evidence: _InputEvidence) -> tuple[float, ...]:
        return (*(amount or 0.0 for amount in evidence.amounts), -evidence.size)

    groups: list[list[_InputEvidence]] = []
    for evidence in sorted(candidates, key=order):
        if groups and _same_data(groups[-1][0], evidence):
            groups[-1].append(evidence)
        else:
            groups.append([evidence])
    return groups


def _same_data(one: _InputEvidence, two: _InputEvidence) -> bool:
    if abs(math.log(one.size / two.size)) > MAX_LOG_RATIO:
        return False
    known = [
        abs(math.log(first / second)) <= tolerance
        for first, second, tolerance in zip(one.amounts, two.amounts, cycle(TOLERANCES))
        if first is not None and second is not None
    ]
    return bool(known) and all(known)


def _notice(sizes: Sequence[float]) -> Notice:
    least, most = format_bytes(min(sizes)), format_bytes(max(sizes))
    return Notice(
        CODE,
        f"{len(sizes)} logs count {least} to {most} of input for the same data (as many tasks, "
        f"which read and wrote as much): {most} is taken for each",
        "ask for other data as a multiple of it, such as 2x",
    )
