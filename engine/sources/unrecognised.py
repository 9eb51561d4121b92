"""What is wrong with a file that is no source, and what to give instead."""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE

from engine.errors import BadInput

_WEB_PAGE = re.compile(rb"\s*<(!|html)", re.IGNORECASE)
_SCENARIO = re.compile(rb"^open:", re.MULTILINE)
"""The one key that every scenario has."""


class NoSource(Exception):
    """A file that is no source. What it is instead takes longer to say than to see that it is none:
    of a folder full of such files it is said of one.

    Args:
        start: what it begins with.
        name: what errors call it.
    """

    def __init__(self, start: bytes, name: str) -> None:
        super().__init__(name)
        self.start = start
        self.name = name


def unrecognised(start: bytes, where: str, *, kind: str | None) -> BadInput:
    """The error for a file that begins like this.

    Args:
        kind: what it is, where that may not stand where it stands: in a folder or a zip.
    """
    if not start.strip():
        return BadInput("is empty", where=where, remedy="give a Spark event log")
    if start.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return BadInput("is text in UTF-16", where=where, remedy="save it as UTF-8")
    what = "is not an event log, a profile or a run table"
    if _WEB_PAGE.match(start):
        what = "is a web page, not an event log"
    elif kind is not None:
        what = f"is a {kind}, and of folders and zips event logs alone are read"
    elif _SCENARIO.search(start):
        remedy = "open it with sparkplan --scenario FILE"
        return BadInput("is a scenario of the planner", where=where, remedy=remedy)
    from engine.sources.formats.run_table import unlike_runs

    return unlike_runs(start, where) or BadInput(
        what, where=where,
        remedy="an event log has one JSON event per line, a profile or workflow begins with "
        "`format:`, a run table has the columns nodes, input_size and seconds",
    )  # fmt: skip
