"""What is said of rows that the driver fetches: that its work on them grows, and that Spark ends a
job which fetches too many."""

from __future__ import annotations

from engine.models.replay.replayed_run import Replay
from engine.models.stages.fetched_rows import rows_by_stage, sends_more
from engine.models.stages.partitioning.partitions import configured_number
from engine.notices import Notice
from engine.runs.stage_labels import numbered_label
from engine.units import GIB, format_bytes, format_seconds, format_share

ROWS_WORTH_SAYING = 0.05
"""Share of a predicted time that the driver's work on rows adds or saves, from which on it is
said."""


def rows_notice(replay: Replay, ratio: float, seconds: float) -> Notice | None:
    """That the driver's time before jobs is scaled with rows that it fetched, at `ratio` times the
    input and so many seconds in all; None where another log tells how it grows."""
    nodes, gaps = replay.graph.nodes, set(replay.growing_gaps) & set(replay.on_rows)
    if replay.driver_growth or not gaps:
        return None
    grown = {p: nodes[p].delay_seconds * replay.on_rows[p] * (ratio - 1.0) for p in gaps}
    added, most = sum(grown.values()), max(gaps, key=lambda place: abs(grown[place]))
    if abs(added) < ROWS_WORTH_SAYING * seconds:
        return None
    own, rows = set(nodes[most].after), rows_by_stage(replay.shapes)
    stages = zip(replay.graph.stage_nodes, replay.run.stages, strict=True)
    sent = [stage for place, stage in stages if place in own and stage.stage_id in rows]
    stage = max(sent, key=lambda stage: rows[stage.stage_id])
    return Notice(
        "rows-fetched",
        f"{numbered_label(stage)} sent the driver "
        f"{format_bytes(rows[stage.stage_id])} of rows, and no job ran for "
        f"{format_seconds(nodes[most].delay_seconds)} after that: "
        f"{format_share(replay.on_rows[most])} of it is taken for work on them, which grows with "
        f"the input ({format_seconds(abs(added))} {'more' if added > 0.0 else 'less'} here, in "
        "all). That is inferred: the interval reaches less and more of it",
        "add a log of a run with another input to measure it, or leave such work to executors",
        subject=numbered_label(stage),
        severity=abs(added),
    )


MOST_FETCHED, MOST_FETCHED_BYTES = "spark.driver.maxResultSize", 1.0 * GIB
"""Spark ends a job one of whose stages sends the driver more than this in all, unless it is 0; and
what it is by default."""

ONE_BY_ONE = "toLocalIterator at "
"""How stages are named that send one partition each: with more data there are more such stages."""


def result_notice(replay: Replay, ratio: float) -> Notice | None:
    """That a stage which the log fetched would send more than Spark allows, at `ratio` times the
    input; None where none would, or one does already in the log."""
    sent, stage = max(
        (
            (shape.stage.fetched_bytes or 0.0, shape.stage)
            for shape in replay.shapes
            if sends_more(shape) and not shape.stage.name.startswith(ONE_BY_ONE)
        ),
        key=lambda one: one[0],
        default=(0.0, None),
    )
    told = replay.run.config.get(MOST_FETCHED, "").strip().lower()
    limit = configured_number(replay.run.config, MOST_FETCHED) or MOST_FETCHED_BYTES
    if stage is None or told.rstrip("kmgtpb") == "0" or not sent <= limit < ratio * sent:
        return None
    return Notice(
        "result-too-large",
        f"{numbered_label(stage)} sent the driver {format_bytes(sent)}, "
        f"{format_bytes(ratio * sent)} if that grows as it is taken to: more than {MOST_FETCHED} "
        f"({format_bytes(limit)}), so that Spark ends the job",
        f"write the rows from executors, or raise {MOST_FETCHED} and the driver's memory",
    )
