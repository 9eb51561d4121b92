"""The user's folders for sparkplan, by the XDG base directories; and paths as a user types them."""

from __future__ import annotations

import os
import pwd
from pathlib import Path


def path_exists(path: str | Path) -> bool:
    """Whether a path exists, as far as this user may know; False in a folder that may not be
    searched, where `Path.exists` raises."""
    return os.path.exists(path)


def expand_home(typed: str) -> Path:
    """A typed path with `~` expanded, where there is such a home folder."""
    if os.environ.get("HOME") == "" and (typed == "~" or typed.startswith("~/")):
        return _user_home() / typed[2:].lstrip("/")  # an absolute path would replace the home
    try:
        return Path(typed).expanduser()
    except RuntimeError:
        return Path(typed)


def current_folder() -> Path:
    """The folder in which the command was started; "." where it is no longer there."""
    try:
        return Path.cwd()
    except OSError:
        return Path()


def home(kind: str) -> Path:
    """The folder of sparkplan for "config", "data" or "state" files."""
    below = {"config": ".config", "data": ".local/share", "state": ".local/state"}[kind]
    chosen = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    # The XDG specification: relative paths are ignored.
    base = Path(chosen) if chosen.startswith("/") else _user_home() / below
    return base / "sparkplan"


def _user_home() -> Path:
    """The user's home folder; that of the account where HOME is empty, which names no folder. For a
    user without one it is the root, as for login(1): a container may run as a number that no
    account has, with no HOME."""
    try:
        if os.environ.get("HOME") == "":
            return Path(pwd.getpwuid(os.getuid()).pw_dir)
        return Path(os.environ.get("HOME", "~")).expanduser()
    except (KeyError, RuntimeError):
        return Path("/")
