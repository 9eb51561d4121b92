"""Where files of the user lie, by the XDG base directories."""

from __future__ import annotations

import os
from pathlib import Path


def path_exists(path: str | Path) -> bool:
    """Whether something of that name is there, as far as this user may know: what lies in a folder
    that may not be searched is not (`Path.exists` raises there)."""
    return os.path.exists(path)


def home(kind: str) -> Path:
    """The folder of sparkplan for "config", "data" or "state" files."""
    below = {"config": ".config", "data": ".local/share", "state": ".local/state"}[kind]
    chosen = os.environ.get(f"XDG_{kind.upper()}_HOME", "")
    # The specification says that a relative path is to be ignored.
    base = Path(chosen) if chosen.startswith("/") else Path(os.environ.get("HOME", "~")) / below
    return base.expanduser() / "sparkplan"
