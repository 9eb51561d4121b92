"""YAML in which every value remembers its line, and long tables are read as rows.

Everything is kept as text: what a value means is decided by whoever reads it, who can then say
`file:line` about anything that is wrong. A literal block of comma-separated rows is cut out before
the YAML parser sees it, because that parser takes far longer per character than the `csv` module:
a catalog of a thousand types loads in milliseconds with or without the C library.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, TypeVar

import yaml

from engine.errors import BadInput, UnknownName

MAX_FILE_BYTES = 32 * 1024 * 1024
MAX_NESTING = 32
_BLOCK = re.compile(r"^(\s*)[\w-]+:\s*\|[-+]?\s*(?:#.*)?$")
_NULLS = ("", "~", "null", "Null", "NULL")

T = TypeVar("T")
Convert = Callable[[str], T]
"""Text to a value; raises ValueError with a text such as "must be a number"."""


class Table(NamedTuple):
    """Rows of text; an empty cell is a value that is not known.

    Args:
        columns: (c,) names. rows: (r, c) cells. lines: (r,) the line of each row.
    """

    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[int] = ()


@dataclass(frozen=True)
class _Document:
    """A file whose row blocks were cut out.

    Args:
        blocks: line of a block's key -> the lines below it, numbered (from 1).
        numbers: line number in the file of each line that the YAML parser sees.
    """

    path: Path
    blocks: Mapping[int, Sequence[tuple[int, str]]]
    numbers: Sequence[int]

    def line(self, node: yaml.Node) -> int:
        """The line of the file that a node starts on."""
        return self.numbers[min(node.start_mark.line, len(self.numbers) - 1)]


@dataclass(frozen=True)
class Section:
    """A mapping of a YAML file; `line` says where it stands, `key` what it is called."""

    document: _Document
    line: int
    entries: Mapping[str, yaml.Node]
    lines: Mapping[str, int]
    key: str = ""

    @property
    def path(self) -> Path:
        """The file."""
        return self.document.path

    def where(self, line: int | None = None) -> str:
        """`file:line` of this section, or of another line of its file."""
        return f"{self.path}:{line or self.line}"

    def check_keys(self, known: tuple[str, ...]) -> None:
        """Raises for the first key that is not known, offering close matches."""
        for key, line in self.lines.items():
            if key not in known:
                raise UnknownName("key", key, known, where=self.where(line))

    def get(self, key: str, convert: Convert[T]) -> T | None:
        """A plain value, converted; None where the key is absent or empty."""
        node = self.entries.get(key)
        if node is None:
            return None
        line = self.document.line(node)
        if not isinstance(node, yaml.ScalarNode):
            raise BadInput(f"{key} must be a plain value", where=self.where(line))
        if node.value in _NULLS:
            return None
        try:
            return convert(node.value)
        except ValueError as error:
            raise BadInput(f"{key} {error}", where=self.where(line)) from None

    def need(self, key: str, convert: Convert[T]) -> T:
        """As `get`; a missing value is an error."""
        value = self.get(key, convert)
        if value is None:
            named = f"{self.key}.{key}" if self.key else key
            raise BadInput(f"{named} is missing", where=self.where())
        return value

    def section(self, key: str) -> Section | None:
        """A mapping below this one; None where the key is absent."""
        node = self.entries.get(key)
        if node is None or (isinstance(node, yaml.ScalarNode) and node.value in _NULLS):
            return None
        return _section(self.document, node, key)

    def table(self, key: str) -> Table:
        """A table: a list of mappings, or a literal block with a header row; empty if absent."""
        node = self.entries.get(key)
        if node is None:
            return Table()
        if isinstance(node, yaml.ScalarNode) and node.style == "|":
            return self._block(self.document.line(node))
        if isinstance(node, yaml.SequenceNode):
            return _table_of([_section(self.document, item, key) for item in node.value])
        raise BadInput(
            f"{key} must be a list of mappings or a block of rows",
            where=self.where(self.document.line(node)),
            remedy=f"write '{key}: |' and below it, indented, a header row and the rows",
        )

    def _block(self, first: int) -> Table:
        """The literal block below line `first`: a header row, then rows of as many values."""
        numbered = [
            (number, stripped)
            for number, line in self.document.blocks.get(first, ())
            if (stripped := line.strip()) and stripped[0] != "#"
        ]
        if not numbered:
            raise BadInput("the table is empty", where=self.where(first))
        header = tuple(self._cells(*numbered[0]))
        for column in header:
            if header.count(column) > 1:
                raise BadInput(f"column {column!r} twice", where=self.where(numbered[0][0]))
        rows = [self._cells(number, line) for number, line in numbered[1:]]
        lines = [number for number, _ in numbered[1:]]
        for number, row in zip(lines, rows, strict=True):
            if len(row) != len(header):
                raise BadInput(
                    f"{len(row)} values in a table of {len(header)} columns",
                    where=self.where(number),
                    remedy=f"the columns are {', '.join(header)}",
                )
        return Table(header, rows, lines)

    def _cells(self, number: int, line: str) -> list[str]:
        if '"' not in line:
            return [cell.strip() for cell in line.split(",")] if " " in line else line.split(",")
        try:
            return [cell.strip() for cell in next(csv.reader([line], strict=True))]
        except csv.Error as error:
            where = self.where(number)
            raise BadInput(f"not a row of values: {error}", where=where) from None


def read_yaml(path: Path) -> Section:
    """The mapping at the top of a YAML file.

    Raises:
        BadInput: when there is no such file, it is not UTF-8, or not a YAML mapping.
    """
    lines = _read_text(path).splitlines()
    blocks = _blocks(lines)
    cut = {number for block in blocks.values() for number, _ in block}
    numbers = [number for number in range(1, len(lines) + 1) if number not in cut] or [1]
    document = _Document(path, blocks, numbers)
    return _section(document, _compose(document, lines), "")


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"larger than {MAX_FILE_BYTES >> 20} MiB", where=str(path))
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise BadInput(f"cannot be read: {error.strerror}", where=str(path)) from None
    except UnicodeDecodeError:
        raise BadInput("not a text file in UTF-8", where=str(path)) from None


def _compose(document: _Document, lines: Sequence[str]) -> yaml.Node:
    """The node tree of the lines that are left."""
    path, numbers = document.path, document.numbers
    kept = [lines[number - 1] for number in numbers] if lines else []
    text, loader = "\n".join(kept) + "\n", getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _check_nesting(document, yaml.parse(text, Loader=loader))
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = numbers[min(mark.line, len(numbers) - 1)] if mark else 1
        problem = error.problem or error.context or "unreadable"
        raise BadInput(f"not valid YAML: {problem}", where=f"{path}:{line}") from None
    except yaml.YAMLError as error:
        raise BadInput(f"not valid YAML: {str(error).splitlines()[0]}", where=str(path)) from None
    if node is None:
        raise BadInput("the file is empty", where=str(path))
    return node


def _check_nesting(document: _Document, events: Iterable[yaml.Event]) -> None:
    """Refuses nesting that no catalog has: composing it would overflow the parser's stack, while
    its events come one by one."""
    depth = 0
    for event in events:
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_NESTING:
            mark = event.start_mark
            line = document.numbers[min(mark.line, len(document.numbers) - 1)] if mark else 1
            raise BadInput("nested too deeply", where=f"{document.path}:{line}")


def _blocks(lines: Sequence[str]) -> Mapping[int, Sequence[tuple[int, str]]]:
    """The literal blocks: line of the key -> (line number, line) of all that stands below it and
    deeper; line numbers count from 1."""
    blocks: dict[int, list[tuple[int, str]]] = {}
    inside: list[tuple[int, str]] | None = None
    indent = 0
    for number, line in enumerate(lines, start=1):
        depth = len(line) - len(line.lstrip())
        if inside is not None and (depth > indent or not line.strip()):
            inside.append((number, line))
        else:
            inside, indent = None, depth
            if "|" in line and _BLOCK.match(line):
                inside = blocks[number] = []
    return blocks


def _section(document: _Document, node: yaml.Node, key: str) -> Section:
    line = document.line(node)
    if not isinstance(node, yaml.MappingNode):
        what = f"{key or 'the file'} must be a mapping (key: value)"
        raise BadInput(what, where=f"{document.path}:{line}")
    entries: dict[str, yaml.Node] = {}
    lines: dict[str, int] = {}
    for name, value in node.value:
        at = document.line(name)
        if not isinstance(name, yaml.ScalarNode):
            raise BadInput("a key must be a plain word", where=f"{document.path}:{at}")
        if name.value in entries:
            raise BadInput(f"key {name.value!r} twice", where=f"{document.path}:{at}")
        entries[name.value], lines[name.value] = value, at
    return Section(document, line, entries, lines, key)


def _table_of(records: Sequence[Section]) -> Table:
    """Mappings as one table: the columns are all keys, in the order of their first appearance."""
    columns = tuple(dict.fromkeys(key for record in records for key in record.entries))
    rows = [[record.get(key, str) or "" for key in columns] for record in records]
    return Table(columns, rows, [record.line for record in records])
