"""YAML as plain values in which every key remembers its line, for errors that say `file:line`.

Scalars stay text (what they mean is decided by whoever reads them); an empty scalar, `~` and
`null` are None. Anchors are refused and nesting is bounded, so that a hostile file cannot grow in
memory or overflow the parser's stack. The parser takes some 10 us for each value: long tables and
lists of numbers are cut out before it sees them, and `stand_ins` put in their place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from engine.errors import BadInput, UnknownName

MOST_NESTING, TOO_DEEP = 32, "nested too deeply"

STAND_IN = "!stand-in"
"""Tag of a scalar that holds the place of a value that was cut out: its number among them."""

NULLS = frozenset({"", "~", "null", "Null", "NULL"})

Schema = Mapping[str, frozenset[str]]
"""Path of a mapping (names and `[]`, such as `runs[].stages[]`) -> the keys that it may have;
mappings with free keys (parameters, settings) are not listed."""


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
        """Raises BadInput for a document of another format than the one that is read."""
        found = self.value.get("format")
        if found != readable:
            raise BadInput(
                f"format {found!r} is not read",
                where=self.where("format"),
                remedy=f"this version reads {readable}",
            )


def load(
    text: str, name: str, schema: Schema | None = None, stand_ins: Sequence[Any] = ()
) -> Located:
    """The document in `text`; `name` is what errors call the file.

    Args:
        schema: the keys that are allowed, where the reader does not check them itself.
        stand_ins: the values that were cut out of the text.

    Raises:
        BadInput: for text that is not YAML, is not a mapping, uses anchors or a key twice.
        UnknownName: for a key that the schema does not have, with close matches.
    """
    located = Located(name)
    located.value = _Builder(located, schema or {}, _events(text, name), stand_ins).document()
    if not isinstance(located.value, dict):
        raise BadInput("the file must be a mapping (key: value)", where=located.where(""))
    return located


def _events(text: str, name: str) -> Iterator[yaml.Event]:
    """The parser's events; unlike its composer it cannot overflow the stack."""
    try:
        yield from yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = error.problem or error.context or "unreadable"
        # The C library reads ahead, and some of its versions count how deep they are themselves.
        what = TOO_DEEP if "nesting" in problem else f"not valid YAML: {problem}"
        raise BadInput(what, where=f"{name}:{line}") from None
    except (yaml.YAMLError, ValueError) as error:
        problem = str(error).splitlines()[0] if str(error) else "unreadable"
        raise BadInput(f"not valid YAML: {problem}", where=name) from None


class _Builder:
    """Turns events into plain values, noting lines and checking keys on the way."""

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
        found: list[Any] = []
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                if found:
                    raise BadInput("holds more than one document", where=self._at(event))
                found.append(self._value(event, "", ""))
        if not found:
            raise BadInput("the file is empty", where=self._located.name)
        return found[0]

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
        found = self._mapping(path, shape) if mapping else self._sequence(path, shape)
        self._depth -= 1
        return found

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text: str = event.value
        if event.tag == STAND_IN and text.isdigit() and int(text) < len(self._stand_ins):
            return self._stand_ins[int(text)]
        if not event.style and text in NULLS:  # "" by the C library, None without it
            return None
        return text

    def _sequence(self, path: str, shape: str) -> list[Any]:
        found: list[Any] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            found.append(self._value(event, f"{path}[{len(found)}]", f"{shape}[]"))
        return found

    def _mapping(self, path: str, shape: str) -> dict[str, Any]:
        known = self._schema.get(shape)
        found: dict[str, Any] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            if not isinstance(event, yaml.ScalarEvent):
                raise BadInput("a key must be a plain word", where=self._at(event))
            key: str = event.value
            if known is not None and key not in known:
                raise UnknownName("key", key, known, where=self._at(event))
            if key in found:
                raise BadInput(f"key {key!r} twice", where=self._at(event))
            below = f"{path}.{key}" if path else key
            self._located.lines[below] = _line(event)
            found[key] = self._value(next(self._events), below, f"{shape}.{key}" if shape else key)
        return found

    def _at(self, event: yaml.Event) -> str:
        return f"{self._located.name}:{_line(event)}"


def _line(event: yaml.Event) -> int:
    """The line that an event starts on, counted from 1."""
    return event.start_mark.line + 1 if event.start_mark is not None else 1
