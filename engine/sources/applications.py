"""Which runs are of which application, where each is to be answered by itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from engine.errors import BadInput
from engine.models.workloads import left_aside
from engine.profile import Profile, Run, completed_runs
from engine.sources.found import Found
from engine.sources.merge import MIXED, together


@dataclass(frozen=True, slots=True)
class JobEvidence:
    """What sources say of one application.

    Args:
        runs: how many they hold of it.
        profile: None where they contradict each other.
        problem: why there is no profile; None where there is one.
    """

    name: str
    runs: int
    profile: Profile | None
    problem: BadInput | None = None


def by_application(found: Iterable[Found]) -> tuple[JobEvidence, ...]:
    """The evidence of each application, in the order in which they are met: what is wrong with one
    takes nothing from the others."""
    apart: dict[str, list[Found]] = {}
    for entry in found:
        for own in _split(entry):
            apart.setdefault(_name(own), []).append(own)
    return tuple(_evidence(name, own) for name, own in apart.items())


def _evidence(name: str, found: Sequence[Found]) -> JobEvidence:
    try:
        profile = _of_whole_runs(together(found))
    except BadInput as problem:
        return JobEvidence(name, sum(len(entry.runs) for entry in found), None, problem)
    return JobEvidence(profile.name, len(profile.runs), profile)


def _name(found: Found) -> str:
    """What an entry is called: its application, or its source."""
    return found.name or Path(found.source).stem


def _split(entry: Found) -> list[Found]:
    """A source by the applications that its runs name. Which deadline is whose the log of several
    streaming queries tells; a run table or a profile of several does not."""
    runs: dict[str | None, list[Run]] = {}
    for run in entry.runs:
        runs.setdefault(run.application, []).append(run)
    if len(runs) < 2:
        return [entry]
    notices = tuple(notice for notice in entry.notices if notice.code != MIXED)
    shared = replace(entry, notices=notices)
    return [
        replace(shared, name=name, runs=tuple(own), deadline_seconds=entry.deadlines.get(name))
        for name, own in runs.items()
    ]


def _of_whole_runs(profile: Profile) -> Profile:
    """Without runs that broke off or failed, where others did not: how long those lasted and what
    they had read is no measure of the job."""
    aside = left_aside(profile.runs)
    if not aside:
        return profile
    notices = tuple(dict.fromkeys([*profile.notices, *aside]))
    return replace(profile, runs=tuple(completed_runs(profile.runs)), notices=notices)
