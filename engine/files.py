"""Reads text files of bounded size, and writes them atomically."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from engine.errors import BadInput


def write_text(
    path: str | Path, text: str, *, check: Callable[[Path], None] = lambda _: None
) -> None:
    """Writes a text file atomically, through a temporary file next to it.

    The target of a link is replaced, not the link. A device or a pipe (`/dev/null`, `/dev/stdout`,
    a named pipe) cannot be replaced and is written to directly.

    Args:
        check: validates the temporary file (with the suffix of `path`); if it raises, nothing is
            written and the exception propagates.

    Raises:
        BadInput: when it cannot be written.
    """
    if not str(path):
        raise BadInput("no file is named", remedy="add its name")
    _require_possible_name(path)
    try:
        _write(Path(path), text, check)
    except OSError as error:
        raise BadInput(
            error.strerror or "cannot be written",
            where=str(path),
            remedy=_REMEDIES.get(error.errno or 0),
        ) from None


_NAME_SHOWN = 20
"""Characters of a file's name, and of its ending, in that of its temporary file, which would
otherwise be too long where the name is nearly as long as file systems allow (255 bytes)."""


def _require_possible_name(path: str | Path) -> None:
    """Refuses a name with a NUL, of which the system's calls say no more than that it is there."""
    if "\0" in str(path):
        raise BadInput("no file has a NUL in its name", where=str(path), remedy="check the path")


def _write(target: Path, text: str, check: Callable[[Path], None]) -> None:
    """As `write_text`; raises OSError when it cannot be written."""
    stream = _is_stream(target)
    target = target if stream else target.resolve()
    handle, name = tempfile.mkstemp(
        dir=None if stream else target.parent,
        prefix=f".{target.name[:_NAME_SHOWN]}.",
        suffix=target.suffix[:_NAME_SHOWN],
    )
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        check(temporary)
        if stream:
            target.write_text(text, encoding="utf-8", newline="\n")
            temporary.unlink()
        else:
            temporary.chmod(_mode(target))
            temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def read_text(path: Path, *, most_bytes: int) -> str:
    """The content of a text file.

    Raises:
        BadInput: when there is no such file, it is larger, or not UTF-8.
    """
    _require_possible_name(path)
    try:
        if path.stat().st_size > most_bytes:
            raise BadInput(f"larger than {most_bytes >> 20} MiB", where=str(path))
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise unreadable(error, path) from None
    except UnicodeDecodeError:
        raise not_utf8(path) from None


def unreadable(error: OSError, where: str | Path) -> BadInput:
    """The error for a file or folder that cannot be read."""
    remedy = NOT_YOURS if isinstance(error, PermissionError) else "check the path"
    why = error.strerror or type(error).__name__
    return BadInput(f"cannot be read: {why}", where=str(where), remedy=remedy)


def not_utf8(path: Path) -> BadInput:
    """The error for a file that should be text in UTF-8 and is not."""
    remedy = "check the path, or save it as UTF-8"
    return BadInput("not a text file in UTF-8", where=str(path), remedy=remedy)


NOT_YOURS = "ask its owner for the right to read it, or name another"
"""The remedy for missing read permissions."""

_REMEDIES = {
    errno.ENOENT: "make its folder first, or choose another",
    errno.ENOTDIR: "choose another folder",
    errno.EISDIR: "add the name of a file",
    errno.EACCES: "choose a folder that you may write to",
    errno.EPERM: "choose a folder that you may write to",
    errno.EROFS: "choose a folder that you may write to",
    errno.ENOSPC: "make room there, or choose another folder",
}
"""Error number -> remedy, for files that cannot be written."""


def _is_stream(target: Path) -> bool:
    """Whether a path is a device or a pipe; `/dev/stdout` also if it is redirected to a file, to
    which others may go on writing."""
    if not target.exists() or target.is_dir():
        return False
    return not target.is_file() or target.absolute().parent in DESCRIPTORS


DESCRIPTORS = (Path("/dev"), Path("/dev/fd"), Path("/proc/self/fd"))
"""Folders of file descriptor names. Files below them (`/dev/shm/...`) are ordinary files."""


def _mode(target: Path) -> int:
    """The mode of the replaced file, else the default by the umask."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
