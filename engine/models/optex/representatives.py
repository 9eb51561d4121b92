"""Whether a job profile represents a job (OptEx III-B), and how much the prediction depends on the
choice of the representative.

Sidhanta, Golab, Mukhopadhyay, "OptEx", CCGrid 2016: III-A and III-B for the conditions, VI-G and
Table V for the confidence under varying choice of representative jobs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from engine.forecast import FloatArray
from engine.given_profiles import OptexProfile
from engine.models.stages.job_phases import is_iterative, operations_of
from engine.notices import Notice
from engine.profile import Profile, Run
from engine.units import format_number

NORMAL_95 = 1.96
"""Quantile behind the 95 % confidence of Table V: 1.96 sd / sqrt(k) in five of its eight cells, all
of them with k = 16."""

MOST_LISTED_OPERATIONS = 6


def expected_time(*, time: float, second_derivative: float, variance: float) -> float:
    """VI-G: E[f(n)] = f(mu) + f''(mu) / 2 x sigma^2, by Taylor expansion, in seconds.

    Args:
        time: T_Est at the mean mu of n.
        second_derivative: of T_Est by n, there.
        variance: sigma^2 of n.
    """
    return time + second_derivative / 2.0 * variance


def variance_of_time(*, first_derivative: float, variance: float, printed: bool = False) -> float:
    """VI-G: Var[f(n)] = f'(mu)^2 x sigma^2, in seconds squared; `printed` lacks sigma^2."""
    return first_derivative**2 * (1.0 if printed else variance)


@dataclass(frozen=True, slots=True)
class Confidence:
    """One line of Table V: T_Est under k choices of the representative job, in seconds."""

    mean: float
    standard_deviation: float
    half_width: float

    @property
    def variance(self) -> float:
        """In seconds squared."""
        return self.standard_deviation**2


def confidence_half_width(*, standard_deviation: float, choices: int) -> float:
    """VI-G: half the 95 % confidence interval of the mean, 1.96 sd / sqrt(k), in seconds."""
    return NORMAL_95 * standard_deviation / math.sqrt(choices)


def representative_confidence(seconds: FloatArray) -> Confidence:
    """Mean, standard deviation and 95 % confidence of (k,) T_Est from k >= 2 representatives."""
    deviation = float(np.std(seconds, ddof=1))
    return Confidence(
        float(np.mean(seconds)),
        deviation,
        confidence_half_width(standard_deviation=deviation, choices=len(seconds)),
    )


def in_category(profile: Profile) -> tuple[OptexProfile, ...]:
    """The job profiles of the application's category; those without a category serve any. All of
    them where none matches."""
    wanted = profile.category
    if wanted is None:
        return profile.optex
    same = tuple(job for job in profile.optex if job.category in (None, wanted))
    return same or profile.optex


def target_runs(profile: Profile) -> tuple[Run, ...]:
    """The runs of the target: those of the representative jobs themselves are dropped where
    there are others."""
    representatives = {job.application for job in profile.optex if job.application}
    own = tuple(run for run in profile.runs if run.application not in representatives)
    return own or profile.runs


def representation_notices(jobs: Sequence[OptexProfile], profile: Profile) -> tuple[Notice, ...]:
    """Warnings where the job profiles in use do not represent the profile's runs (III-B): another
    category, unit operations that they lack, or only one of both iterates."""
    notices: list[Notice | None] = []
    runs = [run for run in profile.runs if run.stages]
    for job in jobs:
        name = job.application or "the job profile"
        if profile.category and job.category not in (None, profile.category):
            notices.append(
                _not_representative(
                    f"{name} is of category {job.category}, the application of {profile.category}",
                    f"use a job profile of category {profile.category}",
                )
            )
        targets = [run for run in runs if run.application != job.application]
        notices.append(_missing_operations_notice(job, name, targets))
        notices.append(_iteration_mismatch_notice(job, name, targets))
    return tuple(notice for notice in notices if notice is not None)


def _missing_operations_notice(
    job: OptexProfile, name: str, targets: Sequence[Run]
) -> Notice | None:
    known = {operation.name.lower() for operation in job.operations}
    wanted = dict.fromkeys(
        operation for run in targets for stage in run.stages for operation in operations_of(stage)
    )
    missing = [operation for operation in wanted if operation.lower() not in known]
    if not missing:
        return None
    shown = ", ".join(missing[:MOST_LISTED_OPERATIONS])
    more = len(missing) - MOST_LISTED_OPERATIONS
    listed = f"{shown} and {more} more" if more > 0 else shown
    return _not_representative(
        f"{len(missing)} of {len(wanted)} unit operations of {_named(targets)} are not in "
        f"{name}: {listed}",
        "profile a job that holds all of them (sparkplan profile --optex)",
    )


def _iteration_mismatch_notice(
    job: OptexProfile, name: str, targets: Sequence[Run]
) -> Notice | None:
    other = [run for run in targets if is_iterative(run) != job.iterative]
    if not other:
        return None
    does, does_not = (name, _named(other)) if job.iterative else (_named(other), name)
    return _not_representative(
        f"{does} iterates and {does_not} does not",
        "profile a job that iterates if and only if the target does",
    )


def _named(runs: Sequence[Run]) -> str:
    return runs[0].application or runs[0].source or "the application"


def _not_representative(text: str, remedy: str) -> Notice:
    return Notice("not-representative", f"{text} (OptEx III-B)", remedy)


def several_representatives_notice(seconds: FloatArray) -> Notice:
    """The notice about one prediction by k representatives, with the statistics of Table V."""
    confidence = representative_confidence(seconds)
    mean = format_number(confidence.mean, figures=4)
    deviation, half = (
        format_number(x) for x in (confidence.standard_deviation, confidence.half_width)
    )
    return Notice(
        "several-representatives",
        f"the mean of {len(seconds)} job profiles: {mean} s, standard deviation "
        f"{deviation} s, 95 % confidence of the mean {half} s",
        "for the time by one alone, give only the job profile that resembles the job most",
        subject="the mean",
        severity=confidence.half_width,
    )
