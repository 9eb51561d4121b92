"""Growth of the data between the stages of a run: what each reads of others' output, by input.

What a stage reads grows as the output of the stages that it reads. That output is in proportion to
the input unless rows were grouped. The number of groups grows by Heaps' law (Heaps 1978), with a
power of the number of rows. Each task of a log is a sample of the rows: its number of groups
against that of all tasks gives the power. It is 0 if all tasks have the same groups, as for sums
per day or shop, and 1 if each has its own, as for sums per order. Each task first groups its own
rows (partial aggregation). So more tasks of the same rows write more of them, as when a larger
cluster splits a small input finer (`group_law.py`).

In: the stages of a run. Out: growth of what each reads, by input and cores. Explained in
docs/models/sparkplan_rules_replay.md#rows-that-are-grouped.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.caching import LruCache
from engine.forecast import FloatArray
from engine.models.stages.partitioning.group_law import GroupLaw
from engine.models.stages.partitioning.partitioned_stage import PartitionedStage
from engine.models.stages.partitioning.partitions import Growth
from engine.models.stages.partitioning.small_tables import SMALL_TABLE_POWER
from engine.stage_run import StageRun, total_of

PROBE_RATIOS = (0.5, 2.0)
"""Input ratios at which it is tested whether a stage grows in proportion."""

ROW_LIMITS = frozenset(("WindowGroupLimit", "LocalLimit", "TakeOrderedAndProject"))
"""Operations that keep a limited number of rows per task, or per group in a task: their output
grows with the number of tasks, not of rows."""

PARTITIONED_BY_KEY_POWER = 0.5
"""Prior of the power with which groups grow with rows, if the tasks cannot show it because rows are
partitioned by key and no two tasks have a group in common: half way between no growth and
proportion."""

LIMIT_REACHED_SHARE = 0.5
"""A task that keeps less than this share of its rows has reached its limit, and still does with
more rows."""

TREE_AGGREGATIONS = frozenset(("treeAggregate", "treeReduce"))
"""RDD operations that aggregate in several rounds."""

ROUNDING = 1e-9
"""Tolerance of shares that add up to 1."""

PROBE_CORES_FACTOR = 16.0
"""Factor on the log's cores at which it is tested whether what a stage reads depends on the
cluster."""

CACHED_GROWTHS = 256
"""Cache size: pairs of input and cluster for which growth is kept."""

CACHED_GROWTH_TABLES = 4
"""Cache size for inputs with an array of clusters, which is the same for all stages."""


@dataclass(frozen=True, slots=True)
class UpstreamStage:
    """An upstream stage whose output another stage reads.

    Args:
        index: index of the upstream stage in the run.
        share: share of all bytes that the reader reads.
        stored: whether the output was cached or written to files, and not shuffled.
    """

    index: int
    share: float
    stored: bool


@dataclass(frozen=True, eq=False)
class DataFlow:
    """Growth of what each stage of a run reads, as a function of the input and the cluster.

    Args:
        models: the stages, taken to read in proportion to the input.
        sources: for each stage the upstream stages that it reads; the rest of what it reads comes
            from outside, or from unknown sources.
        laws: for each stage the growth of its groups with its rows, if it groups rows before it
            writes them; else None.
    """

    models: Sequence[PartitionedStage]
    sources: Sequence[Sequence[UpstreamStage]]
    laws: Sequence[GroupLaw | None]
    _read: LruCache[FloatArray] = field(
        default_factory=lambda: LruCache(CACHED_GROWTHS), repr=False
    )
    _tables: LruCache[FloatArray] = field(
        default_factory=lambda: LruCache(CACHED_GROWTH_TABLES), repr=False
    )

    @classmethod
    def of(cls, models: Sequence[PartitionedStage]) -> DataFlow | None:
        """From the stages of a run; None if all reads are in proportion to the input: no stage has
        groups that several tasks share, keeps a limited number of rows per task, or scans a small
        table."""
        laws = [_group_law(model.stage) for model in models]
        special = any(
            _outside_power(one) < 1.0 or limits_rows_per_task(one.stage) for one in models
        )
        if not special and all(law is None or law.power >= 1.0 for law in laws):
            return None
        indices = {model.stage.stage_id: index for index, model in enumerate(models)}
        sources, made = list[list[UpstreamStage]](), set[int]()
        for index, model in enumerate(models):
            upstream = _sources(model.stage, models, indices, made)
            sources.append(upstream)
            of_made = all(one.index in made for one in upstream)
            whole = sum(one.share for one in upstream) > 1.0 - ROUNDING
            if model.growth is Growth.NONE or (of_made and whole):
                made.add(index)
        return cls(models, sources, laws)

    def read_growth(self, index: int, ratio: float, cores: FloatArray | None = None) -> FloatArray:
        """Growth of what a stage reads at `ratio` times the log's input, relative to the log: (n,)
        on (n,) `cores`; () on as many as in the log (None), or if it is the same on any cluster.
        """
        return np.asarray(self._growths(ratio, cores)[0, index])

    def shuffle_read_growth(
        self, index: int, ratio: float, cores: FloatArray | None = None
    ) -> FloatArray:
        """(n,) or () growth of what it reads from shuffles alone, as `read_growth`."""
        return np.asarray(self._growths(ratio, cores)[1, index])

    def is_out_of_proportion(self, index: int) -> bool:
        """Whether what a stage reads is not in proportion to the input, or depends on the
        cluster."""
        grows = self.models[index].growth is not Growth.NONE
        return grows and (
            any(self.read_growth(index, ratio) != ratio for ratio in PROBE_RATIOS)
            or self.read_growth(index, 1.0, self._probe_cores) != 1.0
        )

    @cached_property
    def _probe_cores(self) -> FloatArray:
        """() cores of the other cluster of `PROBE_CORES_FACTOR`."""
        most = max(model.partitioning.log_cores for model in self.models)
        return np.asarray(PROBE_CORES_FACTOR * most)

    @cached_property
    def _depends_on_cluster(self) -> bool:
        """Whether the number of tasks depends on the cluster for any stage whose tasks share groups
        or keep a limited number of rows each."""
        return any(
            model.depends_on_cluster
            and (limits_rows_per_task(model.stage) if law is None else law.power < 1.0)
            for law, model in zip(self.laws, self.models, strict=True)
        )

    def _growths(self, ratio: float, cores: FloatArray | None) -> FloatArray:
        """(2, s, n) or (2, s) growth of what each of s stages reads, and of what it reads from
        shuffles; cached."""
        there = cores if self._depends_on_cluster else None
        kept = self._tables if there is not None and there.ndim else self._read
        key = None if there is None else there.tobytes()
        return kept.get((ratio, key), lambda: self._compute_growths(ratio, there))

    def _compute_growths(self, ratio: float, cores: FloatArray | None) -> FloatArray:
        """As `_growths`, computed stage by stage in their order: what one reads was written before.

        Per stage: growth of what it reads, of what it reads from shuffles, of its rows after
        partial groups were merged, of its shuffle output (partial groups), and of that output once
        merged.
        """
        each = () if cores is None else cores.shape
        read, shuffled, rows, sent, merged = np.full((5, len(self.models), *each), float(ratio))
        for stage, model in enumerate(self.models):
            if model.growth is Growth.NONE:
                read[stage] = shuffled[stage] = rows[stage] = 1.0
            else:
                read[stage] = self._of_sources(stage, ratio, rows, sent)
                shuffled[stage] = self._of_shuffles(stage, ratio, sent)
                rows[stage] = self._of_sources(stage, ratio, rows, merged)
            limited = not ROW_LIMITS.isdisjoint(model.stage.operations)
            sent[stage] = merged[stage] = (read if limited else rows)[stage]
            law, per_task = self.laws[stage], limits_rows_per_task(model.stage)
            if law is None and not per_task:
                continue
            tasks = _task_growth(model, read[stage], rows[stage], cores)
            if per_task:
                sent[stage] = tasks
            if law is not None:
                sent[stage] = law.partial_groups(rows[stage], tasks)
                merged[stage] = law.groups(rows[stage])
        return np.stack((read, shuffled))

    def _of_sources(
        self, index: int, ratio: float, rows: FloatArray, sent: FloatArray
    ) -> FloatArray:
        """(n,) mean growth of a stage's sources by their share: (s, n) `rows` for stored ones,
        (s, n) `sent` for shuffles, in proportion to the input for the rest."""
        sources = self.sources[index]
        outside = ratio ** _outside_power(self.models[index])
        growth = np.asarray((1.0 - sum(one.share for one in sources)) * outside)
        for one in sources:
            growth = growth + one.share * (rows if one.stored else sent)[one.index]
        return growth

    def _of_shuffles(self, index: int, ratio: float, sent: FloatArray) -> FloatArray:
        """(n,) mean growth of the shuffles that a stage reads; in proportion if it reads none."""
        shuffles = [one for one in self.sources[index] if not one.stored]
        every = sum(one.share for one in shuffles)
        growth = sum((one.share * sent[one.index] for one in shuffles), np.zeros(()))
        return np.asarray(growth / every if every else ratio)


def _outside_power(model: PartitionedStage) -> float:
    """Power of the input with which the rows grow that a stage reads from outside: below 1 of a
    small table, and of all pairs of two."""
    if model.small_table:
        return SMALL_TABLE_POWER
    return min(1.0, model.pairs_power) if model.pairs else 1.0


def _task_growth(
    model: PartitionedStage, read: FloatArray, rows: FloatArray, cores: FloatArray | None
) -> FloatArray:
    """(n,) growth of the number of tasks on (n,) cores, relative to the log.

    On any number of cores it is limited to between no change and the growth of the (n,) `rows`, so
    that more data never has fewer tasks, nor less data more.
    """
    tasks, as_in_log = (_tasks(model, growth, cores) for growth in (read, np.ones_like(read)))
    least, most = as_in_log * np.minimum(1.0, rows), as_in_log * np.maximum(1.0, rows)
    return np.asarray(np.minimum(np.maximum(tasks, least), most) / model.stage.tasks)


def _tasks(model: PartitionedStage, read: FloatArray, cores: FloatArray | None) -> FloatArray:
    """(n,) tasks of a stage on (n,) cores when what it reads grows by the factors (n,) `read`."""
    if cores is None or not cores.ndim:
        one = None if cores is None else float(cores)
        return np.asarray(model.partition_count(float(read), None).at(one))
    tasks = np.empty(cores.shape)
    for growth in np.unique(read):
        at = read == growth
        tasks[at] = model.partition_count(float(growth), None).on(cores[at])
    return tasks


def _group_law(stage: StageRun) -> GroupLaw | None:
    """The growth of a stage's groups with its rows; None if it writes no groups."""
    power = group_power(stage)
    if math.isnan(power):
        return None
    if is_partitioned_by_key(stage):
        return GroupLaw(stage.tasks, PARTITIONED_BY_KEY_POWER, partitioned_by_key=True)
    return GroupLaw.of(stage, power)


