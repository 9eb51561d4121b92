"""Output files that exist: evidence is not written over, which no second run can bring back."""

from __future__ import annotations

import argparse
import os
import re
from codecs import BOM_UTF8
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import engine

_PROFILE = re.compile(rb"^\s*[\"']?format[\"']?\s*:\s*[\"']?sparkplan-profile", re.MULTILINE)
"""The line by which a profile is known, after comments (docs/formats.md); in JSON with quotes."""

_START_BYTES = 4096


def require_other_than_inputs(file: str | Path | None, args: argparse.Namespace) -> None:
    """Refuse to write over anything that the command reads: a source, a file below a folder that is
    one, a price file and its shapes, a resource profile. A profile too, since the output is none.

    Args:
        file: the output; None or "-" for stdout.
    """
    if file is None or file == "-" or not os.path.isfile(file):
        return
    for kind, path in _inputs(args):
        with suppress(OSError, ValueError):  # it is no file, or not there
            if os.path.samefile(file, path):
                what = f"is a {kind}, and would be replaced"
            elif path.is_dir() and Path(file).resolve().is_relative_to(path.resolve()):
                what = f"lies in {str(path)!r}, a {kind}, and would be replaced"
            else:
                continue
            raise engine.BadInput(what, where=str(file), remedy="choose another file")


def _inputs(args: argparse.Namespace) -> Iterator[tuple[str, Path]]:
    """What each file or folder is that a command's arguments name, and its path."""
    stress_log, resources = (getattr(args, name, None) for name in ("stress_log", "resources"))
    for source in (*args.sources, stress_log):
        if source is not None:
            address = re.fullmatch(r"file://(?:localhost)?(/.*)", source, re.IGNORECASE)
            yield "source", Path(address[1] if address else source)
    if resources is not None:
        yield "resource profile", Path(resources)
    bundled = {entry.name for entry in engine.list_catalogs()}
    for name in (args.catalog, (args.ran_on or "").partition("@")[2]):
        if name and name not in bundled:
            yield "catalog", Path(name)
            if os.path.isfile(name) and (shapes := engine.read_yaml(Path(name)).get("shapes", str)):
                yield "catalog's file of shapes", Path(name).parent / shapes


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
