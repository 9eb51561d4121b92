"""Small tables in one file beside larger ones in several: the dimensions of a star.

More input of such a run is more rows of the large tables, which become more files. A table that
lies in one file, no larger than one of theirs, is written as a whole: with more rows its file gets
larger, and its rows become more far slower.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.cutting.packed_files import PackedFiles
from engine.profile import Run
from engine.stage_run import StageRun, total_of

SMALL_TABLE_POWER = 0.25
"""The power of the input with which such a table grows: the mean of the 17 dimensions of TPC-DS
(specification 3.2.0, table 3-2) from 1 to 1,000 GB is 0.24, from 0 (dates, demographics) to 0.69
(customers), of those that grow at all 0.37."""


def small_tables(run: Run) -> frozenset[int]:
    """The stages that scan one of these and nothing else. None in a micro-batch, whose input may
    well be one small file beside a table that stays, and none beside what the run wrote alone: the
    file that it made that of is its input."""
    if run.batch_id is not None:
        return frozenset()
    given = [stage for stage in run.stages if stage.files_by is None]
    several = [stage for stage in given if (stage.files_read or 0.0) > 1.0]
    largest = max(several, key=lambda stage: stage.files_bytes or 0.0, default=None)
    if largest is None:
        return frozenset()
    most = (largest.files_bytes or 0.0) / (largest.files_read or 1.0)
    return frozenset(
        stage.stage_id for stage in given if _in_one_file(stage) and _size(stage) <= most
    )


def _in_one_file(stage: StageRun) -> bool:
    """Whether it scans one file and reads nothing else."""
    beside = stage.inputs or stage.in_part or total_of(stage.shuffle_read_bytes) > 0.0
    return stage.files_read == 1.0 and not beside


def _size(stage: StageRun) -> float:
    return stage.files_bytes or 0.0


@dataclass(frozen=True)
class SmallTableSplits:
    """The splits of a scan of such a table, of one stage or (as arrays) of each of m.

    Args:
        packed: how its file was cut in the log.
    """

    packed: PackedFiles

    def count(self, cores: FloatArray, ratio: float) -> FloatArray:
        """(n,) of `ratio` times the input on so many cores."""
        return self.packed.in_files(cores, ratio**SMALL_TABLE_POWER, np.ones(()))

    def on_own(self, ratio: float) -> FloatArray:
        """() or (m,) the same on the cores of the log."""
        return self.count(np.asarray(self.packed.cores), ratio)
