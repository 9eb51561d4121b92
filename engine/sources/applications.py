"""Groups the contents of sources by application, for answers about each application."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.errors import BadInput
from engine.models.workloads import unused_logs_notices
from engine.profile import Profile, Run, completed_runs
from engine.sources.merge import MIXED, merged_profile
from engine.sources.source_contents import SourceContents


@dataclass(frozen=True, slots=True)
class JobEvidence:
    """The profile of one application, from one or more sources.

    Args:
        runs: number of its runs in the sources.
        profile: None where the sources contradict each other.
        problem: why there is no profile; else None.
    """

    name: str
    runs: int
    profile: Profile | None
    problem: BadInput | None = None


def by_application(contents: Iterable[SourceContents]) -> tuple[JobEvidence, ...]:
    """The evidence of each application, in order of appearance. A problem with one application does
    not affect the others."""
    by_name: dict[str, list[SourceContents]] = {}
    for entry in contents:
        for part in _split(entry):
            by_name.setdefault(_name(part), []).append(part)
    return tuple(_evidence(name, part) for name, part in by_name.items())


def _evidence(name: str, contents: Sequence[SourceContents]) -> JobEvidence:
    try:
        profile = _without_failed_runs(merged_profile(contents))
    except BadInput as problem:
        return JobEvidence(name, sum(len(entry.runs) for entry in contents), None, problem)
    return JobEvidence(profile.name, len(profile.runs), profile)


def _name(contents: SourceContents) -> str:
    """Name of an entry: its application, else its source."""
    return contents.name or Path(contents.source).stem


def _split(entry: SourceContents) -> list[SourceContents]:
    """Splits the contents of a source by the application of its runs. The log of several streaming
    queries has a deadline per query; a run table or profile of several applications does not."""
    runs: dict[str | None, list[Run]] = {}
    for run in entry.runs:
        runs.setdefault(run.application, []).append(run)
    if len(runs) < 2:
        return [entry]
    notices = tuple(notice for notice in entry.notices if notice.code != MIXED)
    shared = replace(entry, notices=notices)
    return [
        replace(shared, name=name, runs=tuple(of_name), deadline_seconds=entry.deadlines.get(name))
        for name, of_name in runs.items()
    ]


def _without_failed_runs(profile: Profile) -> Profile:
    """The profile without incomplete and failed runs, if others succeeded: the duration and input
    of those do not measure the job."""
    aside = unused_logs_notices(profile.runs)
    if not aside:
        return profile
    notices = tuple(dict.fromkeys([*profile.notices, *aside]))
    return replace(profile, runs=tuple(completed_runs(profile.runs)), notices=notices)
