"""The share of a table's row that a scan hands on, by the types and projections of query plans."""

from pathlib import Path

import msgspec
import pytest

from engine import read
from engine.sources.logs.plan_events import (
    CountedMetric,
    PlanMetadata,
    PlanMetric,
    PlanNode,
    SqlPlan,
)
from engine.sources.logs.row_widths import RowWidths, column_bytes, projected, type_bytes

SAMPLES = Path(__file__).parents[3] / "sample_logs"
FACTS = "InMemoryFileIndex(1 paths)[file:/facts]"


def node(name: str, *children: PlanNode, text: str = "") -> PlanNode:
    return PlanNode(name, children, text=msgspec.Raw(msgspec.json.encode(text or name)))


def scan(rows: int, columns: str, location: str | None = FACTS) -> PlanNode:
    metadata = PlanMetadata(location=location, schema=f"struct<{columns}>")
    metrics = (PlanMetric("number of output rows", rows),)
    return PlanNode("Scan parquet", metadata=metadata, metrics=metrics)


def tracked(*plans: PlanNode, stages: dict[int, list[int]]) -> RowWidths:
    """The widths of plans, with the scans that stages ran."""
    widths = RowWidths()
    for execution, plan in enumerate(plans):
        widths.add_plan(SqlPlan(execution, plan))
    for stage_id, scans in stages.items():
        widths.stage_completed(stage_id, [CountedMetric(one) for one in scans])
    return widths


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("bigint", 8), ("timestamp", 8), ("int", 4), ("string", 20), ("boolean", 1),
        ("binary", 100), ("decimal(12,2)", 8), ("decimal(18,4)", 8), ("decimal(19,4)", 16),
        ("decimal(38,0)", 16), ("array<string>", 20), ("map<string,int>", 24),
        ("struct<a:int,b:array<struct<c:bigint,d:string>>>", 32), ("struct<>", 0),
        ("map<decimal(20,2),struct<a_b:decimal(9,-1),c:int>>", 28),
        pytest.param("struct<a:" * 5_000 + "int" + ">" * 5_000, 4, id="deep"),
    ],
)  # fmt: skip
def test_a_value_of_each_type_has_the_size_that_spark_takes_it_for(name: str, size: int) -> None:
    assert type_bytes(name) == size


def test_a_schema_is_taken_apart_at_its_own_commas() -> None:
    assert column_bytes("struct<a:bigint,p:decimal(12,2),s:struct<x:int,y:int>,n:string>") == {
        "a": 8, "p": 8, "s": 8, "n": 20,
    }  # fmt: skip
    assert column_bytes("struct<>") == {}


def test_a_projection_names_columns_and_expressions() -> None:
    text = "Project [id#4L, (price#5 * cast(1 as double)) AS net#9, ... 2 more fields]"
    names = projected(text)
    assert names is not None
    assert names[0] == "id"
    assert len(names) == 4
    assert projected("Project[") is None


def test_what_is_handed_on_is_what_the_projection_below_the_exchange_leaves() -> None:
    """16 + 8 bytes of the 16 + 28 that are read; another query reads 20 more of the table."""
    filtered = node("Filter", node("ColumnarToRow", scan(1, "id:bigint,day:date,note:string")))
    kept = node("WholeStageCodegen (1)", node("Project", filtered, text="Project [id#1L, day#2]"))
    sent = node("BroadcastExchange", kept)
    other = node("Exchange", scan(2, "id:bigint,kind:string"))
    widths = tracked(sent, other, stages={5: [1], 6: [2]})
    assert widths.shares(5) == pytest.approx((20.0 / 40.0, 20.0 / 60.0))
    assert widths.shares(6) == pytest.approx((1.0, 36.0 / 60.0))


def test_what_is_grouped_or_joined_first_counts_with_all_that_is_read() -> None:
    """Whatever a projection leaves for the grouping: its own rows are other ones."""
    kept = node("Project", scan(1, "id:bigint,note:string"), text="Project [id#1L]")
    grouped = node("Exchange", node("HashAggregate", kept))
    assert tracked(grouped, stages={5: [1]}).shares(5) == (1.0, 1.0)


def test_tables_that_are_not_told_apart_have_the_columns_of_their_own_scan() -> None:
    scans = [node("Exchange", scan(rows, "a:int,b:int", location=None)) for rows in (1, 2)]
    assert tracked(*scans, stages={5: [1]}).shares(5) == (1.0, 1.0)


@pytest.mark.parametrize("text", [b"", b"null", b"3", b'"Project [\\ud800#1]"', b'"\xff"'])
def test_a_projection_of_damaged_text_hands_on_all_that_is_read(text: bytes) -> None:
    kept = PlanNode("Project", (scan(1, "a:int,b:int"),), text=msgspec.Raw(text))
    assert tracked(node("Exchange", kept), stages={5: [1]}).shares(5) == (1.0, 1.0)


def test_stages_of_no_scan_or_of_several_have_none() -> None:
    scans = [node("Exchange", scan(rows, "a:int")) for rows in (1, 2)]
    widths = tracked(*scans, stages={5: [1, 2], 6: []})
    assert widths.shares(5) == widths.shares(6) == widths.shares(7) == ()


def test_the_scans_of_a_real_log_have_shares() -> None:
    run = read(SAMPLES / "nightly-features-small.zstd").runs[0]
    found = [stage for stage in run.stages if stage.row_shares]
    assert found
    assert all(0.0 < known <= of_read <= 1.0 for of_read, known in (s.row_shares for s in found))
