"""`sparkplan fleet`: many jobs, each on a cluster of its own, and their total cost."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import engine
from tui import format as text
from tui import read_progress, streams
from tui.arguments import limits, options, prices, workloads
from tui.headless import fleet_table, output, recommend

FROM_OPTION, FROM_EVIDENCE, FROM_MEASUREMENT = "given", "evidence", "measured"
"""Source of a job's deadline: an option, its evidence, or the time of its largest run."""

RUN, BATCH = "run", "micro-batch"
"""What the times and costs of a job refer to: of a stream, one micro-batch."""


@dataclass(frozen=True)
class JobPlan:
    """A job and its recommendation; without one, the reason.

    Args:
        deadline_seconds: None where the goal has none.
        deadline_from: see `FROM_OPTION`; None without a deadline.
    """

    evidence: engine.JobEvidence
    deadline_seconds: float | None = None
    deadline_from: str | None = None
    recommendation: engine.Recommendation | None = None
    problem: engine.EngineError | None = None

    @property
    def chosen(self) -> engine.Choice | None:
        """The recommended cluster; None where none satisfies the goal."""
        return self.recommendation.recommended if self.recommendation else None

    @property
    def nearest(self) -> engine.Choice | None:
        """Where none does, the nearest miss."""
        return self.recommendation.nearest if self.recommendation else None

    @property
    def likeliest(self) -> engine.Choice | None:
        """Where none does, the one that likeliest keeps the deadline."""
        return self.recommendation.likeliest if self.recommendation else None

    @property
    def miss(self) -> engine.Rejected | None:
        """Why the nearest miss is rejected; None where there is none."""
        return self.recommendation.nearest_miss if self.recommendation else None

    @property
    def time_of(self) -> str:
        """What its times and costs refer to: see `RUN`."""
        profile = self.evidence.profile
        return BATCH if profile and engine.of_one_batch(profile.notices) else RUN

    @property
    def measured_seconds(self) -> float | None:
        """Duration of its largest run; None without one that finished."""
        return measured_seconds(self.evidence.profile) if self.evidence.profile else None

    @property
    def warnings(self) -> tuple[engine.Notice, ...]:
        """Warnings about the job as a whole; without a recommendation those of its evidence."""
        if self.recommendation is not None:
            return self.recommendation.warnings
        return self.evidence.profile.notices if self.evidence.profile else ()


def configure(parser: argparse.ArgumentParser) -> None:
    recommend.configure_rented(parser)
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    if args.catalog is not None:
        options.catalog_of(args)  # what is wrong with it is told before anything is read
    resources = options.resources_of(args)
    with streams.stderr_progress(args.sources) as progress:
        each = engine.read_each(*args.sources, ran_on=options.ran_on(args), progress=progress)
    profiles = [evidence.profile for evidence in each if evidence.profile is not None]
    catalog, notice = prices.catalog_and_origin(args, *profiles)
    jobs = [plan_job(args, evidence, catalog, resources) for evidence in told_of(each)]
    if all(job.problem for job in jobs) and jobs[0].problem is not None:
        raise jobs[0].problem
    together = [*filter(None, [notice]), *shared_limit_notices(args, jobs, catalog)]
    if args.json:
        output.print_json({**as_json(jobs, together), "catalog": output.catalog_dict(catalog)})
    else:
        output.print_text(fleet_table.as_text(jobs, total_usd(jobs), catalog))
        print_notices(jobs)
        output.print_notices(together)
    return 0 if all(job.chosen is not None for job in jobs) else 1


def told_of(each: Sequence[engine.JobEvidence]) -> Iterator[engine.JobEvidence]:
    """The jobs one by one. A line on stderr now and then says how many are planned: each takes a
    tenth of a second, and a history server may have thousands."""
    next_line = time.monotonic() + read_progress.FIRST_LINE_AFTER_SECONDS
    for planned, evidence in enumerate(each):
        if (now := time.monotonic()) >= next_line:
            next_line = now + read_progress.LINES_EVERY_SECONDS
            streams.say(f"planned {planned:,} of {text.counted(len(each), 'job')}")
        yield evidence


def plan_job(
    args: argparse.Namespace,
    evidence: engine.JobEvidence,
    catalog: engine.Catalog,
    resources: engine.ResourceProfile | None,
) -> JobPlan:
    """The recommendation for one job; an error in one job does not affect the others."""
    if evidence.profile is None:
        given = None if args.deadline is None else FROM_OPTION
        return JobPlan(evidence, args.deadline, given, problem=evidence.problem)
    seconds, source = deadline_of(args, evidence.profile)
    args_with_deadline = argparse.Namespace(**{**vars(args), "deadline": seconds})
    try:
        profile = options.with_layout_options(args, engine.held_against(evidence.profile, catalog))
        service = prices.another_service_notice(args, catalog, profile)
        profile = prices.with_notices(profile, service)
        if resources is not None:
            profile = replace(profile, resources=resources)
        if seconds is None and args.budget is None and args.objective is None:
            raise engine.BadInput(
                "no run of it came to its end" if profile.runs else "its runs have no time",
                remedy="add --deadline D",
            )
        workload = workloads.workload_of(args, profile)
        recommendation = recommend.recommendation_for(
            args_with_deadline, recommend.Question(profile, workload, catalog)
        )
    except engine.BadInput as error:
        return JobPlan(evidence, seconds, source, None, error)
    return JobPlan(replace(evidence, profile=profile), seconds, source, recommendation)


