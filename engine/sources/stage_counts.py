"""What each stage adds to the metrics of a plan, whose accumulators go on.

A sort takes samples of its rows before it shuffles them, for which Spark runs the part of the plan
below it once more: the second stage that counts its rows ends with those of both.
"""

from __future__ import annotations


class StageCounts:
    """Follows accumulators through the stages that add to them, in the order in which these end."""

    def __init__(self) -> None:
        self._before: dict[int, float] = {}
        self._last: dict[int, tuple[int, float]] = {}

    def added(self, accumulator: int, stage_id: int, number: float) -> float:
        """What a stage added, where it left an accumulator at `number`; another attempt of the same
        stage goes on with what the one before counted."""
        last = self._last.get(accumulator)
        if last is not None and last[0] != stage_id:
            self._before[accumulator] = last[1]
        self._last[accumulator] = stage_id, number
        return max(0.0, number - self._before.get(accumulator, 0.0))
