"""The memory that tasks take for themselves which read cached blocks: it is gone for the blocks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.forecast import FloatArray
from engine.models.replay.memory.spilling import growing_bytes
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageShape


@dataclass(frozen=True, eq=False)
class ReadingTasks:
    """The tasks that sort, join or aggregate what they read of a cache, of the stage that takes
    most memory for that.

    Args:
        peak_bytes: execution memory for each core that they held in the log, on average.
        growing_bytes: how much of that grows with the data of a task.
    """

    shape: StageShape
    peak_bytes: float
    growing_bytes: float

    @classmethod
    def of(cls, replay: Replay, readers: Iterable[int]) -> ReadingTasks | None:
        """None where no reader takes any, as far as the log tells.

        Args:
            readers: places of the stages that read cached blocks.
        """
        found = []
        for shape in map(replay.shapes.__getitem__, readers):
            stage, peak = shape.stage, shape.stage.peak_execution_memory_bytes
            if peak is not None and peak.mean:
                cpus = stage.task_cpus
                found.append(cls(shape, peak.mean / cpus, growing_bytes(stage) / cpus))
        return max(found, key=lambda one: one.peak_bytes, default=None)

    def core_bytes(
        self, ratio: float, shuffle_partitions: int | None, slots: FloatArray
    ) -> FloatArray:
        """(n,) what they hold for each core at `ratio` times the input on (n,) numbers of slots."""
        _, data = self.shape.data_on(ratio, shuffle_partitions, slots)
        return self.peak_bytes + self.growing_bytes * (data - 1.0)
