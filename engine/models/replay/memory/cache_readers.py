"""Which stages of a run read its persisted RDDs, which computed them, how much each missed, which
share of all was in memory, and what memory the readers' own tasks take from the blocks.

In: a run, and its replay. Out: indices of the stages that read cached data, shares, and bytes per
core. Explained in docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.models.replay.memory.cached_rdds import (
    copies_held,
    first_complete_stage,
    overlaps_origin,
)
from engine.models.replay.memory.spilling import growing_bytes
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel
from engine.profile import Run
from engine.stage_run import StageRun


def _readers(stages: Sequence[StageRun]) -> dict[int, int]:
    """Index of each stage that reads RDDs persisted by earlier stages -> index of the stage that
    first computed them; of several the one with most task time."""
    computed = first_complete_stage(stages, [stage.cached_rdds for stage in stages])
    origin_of: dict[int, int] = {}
    for index, stage in enumerate(stages):
        origins = [computed[rdd] for rdd in stage.cached_rdds if computed[rdd] < index]
        if any(overlaps_origin(stages, index, origin) for origin in origins):
            continue
        if origins and stage.cached_input_bytes:
            origin_of[index] = max(origins, key=lambda p: stages[p].task_seconds.total)
    return origin_of


def sources_of(stages: Sequence[StageRun]) -> dict[int, int]:
    """The `_readers` with at least one cache hit."""
    readers = _readers(stages).items()
    return {
        index: origin
        for index, origin in readers
        if not _missed_all_blocks(stages[index], stages[origin])
    }


def _missed_all_blocks(stage: StageRun, source: StageRun) -> bool:
    """Whether a stage missed all blocks: it read exactly the bytes that the stage which computed
    its cached data had read from outside. The size of blocks never equals that."""
    if source.input_bytes is None:
        return False
    return math.isclose(stage.cached_input_bytes or 0.0, source.outside_bytes, rel_tol=1e-6)


def never_stored(run: Run) -> bool:
    """Whether a run persists data of which no later stage hit any block: each recomputes all of it,
    and is assumed to on any cluster, since the log does not show how much memory it needs."""
    return bool(_readers(run.stages)) and not sources_of(run.stages)


def all_on_disk(stages: Sequence[StageRun], sources: dict[int, int]) -> bool:
    """Whether all cached data that is read is backed by disk: then all of it is stored, and blocks
    that memory does not hold are read from disk."""
    return all(set(stages[p].cached_rdds) & set(stages[p].disk_backed_rdds) for p in sources)


def hit_all_blocks(run: Run, index: int, sources: Mapping[int, int]) -> bool:
    """Whether a stage found all of the cached data that it reads in memory: as many bytes as its
    blocks take, where the log tells that, else as many as that one of its readers which read an
    amount furthest from what the original data has (`cached_share_in_log`). Of blocks that are
    backed by disk it reads all in any case: the log tells how many from there, or nothing of this.

    Args:
        sources: stages that read cached data -> the stage that computed it.
    """
    if run.stages[index].disk_backed_rdds:
        return run.stages[index].cached_disk_bytes == 0.0
    read = run.stages[index].cached_input_bytes or 0.0
    stored = {rdd.rdd_id: rdd.stored_bytes for rdd in run.persisted_rdds}
    sizes = [stored.get(rdd) for rdd in run.stages[index].cached_rdds]
    if sizes and all(sizes):
        return math.isclose(read, sum(size or 0.0 for size in sizes), rel_tol=1e-6)
    original = run.stages[sources[index]].outside_bytes
    same_source = [p for p, source in sources.items() if source == sources[index]]
    most = max(abs((run.stages[p].cached_input_bytes or 0.0) - original) for p in same_source)
    return math.isclose(abs(read - original), most, rel_tol=1e-6)


def missed_share(run: Run, index: int, source: int) -> float | None:
    """Share of its cached data that a stage did not find, of data that lies nowhere else: of blocks
    of S bytes it found K, and read the rest again from the original input B, so that it read
    K + (1 - K / S) B. None where the log tells no sizes, or both are alike.

    Args:
        source: the stage that computed the data.
    """
    stage, original = run.stages[index], run.stages[source].outside_bytes
    stored_bytes = {rdd.rdd_id: rdd.stored_bytes for rdd in run.persisted_rdds}
    sizes = [stored_bytes.get(rdd) or 0.0 for rdd in stage.cached_rdds]
    if not all(sizes) or original <= 0.0 or stage.disk_backed_rdds:
        return None
    size, read = sum(sizes), stage.cached_input_bytes or 0.0
    if abs(math.log(size / original)) < MIN_LOG_SIZE_RATIO:
        return None
    return min(1.0, max(0.0, 1.0 - (read - original) / (size - original)))


MIN_LOG_SIZE_RATIO = 0.1
"""Blocks and what they were computed from that are closer than this, in log, are not told apart."""

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


@dataclass(frozen=True, eq=False)
class ReaderMemory:
    """Execution memory per core of the cache-reading stage that takes most of it: its tasks sort,
    join or aggregate what they read.

    Args:
        model: of that stage.
        peak_bytes: mean execution memory per held core in the log.
        growing_bytes: the part of it that grows with the data of a task.
    """

    model: StageModel
    peak_bytes: float
    growing_bytes: float

    @classmethod
    def of(cls, replay: Replay, readers: Iterable[int]) -> ReaderMemory | None:
        """None where the log reports no execution memory of any reader.

        Args:
            readers: indices of the stages that read cached blocks.
        """
        candidates = []
        for model in map(replay.models.__getitem__, readers):
            stage, peak = model.stage, model.stage.peak_execution_memory_bytes
            if peak is not None and peak.mean:
                cpus = stage.task_cpus
                candidates.append(cls(model, peak.mean / cpus, growing_bytes(stage) / cpus))
        return max(candidates, key=lambda one: one.peak_bytes, default=None)

    def bytes_per_core(
        self, ratio: float, shuffle_partitions: int | None, slots: FloatArray
    ) -> FloatArray:
        """(n,) execution memory per core at `ratio` times the input on (n,) numbers of slots."""
        _, data = self.model.largest_task_bytes(ratio, shuffle_partitions, slots)
        return self.peak_bytes + self.growing_bytes * (data - 1.0)
