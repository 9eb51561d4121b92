"""The zip of an event log as a history server sends it, read without unpacking it to disk."""

from __future__ import annotations

import zipfile
import zlib
from dataclasses import dataclass
from typing import IO

from engine.errors import ServiceUnavailable
from engine.sources.http_client import Passing


def check_whole(file: IO[bytes], where: str) -> None:
    """Whether a whole zip arrived: its directory stands at its end.

    Raises:
        Passing: when the end is missing.
        ServiceUnavailable: when it is no zip at all.
    """
    file.seek(0)
    if file.read(4) not in (b"PK\x03\x04", b"PK\x05\x06"):
        raise ServiceUnavailable(
            "answered something else than an event log", where=where,
            remedy="check that this is the address of a Spark history server",
        )  # fmt: skip
    try:
        zipfile.ZipFile(file).close()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        raise Passing(
            f"the event log broke off after {file.seek(0, 2)} bytes",
            where=where, remedy="try again later",
        ) from None  # fmt: skip


@dataclass(frozen=True, slots=True)
class Archive:
    """The files in a downloaded zip; nothing of it is ever unpacked to disk."""

    zip: zipfile.ZipFile
    where: str

    def names(self) -> list[str]:
        """Its files, folders left out."""
        return [entry.filename for entry in self.zip.infolist() if not entry.is_dir()]

    def open(self, name: str) -> Member:
        """One of its files.

        Raises:
            ServiceUnavailable: when it cannot be read.
        """
        try:
            return Member(self.zip.open(name), self.where)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, KeyError):
            raise _damaged(self.where) from None


@dataclass(frozen=True, slots=True)
class Member:
    """A file in a zip, as something to read from."""

    file: IO[bytes]
    where: str

    def close(self) -> None:
        """Lets go of its place in the zip."""
        self.file.close()

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes.

        Raises:
            ServiceUnavailable: when they were damaged on their way.
        """
        try:
            return self.file.read(size)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError):
            raise _damaged(self.where) from None


def _damaged(where: str) -> ServiceUnavailable:
    return ServiceUnavailable(
        "the event log arrived damaged", where=where, remedy="try again later"
    )
