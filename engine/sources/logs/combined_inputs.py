"""Which inputs a stage puts beside each other or pairs, by its RDDs, and where their rows are from.

A union has the partitions of all of its inputs, a product one for each pair of theirs
(`crossJoin`, `cartesian`). How many each has elsewhere hangs on what it is.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from engine.sources.logs.events import RddInfo
from engine.stage_run import Origin

GENERATED = "ParallelCollectionRDD"
"""What Spark calls rows that the program made itself: ranges, collections."""

NO_INPUT = frozenset({GENERATED, "EmptyRDD"})
"""Sources that read nothing from outside."""

CHECKPOINTS = frozenset({"ReliableCheckpointRDD", "LocalCheckpointRDD"})
"""What Spark puts in place of all that an RDD was computed from once it was checkpointed."""

SHUFFLED = "ShuffledRowRDD"
SHUFFLED_RDD = "ShuffledRDD"
"""What Spark calls what reads a shuffle of SQL, and of RDDs."""

UNIONS = frozenset({"UnionRDD", "PartitionerAwareUnionRDD"})
PRODUCTS = frozenset({"CartesianRDD", "UnsafeCartesianRDD"})
"""What Spark calls what puts the partitions of several RDDs beside each other, and what pairs each
partition of one with each of another, by RDDs and by SQL."""


@dataclass(frozen=True, slots=True)
class Combined:
    """One of the inputs of a union or of a product.

    Args:
        partitions: how many it has.
        origin: where its rows are from.
        rdd_id: the persisted RDD that it reads, where that was computed before.
        of_rdds: whether it is a shuffle of RDDs.
    """

    partitions: int
    origin: Origin
    rdd_id: int | None = None
    of_rdds: bool = False


@dataclass(frozen=True, slots=True)
class CombinedInputs:
    """All of them, in the order of the program; `paired` where they are those of a product."""

    paired: bool
    inputs: tuple[Combined, ...]

    @property
    def partitions(self) -> tuple[int, ...]:
        """Of each."""
        return tuple(one.partitions for one in self.inputs)

    @property
    def mixed(self) -> bool:
        """Whether they are told one by one: those of a product are, and those of a union unless all
        are shuffled by SQL or are files, which are taken to be alike, or all made by the program.
        A few files in other numbers of partitions are not alike.
        """
        origins, of_rdds = {one.origin for one in self.inputs}, any(i.of_rdds for i in self.inputs)
        few = len(self.inputs) <= WRITTEN_OUT and origins == {"files"}
        unlike = few and len(set(self.partitions)) > 1
        return self.paired or of_rdds or unlike or "stored" in origins or len(origins) > 1


def combined_in(rdds: Sequence[RddInfo], computed: Container[int]) -> CombinedInputs | None:
    """The inputs of the union or the product whose partitions are those of a stage; None where it
    has none, or where the log does not tell what some of them are.

    Args:
        computed: the persisted RDDs that an earlier stage has computed.
    """
    by_id = {rdd.rdd_id: rdd for rdd in rdds}
    top = _through(rdds[0], by_id, computed) if rdds else None
    if top is None or top.name not in UNIONS | PRODUCTS:
        return None
    paired = top.name in PRODUCTS
    ends = _ends(top, by_id, computed, unions=not paired)
    found = tuple(_combined(end, by_id, computed, alone=not paired) for end in ends or ())
    numbers = [one.partitions for one in found if one is not None]
    together = math.prod(numbers) if paired else sum(numbers)
    if len(numbers) < max(2, len(found)) or together != top.partitions or min(numbers) < 1:
        return None  # Spark leaves empty inputs out of a union
    return CombinedInputs(paired, tuple(one for one in found if one is not None))


def _through(
    rdd: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int]
) -> RddInfo | None:
    """The RDD at the other end of those that hand on each partition of one other: that combines
    several, reads a source or a shuffle, or was computed before. None where the number of
    partitions changes between, or where a damaged log has one come from itself."""
    visited = set[int]()
    while rdd.rdd_id not in computed and len(rdd.parents) == 1 and rdd.name not in UNIONS:
        visited.add(rdd.rdd_id)
        above = by_id.get(rdd.parents[0])
        if above is None:
            return rdd
        if above.partitions != rdd.partitions or above.rdd_id in visited:
            return None
        rdd = above
    return rdd


def _ends(
    top: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int], *, unions: bool
) -> list[RddInfo] | None:
    """What the inputs of a union or a product begin with, those of unions within a union too; None
    where that is not told."""
    found, waiting, put_together = list[RddInfo](), [top], 0
    while waiting:
        rdd = waiting.pop()
        if rdd is not top and not (unions and rdd.name in UNIONS):
            found.append(rdd)
            continue
        put_together += 1
        if put_together > MOST_INPUTS:  # in a damaged log a union may be one of its own inputs
            return None
        above = [by_id[parent] for parent in rdd.parents if parent in by_id]
        ends = [_through(one, by_id, computed) for one in above]
        if len(above) < len(rdd.parents) or len(found) + len(ends) > MOST_INPUTS:
            return None
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return None
        waiting.extend(reversed(known))
    return found


def _combined(
    end: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int], *, alone: bool
) -> Combined | None:
    """An input that begins with an RDD; None where that puts others together which are not all
    files, or any where it is `alone`, as in a union. Nor is what a product reads of shuffles of
    RDDs told."""
    if end.rdd_id in computed:
        return Combined(end.partitions, "stored", end.rdd_id)
    if end.name == GENERATED:
        return Combined(end.partitions, "made")
    if end.name == SHUFFLED:
        return Combined(end.partitions, "shuffled")
    if alone and end.name == SHUFFLED_RDD:
        return Combined(end.partitions, "shuffled", of_rdds=True)
    outside = not (alone and end.parents) and _all_outside(end, by_id, computed)
    return Combined(end.partitions, "files") if outside else None


def _all_outside(rdd: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int]) -> bool:
    """Whether all that an RDD is computed from is read from outside."""
    waiting, visited = [rdd.rdd_id], set[int]()
    while waiting:
        one = by_id.get(waiting.pop())
        if one is None or one.rdd_id in computed:
            return False
        if one.rdd_id in visited:
            continue
        visited.add(one.rdd_id)
        if not one.parents and one.name in NO_INPUT | CHECKPOINTS:
            return False
        waiting.extend(one.parents)
    return True


WRITTEN_OUT = 3
"""Of no more files than this somebody writes out the union; of more a loop does, which unites the
files of a folder."""

MOST_INPUTS = 64
"""A program that unites more does so in a loop, of which more data makes more."""
