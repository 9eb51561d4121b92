"""Files that a plan reads: none of them is written over by what is made of it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import engine


def require_none_of(file: str | Path, inputs: Iterable[tuple[str, Path]]) -> None:
    """Refuse to write over a source, a file below a folder that is one, a price file and its
    shapes, a resource profile.

    Args:
        inputs: what is read (`read_files`); looked at only where the output is there already.

    Raises:
        BadInput: where it is one of them.
    """
    if not os.path.isfile(file):
        return
    for kind, path in inputs:
        with suppress(OSError, ValueError):  # it is no file, or not there
            if os.path.samefile(file, path):
                what = f"is a {kind}, and would be replaced"
            elif path.is_dir() and Path(file).resolve().is_relative_to(path.resolve()):
                what = f"lies in {str(path)!r}, a {kind}, and would be replaced"
            else:
                continue
            raise engine.BadInput(what, where=str(file), remedy="choose another file")


def path_of(source: str) -> Path:
    """The path of a local source, which may be a `file:///` address; other sources as if they were
    paths."""
    address = re.fullmatch(r"file://(?:localhost)?(/.*)", source, re.IGNORECASE)
    return Path(address[1] if address else source)


def read_files(
    sources: Sequence[str],
    *,
    catalog: str | None,
    ran_on: str | None,
    resources: str | None = None,
) -> Iterator[tuple[str, Path]]:
    """What each file or folder is that these inputs name, and its path.

    Args:
        ran_on: TYPE or TYPE@CATALOG.
        resources: the file of a resource profile.
    """
    for source in sources:
        yield "source", path_of(source)
    if resources is not None:
        yield "resource profile", Path(resources)
    bundled = {entry.name for entry in engine.list_catalogs()}
    for name in (catalog, (ran_on or "").partition("@")[2]):
        if name and name not in bundled:
            yield "catalog", Path(name)
            if os.path.isfile(name) and (shapes := engine.read_yaml(Path(name)).get("shapes", str)):
                yield "catalog's file of shapes", Path(name).parent / shapes
