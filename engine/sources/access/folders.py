"""Groups the files of a folder into logs: rolling logs, Databricks parts, folders of logs."""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.errors import BadInput
from engine.files import unreadable

ROLLING_PART = re.compile(r"events_(\d{1,9})_(?P<application>[\w-]+).*?(\.compact)?$")
_APPLICATION = re.compile(r"(application_|app-|local-|spark-)[\da-f]")
"""How the log of an application is named by Spark's cluster managers."""

_DATABRICKS = re.compile(r"eventlog(-\d{4}-\d{2}-\d{2}--\d{2}-\d{2}.*)?$")
_NOT_LOGS = ("appstatus_", ".", "_SUCCESS")
_BEING_COMPACTED = ".compact.inprogress"
"""Suffix of a compacted part that the history server is still writing; the parts that it replaces
still exist."""

MOST_FILES = 100_000
MOST_DEPTH = 16


@dataclass(frozen=True, slots=True)
class LogFiles:
    """The parts of one log, in order; `lost` describes missing parts.

    `missing_before` is, for each part, the number of missing parts directly before it.
    """

    name: str
    parts: tuple[Path, ...]
    lost: tuple[str, ...] = ()
    missing_before: tuple[int, ...] = ()


def logs_in(folder: Path, entered: Callable[[], None] | None = None) -> list[LogFiles]:
    """The logs in a folder and its subfolders, ordered by name.

    The `events_<n>_<application>` files of a folder are one rolling log for each application, its
    `eventlog` and `eventlog-...` files are one Databricks log. In a folder without either every
    file counts as a log of its own, and beside rolling logs those that are named after an
    application. So does an unreadable subfolder: in a shared folder, rolling logs of other users
    often are. Each folder is entered once, so links cannot loop.

    Args:
        entered: called before each subfolder; an exception that it raises ends the search.

    Raises:
        BadInput: for a folder that cannot be read or holds more than `MOST_FILES` files.
    """
    logs: list[LogFiles] = []
    try:
        _walk(folder, _names(folder), logs, set(), MOST_DEPTH, entered or _nothing)
    except OSError as error:
        raise unreadable(error, folder) from None
    return logs


def log_of(folder: Path) -> LogFiles | None:
    """The one log that a folder is: a rolling or a Databricks one; None for any other folder, as of
    several logs.

    Raises:
        OSError: when it cannot be read.
    """
    with os.scandir(folder) as entries:
        files = sorted(folder / entry.name for entry in entries if entry.is_file())
    logs = _arranged(folder, [path for path in files if not path.name.startswith(_NOT_LOGS)])
    return logs[0] if len(logs) == 1 and logs[0].name == str(folder) else None


def logs_among(files: Iterable[Path], root: Path = Path()) -> list[LogFiles]:
    """The logs among files listed elsewhere: in an archive or an object store."""
    by_folder: defaultdict[Path, list[Path]] = defaultdict(list)
    for path in files:
        below = path.relative_to(root)
        hidden = any(part.startswith(_NOT_LOGS) for part in below.parts)
        if not hidden and path.suffix != ".crc":
            by_folder[path.parent].append(path)
    return [
        log for folder in sorted(by_folder) for log in _arranged(folder, sorted(by_folder[folder]))
    ]


def _arranged(folder: Path, files: list[Path]) -> list[LogFiles]:
    """The logs formed by the files of one folder."""
    rolling = _rolling(folder, files)
    others = [path for path in files if not ROLLING_PART.match(path.name)]
    if databricks := _databricks(folder, others):
        return _named_apart([*rolling, databricks])
    if rolling:
        others = [path for path in others if _APPLICATION.match(path.name)]
    return [*_named_apart(rolling), *(LogFiles(str(path), (path,)) for path in others)]


def _named_apart(logs: list[LogFiles]) -> list[LogFiles]:
    """Logs of one folder: one alone is named after the folder, several after their first parts."""
    return logs if len(logs) < 2 else [replace(log, name=str(log.parts[0])) for log in logs]


