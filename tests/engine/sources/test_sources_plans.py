"""What query plans count: shuffle partitions that a query names, and what each stage adds."""

import json
from pathlib import Path

import pytest
import zstandard
from msgspec import Raw

from engine import read
from engine.models.replay.replayed_run import Replay
from engine.sources.logs.plan_events import (
    CountedMetric,
    PlanMetric,
    PlanNode,
    SqlPlan,
    StageCounts,
)
from engine.sources.logs.requested_partitions import RequestedPartitions


def test_a_stage_adds_what_is_beyond_those_before() -> None:
    counts = StageCounts()
    assert counts.added(1, 2, 10.0) == 10.0
    assert counts.added(1, 4, 25.0) == 15.0
    assert counts.added(2, 4, 7.0) == 7.0, "another metric"
    assert counts.added(1, 6, 25.0) == 0.0


def test_another_attempt_of_a_stage_goes_on_with_the_rows_of_the_one_before() -> None:
    counts = StageCounts()
    assert counts.added(1, 2, 10.0) == 10.0
    assert counts.added(1, 4, 14.0) == 4.0, "the first attempt ended before all had"
    assert counts.added(1, 4, 22.0) == 12.0


def test_a_metric_that_falls_is_damage_and_adds_nothing() -> None:
    counts = StageCounts()
    counts.added(1, 2, 10.0)
    assert counts.added(1, 4, 3.0) == 0.0


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


@pytest.mark.parametrize(
    ("text", "rebalanced"),
    [
        ("Exchange hashpartitioning(a#1, 64), REBALANCE_PARTITIONS_BY_COL, [plan_id=12]", True),
        ("Exchange RoundRobinPartitioning(64), REBALANCE_PARTITIONS_BY_NONE, [plan_id=12]", True),
        (
            "Exchange hashpartitioning(a#1, 64), REBALANCE_PARTITIONS_BY_COL, 99, [plan_id=12]",
            False,
        ),
        ("Exchange hashpartitioning(a#1, 64), REPARTITION_BY_COL, [plan_id=12]", False),
    ],
)
def test_rows_are_rebalanced_to_the_configured_size_alone(text: str, rebalanced: bool) -> None:
    requested = read_by(3, text, READ)
    assert requested.rebalances(3) is rebalanced
    assert not requested.rebalances(4)
    assert not requested.has(3, 64)


def test_another_configured_number_leaves_it_as_it_is() -> None:
    """A real log with a `repartition(4)`, beside shuffles that adaptive execution merges."""
    replay = Replay.of(read(LOG).runs[0])
    (named,) = (model for model in replay.models if model.stage.coalesced)
    assert named.stage.tasks == 4
    assert named.scaled(1.0, 64).tasks == 4
    assert named.scaled(3.0, 64, 16).tasks == 4


@pytest.mark.parametrize(
    "plan",
    [
        "Exchange RoundRobinPartitioning(4), REPARTITION_BY_NUM",
        "Exchange RoundRobinPartitioning(4)",
    ],
)
def test_a_plan_needs_nothing_else_to_be_read(plan: str, tmp_path: Path) -> None:
    """As of `spark.range(9).repartition(4)`: no files, no joins, no groups."""
    text = zstandard.ZstdDecompressor().stream_reader(LOG.read_bytes()).read().decode()
    exchange = {
        "nodeName": "Exchange",
        "simpleString": plan,
        "metrics": [{"name": "records read", "accumulatorId": 10**6}],
    }
    started = {
        "Event": "org.apache.spark.sql.execution.ui.SparkListenerSQLExecutionStart",
        "executionId": 99,
        "time": 0,
        "sparkPlanInfo": exchange,
    }
    lines = []
    for line in text.splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerStageCompleted":
            counted = event["Stage Info"]["Accumulables"]
            counted.append({"ID": 10**6, "Name": "records read", "Value": "9"})
        if "sparkPlanInfo" not in event:
            lines.append(json.dumps(event, separators=(",", ":")))
    lines.insert(1, json.dumps(started, separators=(",", ":")))
    log = tmp_path / "log"
    log.write_text("\n".join(lines))
    stages = read(log).runs[0].stages
    assert any(stage.coalesced for stage in stages)
    assert all(stage.tasks == 4 for stage in stages if stage.coalesced)
