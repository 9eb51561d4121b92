"""Stages whose tasks claim several slots at once, beside others."""

import heapq
import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from depth import cases

from engine.scheduling.fair_pools import FairPools, WaitingStage
from engine.scheduling.stages import ScheduledNode, schedule
from engine.scheduling.task_claims import (
    MOST_TASKS_OF_UNLIKE_CLAIMS,
    SlotClaim,
    UnlikeClaims,
    claim_unlike,
    unlike_claims,
)
from engine.scheduling.waves import Tasks


def stage(
    tasks: int, seconds: float = 2.0, *, at: float = 0.0, rank: int = 0, **more: object
) -> ScheduledNode:
    return ScheduledNode((), at, rank, Tasks(np.full(tasks, seconds)), **more)


@pytest.mark.parametrize("pool", [0, 1])
def test_a_task_of_several_cores_holds_no_slot_back(pool: int) -> None:
    """Spark offers what does not fit the first stage to the next. Tasks of four cores come after
    seven of one on four slots, which they would have had to themselves in between."""
    ones = ScheduledNode((), 0.0, 1, Tasks(np.asarray([1.0, 2.0, 3.0, 4.0, 4.0, 3.0, 2.0])))
    fours = stage(2, at=0.5, rank=0, cpus=4, pool=pool)
    found = schedule([ones, fours], 4)
    assert found.end[0] == 5.0
    assert (found.start[1], found.end[1]) == (5.0, 9.0)


def test_a_barrier_stage_waits_until_all_of_its_tasks_fit() -> None:
    """Its three tasks do not start on the two idle slots, which the last stage takes."""
    nodes = [
        stage(2, 10.0, rank=0),
        stage(3, 5.0, at=1.0, rank=1, barrier=True),
        stage(4, 2.0, at=1.0, rank=2),
    ]
    found = schedule(nodes, 4)
    np.testing.assert_allclose(found.start, [0.0, 10.0, 1.0])
    np.testing.assert_allclose(found.end, [10.0, 15.0, 5.0])


def test_a_barrier_stage_waits_for_executors_that_come_late() -> None:
    def times(*, barrier: bool) -> tuple[float, float]:
        added = np.asarray([0.0, 0.0, 20.0, 20.0])
        found = schedule([stage(4, 5.0, at=1.0, barrier=barrier)], 4, added_seconds=added)
        return float(found.start[0]), float(found.end[0])

    assert times(barrier=True) == (20.0, 25.0)
    assert times(barrier=False) == (1.0, 11.0)


def test_a_barrier_stage_of_more_tasks_than_slots_runs_in_waves() -> None:
    """Spark ends the job there, which a notice says; the time is that of its work."""
    nodes = [stage(2, 3.0), stage(6, 5.0, rank=1, barrier=True)]
    assert schedule(nodes, 4).seconds == 10.0


def test_stages_one_after_the_other_claim_no_slot_from_each_other() -> None:
    one, two, together = SlotClaim(1, False), SlotClaim(2, False), SlotClaim(1, True)
    chain, claims = [(), (0,), (1,)], {0: one, 1: two, 2: together}
    assert not claim_unlike(chain, claims, slots_vary=False)
    assert claim_unlike(chain, claims, slots_vary=True), "a barrier stage waits for slots"
    assert not claim_unlike(chain, {0: one, 1: two, 2: one}, slots_vary=True)
    assert claim_unlike([*chain, ()], {**claims, 3: one}, slots_vary=False)
    assert not claim_unlike([*chain, ()], claims, slots_vary=False), "an event claims nothing"
    assert not claim_unlike([(), ()], {0: two, 1: two}, slots_vary=True)
    assert not claim_unlike([()], {}, slots_vary=True)


@pytest.mark.parametrize("barrier", [False, True])
def test_of_a_long_chain_none_claims_beside_another(barrier: bool) -> None:
    count = 3_000
    chain = [(index - 1,) if index else () for index in range(count)]
    unusual = SlotClaim(1, True) if barrier else SlotClaim(2, False)
    claims = {index: unusual if index % 2 else SlotClaim(1, False) for index in range(count)}
    assert unlike_claims(chain, claims) == UnlikeClaims(False, barrier)
    beside = [*chain[:-1], (count - 3,)]
    assert claim_unlike(beside, claims, slots_vary=False), "the last two may run together"


@pytest.mark.parametrize("seed", range(cases(60, deep=1600)))
def test_claims_are_unlike_where_any_pair_is(seed: int) -> None:
    """Compared with all pairs of stages of which none waits for the other."""
    random = np.random.default_rng(seed)
    count = int(random.integers(1, 9))
    after = [tuple(p for p in range(i) if random.random() < 0.5) for i in range(count)]
    claims = {
        index: SlotClaim(int(random.choice([1, 1, 1, 2])), bool(random.random() < 0.1))
        for index in range(count)
        if random.random() < 0.8
    }
    before: list[set[int]] = []
    for parents in after:
        before.append(set(parents).union(*(before[parent] for parent in parents)))
    unlike = any(
        claims[one] != claims[other] or claims[one].barrier
        for one, other in combinations(claims, 2)
        if one not in before[other]
    )
    assert claim_unlike(after, claims, slots_vary=False) == unlike


