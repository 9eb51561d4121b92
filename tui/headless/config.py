"""`sparkplan config`: path of the settings file, show it, set a value, create it."""

from __future__ import annotations

import argparse
import itertools
import re
from contextlib import suppress
from pathlib import Path

import engine
from tui import format as text
from tui.arguments import options
from tui.headless import output
from tui.state import PlanState
from tui.storage import config
from tui.storage.user_folders import path_exists


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_json(parser)
    what = parser.add_subparsers(dest="what", metavar="path|show|set|init")
    path = what.add_parser("path", help="where the file is")
    show = what.add_parser("show", help="every setting, checked (also without a word)")
    init = what.add_parser("init", help="begin a file that explains itself")
    setting = what.add_parser("set", help="set one value: theme nord, nodes 200, keys.pin P")
    setting.add_argument("key", metavar="KEY", help="a setting, as `show` names it")
    setting.add_argument("value", metavar="VALUE", help="its new value")
    for action in (path, show, init, setting):
        # Not given here, the option in front of the action holds.
        options.add_json(action, default=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    path = config.config_path()
    if args.what == "init":
        if path_exists(path):
            raise engine.BadInput("is there already", where=str(path), remedy="edit it")
        _write(path, config.TEMPLATE)
    elif args.what == "set":
        before = _current_text(path)
        after = with_setting(before, args.key, args.value)
        _write(path, after, typed=_first_change(before, after))
    if args.json:
        output.print_json({"path": str(path)} if args.what == "path" else as_dict(path))
    elif args.what in ("path", "init"):
        print(path)
    elif args.what != "set":
        _show(path)
    return 0


def _current_text(path: Path) -> str:
    """The text of the file, even with invalid settings: setting them is how they are corrected.

    Raises:
        BadInput: for a file that cannot be read as text, of which no line could be kept.
    """
    if not path_exists(path):
        return ""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise engine.BadInput(
            "not a text file in UTF-8", where=str(path), remedy="save it as UTF-8, or remove it"
        ) from None
    except OSError as error:
        raise engine.BadInput(
            f"cannot be read: {error.strerror}", where=str(path), remedy="check the path"
        ) from None


def as_dict(path: Path) -> dict[str, object]:
    """The settings of a file, null where it does not set them, and its key bindings."""
    config_read = config.read_config(path)
    settings = {key: getattr(config_read, key) for key in config.READERS}
    return {"path": str(path), "settings": settings, "keys": dict(config_read.keys)}


def _show(path: Path) -> None:
    settings = config.read_config(path)
    default_values = defaults()
    rows = []
    for key in config.READERS:
        value = getattr(settings, key)
        rows.append(
            (key, f"{_shown(default_values[key])} (default)" if value is None else _shown(value))
        )
    rows += [(f"keys.{action}", keys) for action, keys in settings.keys.items()]
    print(text.table([(key, text.escaped(value)) for key, value in rows]))


def defaults() -> dict[str, object]:
    """The values that hold where the file does not set them."""
    start = PlanState(sources=())
    return {
        "theme": "the terminal's",
        "glyphs": "auto",
        "catalog": start.catalog or "that of where it ran",
        "model": start.model,
        "confidence": start.confidence,
        "nodes": start.max_nodes,
        "vi": False,
    }


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, float):
        return f"{value * 100:g}%"
    return str(value)


def _first_change(before: str, after: str) -> int:
    """The number of the first line (from 1) that differs."""
    lines = zip(before.splitlines(), after.splitlines(), strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], lines)
    return 1 + sum(1 for _ in same)


def _write(path: Path, content: str, *, typed: int | None = None) -> None:
    """Write the file if its content is valid; a folder created for it is removed again otherwise.

    Args:
        typed: number of the line that is not in the file yet, so that an error there names no line.
    """
    try:
        made = [folder for folder in path.parents if not folder.exists()]
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise engine.BadInput(
            error.strerror or "cannot be made",
            where=str(path.parent),
            remedy="set XDG_CONFIG_HOME to a folder that you may write to",
        ) from None

    def check(temporary: Path) -> None:
        try:
            config.read_config(temporary)
        except engine.EngineError as error:
            where = (error.where or "").replace(str(temporary), str(path))
            if where == f"{path}:{typed}":
                where = ""
            raise engine.BadInput(
                error.what, where=where, remedy=error.remedy, choices=error.choices
            ) from None

    try:
        engine.write_text(path, content, check=check)
    except engine.EngineError:
        with suppress(OSError):  # another command may have written there meanwhile
            for folder in made:
                folder.rmdir()
        raise


_ENTRY = re.compile(
    r"""\s*[\w-]+:\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?:(?<!\s)\#|[^#])*?)(?P<note>\s+\#.*)?$""",
    re.VERBOSE,
)
"""A key, its value, and the comment behind it: a # after a blank, outside of quotes."""


def _with_comment_of(old: str, line: str) -> str:
    """The new line, with the trailing comment of the old one."""
    match = _ENTRY.match(old)
    return line + (match["note"] or "" if match else "")


def with_setting(content: str, key: str, value: str) -> str:
    """The text of a file with one value set; all else stays, comments too.

    Raises:
        BadInput: for a key that there is not, or a value of several lines.
    """
    section, _, action = key.rpartition(".")
    if section not in ("", "keys") or "\n" in value or not value.strip():
        raise engine.BadInput(
            f"{key} cannot be set to {value!r}", remedy="write sparkplan config set nodes 200"
        )
    known = config.ACTIONS if section else tuple(config.READERS)
    if action not in known:
        raise engine.UnknownName("setting", key, (*config.READERS, "keys.ACTION"))
    lines = content.splitlines()
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    line = f"{'  ' if section else ''}{action}: {value if value.isalnum() else quoted}"
    if not section:
        index = _line_of(lines, f"{action}:")
        _replace_or_insert(lines, index, line)
        return "\n".join(lines) + "\n"
    start = _line_of(lines, "keys:")
    if start is None:
        return "\n".join([*lines, "keys:", line]) + "\n"
    end = start + 1
    while end < len(lines) and (not lines[end].strip() or lines[end][0] in " #"):
        if lines[end].strip().startswith(f"{action}:"):
            lines[end] = _with_comment_of(lines[end], line)
            return "\n".join(lines) + "\n"
        end += 1
    lines.insert(start + 1, line)
    return "\n".join(lines) + "\n"


def _line_of(lines: list[str], begin: str) -> int | None:
    return next((n for n, line in enumerate(lines) if line.startswith(begin)), None)


def _replace_or_insert(lines: list[str], index: int | None, line: str) -> None:
    """Replace a line, else insert it before the keys, which come last."""
    if index is not None:
        lines[index] = _with_comment_of(lines[index], line)
        return
    keys = _line_of(lines, "keys:")
    lines.insert(len(lines) if keys is None else keys, line)
