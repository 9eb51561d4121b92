"""Runs that worked on the same data, whatever their logs count of it.

The bytes that tasks report are not the size of the files: of the same 48 GB a run on more nodes
counted 40, as caches and the place of blocks decide. Taken for two sizes, that is learnt as what
more data costs, and more nodes are foretold a third too slow. Whether the data is the same shows
elsewhere: it falls into as many tasks, and these read and write as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import cycle

from engine.models.stages.data_shape import FEWEST_RECORDS, LEAST_BYTES, family
from engine.notices import Notice
from engine.profile import Run
from engine.stage_run import StageRun
from engine.units import format_bytes

CODE = "same-input"

MOST_APART = math.log(1.25)
"""Counts of the same data whose log ratio is more are left as they are; 48 and 40 GB were seen."""

AS_COUNTED = 1e-3
"""Counts that differ by no more need no mending: metadata makes as much."""

READS_MUCH = 0.05
"""Share of a run's input from which on a stage that reads it tells of the data."""

RECORDS_ALIKE, BYTES_ALIKE = 1e-3, 1e-2
"""By how much what the same data makes may differ: records hardly, bytes as compression does."""


def with_one_count_each(runs: Sequence[Run], notices: list[Notice]) -> list[Run]:
    """The runs with one input for the same data: the largest that a log counts, since what is found
    in a cache, and what is read again of it, is in no count.

    Data is the same where the stages of a job that read much from outside have as many tasks each,
    and all that is known of what these read and wrote is alike. Logs that know nothing of that, or
    tell of a part of their run, stand for themselves.
    """
    alike: dict[object, list[_Told]] = {}
    for place, run in enumerate(runs):
        if run.complete and not run.lost and run.batch_id is None and run.workload.input_bytes:
            told = _told(place, run)
            alike.setdefault((_job(run), told.stages), []).append(told)
    found = list(runs)
    for group in (group for several in alike.values() for group in _groups(several)):
        most = max(told.size for told in group)
        if most > min(told.size for told in group) * (1.0 + AS_COUNTED):
            notices.append(_notice([told.size for told in group]))
            for told in group:
                workload = replace(runs[told.place].workload, input_bytes=most)
                found[told.place] = replace(runs[told.place], workload=workload)
    return found


@dataclass(frozen=True, slots=True)
class _Told:
    """What a log tells of its data: the place of its run, the input as counted, name and tasks of
    each stage that reads much of it, and the amounts that these read and wrote."""

    place: int
    size: float
    stages: tuple[tuple[str, int], ...]
    amounts: tuple[float | None, ...]


def _told(place: int, run: Run) -> _Told:
    size = run.workload.input_bytes or 0.0
    reading = [s for s in run.stages if s.outside_bytes > READS_MUCH * size and not s.recomputed]
    # In an order that jobs beside each other do not change.
    reading.sort(key=lambda stage: (stage.name, stage.tasks, stage.stage_id))
    stages = tuple((stage.name, stage.tasks) for stage in reading)
    return _Told(place, size, stages, tuple(amount for s in reading for amount in _amounts(s)))


def _job(run: Run) -> object:
    """What it takes to be another run of the same job."""
    work = run.workload
    return family(run), work.iterations, work.scale, work.sorted_parameters


def _amounts(stage: StageRun) -> Iterator[float | None]:
    """What it read and wrote (`TOLERANCES`); None where that is not known, or too little to tell
    anything."""
    for records in (stage.input_records, stage.shuffle_write_records, stage.output_records):
        yield records if records is not None and records >= FEWEST_RECORDS else None
    for written in (stage.shuffle_write_bytes, stage.output_bytes):
        yield written.total if written is not None and written.total >= LEAST_BYTES else None


TOLERANCES = (*(RECORDS_ALIKE,) * 3, *(BYTES_ALIKE,) * 2)
"""By how much the log of each amount of a stage may differ."""


def _groups(several: Sequence[_Told]) -> list[list[_Told]]:
    """Those of the same data, of logs of one job that have the same stages: neighbours in the order
    of what they read. Of as much the largest count comes first, which is the one that is taken."""

    def order(told: _Told) -> tuple[float, ...]:
        return (*(amount or 0.0 for amount in told.amounts), -told.size)

    groups: list[list[_Told]] = []
    for told in sorted(several, key=order):
        if groups and _same_data(groups[-1][0], told):
            groups[-1].append(told)
        else:
            groups.append([told])
    return groups


def _same_data(one: _Told, two: _Told) -> bool:
    if abs(math.log(one.size / two.size)) > MOST_APART:
        return False
    known = [
        abs(math.log(here / there)) <= most
        for here, there, most in zip(one.amounts, two.amounts, cycle(TOLERANCES))
        if here is not None and there is not None
    ]
    return bool(known) and all(known)


def _notice(sizes: Sequence[float]) -> Notice:
    least, most = format_bytes(min(sizes)), format_bytes(max(sizes))
    return Notice(
        CODE,
        f"{len(sizes)} logs count {least} to {most} of input for the same data, which fell into as "
        f"many tasks that read and wrote as much: {most} is taken for each",
        "ask for other data as a multiple of it, such as 2x",
    )
