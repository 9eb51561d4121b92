"""Runs that worked on the same data, whatever their logs count of it.

The bytes that tasks report are not the size of the files: of the same 48 GB a run on more nodes
counted 40, as caches and the place of blocks decide. Taken for two sizes, that is learnt as what
more data costs, and more nodes are foretold a third too slow. Whether the data is the same shows
elsewhere: it falls into as many tasks, and these read and write as much.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from engine.models.stages.data_shape import FEWEST_RECORDS, LEAST_BYTES, family
from engine.profile import Notice, Run
from engine.stage_run import StageRun, total_of
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
    in a cache, and what is read again of it, is in no count."""
    groups: list[list[int]] = []
    for place, run in enumerate(runs):
        own = next((group for group in groups if same_data(runs[group[0]], run)), None)
        if own is None:
            groups.append([place])
        else:
            own.append(place)
    found = list(runs)
    for group in groups:
        sizes = [runs[place].workload.input_bytes or 0.0 for place in group]
        if max(sizes) > min(sizes) * (1.0 + AS_COUNTED):
            notices.append(_notice(sizes))
            for place in group:
                workload = replace(runs[place].workload, input_bytes=max(sizes))
                found[place] = replace(runs[place], workload=workload)
    return found


def _notice(sizes: Sequence[float]) -> Notice:
    least, most = format_bytes(min(sizes)), format_bytes(max(sizes))
    return Notice(
        CODE,
        f"{len(sizes)} logs count {least} to {most} of input for the same data, which fell into as "
        f"many tasks that read and wrote as much: {most} is taken for each",
        "ask for other data as a multiple of it (--input-size 2x)",
    )


def same_data(run: Run, other: Run) -> bool:
    """Whether two logs of one application tell of work on the same data: the stages that read much
    from outside are the same, with as many tasks each, and all that is known of what these read
    and wrote is alike. False where nothing is known of that, or a log tells of a part of its run.
    """
    size, size_of_other = run.workload.input_bytes, other.workload.input_bytes
    if size is None or size_of_other is None:
        return False
    if abs(math.log(size / size_of_other)) > MOST_APART:
        return False
    if not _is_whole(run) or not _is_whole(other) or _job(run) != _job(other):
        return False
    pair = _readers(run), _readers(other)
    if [_of_stage(stage) for stage in pair[0]] != [_of_stage(stage) for stage in pair[1]]:
        return False
    alike = [told for one, two in zip(*pair, strict=True) for told in _alike(one, two)]
    return bool(alike) and all(alike)


def _is_whole(run: Run) -> bool:
    return run.complete and not run.lost and run.batch_id is None


def _job(run: Run) -> object:
    """What it takes to be another run of the same job."""
    work = run.workload
    return family(run), work.iterations, work.scale, tuple(sorted(work.parameters.items()))


def _readers(run: Run) -> list[StageRun]:
    """The stages that read much of the input, in an order that parallel jobs do not change."""
    least = READS_MUCH * (run.workload.input_bytes or 0.0)
    reading = (
        stage for stage in run.stages if stage.outside_bytes > least and not stage.recomputed
    )
    return sorted(reading, key=lambda stage: (*_of_stage(stage), stage.stage_id))


def _of_stage(stage: StageRun) -> tuple[str, int]:
    return stage.name, stage.tasks


def _alike(one: StageRun, two: StageRun) -> Iterator[bool]:
    """Of each amount that both stages tell, and that is large enough to tell anything, whether it
    is the same."""
    amounts = [
        (one.input_records, two.input_records, FEWEST_RECORDS, RECORDS_ALIKE),
        (one.shuffle_write_records, two.shuffle_write_records, FEWEST_RECORDS, RECORDS_ALIKE),
        (one.output_records, two.output_records, FEWEST_RECORDS, RECORDS_ALIKE),
    ]
    for here, there in (
        (one.shuffle_write_bytes, two.shuffle_write_bytes),
        (one.output_bytes, two.output_bytes),
    ):
        amounts.append((total_of(here), total_of(there), LEAST_BYTES, BYTES_ALIKE))
    for amount, other, least, most in amounts:
        if amount is not None and other is not None and min(amount, other) >= least:
            yield abs(math.log(amount / other)) <= most
