"""Dimension tables: small tables in one file beside larger ones in several files (star schema).

More input of such a run means more rows of the large tables, in more files. A table in one file
that is no larger than one of theirs is written as a whole. With more rows its file gets larger, and
its number of rows grows far slower than the input. In a small run facts are in one file too: those
of a notable size beside the largest table, and those that a union puts beside larger ones.

In: a run. Out: the stages that scan dimension tables, alone or as one of their inputs, and the
splits of these. Explained in
docs/models/sparkplan_rules_replay.md#small-tables-beside-large-ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.partitioning.packed_files import PackedFiles
from engine.profile import Run
from engine.stage_run import StageInput, StageRun, total_of

SMALL_TABLE_POWER = 0.25
"""Power of the input with which a dimension table grows. The mean of the 17 dimensions of TPC-DS
(specification 3.2.0, table 3-2) from 1 to 1,000 GB is 0.24, from 0 (dates, demographics) to 0.69
(customers); of those that grow at all it is 0.37."""

MOST_SHARE = 0.125
"""Most rows of a dimension table relative to the largest table. At scale 1 of TPC-DS (specification
3.2.0, table 3-2) the dimensions have up to 3.5 % of the rows of store sales, but for one that holds
all combinations of demographics, and the other facts 2.5 to 400 %. In TPC-H (4.2.5), where all but
two tables grow with the largest, the next largest ones have 25, 13, 3 and 2 %."""


@dataclass(frozen=True)
class SmallTables:
    """The dimension tables of a run.

    Args:
        stage_ids: the stages that scan one and nothing else.
        uncertain_ids: the stages that scan one file and nothing else of a table with a larger share
            of the rows: of facts in one file as yet, or of a large dimension.
        file_bytes, table_bytes, table_rows: of the largest scan of several files, the size of one,
            of all, and the rows; below 0 if there is none, and 0 rows if the log does not say, as
            where only stages that unite or pair inputs scan it.
        united_bytes: sizes of single files that a union puts beside others, by which the log tells
            their scans elsewhere.
    """

    stage_ids: frozenset[int] = frozenset()
    uncertain_ids: frozenset[int] = frozenset()
    file_bytes: float = -1.0
    table_bytes: float = -1.0
    table_rows: float = -1.0
    united_bytes: frozenset[float] = frozenset()

    def inputs(self, stage: StageRun) -> frozenset[int]:
        """Places of a stage's paired inputs that are one. Of a union none is: one small file beside
        several is more of the same rows."""
        if stage.files_by is not None or not stage.paired:
            return frozenset()
        return frozenset(place for place, source in enumerate(stage.inputs) if self.holds(source))

    def holds(self, source: StageInput | StageRun, rows: float | None = None) -> bool:
        """Whether what a stage or one of its inputs scans is one file of a dimension table: one
        that may be, and of at most `MOST_SHARE` of the largest table's rows, or of its bytes where
        `rows` are unknown."""
        size = source.files_bytes or 0.0
        compared = (rows, self.table_rows) if rows and self.table_rows else (size, self.table_bytes)
        return self.may_hold(source) and compared[0] <= MOST_SHARE * compared[1]

    def may_hold(self, source: StageInput | StageRun) -> bool:
        """Whether what a stage or one of its inputs scans is one file, no larger than one of the
        largest table, that no union puts beside others."""
        size = source.files_bytes
        if source.files_read != 1.0 or size is None or size in self.united_bytes:
            return False
        return size <= self.file_bytes


def small_tables(run: Run) -> SmallTables:
    """The dimension tables of a run.

    There are none in a micro-batch, whose input may well be one small file beside a table that
    stays. There are also none if the run wrote all tables of several files itself: the one file
    that it made these of is its input.
    """
    if run.batch_id is not None:
        return SmallTables()
    given = [stage for stage in run.stages if stage.files_by is None]
    several = [scan for stage in given for scan in _scans_of_several_files(stage)]
    if not several:
        return SmallTables()
    largest_bytes, files = max(several)
    sizes = SmallTables(
        file_bytes=largest_bytes / files,
        table_bytes=largest_bytes,
        table_rows=max(
            (one.input_records or 0.0 for one in given if _scans_only(one, (largest_bytes, files))),
            default=0.0,
        ),
        united_bytes=frozenset(
            source.files_bytes
            for stage in given
            if stage.united
            for source in stage.inputs
            if source.files_read == 1.0 and source.files_bytes is not None
        ),
    )
    single = [stage for stage in given if _scans_alone(stage) and sizes.may_hold(stage)]
    held = (stage.stage_id for stage in single if sizes.holds(stage, stage.input_records))
    small = frozenset(held)
    uncertain = frozenset(stage.stage_id for stage in single) - small
    return replace(sizes, stage_ids=small, uncertain_ids=uncertain)


def _scans_of_several_files(stage: StageRun) -> list[tuple[float, float]]:
    """Bytes and numbers of the files of each scan of a stage that has several.

    Of a union or product these are the scans of its inputs, whose sum would be several files of
    single ones as well. If no input tells how many it has, they are taken as one scan if there are
    more files than inputs.
    """
    told = [one for one in stage.inputs if one.files_read is not None]
    scans: Sequence[StageInput | StageRun] = told or (stage,)
    most_single = 1 if told else max(1, len(stage.paired or stage.united))
    read = ((one.files_bytes or 0.0, one.files_read or 0.0) for one in scans)
    return [(size, files) for size, files in read if files > most_single]


def _scans_only(stage: StageRun, scan: tuple[float, float]) -> bool:
    """Whether a scan of so many bytes and files is all that a stage scans."""
    combined = stage.inputs or stage.paired or stage.united
    return not combined and scan in _scans_of_several_files(stage)


def _scans_alone(stage: StageRun) -> bool:
    """Whether a stage reads all of one scan and nothing else."""
    beside = stage.inputs or stage.in_part or total_of(stage.shuffle_read_bytes) > 0.0
    return not beside


@dataclass(frozen=True)
class SmallTableSplits:
    """The splits of a scan of a dimension table, of one stage or (as arrays) of each of m.

    Args:
        packed: the splits of its file in the log.
    """

    packed: PackedFiles

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) splits at `ratio` times the input on (n,) cores."""
        return self.packed.in_files(cores, ratio**SMALL_TABLE_POWER, np.ones(()))

    def on_log_cores(self, ratio: float) -> FloatArray:
        """() or (m,) splits at `ratio` times the input on the cores of the log."""
        return self.count(np.asarray(self.packed.cores), ratio)