def deadline_of(
    args: argparse.Namespace, profile: engine.Profile
) -> tuple[float | None, str | None]:
    """The deadline of a job, and its source. Without any goal a job is to be no slower than
    measured: one deadline hardly fits many jobs."""
    if args.deadline is not None:
        return args.deadline, FROM_OPTION
    if args.budget is not None or args.objective is not None:
        return None, None
    if profile.deadline_seconds is not None:
        return profile.deadline_seconds, FROM_EVIDENCE
    measured = measured_seconds(profile)
    return (None, None) if measured is None else (measured, FROM_MEASUREMENT)


def measured_seconds(profile: engine.Profile) -> float | None:
    """Duration of the largest run of a job; None without one that finished."""
    run = profile.largest_run
    if run is None or not run.complete or run.has_failed:
        return None
    return run.seconds


def total_usd(jobs: Sequence[JobPlan]) -> float | None:
    """Expected cost of one run of each job; None where one has no cluster or no cost."""
    costs = [job.chosen.cost_usd if job.chosen else None for job in jobs]
    known_costs = [usd for usd in costs if usd is not None]
    return sum(known_costs) if len(known_costs) == len(costs) else None


def shared_limit_notices(
    args: argparse.Namespace, jobs: Sequence[JobPlan], catalog: engine.Catalog
) -> list[engine.Notice]:
    """Notices on limits that each job was planned to use in full, where the jobs together exceed
    them: whether they run at the same time is not known."""
    chosen = [dict(job.chosen.composition) for job in jobs if job.chosen]
    notices = []
    for name, nodes in limits.limits_of(args).owned:
        used = sum(min(types.get(name, 0), nodes) for types in chosen)
        if used > nodes:
            owned = f"the {text.counted(nodes, 'owned node')} of {name}"
            notices.append(_for_each(owned, f"{used} nodes", "--own"))
    for glob, nodes in limits.limits_of(args).most:
        used = sum(_nodes(types, glob) for types in chosen)
        if used > nodes:
            notices.append(_for_each(f"the limit {glob}={nodes}", f"{used} nodes", "--limit"))
    if args.max_vcpus is not None:
        vcpus = {name: offer.instance.vcpus for name, offer in catalog.offers.items()}
        total = sum(vcpus[name] * nodes for types in chosen for name, nodes in types.items())
        if total > args.max_vcpus:
            quota = f"the quota of {args.max_vcpus:,} vCPUs"
            notices.append(_for_each(quota, f"{total:,.0f} vCPUs", "--max-vcpus"))
    return notices


def _nodes(types: Mapping[str, int], glob: str) -> int:
    return sum(nodes for name, nodes in types.items() if fnmatchcase(name, glob))


def _for_each(what: str, used: str, option: str) -> engine.Notice:
    return engine.Notice(
        "shared-by-jobs",
        f"each job may use all of {what}, as if they ran one after another: at the same time they "
        f"would take {used}",
        f"plan jobs that run at the same time one by one, each with its share in {option}, or on "
        "one cluster with sparkplan workflow",
    )


def as_json(jobs: Sequence[JobPlan], together: Sequence[engine.Notice]) -> dict[str, Any]:
    """The jobs in the order of the sources, and their total."""
    return {
        "jobs": [
            {
                "application": job.evidence.name,
                "runs": job.evidence.runs,
                **output.fields_of(job, "time_of", "measured_seconds"),
                **output.fields_of(job, "deadline_seconds", "deadline_from"),
                "recommended": job.chosen.to_dict() if job.chosen else None,
                "nearest": job.nearest.to_dict() if job.nearest else None,
                "nearest_misses": job.miss.reason if job.miss else None,
                "likeliest": job.likeliest.to_dict() if job.likeliest else None,
                "problem": str(job.problem) if job.problem else None,
                "warnings": output.notices(job.warnings),
            }
            for job in jobs
        ],
        "total_usd": total_usd(jobs),
        "without_cluster": sum(job.chosen is None for job in jobs),
        "warnings": output.notices(together),
    }


def print_notices(jobs: Sequence[JobPlan]) -> None:
    """Print the notices of the jobs, each once with the names of its jobs."""
    about: dict[engine.Notice, list[str]] = {}
    for job in jobs:
        notices = list(job.warnings)
        if job.recommendation is not None:
            notices = recommend.with_notices_of_clusters(notices, job.recommendation)
        if job.problem is not None:
            notices.append(engine.Notice("not-planned", *message_and_remedy(job.problem)))
        for notice in dict.fromkeys(notices):
            about.setdefault(notice, []).append(job.evidence.name)
    output.print_notices(
        replace(notice, text=f"{job_names(names, len(jobs))}: {notice.text}")
        for notice, names in about.items()
    )


def message_and_remedy(problem: engine.EngineError) -> tuple[str, str]:
    """The error with its place, and the remedy."""
    what = f"{problem.where}: {problem.what}" if problem.where else problem.what
    return what, problem.remedy or "look at its sources"


MAX_NAMED = 5
"""Jobs that a message names; further ones are counted."""


def job_names(names: list[str], jobs: int) -> str:
    """Which of all jobs a message is about."""
    if len(names) == jobs > 1:
        return "every job"
    if len(names) <= MAX_NAMED:
        return ", ".join(names)
    return f"{', '.join(names[: MAX_NAMED - 1])} and {len(names) - MAX_NAMED + 1} more"
