"""What is kept between sessions, and where: named scenarios and the last session.

Files are written whole or not at all. The places follow the XDG base directories.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import engine
from tui.storage.scenario import FILE_KEYS
from tui.storage.scenario_file import SavedPlan, format_saved_plan, read_saved_plan
from tui.storage.user_folders import home, path_exists

ENDINGS = (".yaml", ".yml")
FORMER = "~"
"""Ends the name of the scenario that was replaced last, as editors name such files."""

_NAME = re.compile(rf"[\w][\w .@=-]{{0,79}}{FORMER}?")


class Saved(NamedTuple):
    """A scenario that was written.

    Args:
        former: how to load the one that it replaced; None where it replaced none, or its equal.
    """

    path: Path
    former: str | None


def session_path() -> Path:
    return home("state") / "session.yaml"


def path_of(name: str) -> Path:
    """The file of a scenario: a path as it is, a name among those that are kept.

    Raises:
        BadInput: for a name that no file should have.
    """
    if "/" in name or name.lower().endswith(ENDINGS):
        return Path(name).expanduser()
    if not _NAME.fullmatch(name):
        raise engine.BadInput(
            f"{name!r} is no name for a scenario",
            remedy="use letters, digits, spaces and -, or give a path that ends in .yaml",
        )
    return home("data") / "scenarios" / f"{name}.yaml"


def saved() -> tuple[str, ...]:
    """The names of the scenarios that are kept."""
    try:
        return tuple(sorted(p.stem for p in (home("data") / "scenarios").glob("*.yaml")))
    except OSError:
        return ()


def save(name: str, kept: SavedPlan) -> Saved:
    """Write a scenario; one of that name is replaced and kept beside it, another file is not.

    Raises:
        BadInput: where it cannot be written, or a file that is no scenario is in the way.
    """
    path = path_of(name)
    if path.stem.endswith(FORMER):
        raise engine.BadInput(
            f"{name} is the name of a scenario that was replaced", remedy="choose another name"
        )
    if "-" in kept.state.sources:
        raise engine.BadInput(
            "what came from standard input cannot be opened again",
            remedy="save it as a file and open that",
        )
    content, former = format_saved_plan(kept, folder=path.parent), None
    if path_exists(path):
        former = _keep_former(path, content)
    elif path.parent == home("data") / "scenarios":
        _make(path.parent)
    engine.write_text(path, content)
    if former is None:
        return Saved(path, None)
    by_name = former == home("data") / "scenarios" / f"{former.stem}.yaml"
    return Saved(path, former.stem if by_name else str(former))


def _keep_former(path: Path, content: str) -> Path | None:
    """The file that now holds the scenario of `path`; None where `content` is the same."""
    _check_ours(path)
    standing = path.read_text(encoding="utf-8-sig")
    former = path.with_name(f"{path.stem}{FORMER}{path.suffix}")
    if standing == content:
        return None
    if path_exists(former):
        _check_ours(former)
    engine.write_text(former, standing)
    return former


def _check_ours(path: Path) -> None:
    try:
        engine.read_yaml(path).check_keys(FILE_KEYS)
    except engine.BadInput:
        raise engine.BadInput(
            "is there already and is no scenario", where=str(path), remedy="choose another name"
        ) from None


def load(name: str) -> SavedPlan:
    """A scenario with its pins, by name or path.

    Raises:
        BadInput: where there is none, or it is wrong (file, line, key).
    """
    path = path_of(name)
    known = saved()
    if not path_exists(path) and path.parent == home("data") / "scenarios":
        raise engine.UnknownName(
            "scenario", name, known, remedy=None if known else "none is saved yet: :save NAME"
        )
    return read_saved_plan(path)


def save_session(kept: SavedPlan) -> None:
    """Keep the session; one whose evidence cannot be opened again is not kept.

    Raises:
        BadInput: where it cannot be written.
    """
    if "-" in kept.state.sources:
        return
    path = session_path()
    _make(path.parent)
    engine.write_text(path, format_saved_plan(kept, folder=path.parent))


def last_session() -> SavedPlan:
    """The session that was kept last.

    Raises:
        BadInput: where there is none, or its evidence is gone.
    """
    path = session_path()
    if not path_exists(path):
        raise engine.BadInput(
            "no session was kept yet",
            where=str(path),
            remedy="one is kept whenever the planner is left",
        )
    return read_saved_plan(path)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise engine.BadInput(
            error.strerror or "cannot be made",
            where=str(folder),
            remedy="set XDG_STATE_HOME and XDG_DATA_HOME to folders that you may write to",
        ) from None
