"""Stores named scenarios and the last session, in the folders of the XDG base directories.

Files are written whole or not at all.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import engine
from tui.storage.scenario import FILE_KEYS
from tui.storage.scenario_file import SavedPlan, format_saved_plan, read_saved_plan
from tui.storage.user_folders import expand_home, home, path_exists

ENDINGS = (".yaml", ".yml")
FORMER = "~"
"""Suffix of the name of the scenario that was replaced last, as editors name such files."""

_NAME = re.compile(rf"[\w][\w .@=-]{{0,79}}{FORMER}?")


class Saved(NamedTuple):
    """The result of saving a scenario.

    Args:
        former: the name to load the replaced one; None where it replaced none, or an equal one.
    """

    path: Path
    former: str | None


def session_path() -> Path:
    return home("state") / "session.yaml"


def path_of(name: str) -> Path:
    """The file of a scenario: a path as it is, a name in the folder of scenarios.

    Raises:
        BadInput: for a name that no file should have.
    """
    if "/" in name or name.lower().endswith(ENDINGS):
        return expand_home(name)
    if not _NAME.fullmatch(name):
        raise engine.BadInput(
            f"{name!r} is no name for a scenario",
            remedy="use letters, digits, spaces and -, or give a path that ends in .yaml",
        )
    return home("data") / "scenarios" / f"{name}.yaml"


def scenario_names() -> tuple[str, ...]:
    """The names of the stored scenarios."""
    try:
        return tuple(sorted(p.stem for p in (home("data") / "scenarios").glob("*.yaml")))
    except OSError:
        return ()


def save(name: str, plan: SavedPlan) -> Saved:
    """Write a scenario. One of that name is replaced and kept beside it; another kind of file is
    not replaced.

    Raises:
        BadInput: where it cannot be written, or a file that is no scenario is in the way.
    """
    path = path_of(name)
    if path.stem.endswith(FORMER):
        raise engine.BadInput(
            f"{name} is the name of a scenario that was replaced", remedy="choose another name"
        )
    if "-" in plan.state.sources:
        raise engine.BadInput(
            "what came from standard input cannot be opened again",
            remedy="save it as a file and open that",
        )
    content, former = format_saved_plan(plan, folder=path.parent), None
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
    """Copy the scenario at `path` to its former name, which is returned; None where `content` is
    equal."""
    _check_ours(path)
    old_content = path.read_text(encoding="utf-8-sig")
    former = path.with_name(f"{path.stem}{FORMER}{path.suffix}")
    if old_content == content:
        return None
    if path_exists(former):
        _check_ours(former)
    engine.write_text(former, old_content)
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
    known = scenario_names()
    if not path_exists(path) and path.parent == home("data") / "scenarios":
        raise engine.UnknownName(
            "scenario", name, known, remedy=None if known else "none is saved yet: :save NAME"
        )
    return read_saved_plan(path)


def save_session(plan: SavedPlan) -> None:
    """Store the session; one whose evidence cannot be opened again is not stored.

    Raises:
        BadInput: where it cannot be written.
    """
    if "-" in plan.state.sources:
        return
    path = session_path()
    _make(path.parent)
    engine.write_text(path, format_saved_plan(plan, folder=path.parent))


def last_session() -> SavedPlan:
    """The session that was stored last.

    Raises:
        BadInput: where there is none, or its evidence is gone.
    """
    path = session_path()
    if not path_exists(path):
        raise engine.BadInput(
            "no session was kept yet",
            where=str(path),
            remedy="leaving the planner keeps one, unless only a bundled sample was looked at",
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
