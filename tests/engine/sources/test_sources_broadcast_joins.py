"""Which stages join with what others broadcast: on a real log, and on plans made for one rule."""

from pathlib import Path

import pytest
from msgspec import Raw

from engine import read
from engine.sources.logs.broadcast_joins import BroadcastJoins, JoinedBroadcast, MergedSide
from engine.sources.logs.plan_events import CountedMetric, PlanMetric, PlanNode, SqlPlan

SAMPLES = Path(__file__).parents[3] / "sample_logs"
ROWS = "number of output rows"
FACTS, TABLE, JOINED, SENT = 1, 2, 3, 4
"""Accumulators of the rows of a plan's nodes."""


def test_a_real_log_says_who_joins_with_a_broadcast_table() -> None:
    run = read(SAMPLES / "nightly-features-small.zstd").runs[0]
    (joining,) = [stage for stage in run.stages if stage.joined_broadcasts]
    (made,) = [s for s in run.stages if s.stage_id in joining.joined_broadcasts]
    assert "BroadcastExchange" in made.operations
    assert joining.joined_records == (joining.input_records,)


def node(name: str, rows: int, *children: PlanNode) -> PlanNode:
    return PlanNode(name, children, metrics=(PlanMetric(ROWS, rows),))


def plan(*, wrapped: bool = False) -> SqlPlan:
    """Facts joined with a table that is broadcast, of which an adaptive plan has the stage."""
    sent = node("BroadcastExchange", SENT, node("Scan parquet", TABLE))
    side = PlanNode("BroadcastQueryStage", (sent,)) if wrapped else sent
    facts = PlanNode("Project", (node("Filter", FACTS),))
    return SqlPlan(0, PlanNode("Project", (node("BroadcastHashJoin", JOINED, facts, side),)))


def counted(**values: object) -> list[CountedMetric]:
    accumulators = {"facts": FACTS, "table": TABLE, "joined": JOINED, "sent": SENT}
    return [CountedMetric(accumulators[name], value=value) for name, value in values.items()]


@pytest.mark.parametrize("wrapped", [False, True])
def test_the_last_stage_that_makes_the_rows_is_the_one_that_sends_them(wrapped: bool) -> None:
    joins = BroadcastJoins()
    joins.add_plan(plan(wrapped=wrapped))
    for stage in (5, 6):
        joins.stage_completed(stage, counted(table=100))
    joins.stage_completed(8, counted(facts="700", joined="70"))
    assert joins.of(8, range(10)) == [JoinedBroadcast(6, 700.0, None)]
    assert joins.of(8, [8]) == []
    assert joins.of(6, range(10)) == []


def test_a_table_that_one_stage_joins_twice_is_there_twice() -> None:
    """As of dates, of which Spark broadcasts one copy: both joins have their own rows."""
    sent = node("BroadcastExchange", SENT, node("Scan parquet", TABLE))
    first = node("BroadcastHashJoin", JOINED, node("Filter", FACTS), sent)
    reused = PlanNode("ReusedExchange", (sent,))
    joins = BroadcastJoins()
    joins.add_plan(SqlPlan(0, node("BroadcastHashJoin", JOINED + 100, first, reused)))
    joins.stage_completed(6, counted(table=100))
    second = CountedMetric(JOINED + 100, value="7")
    joins.stage_completed(8, [*counted(facts="700", joined="70"), second])
    assert joins.of(8, range(10)) == [
        JoinedBroadcast(6, 700.0, None),
        JoinedBroadcast(6, 70.0, None),
    ]


