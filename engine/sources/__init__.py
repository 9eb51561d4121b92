"""Everything that turns SOURCE arguments into a `Profile`.

`read` is the entry point. A source is recognised by its content: an event log (plain or compressed;
one file, a rolling folder, a folder of logs, standard input; local, remote or on a history server),
a profile YAML, a run-table CSV, or the name of a bundled sample. docs/formats.md and
docs/history_server.md describe them for users.

What reads is imported by the functions that read, since names of samples and mistakes in names are
answered without it, and the planner paints before it reads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.catalog import DEFAULT_CATALOG, InstanceType, require_catalog
from engine.errors import BadInput, require_kind
from engine.sources.samples import Sample, list_samples
from engine.sources.source_checks import STDIN, check_source

if TYPE_CHECKING:
    from engine.catalog import Catalog
    from engine.profile import Profile
    from engine.sources.access.folders import LogFiles
    from engine.sources.applications import JobEvidence
    from engine.sources.source_contents import SourceContents

__all__ = ["Sample", "check_sources", "list_samples", "read", "read_each"]

LEAST_PAUSE_SECONDS = 1.0
"""Shorter pauses are driver work between two jobs and cannot be left out."""


def read(
    *sources: str | Path,
    ran_on: InstanceType | str | None = None,
    catalog: Catalog | None = None,
    progress: Callable[[int, int | None], None] | None = None,
    pause_seconds: float | None = None,
) -> Profile:
    """The profile that the sources make together.

    Args:
        sources: event logs (files, `-` for standard input, rolling folders, folders of logs, remote
            paths such as `s3://...`), addresses of history servers, profile YAML, run-table CSV,
            names of bundled samples; any mix.
        ran_on: instance type of the nodes, if the evidence does not name it; few event logs do, run
            tables and profiles may. A text, "m5.2xlarge" or "TYPE@CATALOG", is looked up in
            `catalog` (by default AWS's) and then in all bundled ones.
        catalog: completes types that the evidence only names (Databricks logs, run tables) and
            checks what tables say of a type (`engine.held_against`).
        progress: called with bytes read and bytes in total (None if unknown, and while folders are
            searched for logs); an exception that it raises ends the reading and reaches the caller.
        pause_seconds: pauses between jobs of at least this length, after the first executor, are
            left out of the time of logs; None for the rules of docs/from_logs.md.

    Raises:
        BadInput: in one line, for a source that cannot be used.
        UnknownName: for a name that is neither a file nor a sample.
        ServiceUnavailable: when a history server or a store does not answer.
    """
    if catalog is not None:
        require_catalog(catalog)
    if pause_seconds is not None and not pause_seconds >= LEAST_PAUSE_SECONDS:
        raise BadInput(
            f"pauses must be at least {LEAST_PAUSE_SECONDS:g} s, not {pause_seconds:g}",
            remedy="shorter ones are the driver's own between two jobs",
        )
    from engine.machines.named_types import held_against
    from engine.sources.merge import merged_profile
    from engine.sources.type_shapes import with_shapes_of

    instance = _type_of(ran_on, catalog)
    profile = merged_profile(_read_contents(sources, instance, progress, pause_seconds))
    return profile if catalog is None else with_shapes_of(held_against(profile, catalog), catalog)


def read_each(
    *sources: str | Path,
    ran_on: InstanceType | str | None = None,
    progress: Callable[[int, int | None], None] | None = None,
) -> tuple[JobEvidence, ...]:
    """The evidence of each application in the sources, in order of appearance.

    Sources that name the same application belong together; one without a name stands alone. Runs
    that broke off or failed are left aside, with a notice, if other runs of the application
    succeeded. An application whose sources contradict each other has a problem instead of a
    profile.

    Args:
        sources, ran_on, progress: as in `read`.

    Raises:
        BadInput, UnknownName, ServiceUnavailable: as `read`, for a source that cannot be used.
    """
    from engine.sources.applications import by_application

    return by_application(_read_contents(sources, _type_of(ran_on, None), progress))


def _type_of(ran_on: InstanceType | str | None, catalog: Catalog | None) -> InstanceType | None:
    """The instance type that `ran_on` names."""
    if isinstance(ran_on, str):
        from engine.catalog_files.reader import named_type

        return named_type(ran_on, first=DEFAULT_CATALOG if catalog is None else catalog)[1]
    if ran_on is not None:
        require_kind(ran_on, InstanceType, "an instance type", remedy='name it: "m5.2xlarge"')
    return ran_on


def _read_contents(
    sources: Sequence[str | Path],
    ran_on: InstanceType | None,
    progress: Callable[[int, int | None], None] | None,
    pause_seconds: float | None = None,
) -> list[SourceContents]:
    """Reads the contents of all sources."""
    for source in sources:
        require_kind(
            source, str | os.PathLike, "the path or name of a source",
            remedy="give several apart: engine.read(*sources)",
        )  # fmt: skip
    names = [str(source) for source in sources]
    if not names:
        raise BadInput("no source is given", remedy="give an event log, a profile or a run table")
    if names.count(STDIN) > 1:
        raise BadInput(
            "standard input can be read only once", where=STDIN, remedy="give - a single time"
        )
    for name in names:
        _require_named(name)
    from engine.sources.reader import Reader
    from engine.sources.source_contents import with_ran_on_notice

    listed: dict[Path, list[LogFiles]] = {}
    total = _total_bytes(names, listed, progress) if progress is not None else None
    reader = Reader(ran_on, pause_seconds, report=progress, total=total, listed=listed)
    return with_ran_on_notice([entry for name in names for entry in reader.read(name)], ran_on)


def check_sources(*sources: str | Path) -> None:
    """Checks the sources as far as possible without reading or requesting anything.

    Raises:
        BadInput: for a missing path, an invalid address or one with a password, and a missing
            library.
        UnknownName: for a name that is neither a file nor a sample.
    """
    for source in sources:
        _require_named(str(source))
        check_source(str(source))


def _require_named(source: str) -> None:
    """Refuses an empty name, which as a path would mean the current folder.

    Raises:
        BadInput: for an empty name.
    """
    if not source:
        raise BadInput("a source is empty", remedy="give a file, a folder or a sample")


def _total_bytes(
    names: Sequence[str],
    listed: dict[Path, list[LogFiles]],
    progress: Callable[[int, int | None], None],
) -> int | None:
    """Size of all files behind the sources; None if one is a stream or a sample. The logs of
    folders are added to `listed`."""
    from engine.sources.access.folders import logs_in

    total = 0
    for name in names:
        path = Path(name)
        if os.path.isfile(path):
            total += _size(path)
        elif os.path.isdir(path):
            listed[path] = logs_in(path, lambda: progress(0, None))
            total += sum(_size(part) for log in listed[path] for part in log.parts)
        else:
            return None
    return total


def _size(path: Path) -> int:
    """Bytes of a file; 0 if it has disappeared since its folder was listed."""
    try:
        return path.stat().st_size
    except OSError:
        return 0
