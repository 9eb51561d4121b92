"""How stages use persisted RDDs: which they compute, and how much they read for them."""

from __future__ import annotations

from collections.abc import Mapping

from engine.cluster import MOST_NODES
from engine.sources.logs.entities import SourceReads, Stage
from engine.sources.logs.events import StageInfo
from engine.sources.logs.lineage import Lineage, is_persisted
from engine.stage_run import Measure, StageRun


def describe_cache(stage: Stage, info: StageInfo, lineage: Lineage) -> None:
    """Fills in how a submitted stage uses persisted RDDs.

    A stage that needs an RDD of which another running stage computes all partitions is marked
    `computed_concurrently`: its tasks wait for blocks that other tasks of their executor compute,
    and then read them. (The first query over a cached table that uses it several times has one
    stage per use.)
    """
    levels = {rdd.rdd_id: rdd.level for rdd in info.rdds}
    stage.persisted = tuple((r.rdd_id, r.partitions) for r in info.rdds if is_persisted(r))
    stage.source_fed_rdd = lineage.source_fed_in(info.rdds) if stage.persisted else None
    stage.off_heap_rdds = frozenset(
        rdd for rdd, level in levels.items() if level.off_heap or (level.disk and not level.memory)
    )
    # More copies than the largest possible cluster has nodes are damage.
    stage.copies = {
        r: level.copies for r, level in levels.items() if 1 < level.copies <= MOST_NODES
    }
    stage.disk_backed_rdds = tuple(rdd for rdd, level in levels.items() if level.disk)
    stage.needed_rdds = lineage.needed_in(info.rdds)
    stage.reads_cache = lineage.reads_cache(info.rdds)
    if not stage.reads_cache:
        stage.computed_concurrently = lineage.reads_cache(info.rdds, include_being_computed=True)
        stage.reads_cache = stage.computed_concurrently
    if not stage.reads_cache and info.tasks >= stage.partitions:
        lineage.computation_started(stage.cached_rdds)


def stage_computed(
    stage: Stage, lineage: Lineage, sources: SourceReads
) -> dict[int, Mapping[int, int]]:
    """Records which persisted RDDs a completed stage computed, and what it read for them.

    Returns:
        RDD -> partition -> bytes read from the source, for an RDD of which the stage read all
        partitions. It read those whose blocks were missing at its start to their end, which the
        stage that should have stored them may not have done. Empty where the log does not show
        which blocks were missing.
    """
    if not stage.persisted:
        return {}
    partial = (stage.tasks.tasks or 0) < stage.partitions
    if stage.computed_concurrently:
        if not partial:
            lineage.computed(stage.cached_rdds)
        return {}
    fully_computed = stage.source_fed_rdd is None or lineage.is_computed(stage.source_fed_rdd)
    distinguishable = not fully_computed or stage.cached_partitions is not None
    read_bytes = stage.tasks.inputs() if partial or distinguishable else None
    if stage.source_fed_rdd is not None and distinguishable and read_bytes is not None:
        if stage.reads_cache:
            stage.source_read = sources.read(
                stage.source_fed_rdd,
                read_bytes,
                cached=stage.cached_partitions,
                fully_computed=fully_computed,
            )
        else:
            sources.record_first(stage.source_fed_rdd, read_bytes)
    if partial and read_bytes is not None:
        lineage.partitions_computed(stage.persisted, read_bytes)
    else:
        lineage.computed(stage.cached_rdds)
    if (
        partial
        or stage.source_fed_rdd is None
        or stage.source_read is None
        or stage.cached_partitions is None
    ):
        return {}
    return {stage.source_fed_rdd: sources.of(stage.source_fed_rdd)}


def source_bytes(
    run: StageRun, stage: Stage, counted: Measure | None, *, blocks_reported: bool
) -> float:
    """Bytes that a stage read from sources and that no stage before it had read.

    Since Spark 3.5 a stage that fills a cached table ends tasks early whose block does not fit in
    memory; later stages read the rest, as block updates show. Without block updates the size of
    the files, where they are read whole, replaces the count.

    Args:
        run: the stage with its input as far as known.
        counted: the input that its tasks counted.
        blocks_reported: whether the log has block updates.
    """
    if run.input_bytes is None:
        return 0.0
    outside = run.outside_bytes
    if not stage.reads_cache:
        may_stop_early = stage.persisted and not stage.disk_backed_rdds and not run.in_part
        if not may_stop_early or blocks_reported:
            return outside
        return max(outside, run.whole_files_bytes or 0.0)
    if stage.source_read is None:
        return 0.0
    from_files = counted is None or run.input_bytes.total != counted.total
    return outside if from_files else stage.source_read.bytes
