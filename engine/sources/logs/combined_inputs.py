"""The inputs of a stage that computes a union or Cartesian product, and the origin of their rows.

A union has the sum of its inputs' partitions, a Cartesian product (`crossJoin`, `cartesian`) one
partition per pair. How many partitions an input has on another cluster depends on its origin.

The inputs are found by a walk over the stage's RDDs along their dependencies (`connected_rdds`).
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.sources.logs.events import RddInfo
from engine.stage_run import Origin


def connected_rdds(
    start: Iterable[int],
    by_id: Mapping[int, RddInfo],
    onward: Callable[[RddInfo], Iterable[int]],
    *,
    nearest_first: bool = False,
) -> Iterator[RddInfo]:
    """Each RDD of a stage that is reached from `start`, once, `start` included.

    Ids that are not in `by_id`, RDDs of other stages or that the log lacks, are passed over; a
    cycle of a damaged log ends the walk.

    Args:
        start: ids of the RDDs at which it starts.
        by_id: the RDDs of the stage.
        onward: the ids to go on to from an RDD, such as its parents; none where the walk ends.
        nearest_first: breadth first; else depth first, the last of `onward` first.
    """
    pending, visited = deque(start), set[int]()
    while pending:
        rdd_id = pending.popleft() if nearest_first else pending.pop()
        rdd = by_id.get(rdd_id)
        if rdd is None or rdd_id in visited:
            continue
        visited.add(rdd_id)
        yield rdd
        pending.extend(onward(rdd))


GENERATED = "ParallelCollectionRDD"
"""RDD name of rows that the program generated itself: ranges, collections."""

NO_INPUT = frozenset({GENERATED, "EmptyRDD"})
"""Names of leaf RDDs that read no external data."""

CHECKPOINTS = frozenset({"ReliableCheckpointRDD", "LocalCheckpointRDD"})
"""Names of the RDDs that replace the lineage of a checkpointed RDD."""

SHUFFLED = "ShuffledRowRDD"
SHUFFLED_RDDS = frozenset({"ShuffledRDD", "CoGroupedRDD"})
"""Names of RDDs that read a shuffle: of SQL; of the RDD API, alone and in joins."""

UNIONS = frozenset({"UnionRDD", "PartitionerAwareUnionRDD"})
PRODUCTS = frozenset({"CartesianRDD", "UnsafeCartesianRDD"})
"""Names of RDDs that concatenate the partitions of several RDDs, and of those that pair each
partition of one with each of another (RDD API and SQL)."""


@dataclass(frozen=True, slots=True)
class CombinedInput:
    """One input of a union or of a Cartesian product.

    Args:
        partitions: its number of partitions.
        origin: where its rows are from.
        rdd_id: the persisted RDD that it reads, where an earlier stage computed that.
        of_rdds: whether it reads a shuffle of the RDD API.
    """

    partitions: int
    origin: Origin
    rdd_id: int | None = None
    of_rdds: bool = False


@dataclass(frozen=True, slots=True)
class CombinedInputs:
    """All inputs, in program order; `paired` for a Cartesian product, else a union."""

    paired: bool
    inputs: tuple[CombinedInput, ...]

    @property
    def partitions(self) -> tuple[int, ...]:
        """Number of partitions of each input."""
        return tuple(entry.partitions for entry in self.inputs)

    @property
    def itemised(self) -> bool:
        """Whether the inputs must be kept one by one rather than as partition counts alone.

        True for a product. A union whose inputs are all SQL shuffles, all files or all generated is
        treated as uniform, unless it has a few file inputs with different partition counts.
        """
        origins = {entry.origin for entry in self.inputs}
        of_rdds = any(i.of_rdds for i in self.inputs)
        few = len(self.inputs) <= MOST_WRITTEN_OUT and origins == {"files"}
        unlike = few and len(set(self.partitions)) > 1
        return self.paired or of_rdds or unlike or "stored" in origins or len(origins) > 1


def combined_in(rdds: Sequence[RddInfo], computed: Container[int]) -> CombinedInputs | None:
    """The inputs of the union or product whose partitions are the stage's partitions. None where
    the stage has neither, or where the origin of an input is unknown.

    Args:
        computed: the persisted RDDs that an earlier stage has computed.
    """
    by_id = {rdd.rdd_id: rdd for rdd in rdds}
    top = _upstream_end(rdds[0], by_id, computed) if rdds else None
    if top is None or top.name not in UNIONS | PRODUCTS:
        return None
    paired = top.name in PRODUCTS
    ends = _input_ends(top, by_id, computed, unions=not paired)
    inputs = tuple(
        _classified_input(end, by_id, computed, in_union=not paired) for end in ends or ()
    )
    partition_counts = [entry.partitions for entry in inputs if entry is not None]
    expected = math.prod(partition_counts) if paired else sum(partition_counts)
    if (
        len(partition_counts) < max(2, len(inputs))
        or expected != top.partitions
        or min(partition_counts) < 1
    ):
        return None  # Spark leaves empty inputs out of a union
    return CombinedInputs(paired, tuple(entry for entry in inputs if entry is not None))


def _upstream_end(
    rdd: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int]
) -> RddInfo | None:
    """The first RDD upstream that is not a one-to-one map of a single parent.

    That RDD combines several, reads a source or a shuffle, or was already computed. None where the
    number of partitions changes on the way, or where a damaged log has a cycle.
    """
    visited = set[int]()
    while rdd.rdd_id not in computed and len(rdd.parents) == 1 and rdd.name not in UNIONS:
        visited.add(rdd.rdd_id)
        parent = by_id.get(rdd.parents[0])
        if parent is None:
            return rdd
        if parent.partitions != rdd.partitions or parent.rdd_id in visited:
            return None
        rdd = parent
    return rdd


def _input_ends(
    top: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int], *, unions: bool
) -> list[RddInfo] | None:
    """The upstream end of each input of a union or product, nested unions flattened; None where the
    log does not show all of them."""
    inputs, pending, unions_met = list[RddInfo](), [top], 0
    while pending:
        rdd = pending.pop()
        if rdd is not top and not (unions and rdd.name in UNIONS):
            inputs.append(rdd)
            continue
        unions_met += 1
        if unions_met > MOST_INPUTS:  # in a damaged log a union may be one of its own inputs
            return None
        parents = [by_id[parent] for parent in rdd.parents if parent in by_id]
        ends = [_upstream_end(parent, by_id, computed) for parent in parents]
        if len(parents) < len(rdd.parents) or len(inputs) + len(ends) > MOST_INPUTS:
            return None
        known = [end for end in ends if end is not None]
        if len(known) < len(ends):
            return None
        pending.extend(reversed(known))
    return inputs


def _classified_input(
    end: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int], *, in_union: bool
) -> CombinedInput | None:
    """The input that starts at the RDD `end`, with its origin; None where that is not one origin.

    An end with parents counts as files only in a product, and only if all its leaves read external
    data. Shuffles of the RDD API are recognised only in unions (`in_union`).
    """
    if end.rdd_id in computed:
        return CombinedInput(end.partitions, "stored", end.rdd_id)
    if end.name == GENERATED:
        return CombinedInput(end.partitions, "made")
    if end.name == SHUFFLED:
        return CombinedInput(end.partitions, "shuffled")
    if in_union and end.name in SHUFFLED_RDDS:
        return CombinedInput(end.partitions, "shuffled", of_rdds=True)
    from_files = not (in_union and end.parents) and _all_outside(end, by_id, computed)
    return CombinedInput(end.partitions, "files") if from_files else None


def _all_outside(rdd: RddInfo, by_id: Mapping[int, RddInfo], computed: Container[int]) -> bool:
    """Whether all leaves of an RDD's lineage read external data."""
    return not any(
        ancestor.rdd_id in computed
        or any(parent not in by_id for parent in ancestor.parents)
        or (not ancestor.parents and ancestor.name in NO_INPUT | CHECKPOINTS)
        for ancestor in connected_rdds([rdd.rdd_id], by_id, lambda ancestor: ancestor.parents)
    )


MOST_WRITTEN_OUT = 3
"""A union of up to this many file inputs is written by hand; a longer one comes from a loop over
the files of a folder."""

MOST_INPUTS = 64
"""A union of more inputs comes from a loop, whose length grows with the data."""
