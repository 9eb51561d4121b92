"""How the data that stages read of each other grows with the input.

What a stage reads grows as what the stages before hand on, which is in proportion to the input but
for rows that were grouped. Groups become more by Heaps' law (Heaps 1978), with a power of the data:
each task of a log is a part of the data, and how many groups it has beside those of all tasks tells
the power. Where all tasks have the same groups it is 0, as for sums of each day or shop; where each
has its own it is 1, as for sums of each order. Each task groups its own rows, so that more tasks of
the same rows, as a larger cluster cuts a small input, hand on more of them (`group_law.py`).
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from engine.forecast import FloatArray
from engine.lazy import Recent
from engine.models.stages.cutting.group_law import GroupLaw
from engine.models.stages.cutting.partitioned_stage import PartitionedStage
from engine.models.stages.cutting.partitions import Growth
from engine.models.stages.cutting.small_tables import SMALL_TABLE_POWER
from engine.stage_run import StageRun, total_of

ASKED_RATIOS = (0.5, 2.0)
"""Inputs that show whether a stage grows in proportion."""

LIMITS = frozenset(("WindowGroupLimit", "LocalLimit", "TakeOrderedAndProject"))
"""Operations that leave so many rows of each task at most, or of each group in it: more tasks leave
more, whatever rows there are of each."""

DIVIDED_POWER = 0.5
"""Prior: the power of rows with which groups become more that tasks tell nothing about, since no
two of them can have one in common: half way between none and as many more."""

LEFT = 0.5
"""Of the rows of its tasks: who leaves less has more than are left, and so has who gets more."""

TREES = frozenset(("treeAggregate", "treeReduce"))
"""How Spark calls the operations of RDDs that aggregate in several steps."""

ROUNDING = 1e-9
"""Of shares that together are all."""

OTHER_CORES = 16.0
"""So many times the log's cores show whether a stage reads more on them."""

KEPT = 256
"""Inputs and clusters for which growth is kept."""

KEPT_TABLES = 4
"""And inputs with a table of clusters, of which all stages ask the same."""


@dataclass(frozen=True, slots=True)
class Source:
    """A stage that another reads.

    Args:
        place: of it in the run.
        share: of all bytes that the other reads.
        stored: whether these are what it cached or wrote to files, and no shuffle.
    """

    place: int
    share: float
    stored: bool


