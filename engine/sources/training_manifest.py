"""The manifest of a folder of training runs, and whether one version of the program made them all.

Ernest treats a job as a black box, so its model holds for one version of the code. A change is
detected by hashes of the program's files and requires new training runs (section 5).
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
"""Suffixes of programs and modules for spark-submit; other files are data or settings."""

_LOCAL = re.compile(r"^file:(?://(?=/))?")
"""Prefix of a local file's URI in Spark: `file:/app.jar`, `file:///app.jar`."""

Code = Mapping[str, str]
"""Path of a program's file, as in the command -> its SHA-256."""


def read_manifest(folder: Path) -> dict[str, Any]:
    """The entries of a folder's manifest by run name; empty without a manifest.

    Raises:
        BadInput: for a file that is not a manifest.
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


def code_hashes(command: Iterable[str]) -> dict[str, str]:
    """The hashes of the code files in a command. Files elsewhere (`s3://`, a path of the cluster)
    cannot be hashed and are left out."""
    hashes: dict[str, str] = {}
    for word in command:
        for name in word.rpartition("=")[2].split(","):
            path = Path(_LOCAL.sub("", name))
            if path.suffix.lower() not in CODE_SUFFIXES:
                continue
            try:
                state = path.stat()
                hashes[name] = _sha256(path.absolute(), state.st_size, state.st_mtime_ns)
            except (OSError, ValueError):
                continue
    return hashes


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, changed_ns: int) -> str:
    """The hash of a file, cached while its size and modification time stay the same."""
    import hashlib  # loaded only when runs are collected; reading a manifest does not need it

    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def changed_files(before: object, now: Code) -> tuple[str, ...]:
    """The files whose hash differs from the manifest's; files missing in either are ignored."""
    if not isinstance(before, Mapping):
        return ()
    return tuple(name for name in now if name in before and before[name] != now[name])


def code_notices(folder: Path, logs: Sequence[str]) -> list[Notice]:
    """The notice that, by its manifest, several versions of the program made a folder's logs.

    The version of the latest run counts as the current one. An unreadable manifest gives a notice
    of its own.
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
    older = {name: files for name, code in known if (files := changed_files(code, latest))}
    if not older:
        return []
    titles = ", ".join(dict.fromkeys(Path(file).name for one in older.values() for file in one))
    return [
        Notice(
            "code-changed",
            f"{len(older)} of {len(known)} training runs in {folder.resolve().name} were made by "
            f"another {titles} than the last one ({_names_text(list(older))}): a model is of one "
            "version of the code",
            "remove the logs of the old version and collect those runs again",
        )
    ]


def _names_text(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
