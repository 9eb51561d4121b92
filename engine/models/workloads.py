"""What a workload leaves open, and which runs can answer for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engine.cluster import Workload
from engine.errors import BadInput, ModelDoesNotFit, UnknownName
from engine.profile import Profile, Run

SAME = 1e-9
"""Relative difference below which two parameters are the same number."""


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


def sharing_parameters(runs: Sequence[Run], wanted: Mapping[str, float]) -> list[Run]:
    """The runs whose job parameters are those wanted.

    Raises:
        ModelDoesNotFit: when no run has them; names the parameter and its observed values.
    """
    sharing = list(runs)
    for name, value in wanted.items():
        kept = [run for run in sharing if _same(run.workload.parameters.get(name), value)]
        if not kept:
            parameters = [run.workload.parameters for run in sharing]
            seen = sorted({known[name] for known in parameters if name in known})
            raise ModelDoesNotFit(
                f"no run has {name} = {value:g}, and this model knows nothing of job parameters",
                remedy=f"add such runs, use --model sparkplan, or choose an observed {name}",
                choices=[f"{number:g}" for number in seen],
            )
        sharing = kept
    return sharing


def _same(a: float | None, b: float) -> bool:
    return a is not None and math.isclose(a, b, rel_tol=SAME, abs_tol=SAME)
