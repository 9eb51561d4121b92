"""Reads logs in a zip, such as a history server offers for download, without unpacking to disk."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from engine.errors import BadInput, EngineError
from engine.sources.access.codecs import ExplainedFile

_DAMAGED: tuple[type[Exception], ...] = (zipfile.BadZipFile, zlib.error, EOFError, OSError)
with suppress(ImportError):  # a Python may be built without it; then no such member is opened
    from lzma import LZMAError

    _DAMAGED += (LZMAError,)
_CLOSED: tuple[type[Exception], ...] = (*_DAMAGED, NotImplementedError, RuntimeError, KeyError)

OFFICE_MEMBERS = frozenset({"[Content_Types].xml", "mimetype"})
"""Members that identify Excel and LibreOffice spreadsheets, which are zips too."""


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
    """The files in a zip, read without unpacking to disk; `damaged` creates the error for content
    that cannot be read."""

    zip: zipfile.ZipFile
    damaged: Callable[[], EngineError]

    def names(self) -> dict[Path, str]:
        """Path -> member name of its files, without folders. Names that begin with / are allowed:
        since nothing is unpacked, they cannot point outside."""
        names = (entry.filename for entry in self.zip.infolist() if not entry.is_dir())
        return {Path(name.lstrip("/")): name for name in names}

    def open(self, name: str) -> ExplainedFile:
        """Opens one of its files.

        Raises:
            EngineError: when it cannot be read.
        """
        try:
            return ExplainedFile(self.zip.open(name), _DAMAGED, lambda _: self.damaged())
        except _CLOSED:
            raise self.damaged() from None