@pytest.mark.parametrize("cpus", [1, 2])
def test_very_many_tasks_are_placed_in_fewer(cpus: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neighbours as one, also those of a barrier stage of more tasks than slots; the end is that of
    all of them."""
    placed = Counter[int]()
    add = FairPools.add

    def counting(self: FairPools, waiting: WaitingStage, *, moment: float) -> None:
        placed[waiting.index] = len(waiting.seconds)
        add(self, waiting, moment=moment)

    monkeypatch.setattr(FairPools, "add", counting)
    random = np.random.default_rng(5)
    times = random.gamma(4.0, 0.25, 40_000)
    nodes = [
        ScheduledNode((), 0.0, 0, Tasks(times)),
        ScheduledNode((), 0.0, 1, Tasks(times[:10_000]), cpus=cpus, barrier=True),
    ]
    found = schedule(nodes, 8)
    assert sum(placed.values()) == MOST_TASKS_OF_UNLIKE_CLAIMS
    assert placed[1] == MOST_TASKS_OF_UNLIKE_CLAIMS // 5
    assert found.seconds == pytest.approx((times.sum() + cpus * times[:10_000].sum()) / 8, rel=5e-3)


def test_a_barrier_stage_that_fits_starts_together_beside_very_many_tasks() -> None:
    nodes = [stage(50_000, 1.0), stage(40, 5.0, at=10.5, barrier=True, rank=1)]
    found = schedule(nodes, 41)
    assert found.end[1] - found.start[1] == 5.0


def offered(nodes: list[ScheduledNode], slots: int) -> list[float]:
    """When each stage ends: idle slots are offered to the stages in Spark's order, one claim at a
    time, until nothing fits."""
    idle, running, ends = slots, Counter[int](), {}
    left = {index: list(node.tasks.seconds) for index, node in enumerate(nodes)}
    active: set[int] = set()
    open_tasks = Counter({index: len(times) for index, times in left.items()})
    events = [(node.delay_seconds, "a", i) for i, node in enumerate(nodes) if not node.after]
    heapq.heapify(events)

    def freed_by(index: int) -> list[int]:
        """The stages for which one that ended was the last to wait for."""
        waiting = [(child, set(node.after)) for child, node in enumerate(nodes)]
        return [child for child, after in waiting if index in after and ends.keys() >= after]

    def claim(index: int) -> tuple[int, int]:
        """How many tasks start at once, and the cores of each."""
        node = nodes[index]
        cores = min(node.cpus, slots)
        together = node.barrier and len(node.tasks) * cores <= slots
        return (len(left[index]) if together else 1), cores

    def in_order(index: int) -> tuple[int, ...]:
        node = nodes[index]
        return running[node.pool], node.pool, node.priority, index

    def first_that_fits() -> int | None:
        return next((i for i in sorted(active, key=in_order) if math.prod(claim(i)) <= idle), None)

    while events:
        now, kind, index = heapq.heappop(events)
        if kind == "a":
            active.add(index)
        else:
            idle += min(nodes[index].cpus, slots)
            running[nodes[index].pool] -= 1
            open_tasks[index] -= 1
            if not open_tasks[index]:
                ends[index] = now
                for child in freed_by(index):
                    heapq.heappush(events, (now + nodes[child].delay_seconds, "a", child))
        while (candidate := first_that_fits()) is not None:
            count, cores = claim(candidate)
            for seconds in left[candidate][:count]:
                heapq.heappush(events, (now + seconds, "e", candidate))
            del left[candidate][:count]
            idle -= count * cores
            running[nodes[candidate].pool] += count
            active -= set() if left[candidate] else {candidate}
    return [ends[index] for index in range(len(nodes))]


@pytest.mark.parametrize("seed", range(cases(60, deep=1600)))
def test_random_graphs_are_placed_as_offers_would(seed: int) -> None:
    random = np.random.default_rng(seed)
    pools = int(random.integers(1, 4))
    nodes = [
        ScheduledNode(
            tuple(parent for parent in range(index) if random.random() < 0.2),
            float(random.uniform(0.0, 3.0)),
            int(random.integers(0, 5)),
            Tasks(random.gamma(4.0, 0.25, int(random.integers(1, 20)))),
            cpus=int(random.choice([1, 1, 2, 3])),
            pool=int(random.integers(pools)),
            barrier=bool(random.random() < 0.3),
        )
        for index in range(int(random.integers(3, 9)))
    ]
    slots = int(random.integers(3, 20))
    nodes.append(ScheduledNode((), 0.1, 9, Tasks(random.gamma(4.0, 0.25, 3)), barrier=True))
    found = schedule(nodes, slots, exact=True)
    np.testing.assert_allclose(found.end, offered(nodes, slots), rtol=1e-12)