@pytest.mark.parametrize("joined_before", [False, True])
def test_what_was_shuffled_before_has_the_size_of_that(joined_before: bool) -> None:
    """Whatever groups its rows in between, but no join. The plan that broadcasts it is made when
    the shuffle has ended."""
    size, fetched = PlanMetric("data size", 9), PlanMetric("records read", 11)
    shuffle = PlanNode("Exchange", (node("Scan parquet", TABLE),), metrics=(size, fetched))
    read_again = PlanNode("AQEShuffleRead", (PlanNode("ShuffleQueryStage", (shuffle,)),))
    others = (node("Scan parquet", FACTS + 200),) if joined_before else ()
    above = PlanNode(
        "Join" if joined_before else "HashAggregate",
        (read_again, *others),
        metrics=(PlanMetric(ROWS, 10),),
    )
    sent = node("BroadcastExchange", SENT, above)
    joins = BroadcastJoins()
    joins.add_plan(SqlPlan(0, PlanNode("SortMergeJoin", (shuffle,))))
    joins.stage_completed(5, [CountedMetric(9, value="10241440"), *counted(table=100)])
    joins.add_plan(SqlPlan(0, node("BroadcastHashJoin", JOINED, node("Filter", FACTS), sent)))
    joins.stage_completed(6, [CountedMetric(10, value=3), CountedMetric(11, value=100)])
    joins.stage_completed(8, counted(facts=700, joined=70))
    (found,) = joins.of(8, range(10))
    assert found.shuffled_bytes == (None if joined_before else 10241440.0)


@pytest.mark.parametrize("value", [None, "many", "9" * 40, 10**40, -1, [700]])
def test_rows_that_no_number_counts_are_not_known(value: object) -> None:
    joins = BroadcastJoins()
    joins.add_plan(plan())
    joins.stage_completed(6, counted(table=100))
    joins.stage_completed(8, counted(facts=value, joined=70))
    assert joins.of(8, range(10)) == [JoinedBroadcast(6, None, None)]


def test_other_joins_are_none() -> None:
    joins = BroadcastJoins()
    joins.add_plan(SqlPlan(0, node("CartesianProduct", JOINED, node("Scan", FACTS))))
    joins.add_plan(SqlPlan(0, PlanNode("BroadcastHashJoin")))
    joins.add_plan(SqlPlan(0))
    assert not joins.any_planned


@pytest.mark.parametrize(
    "kind",
    [
        "SortMergeJoin",  # of tables in buckets: nothing is shuffled
        "SortMergeJoin(skew=true)",  # adaptive execution split its largest partitions
        "ShuffledHashJoin",
        "ShuffledHashJoin(skew=true)",
        "BroadcastNestedLoopJoin",
    ],
)
def test_rows_of_joins_of_any_kind_are_counted(kind: str) -> None:
    joins = BroadcastJoins()
    joins.add_plan(SqlPlan(0, node(kind, JOINED, node("Scan", FACTS), node("Scan", TABLE))))
    assert joins.any_planned
    joins.stage_completed(8, counted(facts="700", table="70", joined="49000"))
    assert joins.max_rows(8) == 49000.0


@pytest.mark.parametrize("name", ["SortMergeJoin", "SortMergeJoin(skew=true)"])
@pytest.mark.parametrize(
    ("kind", "smaller"),
    [
        ("Inner", 40.0),
        ("LeftOuter", 70.0),  # the right side alone may be broadcast
        ("LeftSemi, (x#3 > y#4)", 70.0),
        ("LeftSingle", 70.0),  # of a subquery that gives one value, since Spark 4.0
        ("ExistenceJoin(exists#9)", 70.0),  # of EXISTS within OR
        ("RightOuter", 40.0),
        ("FullOuter", None),
        ("", None),
    ],
)
def test_a_merge_tells_the_smaller_side_that_may_be_broadcast(
    kind: str, smaller: float | None, name: str
) -> None:
    """40 bytes on the left and 70 on the right, each sorted after its shuffle."""
    sizes = (5, 6)
    sides = tuple(
        PlanNode("Sort", (PlanNode("Exchange", metrics=(PlanMetric("data size", size),)),))
        for size in sizes
    )
    text = Raw(f'"{name} [a#1], [b#2L], {kind}"'.encode())
    merge = PlanNode(name, sides, metrics=(PlanMetric(ROWS, JOINED),), text=text)
    joins = BroadcastJoins()
    joins.add_plan(SqlPlan(0, merge))
    joins.stage_completed(1, [CountedMetric(5, value="40"), CountedMetric(6, value="70")])
    joins.stage_completed(2, counted(joined="9"))
    assert joins.merged(2) == ([] if smaller is None else [MergedSide(smaller, 1)])
    assert joins.merged(1) == []
    assert (joins.max_rows(2), joins.max_rows(1)) == (9.0, None)
