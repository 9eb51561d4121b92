"""Stages that find cached data of which the log has lost the stage that computed it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from engine.sources.application import Application
from engine.sources.executed import Executed
from engine.sources.holes import jobs_after_holes

SAME_BYTES = 1e-6
"""Blocks are never quite as large as what they were computed from."""


def note_found(application: Application, executed: Mapping[int, Executed]) -> None:
    """Where jobs are missing (a history server compacts a rolling log to what still ran), the first
    stage that is told to need a persisted RDD seems to compute it, and its blocks seem to be input.
    It found them, if a later stage read the same to the byte from them."""
    after = jobs_after_holes(application)
    if not after:
        return
    ordered = sorted(executed.values(), key=lambda entry: entry.start_ms)
    seen: set[int] = set()
    for place, entry in enumerate(ordered):
        stage = entry.stage
        new = set(stage.cached_rdds) - seen
        seen |= new
        if stage.reads_cache or new != set(stage.cached_rdds) or not new:
            continue
        jobs = application.jobs_of_stage.get(stage.stage_id, ())
        if after.issuperset(jobs) and _read_again(entry, ordered[place + 1 :]):
            stage.reads_cache = True


def _read_again(entry: Executed, later: Iterable[Executed]) -> bool:
    """Whether the next stage over the same partitions of these RDDs read as much of their blocks
    as this one read."""
    own = entry.summary.measures["input_bytes"]
    if own is None:
        return False
    for other in later:
        stage, read = other.stage, other.summary.measures["input_bytes"]
        if stage.persisted == entry.stage.persisted and stage.reads_cache and read is not None:
            return stage.source_read is None and (
                own.count == read.count and math.isclose(own.total, read.total, rel_tol=SAME_BYTES)
            )
    return False