@dataclass(frozen=True, eq=False)
class DataFlow:
    """The stages of a run, and how much more each reads of another input.

    Args:
        shapes: the stages as if all that they read grew in proportion.
        sources: of each the stages that it reads; what these leave of what it reads is from
            outside, or nobody knows from where.
        laws: of each how its groups grow with its rows, where it groups them before it hands them
            on; None elsewhere.
    """

    shapes: Sequence[PartitionedStage]
    sources: Sequence[Sequence[Source]]
    laws: Sequence[GroupLaw | None]
    _read: Recent[FloatArray] = field(default_factory=lambda: Recent(KEPT), repr=False)
    _tables: Recent[FloatArray] = field(default_factory=lambda: Recent(KEPT_TABLES), repr=False)

    @classmethod
    def of(cls, shapes: Sequence[PartitionedStage]) -> DataFlow | None:
        """None where no stage groups rows of which tasks have some in common, leaves so many of
        each task, or scans a small table: all is in proportion."""
        laws = [_law(shape.stage) for shape in shapes]
        bent = any(one.small_table or leaves_as_many(one.stage) for one in shapes)
        if not bent and all(law is None or law.power >= 1.0 for law in laws):
            return None
        places = {shape.stage.stage_id: place for place, shape in enumerate(shapes)}
        sources, made = list[list[Source]](), set[int]()
        for place, shape in enumerate(shapes):
            found = _sources(shape.stage, shapes, places, made)
            sources.append(found)
            of_made = all(one.place in made for one in found)
            whole = sum(one.share for one in found) > 1.0 - ROUNDING
            if shape.growth is Growth.NONE or (of_made and whole):
                made.add(place)
        return cls(shapes, sources, laws)

    def read_by(self, place: int, ratio: float, cores: FloatArray | None = None) -> FloatArray:
        """(n,) or () what a stage reads at `ratio` times the input on (n,) or () cores, None for
        the log's, relative to the log; () where it is the same on any."""
        return np.asarray(self._amounts(ratio, cores)[0, place])

    def shuffled_by(self, place: int, ratio: float, cores: FloatArray | None = None) -> FloatArray:
        """(n,) or () what it reads of shuffles alone, relative to the log."""
        return np.asarray(self._amounts(ratio, cores)[1, place])

    def bends(self, place: int) -> bool:
        """Whether what it reads is not in proportion to the input, or not the same on any
        cluster."""
        grows = self.shapes[place].growth is not Growth.NONE
        return grows and (
            any(self.read_by(place, ratio) != ratio for ratio in ASKED_RATIOS)
            or self.read_by(place, 1.0, self._others) != 1.0
        )

    @cached_property
    def _others(self) -> FloatArray:
        """() cores of another cluster."""
        most = max(shape.partitioning.own_cores for shape in self.shapes)
        return np.asarray(OTHER_CORES * most)

    @cached_property
    def _counts_cores(self) -> bool:
        """Whether the cluster decides how many tasks group rows of which they have some in common,
        or leave so many rows each."""
        return any(
            shape.counts_slots and (leaves_as_many(shape.stage) if law is None else law.power < 1.0)
            for law, shape in zip(self.laws, self.shapes, strict=True)
        )

    def _amounts(self, ratio: float, cores: FloatArray | None) -> FloatArray:
        """(2, s, n) or (2, s) what each stage reads, and what of shuffles."""
        there = cores if self._counts_cores else None
        kept = self._tables if there is not None and there.ndim else self._read
        key = None if there is None else there.tobytes()
        return kept.get((ratio, key), lambda: self._amounts_at(ratio, there))

    def _amounts_at(self, ratio: float, cores: FloatArray | None) -> FloatArray:
        """Stages in their order: what one reads was written before. Of each: what it reads, and of
        shuffles alone, its rows once groups are brought together, what it hands on, and that once
        brought together."""
        each = () if cores is None else cores.shape
        read, shuffled, rows, sent, merged = np.full((5, len(self.shapes), *each), float(ratio))
        for place, shape in enumerate(self.shapes):
            if shape.growth is Growth.NONE:
                read[place] = shuffled[place] = rows[place] = 1.0
            else:
                read[place] = self._of_sources(place, ratio, rows, sent)
                shuffled[place] = self._of_shuffles(place, ratio, sent)
                rows[place] = self._of_sources(place, ratio, rows, merged)
            limited = not LIMITS.isdisjoint(shape.stage.operations)
            sent[place] = merged[place] = (read if limited else rows)[place]
            law, as_many = self.laws[place], leaves_as_many(shape.stage)
            if law is None and not as_many:
                continue
            tasks = _more_tasks(shape, read[place], rows[place], cores)
            if as_many:
                sent[place] = tasks
            if law is not None:
                sent[place] = law.handed_on(rows[place], tasks)
                merged[place] = law.groups(rows[place])
        return np.stack((read, shuffled))

    def _of_sources(
        self, place: int, ratio: float, rows: FloatArray, sent: FloatArray
    ) -> FloatArray:
        """(n,) the mean over what a stage reads: (s, n) `rows` of those that stored them, what
        others have (s, n) `sent`, in proportion for the rest."""
        told = self.sources[place]
        outside = ratio**SMALL_TABLE_POWER if self.shapes[place].small_table else ratio
        found = np.asarray((1.0 - sum(one.share for one in told)) * outside)
        for one in told:
            found = found + one.share * (rows if one.stored else sent)[one.place]
        return found

    def _of_shuffles(self, place: int, ratio: float, sent: FloatArray) -> FloatArray:
        """(n,) the mean over the shuffles that a stage reads, in proportion where it reads none."""
        told = [one for one in self.sources[place] if not one.stored]
        every = sum(one.share for one in told)
        found = sum((one.share * sent[one.place] for one in told), np.zeros(()))
        return np.asarray(found / every if every else ratio)


def _more_tasks(
    shape: PartitionedStage, read: FloatArray, rows: FloatArray, cores: FloatArray | None
) -> FloatArray:
    """(n,) how many times as many tasks group (n,) so many times the rows on (n,) cores: on any
    number of these none has fewer with more data, or more with less."""
    there, as_in_log = (_tasks(shape, more, cores) for more in (read, np.ones_like(read)))
    least, most = as_in_log * np.minimum(1.0, rows), as_in_log * np.maximum(1.0, rows)
    return np.asarray(np.minimum(np.maximum(there, least), most) / shape.stage.tasks)


