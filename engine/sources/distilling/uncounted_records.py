"""Sources whose rows Spark counts and whose bytes it does not, beside others of which it counts
both: databases by JDBC, sources written in Python, table formats that reach files by themselves."""

from __future__ import annotations

from collections.abc import Sequence

from engine.notices import Notice
from engine.runs.stage_labels import numbered_label
from engine.stage_run import StageRun, total_of
from engine.units import format_bytes


def uncounted_notices(stages: Sequence[StageRun], read: float | None) -> list[Notice]:
    """That the input of a run is that of its other sources alone.

    Args:
        read: bytes of its input; where they are not known, or none, nobody takes them for all of
            it.
    """
    found = [stage for stage in stages if _is_uncounted(stage)]
    if not found or not read:
        return []
    most = max(found, key=lambda stage: stage.input_records or 0.0)
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return [
        Notice(
            "input-not-counted",
            f"{numbered_label(most)}{more} read records "
            f"({sum(stage.input_records or 0.0 for stage in found):,.0f}) of which Spark counts no "
            f"bytes: the input of {format_bytes(read)} is that of other sources alone, and may be "
            "what the run itself had written",
            "ask for another input by a factor, such as 3x",
        )
    ]


def _is_uncounted(stage: StageRun) -> bool:
    """Whether it read rows from outside and no bytes; rows of the program's own are no input."""
    known = total_of(stage.input_bytes) + (stage.cached_input_bytes or 0.0)
    return bool(stage.input_records) and not known and not stage.generated
