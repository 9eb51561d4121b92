"""Parses YAML to plain values with the line of every key, for errors with `file:line`.

Scalars stay text, to be converted by the reader; an empty scalar, `~` and `null` are None. Anchors
are refused and nesting is bounded, so that a hostile file cannot exhaust memory or overflow the
parser's stack. The parser takes some 10 us per value: long tables and lists of numbers are cut out
before parsing, and their values (`stand_ins`) are inserted afterwards.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from engine.errors import BadInput, UnknownName

MOST_NESTING, TOO_DEEP = 32, "nested too deeply"

STAND_IN = "!stand-in"
"""Tag of the placeholder for a value that was cut out; its content is the value's index."""

NULLS = frozenset({"", "~", "null", "Null", "NULL"})

Schema = Mapping[str, frozenset[str]]
"""Path of a mapping (names and `[]`, such as `runs[].stages[]`) -> its allowed keys; mappings with
free keys (parameters, settings) are not listed."""


@dataclass(slots=True)
class Located:
    """A document: its plain `value`, and the line of each path such as `runs[0].seconds`."""

    name: str
    value: Any = None
    lines: dict[str, int] = field(default_factory=dict)

    def where(self, path: str) -> str:
        """`file:line` of a path, or of the nearest thing above it that has a line."""
        while path and path not in self.lines:
            path = path[: max(path.rfind("."), path.rfind("["), 0)]
        return f"{self.name}:{self.lines.get(path, 1)}"

    def require_format(self, readable: str) -> None:
        """Raises BadInput for a document of another format."""
        stated = self.value.get("format")
        if stated != readable:
            raise BadInput(
                f"format {stated!r} is not read",
                where=self.where("format"),
                remedy=f"this version reads {readable}",
            )


def load(
    text: str, name: str, schema: Schema | None = None, stand_ins: Sequence[Any] = ()
) -> Located:
    """Parses the document in `text`; `name` is the file's name in errors.

    Args:
        schema: the allowed keys, if the reader does not check them itself.
        stand_ins: the values that were cut out of the text.

    Raises:
        BadInput: for text that is not YAML, is not a mapping, uses anchors or a key twice.
        UnknownName: for a key that is not in the schema, with close matches.
    """
    located = Located(name)
    located.value = _Builder(located, schema or {}, _events(text, name), stand_ins).document()
    if not isinstance(located.value, dict):
        raise BadInput("the file must be a mapping (key: value)", where=located.where(""))
    return located


def _events(text: str, name: str) -> Iterator[yaml.Event]:
    """The parser's events; unlike the composer, the event parser cannot overflow the stack."""
    try:
        yield from yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = error.problem or error.context or "unreadable"
        if "cannot start any token" in problem and _indented_by_tab(text, line):
            raise BadInput(
                "not valid YAML: a tab indents the line",
                where=f"{name}:{line}",
                remedy="indent with spaces",
            ) from None
        # The C library reads ahead, and some of its versions count how deep they are themselves.
        what = TOO_DEEP if "nesting" in problem else f"not valid YAML: {problem}"
        raise BadInput(what, where=f"{name}:{line}") from None
    except (yaml.YAMLError, ValueError) as error:
        problem = str(error).splitlines()[0] if str(error) else "unreadable"
        raise BadInput(f"not valid YAML: {problem}", where=name) from None


def _indented_by_tab(text: str, line: int) -> bool:
    """Whether a line, counted from 1, has a tab before its first word."""
    # YAML also ends lines at other characters, so that its number may be beyond these lines.
    content = "".join(text.split("\n")[line - 1 : line])
    return "\t" in content[: len(content) - len(content.lstrip())]


class _Builder:
    """Builds plain values from parser events, recording lines and checking keys."""

    def __init__(
        self,
        located: Located,
        schema: Schema,
        events: Iterator[yaml.Event],
        stand_ins: Sequence[Any],
    ) -> None:
        self._located = located
        self._schema = schema
        self._events = events
        self._stand_ins = stand_ins
        self._depth = 0

    def document(self) -> Any:
        """The value of the one document."""
        documents: list[Any] = []
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                if documents:
                    raise BadInput("holds more than one document", where=self._at(event))
                documents.append(self._value(event, "", ""))
        if not documents:
            raise BadInput("the file is empty", where=self._located.name)
        return documents[0]

    def _value(self, event: yaml.Event, path: str, shape: str) -> Any:
        line = _line(event)
        self._located.lines.setdefault(path, line)
        if getattr(event, "anchor", None) is not None:
            raise BadInput(
                "anchors are not read", where=self._at(event), remedy="write the value out"
            )
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        self._depth += 1
        if self._depth > MOST_NESTING:
            raise BadInput(TOO_DEEP, where=self._at(event))
        mapping = isinstance(event, yaml.MappingStartEvent)
        value = self._mapping(path, shape) if mapping else self._sequence(path, shape)
        self._depth -= 1
        return value

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text: str = event.value
        if event.tag == STAND_IN and text.isdigit() and int(text) < len(self._stand_ins):
            return self._stand_ins[int(text)]
        if not event.style and text in NULLS:  # "" by the C library, None without it
            return None
        return text

    def _sequence(self, path: str, shape: str) -> list[Any]:
        items: list[Any] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._value(event, f"{path}[{len(items)}]", f"{shape}[]"))
        return items

    def _mapping(self, path: str, shape: str) -> dict[str, Any]:
        known = self._schema.get(shape)
        mapping: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                raise BadInput("a key must be a plain word", where=self._at(event))
            key: str = event.value
            if known is not None and key not in known:
                raise UnknownName("key", key, known, where=self._at(event))
            if key in mapping:
                raise BadInput(f"key {key!r} twice", where=self._at(event))
            below = f"{path}.{key}" if path else key
            self._located.lines[below] = _line(event)
            mapping[key] = self._value(
                next(self._events), below, f"{shape}.{key}" if shape else key
            )
        return mapping

    def _at(self, event: yaml.Event) -> str:
        return f"{self._located.name}:{_line(event)}"


def _line(event: yaml.Event) -> int:
    """The line that an event starts on, counted from 1."""
    return event.start_mark.line + 1 if event.start_mark is not None else 1
