"""Checks source arguments before anything is read, and the errors for missing sources."""

from __future__ import annotations

import re
from pathlib import Path

from engine.errors import BadInput, UnknownName
from engine.files import NOT_YOURS
from engine.sources.access.address import is_history_server, parse_address
from engine.sources.access.remote import check_remote, local_path, scheme_of
from engine.sources.samples import list_samples, sample_named

STDIN = "-"
LONGEST_SHOWN = 100

_HOST_AND_PORT = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*:\d{2,5}(?:[/#]|\Z)")
"""An address without its scheme."""


def check_source(source: str) -> None:
    """Checks one source without reading it (see `engine.sources.check_sources`)."""
    if source == STDIN:
        return
    if is_history_server(source):
        parse_address(source)
        return
    path = local_path(source)
    if path is None and scheme_of(source):
        check_remote(source)
        return
    try:
        exists = (path or Path(source)).exists()
    except (OSError, ValueError):
        exists = False
    if not exists and sample_named(source) is None:
        raise missing_source_error(source)


def missing_source_error(source: str) -> BadInput:
    """The error for a source that is neither a file nor a sample."""
    if _is_unreadable(source):
        return BadInput("Permission denied", where=source, remedy=NOT_YOURS)
    if _HOST_AND_PORT.match(source):
        return BadInput(
            "no such file", where=source, remedy=f"for a history server write http://{source}"
        )
    if "/" in source or "\\" in source or Path(source).suffix:
        return BadInput("no such file", where=source, remedy="check the path")
    shown = source if len(source) <= LONGEST_SHOWN else source[:LONGEST_SHOWN] + "..."
    remedy = "check the path; `sparkplan samples` lists samples"
    return UnknownName("file or sample", shown, (s.name for s in list_samples()), remedy=remedy)


def _is_unreadable(source: str) -> bool:
    """Whether a folder on the path denies access, so that existence is unknown."""
    try:
        (local_path(source) or Path(source)).stat()
    except (OSError, ValueError) as error:
        return isinstance(error, PermissionError)
    return False
