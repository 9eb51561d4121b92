"""`sparkplan profile`: distils sources into one profile YAML."""

from __future__ import annotations

import argparse
from typing import Any

import engine
from tui import format as text
from tui import streams
from tui.arguments import options
from tui.headless import output
from tui.headless.replaced_files import require_profile_or_new
from tui.input_text.job_text import parse_iterations


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_sources(parser)
    options.add_origin(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of stdout (-)")
    parser.add_argument(
        "--pauses",
        type=pause,
        metavar="D",
        help="leave out of logs the times of D and more in which no job ran: of a notebook, whose "
        "reader it waited for (30s)",
    )
    options.add_json(parser)
    parser.add_argument(
        "--optex",
        action="store_true",
        help="add a job profile of OptEx, measured from the logs of one representative job",
    )
    parser.add_argument(
        "--iterations", metavar="K", help="with --optex: number of iterations of the job"
    )
    parser.add_argument(
        "--category", metavar="NAME", help="with --optex: of the job profile (sql, mllib, ...)"
    )


def pause(text: str) -> float:
    """Argument type: seconds of a pause that can be left out."""
    seconds = options.duration(text)
    if seconds < engine.LEAST_PAUSE_SECONDS:
        least = engine.format_seconds(engine.LEAST_PAUSE_SECONDS)
        raise argparse.ArgumentTypeError(f"must be at least {least}, not {text!r}")
    return seconds


def run(args: argparse.Namespace) -> int:
    if not args.optex and (args.iterations is not None or args.category is not None):
        raise engine.BadInput("--iterations and --category need --optex", remedy="add --optex")
    require_profile_or_new(args.output)
    profile = options.read_profile(args)
    if args.optex:
        iterations = None if args.iterations is None else parse_iterations(args.iterations)
        profile = engine.with_job_profiles(profile, iterations=iterations, category=args.category)
    left_out = any(notice.code == "idle-time" for run in profile.runs for notice in run.notices)
    if args.pauses is not None and not left_out:
        length = engine.format_seconds(args.pauses)
        streams.say(f"no job waited for {length} or more: nothing is left out")
    notices = [*(notice for run in profile.runs for notice in run.notices), *profile.notices]
    file = None if args.output == "-" else args.output
    if file is not None:
        engine.write_profile(profile, file)
        streams.say(f"wrote {text.escaped(file)}")
    if args.json:
        warnings = output.notices(notices)
        output.print_json({"file": file, **as_dict(profile), "warnings": warnings})
        return 0
    if file is None:
        output.print_file(engine.format_profile(profile))
    output.print_notices(notices)
    return 0


def as_dict(profile: engine.Profile) -> dict[str, Any]:
    """The content of a profile, without the stages: those are in its file."""
    runs = [
        {
            **output.fields_of(run, "source", "application", "seconds"),
            **output.fields_of(run.workload, "input_bytes", "iterations"),
            "parameters": dict(run.workload.parameters),
            **output.fields_of(run.cluster, "nodes", "slots"),
            "stages": len(run.stages),
            "complete": run.complete,
        }
        for run in profile.runs
    ]
    return {
        **output.fields_of(profile, "name", "category", "input_unit"),
        "runs": runs,
    }
