"""Tables that Spark broadcasts while they are small: with more data it joins them in another way.

A replay has the plan of its log. A table beyond `spark.sql.autoBroadcastJoinThreshold` is shuffled
instead, and the other side of the join with it: stages that no log with the small table shows.
"""

from __future__ import annotations

from collections.abc import Mapping

from engine.models.replay.replayed_run import Replay
from engine.models.stages.partitions import configured_number
from engine.profile import Notice
from engine.runs.stage_labels import stage_label
from engine.stage_run import StageRun
from engine.units import MIB, format_bytes

THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
THRESHOLD_BYTES = 10 * int(MIB)
"""Its default. Spark holds it against the size of the files as far as their columns are read, or
against what adaptive execution counted before it is compressed: mostly no less than the bytes that
the stage read, of wide rows that lost columns it may be."""

ADAPTIVE_THRESHOLD = "spark.sql.adaptive.autoBroadcastJoinThreshold"
"""The same for what adaptive execution counted, where it is set: it makes joins broadcast that
were planned with a shuffle."""


def broadcast_notice(replay: Replay, ratio: float) -> Notice | None:
    """The warning about the largest broadcast of a log that may be too much for at `ratio` times
    the input: in proportion to it, unless other logs tell how that table grows. One that was too
    large in the log already was asked for by a hint, or cut down by a filter, and stays."""
    key, most = _threshold(replay.run.config)
    sizes = [(_size(shape.stage), shape) for shape in replay.shapes]
    outgrown = [
        (size * shape.data(ratio), size, shape.stage)
        for size, shape in sizes
        if most is not None and size <= most < size * shape.data(ratio)
    ]
    if most is None or not outgrown:
        return None
    there, here, stage = max(outgrown, key=lambda one: one[0])
    return Notice(
        "broadcast-outgrown",
        f"stage {stage.stage_id} ({stage_label(stage)}) broadcasts {format_bytes(here)} to every "
        f"executor, {format_bytes(there)} if that grows as it is taken to: more than {key} "
        f"({format_bytes(most)}), so that Spark shuffles both sides of the join instead. Neither "
        "the time nor its interval holds that",
        "add a log of a run with more input, or keep the broadcast by a hint",
    )


def _size(stage: StageRun) -> float:
    """Bytes read of what a stage broadcasts; 0 where it does not."""
    return stage.read_bytes if "BroadcastExchange" in stage.operations else 0.0


def _threshold(config: Mapping[str, str]) -> tuple[str, int | None]:
    """The setting that lets the larger tables be broadcast, and up to how many bytes: None where
    nothing is broadcast but by a hint."""
    told = [key for key in (THRESHOLD, ADAPTIVE_THRESHOLD) if key in config or key == THRESHOLD]
    limits = [(key, _limit(config, key)) for key in told]
    return max(limits, key=lambda one: one[1] or 0)


def _limit(config: Mapping[str, str], key: str) -> int | None:
    told = config.get(key, "").strip()
    if told == "0" or told.startswith("-"):
        return None
    return configured_number(config, key) or THRESHOLD_BYTES
