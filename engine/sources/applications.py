"""Which runs are of which application, where each is to be answered by itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from engine.models.workloads import left_aside, whole
from engine.profile import Profile, Run
from engine.sources.merge import MIXED
from engine.sources.reader import Found


def by_application(found: Iterable[Found]) -> list[list[Found]]:
    """What is of one application, in the order in which they are met."""
    apart: dict[str, list[Found]] = {}
    for entry in found:
        for own in _split(entry):
            apart.setdefault(own.name or Path(own.source).stem, []).append(own)
    return list(apart.values())


def _split(entry: Found) -> list[Found]:
    """A run table or a profile by the applications that its runs name; one that names several says
    of none which deadline is its own."""
    runs: dict[str | None, list[Run]] = {}
    for run in entry.runs:
        runs.setdefault(run.application, []).append(run)
    if len(runs) < 2:
        return [entry]
    notices = tuple(notice for notice in entry.notices if notice.code != MIXED)
    shared = replace(entry, notices=notices, deadline_seconds=None)
    return [replace(shared, name=name, runs=tuple(own)) for name, own in runs.items()]


def of_whole_runs(profile: Profile) -> Profile:
    """Without runs that broke off or failed, where others did not: how long those lasted and what
    they had read is no measure of the job."""
    aside = left_aside(profile.runs)
    if not aside:
        return profile
    notices = tuple(dict.fromkeys([*profile.notices, *aside]))
    return replace(profile, runs=tuple(whole(profile.runs)), notices=notices)
