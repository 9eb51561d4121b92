"""YAML as plain values in which every key remembers its line, for errors that say `file:line`.

Scalars stay text (what they mean is decided by the schema that reads them); an empty scalar, `~`
and `null` are None. Anchors are refused and nesting is bounded, so that a hostile file cannot
grow in memory. Lines that hold one measure in the form that `profile_file` writes are read
without the YAML parser, which takes 10 us for each number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from engine.errors import BadInput, UnknownName

MOST_NESTING = 32

_MEASURE = re.compile(
    r"^(?P<key>[ ]+[a-z_]+: )\{count: (?P<count>\d{1,15}), total: (?P<total>[-+.\de]+), "
    r"quantiles: \[(?P<quantiles>[-+.\de, ]*)\]\}[ ]*$",
    re.MULTILINE,
)
_CUT = "!measure"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})

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


def load(text: str, name: str, schema: Schema) -> Located:
    """The document in `text`; `name` is what errors call the file.

    Raises:
        BadInput: for text that is not YAML, is not a mapping, uses anchors or a key twice.
        UnknownName: for a key that the schema does not have, with close matches.
    """
    measures: list[dict[str, Any]] = []

    def cut(match: re.Match[str]) -> str:
        try:
            measures.append(_measure(match))
        except ValueError:
            return match[0]
        return f"{match['key']}{_CUT} {len(measures) - 1}"

    text = _MEASURE.sub(cut, text)
    located = Located(name)
    located.value = _Builder(located, schema, _events(text, name), measures).document()
    if not isinstance(located.value, dict):
        raise BadInput("must be a mapping (key: value)", where=f"{name}:1")
    return located


def _measure(match: re.Match[str]) -> dict[str, Any]:
    quantiles = match["quantiles"]
    values = [float(value) for value in quantiles.split(",")] if quantiles.strip() else []
    return {
        "count": int(match["count"]),
        "total": float(match["total"]),
        "quantiles": values,
    }


def _events(text: str, name: str) -> Iterator[yaml.Event]:
    """The parser's events; unlike its composer it cannot overflow the stack."""
    try:
        yield from yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        problem = error.problem or error.context or "unreadable"
        raise BadInput(f"not valid YAML: {problem}", where=f"{name}:{line}") from None
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
        measures: list[dict[str, Any]],
    ) -> None:
        self._located = located
        self._schema = schema
        self._events = events
        self._measures = measures
        self._depth = 0

    def document(self) -> Any:
        """The value of the first document."""
        for event in self._events:
            if isinstance(event, yaml.NodeEvent):
                return self._value(event, "", "")
        raise BadInput("is empty", where=self._located.name)

    def _value(self, event: yaml.Event, path: str, shape: str) -> Any:
        line = _line(event)
        self._located.lines.setdefault(path, line)
        if getattr(event, "anchor", None) is not None:
            raise BadInput("anchors are not read", where=self._at(event))
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        self._depth += 1
        if self._depth > MOST_NESTING:
            raise BadInput("nested too deeply", where=self._at(event))
        mapping = isinstance(event, yaml.MappingStartEvent)
        found = self._mapping(path, shape) if mapping else self._sequence(path, shape)
        self._depth -= 1
        return found

    def _scalar(self, event: yaml.ScalarEvent) -> Any:
        text: str = event.value
        if event.tag == _CUT and text.isdigit() and int(text) < len(self._measures):
            return self._measures[int(text)]
        if event.style is None and text in _NULLS:
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
