"""Sections and tables of a YAML file: what catalogs are made of.

Everything is kept as text: what a value means is decided by whoever reads it, who can then say
`file:line` about anything that is wrong. A literal block of comma-separated rows is cut out before
the YAML parser sees it, because that parser takes far longer per character than the `csv` module:
a catalog of a thousand types loads in milliseconds with or without the C library.
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
from engine.files import unreadable
from engine.text.yaml_values import NULLS, STAND_IN, Located, load

MAX_FILE_BYTES = 32 * 1024 * 1024
_WHOLE, _FRACTION = re.compile(r"-?[0-9]+\Z"), re.compile(r"[0-9]+\Z")
_BLOCK = re.compile(r"^(\s*[\w-]+:)\s*\|[-+]?\s*(?:#.*)?$")

T = TypeVar("T")
Convert = Callable[[str], T]
"""Text to a value; raises ValueError with a text such as "must be a number"."""


class Table(NamedTuple):
    """Rows of text; an empty cell is a value that is not known.

    Args:
        columns: (c,) names. rows: (r, c) cells. lines: (r,) the line of each row.
        column_lines: (c,) where each column is named first.
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
    """A mapping of a YAML file; `at` is its path in the document, `key` what it is called."""

    located: Located
    entries: Mapping[str, Any]
    at: str = ""
    key: str = ""

    @property
    def path(self) -> Path:
        """The file."""
        return Path(self.located.name)

    @property
    def line(self) -> int:
        """Where it stands."""
        return self.located.lines[self.at]

    @property
    def lines(self) -> Mapping[str, int]:
        """Where each of its keys stands."""
        return {key: self.located.lines[self._below(key)] for key in self.entries}

    def where(self, line: int | None = None) -> str:
        """`file:line` of this section, or of another line of its file."""
        return f"{self.located.name}:{line or self.line}"

    def _below(self, key: str) -> str:
        return f"{self.at}.{key}" if self.at else key

    def check_keys(self, known: tuple[str, ...]) -> None:
        """Raises for the first key that is not known, offering close matches."""
        self.check_decimals()
        for key, line in self.lines.items():
            if key not in known:
                raise UnknownName("key", key, known, where=self.where(line))

    def check_decimals(self) -> None:
        """Raises for `{price: 0,11}`, which is the price 0 and, without a value, the key 11."""
        for before, key in pairwise(self.entries):
            whole = self.entries[before]
            if isinstance(whole, str) and _WHOLE.match(whole) and _FRACTION.match(key):
                if self.get(key, str) is not None:
                    continue
                raise BadInput(
                    f"{before}: {whole},{key} is two values",
                    where=self.where(self.lines[key]),
                    remedy=f"write it with a point: {whole}.{key}",
                )

    def get(self, key: str, convert: Convert[T]) -> T | None:
        """A plain value, converted; None where the key is absent or empty."""
        value = self.entries.get(key)
        if isinstance(value, Block):
            value = "\n".join(line.strip() for _, line in value.lines)
        if value is not None and not isinstance(value, str):
            raise BadInput(f"{key} must be a plain value", where=self.where(self.lines[key]))
        if value is None or value in NULLS:
            return None
        try:
            return convert(value)
        except ValueError as error:
            raise BadInput(f"{key} {error}", where=self.where(self.lines[key])) from None

    def need(self, key: str, convert: Convert[T]) -> T:
        """As `get`; a missing value is an error."""
        value = self.get(key, convert)
        if value is None:
            named = f"{self.key}.{key}" if self.key else key
            raise BadInput(f"{named} is missing", where=self.where())
        return value

    def section(self, key: str) -> Section | None:
        """A mapping below this one; None where the key is absent."""
        value = self.entries.get(key)
        return None if value is None else self._section(value, self._below(key), key)

    def _section(self, value: Any, at: str, key: str) -> Section:
        if not isinstance(value, dict):
            what = f"{key} must be a mapping (key: value)"
            raise BadInput(what, where=self.located.where(at))
        return Section(self.located, value, at, key)

    def table(self, key: str) -> Table:
        """A table: a list of mappings, or a literal block with a header row; empty if absent."""
        value = self.entries.get(key)
        if key not in self.entries:
            return Table()
        if isinstance(value, Block):
            return self._block(value, self.lines[key])
        if isinstance(value, list):
            at = self._below(key)
            records = [self._section(v, f"{at}[{n}]", key) for n, v in enumerate(value)]
            return _table_of(records)
        raise BadInput(
            f"{key} must be a list of mappings or a block of rows",
            where=self.where(self.lines[key]),
            remedy=f"write '{key}: |' and below it, indented, a header row and the rows",
        )

    def _block(self, block: Block, first: int) -> Table:
        """A literal block below line `first`: a header row, then rows of as many values."""
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
    text, blocks = _without_blocks(_read_text(path))
    located = load(text, str(path), stand_ins=blocks)
    return Section(located, located.value)


def _read_text(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise BadInput(f"larger than {MAX_FILE_BYTES >> 20} MiB", where=str(path))
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(error, path) from None
    except UnicodeDecodeError:
        raise BadInput("not a text file in UTF-8", where=str(path)) from None


def _without_blocks(text: str) -> tuple[str, list[Block]]:
    """The text with a stand-in for each literal block, all that stands below its key and deeper;
    blank lines keep the others where they were."""
    kept: list[str] = []
    blocks: list[Block] = []
    inside: list[tuple[int, str]] | None = None
    indent = 0
    for number, line in enumerate(text.splitlines(), start=1):
        depth = len(line) - len(line.lstrip())
        if inside is not None and (depth > indent or not line.strip()):
            inside.append((number, line))
            kept.append("")
            continue
        inside, indent = None, depth
        match = _BLOCK.match(line) if "|" in line else None
        if match:
            inside = []
            line = f"{match[1]} {STAND_IN} {len(blocks)}"
            blocks.append(Block(inside))
        kept.append(line)
    return "\n".join(kept) + "\n", blocks


def _table_of(records: Sequence[Section]) -> Table:
    """Mappings as one table: the columns are all keys, in the order of their first appearance."""
    first: dict[str, int] = {}
    for record in records:
        record.check_decimals()
        for key, line in record.lines.items():
            first.setdefault(key, line)
    rows = [[record.get(key, str) or "" for key in first] for record in records]
    return Table(tuple(first), rows, [record.line for record in records], [*first.values()])
