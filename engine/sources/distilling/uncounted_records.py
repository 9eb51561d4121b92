"""Detects sources of which Spark counts rows but no bytes, next to others with both.

Examples: JDBC, data sources written in Python, table formats with their own file access.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.notices import Notice
from engine.runs.stage_labels import numbered_label
from engine.stage_run import StageRun, total_of
from engine.units import format_bytes


def uncounted_notice(stages: Sequence[StageRun], read: float | None) -> Notice | None:
    """The notice that the input size of a run covers only its other sources.

    Args:
        read: input bytes of the run; if None or 0 nobody mistakes them for all of it.
    """
    uncounted = [
        stage
        for stage in stages
        if stage.input_records
        and not total_of(stage.input_bytes) + (stage.cached_input_bytes or 0.0)
        and not stage.generated  # the rows that a program makes are no input
    ]
    if not uncounted or not read:
        return None
    records = sum(stage.input_records or 0.0 for stage in uncounted)
    most = max(uncounted, key=lambda stage: stage.input_records or 0.0)
    more = f" and {len(uncounted) - 1} more" if len(uncounted) > 1 else ""
    return Notice(
        "input-not-counted",
        f"{numbered_label(most)}{more} read records ({records:,.0f}) of which Spark counts no "
        f"bytes: the input of {format_bytes(read)} is that of other sources alone, and may be "
        "what the run itself had written",
        "ask for another input by a factor, such as 3x",
    )
