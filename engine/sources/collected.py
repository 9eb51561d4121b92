"""A folder of training runs: its manifest, and whether all of them were made by the same code.

To Ernest a job is a black box, so that its model is of one version of the code: a change is told by
hashes of the program's files, and asks for training anew (section 5).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from engine.errors import BadInput
from engine.notices import Notice

MANIFEST = ".sparkplan-collect.json"

CODE_SUFFIXES = frozenset({".py", ".jar", ".r", ".zip", ".egg", ".whl"})
"""What spark-submit takes as a program or as its modules; other files are data or settings."""

_LOCAL = re.compile(r"^file:(?://(?=/))?")
"""How Spark names a file of this machine as a URI: `file:/app.jar`, `file:///app.jar`."""

Code = Mapping[str, str]
"""Path of a program's file, as the command has it -> its SHA-256."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a folder's manifest says of each run, by name; empty where there is none.

    Raises:
        BadInput: for a manifest that is not one.
    """
    path = folder / MANIFEST
    try:
        return dict(json.loads(path.read_text(encoding="utf-8"))["runs"])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        raise BadInput(
            "is not a manifest of training runs", where=str(path), remedy="remove it; logs stay"
        ) from None


def code_of(command: Iterable[str]) -> dict[str, str]:
    """The files of a command that hold code, with their hashes; those elsewhere (`s3://`, a path
    of the cluster) cannot be hashed and are left out."""
    found: dict[str, str] = {}
    for word in command:
        for name in word.rpartition("=")[2].split(","):
            path = Path(_LOCAL.sub("", name))
            if path.suffix.lower() not in CODE_SUFFIXES:
                continue
            try:
                state = path.stat()
                found[name] = _sha256(path.absolute(), state.st_size, state.st_mtime_ns)
            except (OSError, ValueError):
                continue
    return found


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, changed_ns: int) -> str:
    """The hash of a file, taken once as long as its size and time stay."""
    import hashlib  # Only where runs are made: reading needs no more than what was written.

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def changed(before: object, now: Code) -> tuple[str, ...]:
    """Files whose code is another than a manifest says; none where either does not tell."""
    if not isinstance(before, Mapping):
        return ()
    return tuple(name for name in now if name in before and before[name] != now[name])


def code_notices(folder: Path, logs: Sequence[str]) -> list[Notice]:
    """That the logs of a folder were made by more than one version of the program, by its manifest.

    The version of the run that was made last is taken for the present one. A manifest that cannot
    be read tells nothing of the code, which is said.
    """
    try:
        entries = read_manifest(folder)
    except BadInput as error:
        return [
            Notice(
                "unreadable-manifest",
                f"{error.where}: {error.what}: whether one version of the program made its runs is "
                "not known",
                f"{error.remedy}, if the program was not changed between the runs",
            )
        ]
    here = frozenset(logs)
    known = [
        (name, entry["code"])
        for name, entry in entries.items()
        if name in here and isinstance(entry, Mapping) and isinstance(entry.get("code"), Mapping)
    ]
    if not known:
        return []
    latest = known[-1][1]
    older = {name: files for name, code in known if (files := changed(code, latest))}
    if not older:
        return []
    titles = ", ".join(dict.fromkeys(Path(file).name for one in older.values() for file in one))
    return [
        Notice(
            "code-changed",
            f"{len(older)} of {len(known)} training runs in {folder.resolve().name} were made by "
            f"another {titles} than the last one ({_some(list(older))}): a model is of one version "
            "of the code",
            "remove the logs of the old version and collect those runs again",
        )
    ]


def _some(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
