"""Checks source arguments before anything is read, and the errors for what is no source."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
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


_WEB_PAGE = re.compile(rb"\s*<(!|html)", re.IGNORECASE)
_SCENARIO = re.compile(rb"^open:", re.MULTILINE)
"""The one key that every scenario file has."""

_FORMAT = re.compile(rb"^[\"']?format[\"']?[ \t]*:[ \t]*[\"']?([^\s\"']+)", re.MULTILINE)
_CATALOG = re.compile(rb"^(?:shapes_of|catalog|currency):", re.MULTILINE)
"""Keys that every file of a catalog has."""

_NO_KEY = (b"#", b"---", b"%")
"""How lines of YAML before its first key begin."""

FORMATS = {"a profile": "sparkplan-profile/1", "a workflow": "sparkplan-workflow/1"}


class UnrecognisedFile(Exception):
    """Raised for a file that is no known kind of source.

    Building the full error is slower than detecting the case, so in a folder of such files it is
    done for one only (`unrecognised_error`).

    Args:
        start: first bytes of the file.
        name: its name in error messages.
    """

    def __init__(self, start: bytes, name: str) -> None:
        super().__init__(name)
        self.start = start
        self.name = name


def is_tar(start: bytes) -> bool:
    """Whether a file with these first bytes is a tar archive (of POSIX or GNU)."""
    return start[257:262] == b"ustar"


def unrecognised_error(start: bytes, where: str, *, kind: str | None) -> BadInput:
    """The error for an unrecognised file, given its first bytes.

    Args:
        kind: its kind if it is a source that is not allowed here (in a folder or zip); else None.
    """
    if not start.strip():
        return BadInput("is empty", where=where, remedy="give a Spark event log")
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return BadInput("is text in UTF-16", where=where, remedy="save it as UTF-8")
    if is_tar(start):
        remedy = "unpack it (tar -xf), and give the folder"
        return BadInput("is a tar archive", where=where, remedy=remedy)
    what = "is not an event log, a profile or a run table"
    if _WEB_PAGE.match(start):
        what = "is a web page, not an event log"
    elif kind is not None:
        what = f"is a {kind}, and of folders and zips event logs alone are read"
    elif _SCENARIO.search(start):
        remedy = "open it with sparkplan --scenario FILE"
        return BadInput("is a scenario of the planner", where=where, remedy=remedy)
    from engine.sources.formats.run_table import unlike_runs

    other = None if kind else _unlike_yaml(start, where) or unlike_runs(start, where)
    return other or BadInput(
        what, where=where,
        remedy="an event log has one JSON event per line, a profile or workflow begins with "
        "`format:`, a run table has the columns nodes, input_size and seconds",
    )  # fmt: skip


def _unlike_yaml(start: bytes, where: str) -> BadInput | None:
    """The error for YAML of another or of no format; None for what is not known to be YAML."""
    match, named_yaml = _FORMAT.search(start), where.lower().endswith((".yaml", ".yml"))
    if match and (named_yaml or match[1].startswith(b"sparkplan")):
        line = start.count(b"\n", 0, match.start()) + 1
        name = match[1].decode("utf-8", "replace")
        return UnknownName("format", name, FORMATS.values(), where=f"{where}:{line}")
    if not named_yaml:
        return None
    if _CATALOG.search(start):
        return BadInput(
            "is a price catalog", where=where, remedy="name it as the catalog, not as a job"
        )
    lines = enumerate(start.splitlines(), 1)
    first = next((n for n, line in lines if line.strip() and not line.startswith(_NO_KEY)), 1)
    begins = " and ".join(f"{kind} with `format: {name}`" for kind, name in FORMATS.items())
    remedy = f"begin {begins}"
    return BadInput("is YAML without `format:`", where=f"{where}:{first}", remedy=remedy)
