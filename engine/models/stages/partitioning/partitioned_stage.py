"""The number and size of an observed stage's partitions at another input and on another cluster.

The number comes from a rule of Spark's that the log's own number agrees with; else from the stages
whose partitions this one takes over, from other logs, or from the kind of partitions (`Growth`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from engine.forecast import FloatArray
from engine.models.stages.opened_files import OpenedFiles, opened_files
from engine.models.stages.paired_inputs import product_work_growth
from engine.models.stages.partitioning.coalesced_stage import CoalescedStage
from engine.models.stages.partitioning.combined_inputs import combined_count
from engine.models.stages.partitioning.indexed_rows import (
    all_but_last,
    counted_growth,
    leaves_out_last,
)
from engine.models.stages.partitioning.inferred_files import InferredFiles
from engine.models.stages.partitioning.input_splits import InputSplits
from engine.models.stages.partitioning.joined_partitions import joined_count
from engine.models.stages.partitioning.partitions import (
    LARGEST_TASKS,
    SMALLEST_STAGE,
    WHOLE,
    Growth,
    PartitionCount,
    PartitioningSettings,
    RuleByReadGrowth,
    ScaledStage,
    ScalingPartitionRule,
    whole_tasks,
)
from engine.models.stages.partitioning.small_tables import SmallTableSplits
from engine.models.stages.partitioning.stage_growth import follows_configured
from engine.models.stages.partitioning.written_files import written_count
from engine.models.stages.set_up import share_of_reading
from engine.models.stages.stage_law import PRIOR_LAW, StageLaw
from engine.stage_run import StageRun


@dataclass(frozen=True, eq=False, kw_only=True)
class PartitionedStage:
    """One observed stage, its growth with the input and its number of partitions.

    Args:
        growth: what of it grows with the input: the number of partitions or their size.
        shuffle_partitions: configured number of shuffle partitions.
        partitioning: settings of its query that decide how many partitions there are.
        law: its growth as fitted to several logs.
        follows: the stage whose number of partitions this one takes over: that of a shuffled input,
            or of the cache or checkpoint that it reads.
        part_of: for a stage that runs only the first partitions (`take`), the stage that runs all.
        input_stages: for a union or product, the stage that determines the number of partitions of
            each input: the one that stored it, or for a shuffle the read as a stage of its own;
            None for files, rows of the program, and if unknown. For a join, RDDs of unlike numbers,
            of which the first `keyed_inputs` have a partitioner.
        pairs_share: for a product of two inputs, the share of its work that goes to pairs of rows.
        pairs_power: power of the input with which the number of pairs grows.
        unplanned: inferred files of its scan, if no query plan describes them.
        written_by: the stage that wrote the files that it scans.
        small_table: whether it scans a small table in one file beside larger ones in several.
        small_inputs: for a product, the places of the inputs that are such a table.
        read_law: growth of what it reads, as a function of the input's growth and of (n,) cores
            (None for the log's); None if in proportion, without grouped rows (`data_flow.py`).
        files_follow_data: whether it is taken to open as many more files as it has more data.
    """

    stage: StageRun
    growth: Growth
    shuffle_partitions: int
    partitioning: PartitioningSettings
    law: StageLaw = PRIOR_LAW
    follows: PartitionedStage | None = None
    part_of: PartitionedStage | None = None
    input_stages: tuple[PartitionedStage | None, ...] = ()
    keyed_inputs: int = 0
    pairs_share: float = 0.0
    pairs_power: float = 2.0
    unplanned: InferredFiles | None = None
    written_by: PartitionedStage | None = None
    small_table: bool = False
    small_inputs: frozenset[int] = frozenset()
    read_law: Callable[[float, FloatArray | None], FloatArray] | None = None
    files_follow_data: bool = False

    def scaled(
        self, ratio: float, shuffle_partitions: int | None, slots: int | None = None
    ) -> ScaledStage:
        """The stage at `ratio` times the input on `slots` (None for the run's own), with another
        configured number of shuffle partitions (None for the run's).

        Work is conserved: partitions x work grows by the law of the stage, whatever their number.
        The last partition may be partial, so that a little more input takes a little more time.
        """
        cores = None if slots is None else slots * self.partitioning.cores_per_slot
        wanted = self.partition_count(ratio, shuffle_partitions).at(cores)
        return self.in_partitions(ratio, wanted, cores)

    def in_partitions(self, ratio: float, wanted: float, cores: float | None = None) -> ScaledStage:
        """The stage at `ratio` times the input in `wanted` partitions on a number of cores."""
        partitions = max(min(wanted, LARGEST_TASKS), SMALLEST_STAGE)
        tasks = max(1, math.ceil(partitions - WHOLE))
        last, growth = partitions - tasks + 1.0, partitions / self.stage.tasks
        prior = self.prior_work_growth(ratio, growth, cores)
        work = self.law.work_growth(ratio, prior, tasks=growth) * self.stage.tasks / partitions
        return ScaledStage(tasks, work, last if last < 1.0 - WHOLE else 1.0)

    def prior_work_growth(self, ratio: float, tasks: float, cores: float | None = None) -> float:
        """Prior growth of its work at `ratio` times the input in `tasks` times as many partitions.

        The pairs of a product multiply with either input, and each partition of one input is read
        again for each partition of the other. If a larger cluster makes more tasks that write more
        partial groups, reading these grows, but the rows they merge into do not.
        """
        if self.growth is Growth.NONE or not self.pairs:
            in_log, here = self.read_growth(ratio), self.read_growth(ratio, cores)
            data = in_log + (here - in_log) * self._reading_share
            if leaves_out_last(self.stage):
                data *= counted_growth(self.stage, self.partition_count(ratio, None).at(cores))
            return self._with_opened_files(data, ratio, cores)
        share, power = self.pairs_share, self.pairs_power
        return float(product_work_growth(ratio, tasks, share=share, power=power))

    def _with_opened_files(self, data: float, ratio: float, cores: float | None) -> float:
        """Growth of its work if that on data grows by `data`, and the rest is opening files."""
        opened, writer = self.opened_files, self.written_by or self
        if opened is None:
            return data
        in_log, here = writer.partition_count(1.0, None).own, writer.partition_count(ratio, None)
        tasks, before = (max(1, math.ceil(n - WHOLE)) for n in (here.at(cores), in_log))
        files = opened.growth(ratio, tasks / before)
        return opened.share * files + (1.0 - opened.share) * data

    @cached_property
    def opened_files(self) -> OpenedFiles | None:
        """The files of folders that it opens: those that it reads, else those that it writes; None
        if their number follows its data."""
        writer = self.written_by or self
        keeps = self.growth is not Growth.NONE and not self.files_follow_data
        return opened_files(self.stage, writer.stage) if keeps else None

    @property
    def folders_uncertain(self) -> bool:
        """Whether the logs leave open that more data has more folders whose files it opens."""
        return self.opened_files is not None and self.law.task_power is None

    @cached_property
    def _reading_share(self) -> float:
        return share_of_reading(self.stage)

    def read_growth(self, ratio: float, cores: float | None = None) -> float:
        """Growth of what it reads, at `ratio` times the input on a number of cores (None for the
        log's), relative to the log."""
        return float(self.growth_on(ratio, None if cores is None else np.asarray(float(cores))))

    def growth_on(self, ratio: float, cores: FloatArray | None) -> FloatArray:
        """(n,) `read_growth` on (n,) cores; () if it is the same on any cluster."""
        if self.growth is Growth.NONE:
            return np.ones(())
        read = np.asarray(ratio) if self.read_law is None else self.read_law(ratio, cores)
        if self.part_of is None:
            return read
        there = max(self.stage.tasks, self.part_of.partition_count(ratio, None).own)
        return read * self.part_of.stage.tasks / there

    @property
    def in_proportion(self) -> bool:
        """Whether what it reads grows in proportion to the input."""
        in_part = self.part_of is not None or leaves_out_last(self.stage)
        return not in_part and self.read_law is None and self.opened_files is None

    @property
    def pairs(self) -> bool:
        """Whether it is a product of two inputs whose partitions grow with the input."""
        return bool(self.stage.paired) and self.growth is Growth.TASKS

    @property
    def _combines(self) -> bool:
        """Whether it is a union, product or join of inputs, each partitioned by its own rule."""
        joins = bool(self.input_stages) and not self.stage.inputs
        return joins or self.pairs or (bool(self.stage.inputs) and self.growth is Growth.TASKS)

    def _combined(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """The partitions of a union, product or join."""
        numbers = self.stage.paired or self.stage.united
        inputs = self.input_stages or (None,) * len(numbers)
        known = [one.partition_count(ratio, shuffle_partitions) if one else None for one in inputs]
        if not numbers:
            return joined_count(known, self.keyed_inputs, self.partitioning, ratio)
        return combined_count(self.stage, self.partitioning, ratio, known, self.small_inputs)

    def data_growth(self, ratio: float) -> float:
        """Growth of the bytes that it reads: as fitted to several logs, else `read_growth`."""
        power = self.law.data_power
        return self.read_growth(ratio) if power is None else math.pow(ratio, power)

    def largest_task_bytes(
        self, ratio: float, shuffle_partitions: int | None, slots: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(n,) tasks of `scaled` on (n,) numbers of slots, and (n,) bytes of the largest task
        relative to a task of the log: a whole partition, or a partial one if it is the only one."""
        cores = slots * self.partitioning.cores_per_slot
        count = self.partition_count(ratio, shuffle_partitions)
        tasks, partitions, _ = whole_tasks(count.on(cores))
        data = self.data_growth(ratio) * self.growth_on(ratio, cores) / self.read_growth(ratio)
        if leaves_out_last(self.stage) and self.law.data_power is None:
            data = data * counted_growth(self.stage, partitions)
        return tasks, data * self.stage.tasks / np.maximum(1.0, partitions)

    def concurrent_tasks(
        self, slots: FloatArray | float, tasks: FloatArray | float | None = None
    ) -> FloatArray:
        """(n,) how many of (n,) tasks (None for the log's) run at once on (n,) slots."""
        lanes = np.maximum(1.0, slots // self.stage.task_cpus)
        return np.asarray(np.minimum(lanes, self.stage.tasks if tasks is None else tasks))

    @cached_property
    def depends_on_cluster(self) -> bool:
        """Whether the number of partitions depends on the cluster."""
        if (first := self.root) is not self:
            return first.depends_on_cluster
        if self.growth is Growth.COALESCED:
            return self.coalescing.depends_on_cluster and self.coalescing.follows_rule
        if self._combines:
            return self._combined(1.0, None).depends_on_cluster
        written = self._written_by
        return self._splits.depends_on_cluster or bool(written and written.depends_on_cluster)

    @cached_property
    def follows_cores(self) -> bool:
        """Whether it has one partition per core on any cluster: rows that the program makes itself
        (`defaultParallelism`), and stages that take over their partitions."""
        if self.law.partition_power is not None:
            return False
        return self._splits.one_per_core if self.root is self else self.root.follows_cores

    @property
    def per_core_by_coincidence(self) -> bool:
        """Whether one partition per core may be a coincidence, the program having asked for that
        number: no log with another number of cores rules it out."""
        return self.follows_cores and not self.law.by_cores

    @property
    def may_keep_split_count(self) -> bool:
        """Whether the number of splits may stay with more data although it is taken to grow: no log
        of another input shows that it grows."""
        return self._splits_uncertain and self._splits.may_keep_split_count

    @property
    def may_be_whole_files(self) -> bool:
        """Whether splits may be whole files, which more data has more of, although their number is
        taken to stay: no log of another input shows it."""
        return self._splits_uncertain and self._splits.may_be_whole_files

    @property
    def _splits_uncertain(self) -> bool:
        """Whether the number of splits at another input rests on this log's splits alone."""
        unfitted = self._splits_one_input and self.law.task_power is None
        return unfitted and self._written_by is None

    @property
    def planning_cores(self) -> int | None:
        """The cores for which its scan was split, if these may have been all that had come when the
        query was planned; None if the log's slots or other logs explain its splits."""
        return self._splits.planning_cores if self._splits_one_input else None

    @property
    def _splits_one_input(self) -> bool:
        """Whether its partitions are the splits of one input, whose growth no other log shows."""
        fitted = self.law.partition_power is not None
        return not fitted and not self._combines and self.growth is Growth.TASKS

    @property
    def file_sizes_uncertain(self) -> bool:
        """Whether the size of the files that it scans is uncertain: it is inferred, and no log with
        other cores or input shows how the scan is split."""
        files = self.unplanned
        return files is not None and not files.is_known and self.law.partition_power is None

    @property
    def pairing_uncertain(self) -> bool:
        """Whether it is a product of which one input may not grow, as far as the logs show."""
        return self.pairs and self.law.task_power is None

    @property
    def root(self) -> PartitionedStage:
        """The stage at the root of the chain of `follows`; itself if it follows none."""
        first = self
        while first.follows is not None:
            first = first.follows
        return first

    def partition_count(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """Its partitions at `ratio` times the input, by the configured shuffle partitions."""
        source = self.partition_source(shuffle_partitions)
        rule = source._own_rule(shuffle_partitions)
        if rule is None:
            count = source._count_without_rule(ratio, shuffle_partitions)
        else:
            own, elsewhere = float(rule.on_log_cores(ratio)), self.depends_on_cluster and rule
            count = PartitionCount(own, source.partitioning.log_cores, elsewhere or None, ratio)
        return all_but_last(count) if leaves_out_last(self.stage) else count

    def rule(self, shuffle_partitions: int | None) -> ScalingPartitionRule | None:
        """The rule for its partitions on any cluster and at any input, if one applies."""
        source = self.partition_source(shuffle_partitions)
        return None if leaves_out_last(self.stage) else source._own_rule(shuffle_partitions)

    def partition_source(self, shuffle_partitions: int | None) -> PartitionedStage:
        """The stage that determines its number of partitions: itself, or the first on the chain of
        `follows` that has a number of its own. Such chains are as long as a job has iterations."""
        stage, reconfigured = self, bool(shuffle_partitions)
        while stage.follows is not None and not stage._has_own_count(shuffle_partitions):
            stage = stage._partition_sources.get(reconfigured, stage.follows)
        self._partition_sources[reconfigured] = stage
        return stage

    def _count_without_rule(self, ratio: float, shuffle_partitions: int | None) -> PartitionCount:
        """Its partitions if neither a rule of Spark's nor a followed stage determines them."""
        power, splits = self.law.partition_power, self._splits
        n, read = float(splits.tasks), self.read_growth(ratio)
        if self.growth is Growth.COALESCED:
            before = self._initial_partitions(shuffle_partitions)
            if self.coalescing.follows_rule:
                return self._coalesced_count(ratio, before)
            grown = read if power is None else math.exp(power * math.log(ratio))
            return PartitionCount(min(n * grown, before))
        if shuffle_partitions and follows_configured(self.stage, self.shuffle_partitions):
            return PartitionCount(float(shuffle_partitions))
        if power is not None:
            return splits.for_slots(n * math.exp(power * math.log(ratio)), ratio)
        if splits.one_per_core:
            return splits.per_core_count()
        if self._combines:
            return self._combined(ratio, shuffle_partitions)
        if (writer := self._written_by) is not None:
            count = writer.partition_count(ratio, shuffle_partitions)
            return written_count(splits, ratio, writer.stage, count, read)
        return splits.count_by_size(read) if self.growth is Growth.TASKS else PartitionCount(n)

    def _own_rule(self, shuffle_partitions: int | None) -> ScalingPartitionRule | None:
        """`rule` of a stage that determines its own number of partitions."""
        if self.growth is Growth.COALESCED:
            in_proportion = self.coalescing.follows_rule and self.read_law is None
            before = self._initial_partitions(shuffle_partitions)
            return self.coalescing.rule(before) if in_proportion else None
        alone = self._has_own_count(shuffle_partitions)
        if alone or self.growth is not Growth.TASKS or self._combines or self._written_by:
            return None
        packed = self._splits.packed
        return SmallTableSplits(packed) if packed and self.small_table else packed

    @property
    def _written_by(self) -> PartitionedStage | None:
        """The stage that wrote its files, if the number of splits follows from it: the log says how
        many files it wrote, and packing them, or reading each, gives the observed splits."""
        splits, writer = self._splits, self.written_by if self._splits_one_input else None
        explained = splits.packed is not None or splits.is_hadoop
        return writer if writer and writer.stage.written_files and explained else None

    def _has_own_count(self, shuffle_partitions: int | None) -> bool:
        """Whether it has a number of partitions of its own even if it follows another stage."""
        coalesced = self.growth is Growth.COALESCED and self.follows is None
        if coalesced or self.law.partition_power is not None:
            return True
        return bool(shuffle_partitions) and follows_configured(self.stage, self.shuffle_partitions)

    @cached_property
    def _partition_sources(self) -> dict[bool, PartitionedStage]:
        """Results of `partition_source`, without and with another number of shuffle partitions."""
        return {}

    def _initial_partitions(self, shuffle_partitions: int | None) -> float:
        """Shuffle partitions before adaptive execution coalesces any."""
        return float(max(shuffle_partitions or self.shuffle_partitions, 1))

    @cached_property
    def coalescing(self) -> CoalescedStage:
        """It as a stage whose partitions adaptive execution coalesced."""
        return CoalescedStage(self.stage, self.shuffle_partitions, self.partitioning)

    def _coalesced_count(self, ratio: float, most: float) -> PartitionCount:
        """Coalesced partitions of what it reads at `ratio` times the input."""
        rule, growing = self.coalescing.rule(most), partial(self.growth_on, ratio)
        own = float(rule.on_log_cores(self.read_growth(ratio)))
        elsewhere = RuleByReadGrowth(rule, growing) if self.depends_on_cluster else None
        return PartitionCount(own, self.partitioning.log_cores, elsewhere)

    @cached_property
    def _splits(self) -> InputSplits:
        stage = self.stage if self.unplanned is None else self.unplanned.read_by(self.stage)
        return InputSplits.of(stage, self.partitioning, reads_splits=self.growth is Growth.TASKS)