def is_partitioned_by_key(stage: StageRun) -> bool:
    """Whether the files that a stage scans are partitioned by its grouping key because the run
    wrote them so: its tasks have groups of several rows, and none in common."""
    partial_groups, rows = stage.grouped_rows or 0.0, stage.ungrouped_rows or 0.0
    return (
        stage.files_by is not None
        and stage.groups == partial_groups
        and 0.0 < partial_groups < rows
    )


def group_power(stage: StageRun) -> float:
    """Exponent of Heaps' law for the groups of a stage: groups grow with rows to this power.

    It follows from the groups of one task and of all n: log(all / one) / log(n). NaN if the stage
    writes no groups or has only one task. Tree aggregations have 0: each task writes one aggregate,
    whatever its rows.
    """
    if aggregates_in_a_tree(stage) and stage.shuffle_write_bytes is not None:
        return 0.0
    if not stage.grouped_rows or not stage.groups or stage.tasks < 2:
        return math.nan
    times = stage.groups * stage.tasks / stage.grouped_rows
    return min(1.0, math.log(times) / math.log(stage.tasks)) if times > 1.0 else 0.0


def limits_rows_per_task(stage: StageRun) -> bool:
    """Whether each task of a stage keeps a fixed number of the rows that it reads from outside,
    however many these are. A limit in a stage that reads a shuffle only completes that of the
    tasks before it."""
    read, left = stage.input_records or 0.0, stage.shuffle_write_records
    limited = not ROW_LIMITS.isdisjoint(stage.operations) and not total_of(stage.shuffle_read_bytes)
    return limited and left is not None and left < LIMIT_REACHED_SHARE * read