def _names(folder: Path) -> dict[str, str]:
    """The entries of a folder: name -> "file", "folder", or "" for a broken link."""
    kinds = {}
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda entry: entry.name):
            try:
                kinds[entry.name] = (
                    "folder" if entry.is_dir() else "file" if entry.is_file() else ""
                )
            except OSError:
                kinds[entry.name] = ""
    return kinds


def _nothing() -> None:
    """For a search that nobody watches."""


def _walk(
    folder: Path,
    names: Mapping[str, str],
    logs: list[LogFiles],
    visited: set[tuple[int, int]],
    depth: int,
    entered: Callable[[], None],
) -> None:
    status = folder.stat()
    key = (status.st_dev, status.st_ino)
    if key in visited or depth == 0:
        return
    visited.add(key)
    kinds = {name: kind for name, kind in names.items() if not name.startswith(_NOT_LOGS)}
    files = [name for name, kind in kinds.items() if kind == "file" and not name.endswith(".crc")]
    logs.extend(_arranged(folder, [folder / name for name in files]))
    if len(logs) > MOST_FILES:
        raise BadInput(
            f"more than {MOST_FILES} files", where=str(folder), remedy="name fewer of them"
        )
    for path in (folder / name for name, kind in kinds.items() if kind == "folder"):
        entered()
        try:
            below = _names(path)
        except OSError:
            logs.append(LogFiles(str(path), (path,)))
        else:
            _walk(path, below, logs, visited, depth - 1, entered)


def _rolling(folder: Path, files: list[Path]) -> list[LogFiles]:
    """The rolling logs in a folder, by application."""
    of_application: defaultdict[str, list[tuple[int, bool, Path]]] = defaultdict(list)
    for path in files:
        part = ROLLING_PART.match(path.name)
        if part and not path.name.endswith(_BEING_COMPACTED):
            of_application[part["application"]].append((int(part[1]), bool(part[3]), path))
    return [_rolling_log(str(folder), of_application[name]) for name in sorted(of_application)]


def _rolling_log(name: str, numbered: Sequence[tuple[int, bool, Path]]) -> LogFiles:
    """A rolling log: parts by number, from 1 as in Spark or from 0 as in EMR on EKS and EMR
    Serverless. A compacted part replaces all parts up to its number. Of two parts of one number one
    is an unpacked copy, and the first by name is read.

    Args:
        numbered: number, whether it is compacted, and path of each part.
    """
    compacted = max((number for number, compact, _ in numbered if compact), default=None)
    part_of = dict[int, Path]()
    for number, compact, path in sorted(numbered):
        if compacted is None or number > compacted or (compact and number == compacted):
            part_of.setdefault(number, path)
    numbers, parts = list(part_of), tuple(part_of.values())
    if numbers[-1] >= MOST_FILES:
        return LogFiles(name, parts)
    present = set(numbers)
    first = min(1, numbers[0]) if compacted is None else compacted
    missing = [n for n in range(first, numbers[-1] + 1) if n not in present]
    before = [first - 1, *numbers[:-1]]
    total = numbers[-1] + (first == 0)
    return LogFiles(
        name,
        parts,
        (f"{parts_text(missing, total)} missing",) if missing else (),
        tuple(max(0, b - a - 1) for a, b in zip(before, numbers, strict=True)),
    )


def parts_text(missing: Sequence[int], total: int) -> str:
    """The numbers of missing parts, at most five, as text: "parts 3, 4 of 9"."""
    named = ", ".join(str(number) for number in missing[:5])
    more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
    return f"{'part' if len(missing) == 1 else 'parts'} {named}{more} of {total}"


def _databricks(folder: Path, files: list[Path]) -> LogFiles | None:
    """A Databricks log: parts named by time; the plain `eventlog`, which is written last and may be
    missing, is the last."""
    parts = [path for path in files if _DATABRICKS.match(path.name)]
    if not parts:
        return None
    ordered = sorted(parts, key=lambda path: (path.name == "eventlog", path.name))
    return LogFiles(str(folder), tuple(ordered))
