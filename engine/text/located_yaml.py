"""YAML sections and tables with line numbers, for catalogs, workflows and scenarios.

Values stay text; the reader converts them and reports errors with `file:line`. A literal block of
comma-separated rows is cut out before YAML parsing: the parser takes far longer per character than
the `csv` module, and without the block a catalog of a thousand types loads in milliseconds with or
without the C library.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from engine.errors import BadInput, UnknownName
from engine.files import read_text
from engine.text.yaml_values import STAND_IN, Located, load

MAX_FILE_BYTES = 32 * 1024 * 1024
_WHOLE, _FRACTION = re.compile(r"-?[0-9]+\Z"), re.compile(r"[0-9]+\Z")
_BLOCK = re.compile(r"^(\s*[\w-]+:)\s*\|[-+]?\s*(?:#.*)?$")

T = TypeVar("T")
Convert = Callable[[str], T]
"""Text to a value; raises ValueError with a text such as "must be a number"."""


class Table(NamedTuple):
    """Rows of text; an empty cell is an unknown value.

    Args:
        columns: (c,) names. rows: (r, c) cells. lines: (r,) the line of each row.
        column_lines: (c,) the line where each column is first named.
    """

    columns: tuple[str, ...] = ()
    rows: Sequence[Sequence[str]] = ()
    lines: Sequence[int] = ()
    column_lines: Sequence[int] = ()


class Block(NamedTuple):
    """A literal block: its lines, numbered as in the file (from 1)."""

    lines: Sequence[tuple[int, str]]


@dataclass(frozen=True)
class Section:
    """A mapping of a YAML file; `at` is its path in the document, `key` its name.

    Methods that read a key raise BadInput with `file:line` for a value of another kind.
    """

    located: Located
    entries: Mapping[str, Any]
    at: str = ""
    key: str = ""

    @property
    def path(self) -> Path:
        return Path(self.located.name)

    @property
    def line(self) -> int:
        """The line of this section."""
        return self.located.lines[self.at]

    def where(self, line: int | None = None) -> str:
        """`file:line` of this section, or of another line of its file."""
        return f"{self.located.name}:{line or self.line}"

    def where_of(self, key: str) -> str:
        """`file:line` of one of its keys, or of this section if the key is missing."""
        return self.located.where(self._below(key))

    def line_of(self, key: str) -> int:
        """The line of one of its keys."""
        return self.located.lines[self._below(key)]

    def _below(self, key: str) -> str:
        return f"{self.at}.{key}" if self.at else key

    def check_keys(self, known: tuple[str, ...]) -> None:
        """Raises for the first unknown key, with close matches."""
        self.check_decimals()
        for key in self.entries:
            if key not in known:
                raise UnknownName("key", key, known, where=self.where_of(key))

    def check_decimals(self) -> None:
        """Raises for a decimal comma in `{price: 0,11}`, which YAML reads as price 0 and key 11."""
        for before, key in pairwise(self.entries):
            whole = self.entries[before]
            if isinstance(whole, str) and _WHOLE.match(whole) and _FRACTION.match(key):
                if self.get(key, str) is not None:
                    continue
                raise BadInput(
                    f"{before}: {whole},{key} is two values",
                    where=self.where_of(key),
                    remedy=f"write it with a point: {whole}.{key}",
                )

    def get(self, key: str, convert: Convert[T]) -> T | None:
        """A scalar, converted; None where the key is absent or empty, and for an empty text. For
        other converters than text, a quoted "" is an error. Errors of `convert` get the name and
        the line of the key."""
        value = self.entries.get(key)
        if isinstance(value, Block):
            value = "\n".join(line.strip() for _, line in value.lines)
        if value is not None and not isinstance(value, str):
            raise BadInput(f"{key} must be a plain value", where=self.where_of(key))
        if value is None or (value == "" and convert is str):
            return None
        try:
            return convert(value)
        except ValueError as error:
            raise BadInput(f"{key} {error}", where=self.where_of(key)) from None
        except BadInput as error:
            what = f"{key}: {error.what}"
            raise BadInput(what, where=self.where_of(key), remedy=error.remedy) from None

    def need(self, key: str, convert: Convert[T]) -> T:
        """As `get`; a missing value is an error."""
        value = self.get(key, convert)
        if value is None:
            named = f"{self.key}.{key}" if self.key else key
            raise BadInput(f"{named} is missing", where=self.where())
        return value

    def section(self, key: str) -> Section | None:
        """A nested mapping; None where the key is absent."""
        value = self.entries.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise BadInput(f"{key} must be a mapping (key: value)", where=self.where_of(key))
        return Section(self.located, value, self._below(key), key)

    def sections(self, key: str) -> list[Section]:
        """A list of mappings; empty if absent."""
        value = self.entries.get(key)
        if value is None:
            return []
        what = f"{key} must be a list of mappings (key: value)"
        if not isinstance(value, list):
            raise BadInput(what, where=self.where_of(key))
        sections = []
        for index, entry in enumerate(value):
            at = f"{self._below(key)}[{index}]"
            if not isinstance(entry, dict):
                raise BadInput(what, where=self.located.where(at))
            sections.append(Section(self.located, entry, at, key))
        return sections

    def names(self, key: str) -> tuple[str, ...]:
        """A list of scalars, or a single one; empty if absent."""
        value = self.entries.get(key)
        if value is None:
            return ()
        values = value if isinstance(value, list) else [value]
        if any(not isinstance(entry, str) for entry in values):
            raise BadInput(f"{key} must be a list of names", where=self.where_of(key))
        return tuple(values)

    def table(self, key: str) -> Table:
        """A table: a list of mappings, or a literal block with a header row; empty if absent."""
        value = self.entries.get(key)
        if key not in self.entries:
            return Table()
        if isinstance(value, Block):
            return self._block(value, self.line_of(key))
        if isinstance(value, list):
            return _table_of(self.sections(key))
        raise BadInput(
            f"{key} must be a list of mappings or a block of rows",
            where=self.where_of(key),
            remedy=f"write '{key}: |' and below it, indented, a header row and the rows",
        )

    def _block(self, block: Block, first: int) -> Table:
        """A literal block below line `first`: a header row, then rows with equally many values."""
        numbered = [
            (number, stripped)
            for number, line in block.lines
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
        return Table(header, rows, lines, [numbered[0][0]] * len(header))

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
    text, blocks = _without_blocks(read_text(path, most_bytes=MAX_FILE_BYTES))
    located = load(text, str(path), stand_ins=blocks)
    return Section(located, located.value)


def _without_blocks(text: str) -> tuple[str, list[Block]]:
    """The text with a placeholder for each literal block (all deeper-indented lines below its key);
    blank lines keep the line numbers of the rest."""
    kept_lines: list[str] = []
    blocks: list[Block] = []
    inside: list[tuple[int, str]] | None = None
    indent = 0
    for number, line in enumerate(text.splitlines(), start=1):
        depth = len(line) - len(line.lstrip())
        if inside is not None and (depth > indent or not line.strip()):
            inside.append((number, line))
            kept_lines.append("")
            continue
        inside, indent = None, depth
        match = _BLOCK.match(line) if "|" in line else None
        if match:
            inside = []
            line = f"{match[1]} {STAND_IN} {len(blocks)}"
            blocks.append(Block(inside))
        kept_lines.append(line)
    return "\n".join(kept_lines) + "\n", blocks


def _table_of(records: Sequence[Section]) -> Table:
    """Mappings as one table: the columns are all keys, in the order of their first appearance."""
    first: dict[str, int] = {}
    for record in records:
        record.check_decimals()
        for key in record.entries:
            first.setdefault(key, record.line_of(key))
    rows = [[record.get(key, str) or "" for key in first] for record in records]
    return Table(tuple(first), rows, [record.line for record in records], [*first.values()])
