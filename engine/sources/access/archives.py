"""The logs in a zip, such as a history server sends and its page gives to download, read without
unpacking it to disk."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from engine.errors import BadInput, EngineError

_DAMAGED: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, EOFError, OSError)
with suppress(ImportError):  # a Python may be built without it; then no such member is opened
    from lzma import LZMAError

    _DAMAGED += (LZMAError,)
_CLOSED: tuple[type[Exception], ...] = (*_DAMAGED, NotImplementedError, RuntimeError, KeyError)


OFFICE_MEMBERS = frozenset({"[Content_Types].xml", "mimetype"})
"""What spreadsheets of Excel and of LibreOffice hold, which are zips too."""


@contextmanager
def stored_archive(path: Path) -> Iterator[Archive]:
    """A zip on disk.

    Raises:
        BadInput: when it cannot be read, and for a spreadsheet.
    """

    def damaged() -> BadInput:
        return BadInput(
            "the zip archive is damaged, or locked with a password", where=str(path),
            remedy="fetch it again, or unpack it and give the event log inside",
        )  # fmt: skip

    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise damaged() from None
    with archive:
        if not OFFICE_MEMBERS.isdisjoint(archive.namelist()):
            raise BadInput(
                "is a spreadsheet or another office document", where=str(path),
                remedy="save the sheet with the runs as CSV in UTF-8",
            )  # fmt: skip
        yield Archive(archive, damaged)


@dataclass(frozen=True, slots=True)
class Archive:
    """The files in a zip, never unpacked to disk; `damaged` makes the error for what cannot be
    read."""

    zip: zipfile.ZipFile
    damaged: Callable[[], EngineError]

    def names(self) -> dict[Path, str]:
        """Its files, folders left out: where each stands in the zip, and its name there. A name
        that begins with / stands in it too, as where nothing is unpacked it leads nowhere else."""
        names = (entry.filename for entry in self.zip.infolist() if not entry.is_dir())
        return {Path(name.lstrip("/")): name for name in names}

    def open(self, name: str) -> Member:
        """One of its files.

        Raises:
            EngineError: when it cannot be read.
        """
        try:
            return Member(self.zip.open(name), self.damaged)
        except _CLOSED:
            raise self.damaged() from None


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a zip, as something to read from."""

    file: IO[bytes]
    damaged: Callable[[], EngineError]

    def close(self) -> None:
        """Lets go of its place in the zip."""
        self.file.close()

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes.

        Raises:
            EngineError: when they are damaged.
        """
        try:
            return self.file.read(size)
        except _DAMAGED:
            raise self.damaged() from None
