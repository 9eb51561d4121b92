"""`sparkplan fleet`: many jobs, each with a cluster of its own, and what they cost together."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from typing import Any

import engine
from tui import format as text
from tui import options
from tui.headless import output, recommend

GIVEN, NAMED, MEASURED = "given", "evidence", "measured"
"""Where a job's deadline is from: an option, its evidence, or how long its largest run took."""

SAID = {GIVEN: "", NAMED: "its own", MEASURED: "as measured"}


@dataclass(frozen=True)
class Planned:
    """A job and its answer; without one, why there is none.

    Args:
        deadline_seconds: None where the goal has none.
        deadline_from: see `GIVEN`; None without a deadline.
    """

    profile: engine.Profile
    deadline_seconds: float | None
    deadline_from: str | None
    found: engine.Recommendation | None
    problem: engine.EngineError | None = None

    @property
    def chosen(self) -> engine.Choice | None:
        """What to rent for it; None where nothing satisfies its goal."""
        return self.found.recommended if self.found else None


def configure(parser: argparse.ArgumentParser) -> None:
    recommend.configure_rented(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    catalog = options.catalog_of(args)
    resources = options.resources_of(args)
    jobs = []
    for read in engine.read_each(*args.sources, ran_on=options.ran_on(args)):
        profile = engine.held_against(read, catalog)
        if resources is not None:
            profile = replace(profile, resources=resources)
        jobs.append(planned(args, profile, catalog))
    if all(job.problem for job in jobs) and jobs[0].problem is not None:
        raise jobs[0].problem
    if args.json:
        output.print_json(as_json(jobs))
    else:
        print(as_text(jobs))
        print_notices(jobs)
    return 0 if all(job.chosen is not None for job in jobs) else 1


def planned(args: argparse.Namespace, profile: engine.Profile, catalog: engine.Catalog) -> Planned:
    """The recommendation for one job; what is wrong with it takes nothing from the others."""
    seconds, source = deadline_of(args, profile)
    asked = argparse.Namespace(**{**vars(args), "deadline": seconds})
    try:
        if seconds is None and args.budget is None and args.objective is None:
            raise engine.BadInput(
                "no run of it came to its end" if profile.runs else "its runs tell no time",
                remedy="add --deadline D",
            )
        workload = options.workload_of(args, profile)
        found = recommend.answer(asked, recommend.Question(profile, workload, catalog))
    except engine.BadInput as error:
        return Planned(profile, seconds, source, None, error)
    return Planned(profile, seconds, source, found)


def deadline_of(
    args: argparse.Namespace, profile: engine.Profile
) -> tuple[float | None, str | None]:
    """When a job must be done, and where that is from. Without any goal it is to be no slower than
    it was: one deadline hardly fits many jobs."""
    if args.deadline is not None:
        return args.deadline, GIVEN
    if args.budget is not None or args.objective is not None:
        return None, None
    if profile.deadline_seconds is not None:
        return profile.deadline_seconds, NAMED
    measured = measured_seconds(profile)
    return (None, None) if measured is None else (measured, MEASURED)


def measured_seconds(profile: engine.Profile) -> float | None:
    """How long its largest run took; None without one that came to its end."""
    run = profile.largest_run
    if run is None or not run.complete or any(n.code == "failed-stages" for n in run.notices):
        return None
    return run.seconds


def total_usd(jobs: list[Planned]) -> float | None:
    """One run of each job, expected; None where one has no cluster or no cost."""
    costs = [job.chosen.cost_usd if job.chosen else None for job in jobs]
    known = [usd for usd in costs if usd is not None]
    return sum(known) if len(known) == len(costs) else None


def as_json(jobs: list[Planned]) -> dict[str, Any]:
    """The jobs in the order of the sources, and their sum."""
    return {
        "jobs": [
            {
                "application": job.profile.name,
                "runs": len(job.profile.runs),
                "measured_seconds": measured_seconds(job.profile),
                "deadline_seconds": job.deadline_seconds,
                "deadline_from": job.deadline_from,
                "recommended": job.chosen.to_dict() if job.chosen else None,
                "nearest": job.found.nearest.to_dict() if job.found and job.found.nearest else None,
                "problem": str(job.problem) if job.problem else None,
                "warnings": output.notices(warnings_of(job)),
            }
            for job in jobs
        ],
        "total_usd": total_usd(jobs),
        "without_cluster": sum(job.chosen is None for job in jobs),
    }


HEAD = ("job", "runs", "measured", "deadline", "cluster", "time", "interval", "cost", "in time")


def as_text(jobs: list[Planned]) -> str:
    """A row for each job, and what one run of each costs."""
    lines = [text.table([HEAD, *map(_row, jobs)], right=(1, 2, 5, 7, 8)), ""]
    missing = sum(job.chosen is None for job in jobs)
    total = total_usd(jobs)
    said = f"{text.counted(len(jobs), 'job')}, "
    if missing:
        said += f"{missing} without a cluster that satisfies its goal: no sum"
    else:
        said += f"{text.usd(total)} for one run of each, expected (no interval: how far the errors "
        said += "of different jobs go together is not known)"
    return "\n".join([*lines, said])


def _row(job: Planned) -> tuple[str, ...]:
    """Where no cluster satisfies the goal the nearest miss, marked."""
    choice = job.chosen or (job.found.nearest if job.found else None)
    named = f"{text.seconds(job.deadline_seconds)} {SAID.get(job.deadline_from or '', '')}".strip()
    head = (
        text.shown(job.profile.name),
        str(len(job.profile.runs)),
        text.seconds(measured_seconds(job.profile)),
        named,
    )
    if choice is None:
        return (*head, "none", *[text.UNKNOWN] * 4)
    cluster = recommend.composition(choice)
    return (
        *head,
        cluster if job.chosen else f"none (nearest {cluster})",
        text.seconds(choice.seconds),
        text.interval(choice.low, choice.high),
        text.usd(choice.cost_usd),
        text.percent(choice.p_deadline),
    )


def print_notices(jobs: list[Planned]) -> None:
    """What is to be said of the jobs, each once with the names of those that it is about."""
    about: dict[engine.Notice, list[str]] = {}
    for job in jobs:
        chosen = job.chosen or (job.found.nearest if job.found else None)
        notices = [*warnings_of(job), *(chosen.warnings if chosen else ())]
        if job.problem is not None:
            notices.append(engine.Notice("not-planned", job.problem.what, job.problem.remedy or ""))
        for notice in dict.fromkeys(notices):
            about.setdefault(notice, []).append(job.profile.name)
    output.print_notices(
        replace(notice, text=f"{named(names, len(jobs))}: {notice.text}")
        for notice, names in about.items()
    )


MOST_NAMED = 5
"""Jobs that a message names; further ones are counted."""


def named(names: list[str], jobs: int) -> str:
    """Which of all jobs a message is about."""
    if len(names) == jobs > 1:
        return "every job"
    if len(names) <= MOST_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: MOST_NAMED - 1])} and {len(names) - MOST_NAMED + 1} more"


def warnings_of(job: Planned) -> tuple[engine.Notice, ...]:
    """What is to be said of the job as a whole; without an answer what its evidence says."""
    return job.found.warnings if job.found else job.profile.notices
