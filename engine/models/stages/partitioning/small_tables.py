"""Dimension tables: small tables in one file beside larger ones in several files (star schema).

More input of such a run means more rows of the large tables, in more files. A table in one file
that is no larger than one of theirs is written as a whole. With more rows its file gets larger, and
its number of rows grows far slower than the input.

In: a run. Out: the stages that scan dimension tables, alone or as one of their inputs, and the
splits of these. Explained in
docs/models/sparkplan_rules_replay.md#small-tables-beside-large-ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.partitioning.packed_files import PackedFiles
from engine.profile import Run
from engine.stage_run import StageInput, StageRun, total_of

SMALL_TABLE_POWER = 0.25
"""Power of the input with which a dimension table grows. The mean of the 17 dimensions of TPC-DS
(specification 3.2.0, table 3-2) from 1 to 1,000 GB is 0.24, from 0 (dates, demographics) to 0.69
(customers); of those that grow at all it is 0.37."""


@dataclass(frozen=True)
class SmallTables:
    """The dimension tables of a run.

    Args:
        stage_ids: the stages that scan one and nothing else.
        most_bytes: size up to which one file is one: that of a file of the largest scan of several
            files; below 0 if there are none.
    """

    stage_ids: frozenset[int] = frozenset()
    most_bytes: float = -1.0

    def inputs(self, stage: StageRun) -> frozenset[int]:
        """Places of a stage's paired inputs that are one. Of a union none is: one small file beside
        several is more of the same rows."""
        if stage.files_by is not None or not stage.paired:
            return frozenset()
        return frozenset(place for place, source in enumerate(stage.inputs) if self._is_one(source))

    def _is_one(self, source: StageInput) -> bool:
        size = source.files_bytes
        return source.files_read == 1.0 and size is not None and size <= self.most_bytes


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
    most = largest_bytes / files
    return SmallTables(
        frozenset(
            stage.stage_id
            for stage in given
            if _in_one_file(stage) and stage.files_bytes is not None and stage.files_bytes <= most
        ),
        most,
    )


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


def _in_one_file(stage: StageRun) -> bool:
    """Whether a stage scans one file and reads nothing else."""
    beside = stage.inputs or stage.in_part or total_of(stage.shuffle_read_bytes) > 0.0
    return stage.files_read == 1.0 and not beside


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
