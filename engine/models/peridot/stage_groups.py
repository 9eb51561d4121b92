"""PERIDOT's stage groups: stages that were scheduled together, and their match between runs.

PERIDOT IV-A: a group is all stages scheduled at the same time, and an application is a sequence of
groups that stays the same on other data and other cores. What the paper leaves open is said at the
rules below (docs/models/peridot.md).

In: runs with their stages. Out: groups of stages, and the indices of those that match.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from engine.profile import Run
from engine.runs.stage_labels import stage_label
from engine.stage_run import StageRun

Signature = tuple[tuple[str, frozenset[str]], ...]

_PLAN_DETAILS = ("WholeStageCodegen", "AQEShuffleRead")
"""Operations that Spark adds or numbers depending on the size of the data: not part of a
signature."""


@dataclass(frozen=True, slots=True)
class StageGroup:
    """Stages that were scheduled at the same time; times are seconds since the run's start.

    Args:
        stages: in the order of their submission.
        start_seconds: when the first of them was scheduled, or the groups before had ended.
        end_seconds: when the last task of all groups up to this one had ended.
    """

    stages: tuple[StageRun, ...]
    start_seconds: float
    end_seconds: float

    @property
    def seconds(self) -> float:
        """S_i of IV-A; time shared with an earlier group counts there, so that no second counts
        twice and the groups of a run never take longer than the run."""
        return self.end_seconds - self.start_seconds

    @property
    def partitions(self) -> int:
        """P_i: tasks of all stages, each counted as often as it takes slots (`spark.task.cpus`)."""
        return sum(stage.tasks * stage.task_cpus for stage in self.stages)

    @property
    def name(self) -> str:
        """The label of its largest stage, and the number of stages in parallel to it."""
        largest = max(self.stages, key=lambda stage: stage.task_seconds.total)
        beside = len(self.stages) - 1
        label = stage_label(largest)
        return f"{label} (+{beside} in parallel)" if beside else label

    @property
    def names(self) -> tuple[str, ...]:
        """The names of its stages, sorted."""
        return tuple(sorted(stage.name for stage in self.stages))

    @property
    def signature(self) -> Signature:
        """The names and operations of its stages, in any order: what the group computes."""
        entries = [(stage.name, _plan_operations(stage.operations)) for stage in self.stages]
        return tuple(sorted(entries, key=lambda entry: (entry[0], sorted(entry[1]))))


def _plan_operations(operations: Sequence[str]) -> frozenset[str]:
    return frozenset(name for name in operations if not name.startswith(_PLAN_DETAILS))


def stage_groups(run: Run) -> tuple[StageGroup, ...]:
    """The stages of a run in groups, by scheduling time.

    Stages were scheduled "at the same time" (IV-A) when none of them had ended before the last was
    submitted: between two ends of stages the scheduler learns nothing that would let it schedule
    more. Clock times need no tolerance that way, which a query that submits its stages one by one
    would defeat.
    """
    ordered = sorted(run.stages, key=lambda stage: (stage.submitted_seconds, stage.stage_id))
    concurrent: list[list[StageRun]] = []
    first_end = 0.0
    for stage in ordered:
        if concurrent and stage.submitted_seconds < first_end:
            concurrent[-1].append(stage)
            first_end = min(first_end, stage.completed_seconds)
        else:
            concurrent.append([stage])
            first_end = stage.completed_seconds
    groups: list[StageGroup] = []
    end = 0.0
    for stages in concurrent:
        start = max(end, stages[0].submitted_seconds)
        end = max(start, *(stage.completed_seconds for stage in stages))
        groups.append(StageGroup(tuple(stages), start, end))
    return tuple(groups)


def matched_groups(runs: Sequence[Sequence[StageGroup]]) -> list[tuple[int, ...]]:
    """Indices of the groups that all runs have, in order: one tuple per group, one index per run.

    Groups match when their stages have the same names and operations. Where between two matches
    every run has the same number of groups left, they also match by names alone (an adaptive plan
    may do the same work by other operations). Everything else is left out, not guessed.
    """
    first, *others = runs
    alignments = [_aligned(first, other) for other in others]
    common = set(range(len(first))).intersection(*alignments)
    return [(index, *(pairs[index] for pairs in alignments)) for index in sorted(common)]


def _aligned(one: Sequence[StageGroup], other: Sequence[StageGroup]) -> dict[int, int]:
    """Index in `one` -> index in `other` of the groups that match."""
    signatures = [group.signature for group in one], [group.signature for group in other]
    pairs: dict[int, int] = {}
    steps = SequenceMatcher(None, *signatures, autojunk=False).get_opcodes()
    for _, start, end, other_start, other_end in steps:
        names = [group.names for group in one[start:end]]
        other_names = [group.names for group in other[other_start:other_end]]
        if names == other_names:  # as of all that the matcher calls equal
            pairs |= zip(range(start, end), range(other_start, other_end), strict=True)
    return pairs
