"""Everything that turns SOURCE arguments into a `Profile`.

`read` is the way in. A source is recognised by its content: an event log (plain, zstd, lz4, gzip;
one file, a rolling folder, a folder of logs, standard input), a profile YAML, a run-table CSV, or
the name of a bundled sample. docs/formats.md describes them for users.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.catalog import InstanceType
from engine.errors import BadInput
from engine.profile import Profile
from engine.sources.folders import logs_in
from engine.sources.merge import together
from engine.sources.profile_file import write_profile
from engine.sources.profile_text import format_profile
from engine.sources.reader import STDIN, Reader
from engine.sources.samples import Sample, list_samples
from engine.sources.workflow_file import is_workflow, read_workflow

if TYPE_CHECKING:
    from engine.catalog import Catalog

__all__ = [
    "Sample",
    "format_profile",
    "is_workflow",
    "list_samples",
    "read",
    "read_workflow",
    "write_profile",
]


def read(
    *sources: str | Path,
    ran_on: InstanceType | None = None,
    catalog: Catalog | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> Profile:
    """The profile that the sources make together.

    Args:
        sources: event logs (files, `-` for standard input, rolling folders, folders of logs),
            profile YAML, run-table CSV, names of bundled samples; any mix.
        ran_on: instance type of the nodes in event logs, which never name it.
        catalog: completes types that the evidence only names (Databricks logs, run tables).
        progress: called with bytes read and bytes in total (None when unknown); it may raise to
            end the reading, and what it raises reaches the caller.

    Raises:
        BadInput: in one line, for a source that cannot be used.
        UnknownName: for a name that is neither a file nor a sample.
    """
    names = [str(source) for source in sources]
    if not names:
        raise BadInput("no source is given", remedy="give an event log, a profile or a run table")
    if names.count(STDIN) > 1:
        raise BadInput("standard input can be read only once", where=STDIN)
    total = _total_bytes(names) if progress is not None else None
    reader = Reader(ran_on=ran_on, report=progress, total=total)
    found = [entry for name in names for entry in reader.read(name)]
    return together(found, catalog)


def _total_bytes(names: Sequence[str]) -> int | None:
    """Size of all files behind the sources; None where one is a stream or a sample."""
    total = 0
    for name in names:
        path = Path(name)
        if path.is_file():
            total += path.stat().st_size
        elif path.is_dir():
            total += sum(part.stat().st_size for log in logs_in(path) for part in log.parts)
        else:
            return None
    return total
