"""Output files that exist: evidence is not written over, which no second run can bring back."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from contextlib import suppress

import engine

_PROFILE = re.compile(rb"^format:.*profile", re.MULTILINE)
"""The line with which a profile begins, after comments (docs/formats.md)."""

_START_BYTES = 4096


def require_other_than(file: str | None, sources: Sequence[str]) -> None:
    """Refuse to write over a source; a profile too, since the output is none.

    Args:
        file: the output; None or "-" for stdout.
    """
    for source in sources if file not in (None, "-") else ():
        with suppress(OSError, ValueError):  # one of them is no file, or not there yet
            if os.path.samefile(str(file), source):
                raise engine.BadInput(
                    "is a source, and would be replaced", where=file, remedy="choose another file"
                )


def require_profile_or_new(file: str | None) -> None:
    """Refuse to write a profile over a file that holds something else: an event log that was meant
    as a source (`-o run1.zstd run2.zstd`). A profile may be replaced, also by what it went into.

    Args:
        file: the output; None or "-" for stdout.
    """
    if file in (None, "-") or not os.path.isfile(str(file)):
        return
    with suppress(OSError):  # the writing says what is wrong with it
        with open(str(file), "rb") as existing:
            start = existing.read(_START_BYTES)
        if start and not _PROFILE.search(start):
            raise engine.BadInput(
                "holds no profile, and would be replaced",
                where=file,
                remedy="choose another file, or remove it first",
            )
