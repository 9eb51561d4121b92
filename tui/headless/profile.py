"""`sparkplan profile`: sources distilled into one profile YAML."""

from __future__ import annotations

import argparse
import sys

import engine
from tui import options
from tui.headless import output


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_sources(parser)
    options.add_origin(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of stdout")
    parser.add_argument(
        "--optex",
        action="store_true",
        help="add a job profile of OptEx, measured from the logs of one representative job",
    )
    parser.add_argument(
        "--iterations", metavar="K", help="with --optex: what the job was told to do"
    )
    parser.add_argument(
        "--category", metavar="NAME", help="with --optex: of the job profile (sql, mllib, ...)"
    )


def run(args: argparse.Namespace) -> int:
    if not args.optex and (args.iterations is not None or args.category is not None):
        raise engine.BadInput("--iterations and --category need --optex", remedy="add --optex")
    profile = options.read_profile(args)
    if args.optex:
        told = None if args.iterations is None else options.iterations(args.iterations)
        profile = engine.with_job_profiles(profile, iterations=told, category=args.category)
    if args.output is None:
        output.print_file(engine.format_profile(profile))
    else:
        engine.write_profile(profile, args.output)
        print(f"wrote {args.output}", file=sys.stderr)
    of_runs = [notice for run in profile.runs for notice in run.notices]
    output.print_notices([*of_runs, *profile.notices])
    return 0
