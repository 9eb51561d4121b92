"""Into how many partitions an observed stage is cut: for another input, on another cluster.

A rule of Spark's says so where the log's own number follows one; else the stages that it follows,
what other logs tell, or what its partitions come from (`Growth`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.cutting.combined_inputs import combined_count
from engine.models.stages.cutting.input_splits import InputSplits
from engine.models.stages.cutting.merged_partitions import MERGED_BEYOND, MergedPartitions
from engine.models.stages.cutting.partitions import (
    LARGEST_TASKS,
    SMALLEST_STAGE,
    WHOLE,
    AtGrowth,
    ByInput,
    Growth,
    PartitionCount,
    Partitioning,
    Scaled,
    whole_tasks,
)
from engine.models.stages.cutting.small_tables import SmallTableSplits
from engine.models.stages.cutting.unplanned_scans import UnplannedFiles
from engine.models.stages.cutting.written_files import written_count
from engine.models.stages.paired_inputs import grown_pairs
from engine.models.stages.set_up import share_of_reading
from engine.models.stages.stage_law import PRIOR_LAW, StageLaw
from engine.stage_run import StageRun, total_of


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionedStage:
    """The partitions of one observed stage.

    Args:
        shuffle_partitions: configured number of them.
        partitioning: Spark's rules for how many partitions there are.
        law: what other logs tell of it.
        follows: the stage whose number of partitions this one has: of the input that its shuffle
            takes over, or of what it reads of a cache or a checkpoint.
        part_of: of one that runs the first partitions alone (`take`), the stage that has all.
        counted_by: what says how many partitions the inputs have which it unites or pairs, one for
            each: the stage that stored it, or what it reads of a shuffle as a stage of its own;
            None for files and rows of the program, and where nobody knows.
        pairs_share: how much of its work goes to pairs, where it pairs two inputs.
        pairs_power: the power of the input with which these grow.
        unplanned: the files that it scans, as far as they are inferred: no plan tells of them.
        written_by: the stage that wrote the files which it scans.
        small_table: whether it scans a small table in one file beside larger ones in several.
        growing: what says how much more it reads at so many times the input on (n,) cores (None for
            the log's), where rows were grouped on the way (`data_flow.py`).
    """

    stage: StageRun
    growth: Growth
    shuffle_partitions: int
    partitioning: Partitioning
    law: StageLaw = PRIOR_LAW
    follows: PartitionedStage | None = None
    part_of: PartitionedStage | None = None
    counted_by: tuple[PartitionedStage | None, ...] = ()
    pairs_share: float = 0.0
    pairs_power: float = 2.0
    unplanned: UnplannedFiles | None = None
    written_by: PartitionedStage | None = None
    small_table: bool = False
    growing: Callable[[float, FloatArray | None], FloatArray] | None = None

    def scaled(
        self, ratio: float, shuffle_partitions: int | None, slots: int | None = None
    ) -> Scaled:
        """The stage at `ratio` times the input, with another number of shuffle partitions or None,
        on so many slots (None for the run's own).

        Work is conserved: partitions x work grows as its law says, whatever their number. The last
        partition may be a partial one, so that a little more input is a little more time.
        """
        cores = None if slots is None else slots * self.partitioning.cores_per_slot
        return self.cut(ratio, self.partition_count(ratio, shuffle_partitions).at(cores), cores)

    def cut(self, ratio: float, wanted: float, cores: float | None = None) -> Scaled:
        """The stage at `ratio` times the input in so many partitions, on so many cores."""
        partitions = max(min(wanted, LARGEST_TASKS), SMALLEST_STAGE)
        tasks = max(1, math.ceil(partitions - WHOLE))
        last = partitions - tasks + 1.0
        cut = partitions / self.stage.tasks
        total = self.law.total(ratio, self.grown(ratio, cut, cores), tasks=cut)
        work = total * self.stage.tasks / partitions
        return Scaled(tasks, work, last if last < 1.0 - WHOLE else 1.0)

    def grown(self, ratio: float, cut: float, cores: float | None = None) -> float:
        """Its work at `ratio` times the input in `cut` times as many partitions, relative to the
        observed, unless other logs tell: pairs of two inputs multiply with either, and each
        partition of one is read again for each of the other's. What more tasks of a larger cluster
        hand on is read, and becomes as many rows as before."""
        if self.growth is Growth.NONE or not self.pairs:
            here, there = self.read_growth(ratio), self.read_growth(ratio, cores)
            return here + (there - here) * self._reading
        return float(grown_pairs(ratio, cut, share=self.pairs_share, power=self.pairs_power))

    @cached_property
    def _reading(self) -> float:
        return share_of_reading(self.stage)

    def read_growth(self, ratio: float, cores: float | None = None) -> float:
        """What it reads at `ratio` times the input on so many cores, relative to the log's own."""
        return float(self.growth_on(ratio, None if cores is None else np.asarray(float(cores))))

    def growth_on(self, ratio: float, cores: FloatArray | None) -> FloatArray:
        """(n,) `read_growth`; () where it is the same on any cluster."""
        if self.growth is Growth.NONE:
            return np.ones(())
        read = np.asarray(ratio) if self.growing is None else self.growing(ratio, cores)
        if self.part_of is None:
            return read
        there = max(self.stage.tasks, self.part_of.partition_count(ratio, None).own)
        return read * self.part_of.stage.tasks / there

    @property
    def in_proportion(self) -> bool:
        """Whether that is in proportion to the input."""
        return self.growing is None and self.part_of is None

    @property
    def pairs(self) -> bool:
        """Whether it pairs two inputs of which more are more."""
        return bool(self.stage.paired) and self.growth is Growth.TASKS

    @property
    def _combines(self) -> bool:
        """Whether its partitions are those of several inputs, each of which has rules of its own:
        pairs of them, or all beside each other."""
        return self.pairs or (bool(self.stage.inputs) and self.growth is Growth.TASKS)

    def _combined(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """The partitions of those inputs together."""
        none = (None,) * len(self.stage.paired or self.stage.united)
        known = [
            None if one is None else one.partition_count(ratio, shuffle_partitions)
            for one in self.counted_by or none
        ]
        return combined_count(self.stage, self.partitioning, ratio, known)

    def data(self, ratio: float, cores: float | None = None) -> float:
        """Bytes that it reads at `ratio` times the input, relative to the observed, as other logs
        tell or as `read_growth`."""
        power, read = self.law.data, self.read_growth(ratio, cores)
        return read if power is None else math.pow(ratio, power) * read / self.read_growth(ratio)

    def data_on(
        self, ratio: float, shuffle_partitions: int | None, slots: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(n,) tasks of `scaled` on (n,) numbers of slots, and (n,) bytes of the largest of them
        relative to a task of the log: those of a whole partition, or of what there is of one."""
        cores = slots * self.partitioning.cores_per_slot
        tasks, partitions, _ = whole_tasks(
            self.partition_count(ratio, shuffle_partitions).on(cores)
        )
        data = self.data(ratio) * self.growth_on(ratio, cores) / self.read_growth(ratio)
        return tasks, data * self.stage.tasks / np.maximum(1.0, partitions)

    def at_once(
        self, slots: FloatArray | float, tasks: FloatArray | float | None = None
    ) -> FloatArray:
        """(n,) of (n,) tasks, None for the log's, that run at once; each may hold several slots."""
        lanes = np.maximum(1.0, slots // self.stage.task_cpus)
        return np.asarray(np.minimum(lanes, self.stage.tasks if tasks is None else tasks))

    @cached_property
    def counts_slots(self) -> bool:
        """Whether the number of partitions depends on the cluster."""
        first = self._first
        if first is not self:
            return first.counts_slots
        if self.growth is Growth.MERGED:
            rule = self._merging
            return self._merged_by_rule and rule.merged_for is None and rule.counts_slots
        if self._combines:
            return self._combined(1.0, None).counts_slots
        written = self._written_by
        return self._splits.count_slots or (written is not None and written.counts_slots)

    @cached_property
    def follows_cores(self) -> bool:
        """Whether it has a partition for each core however many there are: rows that the program
        made itself, and what has as many partitions as these."""
        first = self._first
        learnt = self.law.partitions is not None or first.law.partitions is not None
        return not learnt and first._splits.for_cores

    @property
    def by_chance(self) -> bool:
        """Whether a partition for each core may be a number that the program asked for: no log of
        another number of cores says that it is none."""
        return self.follows_cores and not self.law.by_cores

    @property
    def may_stay(self) -> bool:
        """Whether more data may come in as many splits, though they are taken to become more with
        it: no log of another input says that they do."""
        return self._splits_open and self._splits.may_stay

    @property
    def may_be_files(self) -> bool:
        """Whether more data may come in more splits, though it is taken to come in as many larger
        ones: no log of another input says that it does."""
        return self._splits_open and self._splits.may_be_files

    @property
    def _splits_open(self) -> bool:
        """Whether nothing but its own splits says how many more data has."""
        told = self.law.partitions is not None or self.law.cut is not None
        alone = self.growth is Growth.TASKS and not (self._combines or self._written_by)
        return alone and not told

    @property
    def early_cores(self) -> int | None:
        """How many cores its scan was cut for, where these may have been all that were there when
        the query was planned; None where the log's slots, or other logs, tell its splits."""
        if self.law.partitions is not None or self._combines or self.growth is not Growth.TASKS:
            return None
        return self._splits.early_cores

    @property
    def files_open(self) -> bool:
        """Whether the files that it scans may be smaller or larger: nothing tells their size, and
        no log of other cores or input how it is cut."""
        files = self.unplanned
        return files is not None and not files.is_known and self.law.partitions is None

    @property
    def pairs_open(self) -> bool:
        """Whether it pairs two inputs of which one may stay as it is, for all that logs tell."""
        return self.pairs and self.law.cut is None

    @property
    def _first(self) -> PartitionedStage:
        """The stage whose partitions it has, by way of those between: itself where it follows
        none."""
        first = self
        while first.follows is not None:
            first = first.follows
        return first

    def partition_count(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """Its partitions at `ratio` times the input, of another number of shuffle partitions."""
        told_by = self.told_by(shuffle_partitions)
        rule = told_by._own_rule(shuffle_partitions)
        if rule is None:
            return told_by._own_count(ratio, shuffle_partitions)
        own = float(rule.on_own(ratio))
        if not self.counts_slots:
            return PartitionCount(own)
        return PartitionCount(own, told_by.partitioning.own_cores, rule, ratio)

    def rule(self, shuffle_partitions: int | None) -> ByInput | None:
        """The rule of Spark's that says its partitions on any cluster, for any input; or None."""
        return self.told_by(shuffle_partitions)._own_rule(shuffle_partitions)

    def told_by(self, shuffle_partitions: int | None) -> PartitionedStage:
        """The stage that says how many partitions it has: itself, or the first of those it follows
        that does not follow another in this. Such chains are as long as a job has iterations."""
        stage, asked = self, bool(shuffle_partitions)
        while stage.follows is not None and not stage._counts_alone(shuffle_partitions):
            stage = stage._leaders.get(asked, stage.follows)
        self._leaders[asked] = stage
        return stage

    def _own_count(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """Its partitions where no rule of Spark's says them, and no stage that it follows."""
        n, learnt = float(self.stage.tasks), self.law.partitions
        read = self.read_growth(ratio)
        if self.growth is Growth.MERGED:
            if self._merged_by_rule:
                return self._merged_at(ratio, self._most(shuffle_partitions))
            grown = read if learnt is None else math.exp(learnt * math.log(ratio))
            return PartitionCount(min(n * grown, self._most(shuffle_partitions)))
        if shuffle_partitions and self._takes_partitions():
            return PartitionCount(float(shuffle_partitions))
        if learnt is None and self._splits.for_cores:
            return self._splits.one_each()
        if learnt is None and self._combines:
            return self._combined(ratio, shuffle_partitions)
        if learnt is not None:
            return self._splits.for_slots(n * math.exp(learnt * math.log(ratio)), ratio)
        if self._written_by is not None and self._splits.packed is not None:
            told = self._written_by.partition_count(ratio, shuffle_partitions)
            writer, packed = self._written_by.stage, self._splits.packed
            return written_count(packed, self.partitioning, ratio, writer, told, read)
        return self._splits.count(read) if self.growth is Growth.TASKS else PartitionCount(n)

    def _own_rule(self, shuffle_partitions: int | None) -> ByInput | None:
        """`rule` of a stage that follows none in this."""
        if self.growth is Growth.MERGED:
            in_proportion = self._merged_by_rule and self.growing is None
            return self._merged_from(self._most(shuffle_partitions)) if in_proportion else None
        alone = self._counts_alone(shuffle_partitions)
        if alone or self.growth is not Growth.TASKS or self._combines or self._written_by:
            return None
        packed = self._splits.packed
        return SmallTableSplits(packed) if packed and self.small_table else packed

    @property
    def _written_by(self) -> PartitionedStage | None:
        """The writer of its files, where their number follows it: the log tells how many that left,
        and the files make as many splits as there were."""
        writer = self.written_by
        known = writer is not None and writer.stage.written_files and self._splits.packed
        told = self.law.partitions is not None or self._combines or self.growth is not Growth.TASKS
        return writer if known and not told else None

    def _counts_alone(self, shuffle_partitions: int | None) -> bool:
        """Whether it has a number of partitions of its own, whatever stage it follows."""
        own = self.growth is Growth.MERGED or self.law.partitions is not None
        return own or (bool(shuffle_partitions) and self._takes_partitions())

    @cached_property
    def _leaders(self) -> dict[bool, PartitionedStage]:
        """What `told_by` said, without and with another number of shuffle partitions."""
        return {}

    def _most(self, shuffle_partitions: int | None) -> float:
        """Partitions before any are merged."""
        return float(max(shuffle_partitions or self.shuffle_partitions, 1))

    def _takes_partitions(self) -> bool:
        return self._shuffled_bytes > 0.0 and self.stage.tasks > 1 and not self.stage.coalesced

    @property
    def _shuffled_bytes(self) -> float:
        return total_of(self.stage.shuffle_read_bytes)

    @cached_property
    def _merging(self) -> Partitioning:
        """The rule that comes nearer to the observed partitions: for the cores, or by size alone,
        which is the default of some platforms and not always in their logs. Within one of what the
        former says nothing tells them apart: whole partitions are merged, and a last one of less
        than the least size goes with that before."""

        def off(rule: Partitioning) -> float:
            merged = min(rule.merged(self._shuffled_bytes, None), self.shuffle_partitions)
            within = abs(self.stage.tasks - merged) < 1.0
            return 0.0 if within else abs(math.log(self.stage.tasks / merged))

        return min((self.partitioning, replace(self.partitioning, merged_for=1)), key=off)

    @cached_property
    def _merged_by_rule(self) -> bool:
        """Whether there were about as many as the rule says: local reads, which have one for each
        task before them, and other engines have more."""
        merged = self._merging.merged(self._shuffled_bytes, None)
        return self.stage.tasks <= MERGED_BEYOND * merged + 1.0

    def _merged_from(self, most: float) -> MergedPartitions:
        """What says how many there are, where none are more than this before merging."""
        found = self._merged_rules.get(most)
        if found is None:
            rule = self._merging
            found = self._merged_rules[most] = MergedPartitions(
                most, self._shuffled_bytes, rule.smallest_bytes, rule.advisory_bytes,
                float(rule.merged_for or rule.cores(None)), float(self.stage.tasks),
                float(self.shuffle_partitions),
            )  # fmt: skip
        return found

    def _merged_at(self, ratio: float, most: float) -> PartitionCount:
        """As many as there are of what it reads at `ratio` times the input."""
        rule, growing = self._merged_from(most), partial(self.growth_on, ratio)
        own = float(rule.on_own(self.read_growth(ratio)))
        if not self.counts_slots:
            return PartitionCount(own)
        return PartitionCount(own, self.partitioning.own_cores, AtGrowth(rule, growing))

    @cached_property
    def _merged_rules(self) -> dict[float, MergedPartitions]:
        return {}

    @cached_property
    def _splits(self) -> InputSplits:
        stage = self.stage if self.unplanned is None else self.unplanned.read_by(self.stage)
        return InputSplits.of(stage, self.partitioning, in_splits=self.growth is Growth.TASKS)
