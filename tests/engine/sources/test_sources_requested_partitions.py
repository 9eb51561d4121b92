"""Numbers of shuffle partitions that a query names, which Spark keeps."""

from pathlib import Path

import pytest
from msgspec import Raw

from engine import read
from engine.models.replay.replayed_run import Replay
from engine.sources.logs.plan_events import CountedMetric, PlanMetric, PlanNode, SqlPlan
from engine.sources.logs.requested_partitions import RequestedPartitions

LOG = Path(__file__).parents[2] / "data" / "grouped.zstd"
READ, WRITTEN = 7, 8


def read_by(stage_id: int, text: str, *accumulators: int) -> RequestedPartitions:
    """The partitions of an exchange of that text, of which a stage updated some metrics."""
    metrics = (PlanMetric("records read", READ), PlanMetric("shuffle records written", WRITTEN))
    exchange = PlanNode("Exchange", metrics=metrics, text=Raw(f'"{text}"'.encode()))
    requested = RequestedPartitions()
    requested.add_plan(SqlPlan(0, PlanNode("WriteFiles", (exchange,))))
    requested.stage_completed(stage_id, [CountedMetric(one) for one in accumulators])
    return requested


@pytest.mark.parametrize(
    "text",
    [
        "Exchange RoundRobinPartitioning(64), REPARTITION_BY_NUM, [plan_id=12]",
        "Exchange hashpartitioning(a#1, b#2L, 64), REPARTITION_BY_NUM, [plan_id=12]",
        "Exchange rangepartitioning(a#1 ASC NULLS FIRST, 64), REPARTITION_WITH_NUM, [id=#12]",
        "Exchange RoundRobinPartitioning(64), false, [id=#12]",
        "Exchange RoundRobinPartitioning(64)",
    ],
)
def test_the_stage_that_reads_it_has_the_number_that_was_named(text: str) -> None:
    requested = read_by(3, text, READ)
    assert requested.any_planned
    assert requested.has(3, 64)
    assert not requested.has(3, 16)
    assert not requested.has(4, 64)
    assert not read_by(3, text, WRITTEN).has(3, 64)


@pytest.mark.parametrize(
    "text",
    [
        "Exchange hashpartitioning(a#1, 64), ENSURE_REQUIREMENTS, [plan_id=12]",
        "Exchange hashpartitioning(a#1, 64), REPARTITION_BY_COL, [plan_id=12]",
        "Exchange hashpartitioning(a#1, 64), true, [id=#12]",
        "Exchange hashpartitioning(a#1, 64)",
        "Exchange SinglePartition, ENSURE_REQUIREMENTS, [plan_id=12]",
    ],
)
def test_other_numbers_are_those_that_are_configured(text: str) -> None:
    requested = read_by(3, text, READ)
    assert not requested.any_planned
    assert not requested.has(3, 64)


def test_another_configured_number_leaves_it_as_it_is() -> None:
    """A real log with a `repartition(4)`, beside shuffles that adaptive execution merges."""
    replay = Replay.of(read(LOG).runs[0])
    (named,) = (shape for shape in replay.shapes if shape.stage.coalesced)
    assert named.stage.tasks == 4
    assert named.scaled(1.0, 64).tasks == 4
    assert named.scaled(3.0, 64, 16).tasks == 4
