"""The stages of a log at one input: their tasks, and the closed forms of all at once.

In: a table of stages, an input and partitions. Out: their tasks and closed forms. Explained in
docs/models/sparkplan_rules_replay.md#many-stages-at-once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray, IntArray
from engine.models.stages.closed_forms import StageBatch
from engine.models.stages.durations.warm_up import Slowdown
from engine.models.stages.outlines import groups_by_size, outlines
from engine.models.stages.partitioning.partitions import ScaledStage
from engine.models.stages.stage_table import StageTable
from engine.scheduling.waves import ClosedForm, Tasks


@dataclass(frozen=True, eq=False)
class ScaledStages:
    """The stages of a log at one input.

    Args:
        scaled, tasks: number and size of partitions, and tasks, of each stage.
        batches: closed forms of groups of stages with similar numbers of tasks.
    """

    scaled: tuple[ScaledStage, ...]
    tasks: tuple[Tasks, ...]
    batches: tuple[StageBatch, ...]

    @classmethod
    def of(
        cls,
        table: StageTable,
        ratio: float,
        wanted: FloatArray,
        stages: IntArray | None = None,
        cores: float | None = None,
    ) -> ScaledStages:
        """The stages of a log, or some of them.

        Args:
            wanted: (m,) partitions at `ratio` times the input.
            stages: (m,) indices of the stages; None for all.
            cores: cores of the cluster; None for the log's.
        """
        stages = np.arange(len(table.models)) if stages is None else stages
        batch = table.in_partitions(stages, ratio, wanted, cores)
        scaled = batch.each()
        tasks: dict[int, Tasks] = {}
        batches = []
        for rows, members in groups_by_size(stages, batch):
            group = batch.take(rows)
            found = outlines(table, members, group)
            batches.append(StageBatch.of(table, members, group, found))
            columns = (rows.tolist(), members.tolist(), found.each())
            for row, index, (outlined, total) in zip(*columns, strict=True):
                tasks[row] = table.deferred_tasks_of(index, scaled[row], outlined, total)
        in_order = tuple(tasks[row] for row in range(len(scaled)))
        return cls(tuple(scaled), in_order, tuple(batches))

    def replaced(self, stages: Sequence[int], others: ScaledStages) -> ScaledStages:
        """A copy with the stages at some indices replaced; the closed forms stay those of
        before."""
        scaled, tasks = list(self.scaled), list(self.tasks)
        for index, stage, stage_tasks in zip(stages, others.scaled, others.tasks, strict=True):
            scaled[index], tasks[index] = stage, stage_tasks
        return ScaledStages(tuple(scaled), tuple(tasks), self.batches)

    @cached_property
    def in_log(self) -> FloatArray:
        """(2, s) `StageBatch.in_log` of all stages of the log."""
        values = np.ones((2, len(self.scaled)))
        for batch in self.batches:
            values[:, batch.stages] = batch.in_log
        return values

    def closed_forms(
        self,
        slots: int | None,
        speed: FloatArray,
        *,
        without: frozenset[int] = frozenset(),
        in_log: FloatArray | None = None,
    ) -> dict[int, tuple[Slowdown, ClosedForm]]:
        """Slowdown and closed form of stages on `slots`, by their index.

        Args:
            slots: None for those that each stage had in the log.
            speed: (s,) speed of all stages of the log.
            without: indices of stages that are not needed; a group is skipped if none of it is.
            in_log: (2, s) `in_log` of all stages, if they have other partitions on the log's slots.
        """
        result: dict[int, tuple[Slowdown, ClosedForm]] = {}
        for batch in self.batches:
            stages = batch.stages.tolist()
            if without.issuperset(stages):
                continue
            own = batch.in_log if in_log is None else in_log[:, batch.stages]
            on_slots = batch.ran_on if slots is None else slots
            contention, warm = batch.slowdowns(on_slots, own)
            forms = batch.closed_forms(on_slots, contention, speed[batch.stages] / warm)
            slowdowns = map(Slowdown, contention.tolist(), warm.tolist())
            result.update(zip(stages, zip(slowdowns, forms, strict=True), strict=True))
        return result