def aggregates_in_a_tree(stage: StageRun) -> bool:
    """Whether each task of a stage makes one aggregate of its rows or of others' aggregates."""
    return not TREE_AGGREGATIONS.isdisjoint(stage.operations)


def _sources(
    stage: StageRun,
    models: Sequence[PartitionedStage],
    indices: Mapping[int, int],
    made: Container[int],
) -> list[UpstreamStage]:
    """The upstream stages of one stage: for shuffles in proportion to what each wrote, and those
    that stored its cache or files.

    Args:
        indices: index of each stage by its id.
        made: indices of the stages whose rows are all made by the program. Files of such rows are
            input of the run, which counts the bytes that it reads of them.
    """
    shuffled, every = total_of(stage.shuffle_read_bytes), stage.read_bytes
    stored = [indices[one] for one in _storing_stages(stage, indices, made) if one in indices]
    stored_share = 1.0 - shuffled / every if every > 0.0 else 1.0
    parents = [indices[one] for one in stage.parents if one in indices] if shuffled > 0.0 else []
    wrote = {one: total_of(models[one].stage.shuffle_write_bytes) for one in parents}
    all_wrote = sum(wrote.values())
    shuffles = [
        UpstreamStage(one, (1.0 - stored_share) * size / all_wrote, False)
        for one, size in wrote.items()
        if size > 0.0
    ]
    return [*shuffles, *(UpstreamStage(one, stored_share / len(stored), True) for one in stored)]


def _storing_stages(stage: StageRun, indices: Mapping[int, int], made: Container[int]) -> list[int]:
    """Ids of the stages that stored what one reads beside shuffles.

    For a union or product those of all inputs, which are taken to be of one size; none if some
    inputs are files, whose share is unknown. Rows that the program makes are not read.
    """
    if stage.stored_by is not None:
        return [stage.stored_by]
    writer = stage.files_by
    if writer is not None and writer in indices and indices[writer] not in made:
        return [writer]
    stored = [one.stored_by for one in stage.inputs if one.origin in ("files", "stored")]
    return [one for one in stored if one is not None] if None not in stored else []
