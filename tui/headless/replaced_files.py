"""Output files that exist: evidence is not written over, which no second run can bring back."""

from __future__ import annotations

import argparse
import os
import re
from codecs import BOM_UTF8
from contextlib import suppress
from pathlib import Path

import engine
from tui.storage.read_files import read_files, require_none_of

_PROFILE = re.compile(rb"^\s*[\"']?format[\"']?\s*:\s*[\"']?sparkplan-profile", re.MULTILINE)
"""The line by which a profile is known, after comments (docs/formats.md); in JSON with quotes."""

_START_BYTES = 4096


def require_other_than_inputs(file: str | Path | None, args: argparse.Namespace) -> None:
    """Refuse to write over anything that the command reads (`tui.storage.read_files`).

    Args:
        file: the output; None or "-" for stdout.
    """
    if file is None or file == "-":
        return
    stress_log, resources = (getattr(args, name, None) for name in ("stress_log", "resources"))
    sources = [*args.sources, *([] if stress_log is None else [stress_log])]
    require_none_of(
        file,
        read_files(sources, catalog=args.catalog, ran_on=args.ran_on, resources=resources),
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
            start = existing.read(_START_BYTES).removeprefix(BOM_UTF8)
        if start and not _PROFILE.search(start):
            raise engine.BadInput(
                "holds no profile, and would be replaced",
                where=file,
                remedy="choose another file, or remove it first",
            )