def _tasks(shape: PartitionedStage, read: FloatArray, cores: FloatArray | None) -> FloatArray:
    """(n,) tasks of a stage that reads (n,) so many times as much on (n,) cores."""
    if cores is None or not cores.ndim:
        there = None if cores is None else float(cores)
        return np.asarray(shape.partition_count(float(read), None).at(there))
    found = np.empty(cores.shape)
    for more in np.unique(read):
        at = read == more
        found[at] = shape.partition_count(float(more), None).on(cores[at])
    return found


def _law(stage: StageRun) -> GroupLaw | None:
    """How the groups of a stage grow; None where it hands on none."""
    power = group_power(stage)
    if math.isnan(power):
        return None
    if are_divided_by_key(stage):
        return GroupLaw(stage.tasks, DIVIDED_POWER, apart=True)
    return GroupLaw.of(stage, power)


def are_divided_by_key(stage: StageRun) -> bool:
    """Whether rows were brought together by what a stage groups by when the run wrote them to
    files: its tasks have groups of several rows each, and none in common."""
    handed_on, rows = stage.grouped_rows or 0.0, stage.ungrouped_rows or 0.0
    return stage.files_by is not None and stage.groups == handed_on and 0.0 < handed_on < rows


def group_power(stage: StageRun) -> float:
    """The power of its rows with which the groups of a stage grow: from one of its tasks to all of
    them they become more by it. NaN where it hands on no groups, or has one task alone. Tasks that
    aggregate in a tree hand on one aggregate each, whatever rows they have."""
    if aggregates_in_a_tree(stage) and stage.shuffle_write_bytes is not None:
        return 0.0
    if not stage.grouped_rows or not stage.groups or stage.tasks < 2:
        return math.nan
    times = stage.groups * stage.tasks / stage.grouped_rows
    return min(1.0, math.log(times) / math.log(stage.tasks)) if times > 1.0 else 0.0


def leaves_as_many(stage: StageRun) -> bool:
    """Whether each of its tasks leaves so many of the rows that it reads from outside, however many
    these are. What reads a shuffle ends what tasks before it left."""
    read, left = stage.input_records or 0.0, stage.shuffle_write_records
    limited = not LIMITS.isdisjoint(stage.operations) and not total_of(stage.shuffle_read_bytes)
    return limited and left is not None and left < LEFT * read


def aggregates_in_a_tree(stage: StageRun) -> bool:
    """Whether each of its tasks makes one aggregate of all its rows, or of aggregates of others."""
    return not TREES.isdisjoint(stage.operations)


def _sources(
    stage: StageRun,
    shapes: Sequence[PartitionedStage],
    places: Mapping[int, int],
    made: Container[int],
) -> list[Source]:
    """The stages that one reads: of shuffles by what each wrote, of a cache or of files that one
    stored. Files of rows that the program itself made (`made` are the places of stages that have
    no others) are input of the run, which counts what it reads of them."""
    shuffled, every = total_of(stage.shuffle_read_bytes), stage.read_bytes
    stored = [places[one] for one in _makers(stage, places, made) if one in places]
    kept = 1.0 - shuffled / every if every > 0.0 else 1.0
    before = [places[one] for one in stage.parents if one in places] if shuffled > 0.0 else []
    wrote = {one: total_of(shapes[one].stage.shuffle_write_bytes) for one in before}
    all_wrote = sum(wrote.values())
    found = [
        Source(one, (1.0 - kept) * size / all_wrote, False)
        for one, size in wrote.items()
        if size > 0.0
    ]
    return [*found, *(Source(one, kept / len(stored), True) for one in stored)]


def _makers(stage: StageRun, places: Mapping[int, int], made: Container[int]) -> list[int]:
    """The stages that stored what one reads beside shuffles. Of a union or a product those of all
    inputs, which are taken to be alike; none where some inputs are files, whose share nobody
    knows. Rows that the program makes are not read."""
    if stage.stored_by is not None:
        return [stage.stored_by]
    writer = stage.files_by
    if writer is not None and writer in places and places[writer] not in made:
        return [writer]
    kept = [one.stored_by for one in stage.inputs if one.origin in ("files", "stored")]
    return [one for one in kept if one is not None] if None not in kept else []
