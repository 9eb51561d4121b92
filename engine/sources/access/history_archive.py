"""Integrity checks of the zip in which a history server sends an event log."""

from __future__ import annotations

import zipfile
from typing import IO

from engine.errors import ServiceUnavailable
from engine.sources.access.http_client import TransientError


def check_whole(file: IO[bytes], where: str) -> None:
    """Checks that a complete zip arrived, by the directory at its end.

    Raises:
        TransientError: when the end is missing.
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
        raise TransientError(
            f"the event log broke off after {file.seek(0, 2)} bytes",
            where=where, remedy="try again later",
        ) from None  # fmt: skip


def arrived_damaged(where: str) -> ServiceUnavailable:
    """The error for a download that was damaged on the way."""
    return ServiceUnavailable(
        "the event log arrived damaged", where=where, remedy="try again later"
    )
