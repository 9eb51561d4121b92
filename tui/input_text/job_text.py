"""Parameters and iterations of the job as text: parsers and their inverses.

"k=9 features=5" are parameters by name; iterations are a number. What is not given is taken from
the largest run.
"""

from __future__ import annotations

import argparse
import math
import re
from dataclasses import replace
from typing import TYPE_CHECKING

import engine
from tui.input_text.limit_text import OFF
from tui.state import MEASURED_JOB, JobInputs, PlanState
from tui.widgets.numbers import fewest_digits

if TYPE_CHECKING:
    from engine import Profile, Workload

_PAIR = re.compile(r"([^=]+)=\s*([^\s,=]+)")


def with_parameters(
    job: JobInputs, typed: str, *, known: tuple[str, ...] | None = None
) -> JobInputs:
    """The job with the parameters of "a=1 b=2"; "off", or "a=off", restores those of the largest
    run.

    Args:
        known: the parameters of the runs; None where these are not known yet.

    Raises:
        BadInput: for what is no NAME=NUMBER, or a parameter that no run has.
    """
    if typed in OFF:
        return job._replace(parameters=())
    parameters = dict(job.parameters)
    for name, value in _pairs(typed):
        if known is not None and name not in known:
            raise engine.UnknownName(
                "parameter",
                name,
                known,
                remedy=None if known else "the runs have no parameters: leave it out",
            )
        if value in OFF:
            parameters.pop(name, None)
        else:
            parameters[name] = _number(value, name)
    return job._replace(parameters=tuple(parameters.items()))


def _pairs(typed: str) -> list[tuple[str, str]]:
    """Names and values of "a=1 b=2"; columns of a run table may have blanks in their names."""
    pairs = [(name.strip(" ,"), value) for name, value in _PAIR.findall(typed)]
    if not pairs or _PAIR.sub("", typed).strip(" ,") or not all(name for name, _ in pairs):
        raise engine.BadInput(f"{typed!r} is not NAME=NUMBER", remedy="type param k=10, or off")
    return pairs


def _number(value: str, name: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise engine.BadInput(f"{name}: {value!r} is not a number", remedy=f"type {name}=10")
    return number


def with_iterations(job: JobInputs, typed: str) -> JobInputs:
    """The job with this many iterations; "off" restores those of the largest run.

    Raises:
        BadInput: for what is no number above 0.
    """
    if typed in OFF:
        return job._replace(iterations=None)
    return job._replace(iterations=parse_iterations(typed, where="iterations"))


def parse_iterations(text: str, *, where: str = "--iterations") -> float:
    """A number of iterations, above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise engine.BadInput(
            f"{text!r} is not a number of iterations", where=where, remedy="give K > 0"
        )
    return value


def parse_parameters(pairs: list[str]) -> dict[str, float]:
    """NAME=VALUE pairs as numbers."""
    parameters: dict[str, float] = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        try:
            parameters[name.strip()] = float(value)
        except ValueError:
            value = ""
        if not value or not name.strip() or not math.isfinite(parameters[name.strip()]):
            raise engine.BadInput(
                f"{pair!r} is not NAME=NUMBER", where="--param", remedy="write it like --param k=10"
            )
    return parameters


def job_of(args: argparse.Namespace) -> JobInputs:
    """The job that the options --param and --iterations describe."""
    count = None if args.iterations is None else parse_iterations(args.iterations)
    return JobInputs(count, tuple(parse_parameters(args.param).items()))


def line_of(job: JobInputs) -> str:
    """The parameters as they are typed; "" for none."""
    return " ".join(f"{name}={fewest_digits(value)}" for name, value in job.parameters)


def known_parameters(profile: Profile) -> tuple[str, ...]:
    """The parameters that any run has."""
    return tuple(sorted({name for run in profile.runs for name in run.workload.parameters}))


def workload_of(state: PlanState, profile: Profile) -> Workload | None:
    """The planned workload; None for that of the largest run."""
    if state.scale == 1.0 and state.job == MEASURED_JOB:
        return None
    base, job = profile.workload_at(state.scale), state.job
    return replace(
        base,
        iterations=base.iterations if job.iterations is None else job.iterations,
        parameters={**base.parameters, **dict(job.parameters)},
    )


def display_text(workload: Workload) -> str:
    """Parameters and iterations for display: "features 5, k 9, 20 iterations"."""
    parts = [f"{name} {value:.6g}" for name, value in workload.parameters.items()]
    if workload.iterations is not None:
        parts.append(f"{workload.iterations:.6g} iterations")
    return ", ".join(parts)


def command_of(workload: Workload) -> str:
    """The typed command that sets the current values, to be edited; "" where there are none."""
    if workload.parameters:
        return "param " + line_of(JobInputs(None, tuple(workload.parameters.items())))
    return "" if workload.iterations is None else f"iterations {fewest_digits(workload.iterations)}"
