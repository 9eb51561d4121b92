"""What a stage computes of persisted RDDs, and what of its input was read from outside for them."""

from __future__ import annotations

from collections.abc import Mapping

from engine.sources.logs.entities import Stage
from engine.sources.logs.events import StageInfo
from engine.sources.logs.lineage import Lineage
from engine.sources.logs.source_reads import SourceReads
from engine.stage_run import Measure, StageRun


def describe_cache(stage: Stage, info: StageInfo, lineage: Lineage) -> None:
    """What a submitted stage has to do with persisted RDDs.

    One that needs what another stage is just computing, all partitions of it, is beside its maker:
    its tasks wait for the blocks that other tasks of their executor compute, and read these. (A
    query that uses a cached table for the first time, and several times, has a stage for each.)
    """
    stage.persisted = lineage.persisted_in(info.rdds)
    stage.fed = lineage.fed_in(info.rdds) if stage.persisted else None
    stage.off_heap_rdds = lineage.off_heap_in(info.rdds)
    stage.copies = lineage.copies_in(info.rdds)
    stage.disk_backed_rdds = lineage.disk_backed_in(info.rdds)
    stage.needed_rdds = lineage.needed_in(info.rdds)
    stage.reads_cache = lineage.reads_cache(info.rdds)
    if not stage.reads_cache:
        stage.beside_maker = lineage.reads_cache(info.rdds, under_way=True)
        stage.reads_cache = stage.beside_maker
    if not stage.reads_cache and info.tasks >= stage.partitions:
        lineage.begun(stage.cached_rdds)


def stage_computed(
    stage: Stage, lineage: Lineage, sources: SourceReads
) -> dict[int, Mapping[int, int]]:
    """Notes what a completed stage has computed of persisted RDDs, and read for them.

    Returns:
        The RDD of which it has read all partitions, with the bytes that were read from outside for
        each. Those whose blocks were missing when it began it has read to their end, which the
        stage that was to store them may not have. Empty where the log does not tell which these
        were.
    """
    if not stage.persisted:
        return {}
    in_part = (stage.tasks.tasks or 0) < stage.partitions
    if stage.beside_maker:
        if not in_part:
            lineage.computed(stage.cached_rdds)
        return {}
    whole = stage.fed is None or lineage.is_computed(stage.fed)
    telling = not whole or stage.held is not None
    read = stage.tasks.inputs() if in_part or telling else None
    if stage.fed is not None and telling and read is not None:
        if stage.reads_cache:
            stage.source_read = sources.read(stage.fed, read, held=stage.held, whole=whole)
        else:
            sources.computed(stage.fed, read)
    if in_part and read is not None:
        lineage.computed_in_part(stage.persisted, read)
    else:
        lineage.computed(stage.cached_rdds)
    if in_part or stage.fed is None or stage.source_read is None or stage.held is None:
        return {}
    return {stage.fed: sources.of(stage.fed)}


def source_bytes(
    run: StageRun, stage: Stage, counted: Measure | None, *, blocks_told: bool
) -> float:
    """What a stage read from outside that none before it had read.

    One that stores a cached table ends the tasks whose block finds no room (since Spark 3.5); what
    they left is read by later stages, as block updates show. Without these it is what is missing to
    the size of files that are read whole.

    Args:
        run: with its input as far as that is known.
        counted: what its tasks counted of that.
        blocks_told: whether the log tells of blocks.
    """
    if run.input_bytes is None:
        return 0.0
    outside = run.outside_bytes
    if not stage.reads_cache:
        leaves_off = stage.persisted and not stage.disk_backed_rdds and not run.in_part
        if not leaves_off or blocks_told:
            return outside
        return max(outside, run.whole_files_bytes or 0.0)
    if stage.source_read is None:
        return 0.0
    of_files = counted is None or run.input_bytes.total != counted.total
    return outside if of_files else stage.source_read.bytes
