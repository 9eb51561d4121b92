"""The share of its cached data that a logged run held in memory, inferred from bytes read.

In: a run whose stages read cached data, and its storage memory. Out: a share. Explained in
docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from engine.models.replay.memory.cached_rdds import copies_held
from engine.profile import Run
from engine.stage_run import StageRun

NEARLY_FULL = 0.85
"""A cache that takes so much of its memory may have lost blocks."""


def cached_share_in_log(
    run: Run, sources: Mapping[int, int], cached_bytes: float, storage: float
) -> float:
    """Share f of the cached data that was in memory during the run, for data stored nowhere else.

    A stage that finds K bytes of blocks and recomputes the rest also reads the share (1 - f) of
    the original input of B bytes: read = K + (1 - f) B. K equals the storage memory only in the
    stage that found most blocks: the one whose bytes read are furthest from B. What other stages
    miss beyond that was evicted block by block for task memory before they came to it, and says
    nothing of sizes. Of data of several sources the one of which least fitted counts. Of
    replicated blocks a stage reads one copy.

    Args:
        sources: index of each stage that reads cached data -> index of the stage that computed it.
        cached_bytes: bytes to be cached, of all copies, as far as the stages tell.
        storage: storage memory, in bytes.
    """
    if cached_bytes < NEARLY_FULL * storage:
        return 1.0
    stored = min(cached_bytes, storage)
    copies = copies_held(run)
    by_source: dict[int, tuple[float, float]] = {}
    for reader, source in sources.items():
        original = _outside_bytes(run.stages[source])
        read = run.stages[reader].cached_input_bytes or 0.0
        one_copy = stored / max(
            [1, *(copies.get(rdd, 1) for rdd in run.stages[reader].cached_rdds)]
        )
        if original is not None and original > 0.0 and read > one_copy:
            share = 1.0 - (read - one_copy) / original
            distance_and_share = abs(read - original), share
            by_source[source] = max(by_source.get(source, distance_and_share), distance_and_share)
    shares = [share for _, share in by_source.values()]
    return float(np.clip(min(shares), 0.02, 1.0)) if shares else 1.0


def _outside_bytes(stage: StageRun) -> float | None:
    """Bytes that a stage has to read from outside to compute all the blocks that it stores.

    Of files that are read whole their size counts: a task whose block finds no room may stop after
    the first rows (cached tables since Spark 3.5)."""
    if stage.input_bytes is None:
        return None
    return max(stage.outside_bytes, stage.whole_files_bytes or 0.0)
