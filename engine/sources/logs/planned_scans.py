"""File scans as query plans describe them.

Since Spark 3.0 a plan counts the size and number of the files that a scan reads, before that their
number alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from engine.sources.logs.plan_events import (
    CACHE_SCAN,
    NAMED_CACHE_SCAN,
    OUTPUT_ROWS,
    PlanMetadata,
    PlanNode,
    SqlPlan,
)
from engine.sources.logs.plan_trackers import nodes_with

SIZE_METRIC = b'"size of files read"'
"""Text in the log line of a plan that contains a file scan."""

FILES_METRIC = b'"number of files"'
"""The same in the plans of Spark 2, which do not know the size."""

_SIZE, _FILES = "size of files read", "number of files read"
_FILES_ALONE = "number of files"
_COALESCE = re.compile(rb'"Coalesce (\d{1,9})"')
_OTHER_PARTITIONS = re.compile(f"Exchange|{CACHE_SCAN}|{NAMED_CACHE_SCAN}")
"""Nodes whose output partitions are not those of their children."""

_NOTHING_READ = "struct<>"
_SCHEME = re.compile(r"\[([a-zA-Z][a-zA-Z0-9+.-]*):")
_CUT_OFF = re.compile(r"\.\.\.[\])]*\Z")
"""The end of metadata that Spark shortened."""

_EXPRESSION_ID = re.compile(r"#[0-9]+")


@dataclass(frozen=True, slots=True)
class FileScan:
    """A file scan in a query plan.

    Args:
        execution: the SQL execution that it is part of.
        name: of its node.
        size: accumulator of the bytes of its files; None in plans of Spark 2.
        files: accumulator of their number; None where the plan has none.
        table: where its files are, and which of their partitions it reads; None where the plan does
            not state all of it.
        parquet: whether these are Parquet.
        scheme: of its file system; None where the plan does not state it.
        columns: whether it reads any columns; a mere count of rows does not.
        bucketed: whether each task reads one or more buckets of a table.
        coalesced_to: upper bound of the partitions set by a `coalesce` above it; None without one.
        order: its position among all scans: by plan, then from left to right.
    """

    execution: int
    name: str
    size: int | None
    files: int | None
    table: tuple[str, str] | None
    parquet: bool
    scheme: str | None
    columns: bool
    bucketed: bool
    coalesced_to: int | None
    order: int = 0


def scans_of(event: SqlPlan) -> Iterator[tuple[int, FileScan]]:
    """The file scans of a plan, from left to right, each with the accumulator of its rows."""
    top = None if event.plan is None else _coalesced_to(None, None, event.plan)
    plan = nodes_with(event.plan, top, _coalesced_to, first_child_first=True)
    for node, coalesced_to in plan:
        metrics = {metric.name: metric.accumulator for metric in node.metrics}
        if not _scans_files(node, metrics) or OUTPUT_ROWS not in metrics:
            continue
        metadata, size = node.metadata, metrics.get(_SIZE)
        scheme = _SCHEME.search(metadata.location or "")
        yield (
            metrics[OUTPUT_ROWS],
            FileScan(
                execution=event.execution,
                name=node.name.strip(),
                size=size,
                files=metrics.get(_FILES if size is not None else _FILES_ALONE),
                table=_table_of(metadata),
                parquet="parquet" in f"{node.name} {metadata.format or ''}".lower(),
                scheme=scheme[1].lower() if scheme else None,
                columns=metadata.schema != _NOTHING_READ,
                bucketed=metadata.buckets is not None,
                coalesced_to=coalesced_to,
            ),
        )


def _scans_files(node: PlanNode, metrics: Mapping[str, int]) -> bool:
    return _SIZE in metrics or (_FILES_ALONE in metrics and node.name.startswith("Scan "))


def _table_of(metadata: PlanMetadata) -> tuple[str, str] | None:
    """What tells the table of a scan, and the partitions that it reads of it, from others."""
    location, filters = metadata.location, metadata.partition_filters or ""
    if not location or _CUT_OFF.search(location) or _CUT_OFF.search(filters):
        return None
    return location, _EXPRESSION_ID.sub("", filters)


def _coalesced_to(parent: PlanNode | None, limit: int | None, node: PlanNode) -> int | None:
    """Upper bound of a node's partitions: the smallest `coalesce` between it and the next shuffle.

    Args:
        limit: the bound that holds for the parent node; None without one.
    """
    if parent is not None and (len(parent.children) > 1 or _OTHER_PARTITIONS.search(parent.name)):
        limit = None
    coalesce = _COALESCE.fullmatch(bytes(node.text)) if node.name == "Coalesce" else None
    if coalesce is None:
        return limit
    return int(coalesce[1]) if limit is None else min(int(coalesce[1]), limit)
