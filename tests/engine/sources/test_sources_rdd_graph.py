"""The walk over the RDDs of a stage."""

import pytest

from engine.sources.logs.combined_inputs import connected_rdds
from engine.sources.logs.events import RddInfo

DIAMOND = {4: (2, 3), 3: (1,), 2: (0,), 1: (0,), 0: ()}
CYCLE = {2: (1,), 1: (2,)}
OF_ANOTHER_STAGE = {2: (1, 9), 1: ()}


def walked(parents: dict[int, tuple[int, ...]], start: int, *, nearest_first: bool) -> list[int]:
    by_id = {one: RddInfo(rdd_id=one, parents=above) for one, above in parents.items()}
    found = connected_rdds([start], by_id, lambda rdd: rdd.parents, nearest_first=nearest_first)
    return [rdd.rdd_id for rdd in found]


@pytest.mark.parametrize(
    ("parents", "start", "nearest_first", "expected"),
    [
        (DIAMOND, 4, True, [4, 2, 3, 0, 1]),
        (DIAMOND, 4, False, [4, 3, 1, 0, 2]),
        (CYCLE, 2, False, [2, 1]),
        (OF_ANOTHER_STAGE, 2, False, [2, 1]),
        (OF_ANOTHER_STAGE, 9, False, []),
    ],
)
def test_walk_meets_each_rdd_of_the_stage_once(parents, start, nearest_first, expected):
    assert walked(parents, start, nearest_first=nearest_first) == expected


def test_walk_ends_where_it_is_told_to():
    by_id = {one: RddInfo(rdd_id=one, parents=above) for one, above in DIAMOND.items()}
    found = connected_rdds([4], by_id, lambda rdd: () if rdd.rdd_id == 3 else rdd.parents)
    assert [rdd.rdd_id for rdd in found] == [4, 3, 2, 0]
