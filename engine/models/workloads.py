"""What a workload leaves open, and which runs can answer for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engine.cluster import Workload
from engine.errors import BadInput, ModelDoesNotFit, UnknownName
from engine.profile import Profile, Run

SAME = 1e-9
"""Difference, relative and absolute, below which two parameters are the same number."""


def completed(workload: Workload, profile: Profile) -> Workload:
    """The workload with what it leaves open: size, iterations (the largest observed, OptEx IV-A)
    and parameters are those of the profile's largest run.

    Raises:
        BadInput: for a parameter or iterations that the runs know nothing of.
    """
    reference = profile.reference_workload
    known = {name for run in profile.runs for name in run.workload.parameters}
    for name in workload.parameters:
        if name not in known:
            raise UnknownName("parameter", name, known, where="workload")
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


def logs_of(runs: Sequence[Run]) -> list[Run]:
    """The runs that tell their stages, and how many tasks they ran at once."""
    return [run for run in runs if run.stages and run.cluster.slots]


def whole(runs: Sequence[Run]) -> list[Run]:
    """The runs whose end was seen; all of them where there is none."""
    return [run for run in runs if run.complete] or list(runs)


def sharing_parameters(runs: Sequence[Run], wanted: Mapping[str, float]) -> list[Run]:
    """The runs whose job parameters are those wanted (see `same_parameters`).

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


def same_parameters(own: Mapping[str, float], wanted: Mapping[str, float]) -> bool:
    """Whether a run with `own` parameters has all that are wanted; one that does not say a wanted
    parameter does not have it, and what it says beyond them does not matter."""
    return all(
        name in own and math.isclose(own[name], value, rel_tol=SAME, abs_tol=SAME)
        for name, value in wanted.items()
    )


def saying(runs: Sequence[Run], wanted: Mapping[str, float]) -> list[Run]:
    """The runs that say a value of each wanted parameter."""
    return [run for run in runs if {*wanted} <= {*run.workload.parameters}]


def in_words(parameters: Mapping[str, float]) -> str:
    """Parameters as people read them: "k 10, tolerance 0.1"."""
    return ", ".join(f"{name} {value:g}" for name, value in parameters.items())
