"""Execution memory of the tasks that read cached blocks: the blocks cannot use it meanwhile.

In: the replay of a log, and the stages that read its cache. Out: bytes per core. Explained in
docs/models/sparkplan_rules_memory.md#the-cache.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from engine.forecast import FloatArray
from engine.models.replay.memory.spilling import growing_bytes
from engine.models.replay.replayed_run import Replay
from engine.models.stages.durations.task_times import StageModel


@dataclass(frozen=True, eq=False)
class ReaderMemory:
    """Execution memory per core of the cache-reading stage that takes most of it: its tasks sort,
    join or aggregate what they read.

    Args:
        model: of that stage.
        peak_bytes: mean execution memory per held core in the log.
        growing_bytes: the part of it that grows with the data of a task.
    """

    model: StageModel
    peak_bytes: float
    growing_bytes: float

    @classmethod
    def of(cls, replay: Replay, readers: Iterable[int]) -> ReaderMemory | None:
        """None where the log reports no execution memory of any reader.

        Args:
            readers: indices of the stages that read cached blocks.
        """
        candidates = []
        for model in map(replay.models.__getitem__, readers):
            stage, peak = model.stage, model.stage.peak_execution_memory_bytes
            if peak is not None and peak.mean:
                cpus = stage.task_cpus
                candidates.append(cls(model, peak.mean / cpus, growing_bytes(stage) / cpus))
        return max(candidates, key=lambda one: one.peak_bytes, default=None)

    def bytes_per_core(
        self, ratio: float, shuffle_partitions: int | None, slots: FloatArray
    ) -> FloatArray:
        """(n,) execution memory per core at `ratio` times the input on (n,) numbers of slots."""
        _, data = self.model.largest_task_bytes(ratio, shuffle_partitions, slots)
        return self.peak_bytes + self.growing_bytes * (data - 1.0)
