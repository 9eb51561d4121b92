"""Options for the workload of the job."""

from __future__ import annotations

import argparse

import engine
from tui.arguments import options, sections
from tui.input_text.job_text import parse_iterations, parse_parameters


def add_workload(parser: argparse.ArgumentParser, *, size: str = "", iterations: str = "") -> None:
    """Add the workload options, and the model that predicts it.

    Args:
        size, iterations: what is added to the help of those options.
    """
    group = sections.section(parser, sections.JOB)
    options.add_resources(parser)
    group.add_argument(
        "--input-size",
        metavar="S",
        help=f"48GB, a number in the profile's own unit, or 3x (times the largest run){size}",
    )
    add_job(parser, iterations=iterations)
    group.add_argument(
        "--shuffle-partitions",
        type=options.whole(),
        metavar="N",
        help="predict with spark.sql.shuffle.partitions set to N",
    )
    options.add_model(parser)


def add_job(parser: argparse.ArgumentParser, *, iterations: str = "") -> None:
    """Add iterations and parameters of the job."""
    group = sections.section(parser, sections.JOB)
    group.add_argument("--iterations", metavar="K", help=f"number of iterations{iterations}")
    group.add_argument(
        "--param", action="append", default=[], metavar="NAME=VALUE", help="a parameter of the job"
    )


def workload_of(args: argparse.Namespace, profile: engine.Profile) -> engine.Workload:
    """The workload asked for; what is not given is that of the profile's largest run."""
    base = profile.reference_workload
    if args.input_size is not None:
        base = profile.workload_sized(args.input_size, where="--input-size")
    return engine.Workload(
        input_bytes=base.input_bytes,
        iterations=base.iterations
        if args.iterations is None
        else parse_iterations(args.iterations),
        parameters={**base.parameters, **parse_parameters(args.param)},
        scale=base.scale,
        shuffle_partitions=args.shuffle_partitions,
    )
