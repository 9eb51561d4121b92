"""The walk over the RDDs of a stage, along their dependencies."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping

from engine.sources.logs.events import RddInfo


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
