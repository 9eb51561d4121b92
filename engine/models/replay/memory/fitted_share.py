"""Which share of its cache a log had in memory, from what its stages read."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.models.replay.memory.cached_rdds import copies_held
from engine.profile import Run
from engine.stage_run import StageRun

NEARLY_FULL = 0.85
"""A cache that takes so much of its memory may have lost blocks."""


def share_in_log(run: Run, sources: Mapping[int, int], kept: float, storage: float) -> float:
    """Share of the cached data that was in memory when the log was written, of data that lies
    nowhere else.

    A stage that finds K bytes of blocks and computes the rest again reads that rest's share of the
    original input B as well: read = K + (1 - f) B. That K filled the memory holds of the stage
    that found most, which is the one that read an amount furthest from B: what others miss beyond
    that was dropped for the memory of tasks, block by block before they came to it, and says
    nothing of sizes. Of data of several sources the one of which least fitted counts. Where blocks
    have several copies, a stage reads one of each.

    Args:
        sources: the stages that read it, and the stage that computed what each reads.
        kept: bytes that are to be cached, as far as stages tell, of all copies.
        storage: memory for them, in bytes.
    """
    if kept < NEARLY_FULL * storage:
        return 1.0
    held = min(kept, storage)
    copies = copies_held(run)
    most: dict[int, tuple[float, float]] = {}
    for place, source in sources.items():
        original = _outside_bytes(run.stages[source])
        read = run.stages[place].cached_input_bytes or 0.0
        one = held / max([1, *(copies.get(rdd, 1) for rdd in run.stages[place].cached_rdds)])
        if original is not None and original > 0.0 and read > one:
            share = 1.0 - (read - one) / original
            found = abs(read - original), share
            most[source] = max(most.get(source, found), found)
    shares = [share for _, share in most.values()]
    return float(np.clip(min(shares), 0.02, 1.0)) if shares else 1.0


def _outside_bytes(stage: StageRun) -> float | None:
    """What a stage that stores blocks has to read from outside for all of them: a task whose block
    finds no room may end with the first rows (cached tables since Spark 3.5), so that of files
    that are read whole their size counts."""
    if stage.input_bytes is None:
        return None
    return max(stage.outside_bytes, stage.whole_files_bytes or 0.0)
