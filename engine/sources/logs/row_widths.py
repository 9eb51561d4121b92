"""Which part of a table's row the columns have that a scan hands on, as Spark's planner counts it.

The planner takes a scan for as large as its files, and what a projection leaves of it for the share
that its columns have of a row (`SizeInBytesOnlyStatsPlanVisitor`): 8 bytes for any row, and of each
column what a value of its type usually takes (`DataType.defaultSize`). Filters change nothing. That
size decides whether a table is broadcast. A plan names the types of the columns that are read, not
those of the whole table: other scans of the log may read more of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import msgspec

from engine.sources.logs.plan_events import PlanNode, SqlPlan
from engine.sources.logs.plan_trackers import NodeTracker, nodes_with

ROW_BYTES = 8
"""What a row counts for beside its columns (`EstimationUtils.getSizePerRow`)."""

TYPE_BYTES = {
    "void": 1, "boolean": 1, "tinyint": 1, "smallint": 2, "int": 4, "date": 4, "float": 4,
    "string": 20, "binary": 100,
}  # fmt: skip
"""`DataType.defaultSize` of types by their names in a schema."""

OTHER_BYTES = 8
"""That of all other plain types: numbers, times and short decimals; computed columns, whose type no
plan names, count for as much."""

LONG_DECIMAL_BYTES, SHORT_DECIMAL_DIGITS = 16, 18
"""That of decimals of more digits than the latter."""

_PLAIN_TYPE = re.compile(r"(?<!\w)(\w++)(?:\((\d+),-?\d+\))?(?=[,>]|\Z)")
"""A type within which there are no others, as it ends in the text of one that is made of several:
its name, and the digits of a decimal."""

_decode_text = msgspec.json.Decoder(str).decode

_PROJECT = re.compile(r"Project \[(.*)\]", re.DOTALL)
_COLUMN = re.compile(r"(.+)#\d+L?")
_MORE = re.compile(r"\.\.\. (\d{1,5}) more fields")
"""What stands in place of the last entries of a long list (`spark.sql.debug.maxToStringFields`)."""

_ROWS_KEPT = ("WholeStageCodegen", "InputAdapter", "ColumnarToRow", "Filter", "Project")
"""Name prefixes of nodes that hand on the columns of their child, or a choice of them."""

_EXCHANGES = frozenset(("Exchange", "BroadcastExchange"))

_ALL: tuple[str, ...] = ("*",)
"""The columns of a scan that no projection narrows."""


def type_bytes(name: str) -> int:
    """Usual size of a value of a type, in bytes: of one that is made of others (of an array one
    element, of a map one entry) the sum of theirs."""
    return sum(
        LONG_DECIMAL_BYTES
        if digits and int(digits) > SHORT_DECIMAL_DIGITS
        else TYPE_BYTES.get(plain, OTHER_BYTES)
        for plain, digits in _PLAIN_TYPE.findall(name)
    )


def column_bytes(schema: str) -> dict[str, int]:
    """Columns of a schema (`struct<id:bigint,name:string>`) -> usual size of a value, in bytes."""
    columns = (entry.partition(":") for entry in _split(schema[len("struct<") : -1]))
    return {name: type_bytes(kind) for name, colon, kind in columns if colon}


def projected(text: str) -> tuple[str, ...] | None:
    """The columns that a projection hands on, by its text; a computed one has the name of its
    expression, which no scan reads. None if the text is no projection's."""
    match = _PROJECT.fullmatch(text)
    if match is None:
        return None
    names = list[str]()
    for entry in _split(match[1]):
        more, column = _MORE.fullmatch(entry), _COLUMN.fullmatch(entry)
        names += [entry] * int(more[1]) if more else [column[1] if column else entry]
    return tuple(names)


def _split(text: str) -> Iterator[str]:
    """The entries of a list at its commas, but for those within brackets."""
    depth = start = 0
    for at, character in enumerate(text):
        depth += (character in "(<[") - (character in ")>]")
        if character == "," and depth == 0:
            yield text[start:at].strip()
            start = at + 1
    if last := text[start:].strip():
        yield last


@dataclass(frozen=True, slots=True)
class ScannedColumns:
    """The columns of a scan.

    Args:
        location: where its files are; None where the plan does not say.
        read: column -> usual size of a value, in bytes.
        handed_on: the columns that leave the stage; None if something else takes them (a join, a
            grouping).
    """

    location: str | None
    read: Mapping[str, int]
    handed_on: tuple[str, ...] | None

    @property
    def width(self) -> int:
        """Usual size of a row that is handed on, in bytes."""
        names = self.read if self.handed_on in (None, _ALL) else self.handed_on or ()
        return ROW_BYTES + sum(self.read.get(name, OTHER_BYTES) for name in names)


class RowWidths(NodeTracker[ScannedColumns]):
    """Collects the columns of the scans of all plans, where these name them, and the scans of each
    stage."""

    def __init__(self) -> None:
        super().__init__()
        self._tables: dict[str, dict[str, int]] = {}

    def add_plan(self, event: SqlPlan) -> None:
        """Records the scans of a plan, and the columns of their tables."""
        top: tuple[str, ...] | None = None
        for node, handed_on in nodes_with(event.plan, top, _handed_on):
            schema, rows = node.metadata.schema, node.rows
            if schema is None or rows is None or rows in self._nodes:
                continue
            scan = ScannedColumns(node.metadata.location, column_bytes(schema), handed_on)
            self._nodes[rows] = scan
            if scan.location is not None:
                self._tables.setdefault(scan.location, {}).update(scan.read)

    def shares(self, stage_id: int) -> tuple[float, ...]:
        """Of the width of a row of the columns that the stage's scan reads, and of those that any
        scan of its table reads, what the columns have that it hands on; empty if it does not run
        just one scan whose columns are known."""
        ran = self.ran_by(stage_id)
        if len(ran) != 1:
            return ()
        (scan,) = ran
        known = self._tables.get(scan.location or "", scan.read)
        whole = (ROW_BYTES + sum(columns.values()) for columns in (scan.read, known))
        return tuple(min(1.0, scan.width / width) for width in whole)


def _handed_on(
    node: PlanNode, above: tuple[str, ...] | None, child: PlanNode
) -> tuple[str, ...] | None:
    """Of the columns of a child of `node`, those that leave the stage (`ScannedColumns`).

    Args:
        above: of the columns of the node.
    """
    if node.name in _EXCHANGES:
        return _ALL
    if not node.name.startswith(_ROWS_KEPT):
        return None
    if node.name == "Project" and above == _ALL:
        return projected(_text_of(node))
    return above


def _text_of(node: PlanNode) -> str:
    """The text of a node; empty where it is missing or damaged."""
    try:
        return _decode_text(node.text)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
