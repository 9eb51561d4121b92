"""What is said of rows that the driver fetches: that its work on them grows, and that Spark ends a
job which fetches too many."""

from __future__ import annotations

from engine.models.replay.replayed_run import Replay
from engine.models.stages.fetched_rows import result_grows
from engine.models.stages.partitioning.partitions import configured_number, is_configured_zero
from engine.notices import Notice
from engine.runs.stage_labels import numbered_label
from engine.units import GIB, format_bytes, format_seconds, format_share

NOTICE_ROWS_SHARE = 0.05
"""Share of a predicted time that the driver's work on rows adds or saves, from which on it is
said."""


def rows_notice(replay: Replay, ratio: float, seconds: float) -> Notice | None:
    """That the driver's time before jobs is scaled with rows that it fetched, at `ratio` times the
    input and so many seconds in all; None where another log tells how it grows."""
    nodes, gaps = replay.graph.nodes, set(replay.driver.growing_gaps) & set(replay.rows_share)
    if replay.driver_growth or not gaps:
        return None
    added = {
        gap: nodes[gap].delay_seconds
        * replay.rows_share[gap]
        * (replay.driver.growth_factor(gap, ratio) - 1.0)
        for gap in gaps
    }
    in_all, longest = sum(added.values()), max(gaps, key=lambda gap: abs(added[gap]))
    if abs(in_all) < NOTICE_ROWS_SHARE * seconds:
        return None
    model, sent = max(replay.driver.fetched_before[longest], key=lambda one: one[1])
    return Notice(
        "rows-fetched",
        f"{numbered_label(model.stage)} sent the driver {format_bytes(sent)} of rows, and no job "
        f"ran for {format_seconds(nodes[longest].delay_seconds)} after that: "
        f"{format_share(replay.rows_share[longest])} of it is taken for work on them, which grows "
        f"with the input ({format_seconds(abs(in_all))} {'more' if in_all > 0.0 else 'less'} here, "
        "in all). That is inferred: the interval reaches less and more of it",
        "add a log of a run with another input to measure it, or leave such work to executors",
        subject=numbered_label(model.stage),
        severity=abs(in_all),
    )


MOST_FETCHED, MOST_FETCHED_BYTES = "spark.driver.maxResultSize", 1.0 * GIB
"""Spark ends a job one of whose stages sends the driver more than this in all, unless it is 0; and
what it is by default."""

ONE_BY_ONE = "toLocalIterator at "
"""How stages are named that send one partition each: with more data there are more such stages."""


def result_notice(replay: Replay, ratio: float) -> Notice | None:
    """That a stage which the log fetched would send more than Spark allows, at `ratio` times the
    input; None where none would, or one does already in the log."""
    limit = configured_number(replay.run.config, MOST_FETCHED) or MOST_FETCHED_BYTES
    unlimited = is_configured_zero(replay.run.config, MOST_FETCHED)
    results = [
        (
            model.stage.fetched_bytes * model.data_growth(ratio),
            model.stage.fetched_bytes,
            model.stage,
        )
        for model in replay.models
        if model.stage.fetched_bytes
        and result_grows(model)
        and not model.stage.name.startswith(ONE_BY_ONE)
    ]
    if unlimited or not results or max(sent for _, sent, _ in results) > limit:
        return None
    grown, sent, stage = max(results, key=lambda one: one[0])
    if grown <= limit:
        return None
    return Notice(
        "result-too-large",
        f"{numbered_label(stage)} sent the driver {format_bytes(sent)}, "
        f"{format_bytes(grown)} if that grows as it is taken to: more than {MOST_FETCHED} "
        f"({format_bytes(limit)}), so that Spark ends the job",
        f"write the rows from executors, or raise {MOST_FETCHED} and the driver's memory",
    )
