"""The user's settings: one small YAML file, checked line by line.

Options on the command line override it; it overrides the defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import engine
from tui.storage.user_folders import expand_home, home, path_exists

if TYPE_CHECKING:
    from tui.widgets.glyphs import GlyphChoice

GLYPHS = ("auto", "unicode", "blocks", "ascii")
ACTIONS = (
    *("chart-time", "chart-cost", "open", "ran-on", "filter", "catalog", "limits", "mix"),
    *("spot", "model", "job"),
    *("category", "export", "copy", "help", "palette", "undo", "redo", "pin", "unpin", "notices"),
    *("jump", "command", "suspend", "quit", "previous-view", "next-view"),
    *("crosshair", "zoom-in", "zoom-out", "zoom-all", "pan-left", "pan-right"),
    *("log-x", "log-y", "draw", "save-chart", "training-plan"),
)
"""Actions whose keys can be changed; the number keys of the views are fixed."""

NAMED_KEYS = frozenset(
    (
        *("escape", "enter", "tab", "space", "backspace", "delete", "insert", "home", "end"),
        *("pageup", "pagedown", "up", "down", "left", "right"),
        *(f"f{number}" for number in range(1, 13)),
    )
)
FIXED_KEYS = frozenset("123456789")
MODIFIERS = frozenset(("ctrl", "shift", "alt"))

TEMPLATE = """\
# Settings of sparkplan. A line without # counts; options on the command line override it.

# theme: textual-dark     # see :theme in the planner; without it the terminal decides
# glyphs: auto            # auto, unicode, blocks or ascii
# catalog: aws            # a name (sparkplan catalog list) or a file; else where it ran
# model: sparkplan        # see sparkplan models
# confidence: 90%
# nodes: 64               # at most this many
# vi: off                 # h j k l 0 G move as the arrow keys, home and end do

# keys:                   # action: key, or several keys
#   undo: u, U
#   pin: p
"""


@dataclass(frozen=True, kw_only=True)
class Config:
    """The settings of the file; None for what it does not set.

    Args:
        keys: action -> keys, as Textual names them, separated by commas.
    """

    theme: str | None = None
    glyphs: GlyphChoice | None = None
    catalog: str | None = None
    model: str | None = None
    confidence: float | None = None
    nodes: int | None = None
    vi: bool | None = None
    keys: Mapping[str, str] = field(default_factory=dict)


def config_path() -> Path:
    return home("config") / "config.yaml"


def read_config(path: Path | None = None) -> Config:
    """The settings; all None where there is no file.

    Raises:
        BadInput: with file, line and key for what is unknown or has no meaning.
    """
    path = path or config_path()
    if not path_exists(path) or not _says_anything(path):
        return Config()
    top = engine.read_yaml(path)
    top.check_keys((*READERS, "keys"))
    settings: dict[str, Any] = {}
    for key, reader in READERS.items():
        if top.entries.get(key) is not None:
            settings[key] = _read(top, key, reader)
    return Config(**settings, keys=_keys(top.section("keys")))


def _says_anything(path: Path) -> bool:
    """Whether the file has more than comments."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return True
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def _read(section: engine.Section, key: str, reader: Callable[[str], Any]) -> Any:
    where = section.where_of(key)
    value = section.entries[key]
    if not isinstance(value, str):
        raise engine.BadInput(f"{key} must be a plain value", where=where)
    try:
        return reader(value.strip())
    except engine.EngineError as error:
        raise engine.BadInput(
            f"{key}: {error.what}", where=where, remedy=error.remedy, choices=error.choices
        ) from None


def _one_of(kind: str, known: tuple[str, ...]) -> Callable[[str], str]:
    def read(value: str) -> str:
        if value not in known:
            raise engine.UnknownName(kind, value, known)
        return value

    return read


def _theme(value: str) -> str:
    from tui.themes import NAMES

    if value not in NAMES:
        listed = ", ".join(sorted(NAMES))  # more than the error itself would list
        raise engine.UnknownName("theme", value, NAMES, remedy=f"choose one of {listed}")
    return value


def _catalog(value: str) -> str:
    path = expand_home(value)
    if path_exists(path) and path.is_file():
        return str(path)
    return _one_of("catalog", tuple(entry.name for entry in engine.list_catalogs()))(value)


def _nodes(value: str) -> int:
    from tui.views.goal import parse_nodes

    return parse_nodes(value)


def _switch(value: str) -> bool:
    return _one_of("switch", ("on", "off"))(value) == "on"


READERS: Mapping[str, Callable[[str], Any]] = {
    "theme": _theme,
    "glyphs": _one_of("glyphs", GLYPHS),
    "catalog": _catalog,
    "model": lambda value: _one_of("model", tuple(engine.MODELS_BY_NAME))(value),
    "confidence": engine.parse_confidence,
    "nodes": _nodes,
    "vi": _switch,
}
"""Setting -> parser of its text."""


def _keys(section: engine.Section | None) -> dict[str, str]:
    """The key bindings; a key can have one action only."""
    if section is None:
        return {}
    section.check_keys(ACTIONS)
    bindings = {action: _read(section, action, parse_keys) for action in section.entries}
    action_of_key: dict[str, str] = {}
    for action, keys in bindings.items():
        for key in keys.split(","):
            if action_of_key.setdefault(key, action) != action:
                raise engine.BadInput(
                    f"{action}: the key {key} is that of {action_of_key[key]} already",
                    where=section.where_of(action),
                    remedy="choose another key",
                )
    return bindings


def parse_keys(value: str) -> str:
    """ "u, ctrl+z" as keys separated by commas.

    Raises:
        BadInput: for what is no key, or one that is fixed.
    """
    keys = [key.strip() for key in value.split(",")]
    for key in keys:
        *modifiers, last = key.split("+") if len(key) > 1 else [key]
        known = len(last) == 1 or last in NAMED_KEYS
        if not known or not last.isprintable() or not set(modifiers) <= MODIFIERS:
            raise engine.BadInput(
                f"{key!r} is no key", remedy="write u, U, ctrl+u, f2, delete or several with commas"
            )
        if key in FIXED_KEYS:
            raise engine.BadInput(f"{key} shows a view", remedy="choose another key")
    return ",".join(keys)
