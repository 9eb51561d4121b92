"""Completes a workload with defaults, and selects the runs of a profile that match it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engine.cluster import Workload
from engine.errors import BadInput, ModelDoesNotFit, TooFewRuns, UnknownName
from engine.notices import Notice
from engine.profile import Profile, Run, runs_aside
from engine.text.lists import abbreviated_list, listed
from engine.units import format_count

SAME = 1e-9
"""Sizes or parameters are equal if they differ by less, relatively or absolutely."""


def input_ratio(wanted: Workload, run: Run) -> float:
    """Input of a workload over that of a run; the workload's scale, or 1, where that is unknown."""
    own = run.workload.input_bytes
    if wanted.input_bytes is None or own is None:
        return wanted.scale or 1.0
    return wanted.input_bytes / own


def with_defaults(workload: Workload, profile: Profile) -> Workload:
    """The workload with everything that it leaves open filled in: size and parameters from the
    profile's largest run, and the largest observed iterations (OptEx IV-A).

    Raises:
        BadInput: for parameters, iterations or a size that no run tells.
    """
    reference = profile.reference_workload
    known = {name for run in profile.runs for name in run.workload.parameters}
    for name in workload.parameters:
        if name not in known:
            raise UnknownName(
                "parameter",
                name,
                known,
                where="workload",
                remedy=None if known else "the runs have no parameters: leave it out",
            )
    observed = [run.workload.iterations for run in profile.runs if run.workload.iterations]
    if workload.iterations is not None and not observed:
        raise BadInput(
            f"no run says its iterations, so the time of {workload.iterations:g} is not known",
            remedy="leave out the iterations, or add them to the runs",
        )
    size = workload.input_bytes
    if size is None and reference.input_bytes is not None:
        size = reference.input_bytes * (workload.scale or 1.0)
    elif size is not None and reference.input_bytes is None:
        raise BadInput(
            "no run says its input size, so a size cannot be compared",
            remedy="give the size as a multiple of the largest run, such as 3x",
        )
    return Workload(
        size,
        workload.iterations or max(observed, default=None),
        {**reference.parameters, **workload.parameters},
        scale=workload.scale if size is None else None,
        shuffle_partitions=workload.shuffle_partitions,
    )


def informative_runs(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    """The runs that tell everything that a completed workload does, since an untold value is
    unknown. Their order depends neither on that of `runs` nor on what machines are called, so that
    random numbers meet the same runs and the answer stays the same."""
    return sorted((run for run in runs if not _unsaid(run, wanted)), key=_place)


def _place(run: Run) -> tuple[object, ...]:
    kind, workload = run.cluster.instance, run.workload
    shape = (kind.vcpus, kind.memory_gib) if kind else ()
    return (
        tuple(0.0 if math.isnan(size) else size for size in shape),
        run.cluster.nodes or 0,
        run.cluster.slots or 0,
        workload.input_bytes or 0.0,
        workload.iterations or 0.0,
        workload.sorted_parameters,
        run.seconds,
        kind.name if kind else "",
    )


def _unsaid(run: Run, wanted: Workload) -> list[str]:
    said = run.workload
    missing = [name for name in wanted.parameters if name not in said.parameters]
    if wanted.iterations is not None and said.iterations is None:
        missing.append("iterations")
    if wanted.input_bytes is not None and said.input_bytes is None:
        missing.append("input size")
    return missing


def incomplete_notices(runs: Sequence[Run], wanted: Workload) -> list[Notice]:
    """The notice that runs are left aside because they do not tell what the others do."""
    incomplete = [missing for run in runs if (missing := _unsaid(run, wanted))]
    if not incomplete:
        return []
    names = sorted({name for missing in incomplete for name in missing})
    one = len(incomplete) == 1
    return [
        Notice(
            "incomplete-runs",
            f"{len(incomplete)} of {len(runs)} runs {'does' if one else 'do'} not say "
            f"{abbreviated_list(names)}, as others do: left aside",
            "complete them, or leave that column out of all runs",
        )
    ]


def logs_of(runs: Sequence[Run]) -> list[Run]:
    """The runs with stages and a known number of task slots."""
    return [run for run in runs if run.stages and run.cluster.slots]


def unused_logs_notices(runs: Sequence[Run]) -> list[Notice]:
    """The notice that logs that broke off or failed take no part, because others succeeded."""
    aside = runs_aside(runs)
    if not aside:
        return []
    failed = sum(run.complete for run in aside)
    reasons = [f"{len(aside) - failed} without an end"] if failed < len(aside) else []
    reasons += [f"{failed} with a stage that failed"] if failed else []
    return [
        Notice(
            "incomplete-runs",
            f"{len(aside)} of {len(runs)} logs {'is' if len(aside) == 1 else 'are'} left aside: "
            f"{' and '.join(reasons)}",
            "give the logs of runs that succeeded",
        )
    ]


def sharing_parameters(runs: Sequence[Run], wanted: Mapping[str, float]) -> list[Run]:
    """The runs with the wanted job parameters (see `same_parameters`).

    Raises:
        ModelDoesNotFit: when no run has them; names the parameter and its observed values.
    """
    sharing = list(runs)
    for name, value in wanted.items():
        kept = [run for run in sharing if same_parameters(run.workload.parameters, {name: value})]
        if not kept:
            parameters = [run.workload.parameters for run in sharing]
            seen = sorted({known[name] for known in parameters if name in known})
            raise ModelDoesNotFit(
                f"no run has {name} = {value:g}, and this model knows nothing of job parameters",
                remedy="add such runs, use --model sparkplan (it answers from the nearest), or "
                f"choose an observed {name}",
                choices=[f"{number:g}" for number in seen],
            )
        sharing = kept
    return sharing


def too_few_sharing(
    error: TooFewRuns, runs: Sequence[Run], wanted: Mapping[str, float]
) -> TooFewRuns:
    """The error of a fit to those of `runs` with the wanted job parameters, which says too how many
    others there are and what they differ in: often a column that is no input of the job."""
    aside = [run.workload.parameters for run in runs]
    aside = [own for own in aside if not same_parameters(own, wanted)]
    names = [
        name
        for name, value in wanted.items()
        if any(not same_parameters(own, {name: value}) for own in aside)
    ]
    if not names:
        return error
    return TooFewRuns(
        f"{error.what}: {len(aside)} of {format_count(len(runs), 'run')} "
        f"{'differs' if len(aside) == 1 else 'differ'} in {abbreviated_list(names)}, and this "
        "model knows nothing of job parameters",
        remedy=f"leave out what is no input of the job, such as its cost, or {error.remedy}",
    )


def same_parameters(own: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    """Whether a run with `own` parameters has all wanted ones. A parameter that it does not tell
    differs; further ones do not matter."""
    return all(
        name in own and math.isclose(own[name], value, rel_tol=SAME, abs_tol=SAME)
        for name, value in wanted.items()
    )


def saying(runs: Sequence[Run], wanted: Mapping[str, float]) -> list[Run]:
    """The runs with a known value of each wanted parameter."""
    return [run for run in runs if {*wanted} <= {*run.workload.parameters}]


def in_words(parameters: Mapping[str, float]) -> str:
    """Parameters in words: "k 10, tolerance 0.1"; of many only the first."""
    return listed([f"{name} {value:g}" for name, value in parameters.items()])
