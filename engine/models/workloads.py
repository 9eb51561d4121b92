"""What a workload leaves open, and which runs can answer for it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engine.cluster import Workload
from engine.errors import BadInput, ModelDoesNotFit, UnknownName
from engine.profile import Notice, Profile, Run

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


def telling_runs(runs: Sequence[Run], wanted: Workload) -> list[Run]:
    """The runs that say everything that a completed workload says: what is not said is not known,
    and neither 1 nor nothing."""
    return [run for run in runs if not _unsaid(run, wanted)]


def _unsaid(run: Run, wanted: Workload) -> list[str]:
    said = run.workload
    missing = [name for name in wanted.parameters if name not in said.parameters]
    if wanted.iterations is not None and said.iterations is None:
        missing.append("iterations")
    if wanted.input_bytes is not None and said.input_bytes is None:
        missing.append("input size")
    return missing


def incomplete_notices(runs: Sequence[Run], wanted: Workload) -> list[Notice]:
    """That runs are left aside which do not say what the others do."""
    left_aside = [missing for run in runs if (missing := _unsaid(run, wanted))]
    if not left_aside:
        return []
    names = sorted({name for missing in left_aside for name in missing})
    one = len(left_aside) == 1
    return [
        Notice(
            "incomplete-runs",
            f"{len(left_aside)} of {len(runs)} runs {'does' if one else 'do'} not say "
            f"{' and '.join(names)}, as others do: left aside",
            "complete them, or leave that column out of all runs",
        )
    ]


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
